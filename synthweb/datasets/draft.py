"""The draft of a description: what a steward has typed or confirmed about each column, and nothing else.

Where only a part was typed over a suggestion, the rest is not in the draft. `draft_to_attribute.attribute_of`
reads a column as an attribute of the engine's domain; `typed_from` is the way back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Attribute, Domain
from synth_engine.kinds.text import CLASSES
from synth_engine.strict_json import JsonObject
from synthweb.datasets.kinds import FORMS
from synthweb.datasets.kinds.form import SHARED, Fields
from synthweb.datasets.kinds.numbers import equal_edges
from synthweb.datasets.kinds.typed import CHECKED
from synthweb.datasets.list_fields import join, normalise, plain, quoted, split


class Column(TypedDict, total=False):
    """A column of the draft, as its JSON in the database.

    kind: the key of a kind, empty while none is chosen.
    origin: where its facts come from, a key of `ORIGINS`.
    fields: the text of each input as it was typed, valid or not.
    because: where its facts are written, as the steward says.
    confirmed: whether it was confirmed as public knowledge.
    vouched: whether somebody said of this column alone where its list is written.
    tried: whether somebody tried to confirm it.
    whole: whether nothing is left to the suggestion.
    brought: whether it came with a file.
    place: its index in the table.
    why: the reason of a suggestion.
    as_suggested: how many of its facts equal the suggestion.
    equal_facts: which of them, by the names of their inputs.
    hint: of a suggestion, what `hints` shows with it.
    """

    kind: str
    origin: str
    fields: Fields
    because: str
    confirmed: bool
    vouched: bool
    tried: bool
    whole: bool
    brought: bool
    place: int
    why: str
    as_suggested: int | None
    equal_facts: list[str]
    hint: dict[str, Any]


class Draft(TypedDict, total=False):
    """What was typed about a table so far, as its JSON in the database. total: how many columns the table
    has; answers: to questions about columns, by their keys; looked: the ranges of columns when the
    histogram of their real values was opened first."""

    columns: dict[str, Column]
    table: Fields
    constraints: list[JsonObject]
    total: int
    answers: dict[str, str]
    looked: dict[str, Mapping[str, object]]


KINDS = {kind: form.label for kind, form in FORMS.items()}
OUTSIDES = {kind: form.outsides for kind, form in FORMS.items() if form.outsides}
FIELDS = {kind: form.fields for kind, form in FORMS.items()}
ORIGINS = {"declared": _("Declared public"), "public-file": _("From a public file")}


# --- attribute → what would have been typed -----------------------------------------------------------------
def typed_from(document: Mapping[str, Any]) -> Column:
    """An attribute's JSON as somebody would have typed it, unconfirmed. Tolerant: what it does not know is
    left out."""
    kind = document.get("kind") if document.get("kind") in KINDS else "categorical"
    missing = [str(marker) for marker in document.get("missing") or ()]
    outside = (
        "other"
        if document.get("other")
        else document.get("outside") or FORMS[str(kind)].usual_outside(bool(missing))
    )
    fields: Fields = {
        **{key: plain(each) for key, each in document.items() if _is_typed_alike(each)},
        "values": join(str(value) for value in document.get("values") or ()),
        "ordered": CHECKED if document.get("ordered") else "",
        "unordered": CHECKED if document.get("ordered") is False else "",
        "missing_empty": CHECKED if missing[:1] == [""] else "",
        "missing": markers(missing),
        "separate_markers": CHECKED if document.get("separate_markers") else "",
        "protected": CHECKED if document.get("protected") else "",
        "outside": str(outside),
        "leading": CHECKED if document.get("leading") else "",
        **{each: CHECKED if each in (document.get("signs") or ()) else "" for each in CLASSES},
        **_bins_or_edges(document),
        **_cell_form(document.get("written") or {}),
    }
    form = FORMS[str(kind)]
    fields = form.as_typed(document, fields)
    return {
        "kind": str(kind),
        "fields": {key: fields[key] for key in form.fields if fields.get(key)},
    }


def _is_typed_alike(value: object) -> bool:
    """Whether a value of an attribute's JSON is typed as it is: into the input of its key, if the kind has
    one."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def column_of(attribute: Attribute, *, place: int) -> Column:
    """A described attribute as a column of the draft, unconfirmed, with nothing left to a suggestion."""
    public = set(attribute.facts.values()) == {"public-file"}
    return {
        **typed_from(attribute.to_json()),
        "origin": "public-file" if public else "declared",
        "confirmed": False,
        "whole": True,
        "place": place,
    }


