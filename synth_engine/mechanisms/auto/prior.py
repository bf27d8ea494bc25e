"""What a public table of the same columns lets `auto` expect, and how far the noisy answers confirm it.

A public table is never believed by itself. What it says of a column or of a pair is one of two expectations;
how likely each makes the noisy answers decides how much it weighs, and how far true counts are from it is
learned from the answers about all columns, or all pairs, together. All of it is post-processing: no query
depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.inference import bins as binning
from synth_engine.inference import oneway, shrinkage
from synth_engine.inference.bins import Bins
from synth_engine.inference.shrinkage import KnownRatios
from synth_engine.inference.tables import fit_margins
from synth_engine.measurement import Measurement
from synth_engine.mechanisms.auto.denoising import FIT_ROUNDS, Fine, PairAnswers
from synth_engine.mechanisms.auto.selection import (
    Columns,
    Pair,
    TableAnswer,
    combined_column,
)
from synth_engine.models.model import generator
from synth_engine.references import PublicTable

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Predictions = Mapping[Pair, Floats]

_PSEUDO_RECORDS = 2.0 ** np.arange(-2, 15)
"""As how many records independence may count beside the public ones; the public table itself decides."""
_UNSEEN = 0.5
"""Records that a code is taken to have in the public table beside those that it has."""
_SCALES = (0.02, 0.04, 0.08, 0.16, 0.32)
"""Mean absolute logarithms of ratios, between which the likelihood of all noisy cells decides."""
_FAR = 1e-4
"""The least density of a ratio, against that of 1."""
_TRUSTED = 50.0
"""As how many cells of a table the ratios learned from all tables count."""
_WEIGHT_ROUNDS = 20
"""EM iterations of the share of public expectations that are right."""
_MOST_ODDS = 50.0
_THINNING = 0.5
"""Of the deviation of the noise, how much more noise the tables get by which the two expectations are
compared."""
_SEED = "auto/prior/1"


@dataclass(frozen=True, kw_only=True, eq=False)
class Prior:
    """The records of a public table as codes of the shared columns, shape (records,), by axis; -1 where a
    cell has none."""

    codes: Mapping[int, Codes]

    @classmethod
    def of(cls, table: PublicTable, domain: Domain) -> Prior:
        from synth_engine import codec

        codes = codec.encode_public(domain, table)
        axes = {name: axis for axis, name in enumerate(domain.names)}
        return cls(codes={axes[name]: column for name, column in codes.items()})

    def histogram(self, axis: int, *, size: int) -> Floats:
        """Shares of the codes, none of them 0."""
        codes = self.codes[axis]
        counts = np.bincount(codes[codes >= 0], minlength=size) + _UNSEEN
        shares: Floats = counts / counts.sum()
        return shares

    def table(self, pair: Pair, bins: Sequence[Bins]) -> Floats:
        """Shares of the cells of a pair by bins, between those of the public records and independence: a cell
        that is empty in a table of so few records need not be empty in another one."""
        height, width = (int(each.max()) + 1 for each in bins)
        first, second = (self.codes[axis] for axis in pair)
        both = (first >= 0) & (second >= 0)
        cells = bins[0][first[both]] * width + bins[1][second[both]]
        counts = np.bincount(cells, minlength=height * width).reshape(height, width)
        return _between_independence(counts.astype(np.float64))

    def histograms(
        self,
        columns: Columns,
        oneways: Sequence[Measurement],
        tables: Sequence[TableAnswer],
        own: Sequence[Floats],
    ) -> tuple[Floats, ...]:
        """All histograms; those of shared columns lie between what the answers alone say, `own`, and the
        public shares corrected by the answers, by how likely each makes the noisy counts. oneways, tables:
        the answers."""
        if not self.codes:
            return tuple(own)
        noisy = {axis: self._noisy(columns, oneways, tables, axis) for axis in self.codes}
        grid = shrinkage.FINE_GRID
        known = _ratios_of_all(noisy.values(), grid)
        weights = _weights(
            [
                cells.evidence(known, grid)
                - _evidence_alone(cells, along=columns.domain.modelled[axis].value_count)
                for axis, cells in noisy.items()
            ]
        ).weights
        mixed = list(own)
        for (axis, cells), weight in zip(noisy.items(), weights, strict=True):
            corrected = cells.corrected(known, grid)
            corrected *= own[axis].sum() / corrected.sum()
            mixed[axis] = weight * corrected + (1 - weight) * own[axis]
        return tuple(mixed)

    def _noisy(
        self,
        columns: Columns,
        oneways: Sequence[Measurement],
        tables: Sequence[TableAnswer],
        axis: int,
    ) -> _NoisyCells:
        alone = [answer for answer in oneways if answer.clique == (columns.domain.names[axis],)]
        law: shrinkage.Law = (
            "laplace" if alone[0].noise.law == "discrete-laplace" else "gaussian"
        )
        values, deviation = combined_column(columns, axis, oneways, tables)
        if values.size < columns.histograms[axis].size:
            # The finest bins hold several codes each, which single answers alone tell apart.
            precisions = np.array([1 / answer.noise.variance for answer in alone])
            stacked = np.stack([answer.values.astype(np.float64) for answer in alone])
            values = np.tensordot(precisions, stacked, axes=1) / precisions.sum()
            deviation = float(precisions.sum()) ** -0.5
        elif any(axis in pair and not answer.interaction for pair, answer, _ in tables):
            # A mean of sums of many noisy cells is close to normal.
            law = "gaussian"
        return _NoisyCells(
            values=values,
            expected=self.histogram(axis, size=values.size) * columns.total,
            variance=deviation**2,
            law=law,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicPairs:
    """The public tables of pairs beside noisy ones."""

    prior: Prior
    columns: Columns
    fine: Fine

    def mixed(
        self,
        predictions: Predictions,
        answers: PairAnswers,
        *,
        predict: Callable[[PairAnswers, Sequence[Pair]], Predictions],
    ) -> dict[Pair, Floats]:
        """Predictions of all pairs, those of shared columns between `predictions` and the public tables.
        predict: fits predictions to noisy tables.

        Predictions were fitted to the noisy tables, and so make them likelier than they are right. The two
        are therefore compared by other tables: predictions are fitted to the tables with more noise, and
        judged by tables whose noise is independent of that.
        """
        public = {pair: self._expected(pair) for pair in predictions if self._shared(pair)}
        asked = [pair for pair in public if pair in answers]
        if not asked:
            return dict(predictions)
        fitted, judging = _thinned(answers)
        rivals = predict(fitted, asked)
        by_public = {pair: self._cells(pair, public[pair], judging) for pair in asked}
        by_others = {pair: self._cells(pair, rivals[pair], judging) for pair in asked}
        grid = shrinkage.GRID
        known, known_of_others = (
            _ratios_of_all(cells.values(), grid) for cells in (by_public, by_others)
        )
        right = _weights(
            [
                by_public[pair].evidence(known, grid)
                - by_others[pair].evidence(known_of_others, grid)
                for pair in asked
            ]
        )
        weights = dict(zip(asked, right.weights.tolist(), strict=True))
        mixed = dict(predictions)
        for pair, expected in public.items():
            # What was not asked about is as right as what was.
            weight = weights.get(pair, right.share)
            logs = [
                np.log(np.maximum(t, shrinkage.MIN_EXPECTED)) for t in (expected, mixed[pair])
            ]
            mixed[pair] = fit_margins(
                np.exp(weight * logs[0] + (1 - weight) * logs[1]),
                self.fine.margins(pair),
                rounds=FIT_ROUNDS,
            )
        return mixed

    def _shared(self, pair: Pair) -> bool:
        return all(axis in self.prior.codes for axis in pair)

    def _expected(self, pair: Pair) -> Floats:
        """The public table with the estimated sums of its two columns."""
        table = self.prior.table(pair, [self.columns.levels[axis][0] for axis in pair])
        return fit_margins(table * self.fine.rows, self.fine.margins(pair), rounds=FIT_ROUNDS)

    def _cells(self, pair: Pair, prediction: Floats, answers: PairAnswers) -> _NoisyCells:
        answer = answers[pair]
        bins = [
            self.fine.levels[axis][level]
            for axis, level in zip(pair, answer.levels, strict=True)
        ]
        return _NoisyCells(
            values=answer.values,
            expected=binning.sum_into_bins(prediction, bins),
            variance=answer.variance,
            law=answer.law,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _NoisyCells:
    """Noisy counts, what is expected of them, and their noise."""

    values: Floats
    expected: Floats
    variance: float
    law: shrinkage.Law

    def evidence(self, known: KnownRatios, grid: Floats) -> float:
        return shrinkage.evidence(
            self.values,
            self.expected,
            variance=self.variance,
            law=self.law,
            grid=grid,
            prior=known.shares,
        )

    def corrected(self, known: KnownRatios, grid: Floats) -> Floats:
        read = shrinkage.estimate_ratios(
            self.values,
            self.expected,
            variance=self.variance,
            law=self.law,
            grid=grid,
            known=known,
        )
        return np.maximum(self.expected, shrinkage.MIN_EXPECTED) * read.ratios


@dataclass(frozen=True, kw_only=True, eq=False)
class _Weights:
    """The probability that each public expectation is the right one of two, and the share of those that
    are."""

    weights: Floats
    share: float


def _weights(evidence: Sequence[float]) -> _Weights:
    """evidence: the logarithm of each likelihood ratio. Empirical Bayes: the share of right ones is learned
    from all."""
    logs, share = np.array(evidence), 0.5
    weights = np.full(logs.shape, share)
    for _ in range(_WEIGHT_ROUNDS):
        odds = (logs + math.log(share / (1 - share))).clip(-_MOST_ODDS, _MOST_ODDS)
        weights = 1 / (1 + np.exp(-odds))
        # One right and one wrong pseudo-expectation keep both possible.
        share = float((weights.sum() + 1) / (weights.size + 2))
    return _Weights(weights=weights, share=share)


def _between_independence(counts: Floats) -> Floats:
    """The mean of a Dirichlet distribution around independence, after these counts; its weight is the one by
    which the table predicts each of its records from all others best."""
    total = float(counts.sum())
    if total < 2:
        return np.full(counts.shape, 1 / counts.size)
    sides = (counts.sum(axis=1) + _UNSEEN, counts.sum(axis=0) + _UNSEEN)
    independent = np.multiply.outer(*(side / side.sum() for side in sides))
    seen = counts > 0
    others, chance = counts[seen] - 1, independent[seen]
    likelihoods = [
        float(counts[seen] @ np.log((others + pseudo * chance) / (total - 1 + pseudo)))
        for pseudo in _PSEUDO_RECORDS
    ]
    pseudo = float(_PSEUDO_RECORDS[int(np.argmax(likelihoods))])
    shares: Floats = (counts + pseudo * independent) / (total + pseudo)
    return shares


def _ratios_of_all(tables: Iterable[_NoisyCells], grid: Floats) -> KnownRatios:
    """How far cells are from their expectation, learned from many tables together."""
    tables = list(tables)
    # In units of the deviation of its noise every cell has noise of one kind.
    values, expected = (
        np.concatenate([part.ravel() / math.sqrt(t.variance) for t, part in parts])
        for parts in (
            [(t, t.values) for t in tables],
            [(t, t.expected) for t in tables],
        )
    )
    shares = shrinkage.likeliest_ratios(
        values,
        expected,
        variance=1.0,
        law=tables[0].law,
        grid=grid,
        others=[_around_one(grid, scale) for scale in _SCALES],
    )
    return KnownRatios(shares=shares, cells=_TRUSTED)


def _around_one(grid: Floats, scale: float) -> Floats:
    shares: Floats = np.exp(-np.abs(np.log(grid)) / scale) + _FAR
    shares /= shares.sum()
    return shares


def _evidence_alone(cells: _NoisyCells, *, along: int) -> float:
    """The logarithm of the likelihood of a noisy histogram by itself: of deviations from equal counts or, in
    order, of wavelet coefficients, whichever is likelier; on the scale of `shrinkage.evidence`."""
    sigma = math.sqrt(cells.variance)
    level = float(cells.values.mean())
    best = oneway.posterior_mean(cells.values - level, sigma=sigma)[1]
    if along >= oneway.MIN_LENGTH_TO_SMOOTH:
        smooth = oneway.shrink_likelihood(cells.values[:along], sigma=sigma)
        if along < cells.values.size:
            smooth += oneway.posterior_mean(cells.values[along:], sigma=sigma)[1]
        best = max(best, smooth)
    return best + cells.values.size * math.log(sigma)


def _thinned(answers: PairAnswers) -> tuple[PairAnswers, PairAnswers]:
    """Each table with more noise, and again with that noise taken off so that the noise of the two is
    uncorrelated (and independent, if it is Gaussian): y + t·w and y - w/t, where w has the variance of the
    noise of y."""
    # A public seed: the same answers always give the same model.
    rng = generator(_SEED, purpose=("thinning",))
    fitted, judging = {}, {}
    for pair, answer in sorted(answers.items()):
        extra = rng.normal(0.0, math.sqrt(answer.variance), answer.values.shape)
        fitted[pair] = replace(
            answer,
            values=answer.values + _THINNING * extra,
            variance=answer.variance * (1 + _THINNING**2),
        )
        judging[pair] = replace(
            answer,
            values=answer.values - extra / _THINNING,
            variance=answer.variance * (1 + _THINNING**-2),
            law="gaussian",
        )
    return fitted, judging
