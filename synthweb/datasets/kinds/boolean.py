"""Yes or no."""

from __future__ import annotations

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Boolean
from synthweb.datasets.kinds.form import SHARED, KindForm
from synthweb.datasets.kinds.typed import TypedFields


def _boolean(typed: TypedFields) -> dict[str, object]:
    return {"true": typed.needed("true"), "false": typed.needed("false")}


def _summary(attribute: Boolean) -> str:
    return gettext("%(true)s or %(false)s") % {
        "true": attribute.true,
        "false": attribute.false,
    }


FORM = KindForm(
    kind="boolean",
    label=_("Yes or no"),
    position=40,
    fields=("true", "false", *SHARED),
    document=_boolean,
    summary=_summary,
    outsides={"clamp": "counts as no", "missing": "counts as missing"},
    usual_outside=lambda has_missing: "missing" if has_missing else "clamp",
)
