"""Discrete Laplace noise of our own: the law exactly on words of few bits, tables of chances, and chi-square
on the real source.

On words of three bits most choices are undecided at first, so that every way of settling one is walked: each
chance is enclosed between the mass that is settled and that mass with all that is not settled yet.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from scipy import stats

from synth_engine.measurement import Noise
from synth_engine.privacy import laplace
from synth_engine.privacy.inverse_cdf import InverseCDF, Words
from synth_engine.privacy.laplace import Widths
from synth_engine.room import noise
from tests.privacy.chance import LEVEL, fits

TINY = Widths(word=3, more=2, digit=1, top=1)
SCALES = [Fraction(1, 2), Fraction(3, 2), Fraction(5, 2)]  # no digit, one, two
mp = mpmath.mp.clone()
mp.prec = 160


# ---- the whole law, on tiny words
# ------------------------------------------------------------------------------


class Open(Exception):
    """The script is at its end: so many bits are asked for."""


def law(scale: Fraction, *, least: float = 2.0**-12) -> Counter[int | None]:
    """Masses of the values of one draw; under None what is not settled at `least` yet."""
    found: Counter[int | None] = Counter()
    waiting: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while waiting:
        script, mass = waiting.pop()
        given = list(script)

        def source(number: int, width: int, given: list[int] = given) -> Words:
            assert number == 1
            if not given:
                raise Open(width)
            return np.array([given.pop(0)], dtype=np.uint64)

        try:
            found[int(laplace.block(1, scale=scale, source=source, widths=TINY)[0])] += mass
        except Open as asked:
            if mass < least:
                found[None] += mass
            else:
                waiting += [
                    ((*script, word), mass / 2 ** asked.args[0])
                    for word in range(2 ** asked.args[0])
                ]
    return found


@cache
def chance(value: int, scale: Fraction) -> float:
    q = mp.exp(-mp.mpf(scale.denominator) / scale.numerator)
    return float((1 - q) / (1 + q) * q ** abs(value))


def is_exact(masses: Counter[int | None], scale: Fraction) -> bool:
    far = 1e-12
    return all(
        masses[n] - far <= chance(n, scale) <= masses[n] + masses[None] + far
        for n in range(-int(6 * scale) - 2, int(6 * scale) + 3)
    )


@pytest.fixture(autouse=True)
def _forgotten():
    """Tables that a mutant made are not kept."""
    laplace.choices.cache_clear()
    yield
    laplace.choices.cache_clear()


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_law_is_exact_on_words_of_three_bits(scale: Fraction) -> None:
    masses = law(scale)
    assert sum(masses.values()) == pytest.approx(1, abs=1e-12)
    assert masses[None] < (0.1 if scale < 2 else 0.3)
    assert is_exact(masses, scale)


def lowest_when_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InverseCDF, "resolve", lambda self, word, length, *, source, more: 0)


def redrawn_when_close(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = InverseCDF.resolve

    def again(self: InverseCDF, word: int, length: int, *, source: Callable, more: int) -> int:
        return exact(self, int(source(1, length)[0]), length, source=source, more=more)

    monkeypatch.setattr(InverseCDF, "resolve", again)


def zero_of_both_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Size and sign apart, as if zero were two values."""
    monkeypatch.setattr(laplace, "_other", lambda scale: laplace._geometric(scale))


def digits_of_one_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = laplace._digit
    monkeypatch.setattr(laplace, "_digit", lambda scale, base: exact(scale / base, base))


