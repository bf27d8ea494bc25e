"""How a budget is best spread over tables: each gets the resolution and the noise that its predicted error
asks for.

A table of which nothing is asked is taken as its reference, and is off by as much as its noisy score says.
One that is measured is off, cell by cell, by its noise or by what the reference lacks, whichever is less, and
by what merging hides. Everything here is a function of public facts and of noisy answers that were paid for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

PARTS = 2.0 ** np.arange(-16.0, 0.0, 0.5)
"""Shares of the budget that one table may get: powers of the square root of two."""
_MEAN_DEVIATION = 0.8
"""Mean absolute deviation over standard deviation of noise: sqrt(2 / pi) for Gaussian noise."""
_OCTAVES, _PER_OCTAVE = 24, 2
"""Cells are counted by size in half octaves, down to 2^-24 of the records."""
_MAX_EMPTY_SHARE = 0.98
"""However far a table is from its reference, at least 2 % of its cells are taken to hold records."""
_ROUNDS = 60
"""Bisection steps on the price of budget, on a logarithmic scale."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One attribute at every resolution: how many cells of which size it has, and what merging hides."""

    sizes: tuple[Floats, ...]
    lost: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class TableOption:
    """A table that may be measured, by its number. distance: its noisy L1 distance from what it is taken for
    otherwise, as a share of the records; weight: how much it matters; sides: its attributes; levels: which
    resolutions it may have, one of each side; deviations: of a cell's noise at each of these, were the whole
    budget spent on the table."""

    number: int
    distance: float
    weight: float
    sides: tuple[Side, ...]
    levels: tuple[tuple[int, ...], ...]
    deviations: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A table to be measured: at which resolution of each side, and with what part of the budget. gain: how
    much nearer it comes, as predicted, in records times its weight; nothing is gained by a table of which
    noise hides everything."""

    number: int
    levels: tuple[int, ...]
    part: float
    gain: float


def cells_by_octave(histogram: Floats) -> Floats:
    """How many cells have a share of about 2^(-i/2) of the records, i = 0, 1, …"""
    shares = histogram / max(float(histogram.sum()), 1.0)
    last = _OCTAVES * _PER_OCTAVE - 1
    octave = np.rint(
        -np.log2(np.maximum(shares, 2.0 ** (-last / _PER_OCTAVE))) * _PER_OCTAVE
    ).astype(np.int64)
    return np.bincount(np.clip(octave, 0, last), minlength=last + 1).astype(np.float64)


def allocate(
    wishes: Sequence[TableOption], *, rows: float, power: float, learnt: float = 1.0
) -> list[Choice]:
    """The tables to be measured, whose parts add up to 1 at most.

    Noise grows with the part to the minus `power`: 1/2 of Gaussian noise, 1 of Laplace noise. learnt: how
    much of its distance a table keeps that is not measured; less than 1 where others tell something of it.
    The total predicted error is least for its cost by one multiplier.
    """
    if not wishes:
        return []
    # Standard deviation of the noise for each part, in units of the noise for the whole
    # budget.
    spreads = PARTS**-power
    errors = np.empty((len(wishes), PARTS.size + 1))
    levels: list[list[tuple[int, ...]]] = []
    for index, wish in enumerate(wishes):
        # Column 0 is the error of a table that is not measured.
        errors[index, 0] = learnt * wish.distance * rows * wish.weight
        resolutions = zip(wish.levels, wish.deviations, strict=True)
        at_levels = np.array(
            [_error(wish, level, option * spreads, rows) for level, option in resolutions]
        )
        best = at_levels.argmin(axis=0)
        errors[index, 1:] = wish.weight * at_levels[best, np.arange(PARTS.size)]
        levels.append([wish.levels[option] for option in best])
    chosen = _cheapest(errors)
    return [
        Choice(
            number=wish.number,
            levels=levels[index][at - 1],
            part=float(PARTS[at - 1]),
            gain=max(wish.distance * rows * wish.weight - float(errors[index, at]), 0.0),
        )
        for index, (wish, at) in enumerate(zip(wishes, chosen, strict=True))
        if at
    ]


def _error(wish: TableOption, levels: tuple[int, ...], spreads: Floats, rows: float) -> Floats:
    """Predicted, in records, for each spread of noise. A table far from its reference is concentrated: the
    share of its cells that hold anything shrinks as the distance grows, and those hold more."""
    counts = _cells(wish.sides, levels)
    records = rows * 2.0 ** (-np.arange(counts.size) / _PER_OCTAVE)
    # The farther a table is from its reference, the fewer of its cells hold any records.
    full = 1.0 - min(wish.distance / 2, _MAX_EMPTY_SHARE)
    cell = np.minimum(
        _MEAN_DEVIATION * spreads[:, None], wish.distance * records[None, :] / full
    )
    hidden = sum(side.lost[level] for side, level in zip(wish.sides, levels, strict=True))
    error: Floats = full * (cell @ counts) + wish.distance * rows * hidden
    return error


def histogram_error(histogram: Floats, deviation: float) -> float:
    """How far a histogram that was measured with such noise is off, as predicted, in records."""
    return float(np.minimum(_MEAN_DEVIATION * deviation, histogram).sum())


def _cells(sides: Sequence[Side], levels: Sequence[int]) -> Floats:
    counts = sides[0].sizes[levels[0]]
    for side, level in zip(sides[1:], levels[1:], strict=True):
        counts = np.convolve(counts, side.sizes[level])
    return counts


def _cheapest(errors: Floats) -> list[int]:
    """For each table which part to buy, 0 for none: the least sum of errors that the budget allows, by
    bisection on the price of it."""
    costs = np.concatenate([[0.0], PARTS])
    low, high = 1e-12, max(1.0, float(errors[:, 0].max())) * 2.0**20
    for _ in range(_ROUNDS):
        price = math.sqrt(low * high)
        # Lagrangian relaxation: at a price for budget, each table chooses for itself; the
        # price makes the sum fit.
        if costs[(errors + price * costs).argmin(axis=1)].sum() > 1.0:
            low = price
        else:
            high = price
    chosen: list[int] = (errors + high * costs).argmin(axis=1).tolist()
    return chosen


def normalized_parts(choices: Sequence[Choice]) -> Mapping[int, float]:
    """The parts, made to add up to 1 but for the last digits."""
    whole = sum(choice.part for choice in choices)
    return {choice.number: choice.part / whole for choice in choices}
