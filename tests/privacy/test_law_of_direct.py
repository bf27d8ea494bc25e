"""`direct-synthesis`: the exact law of all its answers on tiny boxes, and mutants that must not survive."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np
import pytest

from synth_engine.domain import Domain, Integer
from synth_engine.errors import BudgetExceeded
from synth_engine.hierarchy import NodeSet
from synth_engine.measurement import Counts, Leaves, Noise
from synth_engine.mechanisms.trees.top_down import TopDownPlan
from synth_engine.plans.plan import Plan
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from tests import plans
from tests.privacy import exact
from tests.privacy.exact import Replay

LINE = Domain(attributes=(Integer(name="x", low=0, high=3, width=1),))
PAIR = Domain(attributes=(Integer(name="x", low=0, high=1, width=1),))
SQUARE = Domain(
    attributes=(
        Integer(name="x", low=0, high=1, width=1),
        Integer(name="y", low=0, high=1, width=1),
    )
)


plan_of = partial(plans.plan_of, "direct-synthesis", depth=1, stop=0)


def program_of(plan: Plan) -> exact.Program:
    def program(session: RoomSession, _rows: Rows) -> Hashable:
        answers = plan.run(session)
        seen = tuple(
            (one.partition.digest, tuple(one.values.tolist())) for one in answers.leaves
        )
        return (
            tuple(int(m.values) for m in answers.measurements),
            seen,
            session.spent,
            answers.calls,
        )

    return program


def worst(plan: Plan, *, most: int, sampler: type[Replay] = Replay) -> float:
    return exact.loss_of_run(program_of(plan), plan, most=most, sampler=sampler)


PUBLIC = {"relation": Relation.REPLACE_ONE, "invariants": ("rows",)}
CASES = [
    (plan_of(SQUARE, epsilon="1"), 1),
    (plan_of(PAIR, epsilon="3/2"), 3),
    (plan_of(replace(SQUARE, rows=1, **PUBLIC), epsilon="2"), 1),
    (plan_of(replace(PAIR, unit=PrivacyUnit(max_records=2)), epsilon="1"), 2),
]


TWO = plan_of(replace(LINE, rows=2, **PUBLIC), epsilon="6", depth=2)
"""A second depth is asked for below a cell that is given both records."""


@pytest.mark.parametrize(("plan", "most"), CASES)
def test_all_answers_together_lose_what_is_claimed_and_little_less(
    plan: Plan, most: int
) -> None:
    assert 0.95 * plan.epsilon < worst(plan, most=most) < inf


def test_a_second_depth_is_asked_for_where_noisy_counts_say_so() -> None:
    law = exact.law_of(program_of(TWO), ((0,), (0,)), domain=TWO.domain, cap=TWO.loss, high=2)
    assert (
        0.7 * TWO.epsilon < worst(TWO, most=2) < inf
    )  # of two records one is below the cell that is divided
    assert {len(outcome[1]) for outcome in law} == {1, 2}


class ExactTotal(Replay):
    def counts(self, vector: Counts, noise: Noise) -> Counts:
        return vector if vector.size == 1 else super().counts(vector, noise)


class NoNoise(Replay):
    def counts(self, vector: Counts, noise: Noise) -> Counts:
        return vector


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
    plan, most = CASES[1]
    assert worst(plan, most=most, sampler=mutant) == inf


@pytest.mark.parametrize("mistake", ["divides by true counts", "lists the occupied"])
def test_what_is_divided_must_not_follow_from_true_counts(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A room that leaves parts out because of who is in them."""
    original = RoomSession.leaves

    def leaves(session: RoomSession, partition: NodeSet, *, noise: Noise) -> Leaves:
        found = original(session, partition, noise=noise)
        if len(session.calls) > 1:
            return found
        codes = session._counts.rows.codes("x") // 2
        true = np.bincount(codes, minlength=2)
        bare = np.where(true > 0, found.values, 0) if mistake == "lists the occupied" else true
        return replace(found, values=bare.astype(np.int64))

    monkeypatch.setattr(RoomSession, "leaves", leaves)
    assert worst(TWO, most=2) == inf


def test_noise_of_a_single_depth_for_all_is_refused_before_rows_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, sharp = plan_of(replace(LINE, rows=2, **PUBLIC), epsilon="6", depth=1).counted_depths(
        2.0
    )  # type: ignore[attr-defined]
    monkeypatch.setattr(TopDownPlan, "counted_depths", lambda _plan, _records: (2, sharp))
    looked = []
    monkeypatch.setattr(
        counts, "by_part", lambda *_, **__: looked.append(1) or np.array([2, 0])
    )
    session = exact.open_session(
        exact.rows_of(((0,), (0,)), TWO.domain),
        domain=TWO.domain,
        cap=TWO.loss,
        sampler=NoNoise((), low=0, high=2),
    )
    with pytest.raises(BudgetExceeded):
        TWO.run(session)
    assert len(looked) == 1
