"""`mst`, the whole of it: everything that leaves the room, its exact law, and mutants."""

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
from synth_engine.measurement import Measurement, Noise
from synth_engine.mechanisms.pairwise.mst import MstBudget, MstPlan
from synth_engine.privacy import receipt
from synth_engine.privacy.loss import Loss, Pure
from synth_engine.privacy.unit import Relation
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from tests import plans
from tests.privacy import exact
from tests.privacy.exact import Replay, Table, domain_of, pairs_of

EPSILON = Fraction(7, 10)
MANY = Pure(epsilon=100 * EPSILON)


plan_of = partial(plans.plan_of, "mst", epsilon=EPSILON)


def worst(
    domain: Domain,
    *,
    most: int = 1,
    plan: MstPlan | None = None,
    cap: Loss | None = None,
    sampler: type[Replay] = Replay,
    pairs: list[tuple[Table, Table]] | None = None,
    leak: bool = False,
) -> Fraction | float:
    """Released counts are clamped to 0 and 1, so that every branch can be walked; for mutants that is
    enough."""
    chosen = plan or plan_of(domain, choices_share=0.01)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        answers = chosen.run(session)
        values = tuple(
            value for m in answers.measurements for value in m.values.ravel().tolist()
        )
        return (
            values,
            answers.selections,
            answers.calls,
            session.spent,
            rows.total if leak else None,
        )

    return exact.largest_ratio(
        program, domain, cap=cap or chosen.loss, most=most, high=1, sampler=sampler, pairs=pairs
    )


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("sizes", [(2, 2), pytest.param((2, 3), marks=pytest.mark.nightly)])
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_target(
    relation: Relation, sizes: tuple[int, ...]
) -> None:
    ratio = worst(domain_of(*sizes, relation=relation))
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON, (
        "a claim this loose would hide a defect"
    )


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
@pytest.mark.parametrize(
    "sampler", [exact.HalvedScale, exact.ActiveDomain], ids=lambda s: s.__name__
)
def test_a_mutant_sampler_is_noticed(sampler: type[Replay]) -> None:
    assert exact.worst_epsilon(worst(domain_of(2, 2), sampler=sampler)) > 1.15 * EPSILON


@pytest.mark.slow
def test_stages_that_do_not_share_epsilon_are_noticed() -> None:
    plan = replace(
        plan_of(domain_of(2, 2)),
        parts=MstBudget(columns=EPSILON, choice=EPSILON, table=EPSILON, edges=1),
    )
    assert exact.worst_epsilon(worst(domain_of(2, 2), plan=plan, cap=MANY)) > 1.9 * EPSILON
    with pytest.raises(BudgetExceeded):
        worst(domain_of(2, 2), plan=plan)


@pytest.mark.slow
def test_releasing_the_exact_number_of_rows_is_noticed() -> None:
    assert exact.worst_epsilon(worst(domain_of(2, 2), leak=True)) == float("inf")


# ---- the choices alone, given the one-way answers: with three columns, so that there is something to choose
# ----------


def worst_choice(
    *,
    most: int,
    exact_reference: bool = False,
    sampler: type[Replay] = Replay,
    relation: Relation = Relation.ADD_REMOVE,
) -> Fraction | float:
    """Of both choices, each with half of EPSILON. What the one-way answers were is fixed, or they are
    exact."""
    domain = domain_of(2, 2, 2, relation=relation)
    plan = replace(
        plan_of(domain),
        parts=MstBudget(columns=EPSILON, choice=EPSILON / 2, table=10 * EPSILON, edges=2),
    )
    noise = Noise(law="discrete-laplace", scale=Fraction(1))

    def program(session: RoomSession, rows: Rows) -> Hashable:
        known = {
            name: np.array([most // 2, most - most // 2], dtype=np.int64)
            for name in domain.names
        }
        if exact_reference:
            known = {name: counts.contingency(rows, (name,)) for name in domain.names}
        columns = [
            Measurement(clique=(name,), noise=noise, values=values)
            for name, values in known.items()
        ]
        return tuple(plan._chosen(session, columns).taken)

    laws = {
        table: exact.law_of(program, table, domain=domain, cap=MANY, high=1, sampler=sampler)
        for table in exact.tables(domain, most=most)
    }
    return exact.worst_ratio(laws, pairs_of(domain, most=most))[0]


@pytest.mark.parametrize("relation", list(Relation))
def test_choices_cost_no_more_than_their_share(relation: Relation) -> None:
    assert exact.proves(worst_choice(most=3, relation=relation), epsilon=EPSILON)


@pytest.mark.slow
def test_a_reference_from_exact_counts_is_noticed() -> None:
    assert exact.worst_epsilon(worst_choice(most=5, exact_reference=True)) > EPSILON


@pytest.mark.parametrize("sampler", [exact.ArgMax, exact.HalvedScale], ids=lambda s: s.__name__)
def test_choices_by_exact_scores_or_half_the_scale_are_noticed(sampler: type[Replay]) -> None:
    assert exact.worst_epsilon(worst_choice(most=3, sampler=sampler)) > 1.15 * EPSILON


# ---- what is spent, and what the receipt says
# ------------------------------------------------------------------


def settings() -> Iterator[tuple[Domain, Fraction]]:
    for relation in Relation:
        for delta in (Fraction(0), Fraction(1, 10**9)):
            yield domain_of(2, 3, 4, relation=relation), delta
            yield domain_of(2, 3, 4, relation=relation, max_records=3), delta


@pytest.mark.parametrize(("domain", "delta"), list(settings()))
def test_all_events_together_use_up_the_cap_and_the_receipt_verifies(
    domain: Domain, delta: Fraction
) -> None:
    plan = plan_of(domain, delta=delta)
    table = tuple((number % 2, number % 3, number % 4) for number in range(60))
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
    calls = receipt.digest(document["calls"])
    dressed = document | {
        "mechanism": document["mechanism"] | {"kind": "static"},
        "plan": document["plan"] | {"cap": None, "calls_sha256": calls},
    }
    with pytest.raises(VerificationError, match="static or adaptive"):
        verifier.verify(receipt.seal(dressed))
