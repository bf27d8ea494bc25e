"""`privsyn`: everything that leaves the room, its exact law, and mutants."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from synth_engine import verifier
from synth_engine.domain import Domain
from synth_engine.errors import BudgetExceeded, VerificationError
from synth_engine.inference import factors
from synth_engine.measurement import Candidate, Counts, Noise
from synth_engine.mechanisms.pairwise.privsyn import PrivSynBudget, PrivSynPlan
from synth_engine.plans import budget_allocation
from synth_engine.privacy import receipt
from synth_engine.privacy.loss import Loss, Pure
from synth_engine.privacy.unit import Relation
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from tests import plans
from tests.privacy import exact
from tests.privacy.exact import Replay, Table, clamped_laplace, domain_of, pairs_of

EPSILON = Fraction(7, 10)
MANY = Pure(epsilon=100 * EPSILON)
HIGH = 40


class WithScores(Replay):
    """The one score of a single pair is told as low or high, which is all that the choice goes by."""

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        if vector.size > 1:
            return super().counts(vector, noise)
        chances = clamped_laplace(int(vector[0]), noise.scale, HIGH - 1, HIGH)
        return np.array([HIGH if self.branch(chances) else 0], dtype=np.int64)


class HalvedScale(exact.HalvedScale, WithScores):
    pass


class ActiveDomain(exact.ActiveDomain, WithScores):
    pass


plan_of = partial(plans.plan_of, "privsyn", epsilon=EPSILON)


def worst(
    domain: Domain,
    *,
    most: int = 1,
    plan: PrivSynPlan | None = None,
    cap: Loss | None = None,
    sampler: type[Replay] = WithScores,
    pairs: list[tuple[Table, Table]] | None = None,
    leak: bool = False,
) -> Fraction | float:
    """Released counts are clamped to 0 and 1, so that every branch can be walked; for mutants that is
    enough."""
    chosen = plan or plan_of(domain)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        answers = chosen.run(session)
        values = tuple((m.clique, *m.values.ravel().tolist()) for m in answers.measurements)
        scores = tuple(one.values.tobytes() for one in answers.scores)
        return values, scores, answers.calls, rows.total if leak else None

    return exact.largest_ratio(
        program, domain, cap=cap or chosen.loss, most=most, high=1, sampler=sampler, pairs=pairs
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "relation",
    [Relation.ADD_REMOVE, pytest.param(Relation.REPLACE_ONE, marks=pytest.mark.nightly)],
)
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_target(
    relation: Relation,
) -> None:
    ratio = worst(domain_of(2, 2, relation=relation))
    assert exact.proves(ratio, epsilon=EPSILON)
    tight = plan_of(domain_of(2, 2, relation=relation), scores_share=0.01)
    assert (
        exact.worst_epsilon(worst(domain_of(2, 2, relation=relation), plan=tight))
        >= 0.95 * EPSILON
    )


def test_both_a_chosen_pair_and_none_are_walked() -> None:
    """What is asked last differs between the branches: the pair, or the columns once more."""
    asked = set()

    def program(session: RoomSession, rows: Rows) -> Hashable:
        answers = plan.run(session)
        asked.add(answers.measurements[-1].clique)
        return 0

    plan = plan_of(domain_of(2, 2))
    exact.law_of(
        program, ((0, 1),), domain=plan.domain, cap=plan.loss, high=1, sampler=WithScores
    )
    assert asked == {("a", "b"), ("b",)}


@pytest.mark.slow
def test_nor_are_people_of_two_records() -> None:
    domain = domain_of(2, 2, max_records=2)
    pairs: list[tuple[Table, Table]] = [((), ((0, 1), (0, 1))), (((0, 1), (0, 1)), ())]
    assert exact.proves(worst(domain, pairs=pairs), epsilon=EPSILON)
    careless = plan_of(domain_of(2, 2))
    assert (
        exact.worst_epsilon(worst(domain, plan=careless, cap=MANY, pairs=pairs))
        > 1.15 * EPSILON
    )


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [HalvedScale, ActiveDomain], ids=lambda s: s.__name__)
def test_a_mutant_sampler_is_noticed(sampler: type[Replay]) -> None:
    assert exact.worst_epsilon(worst(domain_of(2, 2), sampler=sampler)) > 1.15 * EPSILON


@pytest.mark.slow
def test_stages_that_do_not_share_epsilon_are_noticed() -> None:
    plan = replace(
        plan_of(domain_of(2, 2)),
        parts=PrivSynBudget(columns=EPSILON, scores=EPSILON, tables=EPSILON),
    )
    assert exact.worst_epsilon(worst(domain_of(2, 2), plan=plan, cap=MANY)) > 1.9 * EPSILON
    with pytest.raises(BudgetExceeded):
        worst(domain_of(2, 2), plan=plan)


@pytest.mark.slow
def test_releasing_the_exact_number_of_rows_is_noticed() -> None:
    assert exact.worst_epsilon(worst(domain_of(2, 2), leak=True)) == float("inf")


# ---- the scores alone, of three pairs, which one record may all move
# ------------------------------------------------


def worst_scores(
    *,
    most: int,
    number: int = 3,
    exact_reference: bool = False,
    relation: Relation = Relation.ADD_REMOVE,
    high: int | None = None,
) -> Fraction | float:
    """With all of EPSILON on the scores. `number`: of scores that the noise is set for."""
    domain = domain_of(2, 2, 2, relation=relation)
    plan = plan_of(domain)
    plan = replace(plan, parts=PrivSynBudget(columns=EPSILON, scores=EPSILON, tables=EPSILON))
    noise = plan._score_noise()
    if number != 3:
        noise = budget_allocation.noise(Pure(epsilon=EPSILON), plan.sensitivity)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        half = np.array([most / 2, most / 2])
        oneways = dict.fromkeys(domain.names, half)
        total = most
        if exact_reference:
            oneways = {
                name: counts.contingency(rows, (name,)).astype(np.float64)
                for name in domain.names
            }
            total = rows.total
        offered = []
        for pair in (("a", "b"), ("a", "c"), ("b", "c")):
            expected = factors.product([oneways[name] for name in pair], total=total)
            offered.append(Candidate(clique=pair, reference=np.rint(expected).astype(np.int64)))
        return tuple(session.score(offered, noise=noise).values.tolist())

    laws = {
        table: exact.law_of(program, table, domain=domain, cap=MANY, high=high or 2 * most)
        for table in exact.tables(domain, most=most)
    }
    return exact.worst_ratio(laws, pairs_of(domain, most=most))[0]


@pytest.mark.parametrize("relation", list(Relation))
def test_scores_cost_no_more_than_their_share(relation: Relation) -> None:
    ratio = worst_scores(most=2, relation=relation)
    assert exact.proves(ratio, epsilon=EPSILON)
    if (
        relation is Relation.ADD_REMOVE
    ):  # two records in two cells are as far from the reference as two others
        assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON


def test_noise_for_one_score_on_all_of_them_is_noticed() -> None:
    assert exact.worst_epsilon(worst_scores(most=2, number=1)) > 2 * EPSILON


@pytest.mark.slow
def test_references_from_exact_counts_are_noticed() -> None:
    assert (
        exact.worst_epsilon(worst_scores(most=3, exact_reference=True, high=2)) > 1.01 * EPSILON
    )


# ---- what is spent, and what the receipt says
# ------------------------------------------------------------------


def settings() -> Iterator[tuple[Domain, Fraction]]:
    for relation in Relation:
        for delta in (Fraction(0), Fraction(1, 10**9)):
            yield domain_of(2, 3, 4, relation=relation), delta
            yield domain_of(2, 3, 4, relation=relation, max_records=3), delta


@pytest.mark.parametrize(("domain", "delta"), list(settings()))
@pytest.mark.parametrize("records", [10, 3_000])
def test_all_events_together_use_up_the_cap_and_the_receipt_verifies(
    domain: Domain, delta: Fraction, records: int
) -> None:
    plan = plan_of(domain, delta=delta)
    table = tuple((number % 2, number % 3, number % 4) for number in range(records))
    session = open_session(exact.rows_of(table, domain), domain=domain, cap=plan.loss)
    answers = plan.run(session)
    assert answers.calls == session.calls
    found = verifier.verify(plan.receipt(answers))
    assert found.epsilon <= EPSILON + Fraction(1, 10**12)
    limit = plan.loss.amount
    assert limit * (1 - Fraction(1, 10**5)) <= session.spent.amount <= limit  # type: ignore[union-attr]


def test_a_receipt_that_dresses_it_as_static_is_refused() -> None:
    domain = domain_of(2, 3)
    plan = plan_of(domain)
    session = open_session(
        exact.rows_of(((0, 0), (1, 2)), domain), domain=domain, cap=plan.loss
    )
    document = plan.receipt(plan.run(session))
    dressed = document | {
        "mechanism": document["mechanism"] | {"kind": "static"},
        "plan": document["plan"]
        | {"cap": None, "calls_sha256": receipt.digest(document["calls"])},
    }
    with pytest.raises(VerificationError, match="static or adaptive"):
        verifier.verify(receipt.seal(dressed))
