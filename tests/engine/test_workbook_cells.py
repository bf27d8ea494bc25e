"""What a cell of a workbook is read as: exactly what the sheet stores and shows, or a refusal by sheet, row
and column."""

from __future__ import annotations

import zipfile
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth_engine import readers
from synth_engine.errors import TableError
from synth_engine.formats import Dialect
from synth_engine.readers import archive, number_formats, stored_values
from synth_engine.steward import ingest
from tests.engine.test_other_kinds import cells, rewritten
from tests.engine.workbooks import Cell, Xml, old_workbook_of_all_sorts, workbook


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    return tmp_path / "table.xlsx"


WHO = "A. Clerk, author of the sheet"


def read(
    sheet: Path, column: list[Cell], *, vouched_by: str = "", **options: object
) -> list[str | None]:
    """A column called `a` of a sheet, beside one that has a text in every row."""
    rows: list[list[Cell]] = [["a", "b"], *([cell, "x"] for cell in column)]
    sheet.write_bytes(workbook({"Data": rows}, **options))  # type: ignore[arg-type]
    return cells(sheet, "xlsx", dialect=Dialect(vouched_by=vouched_by))["a"]


# --- numbers ------------------------------------------------------------------------------------------------
NUMBERS = [
    ("12345678901234567", "12345678901234567"),
    ("1.2345678901234567E+16", "12345678901234567"),
    ("123456789012345678901234567890", "123456789012345678901234567890"),
    ("9007199254740993", "9007199254740993"),
    ("1E+15", "1000000000000000"),
    ("0.10000000000000001", "0.1"),
    ("12345678901234.567", "12345678901234.567"),
    ("0.1234567890123456789", "0.1234567890123456789"),
    ("2.50", "2.5"),
    ("-0", "0"),
    ("3.0", "3"),
]


@pytest.mark.parametrize(("written", "expected"), NUMBERS)
def test_a_number_keeps_every_digit_of_the_file(
    sheet: Path, written: str, expected: str
) -> None:
    assert read(sheet, [(written, "")]) == [expected]


@given(number=st.integers(-(10**39), 10**39))
def test_whole_numbers_are_read_exactly_however_they_are_spelled(number: int) -> None:
    assert stored_values.number(str(number)) == str(number)
    assert stored_values.number(f"{Decimal(number):.45E}") == str(number)


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_of_double_precision_is_read_as_itself(number: float) -> None:
    for spelled in (repr(number), f"{number:.17g}"):
        text = stored_values.number(spelled)
        assert isinstance(text, str)
        assert float(text) == number


# --- number formats -----------------------------------------------------------------------------------------
ZEROS = [
    ("00000", 1234, "01234"),
    ("00000", 123456, "123456"),
    ("00000-0000", 12345678, "01234-5678"),
    ("[<=99999]00000;00000-0000", 1234, "01234"),
    ("[<=99999]00000;00000-0000", 123456789, "12345-6789"),
    ("000\\-00\\-0000", 12345678, "012-34-5678"),
    ('"ID-"0000', 7, "ID-0007"),
    ("000;-000", -7, "-007"),
    ("000", -7, "-007"),
    ("000;-000;0", 0, "0"),
    ("00000", "12.5", "12.5"),
    ("0", 7, "7"),
    ("0.00", "1.5", "1.5"),
    ("#,##0", 1234567, "1234567"),
    ("General", 1234, "1234"),
    ("@", 1234, "1234"),
    ("0%", "0.25", "0.25"),
    ('0" days"', 5, "5"),
    ("[Red]00000_);[Blue]\\(00000\\)", -12, "(00012)"),
]


@pytest.mark.parametrize(("code", "value", "expected"), ZEROS)
def test_a_format_of_zeros_gives_leading_zeros(
    sheet: Path, code: str, value: object, expected: str
) -> None:
    assert read(sheet, [(value, 's="3"')], codes=[code]) == [expected]


@given(width=st.integers(2, 12), value=st.integers(0, 10**12))
def test_padding_is_what_the_sheet_shows(width: int, value: int) -> None:
    assert stored_values.number(str(value), code="0" * width) == str(value).zfill(width)


