"""`dpsyn`, the whole of it on tiny domains: everything that leaves the room, its exact law, and mutants."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.errors import PrivacyError
from synth_engine.mechanisms.dpsyn import DPSynPlan
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from synth_engine.spec import Spec
from tests.privacy import exact
from tests.privacy.exact import Replay, domain_of

EPSILON = Fraction(7, 10)
PAIR: Mapping[str, Any] = {"cells": 6}
APART: Mapping[str, Any] = {"cells": 3}


def plan_of(domain: Domain, parameters: Mapping[str, Any]) -> DPSynPlan:
    plan = mechanisms.plan(
        domain, Spec(mechanism="dpsyn", epsilon=EPSILON, parameters=parameters)
    )
    assert isinstance(plan, DPSynPlan)
    return plan


def worst(
    domain: Domain,
    *,
    most: int,
    parameters: Mapping[str, Any] = PAIR,
    plan: DPSynPlan | None = None,
    sampler: type[Replay] = Replay,
    peek: bool = False,
) -> Fraction | float:
    """peek: a mutant that measures the views in an order that depends on rows."""
    chosen = plan or plan_of(domain, parameters)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        swapped = peek and rows.total and int(rows.codes(domain.names[0])[0])
        one = (
            replace(chosen, cliques=chosen.cliques[::-1], noises=chosen.noises[::-1])
            if swapped
            else chosen
        )
        answers = one.run(session)
        values = tuple(
            value for m in answers.measurements for value in m.values.ravel().tolist()
        )
        return values, answers.calls, session.spent

    cap = Pure(epsilon=100 * EPSILON) if plan or peek else chosen.loss
    return exact.largest_ratio(program, domain, cap=cap, most=most, sampler=sampler)


@pytest.mark.parametrize(
    ("domain", "most", "parameters"),
    [
        pytest.param(domain_of(2, 2), 2, PAIR, id="2x2, one view"),
        pytest.param(domain_of(2, 2), 2, APART, id="2x2, a view of each column"),
        pytest.param(domain_of(2, 3), 1, PAIR, id="2x3, one view"),
        pytest.param(domain_of(2, 3), 1, APART, id="2x3, a view of each column"),
        pytest.param(
            domain_of(2, 2, relation=Relation.REPLACE_ONE), 2, APART, id="2x2, replace one"
        ),
        pytest.param(domain_of(2, 2, max_records=2), 2, PAIR, id="2x2, two records a person"),
    ],
)
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_target(
    domain: Domain, most: int, parameters: Mapping[str, Any]
) -> None:
    ratio = worst(domain, most=most, parameters=parameters)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON, (
        "a claim this loose would hide a defect"
    )


@pytest.mark.parametrize(
    "sampler",
    [exact.HalvedScale, exact.ActiveDomain, exact.FrequencyScale],
    ids=lambda sampler: sampler.__name__,
)
@pytest.mark.parametrize("parameters", [PAIR, APART], ids=["one view", "a view of each column"])
def test_a_mutant_sampler_is_noticed(
    sampler: type[Replay], parameters: Mapping[str, Any]
) -> None:
    ratio = worst(domain_of(2, 2), most=2, parameters=parameters, sampler=sampler)
    assert exact.worst_epsilon(ratio) > 1.15 * EPSILON


def test_every_view_with_the_whole_epsilon_is_noticed() -> None:
    """There is no parallel composition over views: one record is in a cell of each."""
    honest = plan_of(domain_of(2, 2), APART)
    scale = plan_of(domain_of(2, 2), PAIR).noises[0].scale
    mutant = replace(
        honest, noises=tuple(replace(noise, scale=scale) for noise in honest.noises)
    )
    assert exact.worst_epsilon(worst(domain_of(2, 2), most=2, plan=mutant)) > 1.9 * EPSILON


def test_views_chosen_by_looking_at_rows_are_noticed() -> None:
    assert exact.worst_epsilon(
        worst(domain_of(2, 2), most=1, parameters=APART, peek=True)
    ) == float("inf")


def test_the_room_answers_no_other_view_than_those_planned() -> None:
    plan = plan_of(domain_of(2, 2), APART)
    rows = exact.rows_of(((0, 1),), plan.domain)
    replay = Replay((), low=0, high=1)
    session = exact.open_session(
        rows, domain=plan.domain, cap=plan.loss, sampler=replay, planned=plan.calls
    )
    with pytest.raises(PrivacyError, match="not the next one planned"):
        session.measure(plan.cliques[1], noise=plan.noises[1])