def table_of(domain: Domain) -> Fields:
    """The facts about the whole table, as somebody would have typed them."""
    return {
        "max_records": str(domain.unit.max_records),
        "unit_column": domain.unit.column or "",
        "unit_spelling": domain.unit.spelling.value,
        "relation": domain.relation.value,
        "rows": str(domain.rows or ""),
        "repeats_column": domain.repeats.column if domain.repeats else "",
        "repeats_most": str(domain.repeats.most) if domain.repeats else "",
        "places": "\n".join(
            f"{place.name}: {_in_a_line((*place.columns, *(['learned'] if place.learned else [])))}"
            for place in domain.places
        ),
    }


def _in_a_line(texts: Iterable[str]) -> str:
    return ", ".join(quoted(text, comma=True) for text in texts)


def markers(missing: Sequence[str]) -> str:
    """Markers of missing values as typed into one line; an empty one that comes first has a box of its
    own."""
    return _in_a_line(marker for place, marker in enumerate(missing) if marker or place)


def _cell_form(written: Mapping[str, Any]) -> Fields:
    """How the cells of a column are written, as typed."""
    return {
        **{key: CHECKED if written.get(key) else "" for key in ("grouped", "unpadded")},
        **{key: str(written.get(key) or "") for key in ("before", "after", "decimals")},
        "digits_wide": str(written.get("width") or ""),
    }


def _bins_or_edges(document: Mapping[str, Any]) -> Fields:
    edges = document.get("edges")
    if not edges:
        return {"bins": plain(document.get("bins"))}
    equal = (
        equal_edges(float(edges[0]), float(edges[-1]), bins=len(edges) - 1)
        if len(edges) > 1
        else []
    )
    # Only if they are equal to the last bit: showing an attribute must not change its edges.
    if document.get("kind") == "number" and [float(edge) for edge in edges] == equal:
        return {"bins": str(len(edges) - 1)}
    return {"edges": ", ".join(plain(edge) for edge in edges)}


# --- a suggestion, and what was typed over it ---------------------------------------------------------------
def merge_over_suggestion(suggested: Column | None, column: Column | None) -> Column:
    """What a line shows: what was typed, over what was suggested where nothing was typed."""
    if column is None or suggested is None or _is_whole(column):
        return column or suggested or {"kind": "", "fields": {}}
    kind = column.get("kind") or suggested["kind"]
    below = (
        suggested["fields"]
        if kind == suggested["kind"]
        else shared_fields(suggested["fields"], kind)
    )
    return {**column, "kind": kind, "fields": {**below, **column["fields"]}}


def _is_whole(column: Column) -> bool:
    return bool(column.get("confirmed") or column.get("tried") or column.get("whole"))


def typed_difference(typed: Column, suggested: Column | None) -> Column | None:
    """What was typed and not merely left standing from the suggestion; None when that is nothing. Only this
    is stored of a line that is not confirmed, so that suggestions stay in the preview store."""
    if suggested is None:
        fields = {key: text for key, text in typed["fields"].items() if text}
        return {**typed, "fields": fields, "whole": True} if fields or typed["kind"] else None
    same = typed["kind"] == suggested["kind"]
    below = suggested["fields"] if same else shared_fields(suggested["fields"], typed["kind"])
    fields = {
        key: text
        for key, text in typed["fields"].items()
        if normalise(text) != normalise(below.get(key, ""))
    }
    if (
        same
        and not fields
        and typed.get("origin", "declared") == "declared"
        and not typed.get("because")
    ):
        return None
    return {**typed, "kind": "" if same else typed["kind"], "fields": fields}