MOMENTS = [
    ("yyyy-mm-dd", "43466", "2019-01-01"),
    ("yyyy-mm-dd", "43466.5", "2019-01-01T12:00:00"),
    ("d/m/yy h:mm", "43466", "2019-01-01T00:00:00"),
    ("[$-409]mmmm d, yyyy;@", "1", "1900-01-01"),
    ("yyyy-mm-dd", "59", "1900-02-28"),
    ("yyyy-mm-dd", "61", "1900-03-01"),
    ("h:mm AM/PM", "0.75", "18:00:00"),
    ("mm:ss.0", "0.0001", "00:00:08.640000"),
    ("h:mm", "43466.75", "2019-01-01T18:00:00"),
    ("[h]:mm:ss", "1.5", "36:00:00"),
    ("[mm]:ss", "-0.5", "-12:00:00"),
    ('"day "0', "5", "5"),
]


@pytest.mark.parametrize(("code", "value", "expected"), MOMENTS)
def test_dates_and_times_are_known_by_their_format(
    sheet: Path, code: str, value: str, expected: str
) -> None:
    assert read(sheet, [(value, 's="3"')], codes=[code]) == [expected]


def test_days_are_counted_from_the_year_that_the_workbook_says(sheet: Path) -> None:
    assert read(sheet, [(42004, 's="1"'), (0, 's="1"')], since_1904=True) == [
        "2019-01-01",
        "1904-01-01",
    ]


@pytest.mark.parametrize("value", ["60", "0", "-1"])
def test_a_day_that_the_calendar_does_not_have_is_refused(sheet: Path, value: str) -> None:
    """Day 60 is 29 February 1900, which never was."""
    with pytest.raises(TableError, match="does not have, in column A of sheet 1") as refusal:
        read(sheet, [1, (value, 's="1"')])
    assert refusal.value.line == 3


def test_a_style_that_is_not_declared_is_refused(sheet: Path) -> None:
    with pytest.raises(TableError, match="not an Excel workbook"):
        read(sheet, [(1, 's="9"')])


# --- texts --------------------------------------------------------------------------------------------------
def test_texts_are_read_whole(sheet: Path) -> None:
    shared = [
        "<t>plain</t>",
        "<r><t>in </t></r><r><rPr><b/></rPr><t>bold</t></r>",
        "<t>東京</t><rPh sb='0' eb='2'><t>トウキョウ</t></rPh>",
        "<t>a_x000D_b_x005F_x0041_</t>",
        "<t xml:space='preserve'> 007 </t>",
    ]
    column: list[Cell] = [(place, 't="s"') for place in range(len(shared))]
    column += [
        Xml("<f>A1</f><v></v>", 't="str"'),
        Xml("<is><r><t>in</t></r><r><t>line</t></r></is>", 't="inlineStr"'),
    ]
    column += [Xml("<f>B1&amp;1</f><v>x1</v>", 't="str"'), ("2019-01-01", 't="d"')]
    assert read(sheet, column, vouched_by=WHO, shared=shared) == [
        "plain",
        "in bold",
        "東京",
        "a\rb_x0041_",
        " 007 ",
        "",
        "inline",
        "x1",
        "2019-01-01",
    ]


def test_a_text_that_is_not_there_is_refused(sheet: Path) -> None:
    with pytest.raises(TableError, match="not an Excel workbook"):
        read(sheet, [(1, 't="s"')], shared=["<t>x</t>"])


