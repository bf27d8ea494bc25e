"""The compiled loops that fit a mixture give the slopes of the loss, checked against arrays and against small
differences."""

import numpy as np
import numpy.typing as npt
import pytest

from synth_engine.inference import mixture_kernels as kernels
from synth_engine.inference.mixture_kernels import COMPONENTS, WantedTables

Singles = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.float32] | npt.NDArray[np.float64]
SIZES = (3, 9, 2)
STARTS = (0, 3, 12)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def of_shares(rng: np.random.Generator, rows: int) -> Singles:
    return rng.random((rows, COMPONENTS)).astype(np.float32)


def tables(rng: np.random.Generator) -> WantedTables:
    """Of the first and the second view, the third and the second, and the third and the first."""
    sides, cell = [], 0
    for left, right in ((0, 1), (2, 1), (2, 0)):
        sides.append((STARTS[left], STARTS[right], SIZES[left], SIZES[right], cell))
        cell += SIZES[left] * SIZES[right]
    return WantedTables(
        sides=np.array(sides, dtype=np.int64),
        wanted=rng.random(cell).astype(np.float32),
        weight=rng.random(cell).astype(np.float32),
    )


def loss(wanted: WantedTables, seen: Numbers, shares: Numbers) -> float:
    total = 0.0
    for left, right, rows, columns, cell in wanted.sides:
        table = (seen[left : left + rows] * shares) @ seen[right : right + columns].T
        cells = np.s_[cell : cell + rows * columns]
        wrong = table.astype(np.float64).ravel() - wanted.wanted[cells]
        total += float((wanted.weight[cells] * wrong**2).sum()) / 2
    return total


def test_slopes_are_those_of_the_loss(rng: np.random.Generator) -> None:
    wanted, seen, shares = tables(rng), of_shares(rng, sum(SIZES)), of_shares(rng, 1)[0]
    back, slopes = np.zeros_like(seen), np.zeros_like(shares)
    kernels.add_slopes(wanted, seen, shares, back, slopes)
    step = 1e-2
    for row, k in ((0, 0), (2, 15), (3, 8), (11, 5), (12, 1), (13, 9)):
        up, down = seen.astype(np.float64), seen.astype(np.float64)
        up[row, k] += step
        down[row, k] -= step
        slope = (loss(wanted, up, shares) - loss(wanted, down, shares)) / (2 * step)
        assert back[row, k] == pytest.approx(slope, rel=1e-3)
    for k in (0, 7, 15):
        up, down = shares.astype(np.float64), shares.astype(np.float64)
        up[k] += step
        down[k] -= step
        slope = (loss(wanted, seen, up) - loss(wanted, seen, down)) / (2 * step)
        assert slopes[k] == pytest.approx(slope, rel=1e-3)


def test_views_add_up_bins_and_give_slopes_back(rng: np.random.Generator) -> None:
    columns = of_shares(rng, 5)
    # One view of every bin by itself, and one in which the first four are two.
    source = np.array([0, 1, 2, 3, 4, 0, 1, 2, 3, 4])
    target = np.array([0, 1, 2, 3, 4, 5, 5, 6, 6, 7])
    seen = np.ones((8, COMPONENTS), dtype=np.float32)
    kernels.see(columns, source, target, seen)
    assert np.array_equal(seen[:5], columns)
    assert np.array_equal(seen[5], columns[0] + columns[1])
    slopes = np.zeros_like(columns)
    kernels.see_back(seen, source, target, slopes)
    assert np.allclose(slopes[3], seen[3] + seen[6])


def test_shares_of_an_attribute_add_up_and_slopes_go_through_them(
    rng: np.random.Generator,
) -> None:
    shares, first = of_shares(rng, 7), np.array([0, 3, 7])
    kernels.normalize(shares, first)
    assert np.allclose(np.add.reduceat(shares, first[:-1], axis=0), 1)
    slopes = of_shares(rng, 7)
    expected = slopes.copy()
    for part in (np.s_[:3], np.s_[3:]):
        mean = (slopes[part] * shares[part]).sum(axis=0)
        expected[part] = shares[part] * (slopes[part] - mean)
    kernels.through_softmax(shares, first, slopes)
    assert np.allclose(slopes, expected, atol=1e-6)


def test_single_attributes_pull_towards_their_shares(rng: np.random.Generator) -> None:
    columns, shares, ones = of_shares(rng, 4), of_shares(rng, 1)[0], of_shares(rng, 4)[:, 0]
    gradient, slopes = np.zeros_like(columns), np.zeros_like(shares)
    kernels.add_pulls(columns, shares, ones, 50.0, gradient, slopes)
    pull = 50 * (columns @ shares - ones)
    assert np.allclose(gradient, np.multiply.outer(pull, shares), rtol=1e-3, atol=1e-3)
    assert np.allclose(slopes, pull @ columns, rtol=1e-3, atol=1e-3)


def test_the_first_step_of_adam_has_the_length_of_its_rate() -> None:
    value, slopes = np.zeros(3, dtype=np.float32), np.array([2.0, -0.5, 0.0], dtype=np.float32)
    mean, square = np.zeros_like(value), np.zeros_like(value)
    kernels.adam(value, slopes, mean, square, 1, 0.1)
    assert np.allclose(value, [-0.1, 0.1, 0.0], atol=1e-4)
