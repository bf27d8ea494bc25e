"""Learning before a mechanism, and `weak-domain`: everything that leaves the room, its exact law, and
mutants."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
import pytest

from synth_engine import mechanisms
from synth_engine.domain import Attribute, Domain, Integer, Number, Place, Range, Scale, Weak
from synth_engine.errors import BudgetExceeded, PrivacyError
from synth_engine.hierarchy import NodeSet
from synth_engine.indexing import prefixes, resolving
from synth_engine.inference import scale_tree
from synth_engine.measurement import Counts, Noise
from synth_engine.mechanisms.trees.place_stage import PlacesPlan
from synth_engine.plans import domain_learning
from synth_engine.plans.plan import Plan
from synth_engine.plans.two_stage import StagedPlan
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from synth_engine.spec import Spec
from synth_engine.values import Listed
from tests.privacy import exact
from tests.privacy.coarse import Coarse, Compared, Told
from tests.privacy.exact import Replay, Table
from tests.privacy.planted import plant

EPSILON = Fraction(7, 10)
WEAK = Weak(name="word", values=Listed(["a", "b"]), rho=0.5)
SHORT = Weak(name="word", values=Listed(["a"]), rho=0.5)
RANGE = Range(name="number", of="integer", low=0, high=2, bins=2)
LATTICE = Scale(name="step", of="integer", low=0, high=2)
LATTICE_MISSING = Scale(name="step", of="integer", low=0, high=1, missing=("",))
KNOWN = Integer(name="known", low=0, high=1)


NORTH, EAST = (
    Number(name=name, low=0, high=1, edges=(0, 0.5, 1)) for name in ("north", "east")
)
PLACED = Domain(
    attributes=(NORTH, EAST),
    places=(Place(name="home", latitude="north", longitude="east", learned=True),),
)


@pytest.fixture(autouse=True)
def _found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is answered is taken for records at the first look: tables are tiny, and each round more would
    multiply the answers that there are. What the noise of a question is does not depend on it."""
    monkeypatch.setattr(scale_tree, "FALSE_FIND", 1e9)


def domain_of(*attributes: Attribute) -> Domain:
    return Domain(attributes=attributes)


def plan_of(domain: Domain, mechanism: str = "independent") -> Plan:
    return mechanisms.plan(domain, Spec(mechanism=mechanism, epsilon=EPSILON))


def worst(
    plan: Plan, *, most: int, sampler: type[Replay] = Replay, cap: Fraction = EPSILON
) -> Fraction | float:
    def program(session: RoomSession, _: Rows) -> Hashable:
        answers = plan.run(session)
        values = tuple(
            (m.clique, tuple(m.values.ravel().tolist())) for m in answers.measurements
        )
        return values, answers.discoveries, answers.calls, session.spent, session.domain.digest

    return exact.largest_ratio(
        program, plan.domain, cap=Pure(epsilon=cap), most=most, sampler=sampler
    )


@pytest.mark.parametrize(
    ("mechanism", "attributes", "most"),
    [
        pytest.param("independent", (WEAK,), 2, id="categories", marks=pytest.mark.slow),
        pytest.param("independent", (RANGE,), 2, id="bins"),
        pytest.param("random", (LATTICE,), 1, id="a lattice, random"),
        pytest.param("independent", (LATTICE,), 1, id="a lattice", marks=pytest.mark.slow),
        pytest.param("random", (LATTICE_MISSING,), 1, id="a lattice with missing values"),
        pytest.param("weak-domain", (LATTICE,), 1, id="weak-domain of a lattice"),
        pytest.param("random", (WEAK,), 2, id="categories, random"),
        pytest.param(
            "independent",
            (SHORT, KNOWN),
            1,
            id="categories beside a known column",
            marks=pytest.mark.slow,
        ),
        pytest.param("weak-domain", (WEAK,), 2, id="weak-domain"),
        pytest.param("weak-domain", (SHORT, KNOWN), 1, id="weak-domain beside a known column"),
    ],
)
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_target(
    mechanism: str, attributes: tuple[Attribute, ...], most: int
) -> None:
    ratio = worst(plan_of(domain_of(*attributes), mechanism), most=most)
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


class KeepsOther(Replay):
    """Every value but "other" is thresholded; "other" comes out exactly."""

    def discover(
        self, tally: dict[int, int], *, size: int, threshold: int, noise: Noise
    ) -> list[tuple[int, int]]:
        found = super().discover(tally, size=size - 1, threshold=threshold, noise=noise)
        return [*found, (size - 1, threshold + tally.get(size - 1, 0))]


class HalvedDiscovery(Replay):
    def reaching(self, count: int, *, threshold: int, noise: Noise) -> int:
        return super().reaching(
            count, threshold=threshold, noise=replace(noise, scale=noise.scale / 16)
        )


