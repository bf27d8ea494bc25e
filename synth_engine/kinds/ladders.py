"""Define the values that the codes of a scale stand for, as plain numbers that compare: whole numbers and
numbers as they are, days and moments as days and seconds of the calendar."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.integer[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Ladder(ABC):
    """The smallest and the largest value of each code, missing excepted, which has neither."""

    low: Floats
    high: Floats
    missing_code: int | None

    def missing(self, codes: Places) -> NDArray[np.bool_]:
        return np.equal(codes, -1 if self.missing_code is None else self.missing_code)

    def at_least(self, codes: Places, bound: Floats, *, strict: bool) -> Floats:
        """The smallest value of each code that is not below a bound, or, if strict, above it. It lies beyond
        `high` where there is none."""
        lowest: Floats = np.maximum(self.low[codes], self._next(codes, bound, strict=strict))
        return lowest

    @abstractmethod
    def _next(self, codes: Places, bound: Floats, *, strict: bool) -> Floats:
        """Return what `at_least` does, without regard to the bounds of the code."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Even(Ladder):
    """Values at one distance from each other."""

    start: float = 0
    step: float = 1

    # The same for all codes
    def _next(self, codes: Places, bound: Floats, *, strict: bool) -> Floats:  # noqa: ARG002
        steps = (bound - self.start) / self.step
        following: Floats = (
            self.start + (np.floor(steps) + 1 if strict else np.ceil(steps)) * self.step
        )
        return following


@dataclass(frozen=True, kw_only=True, eq=False)
class ListedScale(Ladder):
    """Values of a list."""

    values: Floats

    # The same for all codes
    def _next(self, codes: Places, bound: Floats, *, strict: bool) -> Floats:  # noqa: ARG002
        # Behind the last value there is none: infinity is above every `high`.
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


@dataclass(frozen=True, kw_only=True, eq=False)
class DecimalSteps(Ladder):
    """Decimals at one distance from each other, (first + k · step) / scale: one division of two exact numbers
    each."""

    first: float
    step: float
    scale: float

    # The same for all codes
    def _next(self, codes: Places, bound: Floats, *, strict: bool) -> Floats:  # noqa: ARG002
        # Rounding may be off by one step: the division is what gets written.
        place = np.floor((bound * self.scale - self.first) / self.step) - 1
        for _ in range(3):
            following = self._value(place)
            place = np.where(
                (following <= bound) if strict else (following < bound), place + 1, place
            )
        return self._value(place)

    def _value(self, place: Floats) -> Floats:
        value: Floats = (self.first + place * self.step) / self.scale
        return value


def padded(values: Floats, size: int) -> Floats:
    """Values with places for the codes that stand for no value. size: codes of the attribute."""
    return np.append(values.astype(np.float64), [-np.inf] * (size - len(values)))
