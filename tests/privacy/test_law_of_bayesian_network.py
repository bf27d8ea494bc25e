"""`bayesian-network`, the whole of it: everything that leaves the room, its exact law, and mutants."""

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
from synth_engine.mechanisms.pairwise import network_search
from synth_engine.mechanisms.pairwise.bayesian_network import BayesianNetworkPlan, Shares
from synth_engine.mechanisms.pairwise.network_search import NetworkSearch
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


@pytest.fixture(autouse=True)
def few_records_of_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many records the references are counted from is public and says nothing about rows."""
    monkeypatch.setattr(network_search, "POPULATION", 40)


plan_of = partial(plans.plan_of, "bayesian-network", epsilon=EPSILON)


def worst(
    domain: Domain,
    *,
    most: int = 1,
    plan: BayesianNetworkPlan | None = None,
    cap: Loss | None = None,
    sampler: type[Replay] = Replay,
    pairs: list[tuple[Table, Table]] | None = None,
    leak: bool = False,
) -> Fraction | float:
    """Released counts are clamped to 0 and 1, so that every branch can be walked; for mutants that is
    enough."""
    chosen = plan or plan_of(domain, structure_share=0.02)

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
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_target(
    relation: Relation,
) -> None:
    ratio = worst(domain_of(2, 2, relation=relation))
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON, (
        "a claim this loose would hide a defect"
    )


@pytest.mark.slow
@pytest.mark.parametrize("share", [pytest.param(0.02, marks=pytest.mark.nightly), 0.5])
def test_nor_is_any_with_up_to_two_records(share: float) -> None:
    domain = domain_of(2, 2)
    assert exact.proves(
        worst(domain, most=2, plan=plan_of(domain, structure_share=share)), epsilon=EPSILON
    )


@pytest.mark.slow
def test_nor_are_people_of_two_records() -> None:
    domain = domain_of(2, 2, max_records=2)
    pairs: list[tuple[Table, Table]] = [((), ((0, 1), (0, 1))), (((0, 1), (0, 1)), ())]
    assert exact.proves(worst(domain, pairs=pairs), epsilon=EPSILON)
    careless = plan_of(domain_of(2, 2), structure_share=0.02)
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
def test_the_scale_of_frequencies_on_counts_is_noticed() -> None:
    """The defect of public code for this method: the noise that fits shares of n is added to counts."""
    one, three = ((0, 0),), ((0, 0), (0, 0), (0, 0))
    two = ((0, 0), (0, 0))
    pairs: list[tuple[Table, Table]] = [(two, one), (two, three), (three, two)]
    assert exact.proves(worst(domain_of(2, 2), pairs=pairs), epsilon=EPSILON)
    ratio = worst(domain_of(2, 2), pairs=pairs, sampler=exact.FrequencyScale)
    assert exact.worst_epsilon(ratio) > 1.15 * EPSILON


@pytest.mark.slow
def test_stages_that_do_not_share_epsilon_are_noticed() -> None:
    plan = plan_of(domain_of(2, 2))
    whole = Shares(columns=EPSILON, choices=EPSILON, tables=EPSILON)
    assert (
        exact.worst_epsilon(worst(domain_of(2, 2), plan=replace(plan, shares=whole), cap=MANY))
        > 1.9 * EPSILON
    )
    with pytest.raises(BudgetExceeded):
        worst(domain_of(2, 2), plan=replace(plan, shares=whole))


@pytest.mark.slow
def test_releasing_the_exact_number_of_rows_is_noticed() -> None:
    assert exact.worst_epsilon(worst(domain_of(2, 2), leak=True)) == float("inf")


# ---- the choice alone, given the one-way answers: on larger tables, where references matter
# ---------------------


def worst_choice(
    *, most: int, exact_reference: bool, sampler: type[Replay] = Replay
) -> Fraction | float:
    """Of the first choice, whose whole share is EPSILON. What the one-way answers were is fixed, or they are
    exact."""
    domain = domain_of(2, 2)
    plan = plan_of(domain)
    plan = replace(plan, shares=Shares(columns=EPSILON, choices=EPSILON, tables=EPSILON))
    noise = Noise(law="discrete-laplace", scale=Fraction(1))

    def program(session: RoomSession, rows: Rows) -> Hashable:
        known = {
            name: np.array([most // 2, most - most // 2], dtype=np.int64)
            for name in domain.names
        }
        if exact_reference:
            known = {name: counts.contingency(rows, (name,)) for name in domain.names}
        oneways = [
            Measurement(clique=(name,), noise=noise, values=values)
            for name, values in known.items()
        ]
        grown = NetworkSearch(
            domain, plan.limits, oneways=oneways, rows=rows.total if exact_reference else most
        )
        return session.select(
            grown.candidates(grown.choices(), noise=noise), scale=plan._selection_scale()
        )

    laws = {
        table: exact.law_of(program, table, domain=domain, cap=MANY, high=1, sampler=sampler)
        for table in exact.tables(domain, most=most)
    }
    return exact.worst_ratio(laws, pairs_of(domain, most=most))[0]


def test_a_choice_costs_no_more_than_its_share() -> None:
    assert exact.proves(worst_choice(most=5, exact_reference=False), epsilon=EPSILON)


def test_a_reference_from_exact_counts_is_noticed() -> None:
    assert exact.worst_epsilon(worst_choice(most=5, exact_reference=True)) > 1.15 * EPSILON


@pytest.mark.parametrize("sampler", [exact.ArgMax, exact.HalvedScale], ids=lambda s: s.__name__)
def test_a_choice_by_exact_scores_or_half_the_scale_is_noticed(sampler: type[Replay]) -> None:
    assert (
        exact.worst_epsilon(worst_choice(most=5, exact_reference=False, sampler=sampler))
        > 1.15 * EPSILON
    )


# ---- what is spent, and what the receipt says
# ------------------------------------------------------------------


def settings() -> Iterator[tuple[Domain, Fraction]]:
    for relation in Relation:
        for delta in (Fraction(0), Fraction(1, 10**9)):
            yield domain_of(2, 3, 4, relation=relation), delta
            yield domain_of(2, 3, 4, relation=relation, max_records=3), delta


@pytest.mark.parametrize(("domain", "delta"), list(settings()))
def test_all_events_together_stay_under_the_cap_and_the_receipt_verifies(
    domain: Domain, delta: Fraction
) -> None:
    plan = plan_of(domain, delta=delta)
    rng = np.random.default_rng(3)
    a, c = rng.integers(0, 2, 300).tolist(), rng.integers(0, 4, 300).tolist()
    table = tuple((one, one % 3, other) for one, other in zip(a, c, strict=True))
    session = open_session(exact.rows_of(table, domain), domain=domain, cap=plan.loss)
    answers = plan.run(session)
    assert answers.calls == session.calls
    found = verifier.verify(plan.receipt(answers))
    assert found.epsilon <= EPSILON + Fraction(1, 10**12)
    cliques = [call.query.clique for call in answers.calls if call.query.verb == "measure"]
    if len(cliques) == 5:  # with no attribute taken alone, nothing is left over
        spent = sum(
            (
                call.event.rho() if delta else call.event.pure_epsilon() or 0
                for call in answers.calls
            ),
            Fraction(0),
        )
        limit = plan.cap.rho if delta else EPSILON  # type: ignore[union-attr]
        assert spent >= limit * (1 - Fraction(1, 10**5))


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
