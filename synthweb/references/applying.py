"""A reference table for a column of a dataset: what would fit, and taking it into the draft of the
description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from synth_engine import references as engine
from synth_engine.domain import MAX_PLACED_CODES, Categorical
from synth_engine.errors import DomainError
from synth_engine.privacy.unit import Relation
from synth_engine.references import Found, Reference
from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.datasets import draft as drafts
from synthweb.datasets import selectors
from synthweb.datasets.draft_to_attribute import attribute_of
from synthweb.datasets.models import Dataset
from synthweb.datasets.services import DraftChanges, keep
from synthweb.datasets.services.tables import locked as locked_dataset
from synthweb.datasets.services.terms import table_terms
from synthweb.references.models import ReferenceVersion
from synthweb.references.services import require_no_table
from synthweb.references.stored import codes_of, source_of

ITSELF = "codes"
"""How the level of a reference's own codes is asked for; others are called like their partition."""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """What a version says about a column: of which level its values are, which partitions may be taken along;
    whether the values themselves would come from it (`fills`)."""

    fitted: Found
    values: tuple[str, ...]
    missing: tuple[str, ...]
    partitions: tuple[str, ...]
    fills: bool

    @property
    def level(self) -> str:
        return self.fitted.level or ITSELF

    @property
    def has_points(self) -> bool:
        return self.fitted.reference.at is not None

    @property
    def has_weights(self) -> bool:
        return self.fitted.reference.weights is not None


def fit(dataset: Dataset, version: ReferenceVersion, *, column: str, level: str = "") -> Fit:
    """What fits a column of the draft. `level`: whose codes become its values where none are listed yet.
    Errors: DomainError naming the column."""
    attribute = _described(dataset, column)
    reference = codes_of(version)
    if attribute is None:
        values = _all_codes(reference, level=level or ITSELF, column=column)
        chosen: str | None = "" if level in ("", ITSELF) else level
    else:
        values, chosen = attribute.values, None
    missing = attribute.missing or () if attribute is not None else ()
    fitted = engine.fitting(reference, values, column=column, missing=missing, level=chosen)
    partitions = tuple(engine.worthwhile(fitted))
    return Fit(
        fitted=fitted,
        values=values,
        missing=missing,
        partitions=partitions,
        fills=attribute is None,
    )


def _weights(
    dataset: Dataset, version: ReferenceVersion, *, column: str, floor: float
) -> dict[str, object]:
    points = points_source(dataset, column)
    if points is None:
        raise DomainError(
            "a density weighs points, and this column has none yet",
            repair="use a gazetteer first",
            column=column,
        )
    return {"points": [engine.weighted(points, codes_of(version), floor=floor)]}


def points_source(dataset: Dataset, column: str) -> dict[str, object] | None:
    """The points of a column in the draft."""
    entries = selectors.draft_context(dataset).get("points") or ()
    return next((dict(each) for each in entries if each.get("column") == column), None)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The use of a reference table for one column. partitions: None for all that say something. floor: the
    weight of points that a density lacks. totals: whether a density says instead, publicly and exactly, how
    many records each value has."""

    column: str
    level: str = ""
    partitions: Sequence[str] | None = None
    weights: bool = True
    floor: float = 0.0
    totals: bool = False


