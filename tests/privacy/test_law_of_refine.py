"""`refine`: the exact law of choosing a column on tiny domains, mutants, and what the verifier makes of
it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
import pytest

from synth_engine.domain import Domain
from synth_engine.errors import BudgetExceeded, PrivacyError, VerificationError
from synth_engine.measurement import Call, Clique
from synth_engine.privacy.events import Gumbel
from synth_engine.privacy.loss import Loss, Pure, ZeroConcentrated
from synth_engine.privacy.receipt import call_to_json
from synth_engine.privacy.unit import PrivacyUnit, Relation, histogram_sensitivity
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from synth_engine.verifier import calls as verifier_calls
from tests.privacy import exact
from tests.privacy.exact import Law, Replay, Table, domain_of, pairs_of
from tests.privacy.test_law_of_select import renyi_sum

EPSILON = Fraction(8)  # so that scores of a few records apart show nearly all of the loss
PURE, RHO = Pure(epsilon=Fraction(100)), ZeroConcentrated(rho=Fraction(5000))
MOST = 5
QUESTIONS: list[tuple[Clique, tuple[str, ...]]] = [
    ((), ("a", "b")),
    (("a",), ("b",)),
    ((), ("b", "a")),
]


def scale_of(domain: Domain) -> Fraction:
    sensitivity = histogram_sensitivity(domain.unit, domain.relation)
    return Pure(epsilon=EPSILON).selection_scale(sensitivity.linf, monotonic=True)


def laws(
    domain: Domain,
    cap: Loss,
    *,
    chosen: Clique = (),
    candidates: tuple[str, ...] = ("a", "b"),
    scale: Fraction | None = None,
    sampler: type[Replay] = Replay,
    most: int = MOST,
) -> dict[Table, Law]:
    def program(session: RoomSession, _rows: Rows) -> Hashable:
        return session.select_split(
            chosen, candidates, scale=scale or scale_of(domain)
        ), session.calls

    return {
        table: exact.law_of(program, table, domain=domain, cap=cap, high=most, sampler=sampler)
        for table in exact.tables(domain, most=most)
    }


def worst(domain: Domain, cap: Loss = PURE, *, most: int = MOST, **mutation: object) -> float:
    """The largest loss over all neighbours; infinite where an answer is possible for one of them alone."""
    pairs = pairs_of(domain, most=most)
    ratio, compared = exact.worst_ratio(laws(domain, cap, most=most, **mutation), pairs)
    assert compared > 50
    return exact.loss_within(
        ratio, claim=EPSILON
    )  # permute-and-flip uses up the claim to the last


@pytest.mark.parametrize("cap", [PURE, RHO], ids=["permute-and-flip", "gumbel"])
@pytest.mark.parametrize("relation", list(Relation), ids=lambda one: one.value)
def test_no_neighbours_are_told_apart_by_more_than_the_claim(
    cap: Loss, relation: Relation
) -> None:
    assert 0.9 * EPSILON < worst(domain_of(2, 2, relation=relation), cap) < inf


@pytest.mark.parametrize("cap", [PURE, RHO], ids=["permute-and-flip", "gumbel"])
def test_groups_that_are_divided_already_cost_no_more(cap: Loss) -> None:
    domain = domain_of(2, 2, 2)
    names = domain.names
    found = worst(domain, cap, chosen=names[:1], candidates=names[1:], most=4)
    assert 0.5 * EPSILON < found < inf


def test_a_unit_of_two_records_pays_twice() -> None:
    domain = replace(domain_of(2, 2), unit=PrivacyUnit(max_records=2))
    assert 0.9 * EPSILON < worst(domain) < inf
    assert worst(domain, scale=scale_of(domain_of(2, 2))) == inf


@pytest.mark.parametrize("cap", [PURE, RHO], ids=["permute-and-flip", "gumbel"])
@pytest.mark.parametrize(
    "sampler", [exact.HalvedScale, exact.ArgMax], ids=lambda one: one.__name__
)
def test_a_mutant_sampler_is_noticed(sampler: type[Replay], cap: Loss) -> None:
    assert worst(domain_of(2, 2), cap, sampler=sampler) == inf


def test_the_price_of_adding_is_too_low_for_replacing() -> None:
    domain = domain_of(2, 2, relation=Relation.REPLACE_ONE)
    assert worst(domain, scale=scale_of(domain_of(2, 2))) == inf


def _both_ways(table: np.ndarray) -> int:
    return int((table.max(axis=-1) - table.min(axis=-1)).sum())


def _squares(table: np.ndarray) -> int:
    return int((table**2).sum())


@pytest.mark.parametrize("score", [_both_ways, _squares])
def test_a_score_that_moves_otherwise_is_noticed(
    score: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "largest_classes", score)
    assert worst(domain_of(2, 2)) == inf


@pytest.mark.parametrize("alpha", [2, 3, 8])
def test_gumbel_noise_costs_an_eighth_of_the_squared_epsilon_in_rho(alpha: int) -> None:
    domain = domain_of(2, 2)
    rho = Gumbel(scale=scale_of(domain), linf=1, monotonic=True).rho()
    found = laws(domain, RHO)
    largest = max(
        renyi_sum(found[x], found[y], alpha=alpha)
        for x, y in exact.add_remove_pairs(domain, most=MOST)
    )
    assert exact.proves(largest, epsilon=(alpha - 1) * alpha * rho)


def test_the_score_counts_who_is_in_the_largest_class_of_each_group() -> None:
    assert counts.largest_classes(np.array([[3, 1], [0, 5]])) == 8
    assert counts.largest_classes(np.array([2, 7, 7])) == 7


def room(cap: str = "100", domain: Domain | None = None) -> RoomSession:
    domain = domain or domain_of(2, 2)
    return open_session(
        exact.rows_of(((0, 1),) * 9, domain), domain=domain, cap=Pure(epsilon=Fraction(cap))
    )


def test_what_is_no_division_or_too_dear_is_refused_before_rows_are_looked_at() -> None:
    session = room()
    for chosen, candidates in [((), ()), (("a",), ("a",)), (("a", "a"), ("b",))]:
        with pytest.raises(PrivacyError):
            session.select_split(chosen, candidates, scale=Fraction(1))
    with pytest.raises(BudgetExceeded):
        room("1/2").select_split((), ("a", "b"), scale=Fraction(1))
    assert session.calls == ()


def line(domain: Domain) -> tuple[dict, verifier_calls.Allowed, Call]:
    session = room(domain=domain)
    session.select_split(("a",), ("b",), scale=Fraction(3))
    receipt = {
        "unit": {"max_records": domain.unit.max_records, "column": None},
        "relation": domain.relation.value,
        "invariants": [],
    }
    call = session.calls[0]
    return (
        call_to_json(call.query.to_json(), call.event),
        verifier_calls.allowed_by(receipt),
        call,
    )


@pytest.mark.parametrize(
    ("m", "relation"), [(1, "add-remove"), (3, "add-remove"), (2, "replace-one")]
)
def test_the_verifier_finds_the_same_price(m: int, relation: str) -> None:
    domain = domain_of(2, 2, relation=Relation(relation))
    written, allowed, call = line(replace(domain, unit=PrivacyUnit(max_records=m)))
    cost = verifier_calls.cost_of(written, 1, allowed)
    assert (
        cost.epsilon
        == call.event.pure_epsilon()
        == Fraction(m * (2 if relation == "replace-one" else 1), 3)
    )
    assert (cost.rho, cost.mu_squared) == (call.event.rho(), call.event.mu_squared())
    assert Call.from_json(call.to_json()) == call


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("query", {"verb": "select"}),
        ("query", {"clique": ["a"]}),
        ("query", {"candidates": []}),
        ("query", {"candidates": [[]]}),
        ("query", {"candidates": [["a", "b"], ["b", "a"]]}),
        ("query", {"candidates": [["a", "b"], ["a", "b"]]}),
        ("query", {"candidates": [["a", "a"]]}),
        ("noise", {"monotonic": False}),
        ("noise", {"scale": "6/1"}),
        ("noise", {"law": "discrete-laplace"}),
        ("sensitivity", {"linf": 2}),
        ("cost", {"epsilon": "1/6"}),
    ],
)
def test_the_verifier_refuses_a_choice_that_does_not_add_up(part: str, changes: dict) -> None:
    written, allowed, _ = line(domain_of(2, 2))
    verifier_calls.cost_of(written, 1, allowed)
    with pytest.raises(VerificationError):
        verifier_calls.cost_of(written | {part: written[part] | changes}, 1, allowed)


def test_distances_from_a_reference_are_still_not_monotonic() -> None:
    written, allowed, _ = line(domain_of(2, 2))
    claimed = {
        "query": written["query"] | {"verb": "select"},
        "noise": written["noise"] | {"monotonic": True},
    }
    with pytest.raises(VerificationError):
        verifier_calls.cost_of(written | claimed, 1, allowed)
