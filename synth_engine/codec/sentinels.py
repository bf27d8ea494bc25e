"""Numbers and days that stand for no value: -1 where all else is positive, 999 far above the rest,
9999-12-31."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_BELOW = frozenset(
    [*range(-9, 0), -66, -77, -88, *range(-99, -94), -666, -777, -888, *range(-999, -994)]
    + [
        -n
        for k in (4, 5)
        for n in (7 * (10**k - 1) // 9, 8 * (10**k - 1) // 9, 10**k - 3, 10**k - 2, 10**k - 1)
    ]
)
_ABOVE = frozenset(
    [98, 99, 88, *range(997, 1_000), *range(9_997, 10_000), *range(99_997, 100_000)]
    + [10**power - 1 for power in range(6, 10)]
    + [digit * (10**power - 1) // 9 for digit in (6, 7, 8) for power in range(3, 6)]
    + [float(f"{'9' * whole}.{'9' * part}") for whole in range(2, 8) for part in (1, 2, 3)]
)
"""Families of codes that surveys and registers have below and above all values, whichever of their members
occur."""
_BELOW_THEM = frozenset(
    [*range(95, 98), *range(991, 997), *range(9_991, 9_997), *range(99_991, 99_997), 66, 77]
)
"""Codes that count only where one of those in `_ABOVE` occurs, too."""
_LAST_DAYS = ("9999-12-31", "9999-01-01", "2999-12-31", "2099-12-31")
_FIRST_DAYS = (
    "1900-01-01",
    "1899-12-30",
    "1899-12-31",
    "1970-01-01",
    "1000-01-01",
    "1753-01-01",
    "1800-01-01",
)
_FEWEST_VALUES = 5  # different ones beside a sentinel
_SHARE = 0.01  # of the rows, for a number below zero
_MOST_ABOVE = 20
_FEW_BELOW = 3  # so many codes below zero need no gap above it
_LEAST_ABOVE_GAP = 10
_YEARS = (1_500, 2_200)
_YEARS_APART = 10


def of_numbers(
    values: NDArray[np.generic], counts: NDArray[np.int64]
) -> NDArray[np.bool_] | None:
    """Which of some different numbers stand for no value; None if none does.

    values: shape (n,). counts: shape (n,), rows of each."""
    numbers = values.astype(np.float64)
    below = numbers < 0
    alone = np.zeros(len(numbers), dtype=np.bool_)
    rest = numbers[~below]
    if (
        below.any()
        and np.isin(numbers[below], list(_BELOW)).all()
        and (
            below.sum() <= _FEW_BELOW
            or rest.min(initial=np.inf, where=rest > 0) >= _LEAST_ABOVE_GAP
        )
        and len(rest) >= _FEWEST_VALUES
        and counts[below].sum() >= _SHARE * counts.sum()
    ):
        alone |= below
    # A year that is not known is often 0; an amount of 0 is an amount.
    years = numbers[numbers != 0]
    if len(years) >= _FEWEST_VALUES and years.min() >= _YEARS[0] and years.max() <= _YEARS[1]:
        alone |= numbers == 0
    # From the largest downwards: 998 and 999 may both be sentinels.
    for index in np.argsort(-numbers)[:_MOST_ABOVE].tolist():
        others = ~alone
        others[index] = False
        remaining = numbers[others]
        known = numbers[index] in _ABOVE or (
            alone[numbers > 0].any() and numbers[index] in _BELOW_THEM
        )
        if not known or len(remaining) < _FEWEST_VALUES:
            break
        # Two sentinels beside each other do not hide each other.
        plain = remaining[~np.isin(remaining, list(_ABOVE | _BELOW_THEM))]
        if len(plain) < _FEWEST_VALUES or plain.max() > numbers[index] / 2:
            break
        alone[index] = True
    return alone if alone.any() else None


def of_days(texts: pa.Array) -> NDArray[np.bool_] | None:
    """Which of some different ISO days stand for none; None if none does. One at an end of the range counts
    only if no other day is near it."""
    years = pc.cast(pc.utf8_slice_codeunits(texts, 0, 4), pa.int64()).to_numpy()
    alone = np.zeros(len(years), dtype=np.bool_)
    for listed, last in ((_LAST_DAYS, True), (_FIRST_DAYS, False)):
        members = pc.is_in(texts, value_set=pa.array(listed)).to_numpy(zero_copy_only=False)
        for index in np.flatnonzero(members).tolist():
            others = years[~members]
            if len(others) < _FEWEST_VALUES:
                continue
            distance = years[index] - others.max() if last else others.min() - years[index]
            alone[index] = distance >= _YEARS_APART
    return alone if alone.any() else None
