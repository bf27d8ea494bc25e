"""Times of day in steps of minutes."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from synth_engine.domain import parse_attribute
from synth_engine.kinds.time_of_day import FORMATS, Time
from synthweb.datasets.kinds.form import SHARED, KindForm, shows_unordered_if_set
from synthweb.datasets.kinds.typed import TypedFields


def _time(typed: TypedFields) -> dict[str, object]:
    document: dict[str, object] = {
        "low": typed.text("low") or "00:00",
        "high": typed.text("high") or "23:59",
        "step": typed.whole("step") if typed.text("step") else 1,
        "format": typed.text("format") or FORMATS[0],
    }
    match typed.one_of("bins", "width"):
        case "width":
            document["width"] = typed.whole("width")
        case "bins":
            # Without bins: parsed only for the number of points between the bounds.
            plain = parse_attribute({"name": typed.name, "kind": "time", **document})
            if not isinstance(plain, Time):
                raise TypeError
            document["width"] = typed.values_per_bin(plain.points)
    return document


def _summary(attribute: Time) -> str:
    step = "each minute" if attribute.step == 1 else f"every {attribute.step} minutes"
    whole = attribute.value_count == attribute.points
    bins = "" if whole else f", {attribute.value_count} bins"
    return f"{attribute.low:%H:%M} to {attribute.high:%H:%M}, {step}{bins}"


FORM = KindForm(
    kind="time",
    label=_("Time of day"),
    position=65,
    fields=("low", "high", "step", "bins", "width", "format", "unordered", *SHARED),
    document=_time,
    summary=_summary,
    outsides={
        "clamp": "moves to the nearest end of the range",
        "missing": "counts as missing",
    },
    labels={
        "low": (_("From"), _("Like 06:00. Empty: 00:00.")),
        "high": (_("To"), _("Like 22:00. Empty: 23:59.")),
        "step": (_("Minutes between values"), _("Empty: 1.")),
        "bins": (_("Number of bins"), _("Both empty: one a step up to 100, else 32 bins.")),
        "width": (_("or steps in a bin"), ""),
    },
    choices={"format": (dict(zip(FORMATS, FORMATS, strict=True)), FORMATS[0])},
    is_shown=shows_unordered_if_set,
)
