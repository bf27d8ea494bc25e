"""Identifiers: left out, or made up."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Identifier
from synthweb.datasets.kinds.form import KindForm
from synthweb.datasets.kinds.typed import TypedFields

REGENERATE: Mapping[str, str | Promise] = {
    "": _("is left out"),
    "sequence": _("is made anew, counting from 1"),
    "random": _("is made anew, drawn by the pattern"),
    "uuid": _("is made anew, a UUID"),
}


def _identifier(typed: TypedFields) -> dict[str, object]:
    if not typed.text("regenerate"):
        return {}
    pattern = None if typed.text("regenerate") == "uuid" else typed.text("pattern") or None
    return {"regenerate": typed.text("regenerate"), "pattern": pattern}


def _summary(attribute: Identifier) -> str:
    match attribute.regenerate:
        case None:
            return "not modelled, not in the release"
        case "uuid":
            return "not modelled; made anew as UUIDs"
        case "sequence":
            return f"not modelled; made anew, counting{f' by {attribute.pattern}' if attribute.pattern else ' from 1'}"
    return f"not modelled; made anew by {attribute.pattern}"


FORM = KindForm(
    kind="identifier",
    label=_("Identifier"),
    position=100,
    fields=("regenerate", "pattern"),
    document=_identifier,
    summary=_summary,
    choices={"regenerate": (REGENERATE, "")},
)
