"""How `auto` estimates pairs: against the prediction of a mixture fitted to all of them, and then against
each other.

Every measured table is read twice: first against the mixture. That gives the distribution of ratios between
counts and predictions, which tables of similar dependence share. The second reading also considers other
predictions: two columns may depend on each other through a third one, as their tables with it say, or along a
tree of measured pairs. The prediction with the largest marginal likelihood of the table's noisy cells is
used. Around that prediction the table is read in two ways, cell by cell and with what its largest singular
values say, and the two are averaged.

A small table is also read by itself, around independent columns: a mixture blurs a dependence of few cells,
whose ratios to independence may be only two or three numbers. How much that reading counts is estimated from
all small tables. All of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from synth_engine import watching
from synth_engine.inference import bins as binning
from synth_engine.inference import shrinkage, stein
from synth_engine.inference.bins import Bins
from synth_engine.inference.tables import (
    Margin,
    adjust_to_margins,
    fit_margins,
    shrink_towards,
)
from synth_engine.mechanisms.auto.dependence_tree import DependenceTree
from synth_engine.mechanisms.auto.selection import (
    Columns,
    Pair,
    PairCounts,
    interacting,
    interaction_part,
)
from synth_engine.models.model import generator

Floats = npt.NDArray[np.float64]
PairAnswers = Mapping[Pair, PairCounts]

_NARROW, _FIRST = 2, 4
"""Number of codes of a narrow attribute, and the resolution at which its pairs are read first."""
FIT_ROUNDS = 5
"""Number of passes that fit a table to its two histograms; further ones change less than the noise of a
count."""
_BETWEEN = 3
CLOSE = 1.0
"""L1 distance from what is expected, from which on ratios of a wide range are considered: attributes may
nearly determine each other. The largest is 2."""
_GROUPS = (0.01, 0.03, 0.1, 0.3, CLOSE)
"""Upper bounds of the distances from independence of the groups within which tables share a distribution of
ratios."""
_OFF = 0.2
"""Standard deviation of the error of a right prediction, as a part of the pair's distance from independence,
beside the noise of its score."""
_MOST_ABOVE = 3.0
"""Standard deviations of the noise of a score by which the distance of its pair may be above it."""
_MIXING_ROUNDS = 20
"""EM iterations."""
_THIRD = 3
"""Number of third columns through which the dependence of a pair is predicted."""
_LEAST_PART = 0.02
"""Smallest part of its prediction that a cell is taken to have by the largest singular values of its
table."""
CLEAR = 20.0
"""Standard deviations of the noise above which a cell is taken as it is: what it is expected to hold says
nothing beside it."""
_ADJUSTMENTS = 10
"""Number of passes in which the errors of a table's sums are shared out among its cells."""
_PROBES = 2
"""Number of times that a little noise is added to a table to see how its two readings follow it."""
_SMALL = 64
"""Number of cells up to which a table is also read by itself."""
_STRONG = 0.2
"""L1 distance from independence, as a share of the records, from which on it is."""
_NEARLY_DETERMINED, _MOST_CELLS = 0.5, 10_000
"""L1 distance from which on most cells of a larger table may be empty, so that it is read by itself too, with
zero among its ratios; and the number of cells up to which it is."""
_SEED = "auto/denoising/1"


