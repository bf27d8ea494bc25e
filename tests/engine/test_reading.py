"""Reading a file: either the exact cells, or a refusal that says where and why and shows no cell."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth_engine import readers
from synth_engine.domain import Domain
from synth_engine.errors import TableError
from synth_engine.formats import Dialect
from synth_engine.readers import Limits
from synth_engine.steward import ingest, summary

ADULT = Path(__file__).parents[2] / "examples" / "adult.csv.gz"


def cells(path: Path, **options: Any) -> dict[str, list[str | None]]:
    """Every cell of a table."""
    found: dict[str, list[str | None]] = {}
    kind, limits = options.pop("kind", "csv"), options.pop("limits", Limits())
    for block in readers.blocks(
        path, kind=kind, options=readers.ReadOptions(limits=limits), **options
    ):
        for name, texts in block.items():
            found.setdefault(name, []).extend(texts.to_pylist())
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "table.csv"


ACCEPTED: list[tuple[str, bytes, dict[str, list[str]]]] = [
    ("a plain table", b"a,b\n1,2\n", {"a": ["1"], "b": ["2"]}),
    ("a byte order mark", b"\xef\xbb\xbfa,b\n1,2\n", {"a": ["1"], "b": ["2"]}),
    ("no final line end", b"a,b\n1,2", {"a": ["1"], "b": ["2"]}),
    ("several final line ends", b"a,b\n1,2\n\n\n", {"a": ["1"], "b": ["2"]}),
    ("blank lines between rows", b"a,b\n\n1,2\n\n3,4\n", {"a": ["1", "3"], "b": ["2", "4"]}),
    ("blank lines on top", b"\n\na,b\n1,2\n", {"a": ["1"], "b": ["2"]}),
    ("line ends of old machines", b"a,b\r1,2\r", {"a": ["1"], "b": ["2"]}),
    ("mixed line ends", b"a,b\r\n1,2\n3,4\r5,6", {"a": ["1", "3", "5"], "b": ["2", "4", "6"]}),
    ("semicolons", b"a;b\n1,5;2\n", {"a": ["1,5"], "b": ["2"]}),
    ("tabs", b"a\tb\n1\t2\n", {"a": ["1"], "b": ["2"]}),
    ("bars", b"a|b\n1|2\n", {"a": ["1"], "b": ["2"]}),
    ("a declared delimiter", b"sep=;\na;b\n1;2\n", {"a": ["1"], "b": ["2"]}),
    ("a quoted delimiter in the header", b'"a;b;c",d\n1,2\n', {"a;b;c": ["1"], "d": ["2"]}),
    ("one column", b"a\n1\n2\n", {"a": ["1", "2"]}),
    ("an empty cell in one column", b'a\n1\n""\n', {"a": ["1", ""]}),
    ("a line end in a cell", b'a,b\n"1\n2",3\n', {"a": ["1\n2"], "b": ["3"]}),
    ("quotation marks in a cell", b'a,b\n"say ""hi""",2\n', {"a": ['say "hi"'], "b": ["2"]}),
    ("JSON in a cell", b'a,b\n"{""k"": [1, 2]}",x\n', {"a": ['{"k": [1, 2]}'], "b": ["x"]}),
    ("leading zeros and long numbers", b"a,b\n007,99999999999999999999\n",
        {"a": ["007"], "b": ["99999999999999999999"]}),
    ("spaces around cells", b"a, b\n 1 , 2 \n", {"a": [" 1 "], "b": [" 2 "]}),
    ("formulas and markup", b"a,b\n=1+1,<script>\n", {"a": ["=1+1"], "b": ["<script>"]}),
    ("texts that look missing", b"a,b\nNA,null\n", {"a": ["NA"], "b": ["null"]}),
    ("letters beyond ASCII", "é,b\nß,☃\n".encode(), {"é": ["ß"], "b": ["☃"]}),
    ("UTF-32", "a,b\n1,ü\n".encode("utf-32"), {"a": ["1"], "b": ["ü"]}),
    ("counted columns", b"0,1\n5,6\n", {"0": ["5"], "1": ["6"]}),
    ("UTF-16 of either order", "a,b\n1,ü\n".encode("utf-16"), {"a": ["1"], "b": ["ü"]}),
    ("UTF-16 of the other order", "\ufeffa,b\n1,ü\n".encode("utf-16-be"), {"a": ["1"], "b": ["ü"]}),
    ("a line separator of Unicode", "a,b\n1\u2028x,2\x85\n".encode(), {"a": ["1\u2028x"], "b": ["2\x85"]}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "expected"), [case[1:] for case in ACCEPTED], ids=[case[0] for case in ACCEPTED]
)
def test_an_accepted_table_has_exactly_the_cells_of_its_file(
    file: Path, content: bytes, expected: dict[str, list[str]]
) -> None:
    file.write_bytes(content)
    assert cells(file) == expected
    packed = file.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(content))
    assert cells(packed, kind="csv.gz") == expected


