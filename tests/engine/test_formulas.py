"""Stored results of formulas: read where somebody vouches for them, refused for a steward elsewhere, and
empty for a run, so that no record changes what another one holds."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest

from synth_engine import cli, pipeline, verifier
from synth_engine.errors import TableError, VerificationError
from synth_engine.formats import Dialect, Kind
from synth_engine.privacy import receipt as receipts
from synth_engine.relational import plan as plans
from tests import databases
from tests.engine.test_other_kinds import cells
from tests.engine.workbooks import Cell, Xml, old_workbook_with_a_formula, workbook

WHO = "A. Clerk, author of the sheet"
VOUCHED = Dialect(vouched_by=WHO)
DOMAIN = {
    "attributes": [
        {"name": "rank", "kind": "integer", "low": 0, "high": 9, "provenance": "declared"}
        | {"missing": [""]},
    ]
}


def formula(text: str, result: object, attributes: str = "", *, kind: str = "") -> Xml:
    return Xml(f"<f {attributes}>{text}</f><v>{result}</v>", kind)


def ranked(*, people: int, array: bool = False) -> bytes:
    """People with their rank from the last: one more person moves the rank of all others."""
    rows: list[list[Cell]] = [["name", "rank"]]
    for place in range(people):
        rank: Cell = formula(f"RANK(B{place + 2},B:B)", people - place)
        if array:  # one formula, in the first row, has its results in all of them
            area = f't="array" ref="B2:B{people + 1}"'
            rank = formula("ROW(B:B)", people, area) if place == 0 else people - place
        rows.append([f"p{place}", rank])
    return workbook({"Data": rows})


def table(folder: Path, name: str) -> tuple[Path, Kind]:
    """A file with one column that holds a formula: `rank`, or `a` of an old workbook."""
    content = {
        "cells.xlsx": ranked(people=4),
        "array.xlsx": ranked(people=4, array=True),
        "old.xls": old_workbook_with_a_formula(),
    }[name]
    path = folder / name
    path.write_bytes(content)
    return path, "xls" if name.endswith("xls") else "xlsx"


FILES = ["cells.xlsx", "array.xlsx", "old.xls"]


@pytest.mark.parametrize("name", FILES)
def test_a_steward_is_told_which_columns_have_formulas(tmp_path: Path, name: str) -> None:
    path, kind = table(tmp_path, name)
    with pytest.raises(TableError, match="stored results of formulas") as refusal:
        cells(path, kind)
    column = "a" if kind == "xls" else "rank"
    assert refusal.value.column == column
    assert column not in refusal.value.rule.split()
    assert "vouched_by" in refusal.value.repair
    other = "b" if kind == "xls" else "name"
    assert set(cells(path, kind, wanted=[other])) == {other}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("mode", ["checked", "total"])
def test_results_that_somebody_vouches_for_are_read(
    tmp_path: Path, name: str, mode: str
) -> None:
    path, kind = table(tmp_path, name)
    found = cells(path, kind, dialect=VOUCHED, mode=mode)
    expected = {"a": ["1", "2"]} if kind == "xls" else {"rank": ["4", "3", "2", "1"]}
    assert {**found, **expected} == found


@pytest.mark.parametrize("name", FILES)
def test_a_run_reads_no_result_for_which_nobody_vouches(tmp_path: Path, name: str) -> None:
    path, kind = table(tmp_path, name)
    found = cells(path, kind, mode="total")
    expected = {"a": ["1", ""]} if kind == "xls" else {"rank": [""] * 4}
    assert {**found, **expected} == found


@pytest.mark.parametrize("array", [False, True])
def test_a_record_more_changes_no_other_record_of_a_run(tmp_path: Path, array: bool) -> None:
    tables = []
    for people in (4, 5):
        path = tmp_path / f"{people}.xlsx"
        path.write_bytes(ranked(people=people, array=array))
        found = cells(path, "xlsx", mode="total")
        tables.append(list(zip(*found.values(), strict=True)))
    assert tables[1][:4] == tables[0]
    assert len(tables[1]) == 5


def test_whether_a_row_is_a_record_rests_on_no_formula(tmp_path: Path) -> None:
    """A row whose formulas show something, or nothing, is the same row."""
    path = tmp_path / "t.xlsx"
    for shown in ("", "x"):
        blank = formula("A2", shown, kind='t="str"')
        path.write_bytes(workbook({"Data": [["a", "b"], ["y", "z"], [blank, blank]]}))
        assert cells(path, "xlsx", mode="total") == {"a": ["y", ""], "b": ["z", ""]}


def test_a_formula_beside_the_table_or_in_its_header_is_no_cell(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    header = formula("A1", "a", kind='t="str"')
    rows: list[list[Cell]] = [
        [formula("NOW()", 1)],
        [header, "b"],
        ["x", 1],
        [formula("SUM(B:B)", 1)],
    ]
    path.write_bytes(workbook({"Data": rows}))
    form = Dialect(skip=1, footer=1)
    for mode in ("checked", "total"):
        assert cells(path, "xlsx", dialect=form, mode=mode) == {"a": ["x"], "b": ["1"]}


@pytest.mark.parametrize("who", ["a\nb", " ", "x" * 201, " Ann"])
def test_who_vouches_is_a_name_on_one_line(who: str) -> None:
    with pytest.raises(TableError, match="who vouches"):
        Dialect(vouched_by=who)


# --- the command line ---------------------------------------------------------------------------------------
def run(folder: Path, *more: str, data: str = "t.xlsx") -> dict[str, Any]:
    """A release of the table with ranks, and its receipt."""
    (folder / data).write_bytes(ranked(people=30) if data == "t.xlsx" else b"rank\n1\n")
    (folder / "d.json").write_text(json.dumps(DOMAIN))
    arguments = ["synthesize", str(folder / data), "--domain", str(folder / "d.json")]
    arguments += ["--mechanism", "independent", "--epsilon", "1", "--rows", "20"]
    arguments += ["--out", str(folder / "o.csv"), "--receipt", str(folder / "r.json")]
    assert cli.main([*arguments, "--overwrite", *more]) == (2 if data != "t.xlsx" else 0)
    found = json.loads((folder / "r.json").read_text()) if data == "t.xlsx" else {}
    return dict(found)


def test_a_receipt_says_who_vouches_for_formulas(tmp_path: Path) -> None:
    (tmp_path / "form.json").write_text(json.dumps(VOUCHED.to_json()))
    for said in (["--vouched-by", WHO], ["--form", str(tmp_path / "form.json")]):
        written = run(tmp_path, *said)
        assert written["source"] == {"formulas": True, "vouched_by": WHO}
        assert any(WHO in line for line in verifier.verify(written).sentences)
    changes = [{"vouched_by": "a\nb"}, {"vouched_by": ""}, {"formulas": False}]
    for changed in (*changes, {"query_sha256": "0" * 64}):
        altered = written | {"source": written["source"] | changed}
        forged = receipts.seal(cast(receipts.Receipt, altered))
        with pytest.raises(VerificationError):
            verifier.verify(forged)


@pytest.mark.parametrize("array", [False, True])
def test_no_command_pays_for_formulas_for_which_nobody_vouches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], array: bool
) -> None:
    """One record of a hostile file could hold an array over the cells of others."""
    (tmp_path / "t.xlsx").write_bytes(ranked(people=30, array=array))
    (tmp_path / "d.json").write_text(json.dumps(DOMAIN))
    files = [str(tmp_path / "t.xlsx"), "--domain", str(tmp_path / "d.json")]
    spent = ["--mechanism", "independent", "--epsilon", "1", "--out", str(tmp_path / "o.csv")]
    assert cli.main(["synthesize", *files, *spent]) == 2
    told = capsys.readouterr().err
    assert "rank" in told and "--vouched-by" in told and "spent" not in told
    assert not (tmp_path / "o.csv").exists()


def test_a_database_with_formulas_for_which_nobody_vouches_is_refused(tmp_path: Path) -> None:
    database = databases.described(databases.HOMES)
    (tmp_path / "homes.csv").write_bytes(
        workbook({"Data": [["home", "area"], [1, formula("A2", 1)]]})
    )
    plan = plans.plan(database, epsilon=Fraction(1), delta=Fraction(1, 10**9))
    with pytest.raises(TableError, match="stored results of formulas"):
        pipeline.synthesize_database(tmp_path, plan=plan)


def test_an_array_beside_the_table_is_refused(tmp_path: Path) -> None:
    """It decides which rows are blank. A formula there is a fact of its own row."""
    path = tmp_path / "t.xlsx"
    array = formula("A2:A3", 1, 't="array" ref="B2:B3"')
    path.write_bytes(workbook({"Data": [["a"], ["x", array], ["", 1]]}))
    with pytest.raises(TableError, match="beside the table"):
        pipeline.require_vouched(path)
    pipeline.require_vouched(path, dialect=VOUCHED)


def test_the_form_of_a_file_is_read_once_and_before_anything_is_paid_for(
    tmp_path: Path,
) -> None:
    """A pipe can be read once; of a file that is gone when the receipt is written the loss would be for
    nothing."""
    reading, writing = os.pipe()
    os.write(writing, json.dumps(VOUCHED.to_json()).encode())
    os.close(writing)
    written = run(tmp_path, "--form", f"/dev/fd/{reading}")
    os.close(reading)
    assert written["source"]["vouched_by"] == WHO


def test_a_draft_is_refused_until_somebody_vouches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = table(tmp_path, "cells.xlsx")
    draft = ["domain", str(path), "--out", str(tmp_path / "d.json")]
    assert cli.main(draft) == 2
    told = capsys.readouterr().err
    assert "rank" in told and "--vouched-by" in told
    assert cli.main([*draft, "--vouched-by", WHO]) == 0


def test_a_file_without_formulas_has_nobody_to_vouch_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, "--vouched-by", WHO, data="t.csv")
    assert "vouch" in capsys.readouterr().err
