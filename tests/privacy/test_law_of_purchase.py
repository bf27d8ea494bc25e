"""A description that is bought once: the exact law of the run that learns it, mutants, and a purchase with a
release under it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
import pytest

from synth_engine import mechanisms
from synth_engine.domain import Attribute, Domain, Integer, Range, Scale, Weak
from synth_engine.errors import BudgetExceeded
from synth_engine.inference import scale_tree
from synth_engine.measurement import Answers, Counts, Noise
from synth_engine.plans import description
from synth_engine.plans.description import DescriptionPlan
from synth_engine.plans.plan import Plan
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from synth_engine.spec import Spec
from synth_engine.values import Listed
from tests.privacy import exact
from tests.privacy.coarse import Coarse, Compared, Told
from tests.privacy.exact import Replay, Table

EPSILON = Fraction(7, 10)
WEAK = Weak(name="word", values=Listed(["a", "b"]), rho=0.5)
RANGE = Range(name="number", of="integer", low=0, high=2, bins=2)
LATTICE = Scale(name="step", of="integer", low=0, high=2)
KNOWN = Integer(name="known", low=0, high=1)


@pytest.fixture(autouse=True)
def _found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is answered is taken for records at the first look, as in `test_law_of_learning.py`."""
    monkeypatch.setattr(scale_tree, "FALSE_FIND", 1e9)


def plan_of(domain: Domain, *columns: str, epsilon: Fraction = EPSILON) -> DescriptionPlan:
    spec = Spec(
        mechanism=description.MECHANISM, parameters={"columns": list(columns)}, epsilon=epsilon
    )
    return description.plan(domain, spec)


def values_of(answers: Answers) -> Hashable:
    """What was answered, without the journal."""
    counted = tuple((m.clique, tuple(m.values.ravel().tolist())) for m in answers.measurements)
    return counted, answers.discoveries


def worst(
    plan: DescriptionPlan,
    *,
    most: int,
    sampler: type[Replay] = Replay,
    cap: Fraction = EPSILON,
) -> Fraction | float:
    """Of everything that leaves the room; the description is a function of it."""

    def program(session: RoomSession, _: Rows) -> Hashable:
        answers = plan.run(session)
        return values_of(answers), answers.calls, session.spent

    return exact.largest_ratio(
        program, plan.domain, cap=Pure(epsilon=cap), most=most, sampler=sampler
    )


@pytest.mark.parametrize(
    ("attributes", "columns", "most"),
    [
        pytest.param((WEAK,), (), 2, id="categories"),
        pytest.param((RANGE,), (), 2, id="bins"),
        pytest.param((LATTICE,), (), 1, id="a lattice"),
        pytest.param((WEAK, RANGE, KNOWN), ("word",), 1, id="one of two columns"),
    ],
)
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_target(
    attributes: tuple[Attribute, ...], columns: tuple[str, ...], most: int
) -> None:
    ratio = worst(plan_of(Domain(attributes=attributes), *columns), most=most)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON, (
        "a claim this loose would hide a defect"
    )


class FindsWhatOccurs(Replay):
    """Only values that somebody has may come out."""

    def discover(
        self, tally: dict[int, int], *, size: int, threshold: int, noise: Noise
    ) -> list[tuple[int, int]]:
        found = super().discover(tally, size=size, threshold=threshold, noise=noise)
        return [(rank, count) for rank, count in found if rank in tally]


class HalvedDiscovery(Replay):
    def reaching(self, count: int, *, threshold: int, noise: Noise) -> int:
        return super().reaching(
            count, threshold=threshold, noise=replace(noise, scale=noise.scale / 16)
        )


@pytest.mark.parametrize(("sampler", "least"), [(FindsWhatOccurs, inf), (HalvedDiscovery, 1.5)])
def test_a_mutant_is_noticed(sampler: type[Replay], least: float) -> None:
    ratio = worst(plan_of(Domain(attributes=(WEAK,))), most=2, sampler=sampler)
    assert exact.worst_epsilon(ratio) >= least * EPSILON


class FirstRoundExactly(Replay):
    """The first answer, by which the intervals of the next round are chosen, has no noise."""

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        return super().counts(vector, noise) if self.taken else np.clip(vector, 0, self.high)


