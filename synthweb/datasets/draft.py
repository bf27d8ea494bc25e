"""What a steward types about a column, and the attribute it stands for.

A column of the draft is a plain JSON object, {"kind", "origin", "fields", "confirmed", "place"}; `fields` holds the
text of each input as it was typed, valid or not. `attribute_of` reads it as an attribute of the engine's domain;
`typed_from` is the way back, for suggestions and for descriptions made elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from synth_engine.domain import MAX_CODES, Attribute, parse_attribute
from synth_engine.errors import DomainError

Column = dict[str, Any]
Fields = dict[str, str]

KINDS = {
    "categorical": "Categories",
    "integer": "Whole number",
    "number": "Number",
    "boolean": "Yes or no",
    "date": "Date",
    "identifier": "Identifier, left out",
}
ORIGINS = {"declared": "Declared public", "public-file": "From a public file"}
OUTSIDES = {
    "categorical": {
        "other": "is kept as “other”",
        "missing": "counts as missing",
        "clamp": "counts as the first of the list",
    },
    "integer": {"clamp": "moves to the nearest bound", "missing": "counts as missing"},
    "number": {"clamp": "moves to the nearest bound", "missing": "counts as missing"},
    "boolean": {"clamp": "counts as no", "missing": "counts as missing"},
    "date": {"clamp": "moves to the nearest day of the range", "missing": "counts as missing"},
}
_SHARED = ("missing_empty", "missing", "outside")
FIELDS: dict[str, tuple[str, ...]] = {
    "categorical": ("values", "ordered", *_SHARED),
    "integer": ("low", "high", "width", "edges", *_SHARED),
    "number": ("low", "high", "bins", "edges", *_SHARED),
    "boolean": ("true", "false", *_SHARED),
    "date": ("low", "high", "step_days", "format", *_SHARED),
    "identifier": (),
}
CHECKED = "on"
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


# --- what was typed → attribute ------------------------------------------------------------------------------------
def attribute_of(name: str, column: Mapping[str, Any]) -> Attribute:
    """The attribute that a column of the draft stands for. Raises DomainError naming the column, rule and repair."""
    reader = _Typed(name, column.get("fields") or {})
    kind = column.get("kind", "")
    if kind not in KINDS:
        raise reader.wrong("the kind is not chosen", "choose what kind of column this is")
    document: dict[str, Any] = {"name": name, "kind": kind, "provenance": column.get("origin") or "declared"}
    document |= _READERS[kind](reader)
    if kind != "identifier":
        document |= {"missing": reader.missing(), "outside": reader.text("outside") or None}
    return parse_attribute(document)


def _categorical(reader: _Typed) -> dict[str, Any]:
    values = split(reader.text("values"))
    if not values:
        raise reader.wrong("no value is listed", "list every category that is publicly known, one a line")
    return {
        "values": values,
        "other": reader.text("outside") == "other",
        "ordered": reader.text("ordered") == CHECKED,
    }


def _integer(reader: _Typed) -> dict[str, Any]:
    document: dict[str, Any] = {"low": reader.whole("low"), "high": reader.whole("high")}
    if reader.text("edges"):
        document["edges"] = [reader.as_whole(text, "edges") for text in split_numbers(reader.text("edges"))]
    if reader.text("width"):
        document["width"] = reader.whole("width")
    return document


def _number(reader: _Typed) -> dict[str, Any]:
    low, high = reader.number("low"), reader.number("high")
    document: dict[str, Any] = {"low": low, "high": high}
    if reader.text("edges") and reader.text("bins"):
        raise reader.wrong("both a number of bins and edges are given", "leave one of them empty")
    if reader.text("edges"):
        document["edges"] = [reader.as_number(text, "edges") for text in split_numbers(reader.text("edges"))]
    elif reader.text("bins"):
        document["edges"] = _equal_edges(low, high, bins=_bins(reader))
    return document


def _bins(reader: _Typed) -> int:
    bins = reader.whole("bins")
    if not 1 <= bins <= MAX_CODES:
        raise reader.wrong("the number of bins is out of range", f"give a whole number from 1 to {MAX_CODES:,}")
    return bins


def _equal_edges(low: float, high: float, *, bins: int) -> list[float]:
    return [low + (high - low) * step / bins for step in range(bins)] + [high]


def _date(reader: _Typed) -> dict[str, Any]:
    step = reader.whole("step_days") if reader.text("step_days") else 1
    style = reader.text("format") or "%Y-%m-%d"
    return {"low": reader.needed("low"), "high": reader.needed("high"), "step_days": step, "format": style}


_READERS: dict[str, Callable[[_Typed], dict[str, Any]]] = {
    "categorical": _categorical,
    "integer": _integer,
    "number": _number,
    "boolean": lambda reader: {"true": reader.needed("true"), "false": reader.needed("false")},
    "date": _date,
    "identifier": lambda _: {},
}
LABELS = {
    "low": "lowest",
    "high": "highest",
    "width": "bin width",
    "edges": "edges",
    "bins": "number of bins",
    "step_days": "step",
    "true": "yes",
    "false": "no",
}


class _Typed:
    """The typed fields of one column; every refusal names the column and the input."""

    def __init__(self, name: str, fields: Mapping[str, str]) -> None:
        self.name, self.fields = name, fields

    def wrong(self, rule: str, repair: str) -> DomainError:
        return DomainError(rule, repair=repair, column=self.name)

    def text(self, key: str) -> str:
        return str(self.fields.get(key) or "").strip()

    def needed(self, key: str) -> str:
        if not self.text(key):
            raise self.wrong(f"“{LABELS[key]}” is empty", "fill it in")
        return self.text(key)

    def whole(self, key: str) -> int:
        return self.as_whole(self.needed(key), key)

    def number(self, key: str) -> float:
        return self.as_number(self.needed(key), key)

    def as_whole(self, text: str, key: str) -> int:
        if not _WHOLE.fullmatch(text):
            raise self.wrong(f"“{LABELS[key]}” is not a whole number", "write digits only, without separators")
        return int(text)

    def as_number(self, text: str, key: str) -> float:
        if not _NUMBER.fullmatch(text):
            raise self.wrong(f"“{LABELS[key]}” is not a number", "write it like 12.5, without separators")
        return float(text)

    def missing(self) -> list[str] | None:
        """The markers in order; the first is the one that a release writes."""
        ticked = [""] if self.text("missing_empty") == CHECKED else []
        written = split(self.text("missing"))
        return [*ticked, *(text for text in written if text or not ticked)] or None


# --- attribute → what would have been typed ------------------------------------------------------------------------
def typed_from(document: Mapping[str, Any]) -> Column:
    """An attribute's JSON as somebody would have typed it, unconfirmed. Tolerant: what it does not know is left out."""
    kind = document.get("kind") if document.get("kind") in KINDS else "categorical"
    missing = [str(marker) for marker in document.get("missing") or ()]
    outside = "other" if document.get("other") else document.get("outside") or usual_outside(str(kind), bool(missing))
    fields: Fields = {
        "values": join(str(value) for value in document.get("values") or ()),
        "ordered": CHECKED if document.get("ordered") else "",
        "missing_empty": CHECKED if missing[:1] == [""] else "",
        "missing": ", ".join(_quoted(marker, comma=True) for place, marker in enumerate(missing) if marker or place),
        "outside": str(outside),
        **{key: plain(document.get(key)) for key in ("low", "high", "width", "true", "false", "step_days", "format")},
        **_bins_or_edges(document),
    }
    return {"kind": kind, "fields": {key: fields[key] for key in FIELDS[str(kind)] if fields.get(key)}}


