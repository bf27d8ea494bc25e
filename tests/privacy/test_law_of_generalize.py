"""`generalize`: the exact law of all its answers on tiny domains, and mutants that must not survive."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np
import pytest

from synth_engine.measurement import Counts, Noise
from synth_engine.plans.plan import Plan
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from tests import plans
from tests.privacy import exact
from tests.privacy.exact import Replay, domain_of

plan_of = partial(plans.plan_of, "generalize", k=1)


def program_of(plan: Plan) -> exact.Program:
    def program(session: RoomSession, _rows: Rows) -> Hashable:
        answers = plan.run(session)
        values = tuple(
            (m.clique, tuple(m.values.ravel().tolist())) for m in answers.measurements
        )
        return values, answers.selections, session.spent, answers.calls

    return program


def worst(plan: Plan, *, most: int, sampler: type[Replay] = Replay) -> float:
    return exact.loss_of_run(program_of(plan), plan, most=most, sampler=sampler)


SMALL = domain_of(
    2, 1
)  # which column is divided by depends on all records, and there are few outcomes
REPLACED = domain_of(2, 2, relation=Relation.REPLACE_ONE)
CASES = [
    (plan_of(SMALL, epsilon="2"), 2),
    (plan_of(SMALL, epsilon="30", rest="any"), 2),
    (plan_of(replace(REPLACED, rows=2, invariants=("rows",)), epsilon="2", rest="any"), 2),
    (
        plan_of(
            replace(SMALL, unit=PrivacyUnit(max_records=2)), epsilon="2", columns=1, rest="any"
        ),
        2,
    ),
]


@pytest.mark.parametrize(("plan", "most"), CASES)
def test_all_answers_together_lose_what_is_claimed_and_little_less(
    plan: Plan, most: int
) -> None:
    assert 0.9 * plan.epsilon < worst(plan, most=most) < inf


def test_choices_are_made_on_the_way() -> None:
    """As many columns as the noisy number of records bears; of one of them alone there is nothing to
    choose."""
    plan, most = CASES[0]
    law = exact.law_of(
        program_of(plan), ((0, 0), (0, 0)), domain=plan.domain, cap=plan.loss, high=most
    )
    assert {outcome[1] for outcome in law} == {(), (0,), (0, 0), (1, 0)}


class ExactTotal(Replay):
    def counts(self, vector: Counts, noise: Noise) -> Counts:
        return vector if vector.size == 1 else super().counts(vector, noise)


class ExactChoice(Replay):
    def choose(self, scores: Counts, **_: object) -> int:
        return int(np.argmax(scores))


class SharpChoice(Replay):
    """Noise of a thirtieth, as where the whole budget were taken for the choice."""

    def choose(self, scores: Counts, **given: object) -> int:
        return super().choose(scores, **given | {"scale": given["scale"] / 30})


@pytest.mark.parametrize(
    "mutant",
    [
        exact.HalvedScale,
        exact.ActiveDomain,
        exact.TruncatedNoise,
        ExactTotal,
        ExactChoice,
        SharpChoice,
    ],
)
def test_a_mistake_is_noticed(mutant: type[Replay]) -> None:
    plan, most = CASES[2] if mutant in (ExactChoice, SharpChoice) else CASES[0]
    assert worst(plan, most=most, sampler=mutant) == inf
