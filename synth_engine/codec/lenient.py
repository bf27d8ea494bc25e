"""Read cells that the description of their column cannot read, in the ways in which such cells are usually
written.

This serves the steward's comparison alone: it shows which values a description lost, and how they may be
written. How a record is counted never depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.domain import Attribute, Date, DateTime, Integer, Number
from synth_engine.formats import (
    CURRENCY_CODES,
    CURRENCY_SIGNS,
    NUMBER_MARKS,
    SHARE_SIGNS,
    THOUSANDS,
    Marks,
    notation,
)
from synth_engine.kinds.reading import decimal_numbers
from synth_engine.kinds.time_of_day import Time

Floats = NDArray[np.float64]

# Of those that read most, the first is proposed: rare signs between thousands come last, decimal points
# before commas.
_MARKS = sorted(
    NUMBER_MARKS,
    key=lambda marks: (
        marks.thousands in (" ", "'"),
        marks.decimal == ",",
        list(THOUSANDS).index(marks.thousands),
    ),
)
_DAYS = (
    "%Y-%m-%d", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%Y", "%d.%m.%y", "%m-%d-%Y",
    "%d-%m-%Y", "%m-%d-%y", "%d-%m-%y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d %b %Y", "%d-%b-%Y",
    "%d-%b-%y", "%d%b%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y",
)  # fmt: skip
_CLOCKS = (
    "", " %H:%M:%S", " %H:%M", " %I:%M:%S %p", " %I:%M %p", "T%H:%M:%S", "T%H:%M", " %H:%M:%S.%f",
)  # fmt: skip
_TIMES = ("%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%H.%M", "%Hh%M", "%H%M")
_MINUTES = 60
_SECONDS_OF_A_DAY = 86_400
_BEFORE = rf"^\s*[{CURRENCY_SIGNS}]?\s*|^\s*(?:{'|'.join(CURRENCY_CODES)})\s*"
_BEHIND = rf"\s*(?:[{CURRENCY_SIGNS}{SHARE_SIGNS}°]|\p{{L}}{{1,12}}\.?)\s*$"
_PLAIN_NUMBERS = "numbers with decimals, or write the cells without currency and units"


@dataclass(frozen=True)
class Notation:
    """A way of writing values. `words` complete the sentence "declare …"; `read` gives numbers of the
    column's scale, NaN for a text that is not written so."""

    words: str
    read: Callable[[list[str]], Floats]


def notations(attribute: Attribute) -> Iterator[Notation]:
    """The notations in which values of a column may be written, the most usual first."""
    if isinstance(attribute, Integer | Number):
        yield from (_number_notation(marks) for marks in _MARKS)
    elif isinstance(attribute, Date | DateTime):
        yield from (
            _moment_notation(attribute, day + clock) for clock in _CLOCKS for day in _DAYS
        )
    elif isinstance(attribute, Time):
        yield from (_time_notation(form) for form in _TIMES)


def _number_notation(marks: Marks) -> Notation:
    parts = []
    if marks.thousands:
        name = THOUSANDS[marks.thousands]
        parts.append(f"{'an' if name.startswith('a') else 'a'} {name} between thousands")
    if marks.decimal == ",":
        parts.append("a decimal comma")

    def read(texts: list[str]) -> Floats:
        plain = marks.plain(_without_units(pa.array(texts, type=pa.string())))
        return decimal_numbers(plain.to_pylist())

    return Notation(" and ".join(parts) or _PLAIN_NUMBERS, read)


def _without_units(texts: pa.Array) -> pa.Array:
    """Texts without a currency before or a unit behind the number, and its sign before."""
    texts = notation.unified(texts)
    signed = pc.starts_with(texts, "-")
    bare = pc.replace_substring_regex(pc.utf8_ltrim(texts, "-"), _BEFORE, "")
    bare = pc.replace_substring_regex(bare, _BEHIND, "")
    return pc.if_else(signed, pc.binary_join_element_wise("-", bare, ""), bare)


def _moment_notation(attribute: Attribute, form: str) -> Notation:
    def read(texts: list[str]) -> Floats:
        moments = _parsed(texts, form)
        if isinstance(attribute, Date):
            moments = moments.dt.floor("D")
        return attribute.comparable(moments)

    return Notation(f"the format {form}", read)


def _time_notation(form: str) -> Notation:
    def read(texts: list[str]) -> Floats:
        moments = _parsed(texts, form).to_numpy()
        seconds = np.where(np.isnat(moments), 0, moments.astype("datetime64[s]")).astype(
            np.int64
        )
        minutes = (seconds % _SECONDS_OF_A_DAY) // _MINUTES
        return np.where(np.isnat(moments), np.nan, minutes.astype(np.float64))

    return Notation("times like 08:30", read)


def _parsed(texts: list[str], form: str) -> pd.Series:
    column = pd.Series(texts, dtype="str").str.strip()
    return pd.to_datetime(column, format=form, errors="coerce")
