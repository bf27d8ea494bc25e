"""Whole mechanisms with their real noise, audited by the ratio of the likelihoods of what they store
(`likelihood.py`).

A bound that lies above the claim disproves it; it does so by chance once in 10^9 runs. A bound that lies
below a stated share of the claim says that the audit has lost its power: it does so by chance less than once
in 10^7, because each share stands below the column "surely" of `bench/audit.py`, which reckons with the
chances of the events that it saw. What is proved on average is more; how much can be proved at all is printed
there as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from synth_engine import mechanisms
from synth_engine.mechanisms import Plan
from synth_engine.privacy.loss import GaussianDP, Pure, ZeroConcentrated
from synth_engine.spec import Spec
from tests.nightly import by_day
from tests.privacy import exact, likelihood
from tests.privacy.audit import Floats, as_claimed, smaller_by
from tests.privacy.exact import Table, domain_of

STATIC_RUNS = 100_000
RUNS = 4_000
HERE: Table = ()
"""Neighbours that no mechanism can hide better than others: this one, and one with a record
(`Case.there`)."""
MICRO = Fraction(1, 10**6)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A claim of a mechanism, and the share of it that is proved."""

    mechanism: str
    epsilon: int
    delta: Fraction = Fraction(0)
    share: float
    static: bool = False
    columns: int = 2
    nightly: bool = False

    @property
    def there(self) -> Table:
        """The neighbour of `HERE`, with one record."""
        return (tuple(axis % 2 for axis in range(self.columns)),)

    def __str__(self) -> str:
        return f"{self.mechanism}-{self.epsilon}-{'delta' if self.delta else 'pure'}"


CASES = [
    Case(mechanism="random", epsilon=2, share=0.9, static=True),
    Case(mechanism="random", epsilon=4, delta=MICRO, share=0.66, static=True),
    Case(mechanism="independent", epsilon=2, share=0.85, static=True),
    Case(mechanism="independent", epsilon=4, delta=MICRO, share=0.85, static=True),
    Case(mechanism="contingency-table", epsilon=2, share=0.85, static=True),
    Case(mechanism="contingency-table", epsilon=4, delta=MICRO, share=0.85, static=True),
    Case(mechanism="auto", epsilon=2, share=0.3, nightly=True),
    Case(mechanism="auto", epsilon=4, delta=MICRO, share=0.3),
    Case(mechanism="mst", epsilon=4, share=0.4),
    Case(mechanism="mst", epsilon=4, delta=MICRO, share=0.1, nightly=True),
    Case(mechanism="aim", epsilon=4, share=0.45),
    Case(mechanism="aim", epsilon=4, delta=MICRO, share=0.1, nightly=True),
    Case(mechanism="privsyn", epsilon=4, share=0.4),
    Case(mechanism="privsyn", epsilon=4, delta=MICRO, share=0.15, nightly=True),
    Case(mechanism="generalize", epsilon=4, share=0.45),
    Case(mechanism="generalize", epsilon=4, delta=MICRO, share=0.3, nightly=True),
    Case(mechanism="bayesian-network", epsilon=4, share=0.2, nightly=True),
]
"""The shares are those of STATIC_RUNS and of RUNS; what is proved on average is more (bench/audit.py). Second
claims of adaptive mechanisms, and that of networks of Bayes, are audited nightly: exact laws are in every run
(`test_law_of_…`)."""
MANY_SHARE = 0.6
"""Of `auto` with MANY runs, either way."""
MANY = 40_000
PARAMETERS: dict[str, dict[str, Any]] = {"generalize": {"k": 1}}


def plan_of(case: Case) -> Plan:
    parameters = PARAMETERS.get(case.mechanism, {})
    spec = Spec(
        mechanism=case.mechanism,
        epsilon=Fraction(case.epsilon),
        delta=case.delta,
        parameters=parameters,
    )
    return mechanisms.plan(domain_of(*[2] * case.columns), spec)


