"""About how many records a table has, as its steward states it in public: a band, of which the low end
counts, or a number.

It is asked where no number of records is public, before any forecast, and is never read from the file: the
number of records is as secret as the records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from synth_engine.spec import MAX_ROWS
from synthweb.datasets.models import Dataset
from synthweb.lib.number_format import grouped

BANDS = (
    (100, _("Hundreds")),
    (1_000, _("Thousands")),
    (10_000, _("Tens of thousands")),
    (100_000, _("More")),
)
"""The low end of each band, which stands for all of it: a forecast must not flatter a table at the lower
end."""
FIELDS = ("records_band", "records")
REQUIRED = _("Say about how many records there are: the forecast depends on it.")
DIGITS = re.compile(r"[0-9]{1,10}")
CHOICES = tuple(str(low) for low, _label in BANDS)
"""The low ends as a form has them."""


def fields() -> dict[str, forms.Field]:
    """The four bands, and the number for whom it is public."""
    return {
        "records_band": forms.ChoiceField(
            label=_("About how many records?"),
            choices=list(zip(CHOICES, (label for _low, label in BANDS), strict=True)),
            widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
            required=False,
            help_text=_(
                "What anybody could guess, never what you counted. Forecasts are for the low end."
            ),
        ),
        "records": forms.CharField(
            label=_("Or the number, if it is public"), max_length=12, required=False
        ),
    }


def stated_in(cleaned: Mapping[str, Any]) -> int | None:
    """What the two fields say: the number if there is one, else the low end of the band; None for neither.
    Errors: ValidationError for what is no number of records."""
    text = str(cleaned.get("records") or "").strip()
    if text:
        return parsed(text)
    band = cleaned.get("records_band")
    return int(band) if band else None


def parsed(text: str) -> int:
    """Errors: ValidationError."""
    # Digits alone: int() would also take signs, blanks and underscores.
    if not DIGITS.fullmatch(text) or not 1 <= int(text) <= MAX_ROWS:
        raise forms.ValidationError(
            _("A whole number from 1 to %(most)s, or nothing.") % {"most": grouped(MAX_ROWS)}
        )
    return int(text)


def initial(dataset: Dataset) -> dict[str, str]:
    """What the two fields begin with: what was stated before."""
    stated = dataset.stated_records
    text = "" if stated is None else str(stated)
    in_band = stated is not None and is_band(stated)
    return {"records_band": text if in_band else "", "records": "" if in_band else text}


def is_band(records: int) -> bool:
    """Whether a stated number is the low end of a band."""
    return str(records) in CHOICES
