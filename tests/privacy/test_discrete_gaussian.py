"""Discrete Gaussian noise of our own: the law exactly on words of three bits, decisions of the compiled loop
one by one, chi-square on the real source, and OpenDP's sampler as another opinion.

On words of three bits most proposals are open at first: each chance is enclosed between the mass that is
settled and that mass with all that is not settled yet.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from math import ceil

import mpmath
import numpy as np
import numpy.typing as npt
import opendp.prelude as dp
import pytest
from scipy import stats

from synth_engine.measurement import Noise
from synth_engine.privacy import discrete_gaussian
from synth_engine.privacy.discrete_gaussian import GaussianWidths
from synth_engine.privacy.inverse_cdf import Words
from synth_engine.room import noise
from tests.privacy.chance import LEVEL, fits
from tests.privacy.planted import plant

TINY = GaussianWidths(choice=3, third=3, place=3, more=2)
SIGMAS = [Fraction(5, 8), Fraction(1), Fraction(3, 2), Fraction(5, 2)]
Resolved = Callable[..., int | None]
mp = mpmath.mp.clone()
mp.prec = 120


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Tables that a mutant made are not kept."""
    discrete_gaussian._tables.cache_clear()
    yield
    discrete_gaussian._tables.cache_clear()


# ---- the whole law, on tiny words
# ------------------------------------------------------------------------------


class Open(Exception):
    """The script of further words is at its end."""


def settled(
    words: tuple[int, ...], *, sigma: Fraction, resolved: Resolved, least: float
) -> Counter[int | None]:
    """Of one open proposal: the mass of each outcome; under -1 what is not settled at `least` yet."""
    found: Counter[int | None] = Counter()
    waiting: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while waiting:
        script, mass = waiting.pop()
        given = list(script)

        def source(number: int, width: int, given: list[int] = given) -> Words:
            assert (number, width) == (1, TINY.more)
            if not given:
                raise Open
            return np.array([given.pop(0)], dtype=np.uint64)

        try:
            found[resolved(words, sigma=sigma, source=source, widths=TINY)] += mass
        except Open:
            if mass < least:
                found[-1] += mass
            else:
                waiting += [
                    ((*script, word), mass / 2**TINY.more) for word in range(2**TINY.more)
                ]
    return found


def law(sigma: Fraction, *, least: float = 2.0**-7) -> tuple[Counter[int | None], int]:
    """Masses of sizes and of None, for what is not kept, and how many proposals the first words leave
    open."""
    bits = 1 + TINY.choice + TINY.third
    first, place = np.meshgrid(np.arange(2**bits), np.arange(2**TINY.place), indexing="ij")
    given = iter((first.ravel().astype(np.uint64), place.ravel().astype(np.uint64)))
    undecided: list[tuple[int, ...]] = []
    resolved = discrete_gaussian._resolved

    def noted(words: tuple[int, ...], **_: object) -> None:
        undecided.append(words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discrete_gaussian, "_resolved", noted)
        values, kept = discrete_gaussian.proposals(
            first.size, sigma=sigma, source=lambda number, width: next(given), widths=TINY
        )
    each = 1 / first.size
    masses: Counter[int | None] = Counter()
    for size, number in zip(*np.unique(np.abs(values[kept]), return_counts=True), strict=True):
        masses[int(size)] += number * each
    masses[None] += (int((~kept).sum()) - len(undecided)) * each
    for words, times in Counter(undecided).items():
        outcomes = settled(words, sigma=sigma, resolved=resolved, least=least)
        # A proposal of zero is kept with one of its signs, which are as likely.
        masses[None] += outcomes[0] / 2 * times * each
        outcomes[0] /= 2
        for outcome, mass in outcomes.items():
            masses[outcome] += mass * times * each
    return masses, len(undecided)