CELL = "SECRET"
REFUSED: list[tuple[str, bytes, int | None, str | None]] = [
    ("the file is empty", b"", None, None),
    ("the file is empty", b"\xef\xbb\xbf", None, None),
    ("the file is empty", b"\n\r\n\n", None, None),
    ("a header and no rows", b"a,b\n", 1, None),
    (
        "a line with more or fewer cells than the 2 of the header",
        b"a,b\n1,2\nSECRET,4,5\n",
        3,
        None,
    ),
    (
        "a line with more or fewer cells than the 2 of the header",
        b"a,b\n1,2\nSECRET\n",
        3,
        None,
    ),
    ("a line with more or fewer cells than the 2 of the header", b"a,b\n1,2,\n", 2, None),
    (
        "a line with more or fewer cells than the 1 of the header",
        b"A title\na,b\n1,2\n",
        2,
        None,
    ),
    (
        "a line with more or fewer cells than the 2 of the header",
        b"a,b\n1,2\n\nx,y,z,SECRET,v\n",
        4,
        None,
    ),
    ("a quotation mark is never closed", b'a,b\n1,2\n"SECRET,4\n5,6\n', 3, None),
    ("text after a closing quotation mark", b'a,b\n1,2\n"SECRET"x,4\n', 3, None),
    ("text after a closing quotation mark", b'a,b\n"SECRET\\"x",4\n', 2, None),
    ("a NUL byte", b"a,b\n1,2\n3,SEC\x00RET\n", 3, None),
    ("not text in UTF-8", b"a,b\n1,2\n3,SECRET\xe9\n", 3, None),
    ("not text in UTF-8", b"a,b\r1,2\r\n\n3,SECRET\xe9\n", 4, None),
    ("not text in UTF-8", "a,b\n1,ü\n".encode("cp1252"), 2, None),
    ("not text in UTF-8", b"a,b\n1,\xed\xa0\x80\n", 2, None),
    ("not text in UTF-8", b"a,b\n1,\xc0\xaf\n", 2, None),
    ("not text in UTF-8", b"a,b\n1,\xe2\x82", 2, None),
    ("not text in UTF-8", "名,b\n1,2\n".encode("shift_jis"), 1, None),
    ("a NUL byte", "a,b\n1,2\n".encode("utf-16-le"), 1, None),
    (
        "a quotation mark inside a cell that is not quoted",
        b'a,b\n1,2\n"say ""hi""",2"\n',
        3,
        None,
    ),
    ("a quotation mark inside a cell that is not quoted", b'a,b\n3"r, s",4\n', 2, None),
    ("a byte order mark inside the text", "a,b\n1,2\n\ufeffSECRET,4\n".encode(), 3, None),
    ("a backslash before a quotation mark", b'a,b\n1,2\n"SECRET\\",2\n', 3, None),
    ("an empty row, a note or a total", b"a,b\n1,2\n,\n3,4\n", 3, None),
    ("an empty row, a note or a total", b"a,b\n1,2\nTotal: 3,4\n", 3, None),
    ("an empty row, a note or a total", b"a,b\n1,2\nSource: us,\n", 3, None),
    ("the header stands here again", b'a,b\n1,2\n"a", b\n', 3, None),
    ("columns 1 and 3 have the same name", b"a,b,a\n1,2,3\n", 1, "a"),
    ("columns 1 and 2 have the same name", b"Age, age \n1,2\n", 1, "age"),
    ("columns 1 and 2 have the same name", "\u00e9,e\u0301\n1,2\n".encode(), 1, "e\u0301"),
    ("column 2 has no name", b"a,,c\n1,2,3\n", 1, None),
    ("column 1 has no name", b",a,b\n0,1,2\n", 1, None),
    ("column 2 has no name", b"a||b\n1||2\n", 1, None),
    ("invisible characters", "a\u200b,b\n1,2\n".encode(), 1, None),
    ("invisible characters", "a\u202e,b\n1,2\n".encode(), 1, None),
    ("invisible characters", b'"a\nb",c\n1,2\n', 1, None),
    ("looks like data", b"39,1.5\n50,2.5\n", 1, None),
    ("a blank line in a table of one column", b"a\n1\n\n2\n", 4, None),
    ("more than 2,000 columns", b",".join(b"c%d" % i for i in range(2_001)) + b"\n", 1, None),
    ("the line is too long", b"a,b\n1," + b"x" * 2_000_000 + b"\n", 2, None),
    ("a cell is too long", b'a,b\n1,2\n3,"SECRET' + b"x\n" * 100_000 + b"\n", 3, None),
]


