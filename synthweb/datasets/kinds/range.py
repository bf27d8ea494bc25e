"""Numbers or days in a wide range; a run learns where they lie."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Range
from synthweb.datasets.kinds.form import (
    DAY_CELLS,
    NUMBER_CELLS,
    SHARED,
    TO_A_BOUND,
    Document,
    Fields,
    KindForm,
)
from synthweb.datasets.kinds.numbers import spaced
from synthweb.datasets.kinds.typed import TypedFields

SCALES: Mapping[str, str | Promise] = {
    "integer": _("whole numbers"),
    "number": _("numbers"),
    "date": _("days"),
}
WIDEST = {
    "widest_low": "low",
    "widest_high": "high",
    "most_bins": "bins",
    "day_format": "format",
}
"""Inputs of a wide range and what they are in JSON. Not called like those of bounds that are known, so that
none of these, suggested from data, slips in."""


def _range(typed: TypedFields) -> dict[str, object]:
    of = typed.text("of") or "integer"
    read = {"integer": typed.whole, "number": typed.number}.get(of, typed.needed)
    document: dict[str, object] = {
        "of": of,
        "low": read("widest_low"),
        "high": read("widest_high"),
    }
    if of == "date" and typed.text("day_format"):
        document["format"] = typed.text("day_format")
    return document | ({"bins": typed.whole("most_bins")} if typed.text("most_bins") else {})


def _as_typed(_document: Document, fields: Fields) -> Fields:
    return fields | {own: fields.get(key, "") for own, key in WIDEST.items()}


def _is_shown(key: str, fields: Mapping[str, str]) -> bool:
    if key in NUMBER_CELLS:
        return fields.get("of") != "date"
    return key not in ("day_format", *DAY_CELLS) or fields.get("of") == "date"


def _summary(attribute: Range) -> str:
    ends = (attribute.low, attribute.high)
    low, high = ends if attribute.of == "date" else map(spaced, ends)
    return f"{low} to {high} at the widest, up to {attribute.bins} bins found with budget"


FORM = KindForm(
    kind="range",
    label=_("Unknown bounds"),
    position=80,
    fields=("of", *WIDEST, *NUMBER_CELLS, *DAY_CELLS, *SHARED),
    document=_range,
    summary=_summary,
    outsides=TO_A_BOUND,
    inputs={key: own for own, key in WIDEST.items()},
    choices={"of": (SCALES, "integer")},
    redraws=("of",),
    as_typed=_as_typed,
    is_shown=_is_shown,
)