@transaction.atomic
def use(
    *,
    actor: User,
    dataset: Dataset,
    version: ReferenceVersion,
    selection: Selection,
) -> list[str]:
    """Take points and partitions of a column into the draft, and its values where none are listed. A density,
    or an earlier release, weighs the points that the column has already. Nothing is confirmed. Returns what
    was taken, in words. Errors: DomainError, Refused."""
    column = selection.column
    # Locked before the draft is read: `keep` replaces all facts beside the columns, so those
    # that another request adds in between would be lost.
    held = locked_dataset(dataset)
    # Checked here as well: a table and a reference that arrive at the same time do not see each
    # other, and a table turned into a public fact would have no protection at all.
    require_no_table(version.content_key, organisation=held.organisation)
    context = selectors.draft_context(held)
    taken: dict[str, object]
    values: tuple[str, ...] | None = None
    if version.kind == "density" and selection.totals:
        listed = _described(held, column)
        values = None if listed else _all_codes(codes_of(version), level=ITSELF, column=column)
        among = listed.values if listed else values or ()
        counts = engine.totals_of(
            codes_of(version), among, column=column, source=source_of(version)
        )
        context, taken, summary = (
            context | {"totals": counts},
            {},
            [f"public totals of {len(counts['counts']):,} values"],
        )
    elif version.kind == "density":
        taken, summary = (
            _weights(held, version, column=column, floor=selection.floor),
            ["weights of its points"],
        )
    else:
        fits = fit(held, version, column=column, level=selection.level)
        values = fits.values if fits.fills else None
        taken, summary = _entries(
            fits,
            version,
            column=column,
            partitions=selection.partitions,
            weights=selection.weights,
        )
    columns = {} if values is None else {column: _filled(held, column, values)}
    changes = DraftChanges(columns=columns, context=_merged(context, taken))
    keep(actor=actor, dataset=held, changes=changes)
    summary = [*([f"{len(values):,} values"] if values else []), *summary]
    _note(actor, "reference.used", held, version=version, column=column)
    # `keep` has changed the locked row; the caller goes on with an instance of its own.
    dataset.draft = held.draft
    return summary


def totals_want_another_relation(dataset: Dataset) -> bool:
    """Whether the draft has public totals beside a relation, or a number of records a unit, for which they
    say nothing."""
    terms = dataset.draft.get("table") or {}
    # Totals are invariants: neighbouring tables agree on them only if they differ in the other
    # columns of one record (docs/proofs/on-the-map.md), so a unit is one record, replaced.
    neighbours = terms.get("relation"), str(terms.get("max_records") or "1")
    return "totals" in selectors.draft_context(dataset) and neighbours != (
        Relation.REPLACE_ONE.value,
        "1",
    )


@transaction.atomic
def use_for_place(
    *,
    actor: User,
    dataset: Dataset,
    version: ReferenceVersion,
    place: str,
    weights: bool = True,
) -> int:
    """Take every point of a gazetteer as what a place, given by two columns of degrees, can be. Returns their
    number."""
    held = locked_dataset(dataset)
    require_no_table(version.content_key, organisation=held.organisation)
    if place not in places_of(held):
        raise DomainError(
            "no such place in the draft", repair="name it among the places of a row first"
        )
    reference = codes_of(version)
    _check_number(reference, column=None)
    heavy = weights and reference.weights is not None
    entry = engine.support_of(reference, place=place, source=source_of(version), weights=heavy)
    context = _merged(selectors.draft_context(held), {"points": [entry]})
    keep(actor=actor, dataset=held, changes=DraftChanges(context=context))
    _note(actor, "reference.used", held, version=version, column=place)
    dataset.draft = held.draft
    return len(reference)


@transaction.atomic
def forget(*, actor: User, dataset: Dataset, column: str) -> None:
    """Take what reference tables said about a column or a place off the draft: points, partitions and
    totals."""
    held = locked_dataset(dataset)
    context = selectors.draft_context(held)
    if (context.get("totals") or {}).get("column") == column:
        del context["totals"]
    for key in ("points", "partitions"):
        context[key] = [
            each
            for each in context.get(key) or ()
            if column not in (each.get("column"), each.get("place"))
        ]
    remaining = {key: facts for key, facts in context.items() if facts}
    keep(actor=actor, dataset=held, changes=DraftChanges(context=remaining))
    dataset.draft = held.draft


def places_of(dataset: Dataset) -> tuple[str, ...]:
    """Names of the places, of two columns of degrees, in the draft; none where they are not typed soundly."""
    try:
        typed = (dataset.draft.get("table") or {}).get("places") or ""
        return tuple(place.name for place in table_terms({"places": typed}, names=())["places"])
    except DomainError:
        return ()