@pytest.mark.parametrize(
    ("rule", "content", "line", "column"), REFUSED, ids=[case[0] for case in REFUSED]
)
def test_a_malformed_table_is_refused_by_place_and_rule_alone(
    file: Path, rule: str, content: bytes, line: int | None, column: str | None
) -> None:
    file.write_bytes(content)
    with pytest.raises(TableError, match=rule) as refusal:
        cells(file)
    assert (refusal.value.line, refusal.value.column) == (line, column)
    assert refusal.value.repair
    assert CELL not in refusal.value.text


def archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr("table.csv", "a,b\n1,2\n")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (archive(), "ZIP archive or an Excel workbook"),
        (b"%PDF-1.7 \n", "PDF"),
        (b"\x89PNG\r\n\x1a\n", "picture"),
        (b"PAR1\x15", "Parquet"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "gzip"),
        (pickle.dumps({"a": [1]}), "pickle"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "workbook"),
    ],
)
def test_another_kind_of_file_is_recognised_under_any_name(
    file: Path, content: bytes, what: str
) -> None:
    file.write_bytes(content)
    with pytest.raises(TableError, match=what):
        cells(file)
    file.write_bytes(gzip.compress(content))
    with pytest.raises(TableError, match=what):
        cells(file, kind="csv.gz")


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b[:-10],
        lambda b: b + b"rest",
        lambda b: b[:5] + b"a,b\n1,2\n",
        lambda b: b[:20],
    ],
)
def test_a_damaged_compressed_file_is_refused(file: Path, damage: Any) -> None:
    rows = "".join(f"{i},{i * 7919 % 104729}\n" for i in range(5_000))
    file.write_bytes(damage(gzip.compress(("a,b\n" + rows).encode())))
    with pytest.raises(TableError, match="damaged or cut short"):
        cells(file, kind="csv.gz")


@pytest.mark.slow
def test_a_small_file_that_unpacks_to_a_large_one_is_refused(file: Path) -> None:
    with gzip.open(file, "wb", compresslevel=9) as packed:
        packed.write(b"a,b\n")
        for _ in range(200):
            packed.write(b"1,2\n" * 262_144)
    assert file.stat().st_size < 2**20
    with pytest.raises(TableError, match="unpacks to more"):
        cells(file, kind="csv.gz")


def test_the_limits_are_kept(file: Path) -> None:
    file.write_text("a,b\n" + "1,2\n" * 100)
    with pytest.raises(TableError, match="more rows"):
        cells(file, limits=Limits(rows=50, block_rows=10))
    with pytest.raises(TableError, match="unpacks to more"):
        cells(file, limits=Limits(plain_bytes=100))


def test_a_file_that_is_not_there_is_refused(file: Path) -> None:
    with pytest.raises(TableError, match="cannot be opened"):
        cells(file)


def test_what_was_normalised_is_told(file: Path) -> None:
    file.write_bytes(b"\n a ,b\n\n1,2\n")
    reading = ingest.read(file, kind="csv")
    assert reading.columns == ("a", "b")
    assert reading.notes == [
        "Spaces around column names were left out.",
        "1 blank lines were left out.",
    ]
    assert (reading.rows, reading.line_count) == (1, 4)
    assert reading.dialect == Dialect(delimiter=",")


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=50,
)
@given(
    table=st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
                min_size=width, max_size=width),
            min_size=1,
            max_size=6,
        )
    ),
    delimiter=st.sampled_from(",;\t|"),
)  # fmt: skip
def test_whatever_a_writer_quotes_is_read_back_exactly(
    tmp_path: Path, table: list[list[str]], delimiter: str
) -> None:
    path = tmp_path / "any.csv"
    names = [f"c{i}" for i in range(len(table[0]))]
    lines = [
        delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in table
    ]
    path.write_bytes("\n".join([delimiter.join(names), *lines]).encode())
    said = Dialect(delimiter=delimiter, literal=True, escape="none", extra_rows="keep")
    assert cells(path, dialect=said) == {
        name: [row[i] for row in table] for i, name in enumerate(names)
    }


