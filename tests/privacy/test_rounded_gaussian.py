"""Rounded Gaussian noise: the law exactly on words of few bits, decisions one by one, and chi-square on the
real source.

On words of three bits most proposals are undecided at first, so that there every way of settling one is
walked: each chance is enclosed between the mass that is settled and that mass with all that is not settled
yet, and the truth has to lie in between.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from synth_engine.measurement import Noise
from synth_engine.privacy import rounded
from synth_engine.privacy.rounded import Proposal, ProposalWidths, Words
from synth_engine.room import noise
from tests.privacy.chance import LEVEL, fits

TINY = ProposalWidths(choice=3, third=3, x=2, more=2)
SIGMAS = [Fraction(5, 8), Fraction(3, 2)]
mp = mpmath.mp.clone()
mp.prec = 120


# ---- the whole law, on tiny words
# ------------------------------------------------------------------------------


class Open(Exception):
    """The script of further words is at its end."""


class Script:
    """First all proposals there are, in order; then, for one of them, further words by a script."""

    def __init__(self, words: tuple[int, ...] = ()) -> None:
        self.words, self.asked = list(words), 0

    def __call__(self, number: int, width: int) -> Words:
        if not self.words:
            raise Open
        assert (number, width) == (1, TINY.more)
        return np.array([self.words.pop(0)], dtype=np.uint64)


remembered = cache(rounded._bound)  # here, where the digits are no secret


def every_proposal() -> tuple[Words, Words]:
    first, x = np.meshgrid(
        np.arange(2 ** (1 + TINY.choice + TINY.third)), np.arange(2**TINY.x), indexing="ij"
    )
    return first.ravel().astype(np.uint64), x.ravel().astype(np.uint64)


def settled(
    start: tuple[int, int, int], *, sigma: Fraction, least: float
) -> Counter[int | None]:
    """Of one undecided proposal: the mass of each outcome; under -1 what is not settled at `least` yet."""
    found: Counter[int | None] = Counter()
    waiting: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while waiting:
        script, mass = waiting.pop()
        try:
            proposal = Proposal(*start, source=Script(script), widths=TINY)
            found[proposal.size(sigma)] += mass
        except Open:
            if mass < least:
                found[-1] += mass
            else:
                waiting += [
                    ((*script, word), mass / 2**TINY.more) for word in range(2**TINY.more)
                ]
    return found


def law(
    monkeypatch: pytest.MonkeyPatch, sigma: Fraction, *, least: float = 2.0**-7
) -> tuple[Counter[int | None], int]:
    """Masses of sizes and of None, for what is not kept, and how many proposals the first words leave
    open."""
    first, x = every_proposal()
    undecided: list[tuple[int, int, int]] = []

    class Noted:
        def __init__(self, *words: int, source: object, widths: ProposalWidths) -> None:
            undecided.append(words)

        def size(self, sigma: Fraction) -> None:
            return None

    given = iter((first, x))
    monkeypatch.setattr(rounded, "_bound", remembered)
    with monkeypatch.context() as patch:
        patch.setattr(rounded, "Proposal", Noted)
        values, kept = rounded.proposals(
            first.size, sigma=sigma, source=lambda number, width: next(given), widths=TINY
        )
    each = 1 / first.size
    masses: Counter[int | None] = Counter()
    for size, number in zip(*np.unique(np.abs(values[kept]), return_counts=True), strict=True):
        masses[int(size)] += number * each
    masses[None] += (int((~kept).sum()) - len(undecided)) * each
    for start, times in Counter(undecided).items():
        for outcome, mass in settled(start, sigma=sigma, least=least).items():
            masses[outcome] += mass * times * each
    return masses, len(undecided)


@cache
def chance(size: int, sigma: Fraction) -> float:
    """Of a proposal that is kept and gives this size: of k + x the density is exp(-(k + x)² / 2) over the sum
    of k."""
    whole = sum(mp.exp(-mp.mpf(k * k) / 2) for k in range(60))
    low, high = (
        max(Fraction(0), (size - Fraction(1, 2)) / sigma),
        (size + Fraction(1, 2)) / sigma,
    )
    return float(mp.sqrt(2 * mp.pi) * (mp.ncdf(float(high)) - mp.ncdf(float(low))) / whole)


def is_exact(masses: Counter[int | None], sigma: Fraction) -> bool:
    """Whether every true chance lies between the mass that is settled and that with all that is open."""
    sizes = range(int(4 * sigma) + 2)
    far = 1e-12
    return all(
        masses[n] - far <= chance(n, sigma) <= masses[n] + masses[-1] + far for n in sizes
    )


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_the_law_is_exact_on_words_of_three_bits(
    monkeypatch: pytest.MonkeyPatch, sigma: Fraction
) -> None:
    masses, undecided = law(monkeypatch, sigma)
    assert undecided > 100
    assert sum(masses.values()) == pytest.approx(1, abs=1e-12)
    assert masses[-1] < 0.06
    assert is_exact(masses, sigma)


def redrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Proposal, "size", lambda self, sigma: None)


def rounded_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Proposal,
        "_size",
        lambda self, k, sigma: rounded._nearest(sigma * (k + Fraction(self._x[0], 4))),
    )


def kept_when_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Proposal, "_is_accepted", lambda self, k: True)


@pytest.mark.parametrize("mutate", [redrawn, rounded_down, kept_when_close])
def test_a_wrong_way_to_settle_is_noticed(
    monkeypatch: pytest.MonkeyPatch, mutate: Callable[[pytest.MonkeyPatch], None]
) -> None:
    mutate(monkeypatch)
    masses, _ = law(monkeypatch, Fraction(3, 2))
    assert not is_exact(masses, Fraction(3, 2))


# ---- single decisions of the fast way, on words as they are
# -----------------------------------------------------


def test_the_series_keeps_to_its_bound() -> None:
    t = np.append(np.linspace(0, 8, 801), np.random.default_rng(1).random(400) * 8)
    exact = [mp.exp(-mp.mpf(float(value))) for value in t]
    worst = max(
        abs(mp.mpf(float(found)) - true)
        for found, true in zip(rounded._exp_minus(t), exact, strict=True)
    )
    assert worst < rounded._ERROR * 2 / 3  # and a third is left for the rounding of arguments


def test_the_words_of_the_chances_of_k_are_right() -> None:
    weights = [mp.exp(-mp.mpf(k * k) / 2) for k in range(60)]
    for bits in (3, 8, 31):
        found = rounded.SIZES.first_words(bits).tolist()
        assert found == [
            int(mp.floor(2**bits * sum(weights[: k + 1]) / sum(weights)))
            for k in range(len(found))
        ]
        assert found[-1] == 2**bits - 1


@pytest.mark.parametrize(
    "sigma", [2.0**-40, 0.3, 1.0, 3.7, 1e3 + 2**-30, 2.0**31 - 1, 2.0**40, 2.0**40 - 2**-12]
)
def test_limbs_multiply_and_round_like_whole_numbers(sigma: float) -> None:
    rng = np.random.default_rng(7)
    x = rng.integers(0, 2**60, 500, dtype=np.uint64)
    x[:4] = 0, 2**60 - 1, 2**59, 2**32 - 1
    k = rng.integers(0, 8, 500, dtype=np.uint64)
    k[:4] = 0, 7, 7, 7
    found, sure = rounded._rounded(k, x, sigma=Fraction(sigma), bits=60)
    for i in range(500):
        ends = [
            rounded._nearest(Fraction(sigma) * (int(k[i]) + Fraction(int(x[i]) + more, 2**60)))
            for more in (0, 1)
        ]
        assert found[i] == ends[0]
        assert sure[i] == (ends[0] == ends[1])


@pytest.mark.parametrize(
    ("first", "further", "size", "asked"),
    [
        (2**59 - 1, [0], 0, 1),
        (2**59 - 1, [2**64 - 1, 2**64 - 1, 5], 0, 3),
        (2**59, [], 1, 0),
        (2**60 - 1, [2**64 - 1, 7], 1, 0),
    ],
)
def test_what_is_close_to_a_half_gets_further_digits(
    first: int, further: list[int], size: int, asked: int
) -> None:
    given = list(further)

    def source(number: int, width: int) -> Words:
        assert (number, width) == (1, 64)
        return np.array([given.pop(0)], dtype=np.uint64)

    assert (
        Proposal(0, first, 0, source=source, widths=rounded.USUAL)._size(0, Fraction(1)) == size
    )
    assert len(further) - len(given) == asked


# ---- the law from the real source
# -------------------------------------------------------------------------------


def drawn(sigma: Fraction, size: int) -> npt.NDArray[np.int64]:
    return (
        noise.noisy(
            np.full(size, 7, dtype=np.int64), Noise(law="rounded-gaussian", scale=sigma)
        )
        - 7
    )


def p_value(
    sigma: Fraction, values: npt.NDArray[np.int64], *, believed: float | None = None
) -> float:
    """Chi-square over cells of a fortieth of sigma at least, with ends for the tails."""
    spread = believed or float(sigma)
    edges = np.unique(np.round(np.linspace(-3 * spread, 3 * spread, 121))) + 0.5
    chances = np.diff(np.concatenate([[0], stats.norm.cdf(edges / spread), [1]]))
    observed = np.bincount(np.searchsorted(edges, values), minlength=chances.size)
    likely = chances * values.size > 20
    rest = (observed[~likely].sum(), chances[~likely].sum() * values.size)
    extra = [rest] if rest[1] > 20 else []
    expected = np.append(chances[likely] * values.size, [e for _, e in extra])
    counted = np.append(observed[likely], [o for o, _ in extra])
    return float(stats.chisquare(counted, expected * counted.sum() / expected.sum()).pvalue)


@pytest.mark.parametrize("sigma", [0.3, 0.75, 1.0, 3.7, 1000.25, 2.0**40], ids=str)
def test_noise_follows_its_exact_law(sigma: float) -> None:
    assert fits(lambda: p_value(Fraction(sigma), drawn(Fraction(sigma), 200_000)))


def test_the_comparison_notices_a_spread_that_is_off_by_a_fortieth() -> None:
    """It misses that with chance 2e-12, by the noncentral chi-square distribution (64 cells, noncentrality
    232)."""
    assert p_value(Fraction(10), drawn(Fraction(10), 200_000), believed=10.25) < LEVEL


def test_the_mean_and_the_moments_that_mechanisms_reckon_with_are_the_law_s() -> None:
    for sigma in (0.2, 0.5, 0.9, 1.0, 1.5, 20.0):
        noisy = Noise(law="rounded-gaussian", scale=Fraction(sigma))
        chances = [
            mp.ncdf((n + 0.5) / sigma) - mp.ncdf((n - 0.5) / sigma) for n in range(-200, 201)
        ]
        numbers = range(-200, 201)
        variance = float(sum(p * n * n for p, n in zip(chances, numbers, strict=True)))
        deviation = float(sum(p * abs(n) for p, n in zip(chances, numbers, strict=True)))
        assert variance <= sigma**2 + 1 / 12
        assert noisy.variance == pytest.approx(variance, rel=1e-6)
        assert noisy.mean_deviation == pytest.approx(deviation, rel=0.05)


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(0), Fraction(2**41), Fraction(-1)])
def test_a_sigma_without_a_proof_is_refused(sigma: Fraction) -> None:
    with pytest.raises(TypeError):
        rounded.draws(3, sigma=sigma, source=uniform)


def uniform(number: int, width: int) -> Words:
    return np.frombuffer(os.urandom(8 * number), dtype=np.uint64) >> np.uint64(64 - width)


def test_as_many_as_asked_for_whatever_the_blocks() -> None:
    for size in (0, 1, 2, rounded.BLOCK, rounded.BLOCK * 2 + 1):
        assert rounded.draws(size, sigma=Fraction(5), source=uniform).shape == (size,)
