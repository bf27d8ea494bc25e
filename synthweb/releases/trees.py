"""The tree of a release: how deep it goes, maps of its places, where those of one place go, beginnings of
texts, and classes.

Made from the model alone, which is noisy answers made to agree, for whoever may draw samples of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django import forms
from django.db.models import Q
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Domain
from synth_engine.errors import DomainError
from synth_engine.evaluation import (
    cell_sizes,
    tree_cells,
    tree_classes,
    tree_figures,
    tree_notes,
)
from synth_engine.evaluation.cards import Card
from synth_engine.hierarchy import Hierarchy, SpatialHierarchy, StringHierarchy
from synth_engine.mechanisms import Model
from synth_engine.models.trees.diagnostics import TreeDiagnostics
from synthweb.releases import classes, prefix_explorer
from synthweb.releases.model_cache import holds, model_of
from synthweb.releases.models import Release

USUAL_HALVINGS = 6
USUAL_SQUARE = 4


class TreeMapForm(forms.Form):
    """Which place is shown, how finely, and from which square of it to which other place."""

    place = forms.ChoiceField(label=_("Place"), required=False)
    halvings = forms.TypedChoiceField(label=_("Squares"), required=False, coerce=int)
    to = forms.ChoiceField(label=_("And of those in a square"), required=False)
    size = forms.TypedChoiceField(label=_("Size of that square"), required=False, coerce=int)
    north = forms.FloatField(
        label=_("Degrees north"), required=False, min_value=-90, max_value=90
    )
    east = forms.FloatField(
        label=_("Degrees east"), required=False, min_value=-180, max_value=180
    )

    def __init__(self, data: Mapping[str, str], *, names: Sequence[str], finest: int) -> None:
        place = data.get("place") if data.get("place") in names else names[0]
        halvings = min(finest, USUAL_HALVINGS)
        usual = {
            "place": place,
            "halvings": str(halvings),
            "size": str(min(finest, USUAL_SQUARE)),
        }
        others = [name for name in names if name != place]
        usual |= {"to": others[0]} if others else {}
        cuts = [(str(n), f"{2**n} × {2**n}") for n in range(1, finest + 1)]
        choices = {
            "place": [(name, name) for name in names],
            "halvings": cuts,
            "to": [(name, name) for name in others],
            "size": [(value, f"1 of {words}") for value, words in cuts],
        }
        given = {key: value for key, value in data.items() if value}
        known = {key for key in given if key not in choices or given[key] in dict(choices[key])}
        # The address of another place may ask for what this one does not have.
        super().__init__(usual | {key: given[key] for key in known})
        for key, allowed in choices.items():
            field = self.fields[key]
            if not isinstance(field, forms.ChoiceField):
                raise TypeError("the field has no choices")
            field.choices = allowed
        if not others:
            for key in ("to", "size", "north", "east"):
                del self.fields[key]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if (cleaned.get("north") is None) != (cleaned.get("east") is None) and not self.errors:
            self.add_error(
                "north" if cleaned.get("north") is None else "east", _("Give both, or neither.")
            )
        return cleaned


@dataclass(frozen=True, kw_only=True)
class Maps:
    """The maps that the page shows, and what was asked for."""

    form: TreeMapForm
    start: Card
    end: Card | None
    first: tree_cells.Map
    second: tree_cells.Map | None


@dataclass(frozen=True, kw_only=True)
class TreePage:
    """Everything the page shows."""

    notes: tuple[str, ...]
    depths: Card
    maps: Maps | None
    texts: prefix_explorer.PrefixExplorer | None
    classes: classes.ClassExplorer | None


def has_tree(release: Release) -> bool:
    """Whether its model is one with a tree; the model stays in the database."""
    return holds(release.code, "tree")


ELSEWHERE = " “New release” tells which, for this dataset."


@dataclass(frozen=True, kw_only=True)
class TreeSummary:
    """What there is to say of a tree. `notes`: None of a model that has none."""

    of: tree_notes.Of
    root_alone: bool
    notes: TreeDiagnostics | None
    rows: int

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of it."""
        return tree_notes.tree_statements(
            self.notes, of=self.of, rows=self.rows, root_alone=self.root_alone
        )

    @property
    def warning(self) -> str:
        """That it has its root alone, or that nothing stands out of the noise, and what would help; empty of
        another."""
        if self.root_alone:
            return tree_notes.root_only_note(self.of)
        return (
            tree_notes.noise_note(self.notes, of=self.of, rows=self.rows) if self.notes else ""
        )


