"""Learning how the values of a column lie on their lattice: rounds of interval counts within a part of the
budget.

The partition of each round follows from public facts and the noisy counts of earlier rounds, so a plan that
is given the stored answers asks the same questions again (docs/proofs/intervals.md). What is made of the
answers is post-processing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import sqrt

import numpy as np
import numpy.typing as npt

from synth_engine.domain import NotFound, Scale, ScaleBins
from synth_engine.inference import bins, round_numbers, scale_tree
from synth_engine.inference.error_forecast import LearnedColumn
from synth_engine.inference.scale_tree import CountedCells, Cuts, Pieces
from synth_engine.measurement import Measurement, Noise, Session
from synth_engine.measurement.question import partition_digest
from synth_engine.measurement.replay import Replay
from synth_engine.plans import budget_allocation
from synth_engine.plans.plan import Budget
from synth_engine.privacy.unit import Sensitivity

ROUND_NUMBERS_SHARE = Fraction(6, 100)
"""Share of a column's budget for the question how many values are round numbers."""
MAX_BINS = 24
"""Bins by which a mechanism counts the column: more would leave little but noise in tables of two columns."""
MAX_REGIONS = 8
"""Parts of the column in which round numbers are counted each by itself: small values are rarely as round as
large ones."""

Ask = Callable[[Cuts, Sequence[int], Noise], Measurement]
"""Asks for the counts of intervals, by divisors, with this noise; or takes the stored answer."""


@dataclass(frozen=True, kw_only=True)
class IntervalRounds:
    """The rounds of interval counts by which one column on a lattice is learned. budget: what they cost
    together, if values are found for it. most: as a multiple of the budget, what they may cost together where
    they are not."""

    attribute: Scale
    budget: Budget
    sensitivity: Sensitivity
    most: Fraction = Fraction(1)
    _learned: dict[tuple[bytes, ...], ScaleBins | NotFound] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """What the answers made of the column, by their values: a plan asks, and resolves the same answers
    afterwards."""

    def require_noise(self) -> None:
        """Errors: SpecError if the noise of the cheapest question is too large to be drawn: before anything
        is paid."""
        self._noise(min(ROUND_NUMBERS_SHARE, scale_tree.ZOOM_ROUND_SHARE / 2))

    def cost(self, cap: Budget, sensitivity: Sensitivity) -> Fraction:
        """Returns what the questions cost if values are found for the budget, in the unit of the cap, of
        which it is a part."""
        if type(cap) is not type(self.budget) or sensitivity != self.sensitivity:
            raise TypeError("a question has its part of this very budget")
        return self.budget.amount

    @property
    def further_cost(self) -> Fraction:
        """What the questions may cost beyond the budget, where values are not found for it."""
        return self.budget.amount * (self.most - 1)

    def paid(self, answers: Sequence[Measurement]) -> Fraction:
        """Returns what the answers cost: the column's budget, or more where that was not enough to find
        values."""
        costs = (
            budget_allocation.price(answer.noise, self.budget, self.sensitivity)
            for answer in answers
        )
        return max(self.budget.amount, sum(costs, Fraction(0)))

    def described(self) -> LearnedColumn:
        return LearnedColumn(cells=self.attribute.lattice.count, threshold=None)

    def ask(self, session: Session) -> tuple[Measurement, ...]:
        name = self.attribute.name
        answers: list[Measurement] = []

        def ask(cuts: Cuts, divisors: Sequence[int], noise: Noise) -> Measurement:
            answers.append(session.intervals(name, cuts, noise=noise, divisors=divisors))
            return answers[-1]

        learned = self._learn(ask)
        self._learned[_values_of(answers)] = learned
        return tuple(answers)

    def take(self, given: Replay) -> tuple[Measurement, ...]:
        """The stored answers to these questions. Errors: InputError."""
        taken: list[Measurement] = []

        def stored(cuts: Cuts, divisors: Sequence[int], noise: Noise) -> Measurement:
            cells = (len(cuts) - 1) * len(divisors) + (self.attribute.missing is not None)
            partition = partition_digest(self.attribute.lattice, cuts, divisors)
            answer = given.next(
                Measurement,
                lambda one: (
                    (one.clique, one.values.shape, one.noise, one.partition)
                    == ((self.attribute.name,), (cells,), noise, partition)
                ),
            )
            taken.append(answer)
            return answer

        learned = self._learn(stored)
        self._learned[_values_of(taken)] = learned
        return tuple(taken)

    def resolve(self, answers: Sequence[Measurement], *, most: int) -> ScaleBins | NotFound:
        """The attribute that the answers make of the column, with so many bins at most."""
        known = self._learned.get(_values_of(answers)) if most >= MAX_BINS else None
        if known is not None:
            return known
        remaining = iter(answers)
        resolved = self._learn(lambda *_: next(remaining), most=most)
        if next(remaining, None) is not None:
            raise TypeError("there are more answers than rounds")
        return resolved

    def _learn(self, ask: Ask, *, most: int = MAX_BINS) -> ScaleBins | NotFound:
        lattice = self.attribute.lattice
        asks_round = len(lattice.divisors) > 1
        tree_share = 1 - ROUND_NUMBERS_SHARE if asks_round else Fraction(1)
        rounds: list[CountedCells] = []
        while (share := scale_tree.next_share(rounds, most=self.most)) is not None:
            noise = self._noise(share * tree_share)
            cuts = scale_tree.next_cuts(
                rounds,
                count=lattice.count,
                zero=lattice.zero,
                spread=sqrt(noise.variance),
                most=self.most,
            )
            answer = ask(cuts, (1,), noise)
            rounds.append(
                CountedCells(
                    cuts=cuts,
                    values=self._of_cells(answer),
                    variance=noise.variance,
                    laplace=noise.law == "discrete-laplace",
                )
            )
        pieces = scale_tree.pieces(rounds, zero=lattice.zero, most=self.most)
        if pieces is None:
            return NotFound.of(self.attribute)
        if not asks_round:
            return self._resolved(pieces, most=most)
        noise = self._noise(ROUND_NUMBERS_SHARE)
        regions = _regions(pieces)
        answer = ask(regions, lattice.divisors, noise)
        table = self._of_cells(answer).reshape(len(regions) - 1, len(lattice.divisors))
        shares = round_numbers.shares(table, lattice.divisors, spread=sqrt(noise.variance))
        return self._resolved(pieces, most=most, regions=regions, round_shares=shares)

    def _noise(self, share: Fraction) -> Noise:
        return budget_allocation.noise(
            self.budget.of(self.budget.amount * share), self.sensitivity
        )

    def _of_cells(self, answer: Measurement) -> npt.NDArray[np.float64]:
        """The counts without that of missing values, which is the last one."""
        values = answer.values.astype(np.float64)
        return values if self.attribute.missing is None else values[:-1]

    def _resolved(
        self,
        pieces: Pieces,
        *,
        most: int,
        regions: Cuts = (),
        round_shares: tuple[tuple[int, ...], ...] = (),
    ) -> ScaleBins:
        return self.attribute.resolved(
            cuts=_bin_cuts(pieces, most=min(most, MAX_BINS)),
            pieces=pieces.starts,
            weights=pieces.weights,
            regions=regions if round_shares else (),
            round_shares=round_shares,
        )


