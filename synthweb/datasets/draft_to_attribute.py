"""From what a steward typed about a column to the attribute it stands for. Every refusal names column, rule, repair."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from synth_engine.domain import MAX_CODES, Attribute, Date, DateTime, parse_attribute
from synth_engine.domain.document import parse
from synth_engine.errors import DomainError
from synth_engine.kinds.date_time import ISO_MOMENT
from synth_engine.kinds.text import CLASSES
from synthweb.datasets import sets
from synthweb.datasets.list_fields import split, split_numbers

CHECKED = "on"
_ALL_DAYS = 4_000_000  # more than there are dates
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_LABELS = {
    "low": "lowest",
    "high": "highest",
    "width": "bin width",
    "edges": "edges",
    "bins": "number of bins",
    "step_days": "step",
    "step": "step",
    "true": "yes",
    "false": "no",
    "widest_low": "lowest at the widest",
    "widest_high": "highest at the widest",
    "most_bins": "number of bins at most",
    "rho": "chance that nothing is invented",
    "min_length": "shortest",
    "max_length": "longest",
}


def attribute_of(name: str, column: Mapping[str, Any]) -> Attribute:
    """The attribute that a column of the draft stands for. Raises DomainError naming the column, rule and repair."""
    reader = _Typed(name, column.get("fields") or {})
    kind = column.get("kind", "")
    if kind not in _READERS:
        raise reader.wrong("the kind is not chosen", "choose what kind of column this is")
    document: dict[str, Any] = {
        "name": name,
        "kind": kind,
        "provenance": column.get("origin") or "declared",
    }
    document |= _READERS[kind](reader)
    if kind != "identifier":
        document |= {"missing": reader.missing(), "outside": reader.text("outside") or None}
    if (
        kind not in ("categorical", "identifier", "weak")
        and reader.text("unordered") == CHECKED
    ):
        document["ordered"] = False
    return parse_attribute(document)


def equal_edges(low: float, high: float, *, bins: int) -> list[float]:
    """Edges of bins of equal width."""
    return [low + (high - low) * step / bins for step in range(bins)] + [high]


def _categorical(reader: _Typed) -> dict[str, Any]:
    values = split(reader.text("values"))
    if not values:
        raise reader.wrong(
            "no value is listed", "list every category that is publicly known, one a line"
        )
    return {
        "values": values,
        "other": reader.text("outside") == "other",
        "ordered": reader.text("ordered") == CHECKED,
    }


def _integer(reader: _Typed) -> dict[str, Any]:
    low, high = reader.whole("low"), reader.whole("high")
    document: dict[str, Any] = {"low": low, "high": high}
    match reader.one_of("bins", "width", "edges"):
        case "edges":
            document["edges"] = [
                reader.as_whole(text, "edges") for text in split_numbers(reader.text("edges"))
            ]
        case "width":
            document["width"] = reader.whole("width")
        case "bins":
            document["width"] = reader.shared_out(high - low + 1)
    return document


def _number(reader: _Typed) -> dict[str, Any]:
    low, high = reader.number("low"), reader.number("high")
    document: dict[str, Any] = {"low": low, "high": high}
    match reader.one_of("bins", "edges"):
        case "edges":
            document["edges"] = [
                reader.as_number(text, "edges") for text in split_numbers(reader.text("edges"))
            ]
        case "bins":
            document["edges"] = equal_edges(low, high, bins=reader.bins())
    return document


def _date(reader: _Typed) -> dict[str, Any]:
    style = reader.text("format") or "%Y-%m-%d"
    document: dict[str, Any] = {
        "low": reader.needed("low"),
        "high": reader.needed("high"),
        "format": style,
    }
    match reader.one_of("bins", "step_days"):
        case "step_days":
            document["step_days"] = reader.whole("step_days")
        case "bins":
            whole = parse_attribute(
                {"name": reader.name, "kind": "date", **document, "step_days": _ALL_DAYS}
            )
            assert isinstance(whole, Date)  # noqa: S101  # its kind says so
            document["step_days"] = reader.shared_out((whole.high - whole.low).days + 1)
    return document


def _datetime(reader: _Typed) -> dict[str, Any]:
    document: dict[str, Any] = {
        "low": reader.needed("low"),
        "high": reader.needed("high"),
        "step": reader.whole("step") if reader.text("step") else 1,
        "unit": reader.text("unit") or "hours",
        "format": reader.text("format") or ISO_MOMENT,
    }
    match reader.one_of("bins", "width"):
        case "width":
            document["width"] = reader.whole("width")
        case "bins":
            plain = parse_attribute({"name": reader.name, "kind": "datetime", **document})
            assert isinstance(plain, DateTime)  # noqa: S101  # its kind says so
            document["width"] = reader.shared_out(plain.points)
    return document


def _identifier(reader: _Typed) -> dict[str, Any]:
    if not reader.text("regenerate"):
        return {}
    pattern = None if reader.text("regenerate") == "uuid" else reader.text("pattern") or None
    return {"regenerate": reader.text("regenerate"), "pattern": pattern}


def _weak(reader: _Typed) -> dict[str, Any]:
    document: dict[str, Any] = {"values": sets.document_of(reader.fields, column=reader.name)}
    if reader.text("completions"):
        document["completions"] = reader.json("completions")
    return document | ({"rho": reader.number("rho")} if reader.text("rho") else {})


def _range(reader: _Typed) -> dict[str, Any]:
    of = reader.text("of") or "integer"
    read = {"integer": reader.whole, "number": reader.number}.get(of, reader.needed)
    document: dict[str, Any] = {
        "of": of,
        "low": read("widest_low"),
        "high": read("widest_high"),
    }
    if of == "date" and reader.text("day_format"):
        document["format"] = reader.text("day_format")
    return document | ({"bins": reader.whole("most_bins")} if reader.text("most_bins") else {})


def _text(reader: _Typed) -> dict[str, Any]:
    signs = [each for each in CLASSES if reader.text(each) == CHECKED]
    if reader.text("pattern"):
        if signs or any(reader.text(key) for key in ("min_length", "max_length", "leading")):
            raise reader.wrong(
                "both a pattern and lengths or kinds of signs are given", "keep one of them"
            )
        return {"pattern": reader.text("pattern")}
    if not signs:
        raise reader.wrong(
            "no kind of sign is ticked",
            "tick those that the texts are made of, or give a pattern",
        )
    return {
        "min_length": reader.whole("min_length") if reader.text("min_length") else 1,
        "max_length": reader.whole("max_length"),
        "signs": signs,
        "leading": reader.text("leading") == CHECKED,
    }


_READERS: dict[str, Callable[[_Typed], dict[str, Any]]] = {
    "categorical": _categorical,
    "integer": _integer,
    "number": _number,
    "boolean": lambda reader: {"true": reader.needed("true"), "false": reader.needed("false")},
    "date": _date,
    "datetime": _datetime,
    "weak": _weak,
    "range": _range,
    "text": _text,
    "identifier": _identifier,
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
            raise self.wrong(f"“{_LABELS[key]}” is empty", "fill it in")
        return self.text(key)

    def whole(self, key: str) -> int:
        return self.as_whole(self.needed(key), key)

    def number(self, key: str) -> float:
        return self.as_number(self.needed(key), key)

    def as_whole(self, text: str, key: str) -> int:
        if not _WHOLE.fullmatch(text):
            raise self.wrong(
                f"“{_LABELS[key]}” is not a whole number",
                "write digits only, without separators",
            )
        return int(text)

    def as_number(self, text: str, key: str) -> float:
        if not _NUMBER.fullmatch(text):
            raise self.wrong(
                f"“{_LABELS[key]}” is not a number", "write it like 12.5, without separators"
            )
        return float(text)

    def json(self, key: str) -> Any:
        """What came with a file and is kept as it was there."""
        try:
            return parse(self.text(key).encode())
        except DomainError:
            raise self.wrong(
                "the texts that complete others cannot be read", "upload a DOMAIN.json again"
            ) from None

    def one_of(self, *keys: str) -> str:
        """The one of these inputs that is filled in, if any."""
        filled = [key for key in keys if self.text(key)]
        if len(filled) > 1:
            labels = " and ".join(f"“{_LABELS[key]}”" for key in filled)
            raise self.wrong(
                f"{labels} are all given" if len(filled) > 2 else f"both {labels} are given",
                "keep one of them",
            )
        return filled[0] if filled else ""

    def bins(self) -> int:
        bins = self.whole("bins")
        if not 1 <= bins <= MAX_CODES:
            raise self.wrong(
                "the number of bins is out of range",
                f"give a whole number from 1 to {MAX_CODES:,}",
            )
        return bins

    def shared_out(self, count: int) -> int:
        """How many of `count` values go into each bin."""
        return max(1, -(-count // self.bins()))

    def missing(self) -> list[str] | None:
        """The markers in order; the first is the one that a release writes."""
        ticked = [""] if self.text("missing_empty") == CHECKED else []
        written = split(self.text("missing"))
        return [*ticked, *(text for text in written if text or not ticked)] or None
