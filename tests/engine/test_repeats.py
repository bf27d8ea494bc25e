"""Rows that stand for several records: the same as the records written out, whatever stands in the cell."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from synth_engine import cli, mechanisms, pipeline
from synth_engine.codec.multiplicity import times_of
from synth_engine.domain import Domain
from synth_engine.errors import DomainError, PrivacyError, SpecError, TableError
from synth_engine.formats import Dialect
from synth_engine.privacy.events import DirichletMultinomial
from synth_engine.privacy.loss import Pure
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.sources.opening import open_table, require_columns
from synth_engine.spec import Spec

HOMES = {"name": "home", "kind": "categorical", "values": ["a", "b"], "other": True}
WORKS = {"name": "work", "kind": "categorical", "values": ["x", "y"], "other": True}
DOCUMENT: dict[str, Any] = {
    "attributes": [HOMES, WORKS],
    "repeats": {"column": "S000", "most": 5},
}
DOMAIN = Domain.from_json(DOCUMENT)
PLAIN = Domain.from_json({"attributes": [HOMES, WORKS]})


def opened(
    folder: Path,
    lines: list[str],
    domain: Domain = DOMAIN,
    header: str = "home,work,S000",
    **more: Any,
) -> Rows:
    path = folder / "table.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    return open_table(path, domain, **more)


def counted(rows: Rows) -> list[int]:
    return [int(cell) for cell in counts.contingency(rows, ("home", "work")).ravel()]


def test_a_row_counts_as_often_as_it_says_and_as_the_records_written_out(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(3)
    lines = [
        ("ab?"[rng.integers(3)], "xy"[rng.integers(2)], int(rng.integers(6)))
        for _ in range(200)
    ]
    folded = opened(tmp_path, [f"{home},{work},{times}" for home, work, times in lines])
    written = [f"{home},{work}" for home, work, times in lines for _ in range(times)]
    assert counted(folded) == counted(opened(tmp_path, written, PLAIN, header="home,work"))
    assert folded.total == len(written)


@pytest.mark.parametrize(
    ("cell", "times"),
    [
        ("3", 3), ("0", 0), ("003", 3), (" 2 ", 2), ("+4", 4), ("2.0", 2), ("5", 5), ("6", 5),
        ("999999999999", 5),
        ("", 1), ("-3", 1), ("2.5", 1), ("many", 1), ("1e1", 1), ("nan", 1), ("\u0663", 3), ("9" * 40, 5),
        ("0" * 40 + "2", 2), ("2,000", 1),
    ],
)  # fmt: skip
def test_whatever_stands_in_the_cell_has_an_answer(
    tmp_path: Path, cell: str, times: int
) -> None:
    assert opened(tmp_path, [f'a,x,"{cell}"']).total == times


def test_numbers_are_read_with_the_marks_of_the_file(tmp_path: Path) -> None:
    domain = Domain.from_json({**DOCUMENT, "repeats": {"column": "S000", "most": 2_000}})
    dialect = Dialect(decimal=",", thousands=".")
    assert opened(tmp_path, ["a,x,1.200", "b,y,3"], domain, dialect=dialect).total == 1_203


def test_one_record_more_or_less_is_one_more_or_less_in_the_table(tmp_path: Path) -> None:
    """Neighbours of the file, a person more in one cell, are neighbours of what is counted: never more apart
    than one."""
    for times in itertools.product(range(8), repeat=2):
        lines = [f"a,x,{times[0]}", f"b,y,{times[1]}"]
        here = counted(opened(tmp_path, lines))
        for line in range(2):
            changed = list(times)
            changed[line] += 1
            there = counted(opened(tmp_path, [f"a,x,{changed[0]}", f"b,y,{changed[1]}"]))
            assert sum(abs(a - b) for a, b in zip(here, there, strict=True)) == (
                times[line] < 5
            )
    for many in (
        5,
        10**6 - 1,
        10**18 - 1,
        10**18,
        10**40 - 1,
    ):  # however many digits it takes to say so
        lines = [f"a,x,{many}", f"a,x,{many + 1}"]
        assert counted(opened(tmp_path, lines[:1])) == counted(opened(tmp_path, lines[1:]))
    fewer = counted(
        opened(tmp_path, ["a,x,3"])
    )  # a row that stands for one record alone goes with it
    assert sum(counted(opened(tmp_path, ["a,x,3", "b,y,1"]))) - sum(fewer) == 1


PUBLIC = {"relation": "replace-one", "totals": {"column": "work", "counts": {"x": 3}}}


@pytest.mark.parametrize("most", range(1, 7))
def test_public_totals_seem_right_in_all_neighbours_or_in_none_or_nothing_is_drawn(
    tmp_path: Path, most: int
) -> None:
    """Neighbours: records of one place of work that come from other homes. A table is refused by its totals
    after it was cut, so that cutting must not make other totals of them."""
    domain = Domain.from_json(
        {**DOCUMENT, **PUBLIC, "repeats": {"column": "S000", "most": most}}
    )
    assert domain.totals is not None and domain.repeats is not None
    told_apart = False
    for records in range(1, 9):
        tables = [
            held
            for held in itertools.product(range(records + 1), repeat=3)
            if sum(held) == records
        ]
        told_apart |= (
            len({times_of(pa.array(map(str, held)), most=most).sum() == 3 for held in tables})
            > 1
        )
    assert told_apart == domain.repeats.cuts(domain.totals.counts) == (most <= 3)
    if not told_apart:
        return
    with pytest.raises(SpecError, match="cut rows would make other totals"):
        mechanisms.plan(domain, Spec(mechanism="on-the-map", epsilon=Fraction(1)))
    event = DirichletMultinomial(
        epsilon=Fraction(1), delta=Fraction(0), origins=3, unit=1, priors=((3, 9),)
    )
    session = open_session(
        opened(tmp_path, ["a,x,1"], domain), domain=domain, cap=Pure(epsilon=Fraction(9))
    )
    with pytest.raises(PrivacyError, match="more than the largest total"):
        session.resample("home", event=event)
    assert session.calls == ()


def test_units_are_bounded_after_rows_became_records(tmp_path: Path) -> None:
    domain = Domain.from_json({**DOCUMENT, "unit": {"max_records": 2, "column": "who"}})
    lines = ["p,a,x,3", "p,b,y,4", "q,a,x,1", "r,a,y,0"]
    rows = opened(tmp_path, lines, domain, header="who,home,work,S000")
    assert rows.total == 3  # two of p, one of q
    assert sorted(np.bincount(rows.units()).tolist()) == [1, 2]


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"repeats": {"column": "S000", "most": 0}}, "column 'S000': .*not from 1 to 100,000"),
        (
            {"repeats": {"column": "S000", "most": 100_001}},
            "column 'S000': .*not from 1 to 100,000",
        ),
        ({"repeats": {"column": "home", "most": 3}}, "column 'home': .*and something else too"),
        (
            {"unit": {"max_records": 2, "column": "S000"}},
            "column 'S000': .*and something else too",
        ),
        ({"repeats": {"column": "S000", "most": "many"}}, "most"),
        ({"repeats": {"column": "S000"}}, "not from 1"),
        ({"repeats": ["S000"]}, "no object"),
        ({"repeats": {"column": "S000", "most": 3, "least": 1}}, "least"),
    ],
)
def test_what_contradicts_itself_is_refused(more: dict[str, Any], rule: str) -> None:
    with pytest.raises(DomainError, match=rule):
        Domain.from_json({**DOCUMENT, **more})


def test_a_left_out_column_may_say_it_and_a_description_without_it_keeps_its_digest() -> None:
    said = {**DOCUMENT, "attributes": [HOMES, WORKS, {"name": "S000", "kind": "identifier"}]}
    domain = Domain.from_json(said)
    assert Domain.from_json(domain.to_json()) == domain
    assert "repeats" not in PLAIN.to_json()


def test_a_table_without_the_column_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("home,work\na,x\n")
    with pytest.raises(TableError, match="column 'S000': the table has no such column"):
        require_columns(path, DOMAIN)


def test_a_release_and_its_comparison_speak_of_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real, drawn = tmp_path / "real.csv", tmp_path / "drawn.csv"
    real.write_text("home,work,S000\n" + "a,x,5\nb,y,4\n" * 50)
    (tmp_path / "domain.json").write_text(json.dumps(DOCUMENT))
    said = [
        "synthesize",
        str(real),
        "--domain",
        str(tmp_path / "domain.json"),
        "--mechanism",
        "independent",
    ]
    assert cli.main([*said, "--epsilon", "50", "--out", str(drawn)]) == 0, (
        capsys.readouterr().err
    )
    lines = drawn.read_text().splitlines()
    assert lines[0] == "home,work"
    assert abs(len(lines) - 1 - 450) < 20
    report = pipeline.compare(real, drawn, domain=DOMAIN)
    assert report["rows"]["real"] == 450
    assert report["rows"]["synthetic"] == len(lines) - 1
