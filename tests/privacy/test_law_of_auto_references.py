"""`auto` as a whole, where references, bins and prices follow from the noisy answers of the same run: its
exact law, and mistakes that must be noticed (docs/proofs/auto.md)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from synth_engine.domain import Domain
from synth_engine.measurement import Candidate, Clique, Noise, Scores
from synth_engine.plans.plan import Plan
from synth_engine.privacy.loss import GaussianDP
from synth_engine.privacy.unit import Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from tests import plans
from tests.privacy import coarse, exact
from tests.privacy.coarse import ROUNDING, Coarse, Compared, Told
from tests.privacy.exact import Table, domain_of

EPSILON, DELTA = Fraction(4), Fraction(1, 1000)
EPSILONS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0)
TOLD = Told((0, 2), few=900, between=10, many=4_000, otherwise=2_000)
"""So many records that triples are looked for; columns are skewed or even, by what is answered."""
THREE: tuple[Table, Table] = ((), ((0, 1, 1),))


def plan_of(domain: Domain, *, delta: Fraction = Fraction(0)) -> Plan:
    return plans.plan_of("auto", domain, epsilon=EPSILON, delta=delta)


class References:
    """Notes the references of every `score`. moved: whether some hold the exact number of records, which is a
    mistake."""

    def __init__(self, patch: pytest.MonkeyPatch, *, moved: bool = False) -> None:
        self.seen: dict[int, set[tuple[bytes, ...]]] = defaultdict(set)
        self.cliques: set[Clique] = set()
        shipped = RoomSession.score

        def score(
            session: RoomSession, candidates: Sequence[Candidate], *, noise: Noise
        ) -> Scores:
            self.cliques |= {candidate.clique for candidate in candidates}
            references = tuple(candidate.reference.tobytes() for candidate in candidates)
            self.seen[len(candidates[0].clique)].add(references)
            if moved:
                records = session._counts.rows.total
                candidates = [
                    replace(candidate, reference=candidate.reference + records)
                    for candidate in candidates
                ]
            return shipped(session, candidates, noise=noise)

        patch.setattr(RoomSession, "score", score)


def both_ways(
    plan: Plan, pair: tuple[Table, Table], *, sampler: type[Coarse] = Coarse, told: Told = TOLD
) -> list[Compared]:
    def run(sampler: Coarse, rows: Rows) -> Hashable:
        session = open_session(rows, domain=plan.domain, cap=plan.loss, sampler=sampler)
        return plan.run(session).calls, session.spent

    one, other = (exact.rows_of(table, plan.domain) for table in pair)
    return [Compared(run, both, told, sampler=sampler) for both in ((one, other), (other, one))]


CASES = [
    pytest.param(domain_of(2, 2, 2), THREE, 0.99, id="added"),
    pytest.param(domain_of(2, 2, 2, max_records=2), ((), ((0, 1, 1),) * 2), 0.99, id="two"),
    pytest.param(
        # No two records move all tables and all scores as far as they can.
        domain_of(2, 2, 2, relation=Relation.REPLACE_ONE),
        (((0, 0, 1),), ((0, 1, 1),)),
        0.5,
        id="replaced",
    ),
]


@pytest.mark.parametrize(("domain", "pair", "least"), CASES)
def test_a_whole_run_with_its_own_references_loses_the_target_at_most(
    domain: Domain, pair: tuple[Table, Table], least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    references = References(monkeypatch)
    found = max(each.largest() for each in both_ways(plan_of(domain), pair))
    assert least * EPSILON <= found <= float(EPSILON) * (1 + 1e-9)
    # Of pairs and of the triple; what they are compared with follows from what was answered.
    assert {size: len(each) > 1 for size, each in references.seen.items()} == {2: True, 3: True}


@pytest.mark.parametrize(("domain", "pair", "least"), CASES)
def test_a_whole_run_with_its_own_references_keeps_to_its_cap_on_mu(
    domain: Domain, pair: tuple[Table, Table], least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    references = References(monkeypatch)
    plan = plan_of(domain, delta=DELTA)
    assert isinstance(plan.loss, GaussianDP)
    for found in both_ways(plan, pair):
        losses = found.losses()
        for epsilon in EPSILONS:
            curve = coarse.delta_of_gaussian(math.sqrt(plan.loss.mu_squared), epsilon)
            assert losses.delta(epsilon) <= curve + ROUNDING
        assert losses.delta(float(EPSILON)) <= DELTA
        assert least * plan.loss.mu_squared <= found.renyi(2.0) <= plan.loss.mu_squared
    assert min(len(each) for each in references.seen.values()) > 1


class ColumnsExactly(Coarse):
    """The counts of columns reach the plan without noise: references follow from the rows."""

    def number(self, value: int, noise: Noise) -> int:
        told = super().number(value, noise)
        return told + value if self.numbers <= 6 else told


def exceeds(found: Sequence[Compared], plan: Plan, *, times: float) -> bool:
    """Whether what leaves the room tells the tables apart by so many times the cap."""
    if isinstance(plan.loss, GaussianDP):
        return max(each.renyi(2.0) for each in found) > times * plan.loss.mu_squared
    return max(each.largest() for each in found) > times * EPSILON


@pytest.mark.parametrize("delta", [Fraction(0), DELTA], ids=["pure", "mu"])
def test_references_of_exact_counts_are_noticed(delta: Fraction) -> None:
    """The next questions, or how far they move, tell the tables apart."""
    plan = plan_of(domain_of(2, 2, 2), delta=delta)
    found = both_ways(plan, THREE, sampler=ColumnsExactly)
    assert exceeds(found, plan, times=1.01)


@pytest.mark.parametrize("delta", [Fraction(0), DELTA], ids=["pure", "mu"])
def test_references_that_hold_the_exact_number_of_records_are_noticed(
    delta: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    References(monkeypatch, moved=True)
    plan = plan_of(domain_of(2, 2, 2), delta=delta)
    assert exceeds(both_ways(plan, THREE), plan, times=1.1)


class HalvedScores(Coarse):
    def number(self, value: int, noise: Noise) -> int:
        # The three scores of pairs come after six counts.
        scale = noise.scale / 2 if 6 <= self.numbers < 9 else noise.scale
        return super().number(value, replace(noise, scale=scale))


def test_scores_with_half_of_their_noise_are_noticed() -> None:
    found = both_ways(plan_of(domain_of(2, 2, 2)), THREE, sampler=HalvedScores)
    assert max(each.largest() for each in found) > 1.02 * EPSILON
