"""From a noisy one-way table to a plausible one: less noise, nothing negative, the right total.

All of it is post-processing: it sees noisy values, the public noise scale and a noisy total.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synth_engine.inference import (
    count_shrinkage,
    heaping,
    share_kernels,
    smooth_density,
    stein,
)
from synth_engine.measurement import Counts, Measurement, Noise

Floats = npt.NDArray[np.float64]

MIN_LENGTH_TO_SMOOTH = 8
"""Codes in order below which wavelets have too few levels to learn anything from."""
MAX_RECORDS = 10**9
"""A noisy number of records is not taken for more: nothing larger is drawn, and what is made of it must not
fail."""
_MOST_READ = 4_096
"""Codes of a column beyond which it is read along its order alone."""
_PROBES, _SEED = 4, 0
"""Number of times that a little noise is added to see how two readings follow it, and the seed of that
noise."""
_USUAL_BY_SIZE, _USUAL_BY_COMB, _USUAL_BY_CURVE = 0.2, 0.7, 0.5
"""Weight of the reading by how large counts are, of that by round numbers, and of that as a curve, before
anything is known of a column."""
_ROUNDS = 30
"""EM iterations."""
_MANY = 1 << 17
"""Observations beyond which magnitudes are counted on a grid. Columns of up to 2^16 codes, mirrored, have no
more."""
_MAGNITUDES = 4_096
"""Steps of that grid, even on a logarithmic scale: below a hundredth of sigma near zero."""
_SPREADS = 2.0 ** np.arange(-1, 12)
_ONE_ZERO = np.eye(1, _SPREADS.size + 1)[0]
"""One observation in favour of a true zero, which steadies short sequences."""
_ROOT3 = math.sqrt(3)
_FILTERS: tuple[Floats, ...] = (
    np.array([1.0, 1.0]) / math.sqrt(2),
    np.array([1 + _ROOT3, 3 + _ROOT3, 3 - _ROOT3, 1 - _ROOT3]) / (4 * math.sqrt(2)),
    np.array(
        [
            -0.07576571478927333,
            -0.02963552764599851,
            0.49761866763201545,
            0.8037387518059161,
            0.29785779560527736,
            -0.09921954357684722,
            -0.012603967262037833,
            0.0322231006040427,
        ]
    ),
)
"""Haar's, of two vanishing moments, and the least asymmetric of four."""


def denoise(values: Counts, *, noise: Noise, total: int, along: int) -> Floats:
    """Counts that are not negative and add up to `total`; shape (codes,), as `values`.

    The first `along` codes stand for values or bins in their public order (what follows are "other" and
    missing). Whether neighbouring codes are alike is not assumed but learned, level by level, from the noisy
    counts themselves; where they are not, the shrinkage leaves them as they are. Bins and later questions
    follow from these counts, so that stored answers fit their plans.
    """
    sigma = math.sqrt(noise.variance)
    return smoothed(values.astype(np.float64), sigma=sigma, total=total, along=along)


def smoothed(values: Floats, *, sigma: float, total: int, along: int) -> Floats:
    """Return counts that are not negative and add up to `total`, read along their order alone."""
    if total <= 0:
        return np.zeros(values.shape)
    if along >= MIN_LENGTH_TO_SMOOTH:
        values = np.concatenate([shrink(values[:along], sigma=sigma), values[along:]])
    return project_to_simplex(values, total=float(total))


def mean_of_readings(
    values: Floats, *, sigma: float, total: int, along: int, curve: bool = False
) -> Floats:
    """Return the mean of up to four readings of a column with Gaussian noise: along its order, by how large
    counts are, with the codes of round numbers and all others each along their order (`heaping`) where these
    stand out, and, with `curve`, as a smooth curve of logarithms (`smooth_density`) if it is one. None is
    better for every column; how much each counts is estimated from the noisy values (`stein`)."""

    @_remembered
    def by_order(of: Floats) -> Floats:
        return smoothed(of, sigma=sigma, total=total, along=along)

    if total <= 0 or values.size > _MOST_READ:
        return by_order(values)

    @_remembered
    def by_size(of: Floats) -> Floats:
        return count_shrinkage.shrink_to_total(of, sigma=sigma, total=float(total))

    reading = _mean(values, by_order, by_size, sigma=sigma, usual=_USUAL_BY_SIZE)
    comb = heaping.find(values[:along], sigma=sigma)
    if comb is not None:
        by_comb = _by_comb(comb, sigma=sigma, total=total, along=along)
        reading = _mean(values, reading.of, by_comb, sigma=sigma, usual=_USUAL_BY_COMB)
    if not curve or along < MIN_LENGTH_TO_SMOOTH:
        return reading.of(values)
    fitted = smooth_density.read(values[:along], sigma=sigma, total=float(total))
    if fitted is None:
        return reading.of(values)

    @_remembered
    def by_curve(of: Floats) -> Floats:
        again = smooth_density.read(
            of[:along], sigma=sigma, total=float(total), precision=fitted.precision
        )
        known = of[:along] if again is None else again.counts
        return project_to_simplex(np.concatenate([known, of[along:]]), total=float(total))

    return _mean(values, reading.of, by_curve, sigma=sigma, usual=_USUAL_BY_CURVE).of(values)


