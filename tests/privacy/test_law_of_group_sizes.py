"""`group_sizes`: the exact law on tiny tables of persons, read and truncated by the room, and mutants that
must not survive."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synth_engine.domain import Domain, Integer
from synth_engine.errors import BudgetExceeded, PrivacyError, VerificationError
from synth_engine.measurement import Answers, GroupSizes, Noise
from synth_engine.privacy import noise_scale
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.receipt import call_to_json
from synth_engine.privacy.unit import (
    PrivacyUnit,
    Relation,
    group_sizes_sensitivity,
    histogram_sensitivity,
)
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from synth_engine.sources.opening import open_table
from synth_engine.verifier import calls as verifier_calls
from tests.answers import alone
from tests.privacy import exact
from tests.privacy.exact import Law, Replay

EPSILON = Fraction(7, 10)
LARGEST = 3
"""Records that a person of the tests has at most before truncation."""


@dataclass(frozen=True, order=True)
class Persons:
    """How many records each person has, in order, and how many records belong to nobody."""

    sizes: tuple[int, ...]
    nobody: int = 0


def domain_of(max_records: int, relation: Relation = Relation.ADD_REMOVE) -> Domain:
    unit = PrivacyUnit(max_records=max_records, column="who")
    return Domain(attributes=(Integer(name="x", low=0, high=1),), unit=unit, relation=relation)


def opened(persons: Persons, domain: Domain, folder: Path) -> Rows:
    """The table as the room opens it."""
    lines = [
        f"p{number},{place % 2}"
        for number, size in enumerate(persons.sizes)
        for place in range(size)
    ]
    lines += [f",{place % 2}" for place in range(persons.nobody)]
    path = folder / "table.csv"
    path.write_text("\n".join(["who,x", *lines]) + "\n")
    return open_table(path, domain)


def tables(*, persons: int) -> Iterator[Persons]:
    for number in range(persons + 1):
        for sizes in itertools.combinations_with_replacement(range(1, LARGEST + 1), number):
            for nobody in range(LARGEST + 1):
                if sizes or nobody:  # a table without rows is none
                    yield Persons(sizes, nobody)


def pairs(domain: Domain, *, persons: int) -> Iterator[tuple[Persons, Persons]]:
    """All pairs of which one has a unit more (a person, or the records of nobody), or of which one unit
    differs."""
    add = domain.relation is Relation.ADD_REMOVE
    for x, y in itertools.permutations(tables(persons=persons), 2):
        if x.nobody == y.nobody:
            more, fewer = sorted((x.sizes, y.sizes), key=len, reverse=True)
            if len(more) == len(fewer) + add and len(_without(more, fewer)) == 1:
                yield x, y
        elif x.sizes == y.sizes and (not add or 0 in (x.nobody, y.nobody)):
            yield x, y


def _without(sizes: tuple[int, ...], others: tuple[int, ...]) -> list[int]:
    rest = list(sizes)
    for size in others:
        if size in rest:
            rest.remove(size)
    return rest


def worst(
    domain: Domain, folder: Path, *, l1: int | None = None, sampler: type[Replay] = Replay
) -> tuple[Fraction | float, int]:
    """The worst ratio of one table of group sizes, with noise calibrated to epsilon."""
    persons = 2
    scale = noise_scale.laplace_scale(
        EPSILON, l1 or group_sizes_sensitivity(domain.relation).l1
    )
    noise = Noise(law="discrete-laplace", scale=scale)

    def program(session: RoomSession, _: Rows) -> Hashable:
        answer = session.group_sizes(noise=noise)
        return (*answer.values.tolist(), session.calls, session.spent)

    cap = Pure(
        epsilon=100 * EPSILON
    )  # mutants may cost more than they may; the cap is not what is tested here
    laws: dict[Persons, Law] = {
        table: exact.law_on(
            program, opened(table, domain, folder), cap=cap, high=persons + 1, sampler=sampler
        )
        for table in tables(persons=persons)
    }
    # tables of another shape
    return exact.worst_ratio(laws, pairs(domain, persons=persons))  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("max_records", [1, 2, 3])
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_claim(
    max_records: int, relation: Relation, tmp_path: Path
) -> None:
    ratio, compared = worst(domain_of(max_records, relation), tmp_path)
    assert compared > 50
    assert exact.proves(ratio, epsilon=EPSILON)
    if max_records == 1 and relation is Relation.REPLACE_ONE:
        # The one cell is the number of persons, which moves only when the records of nobody come or go
        return
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON, (
        "a claim this loose would hide a defect"
    )


def test_the_cells_are_those_of_the_truncated_table_whatever_the_rows(tmp_path: Path) -> None:
    room_of = {Persons((1, 3, 3), nobody=2): [1, 3], Persons((1, 1)): [2, 0]}
    for persons, expected in room_of.items():
        rows = opened(persons, domain_of(2), tmp_path)
        found = counts.group_sizes(rows)
        assert found.tolist() == expected
        assert int(found @ np.arange(1, 3)) == rows.total


# ---- mutants
# ---------------------------------------------------------------------------------------------------


def before_truncation(rows: Rows, honest: Callable[[Rows], np.ndarray]) -> np.ndarray:
    """As many cells as the largest group has records. The room keeps no more than what truncation left, so
    the mutant is given the rows of a room without it."""
    records = np.bincount(rows.units())
    largest = int(records.max(initial=1))
    return np.bincount(records[records > 0], minlength=largest + 1)[1:].astype(np.int64)


def records_in_groups(rows: Rows, honest: Callable[[Rows], np.ndarray]) -> np.ndarray:
    """Records instead of persons in each cell: one person moves it by as many as he has."""
    found = honest(rows)
    return found * np.arange(1, found.size + 1)


def nobody_apart(rows: Rows, honest: Callable[[Rows], np.ndarray]) -> np.ndarray:
    """Every record without an id taken for a person of its own. The last unit of a table is the one without
    an id."""
    found, units = honest(rows), rows.units()
    last = int((units == units.max(initial=0)).sum())
    if last > 1:
        found[last - 1] -= 1
        found[0] += last
    return found


def cumulated(rows: Rows, honest: Callable[[Rows], np.ndarray]) -> np.ndarray:
    """Persons with at least so many records: one person is in several cells."""
    return honest(rows)[::-1].cumsum()[::-1].astype(np.int64)


@pytest.mark.parametrize(
    "mutant",
    [before_truncation, records_in_groups, nobody_apart, cumulated],
    ids=lambda mutant: mutant.__name__,
)
def test_a_mutant_count_is_noticed(
    mutant: Callable[[Rows, Callable[[Rows], np.ndarray]], np.ndarray],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = counts.group_sizes
    monkeypatch.setattr(counts, "group_sizes", lambda rows: mutant(rows, honest))
    if mutant is before_truncation:
        everyone = np.arange
        monkeypatch.setattr(
            "synth_engine.sources.opening._truncate",
            lambda units, *, most, random_bytes: everyone(len(units)),
        )
    ratio, _ = worst(domain_of(2), tmp_path)
    assert not exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) > 1.9 * EPSILON


def test_the_sensitivity_of_records_is_noticed_as_too_loose(tmp_path: Path) -> None:
    domain = domain_of(2)
    ratio, _ = worst(
        domain, tmp_path, l1=histogram_sensitivity(domain.unit, domain.relation).l1
    )
    assert exact.worst_epsilon(ratio) < 0.6 * EPSILON


def test_the_sensitivity_of_add_and_remove_is_noticed_under_replace_one(tmp_path: Path) -> None:
    ratio, _ = worst(domain_of(2, Relation.REPLACE_ONE), tmp_path, l1=1)
    assert exact.worst_epsilon(ratio) > 1.9 * EPSILON


@pytest.mark.parametrize(
    "sampler", [exact.HalvedScale, exact.ActiveDomain], ids=lambda sampler: sampler.__name__
)
def test_a_mutant_sampler_is_noticed(sampler: type[Replay], tmp_path: Path) -> None:
    ratio, _ = worst(domain_of(2), tmp_path, sampler=sampler)
    assert exact.worst_epsilon(ratio) > 1.15 * EPSILON


# ---- the room and what leaves it
# ---------------------------------------------------------------------------------

NOISE = Noise(law="discrete-laplace", scale=Fraction(2))


def test_without_a_column_of_persons_nothing_is_answered_or_charged() -> None:
    domain = Domain(
        attributes=(Integer(name="x", low=0, high=1),), unit=PrivacyUnit(max_records=2)
    )
    session = exact.open_session(
        exact.rows_of(((0,), (1,)), domain), domain=domain, cap=Pure(epsilon=Fraction(1))
    )
    with pytest.raises(PrivacyError, match="column"):
        session.group_sizes(noise=NOISE)
    assert session.calls == ()
    assert session.spent == Pure(epsilon=Fraction(0))


def test_group_sizes_over_the_cap_are_refused_before_rows_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = domain_of(2)
    rows = opened(Persons((1, 2)), domain, tmp_path)
    monkeypatch.delattr(counts, "group_sizes")
    session = exact.open_session(rows, domain=domain, cap=Pure(epsilon=Fraction(1, 3)))
    with pytest.raises(BudgetExceeded):
        session.group_sizes(noise=NOISE)
    assert session.calls == ()


def test_a_unit_costs_what_one_record_would_however_many_it_may_have(tmp_path: Path) -> None:
    domain = domain_of(3)
    session = exact.open_session(
        opened(Persons((1, 2)), domain, tmp_path), domain=domain, cap=Pure(epsilon=Fraction(1))
    )
    session.group_sizes(noise=NOISE)
    assert session.spent == Pure(epsilon=Fraction(1, 2))


def test_group_sizes_are_stored_with_the_other_answers_and_belong_to_their_digest(
    tmp_path: Path,
) -> None:
    sizes = GroupSizes(noise=NOISE, values=np.array([3, -1], dtype=np.int64))
    answers, without = alone("group-sizes", sizes), Answers()
    answers.save(tmp_path / "answers.npz")
    loaded = Answers.load(tmp_path / "answers.npz")
    assert loaded.group_sizes is not None
    assert loaded.group_sizes.values.tolist() == [3, -1]
    assert loaded.group_sizes.noise == NOISE
    changed = GroupSizes(noise=NOISE, values=np.array([3, 0], dtype=np.int64))
    other = alone("group-sizes", changed)
    assert loaded.digest == answers.digest
    assert len({answers.digest, without.digest, other.digest}) == 3


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        pytest.param(
            {"unit": {"max_records": 2, "column": None}}, "privacy unit", id="no column"
        ),
        pytest.param(
            {"unit": {"max_records": 3, "column": "who"}}, "privacy unit", id="other sizes"
        ),
        pytest.param({"relation": "replace-one"}, "sensitivity", id="the other relation"),
        pytest.param({"verb": "measure"}, "columns|sensitivity", id="as a table of records"),
    ],
)
def test_the_verifier_recomputes_the_cost_of_group_sizes(
    changed: dict[str, object], reason: str, tmp_path: Path
) -> None:
    domain = domain_of(2)
    session = exact.open_session(
        opened(Persons((1, 2)), domain, tmp_path), domain=domain, cap=Pure(epsilon=Fraction(1))
    )
    session.group_sizes(noise=NOISE)
    (call,) = session.calls
    line = call_to_json(call.query.to_json(), call.event)
    receipt = {"unit": domain.unit.to_json(), "relation": "add-remove", "invariants": []}
    assert verifier_calls.cost_of(
        line, 1, verifier_calls.allowed_by(receipt)
    ).epsilon == Fraction(1, 2)
    forged = line | {"query": line["query"] | {"verb": changed.get("verb", "group-sizes")}}
    about = receipt | {key: value for key, value in changed.items() if key != "verb"}
    with pytest.raises(VerificationError, match=reason):
        verifier_calls.cost_of(forged, 1, verifier_calls.allowed_by(about))
