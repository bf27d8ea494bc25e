"""`adaptive`: the exact law of all its answers on tiny boxes, and mutants that must not survive."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from math import inf

import pytest

from synth_engine import mechanisms
from synth_engine.confidential.rows import Rows
from synth_engine.confidential.session import RoomSession
from synth_engine.domain import Domain, Integer
from synth_engine.errors import BudgetExceeded
from synth_engine.measurement import Counts, Noise
from synth_engine.mechanisms.plan import Plan
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.spec import Spec
from tests.privacy import exact
from tests.privacy.exact import Replay

LINE = Domain(attributes=(Integer(name="x", low=0, high=3, width=1),))
SQUARE = Domain(attributes=(Integer(name="x", low=0, high=1, width=1), Integer(name="y", low=0, high=1, width=1)))
SLACK = Fraction(1, 2**150)


def plan_of(domain: Domain, *, epsilon: str, **parameters: int) -> Plan:
    return mechanisms.plan(domain, Spec(mechanism="adaptive", epsilon=Fraction(epsilon), parameters=parameters))


def program_of(plan: Plan) -> exact.Program:
    def program(session: RoomSession, _rows: Rows) -> Hashable:
        answers = plan.run(session)
        (grown,) = answers.growths
        seen = tuple(tuple(one.tolist()) for one in (*grown.opened, *grown.counts))
        return tuple(int(m.values) for m in answers.measurements), grown.rule, seen, session.spent, answers.calls

    return program


def worst(plan: Plan, *, most: int, sampler: type[Replay] = Replay) -> float:
    """The largest loss over all neighbours of up to `most` records; proven not to be above the claim, or infinite."""
    domain = plan.domain
    laws = {
        table: exact.law_of(program_of(plan), table, domain=domain, cap=plan.loss, high=most, sampler=sampler)
        for table in exact.tables(domain, most=most)
    }
    pairs = (
        exact.add_remove_pairs(domain, most=most, units=domain.unit.max_records)
        if domain.relation is Relation.ADD_REMOVE
        else exact.replace_one_pairs(domain, most=most)
    )
    ratio, compared = exact.worst_ratio(laws, pairs)
    assert compared > 5
    if not exact.proves(ratio, epsilon=plan.epsilon + SLACK):
        return inf
    return exact.worst_epsilon(ratio)


CASES = [
    (plan_of(SQUARE, epsilon="1", depth=1), 1),
    (plan_of(LINE, epsilon="6", depth=2), 1),
    (plan_of(replace(LINE, attributes=(Integer(name="x", low=0, high=1, width=1),)), epsilon="3/2"), 3),
    (plan_of(replace(SQUARE, relation=Relation.REPLACE_ONE, rows=1, invariants=("rows",)), epsilon="2", depth=1), 1),
    (
        plan_of(
            Domain(attributes=(Integer(name="x", low=0, high=1, width=1),), unit=PrivacyUnit(max_records=2)),
            epsilon="1",
        ),
        2,
    ),
]


@pytest.mark.parametrize(("plan", "most"), CASES)
def test_all_answers_together_lose_what_is_claimed_and_little_less(plan: Plan, most: int) -> None:
    assert 0.95 * plan.epsilon < worst(plan, most=most) < inf


class ExactTotal(Replay):
    def counts(self, vector: Counts, noise: Noise) -> Counts:
        return vector if vector.size == 1 else super().counts(vector, noise)


@pytest.mark.parametrize(
    "mutant", [exact.HalvedScale, exact.ActiveDomain, exact.TruncatedNoise, exact.FrequencyScale, ExactTotal]
)
def test_a_mistake_is_noticed(mutant: type[Replay]) -> None:
    plan = CASES[2][0]
    assert worst(plan, most=3, sampler=mutant) == inf


def test_noise_of_a_single_depth_for_all_is_refused_before_rows_are_looked_at() -> None:
    plan = plan_of(LINE, epsilon="6", depth=2)
    session = exact.open_session(exact.rows_of((), LINE), domain=LINE, cap=plan.loss, sampler=Replay((), low=0, high=1))
    rule, noise = plan.asked(0.0)  # type: ignore[attr-defined]
    with pytest.raises(BudgetExceeded):
        session.grow(("x",), rule=rule, noise=replace(noise, scale=noise.scale / 2))