def _described(dataset: Dataset, column: str) -> Categorical | None:
    """The column as it is typed, if its values are; None where the reference may fill them."""
    names = selectors.columns_of(dataset)
    if names is None and column not in drafts.columns(dataset.draft):
        raise DomainError(
            "the columns of the table are not known any more",
            repair="read the table again first",
        )
    if names is not None and column not in names:
        raise DomainError(
            "the table has no such column",
            repair="take its name from the header",
            column=column,
        )
    typed = drafts.columns(dataset.draft).get(column)
    if typed is None or (
        typed.get("kind") in ("", "categorical") and not typed["fields"].get("values")
    ):
        return None
    attribute = attribute_of(column, typed)
    if not isinstance(attribute, Categorical):
        raise attribute.error(
            "a reference table speaks of codes, and this column is described as something else",
            repair="describe it as categories, or take back what was typed about it",
        )
    return attribute


def _all_codes(reference: Reference, *, level: str, column: str) -> tuple[str, ...]:
    if level != ITSELF and level not in reference.parents:
        raise DomainError(
            "the reference table has no such partition",
            repair="choose one that it has",
            column=column,
        )
    coarse = reference if level == ITSELF else reference.coarsened(level)
    _check_number(coarse, column=column)
    return coarse.codes


def _check_number(reference: Reference, *, column: str | None) -> None:
    if len(reference) >= MAX_PLACED_CODES:  # one more code is for what is not listed
        raise DomainError(
            f"the reference table has more codes than a column may have, {MAX_PLACED_CODES:,}",
            repair="take those of one region, or the parts of a partition", column=column,
        )  # fmt: skip


def _entries(
    fits: Fit,
    version: ReferenceVersion,
    *,
    column: str,
    partitions: Sequence[str] | None,
    weights: bool,
) -> tuple[dict[str, object], list[str]]:
    names = fits.partitions if partitions is None else tuple(partitions)
    source = source_of(version)
    taken: dict[str, object] = {}
    summary = []
    if fits.has_points:
        weighs = weights and fits.has_weights
        points = engine.points_of(
            fits.fitted, fits.values, column=column, source=source, weights=weighs
        )
        taken["points"] = [points]
        summary.append("points" if not weighs else "points with weights")
    if names:
        taken["partitions"] = engine.partitions_of(
            fits.fitted, fits.values, column=column, source=source, names=names
        )
        summary.append(f"partition{'s' if len(names) > 1 else ''} {', '.join(names)}")
    if not summary:
        raise DomainError(
            "the reference table says nothing that this column could use",
            repair="choose another",
            column=column,
        )
    return taken, summary


def _merged(context: Mapping[str, Any], taken: Mapping[str, Any]) -> dict[str, Any]:
    """New entries in the place of those about the same column, place or partition of a column."""

    def about(entry: Mapping[str, object]) -> tuple[Any, ...]:
        # A column has points once, but several partitions: only these have a name.
        return entry.get("column"), entry.get("place"), entry.get("name")

    merged = dict(context)
    for key, entries in taken.items():
        mine = {about(entry) for entry in entries}
        merged[key] = [
            *(each for each in merged.get(key) or () if about(each) not in mine),
            *entries,
        ]
    return merged


def _filled(dataset: Dataset, column: str, values: tuple[str, ...]) -> drafts.Column:
    typed = drafts.columns(dataset.draft).get(column) or {}
    names = selectors.columns_of(dataset) or []
    place = names.index(column) if column in names else typed.get("place", 0)
    # `other` takes the values that the published list does not have: a list is rarely complete.
    attribute = Categorical(name=column, values=values, other=True, provenance="public-file")
    return drafts.column_of(attribute, place=place) | {"brought": True}


def _note(
    actor: User, action: str, dataset: Dataset, *, version: ReferenceVersion, column: str
) -> None:
    audit.record(
        actor=actor,
        action=action,
        target=("dataset", dataset.code),
        organisation=dataset.organisation,
        detail={
            "reference": version.reference.code,
            "version": version.number,
            "column": column,
        },
    )