def _by_comb(
    comb: heaping.Comb, *, sigma: float, total: int, along: int
) -> Callable[[Floats], Floats]:
    """Return the reading of a column whose codes in a comb and whose others are smooth, each by
    themselves."""
    chosen = comb.among(along)

    @_remembered
    def by_comb(of: Floats) -> Floats:
        known = of.copy()
        for part in (np.flatnonzero(chosen), np.flatnonzero(~chosen)):
            if part.size >= MIN_LENGTH_TO_SMOOTH:
                known[part] = shrink(of[part], sigma=sigma)
        return project_to_simplex(known, total=float(total))

    return by_comb


@dataclass(frozen=True, kw_only=True, eq=False)
class _MeanReading:
    """The mean of two readings, with a weight that was estimated from the column's own values."""

    first: Callable[[Floats], Floats]
    second: Callable[[Floats], Floats]
    weight: float

    def of(self, values: Floats) -> Floats:
        first = self.first(values)
        return first + self.weight * (self.second(values) - first)


def _mean(
    values: Floats,
    first: Callable[[Floats], Floats],
    second: Callable[[Floats], Floats],
    *,
    sigma: float,
    usual: float,
) -> _MeanReading:
    """usual: the weight of the second reading before anything is known of a column."""
    # A public seed: the same values always give the same counts.
    rng = np.random.default_rng(_SEED)
    weight = stein.weight_of_second(
        values,
        (first(values), second(values)),
        difference=lambda of: second(of) - first(of),
        deviation=sigma,
        directions=list(rng.standard_normal((_PROBES, values.size))),
        usual=usual,
    )
    return _MeanReading(first=first, second=second, weight=weight)


