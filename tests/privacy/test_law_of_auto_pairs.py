"""`auto` where it selects a tree of pairs, because noise would hide the scores of all: its exact law, and
mistakes that must be noticed (docs/proofs/auto.md)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth_engine import verifier
from synth_engine.domain import Domain
from synth_engine.measurement import Call, Candidate, Counts, Measurement
from synth_engine.mechanisms.auto import pair_selection
from synth_engine.mechanisms.auto.auto import AutoPlan
from synth_engine.mechanisms.auto.selection import Columns, Pair
from synth_engine.plans.plan import Plan
from synth_engine.privacy.loss import GaussianDP, Pure
from synth_engine.room.rows import Rows
from synth_engine.room.selection import SelectionLaw
from synth_engine.room.session import RoomSession, open_session
from tests import plans
from tests.privacy import coarse, exact
from tests.privacy.coarse import Coarse, Told
from tests.privacy.exact import Replay, Table, domain_of
from tests.privacy.test_law_of_auto_references import (
    CASES,
    DELTA,
    EPSILON,
    EPSILONS,
    THREE,
    References,
    both_ways,
    exceeds,
    plan_of,
)

FEW = Told((0, 2), few=-9, between=30, many=60, otherwise=20)
"""So few records that a tree is selected, whatever is told."""


class Selected:
    """Counts the selections among pairs."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.number = 0
        shipped = RoomSession.select

        def select(
            session: RoomSession, candidates: Sequence[Candidate], *, scale: Fraction
        ) -> int:
            self.number += len(candidates[0].clique) == 2
            return shipped(session, candidates, scale=scale)

        patch.setattr(RoomSession, "select", select)


