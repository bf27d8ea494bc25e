"""Distances against their definitions."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from synth_engine.evaluation import distances

COUNTS = arrays(np.int64, (5, 3), elements=st.integers(0, 50))


def test_shares_add_up_to_one_and_count_negative_noise_as_zero() -> None:
    assert distances.shares(np.array([3, -2, 1])).tolist() == [0.75, 0.0, 0.25]
    assert distances.shares(np.array([0, -2])).tolist() == [0.0, 0.0]


def test_total_variation_is_the_share_that_would_have_to_move() -> None:
    assert distances.total_variation(
        np.array([0.5, 0.5, 0.0]), np.array([0.2, 0.5, 0.3])
    ) == pytest.approx(0.3)
    assert distances.total_variation(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 1.0


def test_an_empty_table_is_at_distance_one_from_any_other_and_at_zero_from_an_empty_one() -> (
    None
):
    empty, full = np.zeros(2), np.array([0.5, 0.5])
    assert (
        distances.total_variation(empty, full) == distances.total_variation(full, empty) == 1.0
    )
    assert distances.total_variation(empty, empty) == 0.0


@given(COUNTS, COUNTS)
def test_total_variation_is_symmetric_and_between_zero_and_one(
    a: np.ndarray, b: np.ndarray
) -> None:
    p, q = distances.shares(a), distances.shares(b)
    value = distances.total_variation(p, q)
    assert 0.0 <= value <= 1.0 + 1e-12
    assert value == distances.total_variation(q, p)


@given(COUNTS)
def test_mutual_information_agrees_with_its_definition(counts: np.ndarray) -> None:
    p = counts / max(1, counts.sum())
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    information = sum(
        p[i, j] * math.log(p[i, j] / (rows[i] * columns[j]))
        for i in range(5)
        for j in range(3)
        if p[i, j]
    )
    smaller = min(-sum(x * math.log(x) for x in side if x) for side in (rows, columns))
    expected = information / smaller if smaller > 1e-9 else 0.0
    assert distances.normalised_mutual_information(counts) == pytest.approx(expected, abs=1e-9)


def test_mutual_information_is_zero_without_dependence_and_one_where_a_column_determines_another() -> (
    None
):
    assert distances.normalised_mutual_information(
        np.outer([1, 2, 3], [4, 5])
    ) == pytest.approx(0.0, abs=1e-12)
    assert distances.normalised_mutual_information(
        np.array([[3, 0], [2, 0], [0, 9]])
    ) == pytest.approx(1.0)
    assert distances.normalised_mutual_information(np.array([[3, 0], [2, 0]])) == 0.0


@pytest.mark.parametrize(
    ("cells", "n", "m"), [(2, 300, 500), (20, 5_000, 200), (2_000, 1_000, 1_000)]
)
def test_the_distance_by_chance_is_what_two_samples_of_one_population_show(
    cells: int, n: int, m: int
) -> None:
    rng = np.random.default_rng(5)
    population = rng.dirichlet(np.ones(cells))
    seen, expected = [], []
    for _ in range(400):
        a, b = rng.multinomial(n, population), rng.multinomial(m, population)
        seen.append(distances.total_variation(a / n, b / m))
        expected.append(distances.chance_distance(a, b))
    assert np.mean(expected) == pytest.approx(np.mean(seen), rel=0.05)


@pytest.mark.parametrize("counts", [((1, 0), (1, 1)), ((2, 0, 1), (0, 1, 0)), ((3, 1), (0, 2))])
def test_the_distance_by_chance_is_near_the_mean_over_all_ways_to_deal(
    counts: tuple[tuple[int, ...], ...],
) -> None:
    first, second = map(np.array, counts)
    records = np.repeat(np.arange(len(first)), first + second)
    n, m = first.sum(), second.sum()
    ways = []
    for dealt in combinations(range(n + m), n):
        a = np.bincount(records[list(dealt)], minlength=len(first))
        ways.append(distances.total_variation(a / n, (first + second - a) / m))
    assert distances.chance_distance(first, second) == pytest.approx(np.mean(ways), rel=0.15)


def test_nothing_is_by_chance_where_a_side_has_no_records() -> None:
    assert distances.chance_distance(np.zeros(2), np.ones(2)) == 0.0
