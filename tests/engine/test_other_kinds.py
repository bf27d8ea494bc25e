"""Workbooks and files of SPSS and Stata: exactly their cells as text, or a refusal by place and rule."""

from __future__ import annotations

import datetime
import io
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

from synth_engine import readers
from synth_engine.domain import Domain
from synth_engine.errors import TableError
from synth_engine.formats import Dialect, Kind
from synth_engine.readers import archive
from synth_engine.steward import ingest
from tests.engine.workbooks import DATE, MOMENT, old_workbook, workbook

CELL = "SECRET"
PLAIN = [["a", "b"], [1, "x"], [2, "y"]]


def cells(
    path: Path, kind: Kind, *, dialect: Dialect | None = None, **options: Any
) -> dict[str, list[str | None]]:
    """Every cell of a table."""
    found: dict[str, list[str | None]] = {}
    for block in readers.blocks(
        path,
        kind=kind,
        dialect=dialect,
        options=readers.ReadOptions(**options),
    ):
        for name, texts in block.items():
            found.setdefault(name, []).extend(texts.to_pylist())
    return found


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    return tmp_path / "table.xlsx"


# --- workbooks ----------------------------------------------------------------------------------------------
def test_cells_of_a_sheet_are_what_a_csv_would_hold(sheet: Path) -> None:
    rows = [
        ["whole", "number", "text", "yes", "day", "moment"],
        [1, 2.5, "007", True, (43466, DATE), (43466.75, MOMENT)],
        [-3.0, 1e20, " x\ny ", False, (2, DATE), (43467.5, MOMENT)],
        [None, 0.1, "=1+1", True, None, None],
    ]
    sheet.write_bytes(workbook({"Data": rows}))
    assert cells(sheet, "xlsx") == {
        "whole": ["1", "-3", ""],
        "number": ["2.5", "100000000000000000000", "0.1"],
        "text": ["007", " x\ny ", "=1+1"],
        "yes": ["TRUE", "FALSE", "TRUE"],
        "day": ["2019-01-01", "1900-01-02", ""],
        "moment": ["2019-01-01T18:00:00", "2019-01-02T12:00:00", ""],
    }


def test_what_was_left_out_of_a_sheet_is_told(sheet: Path) -> None:
    sheet.write_bytes(
        workbook({"Data": [["a ", None], ["1", None], [None, None], ["2", None]]}, start=3)
    )
    reading = ingest.read(sheet, kind="xlsx")
    assert (reading.columns, reading.rows, reading.line_count) == (("a",), 2, 6)
    assert reading.notes == [
        "1 blank lines were left out.",
        "Numbers, dates and times of the sheet were written as a CSV would hold them.",
    ]


def test_one_of_several_sheets_has_to_be_named(sheet: Path) -> None:
    sheet.write_bytes(workbook({"Notes": [[CELL]], "Data": PLAIN, "Empty": []}))
    with pytest.raises(TableError, match="more than one sheet"):
        cells(sheet, "xlsx")
    assert cells(sheet, "xlsx", dialect=Dialect(sheet="Data")) == {
        "a": ["1", "2"],
        "b": ["x", "y"],
    }
    assert readers.columns(sheet, kind="xlsx", dialect=Dialect(sheet="Data")) == ("a", "b")
    with pytest.raises(TableError, match="no sheet of this name"):
        cells(sheet, "xlsx", dialect=Dialect(sheet="data"))
    sheet.write_bytes(workbook({"Data": PLAIN, "Empty": []}))
    assert readers.columns(sheet) == ("a", "b")  # recognised by its content


def test_lines_around_the_table_are_left_out_as_said(sheet: Path) -> None:
    rows = [["A title"], [], *PLAIN, ["Total", 3]]
    sheet.write_bytes(workbook({"Data": rows}))
    assert cells(sheet, "xlsx", dialect=Dialect(skip=1, footer=1)) == {
        "a": ["1", "2"],
        "b": ["x", "y"],
    }
    with pytest.raises(TableError, match="more or fewer cells than the 1") as refusal:
        cells(sheet, "xlsx")
    assert refusal.value.line == 3


