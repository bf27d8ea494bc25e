"""What `auto` concludes from noisy answers, step by step, and what it asks next.

It sees public facts and paid answers alone, so that a run and a later fit compute the same bins and tables.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.inference import allocation, oneway, shrinkage
from synth_engine.inference import bins as binning
from synth_engine.inference.allocation import Choice, Side, TableOption
from synth_engine.inference.bins import Bins
from synth_engine.measurement import Candidate, Clique, Measurement, Scores
from synth_engine.models.binning import is_merged_in_order

Floats = npt.NDArray[np.float64]
Pair = tuple[int, int]
TableAnswer = tuple[Pair, Measurement, tuple[int, ...]]
"""A measured pair, its answer, and the resolution of its columns."""

SCORED = 2
"""The resolution at which pairs are scored, unless there are so many that a coarser one is needed."""
CELLS_SCORED = 1 << 24
CELLS_MEASURED = 250_000
_MIN_DISTANCE, _MAX_DISTANCE = 0.003, 1.96
"""Bounds of an estimated L1 distance, whose range is 0 to 2: no pair is taken to be exactly independent or
determined."""
_CHANCE = 0.5
"""Share of the L1 distance of independent records by chance that is subtracted from a score."""
_DOUBT = 1.5
"""Number of standard deviations that is subtracted from the mean of all scores, and from their variance, for
their noise."""
_BLUR, _BLUR_POWER = 8.0, 0.35
"""Merging neighbouring codes is taken to hide _BLUR * strength^_BLUR_POWER times the squared shares of the
bins: with a larger budget, detail matters more."""
_MIN_DIFFERING = 0.1
"""Smallest chance that two records differ in a column to predict, so that a class of few records does not
take the whole budget."""
_TWO_CODES = 2
_UNASKED = 1.5
"""Factor on the distance of a pair that is not measured: nearly all pairs are measured, at least coarsely."""
_TYPICAL = 0.2
"""Smallest standard deviation of distances between pairs, in multiples of their mean."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PairCounts:
    """The table of a pair as the fit reads it. values: noisy counts of bins; variance: of the noise of a
    cell; law: of the noise; levels: the resolution of each attribute."""

    values: Floats
    variance: float
    law: shrinkage.Law
    levels: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Answered:
    """The one or two measurements of a table, and the resolution of its columns in both."""

    measurements: tuple[Measurement, ...]
    levels: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """All attributes by themselves: histograms, and bins at every resolution.

    rows: the number of records, public or noisy; strength: the budget as a rho, scaled to a table of some
    40,000 records; rare: whether bins also separate rare codes that may say much about a column to
    predict."""

    domain: Domain
    rows: int
    strength: float
    rare: bool
    histograms: tuple[Floats, ...]
    levels: tuple[tuple[Bins, ...], ...]

    @classmethod
    def of(
        cls,
        domain: Domain,
        answers: Sequence[Measurement],
        *,
        strength: float,
        rare: bool = False,
    ) -> Columns:
        rows, histograms = _histograms(domain, answers)
        # The run chose bins by the answers that it had; tables were counted by these, whatever noise was
        # added since.
        asked = [answer.as_answered for answer in answers]
        as_asked = histograms if asked == list(answers) else _histograms(domain, asked)[1]
        levels = tuple(
            tuple(
                binning.nested_bins(histogram, ordered=is_merged_in_order(attribute), rare=rare)
            )
            for attribute, histogram in zip(domain.modelled, as_asked, strict=True)
        )
        return cls(
            domain=domain,
            rows=rows,
            strength=strength,
            rare=rare,
            histograms=histograms,
            levels=levels,
        )

    @property
    def total(self) -> int:
        """The total of all histograms: at least 1, so that it can be divided by."""
        return max(1, self.rows)

    @cached_property
    def pairs(self) -> list[Pair]:
        """All pairs of attributes with more than one code."""
        able = [
            axis for axis, attribute in enumerate(self.domain.modelled) if attribute.size > 1
        ]
        return list(itertools.combinations(able, 2))

    def clique(self, axes: Sequence[int]) -> Clique:
        return tuple(self.domain.names[axis] for axis in axes)

    def merged(self, axes: Sequence[int], levels: Sequence[int]) -> dict[str, Bins]:
        """Return the bins by which the room counts, for attributes of which codes are merged."""
        return {
            self.domain.names[axis]: self.levels[axis][level]
            for axis, level in zip(axes, levels, strict=True)
            if self.numbers_of_bins[axis][level] < self.levels[axis][level].size
        }

    def candidates(self, pairs: Sequence[Pair]) -> Iterator[Candidate]:
        """Yield each pair at a coarse resolution, with its expected table under independence."""
        level = score_level(len(pairs))
        coarse = [
            binning.sum_into_bins(h, [levels[level]])
            for h, levels in zip(self.histograms, self.levels, strict=True)
        ]
        for pair in pairs:
            expected = np.multiply.outer(coarse[pair[0]], coarse[pair[1]]) / self.total
            reference = np.rint(expected).astype(np.int64)
            merged = self.merged(pair, (level, level))
            yield Candidate(
                clique=self.clique(pair), reference=reference, merged=merged or None
            )

    def distances(self, pairs: Sequence[Pair], scores: Scores) -> Floats:
        """Estimate how far each pair is from independence, in L1, as a share of the records. The distance by
        chance is subtracted, and noisy scores are shrunk towards the mean of all."""
        chance = self.distances_by_chance(pairs)
        beyond_chance = self.beyond_chance(pairs, scores)
        noise = scores.noise.variance / self.total**2
        mean = max(
            float(beyond_chance.mean()) - _DOUBT * math.sqrt(noise / beyond_chance.size),
            _MIN_DISTANCE,
        )
        # Empirical Bayes: the variance between pairs beyond that of the noise, which itself varies from
        # release to release.
        of_noise = noise * (1 + _DOUBT * math.sqrt(2 / beyond_chance.size))
        spread = max(float(beyond_chance.var()) - of_noise, (_TYPICAL * mean) ** 2)
        closer: Floats = mean + (beyond_chance - mean) * (spread / (spread + noise))
        # Independent records are still as far from their expectation as chance makes them.
        distances: Floats = np.maximum(closer, chance)
        return distances.clip(_MIN_DISTANCE, _MAX_DISTANCE)

    def beyond_chance(self, pairs: Sequence[Pair], scores: Scores) -> Floats:
        """Return the noisy distances from independence, in L1, as shares of the records, less a part of what
        chance makes."""
        # Independent records would also show a distance; part of it is taken off.
        return scores.values / self.total - _CHANCE * self.distances_by_chance(pairs)

    def distances_by_chance(self, pairs: Sequence[Pair]) -> Floats:
        """Return about how far independent records would be from independence at the resolution of scores, in
        L1, as shares of the records."""
        # A plan asks up to four times about the same pairs.
        known = self._known_by_chance
        key = tuple(pairs)
        if key not in known:
            known[key] = self._distances_by_chance(key)
        return known[key]

    @cached_property
    def _known_by_chance(self) -> dict[tuple[Pair, ...], Floats]:
        return {}

    def _distances_by_chance(self, pairs: Sequence[Pair]) -> Floats:
        level = score_level(len(pairs))
        shares = [
            binning.sum_into_bins(h, [levels[level]]) / self.total
            for h, levels in zip(self.histograms, self.levels, strict=True)
        ]
        independent = (np.multiply.outer(shares[a], shares[b]) * self.total for a, b in pairs)
        return np.array([distance_by_chance(each) / self.total for each in independent])

    @cached_property
    def sides(self) -> tuple[Side, ...]:
        """Every attribute at all resolutions, as one side of a table."""
        return self.sides_of_two_codes if self.rare else self._sides(rare=False)

    @cached_property
    def sides_of_two_codes(self) -> tuple[Side, ...]:
        """The same beside an attribute of two codes. Whatever such a pair says of the common codes of the
        other attribute, its rare ones say as much in the opposite direction, and bins that merge them may
        hide it."""
        return self._sides(rare=True)

    def has_two_codes(self, pair: Pair) -> bool:
        return any(self.histograms[axis].size == _TWO_CODES for axis in pair)

    def _sides_of(self, pair: Pair) -> tuple[Side, ...]:
        sides = self.sides_of_two_codes if self.has_two_codes(pair) else self.sides
        return tuple(sides[axis] for axis in pair)

    def _sides(self, *, rare: bool) -> tuple[Side, ...]:
        blur = _BLUR * self.strength**_BLUR_POWER
        return tuple(
            Side(
                sizes=tuple(
                    allocation.cells_by_octave(binning.sum_into_bins(h, [bins]))
                    for bins in levels
                ),
                lost=tuple(
                    (blur if ordered else 1.0)
                    * binning.merging_loss(h, bins, ordered=ordered, rare=rare)
                    for bins in levels
                ),
            )
            for h, levels, ordered in zip(
                self.histograms, self.levels, self._ordered, strict=True
            )
        )

    @property
    def _ordered(self) -> list[bool]:
        return [is_merged_in_order(attribute) for attribute in self.domain.modelled]

    def choices(
        self,
        pairs: Sequence[Pair],
        distances: Floats,
        weights: Sequence[float],
        *,
        deviation: Callable[[tuple[int, ...]], float],
        power: float,
    ) -> list[Choice]:
        """Return which pairs to measure, at which resolution, and with what share of the tables' budget.

        distances: see `distances`; deviation: the standard deviation of a cell's noise, by the shape of a
        table, if the whole budget were spent on it; power: see `AutoPlan`."""
        resolutions = [self._resolutions(pair) for pair in pairs]
        wishes = [
            TableOption(
                number=number,
                distance=float(distances[number]),
                weight=weights[number],
                sides=self._sides_of(pair),
                levels=resolutions[number],
                deviations=tuple(
                    deviation(self.shape(pair, levels)) for levels in resolutions[number]
                ),
            )
            for number, pair in enumerate(pairs)
            if weights[number] > 0 and resolutions[number]
        ]
        return allocation.allocate(wishes, rows=self.total, power=power, learnt=_UNASKED)

    def largest_distance(self, axis: int) -> float:
        """Return the largest L1 distance from independence that a pair with this column can have, as a share
        of the largest one of all pairs: the chance that two records differ in the column."""
        shares = self.histograms[axis] / self.total
        return max(1 - float(shares @ shares), _MIN_DIFFERING)

    def error_of_columns(
        self, pairs: Sequence[Pair], weights: Sequence[float], deviations: Floats
    ) -> float:
        """Predict the error of all pairs, in records, from this noise of their columns alone."""
        matter = np.zeros(len(self.histograms))
        for pair, weight in zip(pairs, weights, strict=True):
            matter[list(pair)] += weight
        errors = [
            allocation.histogram_error(histogram, deviation)
            for histogram, deviation in zip(self.histograms, deviations, strict=True)
        ]
        return float(matter @ errors)

    def shape(self, axes: Sequence[int], levels: Sequence[int]) -> tuple[int, ...]:
        return tuple(
            self.numbers_of_bins[axis][level] for axis, level in zip(axes, levels, strict=True)
        )

    @cached_property
    def numbers_of_bins(self) -> list[list[int]]:
        """How many bins each attribute has at every resolution."""
        return [[int(bins.max()) + 1 for bins in levels] for levels in self.levels]

    def _resolutions(self, pair: Pair) -> tuple[tuple[int, ...], ...]:
        resolutions = []
        for level in range(len(binning.LEVELS)):
            shape = self.shape(pair, (level, level))
            if min(shape) > 1 and math.prod(shape) <= CELLS_MEASURED:
                resolutions.append((level, level))
        return tuple(resolutions)

    def levels_of(self, measurement: Measurement, axes: Sequence[int]) -> tuple[int, ...]:
        """Return the resolutions at which a table was measured, by its shape. Errors: ValueError for another
        shape."""
        return tuple(
            self.numbers_of_bins[axis].index(size)
            for axis, size in zip(axes, measurement.values.shape, strict=True)
        )


