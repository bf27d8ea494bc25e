"""Discovery: what it does without writing the set down has exactly the law of noise on every value of the
set, and that law is private; planted mistakes are noticed."""

from __future__ import annotations

import itertools
import secrets
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from functools import cache
from math import comb, inf

import mpmath
import numpy as np
import pytest
from scipy import stats

from synth_engine.errors import PrivacyError, SpecError
from synth_engine.measurement import Noise
from synth_engine.privacy import tails, thresholds
from synth_engine.room import discovery, noise
from tests.privacy import exact
from tests.privacy.chance import fits, least
from tests.privacy.exact import CERTAIN, ZERO, Interval, Law, Replay, enclose, iv, ratio_iv
from tests.privacy.planted import plant

SCALE = Fraction(3, 2)
# Counts above are not told apart; beyond the largest true count the ratio of two laws does not change
HIGH = 5
Held = tuple[int, ...]  # how many records have each value of the set


@cache
def p_passing(threshold: int) -> mpmath.ctx_iv.ivmpf:
    q = iv.exp(-1 / ratio_iv(SCALE))
    return q**threshold / (1 + q)


@cache
def uniform(n: int) -> tuple[Interval, ...]:
    return tuple(enclose(iv.mpf(1) / n) for _ in range(n))


@cache
def geometric(steps: int) -> tuple[Interval, ...]:
    """The steps above a threshold, all beyond the last together."""
    q = iv.exp(-1 / ratio_iv(SCALE))
    return tuple(
        enclose(chance) for chance in [(1 - q) * q**step for step in range(steps)] + [q**steps]
    )


class Driven:
    """The shipped `discovery.discover_values`, with every source of chance it uses replaced by a branch of
    `replay`.

    The number of strangers comes from the shipped `number_passing`, whose first 128 bits are driven: it rises
    with them, so that bisection finds the words at which it changes, and with them its exact law up to
    2^-128.
    """

    def __init__(self, threshold: int) -> None:
        self.threshold = threshold
        self._strata: dict[tuple[int, Fraction, int], list[int]] = {}

    def law(self, held: Held) -> Law:
        found: Law = {}
        scripts: list[tuple[int, ...]] = [()]
        while scripts:
            replay = Replay(scripts.pop(), low=self.threshold - 1, high=HIGH)
            outcome = self.outcome(held, replay)
            found[outcome] = found.get(outcome, ZERO) + replay.probability
            scripts += replay.open
        assert sum(found.values(), ZERO).low <= exact.ONE <= sum(found.values(), ZERO).high
        return found

    def outcome(self, held: Held, replay: Replay) -> Hashable:
        """What leaves."""
        counts = {rank: count for rank, count in enumerate(held) if count}
        law, threshold = Noise(law="discrete-laplace", scale=SCALE), self.threshold
        shipped = discovery.number_passing

        def noisy(values: list[int]) -> list[int]:
            assert len(replay.taken) < 50, "noise that is not negative is drawn without an end"
            if any(values):
                return [replay.cell(value, law) for value in values]
            # Noise on 0 is drawn until it is not negative (`exceeding`, tested below): half of it is, so that
            # none is drawn again, and the other half has the law of noise that is not negative.
            half = len(values) // 2
            return [replay.branch(geometric(HIGH - threshold)) for _ in range(half)] + [-1] * (
                len(values) - half
            )

        def number_passing(n: int, *, scale: Fraction, threshold: int) -> int:
            words = self.strata(shipped, n, scale=scale, threshold=threshold)
            return replay.branch(chances_of(words))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(discovery, "number_passing", number_passing)
            patch.setattr(secrets, "randbelow", lambda n: replay.branch(uniform(n)))
            found = discovery.discover_values(
                counts, size=len(held), threshold=threshold, scale=SCALE, noisy=noisy
            )
        return tuple(found)

    def strata(
        self, shipped: Callable[..., int], n: int, *, scale: Fraction, threshold: int
    ) -> list[int]:
        """The least first word with which at least 0, 1, … n pass, until one that no word reaches."""
        if (n, scale, threshold) not in self._strata:
            self._strata[n, scale, threshold] = _strata(
                lambda word: shipped(
                    n, scale=scale, threshold=threshold, bits=beginning_with(word)
                ),
                n,
            )
        return self._strata[n, scale, threshold]


FIRST_WORD = 1 << discovery.STEP


