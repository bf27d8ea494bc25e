"""What stands under the sentence of the card Quality: the columns, worst first, how they go together, and how
far records go; of synthetic records alone, as a worker drew them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import QueryDict
from django.utils.translation import gettext as _

from synth_engine.evaluation import model_distances, model_pairs, pair_cards
from synth_engine.evaluation.cards import Card, make_table
from synth_engine.evaluation.model_distances import ModelCurve
from synth_engine.evaluation.release_verdict import SEVERITY, ColumnVerdict
from synth_engine.evaluation.thumbnails import model_thumbnail
from synthweb.lib.language import translated, written_number
from synthweb.lib.number_format import grouped, share
from synthweb.lib.pagination import filters_of, words_of
from synthweb.releases import look, model_relations
from synthweb.releases.look import LookColumn
from synthweb.releases.model_relations import DrawnRelations
from synthweb.releases.models import Release
from synthweb.releases.quality import ReleaseAnswer

COLUMNS_A_PAGE = 14
MOST_ON_MAP = 24
"""Columns of the map; of more, those that go most with another one."""
MOST_CURVES = 2
MOST_ROWS = 30
"""Of the table of a figure."""


@dataclass(frozen=True, kw_only=True)
class ColumnThumb:
    """A column in the strip. level: of its verdict, empty where it has none. picture: its histogram as SVG,
    empty without one."""

    column: LookColumn
    level: str
    picture: str


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns that the address asks for, worst first. query: what links to other pages keep, empty or
    ending in &."""

    page: Page[LookColumn]
    shown: tuple[ColumnThumb, ...]
    words: str
    query: str
    searchable: bool


def columns_of(release: Release, answer: ReleaseAnswer, query: QueryDict) -> Columns | None:
    """The strip of columns. The caller authorised."""
    shown = look.look_of(release)
    if shown is None:
        return None
    verdicts = {each.name: each for each in answer.verdict.columns}
    words = words_of(query)
    chosen = [each for each in shown.columns if words.casefold() in each.name.casefold()]
    chosen.sort(key=lambda column: _goodness(column, verdicts.get(column.name)))
    here = Paginator(chosen, COLUMNS_A_PAGE).get_page(query.get("page"))
    return Columns(
        page=here,
        shown=tuple(_thumb(each, verdicts.get(each.name)) for each in here),
        words=words,
        query=filters_of(query),
        searchable=len(shown.columns) > COLUMNS_A_PAGE,
    )


def _goodness(column: LookColumn, verdict: ColumnVerdict | None) -> tuple[int, float]:
    """By the level, then by the expected error, the worst first; columns that no verdict is about come
    last."""
    level = -1 if verdict is None else SEVERITY.index(verdict.level)
    text = "" if column.error is None else column.error.deviation
    return -level, -float(text or 0)


def _thumb(column: LookColumn, verdict: ColumnVerdict | None) -> ColumnThumb:
    histogram = column.histogram
    return ColumnThumb(
        column=column,
        level="" if verdict is None else verdict.level,
        picture=""
        if histogram is None or not histogram.bars
        else model_thumbnail(
            [bar.share.value for bar in histogram.bars],
            words=f"{column.name}: {translated(histogram.words)}",
        ),
    )


def figures_of(release: Release) -> tuple[Card, ...]:
    """The map of relations, where there are some, and curves of distances, where records have two ends. The
    caller authorised."""
    relations = model_relations.relations_of(release)
    if relations is None:
        return ()
    # One square, or nothing but chance, is no map.
    triangle = (
        (_triangle(relations),) if len(relations.names) > 2 and relations.together else ()
    )
    curves = relations.curves[:MOST_CURVES]
    return (*triangle, *(_curve(curve, place) for place, curve in enumerate(curves)))


def _triangle(relations: DrawnRelations) -> Card:
    chosen = model_pairs.most_related(relations.names, relations.pairs, MOST_ON_MAP)
    names = model_pairs.in_clusters(chosen, relations.pairs)
    strongest = [
        (pair, value)
        for pair, value in sorted(relations.pairs.items(), key=lambda each: -each[1])
        if pair in relations.together
    ]
    title = _("How columns go together")
    counted = _(
        "%(related)s of %(pairs)s pairs of columns go together in the synthetic table."
    ) % {
        "related": grouped(len(strongest)),
        "pairs": grouped(len(relations.pairs)),
    }
    rows = [(" × ".join(pair), written_number(f"{value:.3f}")) for pair, value in strongest]
    figure = pair_cards.map_of_release(
        names, relations.pairs, relations.together, words=counted
    )
    most = (
        _("The map has the %(number)s columns that go most with another one.")
        % {"number": len(names)}
        if len(names) < len(relations.names)
        else ""
    )
    return Card(
        key="together",
        title=title,
        what=_(
            "How much one column tells about another: mutual information divided by the smaller of the two "
            "entropies, of records that the model generates. 0 is nothing, 1 means that one determines the "
            "other."
        ),
        how=_(
            "Grey is what independent columns have by chance. Columns that go together stand side by side."
        ),
        table=make_table(title, (_("Columns"), _("Value")), rows[:MOST_ROWS], of=len(rows)),
        figure=figure,
        verdict=counted,
        note=most,
    )


def _curve(curve: ModelCurve, place: int) -> Card:
    first, second = curve["ends"]
    title = _("Distance from %(first)s to %(second)s") % {"first": first, "second": second}
    km = written_number(f"{curve['median_km']:.3g}")
    words = _("Half of the synthetic records go %(km)s km or less.") % {"km": km}
    same = curve["within"][0]
    jump = (
        _("%(number)s of 100 start and end at one place") % {"number": round(100 * same)}
        if round(100 * same)
        else ""
    )
    return Card(
        key=f"distance-{place}",
        title=title,
        what=_(
            "The share of synthetic records whose two ends are at most so many kilometres apart, along a "
            "great circle."
        ),
        how=_("The dot is at the distance that half of the records stay within."),
        table=make_table(title, (_("At most"), _("Share")), _rows(curve)),
        figure=model_distances.figure_of(curve, words=words, axis="kilometres", jump=jump),
        verdict=words,
    )


def _rows(curve: ModelCurve) -> list[tuple[str, ...]]:
    every = max(1, len(curve["edges_km"]) // MOST_ROWS)
    lines: list[tuple[Any, Any]] = list(zip(curve["edges_km"], curve["within"], strict=True))
    return [
        (f"{written_number(f'{edge:g}')} km", share(within)) for edge, within in lines[::every]
    ]
