"""Whole numbers in bins."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from synthweb.datasets.kinds.form import NUMBER_CELLS, SHARED, TO_A_BOUND, KindForm
from synthweb.datasets.kinds.numbers import summary
from synthweb.datasets.kinds.typed import TypedFields
from synthweb.datasets.list_fields import split_numbers


def _integer(typed: TypedFields) -> dict[str, object]:
    low, high = typed.whole("low"), typed.whole("high")
    document: dict[str, object] = {"low": low, "high": high}
    match typed.one_of("bins", "width", "edges"):
        case "edges":
            document["edges"] = [
                typed.as_whole(text, "edges") for text in split_numbers(typed.text("edges"))
            ]
        case "width":
            document["width"] = typed.whole("width")
        case "bins":
            document["width"] = typed.values_per_bin(high - low + 1)
    return document


FORM = KindForm(
    kind="integer",
    label=_("Whole number"),
    position=20,
    fields=("low", "high", "bins", "width", "edges", "unordered", *NUMBER_CELLS, *SHARED),
    document=_integer,
    summary=summary,
    outsides=TO_A_BOUND,
    labels={
        "bins": (_("Number of bins"), _("All empty: one bin a value up to 100, else 32 bins."))
    },
)
