"""How `auto` reads its tables of pairs: against what a mixture of all of them foresees, and then against each other.

Every measured table is read twice. First against the mixture. Then what the ratios are like is known from all tables, and
there are other foresights: two columns that depend on each other through a third one as their tables with it say. The
one that makes the table's own noisy cells likeliest is taken. All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synth_engine.inference import bins as binning
from synth_engine.inference import shrinkage
from synth_engine.inference.bins import Bins
from synth_engine.inference.tables import fit_margins
from synth_engine.mechanisms.auto.selection import Columns, Pair, PairCounts

Floats = npt.NDArray[np.float64]
PairAnswers = Mapping[Pair, PairCounts]

_NARROW, _FIRST = 2, 4
"""Codes of a narrow attribute, and the resolution at which its pairs are read first."""
FIT_ROUNDS = 5
"""Passes that fit a table to its two histograms; more of them change less than the noise of any count."""
_BETWEEN = 3
_CLOSE = 1.0
"""The distance from independence, in L1, from which on attributes nearly determine each other; 2 is the most."""
_GROUPS = (0.01, 0.03, 0.1, 0.3, _CLOSE)
"""Distances from independence at which a group of tables of alike ratios ends and the next begins."""
_THIRD = 3
"""Third columns through which two others are looked at."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Fine:
    """Attributes as tables speak of them: by codes, or by the finest bins of those that have very many codes."""

    rows: int
    histograms: tuple[Floats, ...]
    levels: tuple[tuple[Bins, ...], ...]

    @classmethod
    def of(cls, columns: Columns, *, rows: int, histograms: Sequence[Floats]) -> Fine:
        return cls(
            rows=max(1, rows),
            histograms=tuple(
                binning.sum_into_bins(histogram, [levels[0]])
                for histogram, levels in zip(histograms, columns.levels, strict=True)
            ),
            levels=tuple(
                tuple(binning.coarse_of_fine(levels[0], level) for level in levels)
                for levels in columns.levels
            ),
        )

    def margins(self, axes: Sequence[int]) -> list[tuple[tuple[int, ...], Floats]]:
        return [((position,), self.histograms[axis]) for position, axis in enumerate(axes)]


@dataclass(frozen=True, kw_only=True, eq=False)
class _PairTable:
    """A measured table: its noisy cells, their noise, and the bins of its two attributes."""

    values: Floats
    variance: float
    law: shrinkage.Law
    bins: tuple[Bins, ...]
    levels: tuple[int, ...]
    distance: float

    @classmethod
    def of(cls, fine: Fine, pair: Pair, observed: PairCounts, *, distance: float) -> _PairTable:
        return cls(
            values=observed.values,
            variance=observed.variance,
            law=observed.law,
            bins=tuple(
                fine.levels[axis][level]
                for axis, level in zip(pair, observed.levels, strict=True)
            ),
            levels=observed.levels,
            distance=distance,
        )

    @property
    def close(self) -> bool:
        return self.distance >= _CLOSE

    @property
    def group(self) -> int:
        """Tables of one group share what their ratios are like."""
        return int(np.digitize(self.distance, _GROUPS))

    @property
    def grid(self) -> Floats:
        return shrinkage.WIDE_GRID if self.close else shrinkage.GRID

    def read(
        self, prediction: Floats, *, known: shrinkage.KnownRatios | None = None
    ) -> shrinkage.RatioEstimate:
        expected = binning.sum_into_bins(prediction, self.bins)
        return shrinkage.estimate_ratios(
            self.values,
            expected,
            variance=self.variance,
            law=self.law,
            grid=self.grid,
            known=known or shrinkage.ratios_of_distance(self.grid, self.distance),
        )

    def evidence(self, prediction: Floats, *, known: shrinkage.KnownRatios) -> float:
        expected = binning.sum_into_bins(prediction, self.bins)
        return shrinkage.evidence(
            self.values,
            expected,
            variance=self.variance,
            law=self.law,
            grid=self.grid,
            prior=known.shares,
        )

    def coarser(self, bins: Sequence[Bins]) -> _PairTable:
        between = [
            binning.coarse_of_fine(fine, more)
            for fine, more in zip(self.bins, bins, strict=True)
        ]
        sums = binning.sum_into_bins(self.values, between)
        noise = self.variance * self.values.size / sums.size
        return _PairTable(
            values=sums,
            variance=noise,
            law=self.law,
            bins=tuple(bins),
            levels=self.levels,
            distance=self.distance,
        )