def test_without_a_header_columns_of_a_sheet_are_counted(sheet: Path) -> None:
    sheet.write_bytes(workbook({"Data": PLAIN}))
    found = cells(sheet, "xlsx", dialect=Dialect(header=False))
    assert found == {"column_1": ["a", "1", "2"], "column_2": ["b", "x", "y"]}
    assert readers.columns(sheet, kind="xlsx", dialect=Dialect(header=False, columns=2)) == (
        "column_1",
        "column_2",
    )


MERGED = '<mergeCells count="1"><mergeCell ref="A2:A3"/></mergeCells>'
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
FOREIGN = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
REFUSED: list[tuple[str, bytes, int | None]] = [
    ("merged cells", workbook({"D": PLAIN}, below=MERGED), 3),
    ("shows an error", workbook({"D": [["a"], [("#N/A", 't="e"')]]}), 2),
    ("columns 1 and 2 have the same name", workbook({"D": [["a", "A"], [1, 2]]}), 1),
    ("column 2 has no name", workbook({"D": [["a", None, "c"], [1, 2, 3]]}), 1),
    ("more or fewer cells than the 2", workbook({"D": [*PLAIN, [1, 2, CELL]]}), 4),
    ("looks like data", workbook({"D": [[1.5, 2.5], [3, 4]]}), 1),
    ("the file is empty", workbook({"D": []}), None),
    ("without rows", workbook({"D": [["a"]]}), None),
    ("cells far from each other", workbook({"D": [*PLAIN,
        [("1", "") if i in (0, 25) else None for i in range(26)]]}, start=1_000_000), None),
    ("not an Excel workbook", workbook({"D": PLAIN})[:-30], None),
    ("not an Excel workbook", workbook({"D": PLAIN})[:200], None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "content", "line"),
    REFUSED,
    ids=[f"{i} {case[0]}" for i, case in enumerate(REFUSED)],
)
def test_a_sheet_that_is_no_table_is_refused_by_place_and_rule(
    sheet: Path, rule: str, content: bytes, line: int | None
) -> None:
    sheet.write_bytes(content)
    with pytest.raises(TableError, match=rule) as refusal:
        cells(sheet, "xlsx")
    assert refusal.value.line == line
    assert refusal.value.repair
    assert CELL not in refusal.value.text


@pytest.mark.parametrize(("first", "entity"), [(BOMB, "b"), (FOREIGN, "e")])
def test_entities_of_xml_are_never_followed(sheet: Path, first: str, entity: str) -> None:
    content = workbook({"D": [["a", "n"], [(f"&{entity};", 't="str"'), 1]]}, first=first)
    sheet.write_bytes(content)
    try:
        found = cells(sheet, "xlsx")
    except TableError as error:
        assert "not an Excel workbook" in error.text
    else:
        assert "root" not in str(found)
        assert "aaaa" not in str(found)


