"""Views of databases: a privacy unit moves the records of each view by its own records alone, and by no more
than are stated; the exact law of a session on a view; and mutants that must not survive
(docs/proofs/relational.md)."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth_engine.domain import views as database_views
from synth_engine.domain.database import Database
from synth_engine.domain.views import DatabaseView
from synth_engine.errors import PrivacyError, TableError
from synth_engine.measurement import Noise
from synth_engine.privacy import noise_scale
from synth_engine.privacy.loss import Pure
from synth_engine.relational import plan as plans
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from synth_engine.sources import database as room
from tests import databases
from tests.databases import HOMES, PEOPLE, TRIPS, document
from tests.privacy import exact
from tests.privacy.exact import Law
from tests.privacy.planted import plant

EPSILON = Fraction(7, 10)
BOUNDS = {"people": 2, "trips": 2}
"""Smaller bounds on the rows of a unit than the tables of these tests declare."""
FIRST: dict[str, Any] = {**PEOPLE, "siblings": "first", "most": 3}


def words(length: int) -> bytes:
    """Not random: row n of a file has the same word whatever stands behind it, so that neighbours are
    coupled."""
    number = np.arange(length // 8, dtype=np.uint64)
    return ((number * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(0x55)).tobytes()


def words_from_the_end(length: int) -> bytes:
    """The same with rows counted from the end of a file."""
    return np.frombuffer(words(length), dtype=np.uint64)[::-1].tobytes()


def all_views(
    database: Database, bounds: Mapping[str, int] | None = None
) -> tuple[DatabaseView, ...]:
    units = database_views.units_view(database)
    first = () if units is None else (units,)
    return (*first, *database_views.views(database, bounds=bounds))


def stated_of(database: Database, bounds: Mapping[str, int] | None = None) -> dict[str, int]:
    """How many records of a unit each view states."""
    return {view.name: view.domain.unit.max_records for view in all_views(database, bounds)}


def records(
    folder: Path,
    database: Database,
    rows: databases.Rows,
    *,
    random_bytes: Callable[[int], bytes] = words,
    bounds: Mapping[str, int] | None = None,
) -> dict[str, Counter[Any]]:
    """The records of each view of a database."""
    opened = room.open_database(
        database, folder=databases.write(folder, rows), random_bytes=random_bytes
    )
    found = {}
    for view in all_views(database, bounds):
        seen = opened.view(view, random_bytes=random_bytes)
        found[view.name] = Counter(
            databases.bag([seen.codes(name) for name in view.domain.names])
        )
    return found


def with_unit(rows: databases.Rows, unit: databases.Rows) -> databases.Rows:
    """The unit stands behind all others in each file, so that others have the same words."""
    return {name: [*rows[name], *unit[name]] for name in rows}


def unit_of(ages: tuple[int, ...], trips: tuple[int, ...]) -> databases.Rows:
    """A home of so many people, with so many trips each."""
    people = [(f"new{place}", "new", age) for place, age in enumerate(ages)]
    made = [(f"new{place}", mode % 2) for place, n in enumerate(trips) for mode in range(n)]
    return {"homes": [("new", 1)], "people": people, "trips": made}


UNITS = [
    unit_of((), ()),
    unit_of((1,), (3,)),
    unit_of((0, 2), (0, 1)),
    unit_of((2, 1, 0, 0), (1, 2, 3, 4)),
    unit_of((1, 1, 1), (2, 2, 2)),
]
ORPHANS: databases.Rows = {
    "homes": [],
    "people": [("lost", "nowhere", 1)],
    "trips": [("lost", 1), ("nobody", 0)],
}


def farthest(
    folder: Path, database: Database, bounds: Mapping[str, int] | None = None
) -> dict[str, int]:
    """How many records one unit adds to each view at most, behind all others and before them. AssertionError
    where it changes a record of another unit."""
    most: dict[str, int] = {}
    for seed, in_front in itertools.product(range(1, 4), (False, True)):
        random_bytes = words_from_the_end if in_front else words
        others = with_unit(databases.random_rows(homes=3 * seed, seed=seed), ORPHANS)
        before = records(folder, database, others, random_bytes=random_bytes, bounds=bounds)
        for unit in UNITS:
            both = with_unit(unit, others) if in_front else with_unit(others, unit)
            after = records(folder, database, both, random_bytes=random_bytes, bounds=bounds)
            for view, counted in after.items():
                assert not before[view] - counted, "a unit removed records of others"
                added = (counted - before[view]).total()
                most[view] = max(most.get(view, 0), added)
    return most


@pytest.mark.parametrize("bounds", [None, BOUNDS], ids=["declared", "bounded"])
@pytest.mark.parametrize("people", [PEOPLE, FIRST], ids=["consecutive", "first"])
def test_a_unit_adds_its_own_records_and_no_more_than_are_stated(
    people: dict[str, Any], bounds: Mapping[str, int] | None, tmp_path: Path
) -> None:
    database = Database.from_json(document(HOMES, people, TRIPS))
    assert farthest(tmp_path, database, bounds) == stated_of(database, bounds)


def test_orphans_count_nowhere(tmp_path: Path) -> None:
    database = databases.described()
    rows = databases.random_rows(homes=5)
    assert records(tmp_path, database, with_unit(rows, ORPHANS)) == records(
        tmp_path, database, rows
    )


# ---- mutants
# ------------------------------------------------------------------------------------------------


def one_child_more(patch: pytest.MonkeyPatch) -> None:
    plant(patch, room._by_chance, "ranks < most", "ranks <= most")


def children_of_all_parents(patch: pytest.MonkeyPatch) -> None:
    plant(patch, room._by_chance, "ranks < most", "np.arange(ordered.size) < most")


def orphans_go_to_the_first_parent(patch: pytest.MonkeyPatch) -> None:
    plant(patch, room._read, "pc.fill_null(indices, -1)", "pc.fill_null(indices, 0)")


def pairs_of_strangers(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        room._sibling_pairs,
        "np.flatnonzero(~own.starts)",
        "np.arange(1, own.starts.size)",
    )


def references_of_rows_that_were_not_retained(patch: pytest.MonkeyPatch) -> None:
    """A retained row counts for the parent that stood in its place before truncation."""
    plant(
        patch,
        room._read,
        "parents=parents[retained]",
        "parents=np.sort(parents[parents >= 0])[: retained.size] if parent else parents",
    )


def only_one_level_counts(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        Database.max_records,
        "prod(step.most for step in (table, *self.ancestors(table)))",
        "table.most",
    )


def as_many_pairs_as_rows_less_one(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        database_views._pair_view,
        "database.max_records(table) // table.most * (table.most - 1)",
        "max(1, database.max_records(table) // table.most)",
    )


def keys_of_rows_that_were_not_retained(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        room._read,
        "keys=keys.take(pa.array(retained)) if table.key is not None else keys",
        "keys=keys",
    )


def siblings_are_sorted_among_strangers(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        room._retained,
        "np.lexsort((-codes if table.descending else codes, parents[retained]))",
        "np.argsort(codes, kind='stable')",
    )


def the_earlier_sibling_is_one_row_too_far(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        room._sibling_pairs,
        "return later, later - steps",
        "return later, later - steps - 1",
    )


def the_first_sibling_is_that_of_the_table(patch: pytest.MonkeyPatch) -> None:
    plant(patch, room._sibling_pairs, "own.positions[later]", "later")


def numbers_of_children_of_the_next_parent(patch: pytest.MonkeyPatch) -> None:
    shipped = room.DatabaseRows._row_columns

    def rolled(self: room.DatabaseRows, table: Any) -> dict[str, Any]:
        return {
            name: np.roll(column, 1) if name.startswith("#") else column
            for name, column in shipped(self, table).items()
        }

    patch.setattr(room.DatabaseRows, "_row_columns", rolled)


def columns_above_of_the_next_row(patch: pytest.MonkeyPatch) -> None:
    shipped = room.DatabaseRows._of_rows

    def rolled(self: room.DatabaseRows, table: Any) -> dict[str, Any]:
        return {
            name: np.roll(column, 1) if "." in name else column
            for name, column in shipped(self, table).items()
        }

    patch.setattr(room.DatabaseRows, "_of_rows", rolled)


def a_bound_of_fewer_pairs(patch: pytest.MonkeyPatch) -> None:
    plant(patch, database_views._pair_view, "(table.most - 1)", "max(1, table.most - 2)")


def views_are_not_bounded(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        room._bounded,
        "_by_chance(units, most, random_bytes=random_bytes)",
        "np.arange(units.size)",
    )


def records_of_a_parent_are_bounded(patch: pytest.MonkeyPatch) -> None:
    def parents(self: room.DatabaseRows, table: Any) -> Any:
        return self._DatabaseRows__tables[table.name].parents  # type: ignore[attr-defined]

    patch.setattr(room.DatabaseRows, "_units_of_rows", parents)


def pairs_are_units_of_their_own(patch: pytest.MonkeyPatch) -> None:
    shipped = room.DatabaseRows._units

    def of_their_own(self: room.DatabaseRows, view: DatabaseView) -> Any:
        units = shipped(self, view)
        return np.arange(units.size) if view.kind == "pairs" else units

    patch.setattr(room.DatabaseRows, "_units", of_their_own)


def a_bound_above_what_is_stated(patch: pytest.MonkeyPatch) -> None:
    plant(patch, room._bounded, "_by_chance(units, most,", "_by_chance(units, most + 1,")


def units_count_with_the_next_one(patch: pytest.MonkeyPatch) -> None:
    shipped = room.DatabaseRows._of_units

    def larger(self: room.DatabaseRows) -> dict[str, Any]:
        return {
            name: np.maximum(column, np.roll(column, 1))
            for name, column in shipped(self).items()
        }

    patch.setattr(room.DatabaseRows, "_of_units", larger)


def units_are_rows_of_a_table_below(patch: pytest.MonkeyPatch) -> None:
    shipped = room.DatabaseRows._of_units

    def twice(self: room.DatabaseRows) -> dict[str, Any]:
        return {name: np.repeat(column, 2) for name, column in shipped(self).items()}

    patch.setattr(room.DatabaseRows, "_of_units", twice)


MUTANTS = [
    views_are_not_bounded,
    records_of_a_parent_are_bounded,
    pairs_are_units_of_their_own,
    a_bound_above_what_is_stated,
    units_count_with_the_next_one,
    units_are_rows_of_a_table_below,
    keys_of_rows_that_were_not_retained,
    siblings_are_sorted_among_strangers,
    the_earlier_sibling_is_one_row_too_far,
    the_first_sibling_is_that_of_the_table,
    numbers_of_children_of_the_next_parent,
    columns_above_of_the_next_row,
    a_bound_of_fewer_pairs,
    one_child_more,
    children_of_all_parents,
    orphans_go_to_the_first_parent,
    pairs_of_strangers,
    references_of_rows_that_were_not_retained,
    only_one_level_counts,
    as_many_pairs_as_rows_less_one,
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mutant_is_noticed(
    mutant: Callable[[pytest.MonkeyPatch], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutant(monkeypatch)
    noticed = False
    for people, bounds in itertools.product((PEOPLE, FIRST), (None, BOUNDS)):
        database = Database.from_json(document(HOMES, people, TRIPS))
        try:
            noticed |= farthest(tmp_path, database, bounds) != stated_of(database, bounds)
        except (AssertionError, IndexError, PrivacyError):
            # A row of another unit, or of none.
            noticed = True
        if noticed:
            break
    assert noticed


# ---- which rows are retained
# ---------------------------------------------------------------------------------


def retained_by_order(tmp_path: Path, most: int) -> Counter[tuple[int, ...]]:
    """How often each set of ages is retained of one home of four people, over all orders of the random
    words."""
    people = {**PEOPLE, "key": None, "domain": {"age": 4}, "most": most}
    database = Database.from_json(document(HOMES, people))
    rows = {"homes": [("h", 0)], "people": [(f"p{age}", "h", age) for age in (2, 0, 3, 1)]}
    databases.write(tmp_path, rows)
    view = database_views.views(database)[1]
    found: Counter[tuple[int, ...]] = Counter()
    for order in itertools.permutations(range(4)):
        keys = np.array(order, dtype=np.uint64).tobytes()
        opened = room.open_database(
            database, folder=tmp_path, random_bytes=lambda _, keys=keys: keys
        )
        found[tuple(opened.view(view).codes("age").tolist())] += 1
    return found


@pytest.mark.parametrize("most", [1, 2, 3])
def test_every_set_of_children_is_retained_as_often_as_another_and_in_order(
    most: int, tmp_path: Path
) -> None:
    found = retained_by_order(tmp_path, most)
    assert len(found) == comb(4, most)
    assert len(set(found.values())) == 1
    assert all(list(ages) == sorted(ages) for ages in found)


def by_their_place_in_the_file(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        room._by_chance,
        "np.frombuffer(random_bytes(8 * owners.size), dtype=np.uint64)",
        "np.arange(owners.size)",
    )


def by_what_they_hold(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        room._retained,
        "_by_chance(parents, table.most, random_bytes=random_bytes)",
        "_by_chance(parents, table.most, random_bytes=lambda _: "
        "read.codes(table.order).astype(np.uint64).tobytes())",
    )


@pytest.mark.parametrize("mutant", [by_their_place_in_the_file, by_what_they_hold])
def test_rows_that_are_retained_by_anything_but_chance_are_noticed(
    mutant: Callable[[pytest.MonkeyPatch], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutant(monkeypatch)
    assert len(retained_by_order(tmp_path, 2)) < comb(4, 2)


# ---- the parts of the budget
# ----------------------------------------------------------------------------------


def parts_of_all_views(database: Database, delta: Fraction) -> bool:
    """Whether the caps of all views add up to no more than the cap, and are all of it but for rounding."""
    plan = plans.plan(database, epsilon=Fraction(1), delta=delta)
    spent = sum(part.loss.amount for _, part in plan.steps)
    return plan.cap.amount * Fraction(999, 1000) < spent <= plan.cap.amount


def every_view_gets_the_cap(patch: pytest.MonkeyPatch) -> None:
    plant(patch, plans._plans, "part=cap.of(left * share)", "part=cap")


def columns_are_paid_beside_the_cap(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        plans._plans,
        "(1 - all_columns) * join / sum(joins)",
        "Fraction(join, sum(joins))",
    )


def units_are_counted_beside_the_cap(patch: pytest.MonkeyPatch) -> None:
    plant(patch, plans._without, "cap.amount - units.loss.amount", "cap.amount")


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_views_share_one_budget(delta: Fraction) -> None:
    assert parts_of_all_views(databases.described(), delta)
    assert parts_of_all_views(databases.described(HOMES), delta)


@pytest.mark.parametrize(
    "mutant",
    [
        every_view_gets_the_cap,
        columns_are_paid_beside_the_cap,
        units_are_counted_beside_the_cap,
    ],
)
def test_a_budget_that_is_given_twice_is_noticed(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    assert not parts_of_all_views(databases.described(), Fraction(1, 10**9))


# ---- the exact law of a session on a view
# --------------------------------------------------------------------

Home = tuple[int, ...]
"""How many trips each person of a home has."""
ONE_HOME: tuple[Home, ...] = ((), (0,), (1,), (3,), (2, 2), (3, 3, 1))


def tables() -> Iterator[tuple[Home, ...]]:
    for number in range(3):
        yield from itertools.combinations_with_replacement(ONE_HOME, number)


def neighbours() -> Iterator[tuple[tuple[Home, ...], tuple[Home, ...]]]:
    for x, y in itertools.permutations(tables(), 2):
        more, fewer = sorted((x, y), key=len, reverse=True)
        if len(more) == len(fewer) + 1 and not Counter(fewer) - Counter(more):
            yield x, y


def opened_view(
    folder: Path, view: DatabaseView, database: Database, homes: tuple[Home, ...]
) -> Rows:
    rows: dict[str, list[tuple[Any, ...]]] = {"homes": [], "people": [], "trips": []}
    for home, people in enumerate(homes):
        rows["homes"].append((f"h{home}", 0))
        for person, trips in enumerate(people):
            rows["people"].append((f"h{home}p{person}", f"h{home}", 0))
            rows["trips"] += [(f"h{home}p{person}", 0)] * trips
    return room.open_database(database, folder=databases.write(folder, rows), random_bytes=words).view(view,
        random_bytes=words)  # fmt: skip


def worst(
    folder: Path, number: int, bounds: Mapping[str, int] | None = None
) -> tuple[Fraction | float, int]:
    database = databases.described()
    view = all_views(database, bounds)[number]
    scale = noise_scale.laplace_scale(EPSILON, view.domain.unit.max_records)
    noise = Noise(law="discrete-laplace", scale=scale)

    def program(session: RoomSession, _: Rows) -> Hashable:
        answer = session.measure((), noise=noise)
        return (*answer.values.ravel().tolist(), session.calls, session.spent)

    cap = Pure(epsilon=10 * EPSILON)
    laws: dict[Any, Law] = {
        homes: exact.law_on(
            program, opened_view(folder, view, database, homes), cap=cap, high=9
        )
        for homes in tables()
    }
    return exact.worst_ratio(laws, neighbours())  # type: ignore[arg-type]  # tables of another shape


@pytest.mark.parametrize("number", range(6),
    ids=["units", "homes", "people", "people:pairs", "trips", "trips:pairs"])  # fmt: skip
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_claim(
    number: int, tmp_path: Path
) -> None:
    ratio, compared = worst(tmp_path, number)
    assert compared > 50
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON


@pytest.mark.parametrize("number", [4, 5], ids=["trips", "trips:pairs"])
def test_the_law_of_a_bounded_view_is_that_of_its_bound(number: int, tmp_path: Path) -> None:
    bounds = {"trips": 3 if number == 4 else 1}
    ratio, _ = worst(tmp_path, number, bounds)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON


def test_noise_for_a_bound_that_is_not_enforced_is_too_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    views_are_not_bounded(monkeypatch)
    ratio, _ = worst(tmp_path, 4, {"trips": 2})
    assert exact.worst_epsilon(ratio) > 1.9 * EPSILON


def test_a_bound_for_one_level_is_too_small_for_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_one_level_counts(monkeypatch)
    ratio, _ = worst(tmp_path, 3)
    assert exact.worst_epsilon(ratio) > 1.9 * EPSILON


# ---- what is refused
# -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["homes", "people"])
def test_a_key_that_occurs_twice_is_refused_by_name_and_not_by_value(
    table: str, tmp_path: Path
) -> None:
    rows = {name: list(entries) for name, entries in databases.random_rows(homes=9).items()}
    rows[table].append(rows[table][0])
    databases.write(tmp_path, rows)
    with pytest.raises(TableError, match="more than once") as refused:
        room.open_database(databases.described(), folder=tmp_path)
    assert refused.value.column == databases.described().table(table).key
    assert "h0" not in str(refused.value)


def test_an_open_database_is_not_copied_or_shown(tmp_path: Path) -> None:
    databases.write(tmp_path, databases.random_rows(homes=3))
    opened = room.open_database(databases.described(), folder=tmp_path)
    assert repr(opened) == "<database: confidential>"
    with pytest.raises(PrivacyError):
        opened.__reduce__()