@pytest.mark.parametrize(
    ("sampler", "least"), [(FirstRoundExactly, inf), (exact.HalvedScale, 1.9)]
)
def test_a_mutant_of_the_rounds_of_a_lattice_is_noticed(
    sampler: type[Replay], least: float
) -> None:
    ratio = worst(plan_of(Domain(attributes=(LATTICE,))), most=1, sampler=sampler)
    assert exact.worst_epsilon(ratio) >= least * EPSILON


def test_parts_that_add_up_to_more_than_the_cap_are_refused_by_the_room_and_noticed_without_it() -> (
    None
):
    domain = Domain(attributes=(WEAK,))
    twice = plan_of(domain, epsilon=2 * EPSILON)
    greedy = replace(plan_of(domain), questions=twice.questions)
    with pytest.raises(BudgetExceeded):
        worst(greedy, most=1)
    assert exact.worst_epsilon(worst(greedy, most=1, cap=10 * EPSILON)) > 1.5 * EPSILON


@pytest.mark.slow
def test_a_purchase_and_a_release_under_it_lose_their_sum_at_most() -> None:
    """Both together, from the same rows: the release is planned for the description that was bought. Its
    codes are those of what was learned, by which one session counts."""
    domain = Domain(attributes=(LATTICE,))
    purchase = plan_of(domain, epsilon=EPSILON / 2)
    releases: dict[str, tuple[Domain, Plan]] = {}

    def release_after(answers: Answers) -> tuple[Domain, Plan]:
        learned = purchase.learned(answers)
        key = repr(learned)
        if key not in releases:
            bought = purchase.described(answers, paid_by=purchase.receipt(answers))
            spec = Spec(mechanism="independent" if learned else "random", epsilon=EPSILON / 2)
            releases[key] = domain.resolve_some(learned), mechanisms.plan(bought, spec)
        return releases[key]

    def program(session: RoomSession, _: Rows) -> Hashable:
        resolved, release = release_after(purchase.run(session))
        if not resolved.undeclared:
            session.resolve(resolved)
            release.ask(session)
        return session.calls, values_of(session.answers)

    ratio = exact.largest_ratio(program, domain, cap=Pure(epsilon=EPSILON), most=1)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON


# ---- people of several records, and records that are replaced
Pair = tuple[Table, Table]
GRID = Range(name="number", of="integer", low=0, high=4, bins=2)


def largest_loss(plan: DescriptionPlan, domain: Domain, pair: Pair) -> float:
    def run(sampler: Coarse, rows: Rows) -> Hashable:
        cap = Pure(epsilon=100 * EPSILON)
        session = open_session(rows, domain=domain, cap=cap, sampler=sampler)
        answers = plan.run(session)
        return answers.calls

    one, other = (exact.rows_of(table, domain) for table in pair)
    told = Told((0, 1, 2), few=0, many=5_000, otherwise=2_000)
    compared = [Compared(run, both, told) for both in ((one, other), (other, one))]
    return max(each.largest() for each in compared)


@pytest.mark.parametrize(
    ("attribute", "other"), [(WEAK, 1), (GRID, 3), (LATTICE, 2)], ids=["weak", "range", "scale"]
)
@pytest.mark.parametrize(
    ("relation", "max_records"),
    [(Relation.ADD_REMOVE, 2), (Relation.REPLACE_ONE, 1)],
    ids=["records", "replaced"],
)
def test_people_of_several_records_and_replaced_ones_lose_the_target_at_most(
    attribute: Attribute, other: int, relation: Relation, max_records: int
) -> None:
    unit = PrivacyUnit(max_records=max_records)
    domain = Domain(attributes=(attribute,), relation=relation, unit=unit)
    of_one = Domain(attributes=(attribute,))
    replaced = relation is Relation.REPLACE_ONE
    pair = (((0,),), ((other,),)) if replaced else ((), ((0,),) * max_records)
    loss = largest_loss(plan_of(domain), domain, pair)
    assert 0.5 * EPSILON <= loss <= float(EPSILON) * (1 + 1e-9)
    careless = replace(plan_of(of_one), domain=domain)
    assert largest_loss(careless, domain, pair) > 1.2 * EPSILON
