"""`independent`, the whole of it: everything that leaves the room, its exact law, and mutants."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest

from synth_engine.domain import Domain
from synth_engine.mechanisms.independent import IndependentPlan
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from tests import plans
from tests.privacy import exact
from tests.privacy.exact import Replay, domain_of

EPSILON = Fraction(7, 10)


plan_of = partial(plans.plan_of, "independent", epsilon=EPSILON)


def worst(
    domain: Domain,
    *,
    most: int = 2,
    plan: IndependentPlan | None = None,
    sampler: type[Replay] = Replay,
    leak: bool = False,
) -> Fraction | float:
    chosen = plan or plan_of(domain)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        answers = chosen.run(session)
        values = tuple(value for m in answers.measurements for value in m.values.tolist())
        return values, answers.calls, session.spent, rows.total if leak else None

    cap = Pure(epsilon=100 * EPSILON) if plan or leak else chosen.loss
    return exact.largest_ratio(program, domain, cap=cap, most=most, sampler=sampler)


@pytest.mark.parametrize(
    ("domain", "most"),
    [
        pytest.param(domain_of(2, 2), 2, id="2x2, add or remove"),
        pytest.param(domain_of(2, 3), 1, id="2x3, add or remove"),
        pytest.param(domain_of(2, 2, relation=Relation.REPLACE_ONE), 2, id="2x2, replace one"),
        pytest.param(domain_of(2, 2, max_records=2), 2, id="2x2, two records a person"),
        pytest.param(
            domain_of(2, 3, relation=Relation.REPLACE_ONE),
            2,
            id="2x3, replace one",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_target(
    domain: Domain, most: int
) -> None:
    ratio = worst(domain, most=most)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON, (
        "a claim this loose would hide a defect"
    )


@pytest.mark.parametrize(
    "sampler",
    [
        exact.HalvedScale,
        exact.ActiveDomain,
        exact.TruncatedNoise,
        exact.FrequencyScale,
        exact.ReusedNoise,
    ],
    ids=lambda sampler: sampler.__name__,
)
def test_a_mutant_sampler_is_noticed(sampler: type[Replay]) -> None:
    most = 1 if sampler in (exact.ReusedNoise, exact.TruncatedNoise) else 2
    ratio = worst(domain_of(2, 2), most=most, sampler=sampler)
    assert exact.worst_epsilon(ratio) > 1.15 * EPSILON


def test_spending_the_whole_budget_on_every_attribute_is_noticed() -> None:
    """The defect of DataSynthesizer's first versions: epsilon for each attribute instead of for all."""
    domain = domain_of(2, 2)
    plan = plan_of(domain)
    each = tuple(replace(noise, scale=noise.scale / 2) for noise in plan.noises)
    assert exact.worst_epsilon(worst(domain, plan=replace(plan, noises=each))) > 1.9 * EPSILON


def test_releasing_the_exact_number_of_rows_is_noticed() -> None:
    assert exact.worst_epsilon(worst(domain_of(2, 2), leak=True)) == float("inf")