@dataclass(frozen=True, kw_only=True, eq=False)
class Fine:
    """Attributes at the resolution of estimated tables: by codes, or by the finest bins where there are very
    many codes."""

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

    def independent(self, pair: Pair) -> Floats:
        """Return the counts that a pair has if its columns are independent."""
        table: Floats = np.multiply.outer(*(self.histograms[axis] for axis in pair)) / self.rows
        return table


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

    def shows(self, fine: Fine, pair: Pair) -> bool:
        """Return whether a dependence that is possible beside the histograms would stand out from the
        noise."""
        margins = self.margins(fine, pair)
        return shrinkage.stands_out(
            np.multiply.outer(*(sums for _, sums in margins)) / fine.rows,
            margins,
            variance=self.variance,
        )

    def margins(self, fine: Fine, pair: Pair) -> list[Margin]:
        """The sums of the two histograms, by the bins of this table."""
        return [
            ((position,), binning.sum_into_bins(fine.histograms[axis], [bins]))
            for position, (axis, bins) in enumerate(zip(pair, self.bins, strict=True))
        ]

    def summed(self, counts: Floats) -> Floats:
        """Counts by the finest bins, summed into the bins of this table."""
        return binning.sum_into_bins(counts, self.bins)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise along each axis of the space of interactions."""
        return math.sqrt(self.variance / interacting(self.values.shape))

    @property
    def close(self) -> bool:
        return self.distance >= CLOSE

    @property
    def small(self) -> bool:
        """Whether the table is small and strongly dependent."""
        return self.values.size <= _SMALL and self.distance >= _STRONG

    @property
    def sparse(self) -> bool:
        """Whether the table is larger, and most of its cells may be empty. By itself, a table of merged codes
        says nothing of these."""
        by_codes = all(bins.size == int(bins.max()) + 1 for bins in self.bins)
        fits = _SMALL < self.values.size <= _MOST_CELLS
        return fits and by_codes and self.distance >= _NEARLY_DETERMINED

    @property
    def group(self) -> int:
        """The group of tables with which this one shares a distribution of ratios."""
        return int(np.digitize(self.distance, _GROUPS))

    @property
    def grid(self) -> Floats:
        return shrinkage.WIDE_GRID if self.close else shrinkage.GRID

    def read(
        self, prediction: Floats, *, known: shrinkage.KnownRatios | None = None
    ) -> shrinkage.RatioEstimate:
        expected = self.summed(prediction)
        return shrinkage.estimate_ratios(
            self.values,
            expected,
            variance=self.variance,
            law=self.law,
            grid=self.grid,
            known=known or shrinkage.ratios_of_distance(self.grid, self.distance),
        )

    def evidence(self, prediction: Floats, *, known: shrinkage.KnownRatios) -> float:
        expected = self.summed(prediction)
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


@dataclass(frozen=True, kw_only=True, eq=False)
class PairScores:
    """Noisy distances of pairs from independence. values: in L1, in records; variance: of their noise; level:
    the resolution at which they were counted."""

    values: Mapping[Pair, float]
    variance: float
    level: int

    def mixed(
        self, fine: Fine, first: Mapping[Pair, Floats], second: Mapping[Pair, Floats]
    ) -> dict[Pair, Floats]:
        """Mix two predictions of each pair of `second` by how likely each makes the pair's score. How often
        the second one is right is learned from all of them. Of a pair without a score the second one is
        taken: the pairs that were scored are then a tree that was selected."""
        pairs = [pair for pair in second if pair in self.values]
        without = {pair: table for pair, table in second.items() if pair not in self.values}
        if not pairs:
            return without
        logs = self._log_likelihoods(fine, pairs, second)
        odds = np.exp((logs - self._log_likelihoods(fine, pairs, first)).clip(-50, 50))
        right = 0.5
        for _ in range(_MIXING_ROUNDS):
            # E-step: how likely the second prediction of each pair is right; M-step: their mean.
            weights = right * odds / (right * odds + 1 - right)
            right = (float(weights.sum()) + 1) / (len(pairs) + 2)
        return {
            pair: weight * second[pair] + (1 - weight) * first[pair]
            for pair, weight in zip(pairs, weights.tolist(), strict=True)
        } | without

    def within(self, fine: Fine, pair: Pair, counts: Floats, *, prediction: Floats) -> Floats:
        """Return counts that are no farther from independence than the pair's score and its noise allow:
        those given, or as much of them as that is, beside the prediction or, if that is too far itself,
        beside independent columns.

        Of a thousand noisy cells the largest looks like a strong dependence; the score of the pair knows
        better."""
        if pair not in self.values:
            return counts
        most = max(self.values[pair], 0.0) + _MOST_ABOVE * math.sqrt(self.variance)
        distance = self._distance(fine, pair, counts)
        if distance <= most:
            return counts
        base, near = prediction, self._distance(fine, pair, prediction)
        if near > most:
            base = fine.independent(pair)
            near = 0.0
        # Distances of means are at most the means of distances.
        return base + (most - near) / (distance - near) * (counts - base)

    def _log_likelihoods(
        self, fine: Fine, pairs: Sequence[Pair], predictions: Mapping[Pair, Floats]
    ) -> Floats:
        """Return the log-likelihood of each prediction of a pair, by the pair's score, less a constant.

        What a prediction lacks, or makes up, is a pattern of its own, at right angles to the rest: squares of
        distances add up, not distances. So the difference of the squares is taken for the square of the
        error, whether the prediction is too near to independence or too far."""
        predicted = np.array([self._distance(fine, pair, predictions[pair]) for pair in pairs])
        noisy = np.maximum([self.values[pair] for pair in pairs], 0.0)
        squares = np.abs(noisy**2 - self.variance - predicted**2)
        logs: Floats = -0.5 * squares / (math.sqrt(self.variance) + _OFF * noisy) ** 2
        return logs

    def _distance(self, fine: Fine, pair: Pair, table: Floats) -> float:
        """Return the distance of a table from independence at the resolution of scores, in L1, in records."""
        coarse = binning.sum_into_bins(table, [fine.levels[axis][self.level] for axis in pair])
        independent = np.multiply.outer(coarse.sum(axis=1), coarse.sum(axis=0)) / fine.rows
        return float(np.abs(coarse - independent).sum())


def estimates(
    fine: Fine,
    predictions: Mapping[Pair, Floats],
    answers: PairAnswers,
    distances: Mapping[Pair, float],
    *,
    scores: PairScores | None = None,
) -> dict[Pair, Floats]:
    """Estimate the counts of every pair of `predictions`, whose sums are the histograms already. A table
    whose noise hides every dependence leaves the prediction as it is. distances: of each pair from
    independence, in L1, as a share of the records; scores: the noisy distances themselves, which tell how far
    a tree of measured pairs predicts all others."""
    measured = {
        pair: _PairTable.of(fine, pair, answers[pair], distance=distances[pair])
        for pair in predictions
        if pair in answers
    }
    tables = {pair: table for pair, table in measured.items() if table.shows(fine, pair)}
    first = dict(predictions)
    priors: dict[int, list[Floats]] = {}
    with watching.part(0.0, 0.3):
        for pair, table in watching.each(list(tables.items())):
            first[pair], prior = _read(fine, pair, table, predictions[pair], known=None)
            # Ratios are alike where the distances from independence are.
            priors.setdefault(table.group, []).append(prior)
    with watching.part(0.3, 0.4):
        alone = _ReadingsAlone.of(fine, tables, predictions, around=first)
    first |= {pair: alone.mixed(pair, first[pair]) for pair in tables}
    known = {group: shrinkage.ratios_of_others(counts) for group, counts in priors.items()}
    tree = DependenceTree.of(fine.histograms, fine.rows, {pair: first[pair] for pair in tables})
    chained = {
        pair: fit_margins(table, fine.margins(pair), rounds=_BETWEEN)
        for pair, table in tree.predictions(predictions).items()
    }
    if scores is not None:
        predictions = {**predictions, **scores.mixed(fine, predictions, chained)}
        first |= {pair: predictions[pair] for pair in chained if pair not in tables}
    others = _Others.of(fine, first)
    counts = dict(first)
    with watching.part(0.4, 1.0):
        for pair, table in watching.each(list(tables.items())):
            through = others.through(pair, predictions[pair])
            prediction, ratios = _likeliest(
                table,
                (predictions[pair], *through, fine.independent(pair)),
                alike=known[table.group],
                chained=chained.get(pair),
            )
            read = _mean_reading(fine, pair, table, prediction, known=ratios)
            read = alone.mixed(pair, read)
            if scores is not None:
                read = scores.within(fine, pair, read, prediction=prediction)
            counts[pair] = read
    if scores is not None:
        for pair in counts:
            if pair not in tables:
                counts[pair] = scores.within(
                    fine, pair, counts[pair], prediction=fine.independent(pair)
                )
    return counts


def _likeliest(
    table: _PairTable,
    predictions: Sequence[Floats],
    *,
    alike: shrinkage.KnownRatios,
    chained: Floats | None,
) -> tuple[Floats, shrinkage.KnownRatios]:
    """The prediction of a table under which its noisy cells are likeliest, by the marginal likelihood, and
    the ratios to read it with. alike: ratios of tables like it; chained: what the tree of pairs predicts."""
    candidates = [(prediction, alike) for prediction in predictions]
    if chained is not None:
        # Columns that are independent given those between them are as the tree says, whatever
        # ratios other tables have.
        exact = shrinkage.ratios_of_distance(table.grid, 0.0)
        candidates += [(chained, alike), (chained, exact)]
    evidence = [table.evidence(prediction, known=ratios) for prediction, ratios in candidates]
    return candidates[int(np.argmax(evidence))]


@dataclass(frozen=True, kw_only=True, eq=False)
class _ReadingsAlone:
    """What small tables say by themselves, and how much that counts. tables: estimated counts; weights: in
    the mean of these and of a reading around a prediction."""

    tables: Mapping[Pair, Floats]
    weights: Mapping[Pair, float]

    @classmethod
    def of(
        cls,
        fine: Fine,
        tables: Mapping[Pair, _PairTable],
        predictions: Mapping[Pair, Floats],
        *,
        around: Mapping[Pair, Floats],
    ) -> _ReadingsAlone:
        """Read tables by themselves, and compare that with their readings `around` the predictions."""
        read: dict[Pair, Floats] = {}
        weights: dict[Pair, float] = {}
        # Of which Stein's estimate is.
        gaussian = {pair: table for pair, table in tables.items() if table.law == "gaussian"}
        small = {pair: table for pair, table in gaussian.items() if table.small}
        sparse = {pair: table for pair, table in gaussian.items() if table.sparse}
        # The two kinds are read in different ways, so they are not alike.
        for kind in (small, sparse):
            alone = {pair: _read_alone(fine, pair, table) for pair, table in kind.items()}
            compared = [
                _compared_with_alone(
                    fine, pair, table, predictions[pair], readings=(around[pair], alone[pair])
                )
                for pair, table in kind.items()
            ]
            read |= alone
            weights |= zip(kind, stein.weights_alike(compared), strict=True)
        return cls(tables=read, weights=weights)

    def mixed(self, pair: Pair, counts: Floats) -> Floats:
        """Return the mean of an estimate with what its table says by itself."""
        if pair not in self.tables:
            return counts
        return counts + self.weights[pair] * (self.tables[pair] - counts)


def _read_alone(fine: Fine, pair: Pair, table: _PairTable) -> Floats:
    """Estimate counts around independent columns, with ratios that are learned from this table alone."""
    product = fine.independent(pair)
    expected = table.summed(product)
    if table.sparse:
        read = shrinkage.estimate_counts(table.values, expected, variance=table.variance)
        ratios = _with_sums(fine, pair, table, product, read)
    else:
        learned = shrinkage.estimate_ratios(
            table.values, expected, variance=table.variance, grid=table.grid
        )
        ratios = _with_sums(fine, pair, table, product, learned.counts(expected))
    return fit_margins(
        product * ratios[np.ix_(*table.bins)], fine.margins(pair), rounds=FIT_ROUNDS
    )


def _compared_with_alone(
    fine: Fine,
    pair: Pair,
    table: _PairTable,
    prediction: Floats,
    *,
    readings: tuple[Floats, Floats],
) -> stein.WeightEstimate | None:
    """Compare the reading of a table around a prediction with that of the table alone."""

    def difference(values: Floats) -> Floats:
        other = replace(table, values=values)
        around, _ = _read(fine, pair, other, prediction, known=None)
        return table.summed(_read_alone(fine, pair, other)) - table.summed(around)

    around, alone = readings
    return stein.compared(
        table.values,
        (table.summed(around), table.summed(alone)),
        difference=difference,
        deviation=table.deviation,
        directions=_directions(table, pair, purpose="probes alone"),
    )


def _directions(table: _PairTable, pair: Pair, *, purpose: str) -> list[Floats]:
    """Return directions in the space of interactions, the same for a pair and a purpose, in which a little
    noise is added to a table."""
    rng = generator(_SEED, purpose=(purpose, *(str(axis) for axis in pair)))
    return [interaction_part(rng.standard_normal(table.values.shape)) for _ in range(_PROBES)]


def _mean_reading(
    fine: Fine,
    pair: Pair,
    table: _PairTable,
    prediction: Floats,
    *,
    known: shrinkage.KnownRatios,
) -> Floats:
    """Estimate counts by the mean of two readings: around the prediction, and around what the largest
    singular values of the table make of it. Neither is better for every table; how much each counts is
    estimated."""

    def readings(of: _PairTable) -> tuple[Floats, Floats]:
        around, _ = _read(fine, pair, of, prediction, known=known)
        patterns = _with_patterns(fine, pair, of, prediction)
        if patterns is None:
            return around, around
        return around, _read(fine, pair, of, patterns, known=known)[0]

    def difference(values: Floats) -> Floats:
        first, second = readings(replace(table, values=values))
        return table.summed(second - first)

    first, second = readings(table)
    if table.law == "laplace":  # Stein's estimate is of Gaussian noise
        return first
    weight = stein.weight_of_second(
        table.values,
        (table.summed(first), table.summed(second)),
        difference=difference,
        deviation=table.deviation,
        directions=_directions(table, pair, purpose="probes"),
    )
    return first + weight * (second - first)


def _with_patterns(
    fine: Fine, pair: Pair, table: _PairTable, prediction: Floats
) -> Floats | None:
    """Add to a prediction what the largest singular values of the table's difference from it say, shrunk as
    is best for its noise; None if all of them may be noise. Patterns of whole rows and columns stand out
    where single cells do not."""
    expected = table.summed(prediction)
    patterns = shrink_towards(table.values, expected, sigma=table.deviation)
    if np.allclose(patterns, expected):
        return None
    ratios = np.maximum(patterns, _LEAST_PART * expected) / np.maximum(
        expected, shrinkage.MIN_EXPECTED
    )
    return fit_margins(
        prediction * ratios[np.ix_(*table.bins)], fine.margins(pair), rounds=FIT_ROUNDS
    )


def _read(
    fine: Fine,
    pair: Pair,
    table: _PairTable,
    prediction: Floats,
    *,
    known: shrinkage.KnownRatios | None,
) -> tuple[Floats, Floats]:
    """Return the estimated counts, and the distribution of the table's ratios."""
    margins = fine.margins(pair)
    for view in _steps(fine, pair, table):
        ratios = table.coarser(view).read(prediction, known=known).ratios
        prediction = fit_margins(prediction * ratios[np.ix_(*view)], margins, rounds=_BETWEEN)
    read = table.read(prediction, known=known)
    counts = read.counts(table.summed(prediction))
    ratios = _with_sums(fine, pair, table, prediction, counts)
    return fit_margins(
        prediction * ratios[np.ix_(*table.bins)], margins, rounds=FIT_ROUNDS
    ), read.prior


