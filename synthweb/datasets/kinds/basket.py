"""Baskets of listed items."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Basket
from synthweb.datasets.kinds.form import Document, Fields, KindForm
from synthweb.datasets.kinds.typed import CHECKED, TypedFields
from synthweb.datasets.kinds.unshown import READS, is_not_reading, reading, with_reading
from synthweb.datasets.list_fields import join, split

BETWEEN: Mapping[str, str | Promise] = {
    "blank": _("blanks"),
    "comma": _("commas"),
    "semicolon": _("semicolons"),
    "bar": _("bars |"),
    "tab": _("tabs"),
}
_SIGNS = {"blank": " ", "comma": ",", "semicolon": ";", "bar": "|", "tab": "\t"}
SHARED_INPUTS = ("items_between", "wide")
"""Inputs of both kinds of baskets."""
LISTED = 5  # items named in a line; the editor shows all


def shared_document(typed: TypedFields) -> dict[str, object]:
    """What both kinds of baskets say, as JSON."""
    between = typed.text("items_between") or "blank"
    return {
        "separator": _SIGNS.get(between, between),
        "wide": typed.text("wide") == CHECKED,
    }


def shared_typed(document: Document) -> Fields:
    """The same as it would have been typed."""
    names = {sign: name for name, sign in _SIGNS.items()}
    return {
        "items_between": names.get(str(document.get("separator", " ")), "blank"),
        "wide": CHECKED if document.get("wide") else "",
    }


def _basket(typed: TypedFields) -> dict[str, object]:
    items = split(typed.text("items"))
    if not items:
        raise typed.wrong(
            "no item is listed", "list every item that matters, one a line", "items"
        )
    return {"items": items, **shared_document(typed), **reading(typed)}


def _as_typed(document: Document, fields: Fields) -> Fields:
    items = document.get("items")
    listed = join(map(str, items)) if isinstance(items, list) else ""
    return with_reading(document, fields) | {"items": listed} | shared_typed(document)


def _summary(attribute: Basket) -> str:
    items = attribute.items
    more = f" and {len(items) - LISTED} more" if len(items) > LISTED else ""
    return f"{len(items)} items: {', '.join(items[:LISTED])}{more}"


FORM = KindForm(
    kind="basket",
    label=_("Baskets of listed items"),
    position=120,
    fields=("items", READS, *SHARED_INPUTS),
    is_shown=is_not_reading,
    document=_basket,
    summary=_summary,
    inputs={"separator": "items_between"},
    choices={"items_between": (BETWEEN, "blank")},
    as_typed=_as_typed,
)
