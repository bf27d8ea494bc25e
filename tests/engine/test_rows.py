"""Rows: encoded, truncated by unit, countable, and nothing else."""

from __future__ import annotations

import copy
import io
import itertools
import logging
import pickle
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth_engine.domain import Domain
from synth_engine.errors import DomainError, PrivacyError, TableError
from synth_engine.formats import Dialect
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.sources.opening import open_table, require_columns

SMALL = Domain.from_json({"a": 3, "b": 2})


@pytest.fixture
def rows() -> Rows:
    codes = {
        "a": np.array([0, 1, 1, 2], dtype=np.uint16),
        "b": np.array([0, 1, 1, 0], dtype=np.uint16),
    }
    return Rows(codes, domain=SMALL)


@pytest.mark.parametrize(
    "act",
    [
        pickle.dumps,
        copy.copy,
        copy.deepcopy,
        iter,
        list,
        len,
        bool,
        vars,
        hash,
        lambda rows: rows == rows,
        lambda rows: rows != rows,
        lambda rows: rows in [copy],
        lambda rows: 3 in rows,
        lambda rows: rows[0],
        lambda rows: rows.__getstate__(),
        lambda rows: rows.__reduce__(),
        lambda rows: setattr(rows, "note", 1),
        np.asarray,
    ],
    ids=lambda attempt: (
        attempt.__name__
    ),  # not its address: parallel processes have to agree on names
)
def test_nothing_but_counting_is_possible(rows: Rows, act: Callable[[Any], object]) -> None:
    try:
        outcome = act(rows)
    except (PrivacyError, TypeError, AttributeError):
        return
    # NumPy may wrap the object as it is; what must not happen is that it looks inside.
    assert isinstance(outcome, np.ndarray)
    assert outcome.shape == ()


def test_whatever_shows_rows_shows_a_constant(rows: Rows) -> None:
    shown = {repr(rows), str(rows), f"{rows}", f"{rows!r:>3}", f"{[rows]}"[1:-1]}
    assert shown == {"<rows: confidential>"}
    stream = io.StringIO()
    logger = logging.getLogger("rows")
    handler = logging.StreamHandler(stream)
    logger.addHandler(handler)
    try:
        logger.error("%s %r", rows, {"table": rows})
    finally:
        logger.removeHandler(handler)
    assert stream.getvalue() == "<rows: confidential> {'table': <rows: confidential>}\n"


def test_a_traceback_with_local_variables_shows_a_constant(rows: Rows) -> None:
    def fail(table: Rows) -> None:
        raise ValueError

    try:
        fail(rows)
    except ValueError as error:
        text = "".join(
            traceback.TracebackException.from_exception(error, capture_locals=True).format()
        )
    assert "table = <rows: confidential>" in text
    assert "array" not in text


def test_rows_must_fit_their_domain() -> None:
    with pytest.raises(PrivacyError):
        Rows({"a": np.zeros(2, dtype=np.uint16)}, domain=SMALL)
    with pytest.raises(PrivacyError):
        Rows(
            {"a": np.zeros(2, dtype=np.uint16), "b": np.zeros(3, dtype=np.uint16)}, domain=SMALL
        )


def test_a_contingency_table_counts_every_cell_in_the_order_asked(rows: Rows) -> None:
    assert counts.contingency(rows, ("a", "b")).tolist() == [[1, 0], [0, 2], [1, 0]]
    assert counts.contingency(rows, ("b", "a")).tolist() == [[1, 0, 1], [0, 2, 0]]
    assert counts.contingency(rows, ("b",)).tolist() == [2, 2]
    assert counts.contingency(rows, ()).tolist() == 4
    assert counts.contingency(rows, ("a",)).dtype == np.int64