def beginning_with(word: int) -> Callable[[int], int]:
    """Bits of which the first word is this one; all that follow are 0."""
    words = iter((word,))
    return lambda _: next(words, 0)


def _strata(number: Callable[[int], int], n: int) -> list[int]:
    found = [0]
    for k in range(1, n + 1):
        low, high = found[-1], FIRST_WORD
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if number(middle) >= k else (middle + 1, high)
        found.append(low)
    return found


def chances_of(words: list[int]) -> tuple[Interval, ...]:
    """Of 0, 1, … n. Further bits may decide for the one word below each step."""
    unit = exact.ONE // FIRST_WORD
    ends = [*words, FIRST_WORD]
    steps = list(itertools.pairwise(ends))
    return tuple(
        Interval(max(0, high - low - 1) * unit, (high - low + 1) * unit) for low, high in steps
    )


def counts_every_value(patch: pytest.MonkeyPatch) -> None:
    """The number of strangers from all values instead of those that nobody has; no more than there are."""
    plant(patch, discovery.discover_values,
        "number_passing(size - len(ranks), scale=scale, threshold=threshold)",
          "min(size - len(ranks), number_passing(size, scale=scale, threshold=threshold))")  # fmt: skip


def active_only(patch: pytest.MonkeyPatch) -> None:
    """Values that occur, and no others."""
    plant(
        patch,
        discovery.discover_values,
        "number_passing(size - len(ranks),",
        "number_passing(0,",
    )


def continuous_tail(patch: pytest.MonkeyPatch) -> None:
    """The tail of continuous noise for that of discrete noise."""
    plant(
        patch,
        tails.passing,
        "(unit + exp_minus(1 / scale, bits)).inverse()",
        "Interval(1 << (bits - 1), 1 << (bits - 1), bits)",
    )


def strangers_at_the_threshold(patch: pytest.MonkeyPatch) -> None:
    """A stranger is known by a count that never exceeds the threshold."""
    plant(
        patch,
        discovery.discover_values,
        "sample_exceedances(number, threshold=threshold, noisy=noisy)",
        "[threshold] * number",
    )


def above_the_threshold(patch: pytest.MonkeyPatch) -> None:
    """A value that somebody has needs one more than the threshold."""
    plant(patch, discovery.discover_values, "if count >= threshold", "if count > threshold")


def first_strangers(patch: pytest.MonkeyPatch) -> None:
    """Not any of those that are left, but the first ones."""
    plant(
        patch,
        discovery.sample_without_replacement,
        "[left.pop(below(len(left))) for _ in range(number)]",
        "left[:number]",
    )


def strangers_last(patch: pytest.MonkeyPatch) -> None:
    """The order tells values that somebody has from the others."""
    plant(
        patch,
        discovery.discover_values,
        "return sorted(reaching + list(",
        "return (reaching + list(",
    )


Plant = Callable[[pytest.MonkeyPatch], None]
PLANTS = [
    counts_every_value,
    active_only,
    continuous_tail,
    strangers_at_the_threshold,
    above_the_threshold,
    first_strangers,
    strangers_last,
]


def full_law(held: Held, threshold: int) -> Law:
    """Noise on every value of the set, written down."""
    cells = [exact.clamped_laplace(count, SCALE, threshold - 1, HIGH) for count in held]
    found: Law = {}
    for outcome in itertools.product(range(threshold - 1, HIGH + 1), repeat=len(held)):
        probability = CERTAIN
        for cell, value in zip(cells, outcome, strict=True):
            probability *= cell[value - threshold + 1]
        left = tuple((rank, value) for rank, value in enumerate(outcome) if value >= threshold)
        found[left] = found.get(left, ZERO) + probability
    return found


def tables(size: int) -> Iterator[Held]:
    return (held for held in itertools.product(range(4), repeat=size) if sum(held) <= 3)


def agree(law: Law, other: Law) -> bool:
    """No outcome has probabilities that are certainly different."""
    return all(
        law.get(outcome, ZERO).low <= other.get(outcome, ZERO).high
        and other.get(outcome, ZERO).low <= law.get(outcome, ZERO).high
        for outcome in law.keys() | other.keys()
    )