def _with_sums(
    fine: Fine,
    pair: Pair,
    table: _PairTable,
    prediction: Floats,
    read: shrinkage.CountEstimate,
) -> Floats:
    """Return the ratios of a reading, changed so that the counts have the sums of the two histograms. What a
    sum is off by is shared out by how uncertain cells are: to scale a row would take it from its largest
    cells, which are known best."""
    expected = np.maximum(table.summed(prediction), shrinkage.MIN_EXPECTED)
    clear = table.values > CLEAR * math.sqrt(table.variance)
    counts = np.where(clear, table.values, read.counts)
    uncertain = np.maximum(read.variances, shrinkage.LEAST_VARIANCE * table.variance)
    adjusted = adjust_to_margins(
        counts,
        np.where(clear, table.variance, uncertain),
        table.margins(fine, pair),
        rounds=_ADJUSTMENTS,
    )
    ratios: Floats = np.maximum(adjusted, 0.0) / expected
    return ratios


def _steps(fine: Fine, pair: Pair, table: _PairTable) -> list[list[Bins]]:
    """Return coarser views in which a table is read first, for pairs with an attribute of two codes. Such an
    attribute depends on the other one by a trend, which single and often nearly empty cells are too noisy to
    show."""
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
    """Estimates of all pairs, from which the dependence of two columns through a third one is predicted."""

    fine: Fine
    tables: Mapping[Pair, Floats]
    strengths: Floats

    @classmethod
    def of(cls, fine: Fine, tables: Mapping[Pair, Floats]) -> _Others:
        strengths = np.zeros((len(fine.histograms),) * 2)
        for (a, b), table in tables.items():
            product = fine.independent((a, b))
            strengths[a, b] = strengths[b, a] = np.abs(table - product).sum() / fine.rows
        return cls(fine=fine, tables=tables, strengths=strengths)

    def _table(self, a: int, b: int) -> Floats:
        return self.tables[a, b] if a < b else self.tables[b, a].T

    def through(self, pair: Pair, prediction: Floats) -> Iterator[Floats]:
        """Yield predictions of a pair under independence given a third column, for the columns on which both
        depend most; and geometric means of these with the given prediction."""
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