# ---- whole runs
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("domain", "pair", "least"), CASES)
def test_a_whole_run_that_selects_its_pairs_loses_the_target_at_most(
    domain: Domain, pair: tuple[Table, Table], least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    selected, references = Selected(monkeypatch), References(monkeypatch)
    found = max(each.largest() for each in both_ways(plan_of(domain), pair, told=FEW))
    # A selection of which all candidates move alike tells nothing apart.
    assert 0.8 * least * EPSILON <= found <= float(EPSILON) * (1 + 1e-9)
    assert selected.number > 0
    # Of pairs alone, against what was answered.
    assert {size: len(each) > 1 for size, each in references.seen.items()} == {2: True}


@pytest.mark.parametrize(("domain", "pair", "least"), CASES)
def test_a_whole_run_that_selects_its_pairs_keeps_to_its_cap_on_mu(
    domain: Domain, pair: tuple[Table, Table], least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    selected, plan = Selected(monkeypatch), plan_of(domain, delta=DELTA)
    assert isinstance(plan.loss, GaussianDP)
    for found in both_ways(plan, pair, told=FEW):
        losses = found.losses()
        for epsilon in EPSILONS:
            curve = coarse.delta_of_gaussian(plan.loss.mu_squared**0.5, epsilon)
            assert losses.delta(epsilon) <= curve + coarse.ROUNDING
        assert losses.delta(float(EPSILON)) <= DELTA
        assert 0.8 * least * plan.loss.mu_squared <= found.renyi(2.0) <= plan.loss.mu_squared
    assert selected.number > 0


class NarrowSelection(Coarse):
    """Selections with a sixth of their noise."""

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
        return super().choose(scores, scale=scale / 6, law=law)


@pytest.mark.parametrize("delta", [Fraction(0), DELTA], ids=["pure", "mu"])
def test_selections_with_a_sixth_of_their_noise_are_noticed(delta: Fraction) -> None:
    plan = plan_of(domain_of(2, 2, 2), delta=delta)
    found = both_ways(plan, THREE, sampler=NarrowSelection, told=FEW)
    assert exceeds(found, plan, times=1.1)


# ---- selecting and scoring alone
# --------------------------------------------------------------------------------

SHARE = pair_selection.SELECTING_SHARE + pair_selection.SCORING_SHARE
TIGHT = Fraction(7, 10)


def worst_of_pairs(monkeypatch: pytest.MonkeyPatch, *, from_data: bool = False) -> float:
    """The law of what is asked about pairs, where the answers about columns are fixed: its epsilon.
    from_data: whether references hold the exact number of records."""
    monkeypatch.setattr(pair_selection, "MAX_SCORE_NOISE", 0.0)
    plan = plans.plan_of("auto", domain_of(2, 2, 2), epsilon=TIGHT / SHARE)
    assert isinstance(plan, AutoPlan)
    noise = plan.column_noises()
    columns = plan._columns(
        [
            Measurement(clique=(name,), noise=noise[name], values=np.array([20, 1]))
            for name in plan.domain.names
        ]
    )
    # The last pair is by far the likeliest, and the record moves it away from the others.
    references = ([[1, 0], [0, 0]], [[1, 0], [0, 0]], [[0, 60], [60, 60]])
    known = {
        pair: replace(candidate, reference=np.array(reference))
        for pair, candidate, reference in zip(
            columns.pairs, columns.candidates(columns.pairs), references, strict=True
        )
    }
    records = 0

    def candidates(_: Columns, pairs: Sequence[Pair]) -> list[Candidate]:
        # All candidates but the first hold the number of records in each cell.
        return [
            replace(known[pair], reference=known[pair].reference + records * (pair != (0, 1)))
            for pair in pairs
        ]

    monkeypatch.setattr(Columns, "candidates", candidates)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        nonlocal records
        records = 4 * rows.total if from_data else 0
        scored = plan._scored_pairs(session, columns, columns.pairs)
        return tuple(scored.pairs), tuple(scored.scores.values.tolist()), session.calls

    record = (0, 0, 0)
    pairs: list[tuple[Table, Table]] = [((), (record,)), ((record,), ())]
    cap = Pure(epsilon=100 * EPSILON)
    ratio = exact.largest_ratio(
        program, plan.domain, cap=cap, most=1, high=1, sampler=Replay, pairs=pairs
    )
    return exact.worst_epsilon(ratio)


def test_selecting_and_scoring_a_tree_costs_no_more_than_its_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = worst_of_pairs(monkeypatch)
    assert found <= TIGHT * (1 + Fraction(1, 10**9))
    assert found >= 0.9 * TIGHT, "a claim this loose would hide a defect"


@pytest.mark.parametrize(("share", "times"), [("SELECTING_SHARE", 3), ("SCORING_SHARE", 6)])
def test_a_share_of_pairs_that_is_exceeded_is_noticed(
    share: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_selection, share, times * getattr(pair_selection, share))
    assert worst_of_pairs(monkeypatch) > 1.15 * TIGHT


def test_a_tree_of_which_each_edge_costs_the_whole_share_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pair_selection, "edges", lambda *_: 1)
    assert worst_of_pairs(monkeypatch) > 1.15 * TIGHT


def test_references_of_selected_pairs_that_follow_from_the_data_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert worst_of_pairs(monkeypatch, from_data=True) > 1.15 * TIGHT


# ---- which of the two ways is taken
# ------------------------------------------------------------------------------


def calls_of(plan: Plan, records: int, *, told: Told = FEW) -> tuple[Call, ...]:
    """What is asked of so many equal records, whose answers are told and not drawn."""
    rows = exact.rows_of(((0, 1, 1),) * records, plan.domain)
    session = open_session(rows, domain=plan.domain, cap=plan.loss, sampler=Coarse((), told))
    plan.run(session)
    return session.calls


def selects_pairs(calls: Sequence[Call]) -> bool:
    return any(
        call.query.verb == "select" and len(call.query.candidates[0]) == 2 for call in calls
    )


@pytest.mark.parametrize("delta", [Fraction(0), DELTA], ids=["pure", "mu"])
def test_the_same_answers_of_another_number_of_records_give_the_same_plan(
    delta: Fraction,
) -> None:
    plan = plan_of(domain_of(2, 2, 2), delta=delta)
    calls = calls_of(plan, 1)
    assert selects_pairs(calls)
    assert calls_of(plan, 5_000) == calls
    many = replace(FEW, few=30_000, many=30_000, otherwise=30_000)
    calls = calls_of(plan, 1, told=many)
    assert not selects_pairs(calls)
    assert calls_of(plan, 5_000, told=many) == calls


@pytest.mark.parametrize("delta", [Fraction(0), DELTA], ids=["pure", "mu"])
def test_of_many_records_the_same_is_asked_as_if_no_tree_were_known(
    delta: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(domain_of(2, 2, 2), delta=delta)
    many = replace(FEW, few=30_000, many=30_000, otherwise=30_000)
    calls = calls_of(plan, 1, told=many)
    monkeypatch.setattr(pair_selection, "MAX_SCORE_NOISE", float("inf"))
    assert calls_of(plan, 1, told=many) == calls


def test_a_choice_by_the_exact_number_of_records_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        pair_selection, "is_needed", lambda columns, *_: columns.total < 0 or exact_rows[0] < 2
    )
    exact_rows = [1]
    plan = plan_of(domain_of(2, 2, 2))
    calls = calls_of(plan, 1)
    exact_rows[0] = 2
    assert calls_of(plan, 2) != calls


def test_a_run_that_selects_its_pairs_has_a_receipt_that_verifies() -> None:
    domain = domain_of(2, 3, 2, 2, 4)
    for delta in (Fraction(0), Fraction(1, 10**9)):
        plan = plans.plan_of("auto", domain, epsilon=Fraction(1), delta=delta)
        table = tuple((i % 2, i % 3, i % 2, i % 2, i % 4) for i in range(60))
        session = open_session(exact.rows_of(table, domain), domain=domain, cap=plan.loss)
        answers = plan.run(session)
        assert selects_pairs(answers.calls)
        found = verifier.verify(plan.receipt(answers))
        assert found.epsilon <= 1 + Fraction(1, 10**9)
