"""`divide` and `boxes`: the exact law of choosing a column for each box and of counting boxes, mutants, and
what both verifiers make of them."""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any

import numpy as np
import pytest

from synth_engine.domain import Domain
from synth_engine.errors import BudgetExceeded, PrivacyError, VerificationError
from synth_engine.hierarchy import UNDIVIDED, Boxes, ClassTree
from synth_engine.indexing import classes
from synth_engine.measurement import Call, Noise
from synth_engine.plans.plan import Plan
from synth_engine.privacy.events import Gumbel
from synth_engine.privacy.loss import Loss, Pure, ZeroConcentrated
from synth_engine.privacy.receipt import call_to_json
from synth_engine.privacy.unit import PrivacyUnit, Relation, histogram_sensitivity
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from synth_engine.verifier import calls as verifier_calls
from synth_engine.verifier import receipt as verifier_receipt
from synth_engine.verifier.receipt import verify
from tests import plans
from tests.privacy import exact
from tests.privacy.exact import Law, Replay, Table, domain_of, pairs_of
from tests.privacy.test_law_of_select import renyi_sum

EPSILON = Fraction(8)  # so that scores of a few records apart show nearly all of the loss
PURE, RHO = Pure(epsilon=Fraction(100)), ZeroConcentrated(rho=Fraction(5000))
MOST = 5


def scale_of(domain: Domain) -> Fraction:
    sensitivity = histogram_sensitivity(domain.unit, domain.relation)
    return Pure(epsilon=EPSILON).selection_scale(sensitivity.linf, monotonic=True)


def whole(domain: Domain) -> Boxes:
    return Boxes(trees=classes.class_trees(domain))


def halves(domain: Domain) -> Boxes:
    """Two boxes, by the values of the first column."""
    return whole(domain).divided(np.array([0]))


def laws(
    domain: Domain,
    cap: Loss,
    boxes: Boxes,
    *,
    scale: Fraction | None = None,
    sampler: type[Replay] = Replay,
    most: int = MOST,
) -> dict[Table, Law]:
    among = boxes.child_counts > 0

    def program(session: RoomSession, _rows: Rows) -> Hashable:
        division = session.divide(boxes, among=among, scale=scale or scale_of(domain))
        return tuple(division.choices.tolist()), session.calls

    return {
        table: exact.law_of(program, table, domain=domain, cap=cap, high=most, sampler=sampler)
        for table in exact.tables(domain, most=most)
    }


def worst(
    domain: Domain,
    cap: Loss = PURE,
    *,
    boxes: Boxes | None = None,
    most: int = MOST,
    **given: Any,
) -> float:
    """The largest loss over all neighbours; infinite where it is above the claim."""
    pairs = pairs_of(domain, most=most)
    found = laws(domain, cap, boxes or whole(domain), most=most, **given)
    ratio, compared = exact.worst_ratio(found, pairs)
    assert compared > 50
    return exact.loss_within(ratio, claim=EPSILON)


@pytest.mark.parametrize("cap", [PURE, RHO], ids=["permute-and-flip", "gumbel"])
@pytest.mark.parametrize("relation", list(Relation), ids=lambda one: one.value)
def test_no_neighbours_are_told_apart_by_more_than_the_claim(
    cap: Loss, relation: Relation
) -> None:
    assert 0.9 * EPSILON < worst(domain_of(2, 2, relation=relation), cap) < inf


@pytest.mark.parametrize("cap", [PURE, RHO], ids=["permute-and-flip", "gumbel"])
@pytest.mark.parametrize("relation", list(Relation), ids=lambda one: one.value)
def test_choices_of_several_boxes_cost_what_one_costs(cap: Loss, relation: Relation) -> None:
    domain = domain_of(2, 2, 2, relation=relation)
    found = worst(domain, cap, boxes=halves(domain), most=3)
    assert 0.4 * EPSILON < found < inf


def test_a_unit_with_records_in_two_boxes_pays_for_both() -> None:
    domain = replace(domain_of(2, 2, 2), unit=PrivacyUnit(max_records=2))
    boxes = halves(domain)
    # A record in each box, and one more in each.
    assert 0.8 * EPSILON < worst(domain, boxes=boxes, most=4) < inf
    assert worst(domain, boxes=boxes, most=4, scale=scale_of(domain_of(2, 2, 2))) == inf


@pytest.mark.parametrize("cap", [PURE, RHO], ids=["permute-and-flip", "gumbel"])
@pytest.mark.parametrize(
    "sampler", [exact.HalvedScale, exact.ArgMax], ids=lambda one: one.__name__
)
def test_a_mutant_sampler_is_noticed(sampler: type[Replay], cap: Loss) -> None:
    assert worst(domain_of(2, 2), cap, sampler=sampler) == inf


def test_the_price_of_adding_is_too_low_for_replacing() -> None:
    domain = domain_of(2, 2, relation=Relation.REPLACE_ONE)
    assert worst(domain, scale=scale_of(domain_of(2, 2))) == inf


