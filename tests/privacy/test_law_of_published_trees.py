"""`adaptive-basic`, `adaptive-improved`, `privtree`, and `adaptive` of texts: the exact law of all answers of
a run on tiny tables, and mutants that must not survive."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import numpy as np
import pytest

from synth_engine.domain import Categorical, Domain, Integer, Weak
from synth_engine.measurement import Counts, Noise
from synth_engine.mechanisms.trees import (
    adaptive,
    remeasured,
    string_covariates,
    threshold_tree,
)
from synth_engine.plans.plan import Plan
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from synth_engine.values import from_json
from tests import plans
from tests.privacy import exact
from tests.privacy.exact import Replay

LINE = Domain(attributes=(Integer(name="x", low=0, high=1, width=1),))
LONGER = Domain(attributes=(Integer(name="x", low=0, high=3, width=1),))
SIGNS = from_json({"set": "strings", "alphabet": "ab", "min_length": 0, "max_length": 1})
TEXTS = Domain(attributes=(Weak(name="word", values=SIGNS),))


plan_of = partial(plans.plan_of, epsilon="2")


def program_of(plan: Plan) -> exact.Program:
    def program(session: RoomSession, _rows: Rows) -> Hashable:
        answers = plan.run(session)
        (grown,) = answers.growths
        seen = tuple(tuple(one.tolist()) for one in (*grown.opened, *grown.counts))
        counted = tuple(
            (one.partition.digest, *one.values.ravel().tolist()) for one in answers.leaves
        )
        return (
            tuple(int(m.values) for m in answers.measurements),
            seen,
            counted,
            session.spent,
            answers.calls,
        )

    return program


def worst(plan: Plan, *, most: int = 1, sampler: type[Replay] = Replay) -> float:
    return exact.loss_of_run(program_of(plan), plan, most=most, sampler=sampler)


REPLACED = replace(LINE, relation=Relation.REPLACE_ONE, rows=1, invariants=("rows",))
PERSONS = replace(LINE, unit=PrivacyUnit(max_records=2))
CASES = [
    pytest.param(plan_of("adaptive-basic", LINE, clean=1), 1, 0.85, id="basic"),
    pytest.param(
        plan_of("adaptive-improved", TEXTS, growing=0.1), 1, 0.85, id="improved, texts"
    ),
    pytest.param(
        plan_of("adaptive-improved", PERSONS, growing=0.1), 2, 0.85, id="improved, persons"
    ),
    pytest.param(plan_of("adaptive-basic", PERSONS, clean=1), 2, 0.85, id="basic, persons"),
    pytest.param(plan_of("privtree", LINE, growing=0.1), 1, 0.85, id="privtree"),
    pytest.param(plan_of("privtree", PERSONS, growing=0.1), 2, 0.85, id="privtree, persons"),
    pytest.param(
        plan_of("adaptive-improved", REPLACED, growing=0.1), 1, 0.45, id="improved, replaced"
    ),
    # where a record is replaced one end gains and another loses, and below a threshold a loss hardly shows
    pytest.param(plan_of("privtree", REPLACED, growing=0.05), 1, 0.45, id="privtree, replaced"),
]


@pytest.mark.parametrize(("plan", "most", "tight"), CASES)
def test_all_answers_together_lose_what_is_claimed_and_little_less(
    plan: Plan, most: int, tight: float
) -> None:
    found = worst(plan, most=most)
    assert tight * plan.epsilon < found < inf


@pytest.mark.parametrize("mutant", [None, "OccupiedNodes"])
@pytest.mark.parametrize(
    "own",
    [{}, {"discount": "fullest", "parts": 2}, {"discount_records": 12}],
    ids=["by chance", "parts of the fullest", "more than the least"],
)
def test_where_nodes_below_may_be_opened_a_record_loses_no_more(
    mutant: str | None, own: dict[str, Any]
) -> None:
    plan = plan_of("adaptive-improved", LONGER, growing=0.1, threshold=1, **own)
    sampler = OccupiedNodes if mutant else Replay
    laws = {
        table: exact.law_of(
            program_of(plan), table, domain=LONGER, cap=plan.loss, high=1, sampler=sampler
        )
        for table in ((), ((2,),))
    }
    ratio, _ = exact.worst_ratio(laws, iter([((), ((2,),)), (((2,),), ())]))
    assert exact.proves(ratio, epsilon=plan.epsilon + exact.SLACK) == (mutant is None)


def test_adaptive_of_texts_loses_no_more_than_is_claimed() -> None:
    assert (
        0.4 * 2 < worst(plan_of("adaptive", TEXTS)) < inf
    )  # nodes of one sign are never opened: half of it is not used


SHORT = from_json({"set": "strings", "alphabet": "a", "min_length": 1, "max_length": 1})
BESIDE = Domain(
    attributes=(
        Weak(name="word", values=SHORT),
        Categorical(name="trade", values=("k", "l"), outside="clamp"),
    )
)


def divide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every count that is not zero is kept, and every part with records is divided."""
    monkeypatch.setattr(
        adaptive, "TEXT_SETTINGS", threshold_tree.Settings(rule="improved", clean=0)
    )
    for module in (string_covariates, remeasured):
        monkeypatch.setattr(module, "_RECORDS_PER_NOISE", 0.01)


