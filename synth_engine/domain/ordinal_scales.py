"""Which values the codes of a scale stand for, as plain numbers that compare: whole numbers and numbers as they are,
days and moments as days and seconds of the calendar."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain.attributes import Attribute
from synth_engine.domain.scales import Date, Integer, Number
from synth_engine.domain.timestamps import SECONDS, DateTime

Floats = NDArray[np.float64]
Places = NDArray[np.integer[Any]]

_GRID_POINTS = 2  # decimals finer than a bin's width: at least a hundred values to draw from
_MAX_DECIMALS = 15
_DAY = 86_400


@dataclass(frozen=True, kw_only=True, eq=False)
class Ladder(ABC):
    """The smallest and the largest value of each code, missing excepted, which has neither."""

    low: Floats
    high: Floats
    missing_code: int | None

    def missing(self, codes: Places) -> NDArray[np.bool_]:
        return np.equal(codes, -1 if self.missing_code is None else self.missing_code)

    def at_least(self, codes: Places, bound: Floats, *, strict: bool) -> Floats:
        """The smallest value of each code that is not below a bound, or, if strict, above it. It lies beyond `high`
        where there is none."""
        lowest: Floats = np.maximum(self.low[codes], self._next(codes, bound, strict=strict))
        return lowest

    @abstractmethod
    def _next(self, codes: Places, bound: Floats, *, strict: bool) -> Floats:
        """As `at_least`, of all values like those of a code."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Even(Ladder):
    """Values at one distance from each other."""

    start: float = 0
    step: float = 1

    def _next(self, codes: Places, bound: Floats, *, strict: bool) -> Floats:  # noqa: ARG002 - the same for all codes
        steps = (bound - self.start) / self.step
        following: Floats = (
            self.start + (np.floor(steps) + 1 if strict else np.ceil(steps)) * self.step
        )
        return following


@dataclass(frozen=True, kw_only=True, eq=False)
class ListedScale(Ladder):
    """Values of a list."""

    values: Floats

    def _next(self, codes: Places, bound: Floats, *, strict: bool) -> Floats:  # noqa: ARG002 - the same for all codes
        beyond = np.append(self.values, np.inf)
        return beyond[np.searchsorted(self.values, bound, side="right" if strict else "left")]


@dataclass(frozen=True, kw_only=True, eq=False)
class DecimalScale(Ladder):
    """Multiples of 1/scale, each code with its own; a code with scale 0 has one value alone."""

    scale: Floats

    def _next(self, codes: Places, bound: Floats, *, strict: bool) -> Floats:
        scale, low = self.scale[codes], self.low[codes]
        fine = np.where(scale > 0, scale, 1.0)
        place = (
            np.ceil(bound * fine) - 1
        )  # rounding may be off by one step: the division is what gets written
        for _ in range(3):
            following = place / fine
            place = np.where(
                (following <= bound) if strict else (following < bound), place + 1, place
            )
        alone = np.where((low > bound) if strict else (low >= bound), low, np.inf)
        return np.where(scale > 0, place / fine, alone)


def ladder(attribute: Attribute) -> Ladder:
    """Of an attribute on a scale. Raises TypeError for others."""
    missing = attribute.missing_code
    match attribute:
        case Integer():
            cuts = np.asarray(attribute.cuts, dtype=np.float64)
            return Even(
                low=_padded(cuts[:-1], attribute),
                high=_padded(cuts[1:] - 1, attribute),
                missing_code=missing,
            )
        case Date():
            first: Floats = (
                attribute.low.toordinal()
                + np.arange(attribute.value_count, dtype=np.float64) * attribute.step_days
            )
            last: Floats = np.minimum(
                first + attribute.step_days - 1, attribute.high.toordinal()
            )
            return Even(
                low=_padded(first, attribute),
                high=_padded(last, attribute),
                missing_code=missing,
            )
        case DateTime():
            return _moments(attribute)
        case Number():
            return _decimals(attribute)
    raise TypeError(f"{attribute.kind} is no scale")


def is_scale(attribute: Attribute) -> bool:
    return isinstance(attribute, Integer | Number | Date | DateTime)


def _moments(attribute: DateTime) -> Ladder:
    start = float(attribute.low.toordinal() * _DAY) + attribute.low.hour * 3_600
    start += attribute.low.minute * 60 + attribute.low.second
    cuts = attribute.cuts
    low = np.array([start + attribute.offset(cut) for cut in cuts[:-1]])
    high = np.array([start + attribute.offset(cut - 1) for cut in cuts[1:]])
    ends: dict[str, Any] = {"low": _padded(low, attribute), "high": _padded(high, attribute)}
    ends["missing_code"] = attribute.missing_code
    if attribute.unit == "months":
        return ListedScale(
            values=np.array(
                [start + attribute.offset(place) for place in range(attribute.points)]
            ),
            **ends,
        )
    return Even(start=start, step=attribute.step * SECONDS[attribute.unit], **ends)


def _decimals(attribute: Number) -> Ladder:
    grid = [decimals_inside(attribute, code) for code in range(attribute.value_count)]
    first, last, scale = (
        np.asarray(part, dtype=np.float64) for part in zip(*grid, strict=True)
    )
    starts = np.asarray(attribute.cuts[:-1], dtype=np.float64)
    fine = np.where(scale > 0, scale, 1.0)
    return DecimalScale(
        low=_padded(np.where(scale > 0, first / fine, starts), attribute),
        high=_padded(np.where(scale > 0, last / fine, starts), attribute),
        scale=np.append(scale, [0.0] * (attribute.size - scale.size)),
        missing_code=attribute.missing_code,
    )


def decimals_inside(attribute: Number, code: int) -> tuple[int, int, float]:
    """First and last multiple of 1/scale inside a bin; scale 0 where there is none, and its lower edge stands for it."""
    start, end = attribute.cuts[code], attribute.cuts[code + 1]
    if start == end:
        return 0, 0, 0.0
    room = 17 - math.ceil(math.log10(max(abs(start), abs(end), 1.0)) + 1)
    decimals = max(
        0, min(_GRID_POINTS - math.floor(math.log10(end - start)), _MAX_DECIMALS, room)
    )
    scale = 10.0**decimals
    closed = code == attribute.value_count - 1
    first, last = math.floor(start * scale) - 1, math.ceil(end * scale) + 1
    # Rounding may put a product on the wrong side of an edge by one step; the division is what gets written.
    while first / scale < start:
        first += 1
    while last / scale > end or (not closed and last / scale == end):
        last -= 1
    return (first, last, scale) if first <= last else (0, 0, 0.0)


def _padded(values: Floats, attribute: Attribute) -> Floats:
    """With places for the codes that are no values."""
    padded: Floats = np.append(
        values.astype(np.float64), [-np.inf] * (attribute.size - len(values))
    )
    return padded
