"""Days in steps."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Date, parse_attribute
from synthweb.datasets.kinds.form import DAY_CELLS, SHARED, KindForm, shows_unordered_if_set
from synthweb.datasets.kinds.typed import TypedFields

_ALL_DAYS = 4_000_000  # more than there are dates


def _date(typed: TypedFields) -> dict[str, object]:
    style = typed.text("format") or "%Y-%m-%d"
    document: dict[str, object] = {
        "low": typed.needed("low"),
        "high": typed.needed("high"),
        "format": style,
    }
    match typed.one_of("bins", "step_days"):
        case "step_days":
            document["step_days"] = typed.whole("step_days")
        case "bins":
            # One bin for all: parsed only for the bounds, in whatever format they are typed.
            whole = parse_attribute(
                {"name": typed.name, "kind": "date", **document, "step_days": _ALL_DAYS}
            )
            if not isinstance(whole, Date):
                raise TypeError
            document["step_days"] = typed.values_per_bin((whole.high - whole.low).days + 1)
    return document


def _summary(attribute: Date) -> str:
    days = attribute.step_days
    step = "each day" if days == 1 else f"steps of {days} days"
    return f"{attribute.low} to {attribute.high}, {step}"


FORM = KindForm(
    kind="date",
    label=_("Date"),
    position=50,
    fields=("low", "high", "bins", "step_days", "format", "unordered", *DAY_CELLS, *SHARED),
    document=_date,
    summary=_summary,
    outsides={
        "clamp": "moves to the nearest day of the range",
        "missing": "counts as missing",
    },
    labels={
        "low": (_("First day"), _("Like 2024-12-31.")),
        "high": (_("Last day"), _("Like 2024-12-31.")),
        "bins": (_("Number of bins"), _("Or the step that makes them.")),
    },
    is_shown=shows_unordered_if_set,
)
