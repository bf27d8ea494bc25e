"""Gaussian differential privacy: the conversion from both sides, the rule for pure losses, the filter, and
receipts."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import verifier
from synth_engine.domain import Domain, Integer, Range, Weak
from synth_engine.errors import BudgetExceeded, SpecError, UnsupportedEvent, VerificationError
from synth_engine.measurement import Noise
from synth_engine.mechanisms.pairwise.bayesian_network import BayesianNetwork
from synth_engine.plans import budget_allocation, two_stage
from synth_engine.privacy import conversion, events, receipt, tradeoff
from synth_engine.privacy.filter import Filter
from synth_engine.privacy.loss import HALF_PI, GaussianDP, Pure, ZeroConcentrated
from synth_engine.privacy.unit import (
    PrivacyUnit,
    Relation,
    histogram_sensitivity,
    scores_sensitivity,
)
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from synth_engine.values import Listed
from synth_engine.verifier.gaussian import epsilon_of_mu
from tests.privacy import exact
from tests.privacy.exact import domain_of
from tests.privacy.test_verifier import DROP, changed, resealed

DELTA = Fraction(1, 10**9)
Document = dict[str, Any]
mp = mpmath.mp.clone()
mp.prec = 600


def true_delta(mu_squared: Fraction, epsilon: Fraction) -> mpmath.mpf:
    mu, x = (
        mp.sqrt(mp.mpf(mu_squared.numerator) / mu_squared.denominator),
        mp.mpf(epsilon.numerator) / epsilon.denominator,
    )
    return (
        mp.erfc((x / mu - mu / 2) / mp.sqrt(2)) / 2
        - mp.exp(x) * mp.erfc((x / mu + mu / 2) / mp.sqrt(2)) / 2
    )


def as_mpf(value: Fraction) -> mpmath.mpf:
    return mp.mpf(value.numerator) / value.denominator


# ---- (epsilon, delta) and mu²
# -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "rho"), [("0.1", "0.000198"), ("1", "0.01656"), ("10", "1.1825")]
)
def test_what_an_epsilon_buys_is_what_others_computed(epsilon: str, rho: str) -> None:
    found = conversion.mu_squared_for(Fraction(epsilon), DELTA) / 2
    assert float(found) == pytest.approx(float(rho), rel=2e-3)
    assert (
        Fraction(1084, 1000)
        < found / conversion.rho_for(Fraction(epsilon), DELTA)
        < Fraction(1121, 1000)
    )


TARGETS = [
    ("0.001", "1e-3"),
    ("0.1", "1e-9"),
    ("1", "1e-9"),
    ("10", "1e-18"),
    ("1", "0.5"),
    ("300", "1e-6"),
]


@pytest.mark.parametrize(("epsilon", "delta"), TARGETS)
def test_what_is_bought_is_below_the_curve_and_next_to_it(epsilon: str, delta: str) -> None:
    target, at = Fraction(epsilon), Fraction(delta)
    bought = conversion.mu_squared_for(target, at)
    with mp.workprec(1500):
        assert (
            true_delta(bought, target)
            <= as_mpf(at)
            < true_delta(bought * (1 + Fraction(1, 10**9)), target)
        )
    assert (
        target * (1 - Fraction(1, 10**9)) - Fraction(1, 10**11)
        <= conversion.epsilon_for_mu(bought, at)
        <= target
    )
    assert epsilon_of_mu(bought, at, near=target) <= target


@pytest.mark.parametrize("epsilon", ["5000", "1e6", "1e9"])
def test_both_ways_agree_where_epsilon_is_huge(epsilon: str) -> None:
    target = Fraction(epsilon)
    bought = conversion.mu_squared_for(target, DELTA)
    assert bought > 2 * conversion.rho_for(target, DELTA)
    assert (
        target * (1 - Fraction(1, 10**9)) < epsilon_of_mu(bought, DELTA, near=target) <= target
    )


@pytest.mark.parametrize("mu_squared", ["1e-30", "1e-8", "0.03", "2.4", "50", "900"])
@pytest.mark.parametrize("epsilon", ["0", "1e-6", "0.3", "4", "60", "700"])
def test_both_bounds_of_delta_are_above_it_by_next_to_nothing(
    mu_squared: str, epsilon: str
) -> None:
    from synth_engine.verifier import gaussian as verifier_gaussian

    square, target = Fraction(mu_squared), Fraction(epsilon)
    with mp.workprec(3000):
        exact = true_delta(square, target)
        for bound in (
            tradeoff.delta_bound(square, target),
            verifier_gaussian._delta(square, target),
        ):
            assert exact <= as_mpf(bound) <= exact * (1 + mp.mpf(2) ** -80) + mp.mpf(2) ** -230


def test_another_accountant_finds_the_same() -> None:
    from dp_accounting.pld import privacy_loss_distribution as pld_library

    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(10)):
        mu = float(conversion.mu_squared_for(epsilon, DELTA)) ** 0.5
        theirs = pld_library.from_gaussian_mechanism(
            1 / mu, value_discretization_interval=float(epsilon) / 2000, use_connect_dots=True
        ).get_epsilon_for_delta(float(DELTA))
        assert theirs == pytest.approx(float(epsilon), rel=2e-3)
        assert theirs >= float(epsilon) * (1 - 1e-6)


def test_too_little_to_buy_anything_is_refused() -> None:
    with pytest.raises(SpecError):
        conversion.mu_squared_for(Fraction(1, 10**12), Fraction(1, 10**18))


# ---- mu² of single calls
# ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [Fraction(n, 8) for n in (1, 4, 8, 24, 80, 240)])
def test_the_rule_for_pure_losses_is_above_the_exact_mu(epsilon: Fraction) -> None:
    """mu = 2 z, Q(z) = 1 / (1 + e^epsilon), for all of them; for those of range epsilon the worst is at
    half."""
    assert Fraction(str(mp.nstr(mp.pi / 2, 40))) < HALF_PI
    for loss, bound in (
        (epsilon, events.mu_squared_of_pure(epsilon)),
        (epsilon / 2, events.mu_squared_of_pure(epsilon / 2)),
    ):
        share = 1 / (1 + mp.exp(as_mpf(loss)))
        z = mp.findroot(
            lambda t, share=share: mp.log(mp.erfc(t / mp.sqrt(2)) / 2) - mp.log(share),
            float(loss) / 2,
        )
        assert (2 * z) ** 2 <= as_mpf(bound)
        assert loss > 1 or (2 * z) ** 2 > as_mpf(bound) * 0.9


@pytest.mark.parametrize("shift", [-8, -2, -0.5, 0, 0.7, 3])
def test_a_bounded_range_costs_a_quarter_whatever_its_place(shift: float) -> None:
    """Two outcomes whose log-odds differ by epsilon, the extreme pair of the exponential mechanism: mu is the
    distance of their normal quantiles."""
    epsilon = Fraction(3)
    low, high = (
        1 / (1 + mp.exp(-(mp.mpf(shift) + side * as_mpf(epsilon) / 2))) for side in (-1, 1)
    )
    quantile = lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1)  # noqa: E731
    assert (quantile(high) - quantile(low)) ** 2 <= as_mpf(
        events.mu_squared_of_pure(epsilon / 2)
    )


@functools.cache
def rounded(sigma: Fraction, count: int, width: int = 60) -> tuple[mpmath.mpf, ...]:
    """Masses of count + rounded noise on -width … width."""
    edges = [(Fraction(2 * n - 1, 2) - count) / sigma for n in range(-width, width + 2)]
    heights = [mp.erfc(-as_mpf(edge) / mp.sqrt(2)) / 2 for edge in edges]
    return tuple(b - a for a, b in itertools.pairwise(heights))


def hockey_stick(p: tuple[Any, ...], q: tuple[Any, ...], epsilon: Fraction) -> float:
    factor = mp.exp(as_mpf(epsilon))
    return float(sum(max(0, a - factor * b) for a, b in zip(p, q, strict=True)))


SIGMA, EPSILONS = Fraction(3, 4), [Fraction(n, 4) for n in range(24)]


def test_rounded_noise_keeps_to_the_curve_of_its_mu_and_comes_near_it() -> None:
    square = events.RoundedGaussian(sigma_squared=SIGMA**2, l2_squared=1).mu_squared()
    spent = [
        hockey_stick(rounded(SIGMA, 1), rounded(SIGMA, 0), epsilon) for epsilon in EPSILONS
    ]
    allowed = [float(true_delta(square, epsilon)) for epsilon in EPSILONS]
    assert all(a <= b * (1 + 1e-9) for a, b in zip(spent, allowed, strict=True))
    assert any(a > 0.9 * b for a, b in zip(spent, allowed, strict=True))


def test_less_noise_than_stated_is_noticed() -> None:
    square = events.RoundedGaussian(sigma_squared=SIGMA**2, l2_squared=1).mu_squared()
    narrow = SIGMA * 9 / 10
    assert any(
        hockey_stick(rounded(narrow, 1), rounded(narrow, 0), epsilon)
        > float(true_delta(square, epsilon))
        for epsilon in EPSILONS
    )


def test_discrete_gaussian_noise_of_the_same_sigma_passes_the_curve_somewhere() -> None:
    """Why it has no mu here."""
    weights = [mp.exp(-as_mpf(Fraction(n * n) / (2 * SIGMA**2))) for n in range(-60, 62)]
    whole = sum(weights[:-1])
    p, q = tuple(w / whole for w in weights[:-1]), tuple(w / whole for w in weights[1:])
    square = 1 / SIGMA**2
    fine = [Fraction(n, 40) for n in range(240)]
    assert any(
        hockey_stick(p, q, epsilon) > float(true_delta(square, epsilon)) for epsilon in fine
    )
    with pytest.raises(UnsupportedEvent):
        events.DiscreteGaussian(sigma_squared=SIGMA**2, l2_squared=1).mu_squared()


# ---- filter and shares
# ------------------------------------------------------------------------------------------


def test_the_filter_adds_up_mu_and_admits_the_last_unit() -> None:
    gate = Filter(GaussianDP(mu_squared=Fraction(3, 4)))
    half = events.RoundedGaussian(sigma_squared=Fraction(4), l2_squared=2)
    gate.admit(half)
    gate.admit(events.RoundedGaussian(sigma_squared=Fraction(4), l2_squared=1))
    assert gate.spent == gate.cap
    with pytest.raises(BudgetExceeded):
        gate.admit(events.RoundedGaussian(sigma_squared=Fraction(10**12), l2_squared=1))
    with pytest.raises(UnsupportedEvent):
        Filter(GaussianDP(mu_squared=Fraction(9))).admit(
            events.DiscreteGaussian(sigma_squared=Fraction(9), l2_squared=1)
        )
    with pytest.raises(UnsupportedEvent):
        Filter(Pure(epsilon=Fraction(9))).admit(half)


BUDGETS = [
    Pure(epsilon=Fraction(1, 3)),
    ZeroConcentrated(rho=Fraction(1, 70)),
    GaussianDP(mu_squared=Fraction(2, 70)),
]


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: type(budget).__name__)
@pytest.mark.parametrize("laplace", [False, True])
def test_noise_for_a_part_costs_no_more_than_it_and_nearly_all(
    budget: Any, laplace: bool
) -> None:
    for relation in Relation:
        sensitivity = histogram_sensitivity(PrivacyUnit(max_records=3), relation)
        for of in (sensitivity, scores_sensitivity(sensitivity, number=7)):
            price = budget_allocation.price(
                budget_allocation.noise(budget, of, laplace=laplace), budget, of
            )
            assert budget.amount * (1 - Fraction(1, 10**5)) < price <= budget.amount
        scale = budget.selection_scale(sensitivity.linf)
        kind = events.PermuteAndFlip if isinstance(budget, Pure) else events.Gumbel
        gate = Filter(budget)
        gate.admit(kind(scale=scale, linf=sensitivity.linf))
        assert gate.remaining < budget.amount / 10**5


# ---- receipts
# ---------------------------------------------------------------------------------------------------


def document() -> Document:
    """Scores, a merged table and a whole one under a cap on mu²."""
    cap = conversion.mu_squared_for(Fraction(1), DELTA)
    sensitivity = histogram_sensitivity(PrivacyUnit(), Relation.ADD_REMOVE)
    wide = Noise(law="rounded-gaussian", scale=Fraction(16))
    calls: list[tuple[dict[str, Any], events.Event]] = [
        (
            {
                "verb": "score",
                "clique": [],
                "candidates": [["a", "b"], ["b", "c"], ["a", "c"]],
                "cells": 30,
            },
            wide.event(scores_sensitivity(sensitivity, number=3)),
        ),
        (
            {"verb": "measure", "clique": ["a", "b"], "cells": 6, "bins": [2, 3]},
            wide.event(sensitivity),
        ),
        (
            {"verb": "measure", "clique": ["c"], "cells": 3},
            budget_allocation.noise(GaussianDP(mu_squared=cap / 9), sensitivity).event(
                sensitivity
            ),
        ),
        (
            {"verb": "select", "clique": [], "candidates": [["a"]], "cells": 5},
            events.Gumbel(scale=Fraction(64), linf=1),
        ),
    ]
    made = receipt.build(
        plan=receipt.PlanStatement(
            mechanism="bayesian-network",
            parameters={},
            kind="adaptive",
            digest="1" * 64,
            cap={"mu_squared": f"{cap.numerator}/{cap.denominator}"},
            target=(Fraction(1), DELTA),
        ),
        domain=receipt.DomainStatement(
            relation=Relation.ADD_REMOVE,
            unit=PrivacyUnit(),
            invariants=[],
            digest="2" * 64,
            facts={"declared": 3},
        ),
        guarantee=receipt.Guarantee(
            epsilon=Fraction(1), delta=DELTA, rho=cap / 2, certificate="gdp"
        ),
        run=receipt.RunStatement(calls=calls, answers_digest="3" * 64),
    )
    return resealed(made)


def test_a_receipt_under_a_cap_on_mu_is_accepted_at_its_cap() -> None:
    found = verifier.verify(document())
    assert found.certificate == "gdp"
    assert Fraction(999_999_999, 10**9) <= found.epsilon <= 1
    assert found.rho == Fraction(
        math.ceil(conversion.mu_squared_for(Fraction(1), DELTA) / 2 * 10**9), 10**9
    )
    assert any("mu²" in sentence for sentence in found.sentences)


TAMPERED: list[tuple[str, object, str]] = [
    ("guarantee.epsilon", "99/100", "below what the calls add up to"),
    ("guarantee.rho", "1/100", "claimed rho"),
    ("guarantee.certificate", "pld", "no adaptive mechanism"),
    ("guarantee.certificate", "zcdp", "below what the calls add up to"),
    ("guarantee.certificate", "basic", "another certificate"),
    ("guarantee.delta", "1/1000000000000", "claimed epsilon"),
    ("plan.cap", {"mu_squared": "1/1000"}, "pass the cap"),
    ("plan.cap", {"mu": "1/1"}, "cap is malformed"),
    ("plan.cap", {"rho": "1/10"}, "no mu"),
    ("calls.0.sensitivity.l2_squared", 1, "does not follow from unit"),
    ("calls.0.query.candidates", [["a", "b"]], "does not follow from unit"),
    ("calls.0.query.candidates", [], "malformed"),
    ("calls.0.query.candidates", DROP, "missing or unknown parts"),
    ("calls.0.query.bins", [2], "missing or unknown parts"),
    ("calls.0.noise.law", "gumbel", "does not fit its verb"),
    ("calls.1.query.bins", [2, 4], "as many as its cells"),
    ("calls.1.query.bins", [6], "as many as its cells"),
    ("calls.1.query.bins", [True, 6], "as many as its cells"),
    ("calls.1.noise.law", "discrete-gaussian", "pass the cap"),
    ("calls.2.noise.sigma_squared", "1/4", "cost of call 3"),
    ("calls.2.cost.rho", "1/100000", "cost of call 3"),
    ("calls.3.noise.scale", "64000/1", "cost of call 4"),
    ("relation", "replace-one", "does not follow from unit"),
]


@pytest.mark.parametrize(
    ("path", "value", "reason"), TAMPERED, ids=lambda value: str(value)[:40]
)
def test_a_receipt_that_was_tampered_with_is_refused(
    path: str, value: object, reason: str
) -> None:
    forged = resealed(changed(document(), path, value))
    with pytest.raises(VerificationError, match=reason):
        verifier.verify(forged)


def test_scores_and_rounded_noise_have_no_certificate_by_distributions() -> None:
    for number in (0, 1):
        forged = copy.deepcopy(document())
        forged["mechanism"] = {"id": "independent", "parameters": {}, "kind": "static"}
        forged["plan"]["cap"] = None
        forged["calls"] = [forged["calls"][number]]
        forged["guarantee"]["certificate"] = "pld"
        with pytest.raises(VerificationError):
            verifier.verify(resealed(forged))


# ---- whole runs
# -------------------------------------------------------------------------------------------------


class InMu(BayesianNetwork):
    """The network, with its budget cut up in mu²."""

    adds_up = "gdp"


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("target", [("0.01", "1e-9"), ("1", "1e-6"), ("30", "1e-12")])
def test_a_run_under_a_cap_on_mu_fits_it_and_its_receipt_proves_it(
    relation: Relation, target: tuple[str, str]
) -> None:
    epsilon, delta = map(Fraction, target)
    domain = domain_of(2, 3, relation=relation, max_records=2)
    spec = Spec(mechanism="bayesian-network", epsilon=epsilon, delta=delta, parameters={})
    plan = InMu().plan(domain, spec)
    assert plan.loss == GaussianDP(mu_squared=conversion.mu_squared_for(epsilon, delta))
    session = open_session(
        exact.rows_of(((0, 0), (1, 1), (1, 2)), domain), domain=domain, cap=plan.loss
    )
    answers = plan.run(session)
    assert {call.event.law for call in answers.calls} <= {"rounded-gaussian", "gumbel"}
    assert session.spent.amount <= plan.loss.amount
    found = verifier.verify(json.loads(json.dumps(plan.receipt(answers))))
    assert found.certificate == plan.certificate == "gdp"
    assert epsilon * (1 - Fraction(1, 10**8)) <= found.epsilon <= epsilon + Fraction(1, 10**12)
    assert plan.cost("zcdp") == (0, 0, found.rho * 10**9)
    assert plan.cost("basic")[0] == epsilon * 10**9
    plan.fit(answers)


def test_what_is_learned_first_is_paid_in_mu_as_well() -> None:
    """A weak column under Laplace noise, a wide range under Gaussian, and then the mechanism with what is
    left."""
    domain = Domain(
        attributes=(
            Weak(name="word", values=Listed(["a", "b", "c"]), rho=0.5),
            Range(name="wide", of="integer", low=0, high=63, bins=4),
            Integer(name="c", low=0, high=1),
        )
    )
    spec = Spec(mechanism="bayesian-network", epsilon=Fraction(2), delta=DELTA, parameters={})
    plan = two_stage.plan(*InMu().validate(domain, spec, rule="basic"), domain=domain)
    assert isinstance(plan, two_stage.StagedPlan)
    laws = [asked.noise.law for asked in plan.questions]
    assert laws == ["discrete-laplace", "rounded-gaussian"]
    spent = sum(
        budget_allocation.price(asked.noise, plan.loss, plan.sensitivity)
        for asked in plan.questions
    )
    assert plan.left == plan.loss.of(plan.loss.amount - spent)
    assert isinstance(plan.loss, GaussianDP)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.fractions(min_value=Fraction(1, 1000), max_value=1000, max_denominator=10**4),
    st.integers(1, 18),
)
def test_whatever_is_bought_the_verifier_agrees(epsilon: Fraction, power: int) -> None:
    delta = Fraction(1, 10**power)
    try:
        bought = conversion.mu_squared_for(epsilon, delta)
    except SpecError:
        return
    assert epsilon_of_mu(bought, delta, near=epsilon) <= epsilon