@cache
def chance(size: int, sigma: Fraction) -> float:
    """Of a proposal that is kept and gives this size."""
    whole = sum(mp.exp(-mp.mpf(k * k) / 2) for k in range(60))
    n = ceil(sigma)
    of_place = mp.mpf(2**TINY.place // n) / 2**TINY.place if n > 1 else mp.mpf(1)
    exponent = Fraction(size) ** 2 / (2 * sigma**2)
    weight = mp.exp(-mp.mpf(exponent.numerator) / exponent.denominator)
    return float(of_place * weight / whole * (1 if size else mp.mpf(1) / 2))


def is_exact(masses: Counter[int | None], sigma: Fraction) -> bool:
    far = 1e-12
    return all(
        masses[n] - far <= chance(n, sigma) <= masses[n] + masses[-1] + far
        for n in range(int(4 * sigma) + 2)
    )


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_the_law_is_exact_on_words_of_three_bits(sigma: Fraction) -> None:
    masses, undecided = law(sigma)
    assert undecided > 100
    assert sum(masses.values()) == pytest.approx(1, abs=1e-12)
    assert masses[-1] < 0.06
    assert is_exact(masses, sigma)


def redrawn_when_close(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(discrete_gaussian, "_resolved", lambda words, **_: None)


def kept_when_close(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        discrete_gaussian._resolved,
        "third + 1 << GUARD <= bound.low",
        "third << GUARD < bound.low",
    )


def zero_of_both_signs(patch: pytest.MonkeyPatch) -> None:
    plant(patch, discrete_gaussian.proposals, "& ~(negative & (sizes == 0))", "")


def remainders_of_all_words(patch: pytest.MonkeyPatch) -> None:
    plant(patch, discrete_gaussian._places, "(1 << bits) // n * n", "(1 << bits)")


def strips_of_one_width(patch: pytest.MonkeyPatch) -> None:
    plant(patch, discrete_gaussian._tables, "ceil((k + 1) * sigma) - first", "n")


def another_k_when_close(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        discrete_gaussian._resolved,
        "SIZES.resolve(choice, widths.choice, source=source, more=widths.more)",
        "choice // 4",
    )


@pytest.mark.parametrize(
    "mutate",
    [
        redrawn_when_close,
        kept_when_close,
        zero_of_both_signs,
        remainders_of_all_words,
        strips_of_one_width,
        another_k_when_close,
    ],
)
def test_a_mistake_is_noticed(
    mutate: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    assert not is_exact(law(Fraction(5, 2))[0], Fraction(5, 2))


# ---- decisions of the compiled loop, on words as they are
# --------------------------------------------------------


def near_bounds(sigma: Fraction) -> tuple[npt.NDArray[np.int64], Words, Words]:
    """Strips and places of every kind, and third numbers at, beside and far from where the decision
    changes."""
    rng = np.random.default_rng(3)
    n = ceil(sigma)
    ends = [0, 1, n // 2, n - 2, n - 1]
    places = [j for j in (*ends, *rng.integers(0, n, 5).tolist()) if 0 <= j < n]
    strip, place, third = [], [], []
    for k in range(7):
        for j in places:
            y = ceil(k * sigma) + j
            exponent = (Fraction(y) ** 2 / sigma**2 - k**2) / 2
            edge = int(2**32 * mp.exp(-mp.mpf(exponent.numerator) / exponent.denominator))
            for apart in (0, 1, 2, 5, 20, 100, 1000, 10_000, 10**6):
                for number in {edge - apart, edge + apart}:
                    if 0 <= number < 2**32:
                        strip.append(k)
                        place.append(j)
                        third.append(number)
    return np.array(strip), np.array(place, dtype=np.uint64), np.array(third, dtype=np.uint64)


@pytest.mark.parametrize(
    "sigma",
    [2.0**-40, 0.3, 1.0, 1.0625, 3.7, 1e3 + 2**-30, 2.0**31 - 1, 2.0**40, 2.0**40 - 2**-12],
)
def test_the_compiled_loop_decides_nothing_wrongly(sigma: float) -> None:
    exact = Fraction(sigma)
    tables = discrete_gaussian._tables(exact)
    strip, place, third = near_bounds(exact)
    step = np.uint64(1)
    sizes, decisions = discrete_gaussian._decide(
        strip, place, third, step, tables.strips, tables.constants
    )
    possible = decided = 0
    for i in range(strip.size):
        k, y = int(strip[i]), ceil(int(strip[i]) * exact) + int(place[i])
        if y >= (k + 1) * exact:
            assert decisions[i] == discrete_gaussian._REJECTED
            continue
        assert sizes[i] == y
        exponent = (Fraction(y) ** 2 / exact**2 - k**2) / 2
        bound = 2**32 * mp.exp(-mp.mpf(exponent.numerator) / exponent.denominator)
        if decisions[i] == discrete_gaussian._ACCEPTED:
            assert int(third[i]) + 1 <= bound
        elif decisions[i] == discrete_gaussian._REJECTED:
            assert int(third[i]) >= bound
        possible += 1
        decided += int(decisions[i] != discrete_gaussian._OPEN)
    assert decided > possible / 5


def test_farther_strips_are_left_open() -> None:
    tables = discrete_gaussian._tables(Fraction(3))
    one = np.ones(1, dtype=np.uint64)
    _, decisions = discrete_gaussian._decide(
        np.array([7]), one, one, np.uint64(1), tables.strips, tables.constants
    )
    assert decisions.tolist() == [discrete_gaussian._OPEN]


def test_powers_are_rounded_down() -> None:
    powers = discrete_gaussian._powers()
    assert all(
        power == int(mp.floor(2**32 * mp.exp(-mp.mpf(h) / 128)))
        for h, power in enumerate(powers)
    )


# ---- the law from the real source
# -------------------------------------------------------------------------------


def drawn(sigma: Fraction, size: int) -> npt.NDArray[np.int64]:
    law = Noise(law="discrete-gaussian", scale=sigma)
    return noise.noisy(np.full(size, 7, dtype=np.int64), law) - 7


def p_value(
    sigma: Fraction, values: npt.NDArray[np.int64], *, believed: float | None = None
) -> float:
    """Chi-square over cells of a twentieth of sigma at least, with ends for the tails."""
    spread = believed or float(sigma)
    edges = np.unique(np.round(np.linspace(-3 * spread, 3 * spread, 121))) + 0.5
    if spread > 100:
        # A sum of the density over whole numbers is its integral, up to 1 part in 24 sigma².
        up_to = stats.norm.cdf(edges / spread)
    else:
        numbers = np.arange(-int(12 * spread) - 3, int(12 * spread) + 4)
        weights = np.exp(-((numbers / spread) ** 2) / 2)
        up_to = np.array([weights[numbers < edge].sum() for edge in edges]) / weights.sum()
    chances = np.diff(np.concatenate([[0], up_to, [1]]))
    observed = np.bincount(np.searchsorted(edges, values), minlength=chances.size)
    likely = chances * values.size > 20
    expected = chances[likely] * values.size
    counted = observed[likely]
    return float(stats.chisquare(counted, expected * counted.sum() / expected.sum()).pvalue)


@pytest.mark.parametrize(
    "sigma", [0.3, 0.75, 1.0, 1.0625, 3.7, 50.3, 1000.25, 2.0**20, 2.0**40], ids=str
)
def test_noise_follows_its_exact_law(sigma: float) -> None:
    assert fits(lambda: p_value(Fraction(sigma), drawn(Fraction(sigma), 200_000)))


def test_the_comparison_notices_a_spread_that_is_off_by_a_fortieth() -> None:
    """It misses that with chance below 1e-11, by the noncentral chi-square distribution (60 cells,
    noncentrality 230)."""
    assert p_value(Fraction(10), drawn(Fraction(10), 200_000), believed=10.25) < LEVEL


def test_places_of_a_wide_law_are_alike() -> None:
    """The last three bits of a value say nothing, whatever the strip it lies in."""

    def run() -> float:
        values = drawn(Fraction(2.0**40 - 2**-12), 100_000)
        cells = (values & 7) * 2 + (np.abs(values) > 2**40)
        return float(
            stats.chi2_contingency(np.bincount(cells, minlength=16).reshape(8, 2)).pvalue
        )

    assert fits(run)


@pytest.mark.parametrize("sigma", [0.75, 3.7, 1000.25], ids=str)
def test_opendp_draws_the_same_law(sigma: float) -> None:
    dp.enable_features("contrib")
    size = 30_000
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=size), dp.l2_distance(T="i64")
    theirs = space >> dp.m.then_gaussian(scale=sigma)
    edges = np.unique(np.round(np.linspace(-2.5 * sigma, 2.5 * sigma, 21))) + 0.5

    def run() -> float:
        both = [np.array(theirs(np.zeros(size, dtype=np.int64))), drawn(Fraction(sigma), size)]
        counted = [
            np.bincount(np.searchsorted(edges, values), minlength=edges.size + 1)
            for values in both
        ]
        table = np.array(counted)
        return float(stats.chi2_contingency(table[:, table.sum(axis=0) > 20]).pvalue)

    assert fits(run)


# ---- what is refused
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(0), Fraction(2**41), Fraction(-1)])
def test_a_sigma_without_a_proof_is_refused(sigma: Fraction) -> None:
    with pytest.raises(TypeError):
        discrete_gaussian.draws(3, sigma=sigma, source=uniform)


def uniform(number: int, width: int) -> Words:
    return np.frombuffer(os.urandom(8 * number), dtype=np.uint64) >> np.uint64(64 - width)


def test_as_many_as_asked_for_whatever_the_blocks() -> None:
    block = discrete_gaussian.BLOCK
    for size in (0, 1, 2, block, block * 2 + 1):
        for sigma in (Fraction(1, 2), Fraction(5)):
            assert discrete_gaussian.draws(size, sigma=sigma, source=uniform).shape == (size,)


def test_hardly_any_noise_is_none() -> None:
    assert not discrete_gaussian.draws(1000, sigma=Fraction(1, 2**40), source=uniform).any()
