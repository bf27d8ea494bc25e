"""A check of a release, the whole of it: everything that leaves the room, its exact law, and mistakes that
must be noticed."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Hashable
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest

from synth_engine import verifier
from synth_engine.domain import Domain
from synth_engine.errors import VerificationError
from synth_engine.measurement import Session
from synth_engine.models.model import Model, Table, whole_weights
from synth_engine.plans import release_check
from synth_engine.plans.release_check import CheckedFigure, CheckedRelease, CheckPlan
from synth_engine.privacy import filter
from synth_engine.privacy.loss import Budget, Pure
from synth_engine.privacy.unit import Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from synth_engine.verifier import standalone
from tests.privacy import exact
from tests.privacy.exact import domain_of

EPSILON = Fraction(7, 10)
MOST = 2
FIGURES = (
    CheckedFigure(kind="distance", columns=("a", "b")),
    CheckedFigure(kind="counts", columns=("b",), least=1, within=Fraction(1, 10)),
)
TWO_DISTANCES = (*FIGURES, CheckedFigure(kind="distance", columns=("a",)))
GROUPS = (CheckedFigure(kind="worst-groups", columns=("a", "b"), size=1, tables=1),)
CLASSIFIER = (
    CheckedFigure(kind="auc", columns=("a", "b"), codes=((1,),)),
    CheckedFigure(kind="accuracy", columns=("a", "b"), codes=((1,),)),
)


def model_of(domain: Domain) -> Model:
    """Records that are spread evenly."""
    tables = tuple(
        Table(clique=(name,), weights=whole_weights(np.ones(size)))
        for name, size in domain.sizes.items()
    )
    return Model(mechanism="independent", domain=domain, rows=2, tables=tables)


def plan_of(
    domain: Domain,
    *,
    epsilon: Fraction = EPSILON,
    delta: Fraction = Fraction(0),
    figures: tuple[CheckedFigure, ...] = FIGURES,
) -> CheckPlan:
    of = CheckedRelease(core="0" * 64, seed="public", rows=2, model=model_of(domain))
    return release_check.plan(of, figures, epsilon=epsilon, delta=delta)


def worst(
    domain: Domain,
    *,
    plan: CheckPlan | None = None,
    sampler: type[exact.Replay] = exact.Replay,
    leak: bool = False,
) -> Fraction | float:
    chosen = plan or plan_of(domain)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        answers = chosen.run(session)
        counts = tuple(
            value for m in answers.measurements for value in m.values.ravel().tolist()
        )
        scores = tuple(value for s in answers.scores for value in s.values.tolist())
        return (
            counts,
            scores,
            answers.selections,
            answers.calls,
            session.spent,
            rows.total if leak else None,
        )

    cap = Pure(epsilon=100 * EPSILON) if plan or leak else chosen.loss
    return exact.largest_ratio(program, domain, cap=cap, most=MOST, high=4, sampler=sampler)


@pytest.mark.parametrize("relation", list(Relation))
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_target(
    relation: Relation,
) -> None:
    ratio = worst(domain_of(2, 2, relation=relation))
    assert exact.proves(ratio, epsilon=EPSILON)
    if relation is Relation.ADD_REMOVE:  # else no two tables move all answers so far
        assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON


@pytest.mark.parametrize("sampler", [exact.HalvedScale, exact.TruncatedNoise])
def test_a_mutant_sampler_is_noticed(sampler: type[exact.Replay]) -> None:
    ratio = worst(domain_of(2, 2), sampler=sampler)
    assert exact.worst_epsilon(ratio) > 1.15 * EPSILON


class SpendsAllOnEach(CheckPlan):
    """A mistake: every question gets the whole budget."""

    @cached_property
    def _parts(self) -> tuple[Budget, ...]:
        return (self.cap,) * len(super()._parts)


def test_spending_more_than_the_parts_is_noticed() -> None:
    domain = domain_of(2, 2)
    honest = plan_of(domain)
    mutant = SpendsAllOnEach(
        config=honest.config, domain=honest.domain, spec=honest.spec, cap=honest.cap
    )
    assert exact.worst_epsilon(worst(domain, plan=mutant)) > 2.9 * EPSILON


def test_releasing_the_exact_number_of_rows_is_noticed() -> None:
    assert exact.worst_epsilon(worst(domain_of(2, 2), leak=True)) == float("inf")


@pytest.mark.parametrize("figures", [FIGURES, TWO_DISTANCES], ids=len)
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_receipts_of_real_runs_are_accepted_and_refused_for_a_smaller_loss(
    delta: Fraction, figures: tuple[CheckedFigure, ...]
) -> None:
    """Of two distances as well: one record moves both."""
    domain = domain_of(2, 2)
    plan = plan_of(domain, delta=delta, figures=figures)
    rows = exact.rows_of(((0, 1), (1, 1)), domain)
    answers = plan.run(open_session(rows, domain=domain, cap=plan.loss))
    proved = verifier.verify(plan.receipt(answers))
    assert Fraction(99, 100) * EPSILON <= proved.epsilon <= EPSILON
    smaller = plan_of(domain, epsilon=EPSILON / 2, delta=delta, figures=figures)
    with pytest.raises(VerificationError):
        verifier.verify(smaller.receipt(answers))


# --- people of several records, and records that are replaced -----------------------------------------------
ADDED, REPLACED = Relation.ADD_REMOVE, Relation.REPLACE_ONE
UNITS = [
    pytest.param(FIGURES, ADDED, 2, ((), ((0, 0), (0, 0))), 0.99, id="figures"),
    # The number of records does not move.
    pytest.param(FIGURES, REPLACED, 1, (((0, 0),), ((0, 1),)), 0.65, id="figures"),
    pytest.param(FIGURES, REPLACED, 2, (((0, 0),) * 2, ((0, 1),) * 2), 0.49, id="figures"),
    # Of two distances one may move less.
    pytest.param(TWO_DISTANCES, ADDED, 2, ((), ((0, 0), (0, 0))), 0.75, id="two distances"),
    pytest.param(CLASSIFIER, ADDED, 2, ((), ((0, 0), (0, 0))), 0.99, id="classifier"),
    pytest.param(CLASSIFIER, REPLACED, 1, (((0, 0),), ((1, 1),)), 0.99, id="classifier"),
    pytest.param(CLASSIFIER, REPLACED, 2, (((0, 0),) * 2, ((1, 1),) * 2), 0.9, id="classifier"),
    # The counts take four fifths of it.
    pytest.param(GROUPS, ADDED, 2, ((), ((0, 0), (0, 0))), 0.79, id="worst groups"),
    pytest.param(GROUPS, REPLACED, 2, (((0, 0),) * 2, ((1, 1),) * 2), 0.75, id="worst groups"),
]


def of_pair(
    plan: CheckPlan, domain: Domain, pair: tuple[exact.Table, exact.Table]
) -> Fraction | float:
    """Answers are clamped at 0 and 2, beyond which no count lies."""

    def program(session: RoomSession, _: Rows) -> Hashable:
        answers = plan.run(session)
        counts = tuple(tuple(m.values.ravel().tolist()) for m in answers.measurements)
        scores = tuple(tuple(s.values.tolist()) for s in answers.scores)
        return counts, scores, answers.selections, answers.calls

    return exact.largest_ratio(
        program,
        domain,
        cap=Pure(epsilon=100 * EPSILON),
        most=4,
        high=2,
        pairs=[pair, pair[::-1]],
    )


@pytest.mark.parametrize(("figures", "relation", "max_records", "pair", "least"), UNITS)
def test_people_of_several_records_and_replaced_ones_lose_the_target_at_most(
    figures: tuple[CheckedFigure, ...],
    relation: Relation,
    max_records: int,
    pair: tuple[exact.Table, exact.Table],
    least: float,
) -> None:
    domain = domain_of(2, 2, relation=relation, max_records=max_records)
    ratio = of_pair(plan_of(domain, figures=figures), domain, pair)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= least * EPSILON


@pytest.mark.parametrize("figures", [FIGURES, CLASSIFIER], ids=["figures", "classifier"])
@pytest.mark.parametrize(
    ("relation", "max_records", "pair"),
    [(ADDED, 2, ((), ((0, 0), (0, 0)))), (REPLACED, 1, (((0, 0),), ((0, 1),)))],
    ids=["records", "replaced"],
)
def test_a_check_for_another_unit_or_relation_is_noticed(
    figures: tuple[CheckedFigure, ...],
    relation: Relation,
    max_records: int,
    pair: tuple[exact.Table, exact.Table],
) -> None:
    domain = domain_of(2, 2, relation=relation, max_records=max_records)
    careless = plan_of(domain_of(2, 2), figures=figures)
    assert exact.worst_epsilon(of_pair(careless, domain, pair)) > 1.25 * EPSILON


# --- a classifier -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("relation", list(Relation))
def test_a_check_of_a_classifier_tells_no_neighbours_apart_by_more_than_the_target(
    relation: Relation,
) -> None:
    domain = domain_of(2, 2, relation=relation)
    plan = plan_of(domain, figures=CLASSIFIER)
    ratio = worst(domain, plan=plan)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON


def test_half_the_noise_of_a_classifier_is_noticed() -> None:
    domain = domain_of(2, 2)
    plan = plan_of(domain, figures=CLASSIFIER)
    ratio = worst(domain, plan=plan, sampler=exact.HalvedScale)
    assert exact.worst_epsilon(ratio) > 1.15 * EPSILON


class TrainsOnTheRealTable(CheckPlan):
    """A mistake: what is measured of a classifier, and published with it, follows from real records."""

    rows: Rows

    @property
    def codes(self):  # type: ignore[no-untyped-def, override]
        return {name: self.rows.codes(name) for name in self.domain.names}


def test_a_classifier_that_is_trained_on_the_real_table_is_noticed() -> None:
    domain = domain_of(2, 2)
    honest = plan_of(domain, figures=CLASSIFIER)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        plan = TrainsOnTheRealTable(
            config=honest.config, domain=honest.domain, spec=honest.spec, cap=honest.cap
        )
        object.__setattr__(plan, "rows", rows)
        (answer,) = plan.run(session).measurements
        (one,) = plan.classifiers
        published = tuple(one.order.tolist()), tuple(one.says.tolist())
        return tuple(answer.values.ravel().tolist()), published, session.calls

    ratio = exact.largest_ratio(program, domain, cap=honest.loss, most=MOST, high=1)
    assert exact.worst_epsilon(ratio) == float("inf")


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_the_receipt_of_a_classifier_is_accepted_and_refused_for_a_smaller_loss(
    delta: Fraction,
) -> None:
    domain = domain_of(2, 2)
    plan = plan_of(domain, delta=delta, figures=CLASSIFIER)
    rows = exact.rows_of(((0, 1), (1, 1)), domain)
    answers = plan.run(open_session(rows, domain=domain, cap=plan.loss))
    assert len(answers.measurements) == 1  # of both figures
    proved = verifier.verify(plan.receipt(answers))
    assert Fraction(99, 100) * EPSILON <= proved.epsilon <= EPSILON
    smaller = plan_of(domain, epsilon=EPSILON / 2, delta=delta, figures=CLASSIFIER)
    with pytest.raises(VerificationError):
        verifier.verify(smaller.receipt(answers))


# --- worst groups -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("relation", list(Relation))
def test_worst_groups_tell_no_neighbours_apart_by_more_than_the_target(
    relation: Relation,
) -> None:
    domain = domain_of(2, 3, relation=relation)
    ratio = worst(domain, plan=plan_of(domain, figures=GROUPS))
    assert exact.proves(ratio, epsilon=EPSILON)
    # The counts take four fifths of it, and no two tables move the choice as far as its law allows.
    assert exact.worst_epsilon(ratio) >= 0.85 * EPSILON


@pytest.mark.parametrize("relation", list(Relation))
def test_a_choice_of_two_tables_is_paid_for_twice(relation: Relation) -> None:
    domain = domain_of(2, 2, 2, relation=relation)
    figures = (CheckedFigure(kind="worst-groups", columns=("a", "b", "c"), size=1, tables=2),)
    plan = plan_of(domain, figures=figures)
    rows = exact.rows_of(((0, 1, 1), (1, 1, 0)), domain)
    answers = plan.run(open_session(rows, domain=domain, cap=plan.loss))
    verbs = [call.query.verb for call in answers.calls]
    assert verbs == ["select", "select", "measure", "measure"]
    prices = [filter.price(call.event, Pure(epsilon=EPSILON)) for call in answers.calls]
    assert prices[0] == prices[1]
    assert Fraction(99, 100) * EPSILON <= sum(prices) <= EPSILON
    assert verifier.verify(plan.receipt(answers)).epsilon == EPSILON


class ScaledChoice(exact.Replay):
    """A mistake: half the scale for choices alone."""

    def choose(self, scores, *, scale, law):  # type: ignore[no-untyped-def]
        return super().choose(scores, scale=scale / 4, law=law)


@pytest.mark.parametrize(
    "sampler", [exact.HalvedScale, exact.TruncatedNoise, exact.ArgMax, ScaledChoice]
)
def test_a_mutant_sampler_of_worst_groups_is_noticed(sampler: type[exact.Replay]) -> None:
    domain = domain_of(2, 3)
    ratio = worst(domain, plan=plan_of(domain, figures=GROUPS), sampler=sampler)
    assert exact.worst_epsilon(ratio) > 1.15 * EPSILON


class ChoosesByTheRealTable(CheckPlan):
    """A mistake: the table is chosen without noise, from the records."""

    rows: Rows

    def _choose(self, session: Session, figure: CheckedFigure):  # type: ignore[no-untyped-def]
        del session
        far = {
            clique: abs(self.rows.codes(clique[0]).sum() - self.reference(clique)[1])
            for clique in figure.candidates(self.domain)
        }
        return [max(far, key=lambda clique: far[clique])]


def test_a_choice_without_noise_is_noticed() -> None:
    domain = domain_of(2, 2)
    honest = plan_of(domain, figures=GROUPS)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        mutant = ChoosesByTheRealTable(
            config=honest.config, domain=honest.domain, spec=honest.spec, cap=honest.cap
        )
        object.__setattr__(mutant, "rows", rows)
        mutant.ask(session)
        return session.calls

    cap = Pure(epsilon=100 * EPSILON)
    ratio = exact.largest_ratio(program, domain, cap=cap, most=MOST, high=4)
    assert exact.worst_epsilon(ratio) == float("inf")


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_both_verifiers_accept_the_receipt_of_worst_groups_and_refuse_a_smaller_loss(
    delta: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = domain_of(2, 3)
    plan = plan_of(domain, delta=delta, figures=GROUPS)
    rows = exact.rows_of(((0, 1), (1, 1)), domain)
    answers = plan.run(open_session(rows, domain=domain, cap=plan.loss))
    proved = verifier.verify(plan.receipt(answers))
    assert Fraction(95, 100) * EPSILON <= proved.epsilon <= EPSILON
    program = types.ModuleType("auditor")
    monkeypatch.setitem(sys.modules, "auditor", program)  # where its dataclasses look
    exec(compile(standalone.text(), standalone.NAME, "exec"), program.__dict__)
    document = json.loads(json.dumps(plan.receipt(answers)))
    assert program.__dict__["verify"](document).epsilon == proved.epsilon
    smaller = plan_of(domain, epsilon=EPSILON / 2, delta=delta, figures=GROUPS)
    with pytest.raises(VerificationError):
        verifier.verify(smaller.receipt(answers))
    with pytest.raises(program.__dict__["VerificationError"]):
        program.__dict__["verify"](json.loads(json.dumps(smaller.receipt(answers))))
