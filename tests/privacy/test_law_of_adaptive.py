"""`adaptive`: the exact law of all its answers on tiny boxes, and mutants that must not survive."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from math import inf

import pytest

from synth_engine.domain import Categorical, Domain, Integer, Place, PointSet
from synth_engine.errors import BudgetExceeded
from synth_engine.measurement import Counts, Noise
from synth_engine.plans.plan import Plan
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from tests import plans
from tests.privacy import exact
from tests.privacy.exact import Replay

LINE = Domain(attributes=(Integer(name="x", low=0, high=3, width=1),))
SQUARE = Domain(
    attributes=(
        Integer(name="x", low=0, high=1, width=1),
        Integer(name="y", low=0, high=1, width=1),
    )
)
HOMES = Domain(
    attributes=(
        *SQUARE.attributes,
        Categorical(name="trade", values=("a", "b"), outside="clamp"),
    ),
    places=(Place(name="home", latitude="y", longitude="x"),),
    relation=Relation.REPLACE_ONE,
    rows=1,
    invariants=("rows",),
)
BLOCKS = Domain(  # the first two lie in one cell of the second depth
    attributes=(Categorical(name="block", values=("a", "b", "c"), outside="clamp"),),
    points=(PointSet(column="block", at=((10, 20, 1), (10.2, 20.2, 1), (11, 21, 1))),),
)


plan_of = partial(plans.plan_of, "adaptive")


def program_of(plan: Plan) -> exact.Program:
    def program(session: RoomSession, _rows: Rows) -> Hashable:
        answers = plan.run(session)
        (grown,) = answers.growths
        seen = tuple(tuple(one.tolist()) for one in (*grown.opened, *grown.counts))
        counted = [*answers.measurements, *answers.leaves]
        return (
            tuple(tuple(one.values.ravel().tolist()) for one in counted),
            grown.rule,
            seen,
            session.spent,
            answers.calls,
        )

    return program


def worst(plan: Plan, *, most: int, sampler: type[Replay] = Replay) -> float:
    return exact.loss_of_run(program_of(plan), plan, most=most, sampler=sampler)


CASES = [
    (plan_of(SQUARE, epsilon="1", depth=1), 1),
    (plan_of(LINE, epsilon="6", depth=2), 1),
    (
        plan_of(
            replace(LINE, attributes=(Integer(name="x", low=0, high=1, width=1),)),
            epsilon="3/2",
        ),
        3,
    ),
    (
        plan_of(
            replace(SQUARE, relation=Relation.REPLACE_ONE, rows=1, invariants=("rows",)),
            epsilon="2",
            depth=1,
        ),
        1,
    ),
    (
        plan_of(
            Domain(
                attributes=(Integer(name="x", low=0, high=1, width=1),),
                unit=PrivacyUnit(max_records=2),
            ),
            epsilon="1",
        ),
        2,
    ),
    (plan_of(HOMES, epsilon="2", depth=1), 1),
    (plan_of(BLOCKS, epsilon="9", depth=3), 1),
]


@pytest.mark.parametrize(("plan", "most"), CASES)
def test_all_answers_together_lose_what_is_claimed_and_little_less(
    plan: Plan, most: int
) -> None:
    assert 0.95 * plan.epsilon < worst(plan, most=most) < inf


class ExactTotal(Replay):
    def counts(self, vector: Counts, noise: Noise) -> Counts:
        return vector if vector.size == 1 else super().counts(vector, noise)


@pytest.mark.parametrize(
    "mutant",
    [
        exact.HalvedScale,
        exact.ActiveDomain,
        exact.TruncatedNoise,
        exact.FrequencyScale,
        ExactTotal,
    ],
)
def test_a_mistake_is_noticed(mutant: type[Replay]) -> None:
    plan = CASES[2][0]
    assert worst(plan, most=3, sampler=mutant) == inf


def test_noise_of_a_single_depth_for_all_is_refused_before_rows_are_looked_at() -> None:
    plan = plan_of(LINE, epsilon="6", depth=2)
    session = exact.open_session(
        exact.rows_of((), LINE), domain=LINE, cap=plan.loss, sampler=Replay((), low=0, high=1)
    )
    rule, noise = plan.basic_rule(0.0)  # type: ignore[attr-defined]
    with pytest.raises(BudgetExceeded):
        session.grow(("x",), rule=rule, noise=replace(noise, scale=noise.scale / 2))