def summarise(release: Release) -> TreeSummary | None:
    """None for a model without a tree. The model stays in the database."""
    if not has_tree(release):
        return None
    rows_of_release = Release.objects.filter(pk=release.pk)
    # Asked in the database: reading a model of many places takes seconds.
    roots = Q(model__tree__levels=[0]) | Q(model__tree__texts=[""], model__tree__partial=[0])
    kind, notes, rows = rows_of_release.values_list(
        "model__tree__kind", "model__notes", "model__rows"
    ).get()
    return TreeSummary(
        of=tree_notes.of_what(kind),
        root_alone=rows_of_release.filter(roots).exists(),
        notes=None if notes is None else TreeDiagnostics.from_json(notes),
        rows=rows,
    )


def warning(release: Release) -> str:
    """What its pages say first of a tree that tells nothing, with the way to another; empty for every other
    release."""
    summary = summarise(release)
    return f"{summary.warning}{ELSEWHERE}" if summary and summary.warning else ""


def page(release: Release, query: QueryDict) -> TreePage | None:
    """None for a model without a tree."""
    if (model := _model(release)) is None or model.tree is None:
        return None
    return TreePage(
        notes=tree_notes.sentences(model),
        depths=tree_figures.depth_card(
            tree_cells.profile(model.tree), rows=model.rows, sizes=_sizes(model)
        ),
        maps=maps(model, query),
        texts=prefix_explorer.page(model.tree, query, rows=model.rows),
        classes=classes.explore(model.tree, query, domain=model.domain, rows=model.rows),
    )


def _sizes(model: Model) -> dict[int, str]:
    """How large a cell of each depth is, in words; of a tree without places nothing."""
    if model.tree is None:
        raise TypeError("the model has no tree")
    hierarchy = model.tree.hierarchy
    sizes = {
        depth: cell_sizes.of_depth(hierarchy, model.domain, depth)
        for depth in range(hierarchy.depth + 1)
    }
    return {depth: cell_sizes.describe(each) for depth, each in sizes.items() if each}


def _model(release: Release) -> Model | None:
    return model_of(release.code) if has_tree(release) else None


def maps(model: Model, query: QueryDict) -> Maps | None:
    """None where no place is in the tree."""
    tree = None if model.tree is None else tree_classes.of_points(model.tree)
    sites = (
        {}
        if tree is None
        else {site.name: site for site in tree_cells.sites(tree.hierarchy, model.domain)}
    )
    if tree is None or not sites:
        return None
    finest = min(
        tree_cells.MAX_HALVINGS,
        max(tree_cells.max_halvings(tree, pair) for pair in sites.values()),
    )
    form = TreeMapForm(
        {key: str(query[key]) for key in query}, names=list(sites), finest=max(1, finest)
    )
    choice = form.cleaned_data if form.is_valid() else {}
    name, halvings = (
        choice.get("place") or next(iter(sites)),
        choice.get("halvings") or min(finest, USUAL_HALVINGS),
    )
    chosen = _chosen(form, tree, model.domain, sites[name])
    first = tree_cells.place_map(tree, model.domain, sites[name], halvings=halvings)
    start = tree_figures.place_card(
        first, name=name, key="place", rows=model.rows, chosen=chosen
    )
    if chosen is None:
        return Maps(form=form, start=start, end=None, first=first, second=None)
    inside, to = tree_cells.within(tree, sites[name], chosen), choice["to"]
    second = tree_cells.place_map(
        tree, model.domain, sites[to], halvings=halvings, within=inside
    )
    end = tree_figures.conditional_place_card(
        second, start=name, name=to, key="other-place", rows=model.rows
    )
    return Maps(form=form, start=start, end=end, first=first, second=second)


def _chosen(
    form: TreeMapForm, tree: tree_cells.TreeCells, domain: Domain, site: tree_cells.PlaceAxes
) -> tree_cells.Square | None:
    """The square that was chosen, if one was and the tree has it; else the form says why not."""
    choice = form.cleaned_data if form.is_valid() else {}
    if choice.get("north") is None or not choice.get("to"):
        return None
    try:
        return tree_cells.square(
            tree, domain, site, at=(choice["north"], choice["east"]), halvings=choice["size"]
        )
    except DomainError as error:
        form.add_error(error.field, f"{error.rule[0].upper()}{error.rule[1:]}.")
        return None


