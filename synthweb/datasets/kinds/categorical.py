"""Categories: a public list of texts."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Categorical
from synthweb.datasets.kinds.form import SHARED, KindForm
from synthweb.datasets.kinds.typed import CHECKED, TypedFields
from synthweb.datasets.kinds.unshown import READS, is_not_reading, reading, with_reading
from synthweb.datasets.list_fields import split

LISTED = 5  # values named in a line; the editor shows all


def _categorical(typed: TypedFields) -> dict[str, object]:
    values = split(typed.text("values"))
    if not values:
        raise typed.wrong(
            "no value is listed", "list every category that is publicly known, one a line"
        )
    return {
        "values": values,
        "other": typed.text("outside") == "other",
        "ordered": typed.text("ordered") == CHECKED,
        **reading(typed),
    }


def _summary(attribute: Categorical) -> str:
    values = attribute.values
    more = f" and {len(values) - LISTED} more" if len(values) > LISTED else ""
    other = ", any other" if attribute.has_other else ""
    spelled = ", as a set reads them" if attribute.reads is not None else ""
    return f"{len(values)} values: {', '.join(values[:LISTED])}{more}{other}{spelled}"


FORM = KindForm(
    kind="categorical",
    label=_("Categories"),
    position=10,
    fields=("values", "ordered", READS, *SHARED),
    document=_categorical,
    summary=_summary,
    outsides={
        "other": "is kept as “other”",
        "missing": "counts as missing",
        "clamp": "counts as the first of the list",
    },
    usual_outside=lambda has_missing: "missing" if has_missing else "other",
    as_typed=with_reading,
    is_shown=is_not_reading,
)
