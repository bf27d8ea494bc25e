"""Columns in order in which every fifth or tenth code stands out: how that is seen in noisy counts.

People say 40 hours rather than 39, and 25,000 rather than 24,800 (heaping, as in Heitjan and Rubin 1991). The
counts of such a column are smooth neither as a whole nor in logarithms, but the codes of round numbers are by
themselves, and so are the others. Where codes begin is not assumed: all codes that may be the first round one
are compared. It is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_PERIODS = (5, 10)
"""Distances between codes of round numbers that are considered."""
_LEAST_ROUND = 4
"""Least number of codes of round numbers that can tell."""
_MOST_OF_ONE = 3.0
"""How many standard deviations one code counts at most: a single high code is no sign of heaping."""
_CLEAR = 5.0
"""Standard deviations of noise from which on heaping is taken for real. Of 15 combs of a column without
heaping, one passes this once in 200,000 columns."""


@dataclass(frozen=True, kw_only=True)
class Comb:
    """Every `period`-th code, from the code `first` on."""

    period: int
    first: int

    def among(self, codes: int) -> npt.NDArray[np.bool_]:
        """Which of so many codes belong to it."""
        chosen: npt.NDArray[np.bool_] = np.arange(codes) % self.period == self.first
        return chosen


def find(values: Floats, *, sigma: float) -> Comb | None:
    """Return the comb whose codes stand out most from their neighbours; None if none stands out clearly.

    values: noisy counts in order, shape (codes,); sigma: standard deviation of their Gaussian noise, above 0.
    """
    above = _above_neighbours(values, sigma=sigma)
    best, most = None, _CLEAR
    for period in _PERIODS:
        if values.size < _LEAST_ROUND * period:
            continue
        for first in range(period):
            comb = Comb(period=period, first=first)
            excess = _excess(above, comb.among(values.size)[1:-1])
            if excess > most:
                best, most = comb, excess
    return best


def _above_neighbours(values: Floats, *, sigma: float) -> Floats:
    """Return how far each code is above the mean of its two neighbours, in standard deviations of noise;
    shape (codes - 2,)."""
    differences = values[1:-1] - (values[:-2] + values[2:]) / 2
    return np.clip(differences / (sigma * math.sqrt(1.5)), -_MOST_OF_ONE, _MOST_OF_ONE)


def _excess(above: Floats, chosen: npt.NDArray[np.bool_]) -> float:
    """Return by how many standard deviations the mean of the chosen codes is above that of the others, or
    above zero where the others are below: codes beside a high one are low."""
    others = max(0.0, float(above[~chosen].mean()))
    return (float(above[chosen].mean()) - others) * math.sqrt(int(chosen.sum()))