def _histograms(
    domain: Domain, answers: Sequence[Measurement]
) -> tuple[int, tuple[Floats, ...]]:
    """Return the number of records, public or noisy, and the denoised histogram of each column."""
    rows = domain.rows if domain.rows is not None else oneway.estimate_rows(answers)
    histograms = tuple(
        oneway.denoise(
            answer.values,
            noise=answer.noise,
            total=max(1, rows),
            along=attribute.value_count,
        )
        for attribute, answer in zip(domain.modelled, answers, strict=True)
    )
    return rows, histograms


def score_level(pairs: int) -> int:
    """Return the resolution for scores: coarser where there are very many pairs, whose references are in
    memory together."""
    finest = SCORED
    while (
        finest + 1 < len(binning.LEVELS) and pairs * binning.LEVELS[finest] ** 2 > CELLS_SCORED
    ):
        finest += 1
    return finest


def distance_by_chance(expected: Floats) -> float:
    """Return about how far records that follow these expected counts are from them by chance, in L1, in
    records."""
    return float(np.minimum(2 * expected, np.sqrt(2 / math.pi * expected)).sum())


def refined_histograms(
    columns: Columns,
    oneways: Sequence[Measurement],
    tables: Sequence[TableAnswer],
    again: Sequence[Measurement] = (),
) -> tuple[int, tuple[Floats, ...]]:
    """Estimate the number of records and all histograms again, from every answer that says something of them:
    one-way tables, those asked `again`, and the sums of other tables, by generalised least squares and then
    denoised as before. Interactions say nothing of either."""
    tables = [table for table in tables if not table[1].interaction]
    rows = columns.domain.rows
    if rows is None:
        rows = oneway.estimate_rows([*oneways, *again, *(m for _, m, _ in tables)])
    laplace = any(answer.noise.law == "discrete-laplace" for answer in [*oneways, *again])
    histograms = []
    for axis, attribute in enumerate(columns.domain.modelled):
        values, deviation = combined_column(columns, axis, [*oneways, *again], tables)
        # Bins of several codes stand in no order that smoothing could use.
        along = attribute.value_count if values.size == attribute.size else 0
        total = max(1, rows)
        values = (
            oneway.smoothed(values, sigma=deviation, total=total, along=along)
            if laplace
            else oneway.mean_of_readings(
                values,
                sigma=deviation,
                total=total,
                along=along,
                curve=is_merged_in_order(attribute),
            )
        )
        histograms.append(_spread(values, columns.levels[axis][0], columns.histograms[axis]))
    return rows, tuple(histograms)