def test_blocks_of_any_length_give_the_same_cells(file: Path) -> None:
    file.write_text("a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(1_000)))
    whole = cells(file)
    assert cells(file, limits=Limits(block_rows=7)) == whole


def test_parquet_is_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    columns = {
        "whole": pa.array([1, None]),
        "text": pa.array(["007", ""]),
        "yes": pa.array([True, False]),
        "kind": pa.array(["x", "y"]).dictionary_encode(),
    }
    pq.write_table(pa.table(columns), path)
    assert cells(path, kind="parquet") == {
        "whole": ["1", None],
        "text": ["007", ""],
        "yes": ["true", "false"],
        "kind": ["x", "y"],
    }


def suggestion(file: Path, values: list[str]) -> dict[str, Any]:
    file.write_text("x,y\n" + "".join(f'"{value}",1\n' for value in values))
    reading = ingest.read(file, kind="csv")
    Domain.from_json({"attributes": reading.suggestions})  # a draft is at least sound
    return reading.suggestions[0]


SUGGESTED: list[tuple[str, list[str], dict[str, Any]]] = [
    (
        "truth values",
        ["yes", "No", "?"],
        {"kind": "boolean", "true": "yes", "false": "No", "missing": ["?"]},
    ),
    (
        "zeros and ones",
        ["0", "1", "1"],
        {"kind": "boolean", "true": "1", "false": "0", "missing": None},
    ),
    (
        "small whole numbers",
        ["3", "16", "1"],
        {"kind": "scale", "of": "integer"},
    ),
    (
        "ages",
        ["17", "90", ""],
        {"kind": "scale", "of": "integer", "missing": [""]},
    ),
    ("amounts", ["12285", "1490400"], {"kind": "scale", "of": "integer"}),
    ("skewed amounts", ["0"] * 9 + ["99999"], {"kind": "scale", "of": "integer"}),
    (
        "numbers",
        ["0.5", "-3", "1e1", "NA"],
        {"kind": "scale", "of": "number", "step": 0.1, "missing": ["NA"]},
    ),
    ("shares", ["0.12", "0.87", "0.4"], {"kind": "scale", "of": "number", "step": 0.01}),
    ("one number", ["5.5", "5.5"], {"kind": "scale", "of": "number", "step": 0.1}),
    (
        "days",
        ["2019-03-01", "2020-02-29"],
        {"kind": "scale", "of": "date"},
    ),
    ("days that are none", ["2019-02-30", "2020-02-29"], {"kind": "weak"}),
    ("days of an unlikely year", ["0019-03-01", "2020-02-29"], {"kind": "weak"}),
    (
        "moments",
        ["2019-03-01T10:45:00", "2020-02-29T00:15:00", "NA"],
        {
            "kind": "scale",
            "of": "datetime",
            "step": 60,
            "format": "%Y-%m-%dT%H:%M:%S",
            "missing": ["NA"],
        },
    ),
    (
        "full hours",
        ["2019-03-01 10:00Z", "2019-03-02 11:00Z"],
        {"step": 3_600, "format": "%Y-%m-%d %H:%MZ"},
    ),
    (
        "midnights",
        ["2019-03-01 00:00:00", "2019-03-02T00:00:00"],
        {"kind": "scale", "of": "datetime", "step": 86_400},
    ),
    (
        "fractions of a second",
        ["2019-03-01 00:00:01.5", "2019-03-02T00:00"],
        {"kind": "scale", "of": "datetime", "step": 1},
    ),
    (
        "moments that are none",
        ["2019-03-01T25:00:00", "2020-02-29T00:15:00"] * 20,
        {"kind": "categorical", "other": False},
    ),
    (
        "codes with leading zeros",
        ["007", "012"] * 20,
        {"kind": "categorical", "values": ["007", "012"]},
    ),
    ("full-width digits", ["１", "２"] * 20, {"kind": "scale", "of": "integer"}),
    (
        "texts",
        [*["b", "a", "b"] * 20, "null"],
        {"values": ["a", "b"], "other": False, "missing": ["null"], "outside": "missing"},
    ),
    (
        "texts without missing ones",
        ["b", "a"] * 20,
        {"values": ["a", "b"], "missing": None, "outside": "clamp"},
    ),
    ("few texts of few rows", ["b", "a"] * 19, {"kind": "weak", "missing": None}),
    (
        "one text of few rows",
        ["b", "a"] * 95 + ["c"] * 19,
        {"values": ["a", "b"], "other": True},
    ),
    ("texts of few rows", ["b", "a"] * 80 + ["c"] * 19, {"kind": "weak"}),
    ("two sexes", ["F", "M", "F"], {"values": ["F", "M"], "other": False}),
    ("many texts", [f"t{i % 150}" for i in range(600)], {"kind": "weak"}),
    ("texts beside a marker that is such a text", [*"abc" * 9, "NA"], {"missing": None}),
    ("texts beside a marker of other signs", [*"abc" * 9, "?"], {"missing": ["?"]}),
    ("names", [f"name {i}" for i in range(200)], {"kind": "identifier"}),
    (
        "long codes",
        ["440030223001014", "440070145011033"],
        {"kind": "scale", "of": "integer"},
    ),
    ("row numbers", [str(i) for i in range(200)], {"kind": "identifier"}),
    ("essays", ["x" * 300, "a"], {"kind": "identifier"}),
    ("nothing", ["", "?", "NA"], {"kind": "identifier"}),
]


@pytest.mark.parametrize(
    ("values", "expected"),
    [case[1:] for case in SUGGESTED],
    ids=[case[0] for case in SUGGESTED],
)
def test_a_column_gets_a_fitting_suggestion(
    file: Path, values: list[str], expected: dict[str, Any]
) -> None:
    found = suggestion(file, values)
    assert {key: found[key] for key in expected} == expected
    assert found["provenance"] == "suggested"
    assert found["why"].endswith(".")


ON_A_SCALE = [
    case
    for case in SUGGESTED
    if case[2].get("kind") in ("integer", "number", "date", "datetime", "scale")
]


@pytest.mark.parametrize(
    "values", [case[1] for case in ON_A_SCALE], ids=[case[0] for case in ON_A_SCALE]
)
def test_many_different_values_get_the_suggestion_that_few_get(
    file: Path, monkeypatch: pytest.MonkeyPatch, values: list[str]
) -> None:
    """When texts are too many to be kept, ends, steps and spellings are kept up from block to block."""
    expected = suggestion(file, values)
    monkeypatch.setattr(summary, "MAX_DISTINCT_TEXTS", 1)
    monkeypatch.setattr(summary, "CANDIDATES", 1)
    monkeypatch.setattr(readers.Limits, "rows_at_once", lambda *_: 2)
    assert suggestion(file, values) == expected


def test_what_fits_no_longer_is_text(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MAX_DISTINCT_TEXTS", 2)
    monkeypatch.setattr(readers.Limits, "rows_at_once", lambda *_: 3)
    for first in (
        ["1", "2", "3"],
        ["1.5", "2.5", "3.5"],
        ["2020-01-01", "2020-01-02", "2020-01-03"],
    ):
        for last in ("x", "0x10", "007", "2020-02-30"):
            assert suggestion(file, [*first, *first, last])["kind"] in (
                "categorical",
                "identifier",
            )
    assert suggestion(file, ["1", "2", "3", "4.5"])["kind"] == "scale"
    assert suggestion(file, ["1", "2", "3", "NA", "4"])["missing"] == ["NA"]


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        (["440030223001014", "440070145011033"], "All have 15 digits: if they are codes"),
        ([f"t{i % 150}" for i in range(600)], "Each release finds the frequent ones"),
    ],
)
def test_a_suggestion_says_what_else_it_may_be(
    file: Path, values: list[str], hint: str
) -> None:
    assert hint in suggestion(file, values)["why"]
    assert hint not in suggestion(file, ["440", "1200"])["why"]


