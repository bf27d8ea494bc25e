"""Baskets of items of a public set, of which a run chooses those that most baskets have."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from synth_engine.domain import WeakBasket
from synth_engine.values.strings import CASES
from synthweb.datasets import sets
from synthweb.datasets.kinds.basket import BETWEEN, SHARED_INPUTS, shared_document, shared_typed
from synthweb.datasets.kinds.form import Document, Fields, KindForm
from synthweb.datasets.kinds.typed import TypedFields
from synthweb.lib.number_format import grouped


def _weak_basket(typed: TypedFields) -> dict[str, object]:
    document: dict[str, object] = {"values": sets.document_of(typed.fields, column=typed.name)}
    if typed.text("keep"):
        document["keep"] = typed.whole("keep")
    return document | shared_document(typed)


def _as_typed(document: Document, fields: Fields) -> Fields:
    if isinstance(values := document.get("values"), Mapping):
        fields = fields | sets.typed_of(values)
    return fields | {"keep": str(document.get("keep") or "")} | shared_typed(document)


def _is_shown(key: str, fields: Mapping[str, str]) -> bool:
    return key not in sets.ALL_INPUTS or key in sets.INPUTS.get(fields.get("set", ""), ())


def _summary(attribute: WeakBasket) -> str:
    size = grouped(attribute.values.size)
    return f"{grouped(attribute.keep)} items, chosen with budget among {size} public ones"


FORM = KindForm(
    kind="weak-basket",
    label=_("Baskets, items chosen by a run"),
    position=130,
    fields=("set", *sets.ALL_INPUTS, "keep", *SHARED_INPUTS),
    document=_weak_basket,
    summary=_summary,
    inputs={"values": "set", "separator": "items_between"},
    choices={
        "set": (sets.CHOICES, ""),
        "set_case": (sets.READ, CASES[0]),
        "items_between": (BETWEEN, "blank"),
    },
    redraws=("set",),
    as_typed=_as_typed,
    is_shown=_is_shown,
)
