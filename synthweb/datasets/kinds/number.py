"""Numbers in bins."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from synthweb.datasets.kinds.form import (
    NUMBER_CELLS,
    SHARED,
    TO_A_BOUND,
    KindForm,
    shows_unordered_if_set,
)
from synthweb.datasets.kinds.numbers import equal_edges, summary
from synthweb.datasets.kinds.typed import TypedFields
from synthweb.datasets.list_fields import split_numbers


def _number(typed: TypedFields) -> dict[str, object]:
    low, high = typed.number("low"), typed.number("high")
    document: dict[str, object] = {"low": low, "high": high}
    match typed.one_of("bins", "edges"):
        case "edges":
            document["edges"] = [
                typed.as_number(text, "edges") for text in split_numbers(typed.text("edges"))
            ]
        case "bins":
            document["edges"] = equal_edges(low, high, bins=typed.bins())
    return document


FORM = KindForm(
    kind="number",
    label=_("Number"),
    position=30,
    fields=("low", "high", "bins", "edges", "unordered", *NUMBER_CELLS, *SHARED),
    document=_number,
    summary=summary,
    outsides=TO_A_BOUND,
    labels={"bins": (_("Number of bins"), _("Both empty: 32 of equal width."))},
    is_shown=shows_unordered_if_set,
)
