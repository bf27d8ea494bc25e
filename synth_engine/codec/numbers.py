"""Whether all texts of a block are whole numbers, decimals or times, and which: a column at a time, and
strictly.

A number with leading zeros is none, but a code: "007". Nor is one beyond fifteen digits, which a float would
change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

WHOLE = r"^[+-]?(0|[1-9][0-9]{0,14})$"
DECIMAL = r"^[+-]?((0|[1-9][0-9]{0,14})(\.[0-9]{1,300})?|\.[0-9]{1,300})([eE][+-]?[0-9]{1,2})?$"
DAY = r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}$"
MOMENT = DAY[:-1] + (
    r"[T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-"
    r"9])?$"
)
_MOST = 10**15
_POWERS = 10 ** np.arange(1, 16)


def fits(texts: pa.Array, pattern: str) -> bool:
    """Whether all texts are of a form."""
    return not len(texts) or bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def hexadecimal(texts: pa.Array) -> bool:
    """Whether a text may be a number to the base of sixteen, which casts take for one."""
    return bool(
        pc.any(pc.match_substring(texts, "x")).as_py()
        or pc.any(pc.match_substring(texts, "X")).as_py()
    )


def whole(texts: pa.Array) -> NDArray[np.int64] | None:
    """Whole numbers, or None. They are so if they are as long as they would be written."""
    try:
        values: NDArray[np.int64] = pc.cast(texts, pa.int64()).to_numpy()
    except pa.ArrowException:
        return None
    if hexadecimal(texts):
        return None
    # A sign + or a leading zero makes a text longer than its number: comparing the sums of
    # lengths is much faster than matching a pattern against each text.
    written = len(values) + int(
        np.searchsorted(_POWERS, np.abs(values), side="right").sum() + (values < 0).sum()
    )
    if (
        values.max() < _MOST
        and values.min() > -_MOST
        and pc.sum(pc.binary_length(texts)).as_py() == written
    ):
        return values
    return values if fits(texts, WHOLE) else None


def decimal(texts: pa.Array) -> NDArray[np.float64] | None:
    """Decimal numbers, or None."""
    try:
        values: NDArray[np.float64] = pc.cast(texts, pa.float64()).to_numpy()
    except pa.ArrowException:
        return None
    if not np.isfinite(values).all():
        return None
    if np.abs(values).max() >= _MOST:
        return values if fits(texts, DECIMAL) else None
    zeros = texts.filter(
        pc.or_(
            pc.starts_with(texts, "0"),
            pc.or_(pc.starts_with(texts, "-"), pc.starts_with(texts, "+")),
        )
    )
    return values if fits(zeros, DECIMAL) else None


def within(text: str, low: float, high: float) -> bool:
    """Whether a text is a number between two others."""
    try:
        return low <= float(text) <= high
    except ValueError:
        return False


@dataclass(frozen=True, kw_only=True)
class Times:
    """The facts of a column of days or timestamps: the seconds since midnight, and of moments how they are
    spelled, by the sign before the clock and the length."""

    days: bool
    clocks: Any = ()
    spellings: set[tuple[str, int]] = field(default_factory=set)


def times(texts: pa.Array) -> Times | None:
    """Days, or moments, or None if some text is neither or they are mixed."""
    lengths = pc.binary_length(texts)
    ends = pc.min_max(lengths).as_py()
    try:
        if ends["min"] == ends["max"] == 10:
            return _days(texts)
        if ends["min"] == ends["max"] and ends["min"] in (16, 19):
            return _alike(texts, length=ends["min"])
        return _moments(texts, lengths) if fits(texts, MOMENT) else None
    except pa.ArrowException:  # a 30th of February, among others
        return None


def _days(texts: pa.Array) -> Times | None:
    pc.cast(texts, pa.date32())
    return Times(days=True) if fits(texts, DAY) else None


def _alike(texts: pa.Array, *, length: int) -> Times | None:
    """Moments of one length: their signs stand below each other."""
    clocks = pc.cast(texts, pa.timestamp("s")).cast(pa.int64()).to_numpy() % 86_400
    # Texts of one length are a matrix of bytes, with the sign between day and clock in column
    # 10.
    starts = np.frombuffer(texts.buffers()[1], dtype=np.int32)[texts.offset :]
    letters = np.frombuffer(texts.buffers()[2], dtype=np.uint8)[
        starts[0] : starts[0] + length * len(texts)
    ]
    signs = [chr(sign) for sign in np.unique(letters.reshape(-1, length)[:, 10])]
    # The cast also reads years with leading zeros, which `MOMENT` does not.
    if not {"T", " "}.issuperset(signs) or pc.min(texts).as_py() < "1000":
        return None
    return Times(
        days=False,
        clocks=clocks,
        spellings={(sign, length) for sign in signs},
    )


def _moments(texts: pa.Array, lengths: pa.Array) -> Times:
    pc.cast(pc.utf8_slice_codeunits(texts, 0, 10), pa.date32())
    signs, spellings = pc.utf8_slice_codeunits(texts, 10, 11), set()
    for length in pc.unique(lengths).to_pylist():
        spellings |= {
            (sign, length)
            for sign in pc.unique(signs.filter(pc.equal(lengths, length))).to_pylist()
        }
    clocks = _two_digits(texts, 11) * 3_600 + _two_digits(texts, 14) * 60
    with_seconds = pc.match_substring_regex(texts, r"^.{16}:")
    seconds = with_seconds.to_numpy(zero_copy_only=False)
    clocks[seconds] += _two_digits(texts.filter(with_seconds), 17)
    return Times(days=False, clocks=clocks, spellings=spellings)


def _two_digits(texts: pa.Array, start: int) -> NDArray[np.int64]:
    digits: NDArray[np.int64] = pc.cast(
        pc.utf8_slice_codeunits(texts, start, start + 2), pa.int64()
    ).to_numpy()
    return digits
