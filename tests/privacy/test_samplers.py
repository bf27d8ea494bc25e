"""The samplers draw from the laws that the proofs assume: chi-square against the exact chances, through our
own calls.

Draws of a law are refused, and those of another one taken, with the chances that `chance.py` and the tests
state.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from synth_engine.errors import PrivacyError
from synth_engine.measurement import Noise, NoiseLaw
from synth_engine.privacy import discrete_gaussian, laplace, noise_scale
from synth_engine.privacy.events import DiscreteGaussian, DiscreteLaplace, PermuteAndFlip
from synth_engine.privacy.inverse_cdf import InverseCDF
from synth_engine.room import noise, selection
from synth_engine.room.samplers import SecureSampler
from synth_engine.room.selection import SelectionLaw
from tests.privacy import exact
from tests.privacy.chance import fits

Floats = npt.NDArray[np.float64]
# 10/7 rounded up as calibration does it: a scale that is no short binary fraction.
SCALES = [
    Fraction(1, 2),
    Fraction(1),
    noise_scale.laplace_scale(Fraction(7, 10), 1),
    Fraction(10),
]


def chances(law: NoiseLaw, scale: Fraction, width: int) -> Floats:
    """Of -width … width, both ends standing for their whole tails."""
    k = np.arange(-width * 8, width * 8 + 1)
    exponent = (
        np.abs(k) / float(scale)
        if law == "discrete-laplace"
        else k**2 / (2 * float(scale) ** 2)
    )
    weights = np.exp(-exponent)
    inside = np.clip(k, -width, width) + width
    return np.bincount(inside, weights=weights / weights.sum())


def p_value(observed: npt.NDArray[np.int64], expected: Floats) -> float:
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


def passes(draw: Callable[[], npt.NDArray[np.int64]], expected: Floats) -> bool:
    return fits(lambda: p_value(draw(), expected))


def histogram(
    law: NoiseLaw, scale: Fraction, width: int, *, size: int
) -> npt.NDArray[np.int64]:
    drawn = noise.noisy(np.full(size, 7, dtype=np.int64), Noise(law=law, scale=scale)) - 7
    return np.bincount(np.clip(drawn, -width, width) + width, minlength=2 * width + 1)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["discrete-laplace", "discrete-gaussian"])
@pytest.mark.parametrize("scale", SCALES, ids=float)
def test_noise_follows_its_exact_law(law: NoiseLaw, scale: Fraction) -> None:
    width = int(3 * scale) + 1
    expected = chances(law, scale, width)
    assert passes(lambda: histogram(law, scale, width, size=50_000), expected)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["discrete-laplace", "discrete-gaussian"])
def test_the_comparison_notices_a_scale_that_is_off_by_a_twelfth(law: NoiseLaw) -> None:
    """Taken for the other one with chance 1e-33 at most, by the noncentral chi-square distribution."""
    expected = chances(law, Fraction(27, 25), 4)
    assert not passes(lambda: histogram(law, Fraction(1), 4, size=50_000), expected)


SCORES = [(0, 1, 3), (5, 5), (0, 9, 10, 10)]


@pytest.mark.slow
@pytest.mark.parametrize("law", ["permute-and-flip", "gumbel"])
@pytest.mark.parametrize("scores", SCORES, ids=str)
def test_a_selection_follows_its_exact_law(law: SelectionLaw, scores: tuple[int, ...]) -> None:
    expected, observed_of = selection_chances(scores, law), selections(scores, law)
    assert passes(observed_of, expected)


@pytest.mark.slow
def test_the_two_laws_of_selection_are_told_apart() -> None:
    """OpenDP picks the law by the measure of loss; the wrong one would be priced wrongly. Taken for the
    other one with chance 1e-27, by the noncentral chi-square distribution."""
    expected = selection_chances((0, 1, 3), "gumbel")
    assert not passes(selections((0, 1, 3), "permute-and-flip"), expected)


def selection_chances(scores: tuple[int, ...], law: SelectionLaw) -> Floats:
    return np.array([p.low / exact.ONE for p in exact.selection_law(scores, Fraction(2), law)])


def selections(
    scores: tuple[int, ...], law: SelectionLaw
) -> Callable[[], npt.NDArray[np.int64]]:
    vector = np.array(scores, dtype=np.int64)

    def draw() -> npt.NDArray[np.int64]:
        chosen = [selection.choose(vector, scale=Fraction(2), law=law) for _ in range(5_000)]
        return np.bincount(chosen, minlength=len(scores))

    return draw


@pytest.mark.parametrize("law", ["discrete-laplace", "discrete-gaussian"])
def test_counts_beyond_32_bits_come_back_unharmed(law: NoiseLaw) -> None:
    large = np.array([2**45, -(2**45), 2**31], dtype=np.int64)
    drawn = noise.noisy(large, Noise(law=law, scale=Fraction(1)))
    assert drawn.dtype == np.int64
    assert np.abs(drawn - large).max() < 100


@pytest.mark.parametrize(
    "vector",
    [
        np.zeros(3),
        np.zeros(3, dtype=np.int32),
        np.zeros((2, 2), dtype=np.int64),
        np.array([2**60]),
    ],
)
def test_other_vectors_are_refused(vector: npt.NDArray[np.int64]) -> None:
    with pytest.raises(PrivacyError):
        noise.noisy(vector, Noise(law="discrete-laplace", scale=Fraction(1)))


def test_scores_beyond_32_bits_are_told_apart() -> None:
    scores = np.array([2**40, 2**40 + 10_000, 0], dtype=np.int64)
    assert selection.choose(scores, scale=Fraction(1), law="gumbel") == 1
    assert selection.choose(scores, scale=Fraction(1), law="permute-and-flip") == 1


def test_a_scale_that_no_float_holds_is_refused() -> None:
    with pytest.raises(TypeError, match="float"):
        Noise(law="discrete-laplace", scale=Fraction(1, 3))
    with pytest.raises(PrivacyError, match="float"):
        selection.choose(np.array([1, 2]), scale=Fraction(1, 3), law="gumbel")


def test_two_draws_differ_so_nothing_is_seeded() -> None:
    np.random.seed(0)  # it must not matter
    zeros = np.zeros(200, dtype=np.int64)
    first = noise.noisy(zeros, Noise(law="discrete-gaussian", scale=Fraction(100)))
    np.random.seed(0)
    second = noise.noisy(zeros, Noise(law="discrete-gaussian", scale=Fraction(100)))
    assert not np.array_equal(first, second)


# --- what is computed before a draw -------------------------------------------------------------------------
def test_nothing_is_drawn_when_a_draw_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(number: int) -> bytes:
        raise AssertionError("bits were drawn")

    monkeypatch.setattr(noise.os, "urandom", draw)
    for event in (
        DiscreteLaplace(scale=Fraction(12_347, 4), l1=1),
        DiscreteGaussian(sigma_squared=Fraction(29, 4) ** 2, l2_squared=1),
    ):
        SecureSampler().prepare(event)


def test_a_draw_that_was_prepared_computes_no_table() -> None:
    sampler = SecureSampler()
    scale = Fraction(98_765, 8)
    sampler.prepare(DiscreteLaplace(scale=scale, l1=1))
    sampler.prepare(DiscreteGaussian(sigma_squared=scale**2, l2_squared=1))
    sampler.prepare(PermuteAndFlip(scale=scale, linf=1))
    caches = (laplace.choices, discrete_gaussian._tables, selection._measurement)
    misses = [cache.cache_info().misses for cache in caches]
    widths = [sorted(choice._words) for choice in _choices(scale)]
    for law in ("discrete-laplace", "discrete-gaussian"):
        sampler.counts(np.zeros(5, dtype=np.int64), Noise(law=law, scale=scale))
    sampler.choose(np.arange(3), scale=scale, law="permute-and-flip")
    assert [cache.cache_info().misses for cache in caches] == misses
    assert [sorted(choice._words) for choice in _choices(scale)] == widths


def _choices(scale: Fraction) -> tuple[InverseCDF, ...]:
    is_zero, digits = laplace.choices(scale, laplace.USUAL)
    return (is_zero, *digits)
