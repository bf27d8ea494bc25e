"""Estimates from noisy tables of any cliques, against dense least squares over all cells."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from synth_engine.inference import factors, residuals
from synth_engine.inference.factors import Floats, Noisy
from synth_engine.measurement import Clique

SIZES = {"a": 2, "b": 3, "c": 4}
NAMES = tuple(SIZES)
PAIRS = list(itertools.combinations(NAMES, 2))
ASKED: dict[str, list[tuple[Clique, float]]] = {
    "a triangle, one pair twice": [
        (("a", "b"), 4.0), (("c", "b"), 9.0), (("a", "b"), 1.0), (("c", "a"), 16.0), (("a",), 2.0),
    ],
    "everything and a pair": [(("b", "a", "c"), 5.0), (("b", "c"), 0.5)],
    "a chain": [(("a", "b"), 3.0), (("b", "c"), 7.0)],
}  # fmt: skip


def tables(asked: list[tuple[Clique, float]], *, seed: int) -> list[Noisy]:
    """Noisy tables of few records in many cells, so that many come out below zero."""
    rng = np.random.default_rng(seed)
    true = rng.poisson(6 * rng.random((2, 3, 4)) ** 4).astype(np.float64)
    found = []
    for clique, variance in asked:
        exact = factors.margin(true, NAMES, clique)
        values = exact + np.sqrt(variance) * rng.normal(size=exact.shape)
        found.append(Noisy(clique=clique, values=values, variance=variance))
    return found


def sums(clique: Clique) -> Floats:
    """The matrix that takes the table of all attributes to that of a clique."""
    whole = np.eye(24).reshape(2, 3, 4, 24)
    others = tuple(axis for axis, name in enumerate(NAMES) if name not in clique)
    kept = [name for name in NAMES if name in clique]
    summed = whole.sum(axis=others)
    order = [kept.index(name) for name in clique]
    return summed.transpose([*order, len(clique)]).reshape(-1, 24)


def dense(noisy: list[Noisy], *, total: float | None) -> tuple[Floats, Floats]:
    """Design and answers, each row divided by the standard deviation of its noise; a total that is known by a
    huge weight."""
    rows = [sums(table.clique) / np.sqrt(table.variance) for table in noisy]
    answers = [table.values.ravel() / np.sqrt(table.variance) for table in noisy]
    if total is not None:
        rows, answers = [*rows, np.full((1, 24), 1e5)], [*answers, np.array([total * 1e5])]
    return np.vstack(rows), np.concatenate(answers)


@pytest.mark.parametrize("asked", ASKED.values(), ids=list(ASKED))
@pytest.mark.parametrize("total", [None, 30.0])
def test_the_closed_form_is_weighted_least_squares(
    asked: list[tuple[Clique, float]], total: float | None
) -> None:
    noisy = tables(asked, seed=1)
    design, answers = dense(noisy, total=total)
    best = np.linalg.lstsq(design, answers, rcond=None)[0]
    wanted = [clique for clique, _ in asked]
    found = residuals.estimate(noisy, sizes=SIZES, wanted=wanted, total=total)
    for clique in wanted:
        assert np.allclose(
            found[clique].ravel(), sums(clique) @ best, atol=1e-8 if total is None else 1e-6
        )


def test_tables_agree_where_they_overlap_and_add_up_to_a_public_total() -> None:
    noisy = tables(ASKED["a triangle, one pair twice"], seed=5)
    estimated = residuals.estimate(noisy, sizes=SIZES, wanted=PAIRS, total=41.0)
    for first, second in itertools.combinations(PAIRS, 2):
        (shared,) = set(first) & set(second)
        one, other = (
            factors.margin(estimated[pair], pair, (shared,)) for pair in (first, second)
        )
        assert np.allclose(one, other, atol=1e-8)
        assert one.sum() == pytest.approx(41.0, abs=1e-8)


def test_precision_weighs_and_measuring_twice_halves_the_variance() -> None:
    known = residuals.Residuals(SIZES)
    known.add(Noisy(clique=("a",), values=np.array([10.0, 0.0]), variance=1.0))
    known.add(Noisy(clique=("a",), values=np.array([0.0, 10.0]), variance=4.0))
    assert np.allclose(known.table(("a",)), [8.0, 2.0])
    assert known.variance(("a",)) == pytest.approx(0.8)
    assert known.variance(("a", "b")) == float("inf")


def test_variances_are_those_of_repeated_measurements() -> None:
    rng = np.random.default_rng(6)
    asked = ASKED["a triangle, one pair twice"]
    estimates = []
    for _ in range(2_000):
        known = residuals.Residuals(SIZES)
        for clique, variance in asked:
            shape = tuple(SIZES[name] for name in clique)
            known.add(
                Noisy(
                    clique=clique,
                    values=np.sqrt(variance) * rng.normal(size=shape),
                    variance=variance,
                )
            )
        estimates.append(known.table(("b", "a")))
    assert known.variance(("b", "a")) == pytest.approx(
        float(np.var(estimates, axis=0).mean()), rel=0.05
    )


def test_what_nothing_was_measured_of_is_flat() -> None:
    values = np.array([6.0, 3.0, 3.0])
    noisy = Noisy(clique=("b",), values=values, variance=1.0)
    estimated = residuals.estimate([noisy], sizes=SIZES, wanted=[("a", "b")])
    assert np.allclose(estimated[("a", "b")], np.tile(values / 2, (2, 1)), atol=1e-6)