def usual_outside(kind: str, has_missing: bool) -> str:
    """Where a value outside the declaration goes unless something else is said."""
    if kind == "categorical":
        return "missing" if has_missing else "other"
    return "missing" if kind == "boolean" and has_missing else "clamp"


def _bins_or_edges(document: Mapping[str, Any]) -> Fields:
    edges = document.get("edges")
    if not edges:
        return {}
    equal = _equal_edges(float(edges[0]), float(edges[-1]), bins=len(edges) - 1) if len(edges) > 1 else []
    if document.get("kind") == "number" and [float(edge) for edge in edges] == equal:
        return {"bins": str(len(edges) - 1)}
    return {"edges": ", ".join(plain(edge) for edge in edges)}


def plain(value: object) -> str:
    """A number as somebody would type it."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


# --- a suggestion, and what was typed over it -----------------------------------------------------------------------
def merged(suggested: Column | None, column: Column | None) -> Column:
    """What a line shows: what was typed, over what was suggested where nothing was typed."""
    if column is None or suggested is None:
        return column or suggested or {"kind": "", "fields": {}}
    kind = column.get("kind") or suggested["kind"]
    below = suggested["fields"] if kind == suggested["kind"] else _shared(suggested["fields"], kind)
    return {**column, "kind": kind, "fields": {**below, **column["fields"]}}


def apart(typed: Column, suggested: Column | None) -> Column | None:
    """What was typed and not merely left standing from the suggestion; None when that is nothing. Only this is
    stored of a line that is not confirmed, so that suggestions stay in the preview store."""
    if suggested is None:
        fields = {key: text for key, text in typed["fields"].items() if text}
        return {**typed, "fields": fields} if fields or typed["kind"] else None
    same = typed["kind"] == suggested["kind"]
    below = suggested["fields"] if same else _shared(suggested["fields"], typed["kind"])
    fields = {key: text for key, text in typed["fields"].items() if spelled(text) != spelled(below.get(key, ""))}
    if same and not fields and typed.get("origin", "declared") == "declared":
        return None
    return {**typed, "kind": "" if same else typed["kind"], "fields": fields}


def _shared(fields: Fields, kind: str) -> Fields:
    outsides = OUTSIDES.get(kind, {})
    return {k: v for k, v in fields.items() if k in _SHARED and (k != "outside" or v in outsides)}


def spelled(text: str) -> str:
    """Browsers send line ends as CR LF."""
    return text.replace("\r\n", "\n").strip()


# --- lists of texts ------------------------------------------------------------------------------------------------
def split(text: str) -> list[str]:
    """Texts one a line, or, on a single line, between commas. Quotation marks keep what is inside as it is."""
    lines = text.splitlines()
    parts = lines if len(lines) > 1 else re.findall(r'\s*"(?:[^"]|"")*"\s*(?=,|$)|[^,]+', text)
    return [_unquoted(part) for part in parts if part.strip()]


def split_numbers(text: str) -> list[str]:
    """Numbers between commas, semicolons or blanks."""
    return [part for part in re.split(r"[,;\s]+", text) if part]


def join(texts: Iterable[str]) -> str:
    """The inverse of `split`: one a line. A text with a line break cannot be written so and is left out."""
    listed = [text for text in texts if len(text.splitlines()) < 2]
    return "\n".join(_quoted(text, comma=len(listed) == 1) for text in listed)


def _quoted(text: str, *, comma: bool) -> str:
    if text == text.strip() and text and not text.startswith('"') and not (comma and "," in text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _unquoted(part: str) -> str:
    stripped = part.strip()
    if len(stripped) > 1 and stripped.startswith('"') and stripped.endswith('"'):
        return stripped[1:-1].replace('""', '"')
    return stripped


# --- the whole draft -----------------------------------------------------------------------------------------------
def columns(draft: Mapping[str, Any]) -> dict[str, Column]:
    """The columns somebody has typed or confirmed something about, in their order in the table."""
    found: dict[str, Column] = draft.get("columns") or {}
    return dict(sorted(found.items(), key=lambda item: item[1].get("place", 0)))


def confirmed(draft: Mapping[str, Any]) -> list[str]:
    """Names of the columns that were confirmed as public knowledge."""
    return [name for name, column in columns(draft).items() if column.get("confirmed")]


def open_count(draft: Mapping[str, Any], names: Sequence[str] | None = None) -> tuple[int, int] | None:
    """(columns still open, columns in all); None while nobody has looked at the table's columns."""
    done = confirmed(draft)
    if names is not None:
        return len(set(names) - set(done)), len(names)
    total = draft.get("total")
    return (max(0, total - len(done)), total) if isinstance(total, int) else None