@cache
def runs_of(case: Case, change: str, size: int) -> tuple[Floats, Floats]:
    """Ratios of likelihoods in both worlds, with noise that is smaller by a factor than what is charged."""
    draw = likelihood.static_ratios if case.static else likelihood.ratios
    smaller = as_claimed if change == "1" else smaller_by(change)
    first, second = (
        draw(plan_of(case), *pair, size=size, change=smaller)
        for pair in ((HERE, case.there), (case.there, HERE))
    )
    return first, second


def shown(case: Case, *, change: str = "1", size: int | None = None) -> likelihood.Shown:
    size = size or (STATIC_RUNS if case.static else RUNS)
    return likelihood.shown(plan_of(case).loss, case.delta, *runs_of(case, change, size))


STATIC = [case for case in CASES if case.static]
ADAPTIVE = [case for case in CASES if not case.static]
BY_DAY = [case for case in ADAPTIVE if not case.nightly]
AUTO = [case for case in CASES if case.mechanism == "auto"]


@pytest.mark.parametrize("case", STATIC, ids=str)
def test_a_static_mechanism_keeps_its_claim_and_little_less(case: Case) -> None:
    found = shown(case)
    assert found.proved <= found.claimed
    assert found.share >= case.share


@pytest.mark.parametrize("case", STATIC, ids=str)
def test_a_static_mechanism_with_half_of_its_noise_is_seen(case: Case) -> None:
    found = shown(case, change="2")
    assert found.proved > found.claimed


@pytest.mark.slow
@pytest.mark.parametrize("case", by_day(BY_DAY, ADAPTIVE), ids=str)
def test_an_adaptive_mechanism_keeps_its_claim_and_not_much_less(case: Case) -> None:
    found = shown(case)
    assert found.proved <= found.claimed
    assert found.share >= case.share


@pytest.mark.slow
def test_auto_with_half_of_its_noise_is_seen() -> None:
    """Surely seen where losses add up as mu; the chance to miss it is below 10^-20."""
    found = shown(AUTO[1], change="2")
    assert found.proved > found.claimed


@pytest.mark.nightly
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("case", AUTO, ids=str)
def test_many_runs_of_auto_prove_most_of_its_claim(case: Case) -> None:
    found = shown(case, size=MANY)
    assert found.proved <= found.claimed
    assert found.share >= MANY_SHARE


@pytest.mark.nightly
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("case", ADAPTIVE, ids=str)
def test_many_runs_see_half_of_the_noise_in_every_adaptive_mechanism(case: Case) -> None:
    found = shown(case, change="2", size=MANY)
    assert found.proved > found.claimed


# ---- the audit itself
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "loss",
    [
        Pure(epsilon=Fraction(2)),
        GaussianDP(mu_squared=Fraction(1)),
        ZeroConcentrated(rho=Fraction(1, 2)),
    ],
)
def test_worlds_that_are_alike_prove_nothing(loss: Any) -> None:
    same = np.tile([1.0, -1.0], 2_000)
    assert likelihood.shown(loss, MICRO, same, -same).proved <= 0


@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
def test_what_is_shown_of_two_normal_laws_is_below_their_loss_and_near_it(mu: float) -> None:
    """With the chances that an event of two normal laws has, seen as often as expected in ten million
    runs."""
    runs = 10**7
    chance = float(stats.norm.cdf(mu / 2))
    low, high = (
        likelihood.at_least(round(chance * runs), runs),
        likelihood.at_most(round((1 - chance) * runs), runs),
    )
    assert 0.98 * mu < likelihood.mu_shown(low, high) < mu
    assert 0.5 * mu**2 / 2 < likelihood.rho_shown(low, high) < mu**2 / 2


def test_chances_of_a_choice_are_those_of_its_exact_law() -> None:
    scores, scale = (0, 3, 5, 5), Fraction(2)
    for law in ("permute-and-flip", "gumbel"):
        exactly = [one.low / exact.ONE for one in exact.selection_law(scores, scale, law)]
        assert likelihood.chances_of(scores, float(scale), law) == pytest.approx(exactly)