def test_a_record_that_is_counted_in_every_box_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Boxes that overlap: the choice of each tells of every record."""
    domain = domain_of(2, 2, 2)
    real = counts.largest_children

    def overlapping(rows: Rows, boxes: Boxes, among: np.ndarray) -> np.ndarray:
        root = whole(domain)
        of_all = real(rows, root, root.child_counts > 0)
        return np.where(among, np.repeat(of_all, len(boxes), axis=0), 0)

    monkeypatch.setattr(counts, "largest_children", overlapping)
    assert worst(domain, boxes=halves(domain), most=3) == inf


def test_scores_that_move_both_ways_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = domain_of(2, 2)
    real = counts.largest_children

    def squares(rows: Rows, boxes: Boxes, among: np.ndarray) -> np.ndarray:
        return real(rows, boxes, among) ** 2

    monkeypatch.setattr(counts, "largest_children", squares)
    assert worst(domain) == inf


@pytest.mark.parametrize("alpha", [2, 8])
def test_gumbel_noise_of_several_boxes_costs_an_eighth_of_the_squared_epsilon_in_rho(
    alpha: int,
) -> None:
    domain = domain_of(2, 2, 2)
    rho = Gumbel(scale=scale_of(domain), linf=1, monotonic=True).rho()
    found = laws(domain, RHO, halves(domain), most=3)
    largest = max(
        renyi_sum(found[x], found[y], alpha=alpha)
        for x, y in exact.add_remove_pairs(domain, most=3)
    )
    assert exact.proves(largest, epsilon=(alpha - 1) * alpha * rho)


# ---- the whole run
# -------------------------------------------------------------------------------------------------
plan_of = partial(plans.plan_of, "generalize", k=1, divided="apart")


def program_of(plan: Plan) -> exact.Program:
    def program(session: RoomSession, _rows: Rows) -> Hashable:
        answers = plan.run(session)
        values = tuple(
            (line.call.query.verb, *map(tuple, _numbers(line.answer)))
            for line in answers.answered
        )
        return values, session.spent, answers.calls

    return program


def _numbers(answer: Any) -> list[list[int]]:
    given = answer.choices if hasattr(answer, "choices") else answer.values
    return [given.ravel().tolist()]


PUBLIC_ROWS = replace(
    domain_of(2, 2, relation=Relation.REPLACE_ONE), rows=2, invariants=("rows",)
)
CASES = [
    (plan_of(domain_of(2, 2), epsilon="40", rest="any"), 2),
    (plan_of(PUBLIC_ROWS, epsilon="40", rest="any"), 2),
]


@pytest.mark.parametrize(("plan", "most"), CASES)
def test_all_answers_together_lose_what_is_claimed_and_little_less(
    plan: Plan, most: int
) -> None:
    found = exact.loss_of_run(program_of(plan), plan, most=most)
    assert 0.9 * plan.epsilon < found < inf


@pytest.mark.parametrize("mutant", [exact.HalvedScale, exact.TruncatedNoise])
def test_a_mistake_in_a_run_is_noticed(mutant: type[Replay]) -> None:
    plan, most = CASES[1]
    assert exact.loss_of_run(program_of(plan), plan, most=most, sampler=mutant) == inf


# ---- what is refused before rows are looked at
# -----------------------------------------------------------------------
def room(cap: str = "100", domain: Domain | None = None) -> RoomSession:
    domain = domain or domain_of(2, 2)
    return open_session(
        exact.rows_of(((0, 1),) * 9, domain), domain=domain, cap=Pure(epsilon=Fraction(cap))
    )


def test_boxes_that_could_overlap_are_refused() -> None:
    session = room()
    tree = classes.class_trees(domain_of(2, 2))[0]
    # Code 1 lies in the class of code 0 as well.
    overlapping = ClassTree(
        column=tree.column, children=tree.children, child_of=np.zeros_like(tree.child_of)
    )
    foreign = ClassTree(column="z", children=tree.children, child_of=tree.child_of)
    for trees in [(overlapping,), (foreign,), (tree, tree), ()]:
        with pytest.raises(PrivacyError):
            session.boxes(
                Boxes(trees=trees), noise=Noise(law="discrete-laplace", scale=Fraction(1))
            )
    assert session.calls == ()


def test_what_is_no_division_or_too_dear_is_refused() -> None:
    session, boxes = room(), whole(domain_of(2, 2))
    for among in ([[False, False]], [[True]], [[1, 0]], [[True, True], [True, True]]):
        with pytest.raises(PrivacyError):
            session.divide(boxes, among=np.array(among), scale=Fraction(1))
    single = halves(domain_of(2, 2))
    with pytest.raises(PrivacyError):
        session.divide(
            single, among=np.array([[True, False], [False, False]]), scale=Fraction(1)
        )
    with pytest.raises(BudgetExceeded):
        room("1/2").divide(boxes, among=np.array([[True, True]]), scale=Fraction(1))
    assert session.calls == ()


@pytest.mark.parametrize(
    "choices", [[2], [-2], [0, 0], [0.0]], ids=["column", "below", "boxes", "floats"]
)
def test_a_round_of_other_boxes_is_refused(choices: list[Any]) -> None:
    with pytest.raises(PrivacyError):
        whole(domain_of(2, 2)).divided(np.array(choices))


def test_a_box_of_a_single_value_is_not_divided_further() -> None:
    boxes = halves(domain_of(2, 2))
    with pytest.raises(PrivacyError):
        boxes.divided(np.array([0, UNDIVIDED]))


# ---- the verifiers
# ---------------------------------------------------------------------------------------------------
def lines(domain: Domain) -> tuple[list[dict], verifier_calls.Allowed, tuple[Call, ...]]:
    session, boxes = room(domain=domain), whole(domain)
    division = session.divide(boxes, among=np.array([[True, True]]), scale=Fraction(3))
    session.boxes(
        boxes.divided(division.choices), noise=Noise(law="discrete-laplace", scale=Fraction(2))
    )
    receipt = {
        "unit": {"max_records": domain.unit.max_records, "column": None},
        "relation": domain.relation.value,
        "invariants": [],
    }
    written = [call_to_json(call.query.to_json(), call.event) for call in session.calls]
    return written, verifier_calls.allowed_by(receipt), session.calls


@pytest.mark.parametrize(
    ("m", "relation"), [(1, "add-remove"), (3, "add-remove"), (2, "replace-one")]
)
def test_the_verifier_finds_the_same_price(m: int, relation: str) -> None:
    domain = domain_of(2, 2, relation=Relation(relation))
    written, allowed, calls = lines(replace(domain, unit=PrivacyUnit(max_records=m)))
    moved = m * (2 if relation == "replace-one" else 1)
    for line, call, scale in zip(written, calls, (3, 2), strict=True):
        cost = verifier_calls.cost_of(line, 1, allowed)
        assert cost.epsilon == call.event.pure_epsilon() == Fraction(moved, scale)
        assert (cost.rho, cost.mu_squared) == (call.event.rho(), call.event.mu_squared())
        assert Call.from_json(call.to_json()) == call


@pytest.mark.parametrize(
    ("line", "part", "changes"),
    [
        (0, "query", {"verb": "boxes"}),
        (0, "query", {"clique": []}),
        (0, "query", {"clique": ["a", "a"]}),
        (0, "query", {"parts": 0}),
        (0, "query", {"parts": 3}),
        (0, "query", {"by": ["a"]}),
        (0, "query", {"cells": 1}),
        (0, "noise", {"monotonic": False}),
        (0, "noise", {"scale": "6/1"}),
        (0, "noise", {"law": "discrete-laplace"}),
        (0, "sensitivity", {"linf": 2}),
        (0, "cost", {"epsilon": "1/6"}),
        (1, "query", {"verb": "divide"}),
        (1, "query", {"parts": 1}),
        (1, "query", {"cells": 3}),
        (1, "query", {"by": ["a"]}),
        (1, "noise", {"scale": "4/1"}),
        (1, "sensitivity", {"l1": 2}),
        (1, "cost", {"epsilon": "1/4"}),
    ],
)
def test_the_verifier_refuses_what_does_not_add_up(line: int, part: str, changes: dict) -> None:
    written, allowed, _ = lines(domain_of(2, 2))
    call = written[line]
    verifier_calls.cost_of(call, 1, allowed)
    with pytest.raises(VerificationError):
        verifier_calls.cost_of(call | {part: call[part] | changes}, 1, allowed)


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_a_receipt_of_a_run_verifies(delta: str) -> None:
    domain = domain_of(3, 2, 2)
    plan = plan_of(domain, epsilon="4", delta=delta)
    table = tuple((n % 3, n % 2, n % 5 % 2) for n in range(60))
    session = open_session(exact.rows_of(table, domain), domain=domain, cap=plan.loss)
    answers = plan.run(session)
    verbs = {call.query.verb for call in answers.calls}
    assert verbs == {"measure", "divide", "boxes"}
    document = json.loads(json.dumps(plan.receipt(answers)))
    assert verify(document).plan == document["plan"]["sha256"]


@pytest.mark.parametrize("verb", ["divide", "boxes"])
def test_a_static_method_that_learned_its_columns_has_no_such_call(verb: str) -> None:
    counted = {"verb": "measure", "clique": ["a"]}
    verifier_receipt._check_calls_after_learning("independent", [counted])
    with pytest.raises(VerificationError, match="not the ones that this mechanism makes"):
        verifier_receipt._check_calls_after_learning(
            "independent", [counted, {"verb": verb, "clique": ["a"]}]
        )
