"""How strongly two columns depend on each other, and how much of that chance alone would give.

Mutual information of independent columns is not zero in a table of finitely many records. What is beyond
chance is the dependence that exists; it alone can be lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from synth_engine.evaluation.distances import MIN_ENTROPY, Counts, entropy, shares

Array = NDArray[np.float64]

CERTAINTY = 12.0
"""Independent columns are taken for dependent ones with a chance of at most exp(-12): in one of thirty tables
of 100 such columns, which have 4,950 pairs."""
DEVIATIONS = 3.0
"""Standard errors up to which a difference of two dependences counts as chance."""
LEAST = 0.01
"""Normalised mutual information beyond chance from which on two columns go together. Of two normal columns in
twenty bins it is a correlation of about 0.25."""
KEPT = 0.5
"""Share of a real dependence by which it may change and still be one that the synthetic table has."""


@dataclass(frozen=True, kw_only=True)
class PairDependence:
    """Of one table of two columns. nmi: normalised mutual information, 0 to 1. chance: what independent
    columns with these margins would have on average. luck: what they have beyond that with a chance of
    exp(-CERTAINTY). error: the standard error of `nmi`."""

    nmi: float
    chance: float
    luck: float
    error: float

    @property
    def strength(self) -> float:
        """The part beyond chance, at least 0."""
        return max(0.0, self.nmi - self.chance)

    @property
    def is_real(self) -> bool:
        """Whether the two columns go together: more than chance explains, and enough to matter."""
        return self.strength >= max(LEAST, self.luck)


def dependence(joint: Counts) -> PairDependence:
    """Measure a two-way table of counts; those below zero, of noisy answers, count as zero.

    The mean of mutual information under independence is that of its cells given the margins (Vinh, Epps and
    Bailey 2010), with Poisson counts; its variance is that of the delta method, and that of the mean beside
    it."""
    counts = np.maximum(np.asarray(joint, dtype=np.float64), 0.0)
    total = float(counts.sum())
    p = shares(counts)
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    smaller = min(entropy(rows), entropy(columns))
    if smaller <= MIN_ENTROPY or total <= 0:
        return PairDependence(nmi=0.0, chance=0.0, luck=0.0, error=0.0)
    places = np.nonzero(p)
    inside = p[places]
    surprise = np.log(inside / (rows[places[0]] * columns[places[1]]))
    information = max(0.0, float(inside @ surprise))
    spread = max(0.0, float(inside @ surprise**2) - information**2)
    chance = min(_by_chance(rows, columns, total), smaller)
    # Chance alone has a spread of twice its mean in the sum of the delta method, and its variance is that
    # mean.
    error = math.sqrt((max(spread - 2 * chance, 0.0) + chance) / total)
    # The tail of a chi-squared law (Laurent and Massart 2000), of which the mean mutual information is the
    # degrees of freedom.
    luck = math.sqrt(2 * chance * CERTAINTY / total) + CERTAINTY / total
    return PairDependence(
        nmi=information / smaller,
        chance=chance / smaller,
        luck=luck / smaller,
        error=error / smaller,
    )


def _by_chance(rows: Array, columns: Array, total: float) -> float:
    """The mean mutual information of independent columns, in nats. rows, columns: shares of both margins."""
    first, of_first = np.unique(rows[rows > 0], return_counts=True)
    second, of_second = np.unique(columns[columns > 0], return_counts=True)
    expected = total * np.outer(first, second)
    # The factors are those of the degrees of freedom, (rows - 1)(columns - 1), where all cells are full.
    weights = np.outer(of_first * (1 - first), of_second * (1 - second))
    return float((weights * _surplus(expected)).sum() / total)


def _surplus(expected: Array) -> Array:
    """E[X ln(X/λ)] of Poisson counts X with mean λ: near ½ for full cells, and -λ ln λ for nearly empty
    ones."""
    logs, values = _surplus_table()
    few = -expected * np.log(expected)
    known: Array = np.interp(np.log(expected), logs, values)
    return np.where(expected < math.exp(logs[0]), few, known)


@lru_cache(maxsize=1)
def _surplus_table() -> tuple[Array, Array]:
    logs = np.linspace(math.log(1e-4), math.log(200.0), 200)
    counts = np.arange(1, 400, dtype=np.float64)
    factorials = np.cumsum(np.log(counts))
    values = []
    for log in logs.tolist():
        chances = np.exp(counts * log - math.exp(log) - factorials)
        values.append(float((chances * counts * (np.log(counts) - log)).sum()))
    return logs, np.array(values)


def chance_change(real: PairDependence, synthetic: PairDependence) -> float:
    """Up to how much both may differ by chance."""
    return DEVIATIONS * math.hypot(real.error, synthetic.error)


@dataclass(frozen=True, kw_only=True)
class LostDependence:
    """What became of the dependences of a table. real: pairs that go together in the real table; preserved:
    those of them of which the synthetic table has at least half and at most half too much. invented: pairs
    that go together in the synthetic table alone. lost: the share of real dependence, summed over pairs, that
    changed beyond chance; None without any."""

    real: int
    preserved: int
    invented: int
    lost: float | None


def lost_dependence(
    pairs: Sequence[tuple[PairDependence, PairDependence]],
    *,
    seen: Sequence[bool] | None = None,
) -> LostDependence:
    """Judge pairs of columns by the dependences that exist on either side. pairs: of each, the real and the
    synthetic one. seen: whether each can be judged, all if left out; one that cannot is not kept."""
    judged = [True] * len(pairs) if seen is None else seen
    existing = [
        (real, _change(real, synthetic), can)
        for (real, synthetic), can in zip(pairs, judged, strict=True)
        if real.is_real
    ]
    invented = [_change(a, b) for a, b in pairs if b.is_real and not a.is_real]
    whole = sum(real.strength for real, _, _ in existing)
    changed = sum(change for _, change, _ in existing) + sum(invented)
    return LostDependence(
        real=len(existing),
        preserved=sum(can and change <= KEPT * real.strength for real, change, can in existing),
        invented=sum(change >= LEAST for change in invented),
        lost=min(1.0, changed / whole) if whole else None,
    )


def _change(real: PairDependence, synthetic: PairDependence) -> float:
    """By how much a dependence changed, beyond chance."""
    difference = abs(synthetic.strength - real.strength)
    return max(0.0, difference - chance_change(real, synthetic))