def estimates(
    fine: Fine,
    predictions: Mapping[Pair, Floats],
    answers: PairAnswers,
    distances: Mapping[Pair, float],
) -> dict[Pair, Floats]:
    """Counts of every pair of `foreseen`, which has the sums of the columns already. distances: of each pair from
    independence, in L1, as a share of the records."""
    tables = {
        pair: _PairTable.of(fine, pair, answers[pair], distance=distances[pair])
        for pair in predictions
        if pair in answers
    }
    first = dict(predictions)
    priors: dict[int, list[Floats]] = {}
    for pair, table in tables.items():
        first[pair], prior = _read(fine, pair, table, predictions[pair], known=None)
        # Ratios are alike where the distances from independence are.
        priors.setdefault(table.group, []).append(prior)
    known = {group: shrinkage.ratios_of_others(counts) for group, counts in priors.items()}
    others = _Others.of(fine, first)
    counts = dict(first)
    for pair, table in tables.items():
        alike = known[table.group]
        candidates = [predictions[pair], *others.through(pair, predictions[pair])]
        # The marginal likelihood of the noisy cells decides which prediction is used.
        evidence = [table.evidence(prediction, known=alike) for prediction in candidates]
        counts[pair], _ = _read(
            fine, pair, table, candidates[int(np.argmax(evidence))], known=alike
        )
    return counts


def _read(
    fine: Fine,
    pair: Pair,
    table: _PairTable,
    prediction: Floats,
    *,
    known: shrinkage.KnownRatios | None,
) -> tuple[Floats, Floats]:
    """The counts, and what the ratios of the table are like."""
    margins = fine.margins(pair)
    for view in _steps(fine, pair, table):
        ratios = table.coarser(view).read(prediction, known=known).ratios
        prediction = fit_margins(prediction * ratios[np.ix_(*view)], margins, rounds=_BETWEEN)
    read = table.read(prediction, known=known)
    return fit_margins(
        prediction * read.ratios[np.ix_(*table.bins)], margins, rounds=FIT_ROUNDS
    ), read.prior


def _steps(fine: Fine, pair: Pair, table: _PairTable) -> list[list[Bins]]:
    """Coarser views at which an answer is read first: of pairs with an attribute of two codes. What such an attribute
    depends on is a trend along the other one, which single cells, some of them nearly empty, are too noisy to show."""
    if min(fine.histograms[axis].size for axis in pair) > _NARROW:
        return []
    views = [
        fine.levels[axis][max(level, _FIRST)]
        for axis, level in zip(pair, table.levels, strict=True)
    ]
    same = all(bins.max() == view.max() for bins, view in zip(table.bins, views, strict=True))
    return [] if same else [views]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Others:
    """Estimates of all pairs, by which two columns are looked at through a third one."""

    fine: Fine
    tables: Mapping[Pair, Floats]
    strengths: Floats

    @classmethod
    def of(cls, fine: Fine, tables: Mapping[Pair, Floats]) -> _Others:
        strengths = np.zeros((len(fine.histograms),) * 2)
        for (a, b), table in tables.items():
            product = np.multiply.outer(fine.histograms[a], fine.histograms[b]) / fine.rows
            strengths[a, b] = strengths[b, a] = np.abs(table - product).sum() / fine.rows
        return cls(fine=fine, tables=tables, strengths=strengths)

    def _table(self, a: int, b: int) -> Floats:
        return self.tables[a, b] if a < b else self.tables[b, a].T

    def through(self, pair: Pair, prediction: Floats) -> Iterator[Floats]:
        """What independence given a third column makes of the two, for those that both depend on most; and the geometric
        means of these with what was foreseen without them."""
        a, b = pair
        margins = self.fine.margins(pair)
        shared = self.strengths[a] * self.strengths[b]
        # Only columns on which both depend can carry a dependence between them.
        thirds = [
            int(third)
            for third in np.argsort(-shared, kind="stable")[:_THIRD]
            if shared[third] > 0
        ]
        logs = [np.log(np.maximum(prediction, shrinkage.MIN_EXPECTED))]
        for number, third in enumerate(thirds):
            counts_of_third = np.maximum(self.fine.histograms[third], shrinkage.MIN_EXPECTED)
            chained = np.maximum(
                (self._table(a, third) / counts_of_third) @ self._table(third, b),
                shrinkage.MIN_EXPECTED,
            )
            logs.append(np.log(chained))
            yield fit_margins(chained, margins, rounds=_BETWEEN)
            if number == 0 or third == thirds[-1]:
                yield fit_margins(np.exp(np.mean(logs, axis=0)), margins, rounds=_BETWEEN)