@pytest.mark.parametrize(("different", "kind"), [(100, "categorical"), (101, "weak")])
def test_a_list_has_a_hundred_values_at_most(file: Path, different: int, kind: str) -> None:
    assert suggestion(file, [f"t{i % different:x}" for i in range(2_100)])["kind"] == kind


def test_a_preview_has_twenty_rows(file: Path) -> None:
    file.write_text("a,b\n" + "".join(f"{i},x\n" for i in range(100)))
    assert ingest.read(file, kind="csv").preview == [[str(i), "x"] for i in range(20)]
    assert ingest.head(file, ["b", "a"], kind="csv") == [["x", str(i)] for i in range(20)]


def test_progress_runs_from_reading_to_the_last_suggestion(file: Path) -> None:
    file.write_text("a,b\n" + "1,2\n" * 50_000)
    seen: list[tuple[str, float]] = []
    ingest.read(
        file, kind="csv", progress=lambda stage, fraction: seen.append((stage, fraction))
    )
    assert seen == sorted(seen)
    assert {stage for stage, _ in seen} == {"read", "suggest"}
    assert seen[-1] == ("suggest", 1.0)


@pytest.mark.slow
def test_the_example_is_read_whole() -> None:
    reading = ingest.read(ADULT, kind="csv.gz")
    assert (reading.rows, len(reading.columns)) == (48_842, 15)
    kinds = {each["name"]: each["kind"] for each in reading.suggestions}
    assert (kinds["age"], kinds["workclass"]) == ("scale", "categorical")
