"""The equations of a fit over noisy sums: least squares from sums over pairs of columns, a logit from its
joint table.

Both solve U(b) = Σ f (y - m(b'f)) = 0 over records with features f, outcome y and coefficients b (`fits`).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synth_engine.errors import InputError
from synth_engine.evaluation.fit_columns import FitColumn
from synth_engine.evaluation.thousands import grouped
from synth_engine.inference.sums import NoisySums, Sums, Terms

MAX_CELLS = 5_000
"""Cells of the joint table of a logit."""
_STEPS = 40
_STEEPEST = 30.0
"""Log-odds beyond which a logit has no solution: a group of records with one outcome alone."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class FitDesign:
    """Columns as numbers, the outcome last, and sums over records of functions of them. Features are 1 and
    then the terms of all columns in order, K in all; the outcome is the last one."""

    columns: tuple[FitColumn, ...]
    sums: Sums

    @property
    def features(self) -> int:
        return 1 + sum(len(each.terms) for each in self.columns)

    @property
    def places(self) -> list[slice]:
        """Where the features of each column are."""
        ends = list(itertools.accumulate((len(each.terms) for each in self.columns), initial=1))
        return [slice(start, end) for start, end in itertools.pairwise(ends)]

    def quadratic(self, forms: Floats) -> Terms:
        """Sums over records of f'W f for symmetric W of shape (functions, K, K)."""
        terms: dict[tuple[str, ...], Floats] = {(): forms[:, 0, 0]}
        described = list(zip(self.columns, self.places, strict=True))
        for column, at in described:
            numbers = column.numbers
            squares = (numbers @ forms[:, at, at] * numbers).sum(axis=2)
            terms[(column.name,)] = 2 * forms[:, 0, at] @ numbers.T + squares
        for (one, at), (other, columns_at) in itertools.combinations(described, 2):
            terms[(one.name, other.name)] = (
                2 * one.numbers @ forms[:, at, columns_at] @ other.numbers.T
            )
        return terms


@dataclass(frozen=True, kw_only=True, eq=False)
class Solved:
    """Estimates of all coefficients. information: I of each, what tells it apart; noise: the covariance of
    (d'U, I) of each, shape (coefficients, 2, 2); sampling: the variance of d'U over samples."""

    estimates: Floats
    information: Floats
    noise: Floats
    sampling: Floats
    records: float


def least_squares(design: FitDesign) -> Solved:
    size = design.features
    rows, columns = np.triu_indices(size)
    forms = np.zeros((rows.size, size, size))
    forms[np.arange(rows.size), rows, columns] += 0.5
    forms[np.arange(rows.size), columns, rows] += 0.5
    moments = np.zeros((size, size))
    moments[rows, columns] = moments[columns, rows] = design.sums.estimate(
        design.quadratic(forms)
    ).values
    inverse = _inverse(moments[:-1, :-1])
    estimates = inverse @ moments[:-1, -1]
    # d'f and y - b'f as vectors over features.
    paths = np.column_stack([inverse / np.diag(inverse)[:, None], np.zeros(size - 1)])
    residual = np.append(-estimates, 1.0)
    scores = np.einsum("ka,b->kab", paths, residual)
    forms = np.concatenate(
        [
            (scores + scores.transpose(0, 2, 1)) / 2,
            np.einsum("ka,kb->kab", paths, paths),
        ]
    )
    noise = design.sums.estimate(design.quadratic(forms)).covariance
    freedom = moments[0, 0] - (size - 1)
    error = max(float(residual @ moments @ residual), 0.0) / max(freedom, 1.0)
    information = 1 / np.diag(inverse)
    return Solved(
        estimates=estimates,
        information=information,
        noise=_each(noise),
        sampling=error * information,
        records=float(moments[0, 0]),
    )


def _each(noise: Floats) -> Floats:
    """The covariance of score and information of each coefficient, from that of all scores and then all
    information."""
    size = len(noise) // 2
    places = np.column_stack([np.arange(size), size + np.arange(size)])
    picked: Floats = noise[places[:, :, None], places[:, None, :]]
    return picked


def logit(design: FitDesign) -> Solved:
    shape = tuple(each.size for each in design.columns)
    if math.prod(shape) > MAX_CELLS:
        raise InputError(
            f"the joint table has {grouped(math.prod(shape))} groups, and a logit is made of up to "
            f"{grouped(MAX_CELLS)}",
            repair="leave out a regressor",
        )
    clique = tuple(each.name for each in design.columns)
    cells = np.indices(shape).reshape(len(shape), -1)
    features = np.column_stack(
        [np.ones(cells.shape[1])]
        + [each.numbers[at] for each, at in zip(design.columns, cells, strict=True)]
    )
    features, outcome = features[:, :-1], features[:, -1]
    rows, columns = np.triu_indices(features.shape[1])
    products = (features[:, rows] * features[:, columns]).T

    def summed(functions: Floats) -> NoisySums:
        return design.sums.estimate({clique: functions.reshape(len(functions), *shape)})

    # Numbers of unlike sizes would make the first steps of Newton's method too long.
    estimates, scale = np.zeros(features.shape[1]), np.abs(features).max(axis=0)
    for _ in range(_STEPS):
        share = _expected(features, estimates)
        values = summed(
            np.concatenate([features.T * (outcome - share), products * share * (1 - share)])
        ).values
        score, hessian = values[: len(estimates)], np.zeros((len(estimates),) * 2)
        hessian[rows, columns] = hessian[columns, rows] = values[len(estimates) :]
        inverse = _inverse(hessian)
        step = inverse @ score
        estimates = estimates + step * min(
            1.0, 4.0 / max(float((np.abs(step) * scale).sum()), 1e-300)
        )
        if np.abs(step * scale).max() < 1e-9:
            break
    else:
        raise too_noisy()
    paths = features @ (inverse / np.diag(inverse)[None, :])
    both = np.concatenate(
        [(paths * (outcome - share)[:, None]).T, (paths**2 * (share * (1 - share))[:, None]).T]
    )
    information = 1 / np.diag(inverse)
    return Solved(
        estimates=estimates,
        information=information,
        noise=_each(summed(both).covariance),
        sampling=information,
        records=float(summed(np.ones((1, len(features)))).values[0]),
    )


def _expected(features: Floats, estimates: Floats) -> Floats:
    """The expected outcome of each cell. Errors: InputError where there is no solution."""
    odds = features @ estimates
    if np.abs(odds).max() > _STEEPEST:
        raise too_noisy()
    expected: Floats = 1 / (1 + np.exp(-odds))
    return expected


def _inverse(information: Floats) -> Floats:
    """Errors: InputError where noisy sums are no sums of squares of anything."""
    if not (np.diag(information) > 0).all():
        raise too_noisy()
    scale = np.sqrt(np.diag(information))
    scaled = information / np.outer(scale, scale)
    if np.linalg.eigvalsh(scaled).min() < 1e-9:
        raise too_noisy()
    inverse: Floats = np.linalg.inv(scaled) / np.outer(scale, scale)
    return inverse


def too_noisy(column: str | None = None) -> InputError:
    return InputError(
        "the noise of the answers is too large to tell what the columns of this fit add to each other",
        repair="leave out regressors, or take a release of a larger epsilon",
        column=column or None,
    )