def top_as_wide_as_all(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = laplace._geometric
    monkeypatch.setattr(laplace, "_geometric", lambda scale: exact(2 * scale))


@pytest.mark.parametrize(
    "mutate",
    [
        lowest_when_close,
        redrawn_when_close,
        zero_of_both_signs,
        digits_of_one_scale,
        top_as_wide_as_all,
    ],
)
def test_a_mistake_is_noticed(
    monkeypatch: pytest.MonkeyPatch, mutate: Callable[[pytest.MonkeyPatch], None]
) -> None:
    mutate(monkeypatch)
    assert not is_exact(law(Fraction(3, 2)), Fraction(3, 2))


# ---- tables of chances, on words as they are
# --------------------------------------------------------------------


@pytest.mark.parametrize(
    "scale", [Fraction(1, 2**40), Fraction(1, 7), Fraction(8), Fraction(1000), Fraction(2**40)]
)
def test_tables_hold_the_chances_of_all_parts(scale: Fraction) -> None:
    widths = laplace.USUAL
    other, digits = laplace.choices(scale, widths)
    s = mp.mpf(scale.numerator) / scale.denominator
    q = mp.exp(-1 / s)
    assert other.first_words(31).tolist() == [
        min(int(mp.floor(2**31 * (1 - q) / (1 + q))), 2**31 - 1)
    ]
    base = 2**widths.digit
    for place, digit in enumerate(digits):
        of_one = mp.exp(-(mp.mpf(base) ** place) / s)
        whole = 1 - of_one**base if place < len(digits) - 1 else 1
        found = digit.first_words(32).tolist()
        expected = [
            min(int(mp.floor(2**32 * (1 - of_one ** (k + 1)) / whole)), 2**32 - 1)
            for k in range(len(found))
        ]
        assert found == expected
        assert (len(found) == base - 1) if place < len(digits) - 1 else found[-1] == 2**32 - 1
        assert len(found) < 1000


# ---- the law from the real source
# -------------------------------------------------------------------------------


def drawn(scale: Fraction, size: int) -> np.ndarray:
    return (
        noise.noisy(
            np.full(size, 7, dtype=np.int64), Noise(law="discrete-laplace", scale=scale)
        )
        - 7
    )


def p_value(scale: Fraction, values: np.ndarray, *, believed: float | None = None) -> float:
    """Chi-square over cells of about equal chances; below an edge e lies half of e^(-|e| / s), nearly."""
    s = believed or float(scale)
    q = np.exp(-1 / s)
    levels = np.linspace(0, 1, 82)[1:-1]
    edges = np.unique(
        np.round(np.where(levels < 0.5, 1, -1) * s * np.log(2 * np.minimum(levels, 1 - levels)))
    )
    up_to = np.where(
        edges < 0, np.exp(edges / s) / (1 + q), 1 - np.exp(-(edges + 1) / s) / (1 + q)
    )
    chances = np.diff(np.concatenate([[0], up_to, [1]]))
    observed = np.bincount(np.searchsorted(edges, values), minlength=chances.size)
    return float(stats.chisquare(observed, chances * values.size).pvalue)


@pytest.mark.parametrize("scale", [0.75, 3.7, 31.9, 32.1, 1000.25, 2.0**17, 2.0**40], ids=str)
def test_noise_follows_its_exact_law(scale: float) -> None:
    assert fits(lambda: p_value(Fraction(scale), drawn(Fraction(scale), 200_000)))


def test_the_comparison_notices_a_scale_that_is_off_by_a_fortieth() -> None:
    """It misses that with chance 3e-11, by the noncentral chi-square distribution (81 cells, noncentrality
    233)."""
    assert p_value(Fraction(100), drawn(Fraction(100), 400_000), believed=102.5) < LEVEL


@pytest.mark.parametrize("scale", [100.0, 5000.0])
def test_digits_follow_their_law_and_do_not_hang_together(scale: float) -> None:
    """Of the size less one: digits below 512, in eighths, beside whether what is above is zero."""
    base = 2**laplace.USUAL.digit

    def run() -> float:
        sizes = np.abs(drawn(Fraction(scale), 200_000)) - 1
        sizes = sizes[sizes >= 0]
        cells = sizes % base // (base // 8) * 2 + (sizes >= base)
        q = np.exp(-1 / scale)
        ends = q ** np.linspace(0, base, 9)
        low = (ends[:-1] - ends[1:]) / (1 - q**base)
        expected = np.stack([low * (1 - q**base), low * q**base], axis=1).ravel() * sizes.size
        return float(stats.chisquare(np.bincount(cells, minlength=16), expected).pvalue)

    assert fits(run)


@pytest.mark.parametrize(
    ("scale", "threshold"), [(Fraction(1, 2), 1), (Fraction(40), 3), (Fraction(40), 200)]
)
def test_what_reaches_a_threshold_is_as_likely_as_noise_is(
    scale: Fraction, threshold: int
) -> None:
    q = mp.exp(-mp.mpf(scale.denominator) / scale.numerator)
    chance = q**threshold / (1 + q)
    choice = laplace._reaches(scale, threshold)
    assert choice.first_words(32).tolist() == [int(mp.floor(2**32 * (1 - chance)))]

    def run() -> float:
        passed = noise.reaching(
            100_001, threshold=threshold, noise=Noise(law="discrete-laplace", scale=scale)
        )
        return float(stats.binomtest(int(passed.sum()), 100_001, float(chance)).pvalue)

    assert fits(run)


# ---- what is refused
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**41)])
def test_a_scale_without_a_proof_is_refused(scale: Fraction) -> None:
    with pytest.raises(TypeError):
        laplace.draws(3, scale=scale, source=uniform)


def uniform(number: int, width: int) -> Words:
    return np.frombuffer(os.urandom(8 * number), dtype=np.uint64) >> np.uint64(64 - width)


def test_as_many_as_asked_for_whatever_the_blocks() -> None:
    for size in (0, 1, 2, laplace.BLOCK, laplace.BLOCK * 2 + 1):
        assert laplace.draws(size, scale=Fraction(5), source=uniform).shape == (size,)


def test_hardly_any_noise_is_none() -> None:
    assert not laplace.draws(1000, scale=Fraction(1, 2**40), source=uniform).any()


@pytest.mark.parametrize("bits", [4, 10, 11, 32, 63])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(8), Fraction(32)])
def test_a_part_is_found_where_a_search_of_all_chances_finds_it(
    scale: Fraction, bits: int
) -> None:
    """Words at each chance, beside it, at both ends, and anywhere."""
    choice = laplace.choices(scale, laplace.USUAL)[1][-1]
    first = choice.first_words(bits)
    anywhere = np.frombuffer(os.urandom(8_000), dtype=np.uint64) >> np.uint64(64 - bits)
    most = np.uint64(2**bits - 1)
    words = np.concatenate(
        [first, np.minimum(first + 1, most), np.maximum(first, 1) - 1, [0, most], anywhere]
    ).astype(np.uint64)
    parts, sure = choice.of_words(words, bits)
    assert (parts == np.searchsorted(first, words)).all()
    assert (sure == ~np.isin(words, first)).all()