def _remembered(reading: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    """Return a reading that reads the same values once. Both means add the same noise to a column, because
    their seed is the same."""
    known: dict[bytes, Floats] = {}

    def of(values: Floats) -> Floats:
        key = values.tobytes()
        if key not in known:
            known[key] = reading(values)
        return known[key]

    return of


def project_to_simplex(values: Floats, *, total: float) -> Floats:
    """The nearest point (least squares) among those that are not negative and add up to `total`.

    Subtracts one threshold from all cells and cuts at zero (Duchi et al. 2008).
    """
    flat = np.sort(values, axis=None)[::-1]
    excess = np.cumsum(flat) - total
    active = np.flatnonzero(flat - excess / np.arange(1, flat.size + 1) > 0)
    last = int(active[-1]) if active.size else 0
    projected: Floats = np.maximum(values - excess[last] / (last + 1), 0.0)
    return projected


def project_rows_to_simplex(values: Floats, *, totals: Floats) -> Floats:
    """The same for each row by itself, bit for bit; zeros where a total is not positive.

    values: shape (rows, cells). totals: shape (rows,)."""
    rows, cells = values.shape
    flat = np.sort(values, axis=1)[:, ::-1]
    excess = np.cumsum(flat, axis=1) - totals[:, None]
    active = flat - excess / np.arange(1, cells + 1) > 0
    last = np.where(active.any(axis=1), cells - 1 - np.argmax(active[:, ::-1], axis=1), 0)
    thresholds = excess[np.arange(rows), last] / (last + 1)
    projected: Floats = np.maximum(values - thresholds[:, None], 0.0)
    return np.where(totals[:, None] > 0, projected, 0.0)


def shrink(values: Floats, *, sigma: float) -> Floats:
    """Translation-invariant wavelets with empirical-Bayes shrinkage at a known noise level.

    The transform runs over the sequence followed by its mirror image, so that the ends do not meet (Coifman
    and Donoho 1995). Every coefficient carries noise of standard deviation sigma, at every level. Haar's
    filter suits steps and peaks, longer ones (Daubechies 1988) what is smooth: which does is told by the
    likelihood of the noisy coefficients, and the answers of several that do about as well are averaged by it.
    """
    estimates = [
        _shrink_with_filter(values, sigma=sigma, filter_=estimate) for estimate in _FILTERS
    ]
    likelihoods = np.array([likelihood for _, likelihood in estimates])
    weights = np.exp(likelihoods - likelihoods.max())
    weights /= weights.sum()
    averaged: Floats = sum(
        (weight * estimate for weight, (estimate, _) in zip(weights, estimates, strict=True)),
        np.zeros(values.size),
    )
    return averaged


def shrink_likelihood(values: Floats, *, sigma: float) -> float:
    """The logarithm of the likelihood of noisy values in order, less a constant, by the filter that suits
    them best."""
    return max(
        _shrink_with_filter(values, sigma=sigma, filter_=filter_)[1] for filter_ in _FILTERS
    )


def _shrink_with_filter(
    values: Floats, *, sigma: float, filter_: Floats
) -> tuple[Floats, float]:
    """By one filter, and the logarithm of the likelihood. Of a transform of 2^j shifts that is the mean over
    them."""
    high = filter_[::-1] * (-1.0) ** np.arange(filter_.size)
    longer = filter_.size > _FILTERS[0].size  # they reach over the ends sooner
    levels = int(math.log2(values.size)) - longer
    # Mirrored, so that the first and the last code are not treated as neighbours.
    smooth = np.concatenate([values, values[::-1]])
    details = []
    for level in range(levels):
        smoother, detail = np.empty_like(smooth), np.empty_like(smooth)
        share_kernels.divide(smooth, filter_, high, 1 << level, smoother, detail)
        details.append(detail)
        smooth = smoother
    total = 0.0
    for level in reversed(range(levels)):
        detail, likelihood = posterior_mean(details[level], sigma=sigma)
        # The transform is redundant: at this level it has 2^(level + 1) times as many
        # coefficients as an orthogonal one.
        total += likelihood / (2 << level)
        back = np.empty_like(smooth)
        share_kernels.join(smooth, detail, filter_, high, 1 << level, back)
        smooth = back
    return smooth[: values.size], total


def posterior_mean(coefficients: Floats, *, sigma: float) -> tuple[Floats, float]:
    """Of the means behind normal observations, under a prior fitted to them: a mixture of a point mass at
    zero and normals of increasing spread, by expectation maximisation (Stephens 2017). Last, the logarithm of
    the likelihood of the observations, less a constant."""
    if coefficients.size > _MANY:
        return _posterior_mean_of_many(coefficients, sigma=sigma)
    shrinkage, evidence = _shrinkage(coefficients, np.ones(coefficients.size), sigma=sigma)
    estimate: Floats = coefficients * shrinkage
    return estimate, evidence


def _posterior_mean_of_many(coefficients: Floats, *, sigma: float) -> tuple[Floats, float]:
    """The same for so many observations that each cannot have a likelihood of its own. The likelihood is that
    of magnitudes on a grid, of which each observation counts for the two nearest; between them the posterior
    mean is interpolated."""
    scaled = np.log1p(np.abs(coefficients) / sigma)
    step = max(float(scaled.max()), 1.0) / _MAGNITUDES
    scaled /= step
    below = np.minimum(scaled.astype(np.int64), _MAGNITUDES - 1)
    beyond = scaled - below
    nodes = _MAGNITUDES + 1
    counts = np.zeros(nodes)
    counts += np.bincount(below, 1 - beyond, minlength=nodes)
    counts += np.bincount(below + 1, beyond, minlength=nodes)
    magnitudes = sigma * np.expm1(np.arange(nodes) * step)
    shrinkage, evidence = _shrinkage(magnitudes, counts, sigma=sigma)
    estimate: Floats = coefficients * (shrinkage[below] + beyond * np.diff(shrinkage)[below])
    return estimate, evidence


def _shrinkage(observations: Floats, counts: Floats, *, sigma: float) -> tuple[Floats, float]:
    """By which factor the posterior mean shrinks each observation, shape (observations,), and the logarithm
    of the likelihood, less a constant. counts: as how many observations each of them counts."""
    prior = np.concatenate([[0.0], (sigma * _SPREADS) ** 2])[:, None]
    variances = prior + sigma**2
    logs = -0.5 * observations**2 / variances - 0.5 * np.log(variances)
    largest = logs.max(axis=0)
    likelihood = np.exp(logs - largest)
    weights = share_kernels.fit_shares(
        likelihood, counts, np.full(prior.size, 1 / prior.size), _ONE_ZERO, _ROUNDS
    )
    share = likelihood * weights[:, None]
    evidence = share.sum(axis=0)
    shrinkage: Floats = (share * (prior / variances)).sum(axis=0) / evidence
    return shrinkage, float((counts * (np.log(evidence) + largest)).sum())


def estimate_rows(measurements: Sequence[Measurement]) -> int:
    """The mean of noisy totals weighted by their precision, not below 0 and not above what can be drawn."""
    precision = np.array([1 / (m.values.size * m.noise.variance) for m in measurements])
    totals = np.array([float(m.values.sum()) for m in measurements])
    return clip_rows(round(float(precision @ totals / precision.sum())))


def clip_rows(records: int) -> int:
    """The nearest number that a table can have."""
    return min(max(0, records), MAX_RECORDS)