@pytest.mark.parametrize(
    ("sampler", "least"),
    [
        (FindsWhatOccurs, inf),
        (KeepsOther, inf),
        (HalvedDiscovery, 1.5),
        (exact.HalvedScale, 1.5),
    ],
)
def test_a_mutant_is_noticed(sampler: type[Replay], least: float) -> None:
    ratio = worst(plan_of(domain_of(WEAK)), most=2, sampler=sampler)
    assert exact.worst_epsilon(ratio) >= least * EPSILON


def test_spending_the_whole_budget_after_learning_is_refused_by_the_room_and_noticed_without_it() -> (
    None
):
    plan = plan_of(domain_of(WEAK))
    assert isinstance(plan, StagedPlan)
    greedy = replace(plan, left=plan.cap)
    with pytest.raises(BudgetExceeded):
        worst(greedy, most=1)
    assert exact.worst_epsilon(worst(greedy, most=1, cap=10 * EPSILON)) > 1.05 * EPSILON


def test_a_column_that_is_not_found_costs_the_target_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One look, and one for what the column may cost beyond its part; the method has what is left after
    both."""
    monkeypatch.setattr(scale_tree, "FALSE_FIND", 1e-9)
    monkeypatch.setattr(scale_tree, "FURTHER_LOOKS", ())
    ratio = worst(plan_of(domain_of(LATTICE), "random"), most=1)
    assert 0.5 * EPSILON < exact.worst_epsilon(ratio) <= EPSILON


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
    ratio = worst(plan_of(domain_of(LATTICE), "random"), most=1, sampler=sampler)
    assert exact.worst_epsilon(ratio) >= least * EPSILON


def test_rounds_that_cost_too_much_are_refused_by_the_room_and_noticed_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = plan_of(domain_of(LATTICE), "random")
    plant(
        monkeypatch,
        scale_tree.next_share,
        "left if left >= ZOOM_ROUND_SHARE else None",
        "Fraction(2)",
    )
    # A plan that knows what was paid takes it off the mechanism.
    monkeypatch.setattr(domain_learning, "paid_further", lambda *_: Fraction(0))
    with pytest.raises(BudgetExceeded):
        worst(plan, most=1)
    greedy = worst(plan, most=1, cap=10 * EPSILON)
    assert exact.worst_epsilon(greedy) > 1.05 * EPSILON


# ---- people of several records, and records that are replaced
# ----------------------------------------------------

GRID = Range(name="number", of="integer", low=0, high=4, bins=2)
Pair = tuple[Table, Table]
ADDED, REPLACED = Relation.ADD_REMOVE, Relation.REPLACE_ONE


def unit_domain(
    *attributes: Attribute, relation: Relation = ADDED, max_records: int = 1
) -> Domain:
    return Domain(
        attributes=attributes, relation=relation, unit=PrivacyUnit(max_records=max_records)
    )


def largest_loss(plan: Plan, domain: Domain, pair: Pair) -> float:
    """Of a run on rows of that domain, which is told of its first numbers whether they are small or large, so
    that in some branches something is learned and in others not. Every number may be whatever its noise makes
    it."""

    def run(sampler: Coarse, rows: Rows) -> Hashable:
        cap = Pure(epsilon=100 * EPSILON)
        session = open_session(rows, domain=domain, cap=cap, sampler=sampler)
        return plan.run(session).calls, session.domain.digest

    one, other = (exact.rows_of(table, domain) for table in pair)
    told = Told((0, 1, 2), few=0, many=5_000, otherwise=2_000)
    found = [Compared(run, both, told) for both in ((one, other), (other, one))]
    assert min(each.number for each in found) > 1
    return max(each.largest() for each in found)


def times(number: int, *record: int) -> Table:
    return (record,) * number


UNITS = [
    pytest.param("independent", (WEAK,), ADDED, 2, ((), times(2, 0)), 0.9, id="categories"),
    pytest.param(
        "independent", (WEAK,), REPLACED, 1, (times(1, 0), times(1, 1)), 0.95, id="categories"
    ),
    pytest.param(
        "independent", (WEAK,), REPLACED, 2, (times(2, 0), times(2, 1)), 0.95, id="categories"
    ),
    pytest.param("independent", (GRID,), ADDED, 2, ((), times(2, 0)), 0.99, id="bins"),
    pytest.param(
        "independent", (GRID,), REPLACED, 1, (times(1, 0), times(1, 3)), 0.99, id="bins"
    ),
    pytest.param(
        "independent", (GRID,), REPLACED, 2, (times(2, 0), times(2, 3)), 0.99, id="bins"
    ),
    pytest.param("independent", (LATTICE,), ADDED, 2, ((), times(2, 2)), 0.99, id="a lattice"),
    pytest.param(
        "independent", (LATTICE,), REPLACED, 1, (times(1, 0), times(1, 2)), 0.99, id="a lattice"
    ),
    pytest.param(
        "independent", (LATTICE,), REPLACED, 2, (times(2, 0), times(2, 2)), 0.99, id="a lattice"
    ),
    pytest.param("weak-domain", (WEAK,), ADDED, 2, ((), times(2, 0)), 0.95, id="weak-domain"),
    # Where a value is replaced, one is found less often and the other one more often, and not both losses are
    # seen.
    pytest.param(
        "weak-domain", (WEAK,), REPLACED, 2, (times(2, 0), times(2, 1)), 0.5, id="weak-domain"
    ),
    pytest.param(
        "weak-domain",
        (SHORT, KNOWN),
        REPLACED,
        2,
        (times(2, 0, 0), times(2, 1, 1)),
        0.75,
        id="weak-domain beside a known column",
    ),
    pytest.param(
        "weak-domain",
        (GRID,),
        REPLACED,
        2,
        (times(2, 0), times(2, 3)),
        0.99,
        id="weak-domain of bins",
    ),
]


@pytest.mark.parametrize(
    ("mechanism", "attributes", "relation", "max_records", "pair", "least"), UNITS
)
def test_people_of_several_records_and_replaced_ones_lose_the_target_at_most(
    mechanism: str,
    attributes: tuple[Attribute, ...],
    relation: Relation,
    max_records: int,
    pair: Pair,
    least: float,
) -> None:
    domain = unit_domain(*attributes, relation=relation, max_records=max_records)
    loss = largest_loss(plan_of(domain, mechanism), domain, pair)
    assert least * EPSILON <= loss <= float(EPSILON) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("attribute", "other"), [(WEAK, 1), (GRID, 3), (LATTICE, 2)], ids=["weak", "range", "scale"]
)
@pytest.mark.parametrize(
    ("relation", "max_records"), [(ADDED, 2), (REPLACED, 1)], ids=["records", "replaced"]
)
def test_learning_for_another_unit_or_relation_is_noticed(
    attribute: Attribute, other: int, relation: Relation, max_records: int
) -> None:
    """A plan that was made for one record that is added or removed."""
    domain = unit_domain(attribute)
    pair = ((), times(max_records, 0))
    if relation is REPLACED:
        pair = (times(1, 0), times(1, other))
    careless = plan_of(domain, "independent")
    loss = largest_loss(careless, domain, pair)
    assert loss > 1.7 * EPSILON


@pytest.mark.slow
def test_cells_of_a_place_and_counts_by_them_cost_the_target_and_little_less() -> None:
    ratio = worst(plan_of(PLACED, "mst"), most=1)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON


class CellsExactly(Replay):
    """The counts of the tree, by which the cells are chosen, have no noise."""

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        first_of_the_tree = vector.size == 4 and len(self.taken) == 1
        return (
            np.clip(vector, 0, self.high)
            if first_of_the_tree
            else super().counts(vector, noise)
        )


@pytest.mark.parametrize(
    ("sampler", "least"),
    [
        (CellsExactly, inf),
        pytest.param(exact.HalvedScale, 1.9, marks=pytest.mark.slow),
    ],
)
def test_a_mutant_of_the_cells_of_a_place_is_noticed(
    sampler: type[Replay], least: float
) -> None:
    ratio = worst(plan_of(PLACED, "mst"), most=1, sampler=sampler)
    assert exact.worst_epsilon(ratio) >= least * EPSILON


def test_the_cell_of_a_record_is_a_function_of_its_own_coordinates() -> None:
    hierarchy = prefixes.hierarchy(PLACED, ("north", "east"))
    quarters = hierarchy.below(hierarchy.root(), 0).ravel()
    cells = NodeSet(
        columns=hierarchy.columns,
        levels=np.ones(quarters.size, dtype=np.int64),
        prefixes=quarters,
    )
    table = {
        "north": np.array([0, 1, 0, 1], dtype=np.uint8),
        "east": np.array([0, 0, 1, 1], dtype=np.uint8),
    }
    together = resolving.cells_of_places(PLACED, cells, table)
    assert sorted(together.tolist()) == [0, 1, 2, 3]
    for record in range(4):
        alone = {name: column[[record]] for name, column in table.items()}
        assert resolving.cells_of_places(PLACED, cells, alone) == together[record]


def test_nodes_that_overlap_or_are_of_other_columns_are_no_cells() -> None:
    hierarchy = prefixes.hierarchy(PLACED, ("north", "east"))
    one = {name: np.zeros(1, dtype=np.uint8) for name in ("north", "east")}
    root, below = hierarchy.root(), hierarchy.below(hierarchy.root(), 0).ravel()
    overlapping = NodeSet(
        columns=hierarchy.columns,
        levels=np.array([0, 1], dtype=np.int64),
        prefixes=np.concatenate([root, below[1:2]]),
    )
    with pytest.raises(PrivacyError):
        resolving.cells_of_places(PLACED, overlapping, one)
    other = replace(overlapping, columns=("east", "north"))
    with pytest.raises(PrivacyError):
        resolving.cells_of_places(PLACED, other, one)


def test_the_whole_budget_after_the_cells_is_refused_by_the_room() -> None:
    plan = plan_of(PLACED, "mst")
    assert isinstance(plan, PlacesPlan)
    with pytest.raises(BudgetExceeded):
        worst(replace(plan, left=plan.cap), most=1)
