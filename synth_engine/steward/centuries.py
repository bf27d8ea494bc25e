"""Which centuries the years of two digits in a column can be of: a question wherever two of them are
possible."""

from __future__ import annotations

import datetime

import numpy as np

from synth_engine.domain.column_names import words
from synth_engine.kinds.century import has_two_digits
from synth_engine.steward.written_dates import CENTURY_PIVOT, DateLayout

ASKED = "Its years have two digits. Which hundred years are they of?"
_BIRTH = frozenset(
    [
        "born",
        "dob",
        "geb",
        "geboren",
        "bday",
        "naissance",
        "nacimiento",
        "nascita",
        "né",
        "née",
        "nato",
        "nata",
        "fodd",
        "född",
    ]
)
_BEGIN = ("birth", "geburt")


def readings(name: str, layout: DateLayout) -> list[DateLayout]:
    """The layout with each hundred years that the column may be of; itself alone where nothing has to be said
    about it.

    Births are never in the future, so they are of the hundred years up to now, or all of the last century.
    Other days after next year are as well of the past as of the future."""
    if not has_two_digits(layout.format):
        return [layout]
    this = datetime.datetime.now(datetime.UTC).year
    short = np.unique(layout.years[layout.readable] % 100)
    if _says_birth(name):
        both = (short <= this % 100).any() and (short > this % 100).any()
        lasts = [1_999, this] if both else [this]
    elif ((short > this % 100 + 1) & (short < CENTURY_PIVOT)).any():
        lasts = [1_999 + CENTURY_PIVOT, this]
    else:
        return [layout]
    return [layout.until(last) for last in lasts]


def _says_birth(name: str) -> bool:
    return any(word in _BIRTH or word.startswith(_BEGIN) for word in words(name))
