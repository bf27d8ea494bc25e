"""Texts of a public set, of which a run learns those that occur."""

from __future__ import annotations

import json
from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Weak
from synth_engine.values.strings import CASES
from synthweb.datasets import sets
from synthweb.datasets.kinds.form import ABSENCE, Document, Fields, KindForm
from synthweb.datasets.kinds.typed import TypedFields
from synthweb.lib.number_format import grouped


def _weak(typed: TypedFields) -> dict[str, object]:
    document: dict[str, object] = {"values": sets.document_of(typed.fields, column=typed.name)}
    if typed.text("completions"):
        document["completions"] = typed.json("completions")
    if typed.text("rho"):
        document["rho"] = typed.number("rho")
    return document


def _as_typed(document: Document, fields: Fields) -> Fields:
    if isinstance(values := document.get("values"), Mapping):
        fields = fields | sets.typed_of(values)
        if completions := document.get("completions"):
            fields["completions"] = json.dumps(completions, ensure_ascii=False)
    return fields


def _is_shown(key: str, fields: Mapping[str, str]) -> bool:
    if key == "completions":
        return False  # too many texts to type: they come with a file, and a line sums them up
    return key not in sets.ALL_INPUTS or key in sets.INPUTS.get(fields.get("set", ""), ())


def _summary(attribute: Weak) -> str:
    return f"found with budget among {grouped(attribute.values.size)} public values"


FORM = KindForm(
    kind="weak",
    label=_("Unknown categories"),
    position=70,
    fields=("set", *sets.ALL_INPUTS, "completions", "rho", *ABSENCE),
    document=_weak,
    summary=_summary,
    outsides={"other": "is kept as “other”", "missing": "counts as missing"},
    inputs={"values": "set"},
    choices={"set": (sets.CHOICES, ""), "set_case": (sets.READ, CASES[0])},
    redraws=("set",),
    as_typed=_as_typed,
    is_shown=_is_shown,
    usual_outside=lambda _has_missing: "other",
)