def partitions(plan: Plan) -> int:
    """By how many sets of parts the last table is counted, branch by branch."""
    law = exact.law_of(program_of(plan), ((0, 0),), domain=plan.domain, cap=plan.loss, high=1)
    return len({outcome[2][-1][0] for outcome in law})  # type: ignore[index]


@pytest.mark.parametrize("divided", [False, True])
def test_texts_with_a_column_beside_them_lose_no_more_than_is_claimed(
    divided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the column is counted by texts that noise has found, which are other ones in other
    branches."""
    if divided:
        divide(monkeypatch)
    plan = plan_of("adaptive", BESIDE)
    assert (partitions(plan) > 1) == divided
    assert 0.6 * 2 < worst(plan) < inf


@pytest.mark.parametrize("divided", [False, True])
def test_texts_and_a_column_in_one_tree_lose_no_more_than_is_claimed(
    divided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where parts are counted that noise has found, which are other ones in other branches."""
    if divided:
        divide(monkeypatch)
    plan = plan_of("adaptive", BESIDE, together="product")
    assert (partitions(plan) > 1) == divided
    assert 0.5 * 2 < worst(plan) < inf


class HalvedTables(Replay):
    """Half of the noise on counts by a column."""

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        return super().counts(
            vector, replace(noise, scale=noise.scale / 2) if vector.size > 1 else noise
        )


class HalvedEnds(Replay):
    def reaching(self, count: int, *, threshold: int, noise: Noise) -> int:
        return super().reaching(
            count, threshold=threshold, noise=replace(noise, scale=noise.scale / 2)
        )


class OccupiedEnds(Replay):
    def above_threshold(self, vector: Counts, *, threshold: int, noise: Noise) -> Counts:
        return np.where(
            vector > 0, super().above_threshold(vector, threshold=threshold, noise=noise), 0
        )


class ExactTotal(Replay):
    def counts(self, vector: Counts, noise: Noise) -> Counts:
        return vector if vector.size == 1 else super().counts(vector, noise)


@pytest.mark.parametrize("mutant", [ExactTotal, HalvedTables])
def test_a_mistake_beside_texts_is_noticed(mutant: type[Replay]) -> None:
    assert worst(plan_of("adaptive", BESIDE), sampler=mutant) == inf


@pytest.mark.parametrize("mutant", [ExactTotal, HalvedEnds, OccupiedEnds])
def test_a_mistake_in_one_tree_with_texts_is_noticed(mutant: type[Replay]) -> None:
    assert worst(plan_of("adaptive", BESIDE, together="product"), sampler=mutant) == inf


class OccupiedNodes(Replay):
    def passes(self, score: int, threshold: int, noise: Noise) -> bool:
        return score > 0 and super().passes(score, threshold, noise)


@pytest.mark.parametrize("mutant", [HalvedEnds, OccupiedEnds, ExactTotal])
@pytest.mark.parametrize("name", ["adaptive-basic", "adaptive-improved", "privtree"])
def test_a_mistake_is_noticed(name: str, mutant: type[Replay]) -> None:
    assert worst(plan_of(name, LINE, growing=0.1), sampler=mutant) == inf


@pytest.mark.parametrize("mutant", [exact.ActiveDomain, exact.HalvedScale])
def test_a_mistake_in_the_basic_rule_is_noticed(mutant: type[Replay]) -> None:
    assert worst(plan_of("adaptive-basic", LINE), sampler=mutant) == inf