@pytest.mark.parametrize("threshold", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_law_is_that_of_noise_on_every_value(size: int, threshold: int) -> None:
    driven = Driven(threshold)
    for held in tables(size):
        assert agree(driven.law(held), full_law(held, threshold)), held


@pytest.mark.parametrize("mistake", PLANTS, ids=lambda mistake: mistake.__name__)
def test_a_mistake_planted_into_the_shipped_code_is_noticed(
    mistake: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    driven = Driven(2)
    assert not all(agree(driven.law(held), full_law(held, 2)) for held in tables(3))


def test_noise_above_the_threshold_is_whatever_noise_is_not_negative() -> None:
    """The shipped `exceeding` on every sequence of noises: it adds the first ones that are not negative."""
    for drawn in itertools.product(range(-2, 3), repeat=4):
        stream = itertools.cycle((*drawn, 0))

        def noisy(values: list[int], stream: Iterator[int] = stream) -> list[int]:
            assert not any(values)
            return [next(stream) for _ in values]

        positive = [one for one in drawn if one >= 0]
        number = max(1, len(positive))
        expected = [7 + one for one in (positive or [0])]
        assert discovery.sample_exceedances(number, threshold=7, noisy=noisy) == expected


def worst(law: Callable[[Held], Law]) -> Fraction | float:
    laws = {held: law(held) for held in tables(2)}
    pairs = [
        (x, y)
        for x in laws
        for y in laws
        if sum(abs(a - b) for a, b in zip(x, y, strict=True)) == 1
    ]
    ratio, compared = exact.worst_ratio(laws, iter(pairs))
    assert compared == len(pairs) > 0
    return ratio


def test_one_record_more_or_less_is_hidden_as_claimed_and_no_better() -> None:
    """Of noise on every value to 2^-200, and of the shipped code to what the first 128 bits of its words
    leave open."""
    assert exact.proves(
        worst(lambda held: full_law(held, 2)), epsilon=1 / SCALE + Fraction(1, 2**200)
    )
    ratio = worst(Driven(2).law)
    assert exact.proves(ratio, epsilon=1 / SCALE + Fraction(1, 2**100))
    assert exact.worst_epsilon(ratio) > 0.99 / SCALE


@pytest.mark.parametrize(
    ("mistake", "least"), [(active_only, inf), (counts_every_value, 1.05 / 1.5)]
)
def test_what_a_mistake_costs(
    mistake: Plant, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leaving strangers out is no privacy at all; too many of them is another law, with a larger loss than
    claimed."""
    mistake(monkeypatch)
    assert exact.worst_epsilon(worst(Driven(2).law)) >= least


# ---- the number of strangers, drawn bit by bit
# -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "threshold"), [(1, 1), (5, 1), (30, 3), (10_000, 12), (10**30, 105), (2**256, 260)]
)
def test_a_uniform_number_is_on_the_right_side_of_every_step(
    n: int, threshold: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Just below a step of the distribution and just above it."""
    monkeypatch.setattr(iv, "prec", 700)  # the power of n loses as many bits as n has
    bits = 200
    reached = iv.mpf(0)
    p = p_passing(threshold)
    for k in range(min(n, 6)):
        reached += iv.mpf(comb(n, k)) * p**k * (1 - p) ** (n - k)
        with mpmath.workprec(700):
            step = int(mpmath.floor(mpmath.mpf(reached.a) * 2**bits))
        for drawn, expected in ((step - 2, k), (step + 2, k + 1)):
            interval = tails.passing(scale=SCALE, threshold=threshold, bits=700)
            assert tails.locate_count(drawn, bits, n=n, p=interval) == expected


def test_bits_that_leave_a_step_open_are_followed_by_more() -> None:
    n, threshold, asked = 50, 4, []
    p = tails.passing(scale=SCALE, threshold=threshold, bits=700)
    on_the_step = p.complement().power(n).low >> (700 - discovery.STEP)

    def bits(count: int) -> int:
        asked.append(count)
        return on_the_step if len(asked) == 1 else (1 << count) - 1

    assert discovery.number_passing(n, scale=SCALE, threshold=threshold, bits=bits) == 1
    assert len(asked) == 2


# ---- thresholds, and the whole of it with real noise
# -------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "rho", "epsilon", "expected"),
    [
        (171_000, 0.9, 1.0, 13.6066),
        (29_400_000_000, 0.9, 0.1, 256.6148),
        (171_000, 0.1, 0.01, 1052.2246),
    ],
)
def test_thresholds_are_the_known_ones(
    n: int, rho: float, epsilon: float, expected: float
) -> None:
    """They are stated for continuous noise, which discrete noise is where counts are in millionths of
    records."""
    found = thresholds.threshold(n, rho=rho, scale=Fraction(10**6) / Fraction(epsilon))
    assert found / 10**6 == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("n", [1, 7, 171_000, 10**30, 2**256])
@pytest.mark.parametrize("rho", [0.1, 0.5, 0.999])
def test_a_threshold_keeps_its_promise_and_the_next_lower_does_not(n: int, rho: float) -> None:
    scale = Fraction(10)
    found = thresholds.threshold(n, rho=rho, scale=scale)

    def nobody(threshold: int) -> mpmath.ctx_iv.ivmpf:
        q = iv.exp(-1 / ratio_iv(scale))
        return (1 - q**threshold / (1 + q)) ** n

    assert nobody(found).a >= rho
    assert found == 1 or nobody(found - 1).b < rho


@pytest.mark.parametrize("rho", [0.0, 1.0, -1.0, 2.0, float("nan")])
def test_a_rho_that_is_no_probability_is_refused(rho: float) -> None:
    with pytest.raises(SpecError):
        thresholds.threshold(10, rho=rho, scale=Fraction(1))


@pytest.mark.parametrize("size", [1_000, 10**6, 10**12])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10)])
def test_the_least_threshold_is_where_forty_values_are_expected_by_chance(
    size: int, scale: Fraction
) -> None:
    """It bounds how many values that nobody has are published, and what the draw of their number takes."""
    expected = {
        threshold: size * exact_passing(threshold, scale=scale) for threshold in range(1, 400)
    }
    for threshold, number in expected.items():
        if number <= 39.99:
            discovery.require(size=size, threshold=threshold, scale=scale)
        elif number >= 40.01:
            with pytest.raises(PrivacyError):
                discovery.require(size=size, threshold=threshold, scale=scale)


