"""`intervals`: the exact law on tiny columns, read by the room from texts, what it refuses, and mutants that
must not survive."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine.domain import Domain, Integer, Scale
from synth_engine.errors import BudgetExceeded, PrivacyError, VerificationError
from synth_engine.measurement import Counts, Noise
from synth_engine.privacy import noise_scale
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.receipt import call_to_json
from synth_engine.privacy.unit import (
    PrivacyUnit,
    Relation,
    Sensitivity,
    histogram_sensitivity,
)
from synth_engine.room import counts
from synth_engine.room.count_cache import CountCache
from synth_engine.room.question import PublicFacts
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from synth_engine.room.verbs import intervals
from synth_engine.sources.opening import open_table
from synth_engine.verifier import calls as verifier_calls
from tests.privacy import exact
from tests.privacy.exact import Law, Replay
from tests.privacy.planted import plant

EPSILON = Fraction(7, 10)
MARKER = "?"
NAN = float("nan")
VALUES = ("0", "1", "2", "3")
"""All values of the lattice 0, 1, 2, 3, each at the position that it names."""
ALL, GAPS, WHOLE = (0, 2, 4), (1, 3), (0, 4)
Table = tuple[str, ...]
Plant = Callable[[pytest.MonkeyPatch], None]


def domain_of(
    *,
    relation: Relation = Relation.ADD_REMOVE,
    max_records: int = 1,
    missing: bool = True,
    **facts: Any,
) -> Domain:
    column = Scale(
        name="n",
        **({"of": "integer", "low": 0, "high": 3} | facts),
        missing=(MARKER,) if missing else None,
    )
    return Domain(
        attributes=(column,), relation=relation, unit=PrivacyUnit(max_records=max_records)
    )


def opened(table: Sequence[str], domain: Domain, folder: Path) -> Rows:
    """The list as the room opens it."""
    path = folder / "table.csv"
    path.write_text("\n".join(["n", *table]) + "\n")
    return open_table(path, domain)


def tables(domain: Domain, *, most: int) -> list[Table]:
    column = domain.attribute("n")
    texts = VALUES if column.missing is None else (*VALUES, MARKER)
    return [
        table
        for size in range(1, most + 1)
        for table in itertools.combinations_with_replacement(texts, size)
    ]


def pairs(domain: Domain, among: list[Table]) -> Iterator[tuple[Table, Table]]:
    """All tables that differ in the records of one unit, both ways round."""
    most = domain.unit.max_records
    for x, y in itertools.permutations(among, 2):
        own, other = _without(x, y), _without(y, x)
        if domain.relation is Relation.ADD_REMOVE:
            if len(own) + len(other) <= most and not (own and other):
                yield x, y
        elif 1 <= len(own) <= most and 1 <= len(other) <= most:
            yield x, y


def _without(table: Table, other: Table) -> list[str]:
    rest = list(table)
    for text in other:
        if text in rest:
            rest.remove(text)
    return rest


def worst(
    domain: Domain,
    folder: Path,
    *,
    cuts: Sequence[int] = ALL,
    divisors: Sequence[int] = (1,),
    most: int = 2,
    sampler: type[Replay] = Replay,
    l1: int | None = None,
) -> tuple[Fraction | float, Fraction]:
    """The worst ratio of one answer with Laplace noise that is calibrated to epsilon, and what the room
    charged for it."""
    sensitivity = l1 or histogram_sensitivity(domain.unit, domain.relation).l1
    noise = Noise(law="discrete-laplace", scale=noise_scale.laplace_scale(EPSILON, sensitivity))
    charged: set[Fraction] = set()

    def program(session: RoomSession, _: Rows) -> Hashable:
        answer = session.intervals("n", cuts, noise=noise, divisors=divisors)
        assert isinstance(session.spent, Pure)
        charged.add(session.spent.epsilon)
        return (*answer.values.tolist(), session.calls, session.spent)

    among = tables(domain, most=most)
    # Mutants may cost more than they are worth; the cap is not what is tested here.
    cap = Pure(epsilon=100 * EPSILON)
    laws: dict[Table, Law] = {
        table: exact.law_on(
            program, opened(table, domain, folder), cap=cap, high=most, sampler=sampler
        )
        for table in among
    }
    # Of another shape
    ratio, compared = exact.worst_ratio(laws, pairs(domain, among))  # type: ignore[arg-type]
    assert compared > 10
    (cost,) = charged
    return ratio, cost


REPLACE = Relation.REPLACE_ONE
SETTINGS = [
    pytest.param(domain_of(), {}, id="add or remove"),
    pytest.param(domain_of(relation=REPLACE), {}, id="replace one"),
    pytest.param(domain_of(missing=False), {"cuts": (0, 1, 2, 3, 4)}, id="each value"),
    pytest.param(domain_of(), {"cuts": GAPS}, id="positions in no interval"),
    pytest.param(
        domain_of(relation=REPLACE), {"cuts": GAPS}, id="positions in no interval, replace one"
    ),
    pytest.param(domain_of(missing=False), {"divisors": (1, 2)}, id="divisors"),
    pytest.param(
        domain_of(relation=REPLACE),
        {"cuts": WHOLE, "divisors": (1, 3)},
        id="divisors and missing values, replace one",
    ),
    pytest.param(
        domain_of(missing=False, low=-3, high=5),
        {"cuts": (0, 9), "divisors": (1, 5)},
        id="a lattice on both sides of zero, divisors",
    ),
    pytest.param(domain_of(max_records=2), {"most": 3}, id="two records a person"),
    pytest.param(
        domain_of(relation=REPLACE, max_records=2, missing=False),
        {"cuts": WHOLE, "divisors": (1, 2)},
        id="two records a person, replace one, divisors",
    ),
]


@pytest.mark.parametrize(("domain", "asked"), SETTINGS)
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_claim(
    domain: Domain, asked: dict[str, Any], tmp_path: Path
) -> None:
    ratio, charged = worst(domain, tmp_path, **asked)
    assert exact.proves(ratio, epsilon=charged + exact.SLACK)
    assert charged <= EPSILON
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON, (
        "a claim this loose would hide a defect"
    )


@settings(max_examples=150)
@given(data=st.data(), most=st.integers(1, 4), missing=st.booleans())
def test_no_unit_moves_the_counts_by_more_than_its_sensitivity(
    data: st.DataObject, most: int, missing: bool
) -> None:
    """Both norms, under both relations, of any partition of a lattice of 2^64 positions by any chain of
    divisors."""
    position = st.integers(0, 40) | st.integers(0, 2**64 - 1)
    records = st.lists(position | st.none() if missing else position, max_size=most)
    own, other = data.draw(records), data.draw(records)
    shared = data.draw(st.lists(position, max_size=10))
    cuts = sorted(
        data.draw(st.sets(st.integers(0, 42) | st.integers(0, 2**64), min_size=2, max_size=9))
    )
    divisors = [1]
    for factor in data.draw(st.lists(st.integers(2, 9), max_size=5)):
        divisors.append(divisors[-1] * factor)
    remainder = data.draw(st.integers(0, 2**63))

    def counted(table: list[int | None]) -> Counts:
        values = np.sort(np.array([k for k in table if k is not None], dtype=np.uint64))
        column = values, len(table) - values.size
        return counts.intervals(
            column, cuts, divisors, remainder=remainder, with_missing=missing
        )

    both = [counted([*shared, *own]), counted([*shared, *other])]
    for moved, relation in (
        (both[0] - counted([*shared]), Relation.ADD_REMOVE),
        (both[0] - both[1], Relation.REPLACE_ONE),
    ):
        claim = histogram_sensitivity(PrivacyUnit(max_records=most), relation)
        assert np.abs(moved).sum() <= claim.l1
        assert (moved**2).sum() <= claim.l2_squared
        assert moved.size == (len(cuts) - 1) * len(divisors) + missing


# ---- what is counted
# ---------------------------------------------------------------------------------------------


def exact_counts(
    table: Sequence[str],
    domain: Domain,
    folder: Path,
    *,
    cuts: Sequence[int],
    divisors: Sequence[int] = (1,),
) -> list[int]:
    column = domain.attribute("n")
    assert isinstance(column, Scale)
    return counts.intervals(
        CountCache(opened(table, domain, folder)).positions("n"),
        cuts,
        divisors,
        remainder=column.lattice.remainder,
        with_missing=column.missing is not None,
    ).tolist()


def test_each_record_lies_in_one_cell_at_most(tmp_path: Path) -> None:
    """Each record by itself: it adds 1 to one cell, or nothing to any where the intervals leave its position
    out."""
    domain = domain_of(low=-7, high=10)
    for text in (*map(str, range(-9, 13)), MARKER, "many", '""'):
        cache = CountCache(opened((text,), domain, tmp_path))
        for divisors, cuts in itertools.product(
            [(1,), (1, 2), (1, 2, 6), (1, 5, 10)],
            [(0, 18), (0, 1, 7, 18), (3, 4), (2, 8, 9)],
        ):
            row = counts.intervals(
                cache.positions("n"), cuts, divisors, remainder=3, with_missing=True
            )
            assert row.min() >= 0
            assert row.sum() == 1 if cuts[-1] == 18 else row.sum() <= 1


def test_cells_are_intervals_by_the_largest_divisor_of_the_value(tmp_path: Path) -> None:
    domain = domain_of(low=-5, high=50)
    table = [str(value) for value in range(-5, 51)] + [MARKER, "70", "-9", "no number"]
    # Positions 0 … 5 are the values -5 … 0, positions 6 … 55 the values 1 … 50; 70 is taken for 50 and -9 for
    # -5.
    assert exact_counts(table, domain, tmp_path, cuts=(0, 6, 56), divisors=(1, 5, 10, 50)) == [
        4, 2, 0, 1,
        40, 5, 4, 2,
        2,
    ]  # fmt: skip
    assert exact_counts(table, domain, tmp_path, cuts=(6, 7)) == [1, 2]


def test_the_ends_of_the_widest_lattice_are_counted(tmp_path: Path) -> None:
    largest = 2**63 - 1
    domain = domain_of(low=-largest, high=largest, missing=False)
    count = 2**64 - 1
    table = [str(value) for value in (-largest, -1, 0, 1, largest)]
    cuts = (0, 1, largest, largest + 1, count - 1, count)
    assert exact_counts(table, domain, tmp_path, cuts=cuts) == [1, 1, 1, 1, 1]


# ---- mutants
# -----------------------------------------------------------------------------------------------------


def cuts_that_go_back(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        intervals.question,
        "any(start >= end for start, end in pairwise(cuts))",
        "False",
    )


def cuts_that_are_no_numbers(patch: pytest.MonkeyPatch) -> None:
    """Neither above nor below the next one, so that cuts which go back pass."""
    plant(
        patch,
        intervals.question,
        "any(type(number) is not int for number in (*cuts, *divisors))",
        "False",
    )
    plant(
        patch,
        counts.intervals,
        "np.array(cuts[:-1], dtype=np.uint64)",
        "np.array([9 if cut != cut else cut for cut in cuts[:-1]], dtype=np.uint64)",
    )


def every_divisor_and_not_the_largest(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        counts._by_divisor,
        "return np.array(divisible, dtype=np.int64) - np.array([*divisible[1:], 0], dtype=np.int64)",
        "return np.array(divisible)",
    )


def divisors_that_are_no_chain(patch: pytest.MonkeyPatch) -> None:
    """Each divisor is tried on all positions, and 2 and 3 are both accepted: without the check, 0 lies in two
    classes."""
    plant(
        patch, intervals.question, "any(low >= high or high % low for low, high in pairwise(divisors))",
        "False"
    )  # fmt: skip
    plant(
        patch,
        counts._by_divisor,
        """positions = positions[(positions % number + shift) % number == 0]
        divisible.append(positions.size)
    return np.array(divisible, dtype=np.int64) - np.array([*divisible[1:], 0], dtype=np.int64)""",
        """divisible.append(int(((positions % number + shift) % number == 0).sum()))
    return np.array([positions.size - max(divisible[1:]), *divisible[1:]])""",
    )


def missing_values_at_their_position(patch: pytest.MonkeyPatch) -> None:
    plant(patch, CountCache.positions, "np.sort(positions[~missing])", "np.sort(positions)")


def positions_among_all_values(patch: pytest.MonkeyPatch) -> None:
    """The place of a value among those that occur: a smaller value moves all records."""
    plant(
        patch,
        CountCache.positions,
        "np.sort(positions[~missing])",
        "np.sort(np.unique(positions[~missing], return_inverse=True)[1]).astype(np.uint64)",
    )


def positions_from_the_lowest_value(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        CountCache.positions,
        "np.sort(positions[~missing])",
        "np.sort(positions[~missing] - min(positions[~missing], default=0))",
    )


@pytest.mark.parametrize(
    ("mutant", "domain", "asked", "least"),
    [
        (cuts_that_go_back, domain_of(), {"cuts": (0, 2, 1, 4)}, 1.9),
        (cuts_that_are_no_numbers, domain_of(), {"cuts": (0, NAN, 1, 4)}, 1.9),
        (every_divisor_and_not_the_largest, domain_of(), {"cuts": WHOLE, "divisors": (1, 2)}, 1.9),
        (divisors_that_are_no_chain, domain_of(), {"cuts": WHOLE, "divisors": (1, 2, 3)}, 1.9),
        (missing_values_at_their_position, domain_of(), {}, 1.9),
        (positions_among_all_values, domain_of(), {"most": 3, "cuts": (0, 1, 4)}, 2.9),
        (positions_from_the_lowest_value, domain_of(), {"most": 3, "cuts": (0, 1, 4)}, 2.9),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_a_mutant_count_is_noticed(
    mutant: Plant,
    domain: Domain,
    asked: dict[str, Any],
    least: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutant(monkeypatch)
    ratio, charged = worst(domain, tmp_path, **asked)
    assert not exact.proves(ratio, epsilon=charged + exact.SLACK)
    assert exact.worst_epsilon(ratio) > least * EPSILON


@pytest.mark.parametrize(
    ("domain", "asked"),
    [
        (domain_of(relation=REPLACE, missing=False), {}),
        (domain_of(max_records=2, missing=False), {"most": 3}),
    ],
    ids=["replace one", "two records a person"],
)
def test_an_event_of_half_the_sensitivity_is_noticed(
    domain: Domain, asked: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(
        monkeypatch,
        intervals.question,
        "noise.event(facts.sensitivity)",
        "noise.event(ONE_RECORD)",
        ONE_RECORD=Sensitivity(l1=1, l2_squared=1, linf=1),
    )
    ratio, charged = worst(domain, tmp_path, **asked)
    assert not exact.proves(ratio, epsilon=charged + exact.SLACK)
    assert exact.worst_epsilon(ratio) > 1.9 * charged


@pytest.mark.parametrize(
    ("sampler", "least"),
    [(exact.HalvedScale, 1.9), (exact.ActiveDomain, inf), (exact.TruncatedNoise, inf)],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_mutant_sampler_is_noticed(
    sampler: type[Replay], least: float, tmp_path: Path
) -> None:
    ratio, _ = worst(domain_of(), tmp_path, sampler=sampler)
    assert exact.worst_epsilon(ratio) >= least * EPSILON


@pytest.mark.parametrize("max_records", [1, 2])
@pytest.mark.parametrize("relation", list(Relation))
def test_noise_for_one_record_is_noticed_where_more_may_change(
    relation: Relation, max_records: int, tmp_path: Path
) -> None:
    domain = domain_of(relation=relation, max_records=max_records, missing=False)
    most = 2 if max_records == 1 or relation is REPLACE else 3
    ratio, charged = worst(domain, tmp_path, l1=1, most=most)
    moved = histogram_sensitivity(domain.unit, relation).l1
    assert exact.worst_epsilon(ratio) > 0.95 * moved * EPSILON
    assert charged >= Fraction(95, 100) * moved * EPSILON, "and the room charges for it"


# ---- what the room refuses
# ---------------------------------------------------------------------------------------

NOISE = Noise(law="discrete-laplace", scale=Fraction(2))


def session_of(folder: Path, *, epsilon: Fraction = Fraction(1), **facts: Any) -> RoomSession:
    domain = domain_of(**facts)
    rows = opened(("0", "1", MARKER), domain, folder)
    return open_session(rows, domain=domain, cap=Pure(epsilon=epsilon))


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("one cut", {"cuts": (0,)}, "lattice"),
    ("no cut", {"cuts": ()}, "lattice"),
    ("below the lattice", {"cuts": (-1, 4)}, "lattice"),
    ("beyond the lattice", {"cuts": (0, 5)}, "lattice"),
    ("decreasing", {"cuts": (0, 3, 2, 4)}, "increase"),
    ("decreasing outside", {"cuts": (0, 9, 4)}, "increase"),
    ("the same cut twice", {"cuts": (0, 2, 2, 4)}, "increase"),
    ("no divisor", {"divisors": ()}, "first divisor"),
    ("not from 1", {"divisors": (2, 4)}, "first divisor"),
    ("zero", {"divisors": (0, 1)}, "first divisor"),
    ("no chain", {"divisors": (1, 2, 3)}, "divides"),
    ("the same divisor twice", {"divisors": (1, 2, 2)}, "divides"),
    ("1 twice", {"divisors": (1, 1)}, "divides"),
    ("divisors that fall", {"divisors": (1, 4, 2)}, "divides"),
    ("a divisor without end", {"divisors": (1, 2**64)}, "below"),
    ("no number", {"cuts": (0, float("nan"), 2, 4)}, "whole"),
    ("half a position", {"cuts": (0, 0.5, 4)}, "whole"),
    ("a truth value", {"cuts": (False, 4)}, "whole"),
    ("a divisor that is no number", {"divisors": (1, float("nan"))}, "whole"),
]


@pytest.mark.parametrize(
    ("asked", "reason"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_what_is_no_partition_is_refused_and_nothing_is_charged(
    asked: dict[str, Any], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_of(tmp_path)
    monkeypatch.delattr(counts, "intervals")
    with pytest.raises(PrivacyError, match=reason):
        session.intervals("n", **({"cuts": ALL, "noise": NOISE} | asked))
    assert session.spent == Pure(epsilon=Fraction(0))
    assert session.calls == ()


def test_a_table_with_too_many_cells_is_refused(tmp_path: Path) -> None:
    session = session_of(tmp_path, high=2_000_000)
    cuts = range(1_000_001)
    for asked in ({"cuts": cuts}, {"cuts": cuts[:500_001], "divisors": (1, 2)}):
        with pytest.raises(PrivacyError, match="1,000,000 cells"):
            session.intervals("n", noise=NOISE, **asked)  # type: ignore[arg-type]
    assert session.calls == ()
    facts = PublicFacts(session.domain, Pure(epsilon=Fraction(1)))
    most = intervals.question(facts, "n", cuts[:1_000_000], noise=NOISE, divisors=(1,))
    assert most.query.cells == 1_000_000


def test_other_columns_have_no_positions(tmp_path: Path) -> None:
    domain = Domain(attributes=(Integer(name="x", low=0, high=1),))
    session = open_session(
        exact.rows_of(((0,),), domain), domain=domain, cap=Pure(epsilon=Fraction(1))
    )
    with pytest.raises(PrivacyError, match="lattice"):
        session.intervals("x", ALL, noise=NOISE)
    assert session.spent == Pure(epsilon=Fraction(0))
    assert session.calls == ()


def test_a_learned_column_is_not_counted_by_positions_again(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    column = session.domain.attribute("n")
    assert isinstance(column, Scale)
    learned = column.resolved(cuts=(0, 2, 4), pieces=(0, 2, 4), weights=(1, 1))
    session.resolve(Domain(attributes=(learned,)))
    with pytest.raises(PrivacyError, match="lattice"):
        session.intervals("n", ALL, noise=NOISE)
    assert session.calls == ()


def test_intervals_over_the_cap_are_refused_before_records_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_of(tmp_path, epsilon=Fraction(1, 3))
    monkeypatch.delattr(CountCache, "positions")
    with pytest.raises(BudgetExceeded):
        session.intervals("n", ALL, noise=NOISE)
    assert session.calls == ()


def test_no_cut_stands_in_the_journal(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    session.intervals("n", ALL, noise=NOISE, divisors=(1, 2))
    (call,) = session.calls
    assert call.query.to_json() == {"verb": "intervals", "clique": ["n"], "cells": 5}


# ---- the verifier
# ------------------------------------------------------------------------------------------------

RECEIPT: dict[str, Any] = {
    "unit": {"max_records": 1, "column": None},
    "relation": "add-remove",
    "invariants": [],
}


def line_of(folder: Path) -> dict[str, Any]:
    session = session_of(folder)
    session.intervals("n", ALL, noise=NOISE)
    (call,) = session.calls
    return call_to_json(call.query.to_json(), call.event)


def test_the_verifier_recomputes_the_cost_of_intervals(tmp_path: Path) -> None:
    line = line_of(tmp_path)
    allowed = verifier_calls.allowed_by(RECEIPT)
    assert verifier_calls.cost_of(line, 1, allowed).epsilon == Fraction(1, 2)


@pytest.mark.parametrize(
    ("query", "receipt", "reason"),
    [
        pytest.param({}, {"relation": "replace-one"}, "sensitivity", id="the other relation"),
        pytest.param(
            {}, {"unit": {"max_records": 2, "column": None}}, "sensitivity", id="another unit"
        ),
        pytest.param({"clique": ["n", "m"]}, {}, "not one column", id="two columns"),
        pytest.param({"clique": ["n", "n"]}, {}, "call 1", id="one column twice"),
        pytest.param({"clique": []}, {}, "columns", id="no column"),
        pytest.param({"clique": "n"}, {}, "call 1", id="a text"),
        pytest.param({"cells": 0}, {}, "malformed", id="no cells"),
        pytest.param({"cells": 2.5}, {}, "malformed", id="half a cell"),
        pytest.param({"divisors": [1, 2]}, {}, "call 1", id="divisors"),
        pytest.param({"cuts": [0, 2, 4]}, {}, "call 1", id="cuts"),
        pytest.param({"bins": [2]}, {}, "call 1", id="bins"),
        pytest.param({"by": []}, {}, "call 1", id="by no columns"),
        pytest.param({"threshold": 3}, {}, "call 1", id="a threshold"),
        pytest.param({"verb": "items"}, {}, "sensitivity", id="votes"),
        pytest.param({"verb": "discover"}, {}, "call 1", id="a discovery"),
        pytest.param({"verb": "interval"}, {}, "call 1", id="no query"),
    ],
)
def test_a_forged_line_of_intervals_is_refused(
    query: dict[str, Any], receipt: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    line = line_of(tmp_path)
    forged = line | {"query": line["query"] | query}
    with pytest.raises(VerificationError, match=reason):
        verifier_calls.cost_of(forged, 1, verifier_calls.allowed_by(RECEIPT | receipt))


@pytest.mark.parametrize(
    "law", ["permute-and-flip", "gumbel", "dirichlet-multinomial", "threshold-tree"]
)
def test_intervals_under_a_law_that_is_no_noise_on_counts_are_refused(
    law: str, tmp_path: Path
) -> None:
    line = line_of(tmp_path)
    forged = line | {"noise": line["noise"] | {"law": law}}
    with pytest.raises(VerificationError):
        verifier_calls.cost_of(forged, 1, verifier_calls.allowed_by(RECEIPT))


def test_a_smaller_sensitivity_than_that_of_the_unit_is_refused(tmp_path: Path) -> None:
    line = line_of(tmp_path)
    forged = line | {"sensitivity": dict.fromkeys(line["sensitivity"], 0)}
    with pytest.raises(VerificationError):
        verifier_calls.cost_of(forged, 1, verifier_calls.allowed_by(RECEIPT))
