"""Moments on a clock."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from synth_engine.domain import DateTime, parse_attribute
from synth_engine.kinds.date_time import ISO_MOMENT, UNITS
from synthweb.datasets.kinds.form import (
    DAY_CELLS,
    SHARED,
    Document,
    Fields,
    KindForm,
    shows_unordered_if_set,
)
from synthweb.datasets.kinds.typed import TypedFields


def _datetime(typed: TypedFields) -> dict[str, object]:
    document: dict[str, object] = {
        "low": typed.needed("low"),
        "high": typed.needed("high"),
        "step": typed.whole("step") if typed.text("step") else 1,
        "unit": typed.text("unit") or "hours",
        "format": typed.text("format") or ISO_MOMENT,
    }
    match typed.one_of("bins", "width"):
        case "width":
            document["width"] = typed.whole("width")
        case "bins":
            # Without bins: parsed only for the number of points between the bounds.
            plain = parse_attribute({"name": typed.name, "kind": "datetime", **document})
            if not isinstance(plain, DateTime):
                raise TypeError
            document["width"] = typed.values_per_bin(plain.points)
    return document


def _moments(attribute: DateTime) -> str:
    step = (
        f"each {attribute.unit[:-1]}"
        if attribute.step == 1
        else f"every {attribute.step} {attribute.unit}"
    )
    bins = (
        "" if attribute.value_count == attribute.points else f", {attribute.value_count} bins"
    )
    return f"{attribute.formatted(attribute.low)} to {attribute.formatted(attribute.high)}, {step}{bins}"


def _as_typed(_document: Document, fields: Fields) -> Fields:
    # People write a blank where ISO has a T.
    return fields | {key: fields.get(key, "").replace("T", " ") for key in ("low", "high")}


FORM = KindForm(
    kind="datetime",
    label=_("Date and time"),
    position=60,
    fields=(
        "low",
        "high",
        "step",
        "unit",
        "bins",
        "width",
        "format",
        "unordered",
        *DAY_CELLS,
        *SHARED,
    ),
    document=_datetime,
    summary=_moments,
    outsides={
        "clamp": "moves to the nearest end of the range",
        "missing": "counts as missing",
    },
    labels={
        "low": (_("From"), _("Like 2024-01-01 00:00. No time zone.")),
        "high": (_("To"), _("Like 2024-12-31 23:59.")),
        "bins": (_("Number of bins"), _("Both empty: one a step up to 100, else 32 bins.")),
        "width": (_("or steps in a bin"), ""),
        "format": (
            _("How they are written"),
            _("Empty: ISO, that is 2024-12-31T23:59:00. A zone is plain text."),
        ),
    },
    choices={"unit": (dict(zip(UNITS, UNITS, strict=True)), "hours")},
    as_typed=_as_typed,
    is_shown=shows_unordered_if_set,
)