def shared_fields(fields: Fields, kind: str) -> Fields:
    """The fields that another kind has as well and means alike."""
    outsides = OUTSIDES.get(kind, {})
    wanted = SHARED if outsides else ()
    return {
        k: v
        for k, v in fields.items()
        if k in wanted and k in FIELDS[kind] and (k != "outside" or v in outsides)
    }


# --- the whole draft ----------------------------------------------------------------------------------------
def columns(draft: Draft) -> dict[str, Column]:
    """The columns somebody has typed or confirmed something about, in their order in the table."""
    columns_by_name: dict[str, Column] = draft.get("columns") or {}
    # PostgreSQL stores the keys of a JSON object in an order of its own.
    return dict(sorted(columns_by_name.items(), key=lambda item: item[1].get("place", 0)))


def confirmed_names(draft: Draft) -> list[str]:
    """Names of the columns that were confirmed as public knowledge."""
    return [name for name, column in columns(draft).items() if column.get("confirmed")]


CONTEXT_KEYS = ("points", "partitions", "totals", "file")
"""What a description says beside its columns, their constraints and the table; kept apart from a draft, as in
a DOMAIN.json."""


def fitting_context(context: Mapping[str, Any], names: Collection[str]) -> dict[str, object]:
    """What of it is about columns of these names, or about a place that the table's facts name."""

    def fits(entry: Mapping[str, object]) -> bool:
        return "place" in entry or entry.get("column") in names

    matching: dict[str, object] = {
        key: [each for each in context.get(key) or () if fits(each)] for key in CONTEXT_KEYS[:2]
    }
    if (totals := context.get("totals")) and fits(totals):
        matching["totals"] = totals
    if form := context.get("file"):
        matching["file"] = form
    return {key: facts for key, facts in matching.items() if facts}


def context_summary(context: Mapping[str, Any]) -> list[tuple[str, int, list[str]]]:
    """Of each column or place: its name, the number of its points, and its partitions by name; totals stand
    last."""
    counts: dict[str, tuple[int, list[str]]] = {}
    for each in context.get("points") or ():
        counts[str(each.get("column") or each.get("place"))] = (len(each.get("at") or ()), [])
    for each in context.get("partitions") or ():
        counts.setdefault(str(each.get("column")), (0, []))[1].append(str(each.get("name")))
    if totals := context.get("totals"):
        counts.setdefault(str(totals.get("column")), (0, []))[1].append("public totals")
    return [(name, points, partitions) for name, (points, partitions) in counts.items()]


def open_count(draft: Draft) -> tuple[int, int] | None:
    """(columns still open, columns in all); None while nobody has looked at the table's columns."""
    total = draft.get("total")
    return (
        (max(0, total - len(confirmed_names(draft))), total) if isinstance(total, int) else None
    )


def placed_columns(draft: Draft) -> frozenset[str]:
    """Columns that are latitude or longitude of a place, as its lines are typed."""
    lines = str((draft.get("table") or {}).get("places") or "").splitlines()
    return frozenset(column for line in lines for column in split(line.partition(":")[2]))


def count_sharing_columns(draft: Draft, *, total: int) -> int:
    """How many of `total` columns share a release's ε, as far as is said: all but those left out, and one
    more for separate markers of a column."""
    described = columns(draft).values()
    out = sum(column.get("kind") in ("identifier", "derived") for column in described)
    markers = sum(bool(column["fields"].get("separate_markers")) for column in described)
    return max(1, total - out + markers)


def max_records(draft: Draft) -> int:
    """Rows a person may have, as typed; 1 where that is no number."""
    text = str((draft.get("table") or {}).get("max_records", "")).strip()
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 8 else 1


def public_rows(draft: Draft) -> int | None:
    """The number of rows, where somebody says that it is public."""
    text = str((draft.get("table") or {}).get("rows", "")).strip()
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 13 else None
