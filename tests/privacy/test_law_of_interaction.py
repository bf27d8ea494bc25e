"""`interaction` on tiny domains: the exact law over all neighbours, how far Gaussian answers move, and
mistakes that must be noticed."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth_engine.domain import Domain
from synth_engine.errors import BudgetExceeded, PrivacyError, VerificationError
from synth_engine.measurement import Answers, Measurement, Merged, Noise
from synth_engine.plans import budget_allocation
from synth_engine.privacy import unit as units
from synth_engine.privacy.events import RoundedGaussian
from synth_engine.privacy.loss import GaussianDP, Pure
from synth_engine.privacy.unit import (
    PrivacyUnit,
    Relation,
    Sensitivity,
    interaction_sensitivity,
)
from synth_engine.room import counts
from synth_engine.room import noise as noise_of_room
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from synth_engine.verifier import calls as verifier_calls
from tests.answers import replaced
from tests.privacy import exact
from tests.privacy.exact import Table, domain_of, pairs_of
from tests.privacy.test_law_of_score import Recorder

EPSILON = Fraction(7, 5)
CAP = Pure(epsilon=EPSILON)
MERGED: Merged = {"b": np.array([0, 1, 0])}


def moving(domain: Domain) -> Sensitivity:
    return interaction_sensitivity(domain.unit, domain.relation, sizes=domain.shape(("a", "b")))


def asked(session: RoomSession, rows: Rows) -> Hashable:
    noise = budget_allocation.noise(CAP, moving(session.domain))
    return tuple(session.interaction(("a", "b"), noise=noise).values.ravel().tolist())


def loss_of(
    domain: Domain, *, most: int = 2, sampler: type[exact.Replay] = exact.Replay, high: int = 1
) -> Any:
    cap = Pure(epsilon=9 * EPSILON)
    return exact.largest_ratio(asked, domain, cap=cap, most=most, high=high, sampler=sampler)


SETTINGS = [
    pytest.param(domain_of(2, 2), 1.0, id="2x2"),
    pytest.param(domain_of(2, 3), 1.0, id="2x3"),
    pytest.param(domain_of(2, 2, relation=Relation.REPLACE_ONE), 1.0, id="2x2, replaced"),
    pytest.param(domain_of(2, 2, max_records=2), 1.0, id="2x2, two records a person"),
]


@pytest.mark.parametrize(("domain", "tight"), SETTINGS)
def test_the_law_keeps_to_the_loss_that_was_paid(domain: Domain, tight: float) -> None:
    ratio = loss_of(domain)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) > 0.99 * tight * float(EPSILON)


def test_replacing_a_record_of_six_cells_costs_no_more_than_is_said() -> None:
    ratio = loss_of(domain_of(2, 3, relation=Relation.REPLACE_ONE))
    assert exact.proves(ratio, epsilon=EPSILON)


class AsOfCounts(exact.Replay):
    """The noise that a table of counts would need, on an interaction."""

    def cell(self, count: int, noise: Noise) -> int:
        return super().cell(count, replace(noise, scale=Fraction(float(1 / EPSILON))))


@pytest.mark.parametrize("sampler", [AsOfCounts, exact.HalvedScale])
def test_too_little_noise_is_noticed(sampler: type[exact.Replay]) -> None:
    assert exact.worst_epsilon(loss_of(domain_of(2, 2), sampler=sampler)) > 1.15 * float(
        EPSILON
    )


def test_bins_read_from_the_data_are_noticed() -> None:
    domain = domain_of(2, 3)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        seen = counts.contingency(rows, ("b",)) > 0
        bins = np.array([0, 1, 0]) if seen[1] else np.array([0, 1, 1])
        noise = Noise(law="discrete-laplace", scale=Fraction(4))
        found = session.interaction(("a", "b"), noise=noise, merged={"b": bins})
        return tuple(bins.tolist()), tuple(found.values.ravel().tolist())

    laws = {
        table: exact.law_of(program, table, domain=domain, cap=CAP, high=1)
        for table in exact.tables(domain, most=1)
    }
    assert exact.worst_ratio(laws, pairs_of(domain, most=1))[0] == float("inf")


# ---- Gaussian noise: how far what it is added to moves
# -----------------------------------------------------------


def lengths(
    domain: Domain, pairs: Iterator[tuple[Table, Table]], merged: Merged | None
) -> Iterator[int]:
    """Squared distances of what noise is added to, for each pair of tables."""
    known: dict[Table, np.ndarray[Any, Any]] = {}
    for pair in pairs:
        for table in pair:
            if table not in known:
                recorder: Any = Recorder()
                room = open_session(
                    exact.rows_of(table, domain),
                    domain=domain,
                    cap=GaussianDP(mu_squared=Fraction(10**6)),
                    sampler=recorder,
                )
                room.interaction(
                    domain.names,
                    noise=Noise(law="rounded-gaussian", scale=Fraction(3)),
                    merged=merged,
                )
                known[table] = recorder.vectors[0]
        yield int(((known[pair[0]] - known[pair[1]]) ** 2).sum())


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(
    ("shape", "merged"),
    [((2, 2), None), ((3, 4), None), ((2, 3), MERGED), ((2, 3, 4), None), ((3,), None)],
    ids=str,
)
def test_gaussian_answers_move_just_as_far_as_was_paid_for(
    relation: Relation, shape: tuple[int, ...], merged: Merged | None
) -> None:
    domain = domain_of(*shape, relation=relation)
    counted = [
        int(merged[name].max()) + 1 if merged and name in merged else domain.sizes[name]
        for name in domain.names
    ]
    paid = interaction_sensitivity(domain.unit, relation, sizes=counted).l2_squared
    assert max(lengths(domain, pairs_of(domain, most=2), merged)) == paid


def test_nor_do_those_of_two_records_a_person() -> None:
    domain = domain_of(2, 3, max_records=2)
    assert max(lengths(domain, pairs_of(domain, most=3), None)) == moving(domain).l2_squared


def test_two_records_that_replace_two_others_move_it_twice_as_far_as_one() -> None:
    domain = domain_of(3, 3, relation=Relation.REPLACE_ONE)
    tables = list(exact.tables(domain, most=2))
    twos = ((x, y) for x in tables for y in tables)
    of_two = interaction_sensitivity(
        PrivacyUnit(max_records=2), Relation.REPLACE_ONE, sizes=(3, 3)
    ).l2_squared
    assert max(lengths(domain, twos, None)) == of_two


# ---- what it says, and what is refused
# ---------------------------------------------------------------------------


def room(table: Table = (), *, cap: Any = CAP, domain: Domain | None = None) -> RoomSession:
    chosen = domain or domain_of(2, 3)
    return open_session(exact.rows_of(table, chosen), domain=chosen, cap=cap)


def test_it_says_what_sums_do_not_say_and_no_more() -> None:
    assert not counts.interaction(np.add.outer([1, 3], [2, 1, 4])).any()
    table = np.array([[3, 0, 1], [1, 2, 2]])
    by_hand = (
        6 * table - 3 * table.sum(axis=0) - 2 * table.sum(axis=1, keepdims=True) + table.sum()
    )
    assert counts.interaction(table).tolist() == by_hand.tolist()
    sums = np.add.outer(table.sum(axis=1) * 2, table.sum(axis=0) * 3) - table.sum()
    assert ((counts.interaction(table) + sums) / 6).tolist() == table.tolist()


@pytest.mark.parametrize("shape", [(2, 2), (3, 5), (64, 64, 64)])
def test_no_number_of_records_makes_an_interaction_fail(shape: tuple[int, ...]) -> None:
    """Counts of any size move the contrast by no more than was paid for one record, and leave room for
    noise."""
    largest = np.iinfo(np.int64).max
    table = np.zeros(shape, dtype=np.int64)
    bound = noise_of_room.MAX_COUNT // prod(2 * (size - 1) for size in shape)
    paid = interaction_sensitivity(PrivacyUnit(), Relation.ADD_REMOVE, sizes=shape)
    corner, opposite = (0,) * len(shape), tuple(size - 1 for size in shape)
    for held in (bound - 1, bound, bound + 1, largest - 1):
        table[corner] = table[opposite] = held
        more = table.copy()
        more[corner] += 1
        moved = counts.interaction(more) - counts.interaction(table)
        assert np.abs(counts.interaction(more)).max() <= noise_of_room.MAX_COUNT
        assert np.abs(moved).sum() <= paid.l1
        assert bool(moved.any()) is (held < bound)
    noise = Noise(law="rounded-gaussian", scale=Fraction(16))
    assert noise_of_room.noisy(counts.interaction(table).ravel(), noise).size == table.size


def test_the_journal_says_how_many_bins_there_were() -> None:
    session = room(((0, 0), (1, 1)), cap=GaussianDP(mu_squared=Fraction(2**80)))
    found = session.interaction(
        ("a", "b"), noise=Noise(law="rounded-gaussian", scale=Fraction(1, 64)), merged=MERGED
    )
    assert found.interaction
    assert found.values.tolist() == [[2, -2], [-2, 2]]
    assert session.calls[0].query.bins == (2, 2)
    event = session.calls[0].event
    assert isinstance(event, RoundedGaussian)
    assert event.l2_squared == 4


def test_an_axis_of_one_cell_and_a_price_over_the_cap_are_refused_before_anything_is_counted() -> (
    None
):
    session = room()
    wide = Noise(law="rounded-gaussian", scale=Fraction(2**20))
    with pytest.raises(PrivacyError):
        session.interaction(("a", "b"), noise=wide, merged={"b": np.array([0, 0, 0])})
    with pytest.raises(PrivacyError):
        session.interaction((), noise=wide)
    with pytest.raises(BudgetExceeded):
        session.interaction(("a", "b"), noise=Noise(law="discrete-laplace", scale=Fraction(1)))
    assert session.calls == ()


def test_answers_keep_what_they_are_of_in_a_file(tmp_path: Path) -> None:
    session = room(((0, 0), (1, 1)), cap=GaussianDP(mu_squared=Fraction(99)))
    noise = Noise(law="rounded-gaussian", scale=Fraction(3))
    table = session.measure(("a", "b"), noise=noise)
    found = session.interaction(("a", "b"), noise=noise)
    answers = session.answers
    answers.save(tmp_path / "answers.npz")
    again = Answers.load(tmp_path / "answers.npz")
    assert again.digest == answers.digest
    assert [m.interaction for m in again.measurements] == [False, True]
    assert (
        replaced(answers, Measurement, (table, replace(found, interaction=False))).digest
        != answers.digest
    )


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("records", [1, 3])
def test_the_verifier_comes_to_the_same_sensitivities_by_its_own_way(
    relation: Relation, records: int
) -> None:
    receipt = {
        "unit": {"max_records": records, "column": None},
        "relation": relation.value,
        "invariants": [],
    }
    allowed = verifier_calls.allowed_by(receipt)
    for sizes in ((2, 2), (2, 5), (7, 3), (4, 4, 2), (6,)):
        ours = interaction_sensitivity(PrivacyUnit(max_records=records), relation, sizes=sizes)
        query = {"verb": "interaction", "bins": list(sizes)}
        assert verifier_calls._query_sensitivities(query, allowed) == {
            "l1": ours.l1,
            "l2_squared": ours.l2_squared,
        }


@pytest.mark.parametrize(
    "change",
    [
        {"bins": [3, 2]},
        {"bins": [6, 1]},
        {"bins": [2]},
        {"bins": None},
        {"bins": [2, 3], "cells": 4},
        {"verb": "measure"},
    ],
    ids=str,
)
def test_a_receipt_that_says_another_shape_is_refused(change: dict[str, Any]) -> None:
    domain = domain_of(2, 3, relation=Relation.REPLACE_ONE)
    session = room(cap=GaussianDP(mu_squared=Fraction(99)), domain=domain)
    session.interaction(("a", "b"), noise=Noise(law="rounded-gaussian", scale=Fraction(16)))
    call = session.calls[0]
    event = call.event
    assert isinstance(event, RoundedGaussian)
    honest: dict[str, Any] = {
        "query": call.query.to_json(),
        "noise": {"law": "rounded-gaussian", "sigma_squared": "256/1"},
        "sensitivity": {"l2_squared": event.l2_squared},
        "cost": {"rho": str(event.rho()) if "/" in str(event.rho()) else f"{event.rho()}/1"},
    }
    receipt = {
        "unit": {"max_records": 1, "column": None},
        "relation": "replace-one",
        "invariants": [],
    }
    allowed = verifier_calls.allowed_by(receipt)
    assert verifier_calls.cost_of(honest, 1, allowed).rho == event.rho()
    forged = honest | {"query": honest["query"] | change}
    if change == {
        "bins": [3, 2]
    }:  # as many cells, as long: the columns' order is the domain's, which no receipt holds
        assert verifier_calls.cost_of(forged, 1, allowed).rho == event.rho()
        return
    with pytest.raises(VerificationError):
        verifier_calls.cost_of(forged, 1, allowed)


def test_units_are_what_everything_else_goes_by() -> None:
    """One record moves an interaction less, for the size of what it is divided by, than it moves a table."""
    for sizes in ((2, 2), (4, 8), (3, 3, 3)):
        ours = interaction_sensitivity(
            PrivacyUnit(), Relation.ADD_REMOVE, sizes=sizes
        ).l2_squared
        cells = int(np.prod(sizes))
        assert (
            ours
            < units.histogram_sensitivity(PrivacyUnit(), Relation.ADD_REMOVE).l2_squared
            * cells**2
        )