def combined_column(
    columns: Columns,
    axis: int,
    oneways: Sequence[Measurement],
    tables: Sequence[TableAnswer],
) -> tuple[Floats, float]:
    """Return the counts of the finest bins of one column, estimated from all answers that say something of
    them, and the standard deviation of their noise."""
    parts = []
    for pair, answer, levels in tables:
        if axis in pair and not answer.interaction:
            at = pair.index(axis)
            others = tuple(k for k in range(answer.values.ndim) if k != at)
            cells = answer.values.size // answer.values.shape[at]
            sums = answer.values.sum(axis=others).astype(np.float64)
            parts.append(
                (columns.levels[axis][levels[at]], sums, answer.noise.variance * cells)
            )
    name = columns.domain.names[axis]
    alone = [answer for answer in oneways if answer.clique == (name,)]
    return _combine(alone, columns.levels[axis][0], parts)


def _combine(
    alone: Sequence[Measurement], finest: Bins, parts: Sequence[tuple[Bins, Floats, float]]
) -> tuple[Floats, float]:
    """Return counts of the finest bins by generalised least squares, and the standard deviation of their
    noise."""
    size = int(finest.max()) + 1
    codes = np.bincount(finest, minlength=size)
    precision, weighted_sums = np.zeros((size, size)), np.zeros(size)
    for own in alone:
        counts = np.bincount(finest, weights=own.values.astype(np.float64), minlength=size)
        precision += np.diag(1 / (codes * own.noise.variance))
        weighted_sums += counts / (codes * own.noise.variance)
    for bins, sums, variance in parts:
        coarse = binning.coarse_of_fine(finest, bins)
        # A sum over a bin measures all fine bins in it together.
        same = coarse[:, None] == coarse[None, :]
        precision += same / variance
        weighted_sums += sums[coarse] / variance
    covariance = np.linalg.inv(precision)
    values: Floats = (covariance @ weighted_sums).astype(np.float64)
    return values, math.sqrt(float(np.trace(covariance)) / size)