# --- cells without a text -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("cell", "rule", "repair"),
    [
        (("#N/A", 't="e"'), "shows an error", "count as missing"),
        (Xml("<f>1/0</f><v>#DIV/0!</v>", 't="e"'), "shows an error", "count as missing"),
        (
            Xml("<f>SUM(A1)</f>"),
            "a formula without a stored result",
            "open the workbook in a spreadsheet program",
        ),
        (Xml("<f>SUM(A1)</f><v></v>"), "a formula without a stored result", "save it"),
        (Xml("<f>A1</f>", 't="str"'), "a formula without a stored result", "save it"),
        (("12,5", ""), "a number that cannot be read", "type it again"),
    ],
)
def test_a_cell_without_a_text_is_refused_by_its_place(
    sheet: Path, cell: Cell, rule: str, repair: str
) -> None:
    rows: list[list[Cell]] = [["b", "a"], ["x", 1], ["x", cell]]
    sheet.write_bytes(workbook({"Empty": [], "Data": rows}))
    with pytest.raises(TableError, match=rule) as refusal:
        cells(sheet, "xlsx")
    assert refusal.value.line == 3
    assert "in column B of sheet 2" in refusal.value.rule
    assert repair in refusal.value.repair


def test_cells_that_show_an_error_count_as_missing_where_the_form_says_so(sheet: Path) -> None:
    rows: list[list[Cell]] = [["a", "b"], [("#N/A", 't="e"'), 1], [2, ("#DIV/0!", 't="e"')]]
    sheet.write_bytes(workbook({"Data": rows}))
    said = Dialect(error_cells="missing")
    assert cells(sheet, "xlsx", dialect=said) == {"a": ["", "2"], "b": ["1", ""]}
    assert Dialect.from_json(said.to_json()) == said
    assert "cells that show an error count as missing" in said.sentence_of_sheet
    assert ingest.read(sheet, kind="xlsx", dialect=said).dialect == said
    with pytest.raises(TableError, match="not read"):
        Dialect(error_cells="drop")


def test_a_form_that_was_stored_before_refuses_them(sheet: Path) -> None:
    stored_before = {
        key: value for key, value in Dialect().to_json().items() if key != "error_cells"
    }
    assert Dialect.from_json(stored_before).error_cells == "refuse"


def test_cells_of_an_old_workbook_are_read_in_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "table.xls"
    path.write_bytes(old_workbook_of_all_sorts())
    assert cells(path, "xls", dialect=Dialect(error_cells="missing")) == {
        "zip": ["01234", "00099"],
        "id": ["12345678901234568", "9007199254740992"],
        "day": ["2019-01-01T18:00:00", "1900-01-01T00:00:00"],
        "yes": ["TRUE", "FALSE"],
        "share": ["0.25", "0.1"],
        "bad": ["1", ""],
        "text": ["007", "x"],
    }
    with pytest.raises(TableError, match=r"shows an error.*column F of sheet 1") as refusal:
        cells(path, "xls")
    assert refusal.value.line == 3


# --- what a sheet hides -------------------------------------------------------------------------------------
def test_hidden_rows_are_read_and_said(sheet: Path) -> None:
    sheet.write_bytes(workbook({"Data": [["a"], ["x"], ["y"]]}, hidden_rows=[2]))
    reading = ingest.read(sheet, kind="xlsx")
    assert [row[0] for row in reading.preview] == ["x", "y"]
    assert any("hides rows or columns" in note for note in reading.notes)


def test_a_hidden_sheet_with_cells_is_asked_about(sheet: Path) -> None:
    sheets: dict[str, list[list[Cell]]] = {"Data": [["a"], ["x"]], "Old": [["a"], ["y"]]}
    sheet.write_bytes(workbook(sheets, hidden=["Old"]))
    with pytest.raises(TableError, match="more than one sheet has cells"):
        cells(sheet, "xlsx")


def test_percentages_are_said(sheet: Path) -> None:
    sheet.write_bytes(workbook({"Data": [["a"], [("0.25", 's="3"')]]}, codes=["0%"]))
    assert any("25 % is 0.25" in note for note in ingest.read(sheet, kind="xlsx").notes)


