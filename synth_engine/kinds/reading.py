"""Convert texts to numbers on the scale of a column. Each text is read by itself: nothing is inferred from
several texts, because texts belong to different records."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pyarrow as pa

Codes = NDArray[np.unsignedinteger[Any]]
"""Codes of one column, of the type that `code_dtype` gives for its size."""
Values = NDArray[np.float64]

MANY = 1_000  # texts for which it pays to read them at once
MAX_NARROW_CODES: Final = 1 << 16
"""The most codes of a column that are stored in 16 bits each."""
_HUGE = 10**300
# The zeros are matched possessively: a long row of them is not tried again in other ways.
_WHOLE = re.compile(r"([+-]?)(?:0++([0-9]{0,1000})|([0-9]{1,1000}))(?:\.0*)?")
# Numbers that a library casts to what reading them alone gives: no sign +, no exponent, no blank, no base of
# sixteen.
_PLAIN_WHOLE = r"^-?[0-9]{1,15}$"
_PLAIN_DECIMAL = r"^-?[0-9]{1,15}(?:\.[0-9]{1,15})?$"
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def code_dtype(size: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The type of the codes 0 … size-1 of a column: 16 bits where they suffice, so that most tables take half
    the memory."""
    return np.dtype(np.uint16 if size <= MAX_NARROW_CODES else np.uint32)


@dataclass(frozen=True, kw_only=True, eq=False)
class Scaled:
    """Texts as numbers on the scale of their column. values: shape (n,), NaN where a text cannot be read;
    low, high: the declared bounds; cuts: lower ends of the bins and the end of the last, on the same
    scale."""

    values: Values
    low: float
    high: float
    cuts: ArrayLike


def whole_numbers(texts: list[str]) -> Values:
    """Read each text as a whole number; NaN where it is none."""
    import pyarrow as pa

    return _cast(texts, pa.int64(), read_whole, plainly=_PLAIN_WHOLE)


def decimal_numbers(texts: list[str]) -> Values:
    """Read each text as a number; NaN where it is none."""
    import pyarrow as pa

    return _cast(texts, pa.float64(), _decimal, plainly=_PLAIN_DECIMAL)


def _cast(
    texts: list[str], kind: pa.DataType, read: Callable[[str], float | None], *, plainly: str
) -> Values:
    """Read each text as a number. Those that are plainly written are cast at once, which is fast, and all
    others are read one by one: which of the two a text is depends on that text alone, whatever stands beside
    it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Both ways give the same number for a text that matches the pattern
    # (docs/proofs/reading.md, Lemma 2), so that the number of texts in a block changes no
    # value.
    if len(texts) < MANY:
        return read_each(read, texts)
    array = pa.array(texts, type=pa.string())
    plain = pc.match_substring_regex(array, plainly).to_numpy(zero_copy_only=False)
    values: Values = (
        pc.cast(pc.if_else(pa.array(plain), array, "0"), kind).to_numpy().astype(np.float64)
    )
    others = np.flatnonzero(~plain)
    values[others] = read_each(read, [texts[place] for place in others.tolist()])
    return values


def read_each(read: Callable[[str], float | None], texts: list[str]) -> Values:
    """Read each text by itself as a number; NaN where it cannot be read. A whole number may be beyond all
    floats."""
    values = np.full(len(texts), np.nan)
    for position, text in enumerate(texts):
        value = read(text)
        if value is not None:
            values[position] = (
                value if abs(value) < _HUGE else math.inf if value > 0 else -math.inf
            )
    return values


def read_whole(text: str) -> int | None:
    match = _WHOLE.fullmatch(text.strip(" \t"))
    return int(match[1] + (match[2] or match[3] or "0")) if match else None


def _decimal(text: str) -> float | None:
    text = text.strip(" \t")
    return float(text) if _DECIMAL.fullmatch(text) else None