def _spread(counts: Floats, bins: Bins, within: Floats) -> Floats:
    """Divide the counts of bins among their codes in the proportions of an earlier histogram."""
    if counts.size == within.size:
        return counts
    of_bin, codes = np.bincount(bins, weights=within)[bins], np.bincount(bins)[bins]
    return counts[bins] * np.where(of_bin > 0, within / np.maximum(of_bin, 1e-12), 1 / codes)


def as_counts(
    columns: Columns,
    histograms: Sequence[Floats],
    answer: Measurement,
    pair: Pair,
    levels: tuple[int, ...],
) -> PairCounts:
    """Return the answer about a pair as counts. The sums of the histograms are added to an interaction, and
    noise outside of the space of interactions is projected away, which makes the variance of a cell
    smaller."""
    if not answer.interaction:
        return around(np.zeros(answer.values.shape), answer, levels)
    sums = [
        binning.sum_into_bins(histograms[axis], [columns.levels[axis][at]])
        for axis, at in zip(pair, levels, strict=True)
    ]
    independent = np.add.outer(
        *(row / other.size for row, other in zip(sums, reversed(sums), strict=True))
    )
    return around(independent - float(sums[0].sum()) / independent.size, answer, levels)


def around(expected: Floats, answer: Measurement, levels: tuple[int, ...]) -> PairCounts:
    """Return the answer as counts. To an interaction, the counts that are expected without one are added, and
    noise outside of the space of interactions is projected away, which makes the variance of a cell
    smaller."""
    law: shrinkage.Law = "laplace" if answer.noise.law == "discrete-laplace" else "gaussian"
    values = answer.values.astype(np.float64)
    variance = answer.noise.variance
    if answer.interaction:
        # Noise outside the space of interactions carries no information and is projected
        # away.
        values = expected + interaction_part(values / values.size - expected)
        variance = variance / values.size**2 * interacting(values.shape)
    return PairCounts(values=values, variance=variance, law=law, levels=levels)


def interaction_part(table: Floats) -> Floats:
    """Project a table onto those whose sums along every axis are zero."""
    part = table.copy()
    for axis in range(part.ndim):
        part -= part.mean(axis=axis, keepdims=True)
    return part


def combined(tables: Sequence[PairCounts]) -> PairCounts:
    """Combine several measurements of one table by inverse variance."""
    if len(tables) == 1:
        return tables[0]
    precisions = [1 / table.variance for table in tables]
    weighted = [table.values * p for table, p in zip(tables, precisions, strict=True)]
    return replace(
        tables[0],
        values=np.sum(weighted, axis=0) / sum(precisions),
        variance=1 / sum(precisions),
    )


def interacting(shape: Sequence[int]) -> float:
    """Return the share of a table's degrees of freedom that belong to its interaction."""
    return math.prod(1 - 1 / size for size in shape)