@pytest.mark.parametrize(
    "body",
    [
        '<row r="2"><c r="A2"><v>1</v></c></row><row r="2"><c r="A2"><v>2</v></c></row>',
        '<row r="3"><c r="A3"><v>1</v></c></row><row r="2"><c r="A2"><v>2</v></c></row>',
        '<row r="2"><c r="A2"><v>1</v></c><c r="A2"><v>2</v></c></row>',
        '<row r="2"><c r="A3"><v>1</v></c></row>',
    ],
)
def test_cells_that_stand_twice_or_out_of_order_are_refused(sheet: Path, body: str) -> None:
    rows: list[list[Cell]] = [["a"]]
    content = workbook({"Data": rows})
    change = (b"</sheetData>", body.encode() + b"</sheetData>")
    sheet.write_bytes(rewritten(content, change=change, folder="xl/worksheets"))
    with pytest.raises(TableError, match="not an Excel workbook"):
        cells(sheet, "xlsx")


# --- work ---------------------------------------------------------------------------------------------------
def swollen(path: Path, *, cell: bytes, megabytes: int, head: bytes = b"") -> None:
    """A sheet of so much XML in few bytes."""
    start, end = (
        b"<worksheet><sheetData>" + head + b'<row r="2">',
        b"</row></sheetData></worksheet>",
    )
    path.write_bytes(workbook({"Data": [["a"], ["x"]]}))
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for name, content in parts.items():
            if not name.startswith("xl/worksheets"):
                new.writestr(name, content)
                continue
            with new.open(name, "w") as part:
                part.write(start)
                for _ in range(megabytes):
                    part.write(cell * (2**20 // len(cell)))
                part.write(end)


def test_a_small_workbook_that_unpacks_to_much_is_refused_by_its_directory(sheet: Path) -> None:
    swollen(sheet, cell=b"<c/>", megabytes=64)
    assert sheet.stat().st_size < 200_000
    with pytest.raises(TableError, match="far more cells"):
        cells(sheet, "xlsx")
    with pytest.raises(TableError, match="far more cells"):
        archive.Archive(sheet, limits=readers.Limits())  # it opens no part


def test_the_work_for_many_empty_cells_is_bounded_by_the_size_of_the_file(sheet: Path) -> None:
    """Twelve megabytes of empty cells, in one row or in many: no more elements are looked at than the file's
    size allows."""
    for cell in (b"<c/>", b'</row><row><c s="1"/>'):
        swollen(sheet, cell=cell, megabytes=12)
        with archive.Archive(sheet, limits=readers.Limits()) as parts:
            seen = 0

            def start(_name: str, _attributes: dict[str, str]) -> None:
                nonlocal seen
                seen += 1

            with pytest.raises(TableError, match="far more cells"):
                for _ in parts.parse(
                    "xl/worksheets/sheet1.xml", start=start, end=lambda _name: None
                ):
                    pass
            most = archive.FREE_ELEMENTS + archive.ELEMENTS_PER_BYTE * sheet.stat().st_size
            assert seen == most
        with pytest.raises(TableError, match=r"far more cells|far from each other"):
            cells(sheet, "xlsx")


def test_a_table_of_one_value_is_no_swollen_workbook(sheet: Path) -> None:
    """The most repetitive table there can be, as programs write it, is within the bounds."""
    rows: list[list[Cell]] = [["a", "b", "c"], *([[1, 1, 1]] * 200_000)]
    sheet.write_bytes(workbook({"Data": rows}))
    assert cells(sheet, "xlsx")["c"] == ["1"] * 200_000


def test_a_part_whose_directory_lies_about_its_size_is_refused(sheet: Path) -> None:
    swollen(sheet, cell=b"<c/>", megabytes=8)
    content = bytearray(sheet.read_bytes())
    entry = content.rindex(b"xl/worksheets/sheet1.xml") - 46
    assert content[entry : entry + 4] == b"PK\x01\x02"
    content[entry + 24 : entry + 28] = (1_000).to_bytes(4, "little")
    sheet.write_bytes(content)
    with pytest.raises(TableError, match="not an Excel workbook"):
        cells(sheet, "xlsx")


def test_sections_of_formats_are_found() -> None:
    assert number_formats.built_in(14) == "yyyy-mm-dd"
    assert number_formats.sections('"d;m"0')[0].shows is number_formats.Shows.NUMBER
    assert number_formats.sections("[Blue]hh:mm")[0].shows is number_formats.Shows.TIME
