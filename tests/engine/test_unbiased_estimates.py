"""Unbiased estimates of counts: exact without noise, and with the variance that their own linear weights
have."""

from __future__ import annotations

import numpy as np
import pytest

from synth_engine.inference import unbiased
from synth_engine.inference.unbiased import UnbiasedTable
from synth_engine.measurement.paid_counts import PaidCounts

SIZES = {"a": 3, "b": 4, "c": 2}
BINS = {"a": np.array([0, 1, 1]), "b": np.array([0, 0, 1, 2]), "c": np.array([0, 1])}
RNG_SEED = 5


def truth() -> np.ndarray:
    return np.random.default_rng(RNG_SEED).integers(0, 50, tuple(SIZES.values()))


def counted(clique: str, *, binned: bool = False, interaction: bool = False) -> PaidCounts:
    """The exact counts of a clique of the table, or their contrast."""
    names = list(SIZES)
    counts = truth().sum(
        axis=tuple(axis for axis, name in enumerate(names) if name not in clique)
    )
    bins = [BINS[name] if binned else np.arange(SIZES[name]) for name in clique]
    for axis, by in enumerate(bins):
        counts = np.stack(
            [
                counts.take(np.flatnonzero(by == bin), axis=axis).sum(axis=axis)
                for bin in range(by.max() + 1)
            ],
            axis=axis,
        )
    if interaction:
        for axis, size in enumerate(counts.shape):
            counts = size * counts - counts.sum(axis=axis, keepdims=True)
    return PaidCounts(
        clique=tuple(clique),
        values=counts,
        bins=tuple(bins),
        variance=float(7 + len(clique) + 3 * binned),
        law="rounded-gaussian",
        interaction=interaction,
    )


ASKED = {
    "columns": [counted("a"), counted("b"), counted("c")],
    "pairs": [counted("a"), counted("ab"), counted("bc"), counted("abc")],
    "interactions": [
        counted("a"),
        counted("b"),
        counted("c"),
        counted("ab", interaction=True),
        counted("ab", interaction=True),
        counted("bc", interaction=True),
    ],
    "bins": [
        counted("a"),
        counted("b"),
        counted("ab", binned=True),
        counted("ab", binned=True, interaction=True),
        counted("ba"[::-1]),
    ],
    "coarse": [counted("a"), counted("b"), counted("ab", binned=True, interaction=True)],
    "three": [
        counted("a"),
        counted("b"),
        counted("c"),
        counted("ab", interaction=True),
        counted("ac", interaction=True),
        counted("bc", interaction=True),
        counted("abc", interaction=True),
    ],
}


def groups_of(clique: str) -> list[np.ndarray]:
    """Every code, the first two together, and all of them."""
    return [
        np.vstack(
            [np.eye(SIZES[name]), np.arange(SIZES[name]) < 2, np.ones(SIZES[name])]
        ).astype(np.bool_)
        for name in clique
    ]


def estimated(
    tables: list[PaidCounts], clique: str, total: float | None = None
) -> UnbiasedTable:
    return unbiased.estimate(tables, tuple(clique), groups_of(clique), total=total)


def exact(clique: str) -> np.ndarray:
    counts = counted(clique).values.astype(float)
    for vectors in groups_of(clique):
        counts = np.tensordot(counts, vectors.astype(float), axes=(0, 1))
    return counts


@pytest.mark.parametrize("clique", ["a", "ab", "bc", "abc"])
@pytest.mark.parametrize("asked", ASKED)
def test_without_noise_every_measured_cell_is_exact(asked: str, clique: str) -> None:
    found = estimated(ASKED[asked], clique)
    assert np.allclose(found.values[found.measured], exact(clique)[found.measured])
    assert np.isfinite(found.variances[found.measured]).all()


@pytest.mark.parametrize(
    ("asked", "clique", "cells"),
    [
        ("columns", "ab", 0),
        ("pairs", "ab", 30),
        ("interactions", "ab", 30),
        ("interactions", "abc", 0),
        ("bins", "ab", 30),
        # Of a: its first code, and all; of b: the last two, the first two, and all.
        ("coarse", "ab", 2 * 4),
        ("three", "abc", 120),
        ("pairs", "abc", 120),
    ],
)
def test_cells_are_measured_where_answers_count_them(
    asked: str, clique: str, cells: int
) -> None:
    assert int(estimated(ASKED[asked], clique).measured.sum()) == cells


@pytest.mark.parametrize("total", [None, float(truth().sum())])
@pytest.mark.parametrize("clique", ["a", "ab", "abc"])
@pytest.mark.parametrize("asked", ASKED)
def test_the_variance_is_that_of_the_weights_of_the_answers(
    asked: str, clique: str, total: float | None
) -> None:
    """The estimate is linear: moving one answer by one shows its weight, and the variance is the sum of their
    squares."""
    tables = ASKED[asked]
    before = estimated(tables, clique, total)
    variances = np.zeros(before.values.shape)
    for number, table in enumerate(tables):
        for cell in np.ndindex(table.values.shape):
            moved = table.values.copy()
            moved[cell] += 1
            changed = PaidCounts(
                clique=table.clique,
                values=moved,
                bins=table.bins,
                variance=table.variance,
                law=table.law,
                interaction=table.interaction,
            )
            after = estimated([*tables[:number], changed, *tables[number + 1 :]], clique, total)
            variances += table.variance * (after.values - before.values) ** 2
    measured = before.measured
    assert np.allclose(variances[measured], before.variances[measured])


def test_two_answers_are_better_than_the_better_one() -> None:
    one = estimated([counted("ab")], "ab")
    both = estimated([counted("ab"), counted("abc")], "ab")
    assert (both.variances <= one.variances + 1e-9).all()
    assert both.variances[0, 0] < one.variances[0, 0]


def test_the_number_of_records_is_estimated_too() -> None:
    found = unbiased.estimate(ASKED["columns"], (), ())
    assert found.values == pytest.approx(truth().sum())
    assert unbiased.estimate([], (), ()).measured.sum() == 0
    assert unbiased.estimate([], (), (), total=9.0).values == 9.0