def test_only_cliques_of_the_domain_are_counted(rows: Rows) -> None:
    with pytest.raises(DomainError):
        counts.contingency(rows, ("c",))
    with pytest.raises(DomainError):
        counts.contingency(rows, ("a", "a"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes", [(7, 5), (700, 900)], ids=["fewer cells than a block", "more cells than a block"]
)
def test_counting_block_by_block_agrees_with_counting_one_by_one(
    sizes: tuple[int, int],
) -> None:
    rng = np.random.default_rng(3)
    domain = Domain.from_json({"a": sizes[0], "b": sizes[1]})
    codes = {
        name: rng.integers(0, size, 150_000).astype(np.uint16)
        for name, size in domain.sizes.items()
    }
    table = counts.contingency(Rows(codes, domain=domain), ("a", "b"))
    expected = Counter(zip(codes["a"].tolist(), codes["b"].tolist(), strict=True))
    assert table.sum() == 150_000
    assert {cell: int(table[cell]) for cell in np.ndindex(*sizes) if table[cell]} == expected


def by_unit(most: int, column: str = "who") -> Domain:
    return Domain.from_json(
        {
            "unit": {"max_records": most, "column": column},
            "attributes": [{"name": "x", "kind": "integer", "low": 0, "high": 9}],
        }
    )


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """Three records of Ann, one of Bob, four of nobody known."""
    path = tmp_path / "visits.csv"
    path.write_text('who,x\nann,0\n"",4\nann,1\nbob,3\n"",5\nann,2\n"",6\n"",7\n')
    return path


@pytest.mark.parametrize(("most", "kept"), [(1, 3), (2, 5), (3, 7), (4, 8), (100, 8)])
def test_no_unit_keeps_more_records_than_its_bound(visits: Path, most: int, kept: int) -> None:
    table = counts.contingency(open_table(visits, by_unit(most)), ("x",))
    assert table[:3].sum() == min(3, most)  # ann
    assert table[3] == 1  # bob
    assert table[4:8].sum() == min(4, most)  # without an id: one unit together
    assert table.sum() == kept


@pytest.mark.slow
def test_every_record_of_a_unit_has_the_same_chance_to_stay(visits: Path) -> None:
    rounds = 3_000
    total = np.zeros(10, dtype=np.int64)
    for _ in range(rounds):
        total += counts.contingency(open_table(visits, by_unit(1)), ("x",))
    deviation = (rounds * (1 / 3) * (2 / 3)) ** 0.5
    assert np.abs(total[:3] - rounds / 3).max() < 6 * deviation
    assert np.abs(total[4:8] - rounds / 4).max() < 6 * deviation


def test_which_records_stay_is_exactly_uniform_over_the_random_order(visits: Path) -> None:
    """With every order of the keys played through, each subset of two of Ann's three records comes up equally
    often."""
    subsets: Counter[tuple[int, ...]] = Counter()
    for keys in itertools.permutations(range(3)):
        places = {
            0: keys[0],
            2: keys[1],
            5: keys[2],
        }  # lines of Ann; the others do not compete with her
        drawn = np.array([places.get(i, 0) for i in range(8)], dtype=np.uint64).tobytes()
        rows = open_table(visits, by_unit(2), random_bytes=lambda _, drawn=drawn: drawn)
        table = counts.contingency(rows, ("x",))
        subsets[tuple(np.flatnonzero(table[:3]).tolist())] += 1
    assert subsets == {(0, 1): 2, (0, 2): 2, (1, 2): 2}


def test_one_unit_more_changes_the_counts_by_no_more_than_the_bound(tmp_path: Path) -> None:
    """The neighbour: a table with all records of a unit taken out; what others keep does not depend on
    them."""
    path, without = tmp_path / "with.csv", tmp_path / "without.csv"
    records = [
        ("ann", 0),
        ("bob", 1),
        ("ann", 2),
        ("eve", 3),
        ("eve", 4),
        ("ann", 5),
        ("bob", 6),
        ("eve", 7),
    ]
    path.write_text("who,x\n" + "".join(f"{who},{x}\n" for who, x in records))
    without.write_text(
        "who,x\n" + "".join(f"{who},{x}\n" for who, x in records if who != "ann")
    )
    keys = {x: np.uint64(x * 7919 % 1_009) for _, x in records}

    def bytes_for(xs: list[int]) -> Callable[[int], bytes]:
        return lambda _: np.array([keys[x] for x in xs], dtype=np.uint64).tobytes()

    more = counts.contingency(
        open_table(path, by_unit(2), random_bytes=bytes_for([x for _, x in records])), ("x",)
    )
    fewer = counts.contingency(
        open_table(
            without,
            by_unit(2),
            random_bytes=bytes_for([x for who, x in records if who != "ann"]),
        ),
        ("x",),
    )
    difference = more - fewer
    assert difference.min() >= 0
    assert difference.sum() == 2


def test_truncation_holds_across_blocks(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("who,x\n" + "".join(f"u{i % 10},{i % 10}\n" for i in range(40_000)))
    assert counts.contingency(open_table(path, by_unit(3)), ("x",)).tolist() == [3] * 10


def test_the_unit_column_is_never_modelled() -> None:
    with pytest.raises(DomainError, match="identifies people") as refusal:
        by_unit(1, column="x")
    assert refusal.value.column == "x"


@pytest.mark.parametrize(
    ("domain", "column"), [(by_unit(1, column="nobody"), "nobody"), (SMALL, "a")]
)
def test_a_column_that_is_not_in_the_table_is_named(
    visits: Path, domain: Domain, column: str
) -> None:
    with pytest.raises(TableError, match="no such column") as refusal:
        open_table(visits, domain)
    assert refusal.value.column == column


def test_columns_outside_the_domain_and_identifiers_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("key,a,b,extra\nk1,0,1,z\nk2,2,0,z\n")
    document = SMALL.to_json()
    document["attributes"] = [
        {"name": "key", "kind": "identifier"},
        *SMALL.to_json()["attributes"],
    ]  # type: ignore[misc]
    table = open_table(path, Domain.from_json(document))
    assert counts.contingency(table, ("a", "b")).tolist() == [[0, 1], [0, 0], [1, 0]]


@pytest.mark.parametrize(
    "value", ["", "-1", "3", "99999999999999999999", "x", "1e999", "ñ", '"a\nb"', "=1+1"]
)
def test_no_value_of_a_cell_can_make_opening_fail(tmp_path: Path, value: str) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(f"a,b\n{value},0\n1,1\n")
    assert counts.contingency(open_table(path, SMALL), ("a",)).sum() == 2


# --- before a charge ----------------------------------------------------------------------------------------
def test_a_record_has_no_say_in_how_the_others_are_read(tmp_path: Path) -> None:
    """Without a header the first line is a record: what stands between cells is said, or nothing is read."""
    table = tmp_path / "table.csv"
    table.write_text("1,0;0\n1,1;1\n")
    domain = Domain.from_json({"column_1": 2, "column_2": 2})
    for look in (open_table, require_columns):
        with pytest.raises(TableError, match="nobody said what stands between cells"):
            look(table, domain, dialect=Dialect(header=False, columns=2))
    said = open_table(
        table, domain, dialect=Dialect(header=False, columns=2, delimiter=";", decimal=",")
    )
    assert counts.contingency(said, ()).tolist() == 2


def test_looking_for_columns_reads_the_header_and_no_row(tmp_path: Path) -> None:
    """Rows that no reader takes do not change what is said: nothing below the header is looked at."""
    domain = Domain.from_json(
        {
            "attributes": [{"name": "a", "kind": "integer", "low": 0, "high": 9}],
            "unit": {"column": "who"},
        }
    )
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,who\n" + b"1,x\n" * 5_000 + b'\xff,"broken\n1,2,3\n')
    require_columns(path, domain)
    with pytest.raises(TableError):
        open_table(path, domain)
    for header, absent in ((b"b,who\n", "a"), (b"a,whom\n", "who")):
        path.write_bytes(header + b'\xff,"broken\n')
        with pytest.raises(TableError) as caught:
            require_columns(path, domain)
        assert (caught.value.column, caught.value.line) == (absent, None)