def _leaves(pieces: Pieces) -> tuple[list[int], npt.NDArray[np.float64]]:
    """The first position of each leaf, and the weights of the leaves."""
    starts = [pieces.starts[0]]
    starts += [
        start
        for (before, leaf), start in zip(
            pairwise(pieces.leaf), pieces.starts[1:-1], strict=True
        )
        if leaf != before
    ]
    weights = np.array(pieces.weights, dtype=np.float64)
    return starts, np.bincount(pieces.leaf, weights=weights).astype(np.float64)


def _bin_cuts(pieces: Pieces, *, most: int) -> Cuts:
    """Cuts of the bins by which mechanisms count: leaves in turn until a bin holds its part of the
    records."""
    starts, weights = _leaves(pieces)
    (grouped,) = bins.nested_bins(weights, ordered=True, levels=(most,))
    firsts = np.flatnonzero(np.diff(grouped, prepend=-1)).tolist()
    # A frequent leaf ends the bin before it early, so that there may be more bins than wanted:
    # a mechanism that was planned for so many could need more memory than it has.
    while len(firsts) > most:
        in_bin = np.add.reduceat(weights, firsts)
        del firsts[int(np.argmin(in_bin[:-1] + in_bin[1:])) + 1]
    return (*(starts[leaf] for leaf in firsts), pieces.starts[-1])


def _regions(pieces: Pieces) -> Cuts:
    return _bin_cuts(pieces, most=MAX_REGIONS)


def _values_of(answers: Sequence[Measurement]) -> tuple[bytes, ...]:
    return tuple(answer.values.tobytes() for answer in answers)


def even_bins(attribute: Scale, number: int) -> ScaleBins:
    """The column in bins of equal width, for forecasts."""
    count = attribute.lattice.count
    cuts = tuple(sorted({count * part // number for part in range(number + 1)}))
    return attribute.resolved(cuts=cuts, pieces=cuts, weights=(1,) * (len(cuts) - 1))
