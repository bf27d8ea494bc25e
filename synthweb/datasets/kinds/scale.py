"""Numbers, days or moments at the resolution that a release can afford; bounds and bins are learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Scale
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
    "number": _("numbers with decimals"),
    "date": _("dates"),
    "datetime": _("dates with a time"),
}
WIDEST = {"widest_low": "low", "widest_high": "high", "day_format": "format"}
"""Inputs and what they are in JSON. Not called like those of bounds that are known, so that none of these,
suggested from data, slips in."""
_ON_CALENDAR = ("date", "datetime")


def _scale(typed: TypedFields) -> dict[str, Any]:
    of = typed.text("of") or "integer"
    read = {"integer": typed.whole, "number": typed.number}.get(of, typed.needed)
    document: dict[str, Any] = {"of": of}
    document |= {
        end: read(key)
        for key, end in (("widest_low", "low"), ("widest_high", "high"))
        if typed.text(key)
    }
    if typed.text("step"):
        document["step"] = typed.number("step") if of == "number" else typed.whole("step")
    if of in _ON_CALENDAR and typed.text("day_format"):
        document["format"] = typed.text("day_format")
    return document


def _as_typed(_document: Document, fields: Fields) -> Fields:
    return fields | {own: fields.get(key, "") for own, key in WIDEST.items()}


def _is_shown(key: str, fields: Mapping[str, str]) -> bool:
    if key in NUMBER_CELLS:
        return fields.get("of") not in _ON_CALENDAR
    return key not in ("day_format", *DAY_CELLS) or fields.get("of") in _ON_CALENDAR


def _summary(attribute: Scale) -> str:
    step = "" if attribute.step == 1 else f", in steps of {attribute.step:g}"
    if attribute.low is None or attribute.high is None:
        return f"{SCALES[attribute.of]}{step}, bounds learned within the budget"
    ends = (attribute.low, attribute.high)
    low, high = ends if attribute.of in _ON_CALENDAR else map(spaced, ends)  # type: ignore[arg-type]
    return f"{low} to {high}{step}"


FORM = KindForm(
    kind="scale",
    label=_("Number or date"),
    position=15,
    fields=(
        "of",
        "widest_low",
        "widest_high",
        "step",
        "day_format",
        *NUMBER_CELLS,
        *DAY_CELLS,
        *SHARED,
    ),
    document=_scale,
    summary=_summary,
    outsides=TO_A_BOUND,
    labels={
        "widest_low": (
            _("Lowest"),
            _("Empty if it is written nowhere: it is learned within the budget."),
        ),
        "widest_high": (_("Highest"), _("Both bounds, or neither.")),
        "step": (
            _("Smallest step"),
            _("Empty: 1. Like 0.01 for cents; of dates in days, of times in seconds."),
        ),
    },
    inputs={key: own for own, key in WIDEST.items()},
    choices={"of": (SCALES, "integer")},
    redraws=("of",),
    as_typed=_as_typed,
    is_shown=_is_shown,
)
