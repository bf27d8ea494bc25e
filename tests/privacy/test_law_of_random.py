"""`random`, the whole of it: the exact law of the noisy number of records, its receipt, and mutants."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from synth_engine import verifier
from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.mechanisms import uniform
from synth_engine.mechanisms.uniform import RandomPlan
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from tests import plans
from tests.privacy import exact
from tests.privacy.exact import Replay, domain_of

EPSILON = Fraction(7, 10)


plan_of = partial(plans.plan_of, "random", epsilon=EPSILON)


def worst(
    domain: Domain,
    *,
    most: int = 3,
    plan: RandomPlan | None = None,
    sampler: type[Replay] = Replay,
    leak: bool = False,
) -> Fraction | float:
    chosen = plan or plan_of(domain)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        answers = chosen.run(session)
        (answer,) = answers.measurements
        return (
            int(answer.values),
            chosen.fit(answers).rows,
            answers.calls,
            session.spent,
            rows.total if leak else None,
        )

    return exact.largest_ratio(
        program, domain, cap=Pure(epsilon=100 * EPSILON), most=most, sampler=sampler
    )


@pytest.mark.parametrize(
    "domain", [domain_of(2), domain_of(2, 3), domain_of(2, max_records=2)], ids=repr
)
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_target(domain: Domain) -> None:
    ratio = worst(domain)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON, (
        "a claim this loose would hide a defect"
    )


def test_replacing_a_record_does_not_move_the_number_at_all() -> None:
    assert exact.worst_epsilon(worst(domain_of(2, 2, relation=Relation.REPLACE_ONE))) < 1e-9


@pytest.mark.parametrize(
    "sampler",
    [exact.HalvedScale, exact.ActiveDomain, exact.FrequencyScale, exact.TruncatedNoise],
)
def test_a_mutant_sampler_is_noticed(sampler: type[Replay]) -> None:
    assert exact.worst_epsilon(worst(domain_of(2), sampler=sampler)) > 1.15 * EPSILON


def test_the_exact_number_of_records_is_noticed() -> None:
    assert exact.worst_epsilon(worst(domain_of(2), leak=True)) == float("inf")


def test_forgetting_the_records_of_a_person_is_noticed() -> None:
    domain = domain_of(2, max_records=2)
    plan = replace(plan_of(domain), noise=plan_of(domain_of(2)).noise)
    assert exact.worst_epsilon(worst(domain, plan=plan)) > 1.9 * EPSILON


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_its_one_call_is_the_planned_one_and_its_receipt_verifies(delta: Fraction) -> None:
    domain = domain_of(2, 3)
    plan = plan_of(domain, delta=delta)
    session = open_session(
        exact.rows_of(((0, 0), (1, 2)), domain), domain=domain, cap=plan.loss
    )
    answers = plan.run(session)
    assert answers.calls == plan.calls == session.calls
    assert plan.calls[0].query.clique == ()
    assert verifier.verify(plan.receipt(answers)).epsilon <= EPSILON


def test_where_the_number_is_public_nothing_is_asked_and_random_data_is_free() -> None:
    domain = replace(domain_of(2, 3, relation=Relation.REPLACE_ONE), rows=50)
    with pytest.raises(SpecError, match="nothing to measure"):
        plan_of(domain)
    codes = uniform.model(domain, rows=600).sample(600, seed="s")
    assert np.bincount(codes["b"], minlength=3).tolist() == [200, 200, 200]
