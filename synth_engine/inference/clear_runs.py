"""Runs of neighbouring cells that hold clearly more than noise, from noisy counts alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

MIN_VARIANCE = 0.25
"""Noise of a smaller variance is mostly 0 and sometimes 1, which a normal tail does not foresee."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyCells:
    """Noisy counts of neighbouring cells. values, variances: shape (cells,); the noise of different cells is
    independent. laplace: whether the noise is a sum of Laplace noise, not normal."""

    values: Floats
    variances: Floats
    laplace: bool

    def log_chances(self, *, longest: int) -> Iterator[tuple[int, Floats]]:
        """For each length of runs, 1, 2, 4 … cells, the logarithms of the chance at most that the noise of a
        run is as large as what the run holds; shape (cells - length + 1,)."""
        variances = np.maximum(self.variances, MIN_VARIANCE)
        held, spread = (np.append(0.0, np.cumsum(each)) for each in (self.values, variances))
        largest = variances
        length = 1
        while length <= min(longest, self.values.size):
            yield (
                length,
                log_tail(
                    held[length:] - held[:-length],
                    spread[length:] - spread[:-length],
                    largest=largest,
                    laplace=self.laplace,
                ),
            )
            largest = np.maximum(largest[:-length], largest[length:])
            length *= 2

    def number_of_runs(self, *, longest: int) -> int:
        """How many runs are looked at."""
        lengths = [2**power for power in range(longest.bit_length()) if 2**power <= longest]
        return sum(max(0, self.values.size - length + 1) for length in lengths)

    def clear(self, log_chance: float, *, longest: int) -> tuple[int, int] | None:
        """The first cell of the runs that are larger than noise is with this chance, and the cell after the
        last; None if no run is. Short runs say exactly where records lie: a longer one counts only outside of
        what shorter ones found, and of it the part that is farthest from noise."""
        first, last = self.values.size, 0
        for length, chances in self.log_chances(longest=longest):
            starts = np.flatnonzero(chances <= log_chance)
            outside = starts[(starts >= last) | (starts + length <= first)]
            if outside.size:
                low, _ = self._densest(int(outside[0]), int(outside[0]) + length)
                _, high = self._densest(int(outside[-1]), int(outside[-1]) + length)
                first, last = min(first, low), max(last, high)
        return (first, last) if first < last else None

    def extended(
        self, first: int, last: int, log_chance: float, *, longest: int
    ) -> tuple[int, int]:
        """The same cells with what belongs to them of a clear run that ends right before, and of one that
        begins right after."""
        below, above = first, last
        for length, chances in self.log_chances(longest=longest):
            if first >= length and chances[first - length] <= log_chance:
                below, _ = self._densest(first - length, first, fixed="end")
            if last < chances.size and chances[last] <= log_chance:
                _, above = self._densest(last, last + length, fixed="start")
        return below, above

    def _densest(
        self, start: int, end: int, *, fixed: Literal["start", "end"] | None = None
    ) -> tuple[int, int]:
        """The run within these cells that is the most standard deviations of its noise. fixed: an end that it
        shares."""
        held, spread = (
            np.append(0.0, np.cumsum(each[start:end]))
            for each in (self.values, np.maximum(self.variances, MIN_VARIANCE))
        )
        places = np.arange(held.size)
        clear = np.subtract.outer(held, held) / np.sqrt(
            np.maximum(np.subtract.outer(spread, spread), MIN_VARIANCE)
        )
        allowed = places[:, None] > places[None, :]
        if fixed == "start":
            allowed[:, 1:] = False
        elif fixed == "end":
            allowed[:-1] = False
        high, low = np.unravel_index(np.argmax(np.where(allowed, clear, -np.inf)), clear.shape)
        return start + int(low), start + int(high)


def log_tail(values: Floats, variances: Floats, *, largest: Floats, laplace: bool) -> Floats:
    """The logarithm of the chance at most that noise exceeds each value. Normal noise has an exact one. Sums
    of Laplace noise have Chernoff's bound: among all sums with one variance and a largest part of it, one of
    equal parts strays farthest, because -log(1 - s) rises faster than s.

    values, variances: of sums of independent noise. largest: the largest variance of one part of each."""
    deviations = np.maximum(values, 0.0) / np.sqrt(variances)
    if not laplace:
        return _log_normal_tail(deviations)
    parts = variances / largest
    reach = np.maximum(values, 1e-9) / np.sqrt(largest / 2)
    tilt = (np.sqrt(parts**2 + reach**2) - parts) / reach
    bound: Floats = -tilt * reach - parts * np.log1p(-(tilt**2))
    return bound


def log_chance_of(deviations: float) -> float:
    """The logarithm of the chance that normal noise exceeds so many standard deviations."""
    return float(_log_normal_tail(np.asarray(deviations)))


def _log_normal_tail(deviations: Floats) -> Floats:
    from scipy.special import log_ndtr  # slow to import

    tail: Floats = log_ndtr(-deviations)
    return tail


def log_chance_each(chance: float, *, runs: int) -> float:
    """The logarithm of the chance for each of so many runs, so that one of them is false with the chance at
    most."""
    return math.log(chance / max(runs, 1))
