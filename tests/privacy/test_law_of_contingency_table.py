"""`contingency-table`, the whole of it: everything that leaves the room, its exact law, and mutants."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest

from synth_engine.domain import Domain
from synth_engine.mechanisms.contingency_table import ContingencyTablePlan
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from tests import plans
from tests.privacy import exact
from tests.privacy.exact import Replay, domain_of

EPSILON = Fraction(7, 10)


plan_of = partial(plans.plan_of, "contingency-table", epsilon=EPSILON)


def worst(
    domain: Domain,
    *,
    most: int = 2,
    plan: ContingencyTablePlan | None = None,
    sampler: type[Replay] = Replay,
    leak: bool = False,
    columns_too: bool = False,
) -> Fraction | float:
    chosen = plan or plan_of(domain)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        answers = chosen.run(session)
        tables = [m.values for m in answers.measurements]
        if columns_too:
            tables += [session.measure((domain.names[0],), noise=chosen.noise).values]
        values = tuple(value for table in tables for value in table.ravel().tolist())
        return values, session.calls, session.spent, rows.total if leak else None

    honest = not (plan or leak or columns_too)
    cap = chosen.loss if honest else Pure(epsilon=100 * EPSILON)
    return exact.largest_ratio(program, domain, cap=cap, most=most, sampler=sampler)


@pytest.mark.parametrize(
    ("domain", "most"),
    [
        pytest.param(domain_of(2, 2), 2, id="2x2, add or remove"),
        pytest.param(domain_of(2, 3), 1, id="2x3, add or remove"),
        pytest.param(domain_of(2, 2, relation=Relation.REPLACE_ONE), 2, id="2x2, replace one"),
        pytest.param(domain_of(2, 2, max_records=2), 2, id="2x2, two records a person"),
        pytest.param(
            domain_of(2, 2, 2, relation=Relation.REPLACE_ONE), 1, id="2x2x2, replace one"
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


class ReusedNoise(exact.ReusedNoise):
    """With few outcomes: four cells have the fourth power of those of one."""

    window = 2


@pytest.mark.parametrize(
    "sampler",
    [
        exact.HalvedScale,
        exact.ActiveDomain,
        exact.TruncatedNoise,
        exact.FrequencyScale,
        ReusedNoise,
    ],
    ids=lambda sampler: sampler.__name__,
)
def test_a_mutant_sampler_is_noticed(sampler: type[Replay]) -> None:
    assert exact.worst_epsilon(worst(domain_of(2, 2), most=2, sampler=sampler)) > 1.15 * EPSILON


def test_a_column_that_is_answered_as_well_is_noticed() -> None:
    """Its sums are free only if they are sums of the noisy table."""
    assert exact.worst_epsilon(worst(domain_of(2, 2), most=1, columns_too=True)) > 1.9 * EPSILON


def test_noise_for_the_other_relation_is_noticed() -> None:
    domain = domain_of(2, 2, relation=Relation.REPLACE_ONE)
    plan = replace(plan_of(domain), noise=plan_of(domain_of(2, 2)).noise)
    assert exact.worst_epsilon(worst(domain, plan=plan)) > 1.9 * EPSILON


def test_noise_that_forgets_the_records_of_a_person_is_noticed() -> None:
    domain = domain_of(2, 2, max_records=2)
    plan = replace(plan_of(domain), noise=plan_of(domain_of(2, 2)).noise)
    assert exact.worst_epsilon(worst(domain, plan=plan)) > 1.9 * EPSILON


def test_releasing_the_exact_number_of_rows_is_noticed() -> None:
    assert exact.worst_epsilon(worst(domain_of(2, 2), leak=True)) == float("inf")