def exact_passing(threshold: int, *, scale: Fraction) -> float:
    """P(noise >= threshold), by the sum of its law."""
    ratio = mpmath.exp(-1 / mpmath.mpf(float(scale)))
    return float((1 - ratio) / (1 + ratio) * ratio**threshold / (1 - ratio))


def test_a_threshold_that_lets_noise_through_is_refused() -> None:
    with pytest.raises(PrivacyError):
        discovery.discover_values(
            {}, size=10**6, threshold=1, scale=Fraction(1), noisy=lambda counts: counts
        )


@pytest.mark.slow
def test_real_noise_on_ten_thousand_values_and_its_simulation_have_the_same_law() -> None:
    """Chi-square of how many values come out, and of what they exceed the threshold by."""
    size, scale, runs = 10_000, Fraction(2), 400
    threshold = thresholds.threshold(size, rho=0.2, scale=scale)
    law = Noise(law="discrete-laplace", scale=scale)
    held = {3: threshold, 17: 2 * threshold, 4_000: 1}

    def noisy(counts: list[int]) -> list[int]:
        return list(map(int, noise.noisy(np.array(counts, dtype=np.int64), law)))

    truth = np.zeros(size, dtype=np.int64)
    truth[list(held)] = list(held.values())

    def p_value() -> float:
        numbers, above = (Counter(), Counter()), (Counter(), Counter())
        for _ in range(runs):
            sparse = discovery.discover_values(
                held, size=size, threshold=threshold, scale=scale, noisy=noisy
            )
            full = noise.noisy(truth, law)
            passed = [
                (int(rank), int(full[rank])) for rank in np.flatnonzero(full >= threshold)
            ]
            for side, found in enumerate((sparse, passed)):
                numbers[side][min(len(found), 6)] += 1
                above[side].update(
                    min(count - threshold, 8) for rank, count in found if rank not in held
                )
        p_values = []
        for seen in (numbers, above):
            outcomes = sorted(seen[0].keys() | seen[1].keys())
            table = [[side[outcome] for outcome in outcomes] for side in seen]
            p_values.append(float(stats.chi2_contingency(np.array(table)).pvalue))
        return least(p_values)

    assert fits(p_value)


def test_strangers_are_uniform_whether_they_are_drawn_or_listed() -> None:
    def p_value(taken: list[int]) -> float:
        sets = Counter(
            tuple(
                sorted(
                    discovery.sample_without_replacement(
                        2, size=9, taken=taken, below=secrets.randbelow
                    )
                )
            )
            for _ in range(4_000)
        )
        left = 9 - len(taken)
        assert len(sets) == comb(left, 2)
        return float(stats.chisquare(list(sets.values())).pvalue)

    assert fits(lambda: least([p_value([]), p_value([0, 1, 2, 5, 6])]))
