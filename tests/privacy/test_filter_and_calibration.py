"""Admission is exact; a legal budget is never refused by rounding, and never passed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synth_engine import mechanisms
from synth_engine.domain import Domain, Integer
from synth_engine.errors import BudgetExceeded, SpecError, UnsupportedEvent
from synth_engine.plans.plan import Plan
from synth_engine.privacy import certificate, conversion, noise_scale, pld, static_calibration
from synth_engine.privacy.events import DiscreteGaussian, DiscreteLaplace, Event, Gumbel
from synth_engine.privacy.filter import Filter
from synth_engine.privacy.loss import Pure, ZeroConcentrated
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.spec import Spec

epsilons = st.fractions(min_value=Fraction(1, 10**4), max_value=1000, max_denominator=10**6)
deltas = st.one_of(
    st.just(Fraction(0)), st.integers(1, 18).map(lambda power: Fraction(1, 10**power))
)
shares = st.fractions(min_value=Fraction(1, 10**9), max_value=1000, max_denominator=10**12)


def domain_of(sizes: list[int], relation: Relation, records: int) -> Domain:
    attributes = tuple(
        Integer(name=f"c{i}", low=0, high=size - 1) for i, size in enumerate(sizes)
    )
    return Domain(
        attributes=attributes, relation=relation, unit=PrivacyUnit(max_records=records)
    )


domains = st.builds(
    domain_of,
    st.lists(st.integers(1, 100), min_size=1, max_size=12),
    st.sampled_from(list(Relation)),
    st.integers(1, 20),
)


def shrank_all_the_way(events: Iterable[Event], epsilon: Fraction) -> bool:
    """Whether the losses of Laplace noise, which added up to epsilon, add up to as many times that as they
    ever may."""
    losses = [event.pure_epsilon() for event in events]
    whole = sum((loss for loss in losses if loss is not None), Fraction(0))
    return None not in losses and float(whole / epsilon) == pytest.approx(
        math.exp(-static_calibration.FARTHEST), rel=1e-6
    )


def priced(plan: Plan) -> list[tuple[str, Event]]:
    return [(call.query.verb, call.event) for call in plan.calls]


@pytest.mark.slow
@settings(max_examples=150)
@given(domains, epsilons, deltas)
@example(
    domain_of([5] * 4, Relation.REPLACE_ONE, 1), Fraction(3, 1600), Fraction(1, 100)
)  # shrinks all the way
@example(
    domain_of([1], Relation.ADD_REMOVE, 1), Fraction(1, 100), Fraction(1, 10)
)  # the mean loss is above epsilon
@example(
    domain_of([100, 2, 2, 10, 3], Relation.REPLACE_ONE, 1), Fraction(1, 8000), Fraction(1, 10)
)  # delta is all
@example(
    domain_of([2], Relation.REPLACE_ONE, 1), Fraction(20), Fraction(1, 10)
)  # few losses, far apart
def test_every_legal_budget_is_planned_within_its_target_and_nearly_used_up(
    domain: Domain, epsilon: Fraction, delta: Fraction
) -> None:
    """Half a per cent less of both epsilon and delta would not be met: but where noise shrank as far as it
    ever may, which is for a delta above epsilon alone."""
    plan = mechanisms.plan(domain, Spec(mechanism="independent", epsilon=epsilon, delta=delta))
    admitted = Filter(plan.loss)
    for event in plan.events:
        admitted.admit(event)
    assert admitted.spent == plan.loss
    if plan.certificate == "pld":
        found = pld.losses(
            priced(plan), cells=pld.cells_that_move(domain.unit, domain.relation)
        )
        assert pld.log_delta(found, float(epsilon)) <= math.log(delta)
        if shrank_all_the_way(plan.events, epsilon):
            assert delta > epsilon
        else:
            assert pld.log_delta(found, float(epsilon) * 0.995) > math.log(
                float(delta) * 0.995
            ), "used up"
        return
    target = epsilon if isinstance(plan.loss, Pure) else conversion.rho_for(epsilon, delta)
    spent = plan.loss.epsilon if isinstance(plan.loss, Pure) else plan.loss.rho
    assert target * (1 - Fraction(1, 10**6)) <= spent <= target


@pytest.mark.parametrize(
    ("columns", "epsilon", "delta"),
    [
        (
            60,
            "1",
            static_calibration.MIN_DELTA,
        ),  # many steps of composition, each of which may lose a little
        (60, "1/10", static_calibration.MIN_DELTA),
        (5, "1/8000", Fraction(1, 10)),  # losses that spread far beyond epsilon
    ],
)
def test_what_is_planned_is_confirmed_where_delta_is_least_and_where_it_is_largest(
    columns: int, epsilon: str, delta: Fraction
) -> None:
    domain, target = (
        domain_of(list(range(2, columns + 2)), Relation.ADD_REMOVE, 1),
        Fraction(epsilon),
    )
    plan = mechanisms.plan(domain, Spec(mechanism="independent", epsilon=target, delta=delta))
    assert plan.certificate == "pld"
    certificate.confirm(
        priced(plan), epsilon=target, delta=delta, unit=domain.unit, relation=domain.relation
    )


@pytest.mark.parametrize("loss", [0.05, 0.2, 1.0])
def test_delta_is_found_where_the_mean_loss_is_above_epsilon_as_well(loss: float) -> None:
    """Of one discrete Laplace delta = (1 - exp(epsilon - e)) / (1 + exp(-e)), and the mean loss is e tanh(e /
    2)."""
    for part in (0.01, 0.9, 1.1, 1.9):
        epsilon = part * loss * math.tanh(loss / 2)
        closed = math.log(-math.expm1(epsilon - loss) / (1 + math.exp(-loss)))
        assert (
            closed
            <= pld.log_delta(Counter({pld.RandomizedResponsePLD(loss): 1}), epsilon)
            <= closed + 0.001
        )


@given(shares, st.integers(1, 100))
def test_calibrated_noise_costs_its_share_or_a_little_less_and_is_a_float(
    share: Fraction, sensitivity: int
) -> None:
    scale = noise_scale.laplace_scale(share, sensitivity)
    cost = DiscreteLaplace(scale=scale, l1=sensitivity).pure_epsilon()
    assert share * (1 - Fraction(1, 10**6)) <= cost <= share
    assert Fraction(float(scale)) == scale
    sigma = noise_scale.gaussian_sigma(share, sensitivity)
    event = DiscreteGaussian(sigma_squared=sigma**2, l2_squared=sensitivity)
    assert share * (1 - Fraction(1, 10**6)) <= event.rho() <= share
    assert Fraction(float(sigma)) == sigma
    selection = Gumbel(scale=noise_scale.selection_scale(share, sensitivity), linf=sensitivity)
    assert share * (1 - Fraction(1, 10**6)) <= selection.pure_epsilon() <= share


@given(shares, st.lists(st.integers(1, 1000), min_size=1, max_size=30))
def test_shares_add_up_to_the_whole_exactly(total: Fraction, weights: list[int]) -> None:
    assert sum(noise_scale.split(total, [Fraction(w) for w in weights])) == total


def test_a_filter_admits_to_the_last_unit_and_refuses_the_next() -> None:
    event = DiscreteLaplace(scale=Fraction(10), l1=1)
    admitted = Filter(Pure(epsilon=Fraction(1)))
    for _ in range(10):
        admitted.admit(
            event
        )  # ten times a tenth: a sum of floats would come to 0.9999999999999999
    assert admitted.remaining == 0
    with pytest.raises(BudgetExceeded):
        admitted.admit(DiscreteLaplace(scale=Fraction(10**12), l1=1))
    assert admitted.spent == Pure(epsilon=Fraction(1))


def test_a_refused_event_is_not_charged() -> None:
    admitted = Filter(ZeroConcentrated(rho=Fraction(1, 100)))
    with pytest.raises(BudgetExceeded):
        admitted.admit(DiscreteGaussian(sigma_squared=Fraction(1), l2_squared=1))
    assert admitted.spent == ZeroConcentrated(rho=Fraction(0))


def test_gaussian_noise_is_refused_under_a_pure_cap() -> None:
    admitted = Filter(Pure(epsilon=Fraction(100)))
    with pytest.raises(UnsupportedEvent, match="no pure guarantee"):
        admitted.admit(DiscreteGaussian(sigma_squared=Fraction(100), l2_squared=1))


def test_a_pure_event_enters_rho_with_half_its_squared_epsilon() -> None:
    admitted = Filter(ZeroConcentrated(rho=Fraction(1, 8)))
    admitted.admit(DiscreteLaplace(scale=Fraction(2), l1=1))
    assert admitted.remaining == 0


def test_a_budget_too_small_for_noise_that_fits_is_refused_in_words() -> None:
    with pytest.raises(SpecError, match="too large or too small"):
        noise_scale.laplace_scale(Fraction(1, 10**15), 1)