# --- as files -----------------------------------------------------------------------------------------------
Lines = Iterator[Sequence[object]]


def lines(release: Release, what: str, query: QueryDict) -> Lines | None:
    """A head and the rows of one table of the page, whole; None where the release has none such."""
    if (model := _model(release)) is None or model.tree is None:
        return None
    if what == "classes":
        return classes.lines(model.tree, query, domain=model.domain, rows=model.rows)
    match what:
        case "depths":
            return _depths(model.tree, rows=model.rows)
        case "cells" if not isinstance(model.tree.hierarchy, StringHierarchy):
            return _cells(model)
        case "texts" if isinstance(model.tree.hierarchy, StringHierarchy):
            return prefix_explorer.lines(model.tree, rows=model.rows)
        case "place" | "other-place":
            both_maps = maps(model, query)
            shown = both_maps and (both_maps.first if what == "place" else both_maps.second)
            return _squares(shown, rows=model.rows) if shown else None
    return None


def _depths(tree: tree_cells.TreeCells, *, rows: int) -> Lines:
    yield "depth", "cells", "records"
    for each in tree_cells.profile(tree):
        yield each.depth, each.cells, f"{rows * each.share:.6g}"


def _cells(model: Model) -> Lines:
    """Every cell of the tree: its bounds, coordinate by coordinate, how its texts begin, its class in each
    column of classes, and the records in it."""
    tree = model.tree
    if tree is None:
        raise TypeError("the model has no tree")
    columns = _sides(tree, model.domain)
    yield ("depth", *(name for head, _ in columns for name in head), "records")
    cells = zip(
        tree.levels.tolist(),
        *(rows for _, rows in columns),
        tree_cells.shares(tree).tolist(),
        strict=True,
    )
    for level, *sides, share in cells:
        yield (level, *(cell for side in sides for cell in side), f"{model.rows * share:.6g}")


def _sides(
    tree: tree_cells.TreeCells, domain: Domain
) -> list[tuple[Sequence[str], Sequence[Sequence[object]]]]:
    """Of the points, the texts, and each column of classes: a head, and a row for each cell."""
    tables: list[tuple[Sequence[str], Sequence[Sequence[object]]]] = []
    if (points := tree_classes.of_points(tree)) is not None:
        low, high = tree_cells.bounds(points, domain)
        head = [
            f"{name} {end}" for name in _coordinates(points.hierarchy) for end in ("from", "to")
        ]
        # From and to of one coordinate stand side by side, as in the head.
        ends = np.stack((low, high), axis=2).reshape(len(low), -1)
        tables.append((head, [[f"{end:.9g}" for end in row] for row in ends.tolist()]))
    if (texts := tree_classes.of_texts(tree)) is not None:
        tables.append((prefix_explorer.HEAD, prefix_explorer.of_cells(texts)))
    for column, side in tree_classes.of_classes(tree).items():
        tables.append((classes.named(domain, column), classes.of_cells(side)))
    return tables


def _coordinates(points: Hierarchy) -> Iterator[str]:
    """Each column, and of one of codes its two degrees."""
    if not isinstance(points, SpatialHierarchy):
        raise TypeError("the tree has no hierarchy of points")
    for axis, name in enumerate(points.axes):
        coded = points.axes.count(name) == 2
        yield (
            f"{name} {'north' if points.axes.index(name) == axis else 'east'}"
            if coded
            else name
        )


def _squares(place_map: tree_cells.Map, *, rows: int) -> Lines:
    yield (
        "degrees north from",
        "degrees north to",
        "degrees east from",
        "degrees east to",
        "records",
    )
    for (north, east), share in zip(
        _numbers(place_map), place_map.shares.ravel().tolist(), strict=True
    ):
        if share:
            sides = (
                *place_map.latitudes[north : north + 2],
                *place_map.longitudes[east : east + 2],
            )
            yield (*(f"{end:.9g}" for end in sides), f"{rows * share:.6g}")


def _numbers(place_map: tree_cells.Map) -> Iterator[tuple[int, int]]:
    for north in range(place_map.shares.shape[0]):
        for east in range(place_map.shares.shape[1]):
            yield north, east