def test_a_workbook_that_unpacks_to_too_much_is_stopped(
    sheet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MOST_UNPACKED", 10_000)
    sheet.write_bytes(workbook({"D": [["a"], *([i] for i in range(1_000))]}))
    with pytest.raises(TableError, match="unpacks to more"):
        cells(sheet, "xlsx")


FAR = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
NO_PLACES = b'<row r="900000"/><row>' + b"<c/>" * 30 + b"<c><v>1</v></c></row></sheetData>"
HIDDEN: list[tuple[str, tuple[bytes, bytes], str, str]] = [
    (
        "other quotes",
        (b"</sheetData>", FAR.replace(b'"', b"'")),
        "xl/worksheets",
        "far from each other",
    ),
    (
        "blanks",
        (b"</sheetData>", FAR.replace(b"r=", b"\n r = ")),
        "xl/worksheets",
        "far from each other",
    ),
    (
        "a bracket",
        (b"</sheetData>", FAR.replace(b"<c ", b'<c z=">" ')),
        "xl/worksheets",
        "far from each other",
    ),
    (
        "a long tag",
        (b"</sheetData>", FAR.replace(b"<c ", b'<c z="%s" ' % (b"z" * 2**21))),
        "xl/worksheets",
        "far from",
    ),
    ("another folder", (b"</sheetData>", FAR), "xl/sheets", "far from each other"),
    ("no places", (b"</sheetData>", NO_PLACES), "xl/worksheets", "far from each other"),
    ("no such column", (b'r="B3"', b'r="ZZZZZZZ3"'), "xl/worksheets", "not an Excel workbook"),
    (
        "no such row",
        (b'<row r="3"', b'<row r="4294967295"'),
        "xl/worksheets",
        "not an Excel workbook",
    ),
    (
        "tags that never end",
        (b"</sheetData>", b"<c " * 200_000),
        "xl/worksheets",
        "not an Excel workbook",
    ),
]


def rewritten(content: bytes, *, change: tuple[bytes, bytes], folder: str) -> bytes:
    """A workbook with something else in its sheets, and its sheets somewhere else."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            data = old.read(name).replace(
                b'"worksheets/', b'"%s/' % folder.removeprefix("xl/").encode()
            )
            is_sheet = name.startswith("xl/worksheets")
            new.writestr(
                name.replace("xl/worksheets", folder),
                data.replace(*change) if is_sheet else data,
            )
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("change", "folder", "rule"),
    [case[1:] for case in HIDDEN],
    ids=[case[0] for case in HIDDEN],
)
def test_a_small_workbook_cannot_ask_for_all_memory(
    sheet: Path, change: tuple[bytes, bytes], folder: str, rule: str
) -> None:
    """Whoever opens these ends the process: a rectangle of 17 thousand million cells fits nowhere."""
    sheet.write_bytes(rewritten(workbook({"D": PLAIN}), change=change, folder=folder))
    with pytest.raises(TableError, match=rule):
        cells(sheet, "xlsx")


@pytest.mark.parametrize("last", [(65_535, 65_535), (65_535, 400)])
def test_a_small_old_workbook_cannot_either(tmp_path: Path, last: tuple[int, int]) -> None:
    path = tmp_path / "table.xls"
    path.write_bytes(old_workbook())
    assert cells(path, "xls") == {"a": ["1", "2"], "b": ["x", "y"]}
    path.write_bytes(old_workbook(last=last))
    with pytest.raises(TableError, match="not an Excel workbook"):
        cells(path, "xls")


def test_a_workbook_with_a_part_that_is_locked_is_refused(sheet: Path) -> None:
    content = bytearray(workbook({"D": PLAIN}))
    content[6] |= 1
    entry = content.find(b"PK\x01\x02")
    content[entry + 8] |= 1
    sheet.write_bytes(content)
    with pytest.raises(TableError, match="not an Excel workbook"):
        cells(sheet, "xlsx")


def test_a_picture_in_a_workbook_does_no_harm(sheet: Path) -> None:
    sheet.write_bytes(workbook({"D": PLAIN}))
    with zipfile.ZipFile(sheet, "a") as content:
        content.writestr("xl/media/image1.png", b"\x89PNG\r\n\x1a\n<c <row")
        content.writestr("xl/drawings/vmlDrawing1.vml", b"<xml><br><c r='XFD9'></xml>")
    assert cells(sheet, "xlsx") == {"a": ["1", "2"], "b": ["x", "y"]}


def test_other_archives_are_no_workbooks(tmp_path: Path) -> None:
    path = tmp_path / "table.xlsx"
    for name, what in (
        (b"mimetypeapplication/vnd.oasis.opendocument", "a workbook or text of OpenDocument"),
        (b"a.csv", "a ZIP archive"),
    ):
        path.write_bytes(b"PK\x03\x04" + b"\0" * 26 + name)
        with pytest.raises(TableError, match=what):
            cells(path, "xlsx")


# --- files with a codebook ----------------------------------------------------------------------------------
SURVEY = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 9.0, None, 2.0],
        "age": [31.0, 99.0, 44.0, 98.0, 17.0],
        "town": ["Ahse", "", "Bré", "Cley", "Ahse"],
        "day": [
            datetime.date(2020, 2, 29),
            None,
            datetime.date(1999, 12, 31),
            datetime.date(2020, 1, 1),
        ]
        * 1
        + [datetime.date(2001, 1, 1)],
        "pay": [1.5, 2.0, 1e20, -0.25, None],
    }
)
LABELS = {"sex": {1: "male", 2: "female", 9: "refused"}}
EXPECTED = {
    "sex": ["1", "2", "9", None, "2"],
    "age": ["31", "99", "44", "98", "17"],
    "town": ["Ahse", "", "Bré", "Cley", "Ahse"],
    "day": ["2020-02-29", None, "1999-12-31", "2020-01-01", "2001-01-01"],
    "pay": ["1.5", "2", "1e+20", "-0.25", None],
}


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.sav"
    missing: dict[str, list[Any]] = {"sex": [9], "age": [{"lo": 98, "hi": 99}]}
    pyreadstat.write_sav(
        SURVEY,
        path,
        variable_value_labels=LABELS,
        missing_ranges=missing,
        column_labels={"sex": "Sex of the person"},
    )
    return path


def test_cells_of_spss_are_its_codes(survey: Path) -> None:
    assert cells(survey, "sav") == EXPECTED
    assert cells(survey, "sav", limits=readers.Limits(block_rows=2)) == EXPECTED
    assert cells(survey, "sav", wanted=["town"]) == {"town": EXPECTED["town"]}
    assert readers.columns(survey) == tuple(EXPECTED)


def test_labels_and_missing_codes_become_suggestions(survey: Path) -> None:
    drafts = {one["name"]: one for one in ingest.read(survey, kind="sav").suggestions}
    Domain.from_json({"attributes": list(drafts.values())})
    sex, age = drafts["sex"], drafts["age"]
    assert (sex["kind"], sex["values"], sex["missing"]) == (
        "categorical",
        ["1", "2"],
        ["", "9"],
    )
    assert "“Sex of the person”" in sex["why"]
    assert "1 = male; 2 = female" in sex["why"]
    assert (age["kind"], age["of"], age["missing"]) == ("scale", "integer", ["98", "99"])
    assert {one["provenance"] for one in drafts.values()} == {"suggested"}


def test_a_value_without_a_label_keeps_a_column_from_being_coded(tmp_path: Path) -> None:
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(SURVEY[["sex"]], path, variable_value_labels={"sex": {1: "male"}})
    [draft] = ingest.read(path, kind="sav").suggestions
    assert "codebook lists" not in draft["why"]


def test_missing_values_of_stata_are_spelled_as_stata_does(tmp_path: Path) -> None:
    path = tmp_path / "survey.dta"
    table = SURVEY[["sex", "town"]].assign(sex=[1, 2, "a", None, 2])
    labels = {"sex": {1: "male", 2: "female", "a": "refused"}}
    pyreadstat.write_dta(
        table, path, variable_value_labels=labels, missing_user_values={"sex": ["a"]}
    )
    assert cells(path, "dta") == {"sex": ["1", "2", ".a", None, "2"], "town": EXPECTED["town"]}
    sex = ingest.read(path, kind="dta").suggestions[0]
    assert (sex["values"], sex["missing"]) == (["1", "2"], ["", ".a"])


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_a_damaged_file_is_refused(tmp_path: Path, kind: Kind) -> None:
    path = tmp_path / f"survey.{kind}"
    write = pyreadstat.write_sav if kind == "sav" else pyreadstat.write_dta
    write(SURVEY[["town", "pay"]], path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) * 3 // 4], whole[:100], whole[:20]):
        path.write_bytes(content)
        with pytest.raises(TableError, match="that can be read"):
            cells(path, kind)
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(TableError, match="no file of the kind"):
        cells(path, kind)


def test_a_file_that_ends_the_process_of_its_reader_is_refused(survey: Path) -> None:
    """A column of 8 million characters, says the first variable of this one: the library dies of it."""
    content = bytearray(survey.read_bytes())
    content[182] = 0x7F
    survey.write_bytes(content)
    for read in (lambda: cells(survey, "sav"), lambda: readers.columns(survey, kind="sav")):
        with pytest.raises(TableError, match="that can be read") as refusal:
            read()
        assert refusal.value.repair


def test_a_workbook_in_an_encoding_of_its_own_is_refused(sheet: Path) -> None:
    change = (b'encoding="UTF-8"', b'encoding="UTF-88"')
    sheet.write_bytes(rewritten(workbook({"D": PLAIN}), change=change, folder="xl/worksheets"))
    with pytest.raises(TableError, match="not an Excel workbook"):
        cells(sheet, "xlsx")
