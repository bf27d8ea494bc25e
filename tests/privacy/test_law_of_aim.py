"""`aim`: everything that leaves the room, its exact law, mutants, and rounds that never overspend."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import mechanisms, verifier
from synth_engine.domain import Domain
from synth_engine.errors import BudgetExceeded, VerificationError
from synth_engine.measurement import (
    AnsweredCall,
    Answers,
    Call,
    Candidate,
    Clique,
    Measurement,
    Noise,
    Query,
    Selection,
)
from synth_engine.mechanisms.pairwise.aim import AimPlan
from synth_engine.mechanisms.pairwise.rounds import Estimates
from synth_engine.privacy import receipt
from synth_engine.privacy.events import Gumbel, PermuteAndFlip
from synth_engine.privacy.filter import Filter
from synth_engine.privacy.loss import Loss, Pure
from synth_engine.privacy.unit import Relation, Sensitivity, histogram_sensitivity
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from synth_engine.spec import Spec
from tests import plans
from tests.privacy import exact
from tests.privacy.exact import Replay, Table, domain_of, pairs_of

EPSILON = Fraction(7, 10)
MANY = Pure(epsilon=100 * EPSILON)


plan_of = partial(plans.plan_of, "aim", epsilon=EPSILON)


class TwoRounds(AimPlan):
    """Two rounds even where a single table can be asked for, so that the second goes by the answer to the
    first."""

    @property
    def _first_part(self) -> Fraction:
        return (self.loss.amount - self._columns) / 2


class RoundingUp(AimPlan):
    """A mutant: every round spends twice what it has."""

    def _noise(self, part: Fraction) -> Noise:
        return super()._noise(2 * part)


def of_kind(kind: type[AimPlan], plan: AimPlan) -> AimPlan:
    return kind(config=plan.config, domain=plan.domain, spec=plan.spec, cap=plan.cap)


def known_columns(plan: AimPlan, *, most: int, rows: Rows | None = None) -> list[Measurement]:
    """Answers to the one-way questions, the same for every table; or, as a mutant, the exact ones."""
    domain, noises = plan.domain, plan._column_noises()
    values = {
        name: np.array(
            [most - (size - 1) * (most // size), *[most // size] * (size - 1)], dtype=np.int64
        )
        for name, size in domain.sizes.items()
    }
    if rows is not None:
        values = {name: counts.contingency(rows, (name,)) for name in domain.names}
    return [
        Measurement(clique=(name,), noise=noises[name], values=one)
        for name, one in values.items()
    ]


def worst(
    plan: AimPlan,
    *,
    most: int = 1,
    cap: Loss | None = None,
    sampler: type[Replay] = Replay,
    pairs: list[tuple[Table, Table]] | None = None,
    leak: bool = False,
    rounds_alone: bool = False,
) -> Fraction | float:
    """Released counts are clamped to 0 and 1, so that every branch can be walked; for mutants that is
    enough."""

    def program(session: RoomSession, rows: Rows) -> Hashable:
        if rounds_alone:
            plan._rounds(session, known_columns(plan, most=most))
        else:
            plan.run(session)
        answers = session.answers
        values = tuple((m.clique, *m.values.ravel().tolist()) for m in answers.measurements)
        return values, tuple(answers.selections), session.calls, rows.total if leak else None

    return exact.largest_ratio(
        program,
        plan.domain,
        cap=cap or plan.loss,
        most=most,
        high=1,
        sampler=sampler,
        pairs=pairs,
    )


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Relation))
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_target(
    relation: Relation,
) -> None:
    ratio = worst(plan_of(domain_of(2, 2, relation=relation)))
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON, (
        "a claim this loose would hide a defect"
    )


@pytest.mark.nightly
def test_nor_is_any_in_two_rounds_of_which_the_second_goes_by_the_first() -> None:
    ratio = worst(of_kind(TwoRounds, plan_of(domain_of(2, 2))))
    assert exact.proves(ratio, epsilon=EPSILON)


@pytest.mark.slow
def test_nor_are_people_of_two_records() -> None:
    domain = domain_of(2, 2, max_records=2)
    pairs: list[tuple[Table, Table]] = [((), ((0, 1), (0, 1))), (((0, 1), (0, 1)), ())]
    assert exact.proves(worst(plan_of(domain), pairs=pairs), epsilon=EPSILON)
    careless = plan_of(domain_of(2, 2))
    assert exact.worst_epsilon(worst_under(domain, careless, pairs)) > 1.15 * EPSILON


def worst_under(
    domain: Domain, plan: AimPlan, pairs: list[tuple[Table, Table]]
) -> Fraction | float:
    """The noise of one plan on tables of another domain."""

    def program(session: RoomSession, rows: Rows) -> Hashable:
        answers = plan.run(session)
        return tuple(value for m in answers.measurements for value in m.values.ravel().tolist())

    laws = {
        table: exact.law_of(program, table, domain=domain, cap=MANY, high=1)
        for table in {table for pair in pairs for table in pair}
    }
    return exact.worst_ratio(laws, iter(pairs))[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "sampler", [exact.HalvedScale, exact.ActiveDomain], ids=lambda s: s.__name__
)
def test_a_mutant_sampler_is_noticed(sampler: type[Replay]) -> None:
    assert (
        exact.worst_epsilon(worst(plan_of(domain_of(2, 2)), sampler=sampler)) > 1.15 * EPSILON
    )


@pytest.mark.slow
def test_releasing_the_exact_number_of_rows_is_noticed() -> None:
    assert exact.worst_epsilon(worst(plan_of(domain_of(2, 2)), leak=True)) == float("inf")


# ---- rounds by themselves, given the one-way answers
# --------------------------------------------------------------


@pytest.mark.slow
def test_two_rounds_cost_no_more_than_what_columns_leave() -> None:
    plan = of_kind(TwoRounds, plan_of(domain_of(2, 2)))
    left = plan.loss.amount - plan._spent(known_columns(plan, most=2))
    ratio = worst(
        plan,
        most=2,
        rounds_alone=True,
        pairs=[((), ((0, 1),)), (((0, 1),), ()), (((1, 1),), ((0, 0), (1, 1)))],
    )
    assert exact.proves(ratio, epsilon=left)


@pytest.mark.slow
def test_rounds_that_spend_twice_what_they_have_are_noticed() -> None:
    plan = of_kind(RoundingUp, of_kind(TwoRounds, plan_of(domain_of(2, 2))))
    pairs: list[tuple[Table, Table]] = [((), ((0, 1),)), (((0, 1),), ())]
    assert exact.worst_epsilon(
        worst(plan, rounds_alone=True, cap=MANY, pairs=pairs)
    ) > 1.15 * float(plan.loss.amount)
    with pytest.raises(BudgetExceeded):
        worst(plan, pairs=pairs)


def worst_choice(
    *, most: int, exact_reference: bool, sampler: type[Replay] = Replay
) -> Fraction | float:
    """Of the first choice among three pairs, with all of EPSILON. What the one-way answers were is fixed, or
    exact."""
    domain = domain_of(2, 2, 2)
    plan = plan_of(domain)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        columns = known_columns(plan, most=most, rows=rows if exact_reference else None)
        offered = Estimates(domain, columns).candidates(
            plan.candidates, noise=plan._noise(EPSILON)
        )
        return session.select(
            offered,
            scale=Pure(epsilon=EPSILON).selection_scale(plan.sensitivity.linf),
        )

    laws = {
        table: exact.law_of(program, table, domain=domain, cap=MANY, high=1, sampler=sampler)
        for table in exact.tables(domain, most=most)
    }
    return exact.worst_ratio(laws, pairs_of(domain, most=most))[0]


def test_a_choice_costs_no_more_than_its_share() -> None:
    assert exact.proves(worst_choice(most=3, exact_reference=False), epsilon=EPSILON)


@pytest.mark.slow
def test_a_reference_from_exact_counts_is_noticed() -> None:
    assert exact.worst_epsilon(worst_choice(most=4, exact_reference=True)) > 1.01 * EPSILON


@pytest.mark.parametrize("sampler", [exact.ArgMax, exact.HalvedScale], ids=lambda s: s.__name__)
def test_a_choice_by_exact_scores_or_half_the_scale_is_noticed(sampler: type[Replay]) -> None:
    assert (
        exact.worst_epsilon(worst_choice(most=3, exact_reference=False, sampler=sampler))
        > 1.15 * EPSILON
    )


# ---- what is spent
# -----------------------------------------------------------------------------------------------


@dataclass
class Adversary:
    """A session without rows, whose answers are anything, and whose filter is the real one."""

    domain: Domain
    cap: Loss
    rng: np.random.Generator
    spread: float
    answers: Answers = field(default_factory=Answers)
    filter: Filter = field(init=False)

    def __post_init__(self) -> None:
        self.filter = Filter(self.cap)

    def measure(self, clique: Clique, *, noise: Noise) -> Measurement:
        values = np.rint(
            self.spread * self.rng.standard_cauchy(self.domain.shape(clique))
        ).clip(-1e9, 1e9)
        measurement = Measurement(clique=clique, noise=noise, values=values.astype(np.int64))
        query = Query(verb="measure", clique=clique, cells=values.size)
        self._record(Call(query=query, event=noise.event(self._sensitivity)), measurement)
        return measurement

    def select(self, candidates: Sequence[Candidate], *, scale: Fraction) -> int:
        kind = PermuteAndFlip if isinstance(self.cap, Pure) else Gumbel
        index = int(self.rng.integers(len(candidates)))
        query = Query(verb="select", candidates=tuple(c.clique for c in candidates), cells=1)
        event = kind(scale=scale, linf=self._sensitivity.linf)
        self._record(Call(query=query, event=event), Selection(index))
        return index

    @property
    def _sensitivity(self) -> Sensitivity:
        return histogram_sensitivity(self.domain.unit, self.domain.relation)

    def _record(self, call: Call, answer: Measurement | Selection) -> None:
        self.filter.admit(call.event)
        self.answers = Answers((*self.answers.answered, AnsweredCall(call, answer)))


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 5), min_size=2, max_size=3),
    epsilon=st.fractions(min_value=Fraction(1, 1000), max_value=50, max_denominator=10**6),
    delta=st.sampled_from([Fraction(0), Fraction(1, 10**9), Fraction(3, 10**5)]),
    relation=st.sampled_from(list(Relation)),
    records=st.integers(1, 3),
    share=st.sampled_from([0.0, 0.001, 0.3333333333333333, 0.9]),
    spread=st.sampled_from([0.0, 1.0, 1e3, 1e6]),
    seed=st.integers(0, 10**6),
)
def test_no_answer_makes_rounds_overspend_and_no_legal_run_is_refused(
    sizes: list[int],
    epsilon: Fraction,
    delta: Fraction,
    relation: Relation,
    records: int,
    share: float,
    spread: float,
    seed: int,
) -> None:
    domain = domain_of(*sizes, relation=relation, max_records=records)
    spec = Spec(
        mechanism="aim", epsilon=epsilon, delta=delta, parameters={"columns_share": share}
    )
    plan = mechanisms.plan(domain, spec)
    session = Adversary(
        domain=domain, cap=plan.loss, rng=np.random.default_rng(seed), spread=spread
    )
    answers = plan.run(session)  # type: ignore[arg-type]
    spent, limit = session.filter.spent.amount, plan.loss.amount
    assert limit * (1 - Fraction(1, 10**4)) <= spent <= limit
    assert plan.fit(answers).rows >= 0


def domains() -> Iterator[tuple[Domain, Fraction]]:
    for relation in Relation:
        for delta in (Fraction(0), Fraction(1, 10**9)):
            yield domain_of(2, 3, 4, relation=relation), delta
            yield domain_of(2, 3, 4, relation=relation, max_records=3), delta


@pytest.mark.parametrize(("domain", "delta"), list(domains()))
def test_the_receipt_verifies(domain: Domain, delta: Fraction) -> None:
    plan = plan_of(domain, delta=delta)
    table = tuple((number % 2, number % 3, number % 4) for number in range(60))
    session = open_session(exact.rows_of(table, domain), domain=domain, cap=plan.loss)
    answers = plan.run(session)
    assert answers.calls == session.calls
    found = verifier.verify(plan.receipt(answers))
    assert found.epsilon <= EPSILON + Fraction(1, 10**12)


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
