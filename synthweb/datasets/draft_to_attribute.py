"""From what a steward typed about a column to the attribute it stands for. Every refusal names column, rule,
repair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synth_engine.domain import Attribute, parse_attribute
from synth_engine.kinds import KINDS
from synthweb.datasets.kinds import FORMS
from synthweb.datasets.kinds.typed import CHECKED, TypedFields


def _cell_form(typed: TypedFields, inputs: Sequence[str]) -> dict[str, object]:
    """How the cells of a column are written, as typed. A sign keeps the blank between it and the number."""
    form: dict[str, object] = {
        key: True for key in ("grouped", "unpadded") if typed.text(key) == CHECKED
    }
    form |= {
        key: str(typed.fields[key]) for key in ("before", "after") if typed.fields.get(key)
    }
    counts = {"decimals": "decimals", "digits_wide": "width"}
    form |= {name: typed.whole(key) for key, name in counts.items() if typed.text(key)}
    # Inputs of another kind that was chosen before may still hold something.
    known = {counts.get(key, key) for key in inputs}
    return {key: value for key, value in form.items() if key in known and value}


def separable(kind: str, typed: TypedFields) -> bool:
    """Whether a column has markers of missing values that may be separate; else the box is not shown."""
    return "separate_markers" in FORMS[kind].fields and len(typed.missing() or ()) > 1


def attribute_of(name: str, column: Mapping[str, Any]) -> Attribute:
    """The attribute that a column of the draft stands for. Raises DomainError naming the column, rule and
    repair."""
    typed = TypedFields(name, column.get("fields") or {})
    kind = column.get("kind", "")
    if kind not in FORMS:
        raise typed.wrong("the kind is not chosen", "choose what kind of column this is")
    document: dict[str, object] = {
        "name": name,
        "kind": kind,
        "provenance": column.get("origin") or "declared",
    }
    document |= FORMS[kind].document(typed)
    if not KINDS[kind].bare:
        document |= {"missing": typed.missing(), "outside": typed.text("outside") or None}
    if typed.text("separate_markers") == CHECKED and separable(kind, typed):
        document["separate_markers"] = True
    if typed.text("protected") == CHECKED and "protected" in FORMS[kind].fields:
        document["protected"] = True
    if "unordered" in FORMS[kind].fields and typed.text("unordered") == CHECKED:
        document["ordered"] = False
    if written := _cell_form(typed, FORMS[kind].fields):
        document["written"] = written
    # The parser of DOMAIN.json judges: a page cannot accept what a file may not contain.
    return parse_attribute(document)
