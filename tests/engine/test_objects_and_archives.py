"""JSON objects as records, one file in an archive, and texts of other kinds: read exactly, or refused by
place and rule."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth_engine import formats, readers
from synth_engine.errors import TableError
from synth_engine.formats import KINDS, Dialect, Kind
from synth_engine.formats.zipped import Unzipper
from synth_engine.readers import objects
from synth_engine.readers.source import ReadOptions
from synth_engine.steward import ingest
from tests.engine.kinds import BASKETS, CSV, written, zipped
from tests.engine.test_other_kinds import cells

CELL = "SECRET"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "table.jsonl"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_table(tmp_path: Path, kind: Kind) -> None:
    path = tmp_path / f"table.{kind}"
    path.write_bytes(written(kind))
    expected = (
        {"items": BASKETS.decode().splitlines()}
        if kind in formats.BASKETS
        else {"a": ["1", "2"], "b": ["x", "y"]}
    )
    assert cells(path, kind) == expected
    assert formats.kind_of(path) == kind
    if kind not in formats.JSON:  # which keys are columns is said
        assert readers.columns(path, kind=kind) == tuple(expected)


# --- JSON ---------------------------------------------------------------------------------------------------
LINES = (
    '{"id": 12345678901234567, "x": 1.10, "t": "007", "yes": true, "gone": null}\n'
    "\n"
    '  {"t": " a\\nb ", "id": 1e3, "more": "\\u00e9"}  \r\n'
)
EXPECTED = {
    "id": ["12345678901234567", "1e3"],
    "x": ["1.10", None],
    "t": ["007", " a\nb "],
    "yes": ["TRUE", None],
    "gone": [None, None],
    "more": [None, "é"],
}


def test_objects_are_read_exactly(file: Path) -> None:
    file.write_text("\ufeff" + LINES, newline="")
    assert cells(file, "json") == EXPECTED
    file.write_text(f"[{LINES.strip().replace('}', '},', 1)}]\n", newline="")
    assert cells(file, "json") == EXPECTED
    reading = ingest.read(file)  # recognised by its content
    assert reading.dialect == Dialect(names=tuple(EXPECTED), records="list")
    assert reading.dialect.sentence_of_objects.startswith("an object a record, with 6 keys")


def test_keys_that_are_no_columns_are_left_alone_and_those_that_are_missing_are_missing(
    file: Path,
) -> None:
    """What a record is read as depends on the record and on the form alone."""
    form = Dialect(names=("id", "t"), records="lines")
    assert Dialect.from_json(json.loads(json.dumps(form.to_json()))) == form
    file.write_text('{"id": 1, "new": {"nested": 1}}\n{"other": 2}\n')
    assert cells(file, "json", dialect=form, wanted=["t", "id"]) == {
        "id": ["1", None],
        "t": [None, None],
    }
    assert readers.columns(file, kind="json", dialect=form) == ("id", "t")
    assert readers.detect(file) == Dialect(names=("id", "new", "other"), records="lines")


@pytest.mark.parametrize("wanted", [["id"], []])
def test_a_run_needs_to_be_told_which_keys_are_columns(file: Path, wanted: list[str]) -> None:
    file.write_text('{"id": 1}\n')
    with pytest.raises(TableError, match="nobody has said which keys"):
        cells(file, "json", wanted=wanted)
    with pytest.raises(TableError, match="nobody has said which keys"):
        readers.columns(file, kind="json")


@given(
    record=st.dictionaries(
        st.sampled_from("abc"),
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(),
            st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
        ),
    ),
    before=st.integers(0, 3),
)
def test_a_record_is_read_as_the_same_whatever_stands_before_it(
    tmp_path_factory: pytest.TempPathFactory, record: dict[str, Any], before: int
) -> None:
    path = tmp_path_factory.mktemp("objects") / "t.jsonl"
    path.write_text('{"a": "x", "d": [1]}\n' * before + json.dumps(record) + "\n")
    found = cells(path, "json", dialect=Dialect(names=("a", "b", "c"), records="lines"))
    path.write_text(json.dumps(record))
    alone = cells(path, "json", dialect=Dialect(names=("a", "b", "c"), records="lines"))
    assert {name: texts[-1] for name, texts in found.items()} == {
        name: texts[0] for name, texts in alone.items()
    }


@pytest.mark.parametrize(
    ("second", "rule"),
    [
        ('{"a": {"b": "SECRET"}}', "nested values"),
        ('{"a": ["SECRET"]}', "nested values"),
        ('{"a": 1, "a": 2}', "given twice"),
        ('{"a": NaN}', "no JSON object"),
        ('["SECRET"]', "no JSON object"),
        ('{"a": 1} {"a": 2}', "no JSON object"),
        ('{"a": "SECRET', "no JSON object"),
        ('{"a": 1},', "no JSON object"),
        ('{"a": "' + "x" * 200_000 + '"}', "a cell is too long"),
        ('{"a": "' + "x" * 1_100_000 + '"}', "the line is too long"),
        ('{"a": "x\\u0000"}', "a NUL byte"),
        ('{"a": "\\ud800"}', "half of a character"),
        ('{"a": ' + "[" * 100_000, "nested too deep|no JSON object"),
        ('{"a": 1, "A": 2}', "have the same name"),
    ],
)
def test_a_record_that_cannot_be_read_in_one_way_is_refused(
    file: Path, second: str, rule: str
) -> None:
    file.write_text('{"a": 1}\n' + second + "\n")
    with pytest.raises(TableError, match=rule) as refusal:
        cells(file, "json")
    assert refusal.value.repair
    assert CELL not in refusal.value.text
    if rule not in (
        "a cell is too long",
        "a NUL byte",
        "half of a character",
        "have the same name",
    ):
        assert refusal.value.line == 2


@pytest.mark.parametrize(
    ("content", "rule", "line"),
    [
        ('[{"a": 1},\n{"a": 2}', "malformed or cut short", 2),
        ('[{"a": 1}\n{"a": 2}]', "malformed or cut short", 2),
        ('[{"a": 1},\n]', "malformed or cut short", 2),
        ('[{"a": 1}]\n{"a": 2}', "behind the list", 2),
        ('[{"a": 1},\n\n3]', "no JSON object", 3),
        ("[1, 2]", "no JSON object", 1),
        ("[]", "file is empty", None),
        ("", "file is empty", None),
        ('{"a":\n1}', "no JSON object", 1),
        ("a,b\n1,2\n", "this is no JSON of objects", None),
    ],
)
def test_a_file_that_is_no_list_of_objects_is_refused(
    file: Path, content: str, rule: str, line: int | None
) -> None:
    file.write_text(content)
    with pytest.raises(TableError, match=rule) as refusal:
        cells(file, "json")
    assert refusal.value.line == line


TOTAL = [
    (b'{"a": {"b": 1}, "c": 5}', {"a": None, "c": "5"}),
    (b'{"a": [1], "c": true}', {"a": None, "c": "TRUE"}),
    (b'{"a": 1, "a": 1, "c": "x"}', {"a": None, "c": "x"}),
    (b'{"a": NaN, "c": 1}', {"a": None, "c": "1"}),
    (b'["x"]', {"a": None, "c": None}),
    (b'{"a": 1', {"a": None, "c": None}),
    (b'{"a": "\xe9"}', {"a": "\ufffd", "c": None}),
    (b'{"a": "\\ud800"}', {"a": "?", "c": None}),
    (b'{"a": "x\\u0000"}', {"a": "x\0", "c": None}),
    (b'{"a": "' + b"x" * 200_000 + b'"}', {"a": "x" * 131_072, "c": None}),
    (b'{"a": "' + b"x" * 9_000_000 + b'"}', {"a": None, "c": None}),
    (b'{"a": ' + b"[" * 100_000, {"a": None, "c": None}),
]


def in_total(
    file: Path, names: tuple[str, ...], records: str = "lines"
) -> dict[str, list[str | None]]:
    """As a run reads it."""
    found: dict[str, list[str | None]] = {}
    blocks = objects.blocks(
        file,
        kind="json",
        dialect=Dialect(names=names, records=records),
        shape=readers.Shape(),
        options=ReadOptions(
            limits=readers.Limits(), wanted=names, progress=readers.silent, mode="total"
        ),
    )
    for block in blocks:
        for name, texts in block.items():
            found.setdefault(name, []).extend(texts.to_pylist())
    return found


@pytest.mark.parametrize("before", [b"", b'{"a": 0}\n'])
@pytest.mark.parametrize(
    ("record", "expected"), TOTAL, ids=[str(place) for place in range(len(TOTAL))]
)
def test_a_run_reads_every_line_as_a_record(
    file: Path, record: bytes, expected: dict[str, str | None], before: bytes
) -> None:
    """Whether a run succeeds must not depend on a record, and no record changes how another is read."""
    file.write_bytes(before + record + b'\n{"a": 7}\n')
    found = in_total(file, ("a", "c"))
    assert {name: texts[-2] for name, texts in found.items()} == expected
    assert {name: texts[-1] for name, texts in found.items()} == {"a": "7", "c": None}


def test_a_run_reads_a_file_without_records(file: Path) -> None:
    file.write_bytes(b"")
    assert in_total(file, ("a",)) == {}
    file.write_bytes(b"[]")
    assert in_total(file, ("a",), "list") == {}


LISTED: list[tuple[bytes, str | None]] = [
    (b'{"a": "5"}', "5"),
    (b'{"a": 1, "a": 2}', None),
    (b'{"a": NaN}', None),
    (b'{"b": ' + b"[" * 5_000 + b"]" * 5_000 + b', "a": 1}', None),
    (b'{"a": "' + b"x" * 2_000_000 + b'"}', None),
    (b'{"a": "tab\there"}', None),
    (b'{"a": "\\""}', '"'),
    (b'{"a": "\x01\\"]}"}', None),
    (b"5", None),
    (b"1" * 9_000_000, None),
    (b'"text, with ] and }"', None),
    (b"[1, 2]", None),
    (b"null", None),
]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    ("element", "expected"), LISTED, ids=[str(place) for place in range(len(LISTED))]
)
def test_a_run_reads_every_element_of_a_list_as_a_record(
    file: Path, element: bytes, expected: str | None, place: int
) -> None:
    """One hostile element, at any place: a record without values, and all others as they are."""
    elements = [b'{"a": 7}', b'{"a": 8}']
    elements.insert(place, element)
    file.write_bytes(b"[" + b",\n".join(elements) + b"]\n")
    wanted: list[str | None] = ["7", "8"]
    wanted.insert(place, expected)
    assert in_total(file, ("a",), "list") == {"a": wanted}


def test_whether_a_file_is_one_list_is_not_read_off_a_record(file: Path) -> None:
    """Without the first record the file is the other one's neighbour, and read by the same form."""
    file.write_bytes(b'[1]\n{"a": 2}\n')
    assert in_total(file, ("a",)) == {"a": [None, "2"]}
    with pytest.raises(TableError, match="nobody has said"):
        in_total(file, ("a",), "")


def test_bytes_that_are_not_utf_8_are_refused_by_line(file: Path) -> None:
    file.write_bytes(b'{"a": 1}\n{"a": "\xe9"}\n')
    with pytest.raises(TableError, match="not UTF-8") as refusal:
        cells(file, "json")
    assert refusal.value.line == 2


def test_many_records_are_read_in_pieces(file: Path) -> None:
    file.write_text("".join(f'{{"a": {i}, "b": "{"x" * 50}"}}\n' for i in range(150_000)))
    limits = readers.Limits(rows=150_000, block_rows=1_000)
    assert cells(file, "json", limits=limits)["a"] == [str(i) for i in range(150_000)]
    with pytest.raises(TableError, match="more rows"):
        cells(file, "json", limits=readers.Limits(rows=149_999))
    with pytest.raises(TableError, match="more than is allowed"):
        cells(file, "json", limits=readers.Limits(plain_bytes=1_000_000))


def test_too_many_keys_are_refused(file: Path) -> None:
    file.write_text("".join(f'{{"k{i}": 1}}\n' for i in range(2_001)))
    with pytest.raises(TableError, match="more than 2,000 columns"):
        cells(file, "json")


# --- archives -----------------------------------------------------------------------------------------------
def streamed(name: str, content: bytes) -> bytes:
    """As programs write to a pipe: sizes stand behind the content."""

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.content = b""

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.content += bytes(data)
            return len(data)

    pipe = Pipe()
    with (
        zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(name, "w") as entry,
    ):
        entry.write(content)
    return pipe.content


def large(name: str, content: bytes) -> bytes:
    """With sizes of eight bytes."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(name, "w", force_zip64=True) as entry,
    ):
        entry.write(content)
    return buffer.getvalue()


ARCHIVES = {
    "plain": zipped({"table.csv": CSV}),
    "stored": zipped({"table.csv": CSV}, packing=zipfile.ZIP_STORED),
    "in a folder": zipped({"data/": b"", "data/table.csv": CSV}),
    "of macOS": zipped(
        {"table.csv": CSV, "__MACOSX/._table.csv": b"\0" * 200, ".DS_Store": b"x"}
    ),
    "to a pipe": streamed("table.csv", CSV),
    "with long sizes": large("table.csv", CSV),
    "of a workbook": zipped({"table.xlsx": written("xlsx")}),
    "of Parquet": zipped({"table.parquet": written("parquet")}),
    "of Stata": zipped({"table.dta": written("dta")}),
    "of an old workbook": zipped({"table.xls": written("xls")}),
    "of packed": zipped({"table.csv.gz": written("csv.gz")}),
    "of JSON": zipped({"table.jsonl": written("json")}),
}


@pytest.mark.parametrize("content", ARCHIVES.values(), ids=ARCHIVES)
def test_the_one_file_in_an_archive_is_the_table(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "table.zip"
    path.write_bytes(content)
    assert cells(path, "zip") == {"a": ["1", "2"], "b": ["x", "y"]}
    assert ingest.read(path).rows == 2
    for size in (1, 7, 1_000):
        unzipper = Unzipper()
        inside = b"".join(
            piece
            for at in range(0, len(content), size)
            for piece in unzipper.feed(content[at : at + size])
        )
        unzipper.end()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            name = next(
                one for one in archive.namelist() if one.split("/")[-1] == unzipper.name
            )
            assert inside == archive.read(name)


def locked() -> bytes:
    content = bytearray(zipped({"table.csv": CSV}))
    content[6] |= 1
    return bytes(content)


def other_directory() -> bytes:
    """The directory at the end names another file than the one that stands in the archive."""
    content = zipped({"table.csv": CSV})
    at = content.index(b"PK\x01\x02")
    return content[:at] + content[at:].replace(b"table.csv", b"other.csv")


def without_directory() -> bytes:
    content = zipped({"table.csv": CSV})
    return content[: content.index(b"PK\x01\x02")] + struct.pack("<4s18x", b"PK\x05\x06")


BAD_ARCHIVES = {
    "two files": (zipped({"a.csv": CSV, "b.csv": CSV}), "more than one file"),
    "no file": (zipped({"data/": b""}), "holds no file"),
    "a path": (zipped({"../table.csv": CSV}), "leads out of it"),
    "a root": (zipped({"/etc/table.csv": CSV}), "leads out of it"),
    "a drive": (zipped({"C:table.csv": CSV}), "leads out of it"),
    "a password": (locked(), "has a password"),
    "an archive": (zipped({"a.zip": zipped({"a.csv": CSV})}), "an archive in an archive"),
    "another kind": (zipped({"a.pdf": b"%PDF-1.7"}), "name ends neither in"),
    "another content": (zipped({"a.csv": b"%PDF-1.7 x"}), "this is a PDF"),
    "baskets of xz": (zipped({"a.csv": CSV}, packing=zipfile.ZIP_LZMA), "packed in a way"),
    "cut short": (zipped({"a.csv": CSV})[:-30], "damaged or cut short"),
    "cut in the content": (zipped({"a.csv": CSV * 100})[:60], "damaged or cut short"),
    "another directory": (other_directory(), "damaged or cut short"),
    "no directory": (without_directory(), "damaged or cut short"),
    "damaged": (
        zipped({"a.csv": CSV}, packing=zipfile.ZIP_STORED).replace(b"1,x", b"1,y", 1),
        "damaged or cut short",
    ),
    "notes that are none": (
        zipped({"__MACOSX/big": b"\0" * 2**22, "a.csv": CSV}),
        "more than one file",
    ),
    "a workbook": (written("xlsx"), "not a ZIP archive of one table"),
    "OpenDocument": (
        zipped({"mimetype": b"x", "content.xml": b"x"}),
        "not a ZIP archive of one table",
    ),
    "no archive": (CSV, "not a ZIP archive of one table"),
}


@pytest.mark.parametrize(("content", "rule"), BAD_ARCHIVES.values(), ids=BAD_ARCHIVES)
def test_an_archive_of_anything_else_is_refused(
    tmp_path: Path, content: bytes, rule: str
) -> None:
    path = tmp_path / "table.zip"
    path.write_bytes(content)
    with pytest.raises(TableError, match=rule) as refusal:
        cells(path, "zip")
    assert refusal.value.repair


def test_a_small_archive_that_unpacks_to_much_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "table.zip"
    path.write_bytes(zipped({"a.csv": b"a,b\n" + b"1,2\n" * (30 * 2**20)}))
    with pytest.raises(TableError, match="unpacks to more"):
        cells(path, "zip")
    path.write_bytes(zipped({"a.csv": b"a,b\n" + b"1,2\n" * 100_000}))
    with pytest.raises(TableError, match="unpacks to more"):
        cells(path, "zip", limits=readers.Limits(plain_bytes=100_000))


def test_what_is_unpacked_comes_in_pieces_of_bounded_size() -> None:
    unzipper = Unzipper()
    sizes = [len(piece) for piece in unzipper.feed(zipped({"a.csv": b"\n" * 50_000_000}))]
    unzipper.end()
    assert sum(sizes) == 50_000_000
    assert max(sizes) <= 2**20


# --- texts of other kinds -----------------------------------------------------------------------------------
OTHER_TEXTS = {
    "a web page": (
        b"<!DOCTYPE html>\n<html><body><table><tr><td>1</td></tr></table></body></html>",
        "HTML",
    ),
    "a table of a web page": (
        b"\xef\xbb\xbf \n<table border=0><tr><td>a</td></tr></table>",
        "HTML",
    ),
    "a web page in UTF-16": ("<html>\n<body>x</body>".encode("utf-16"), "HTML"),
    "XML": (b'<?xml version="1.0"?>\n<rows><row a="1"/></rows>\n', "XML"),
    "XML without a declaration": (b"<rows>\n<row>1</row>\n</rows>\n", "XML"),
    "KML": (b'<kml xmlns="http://www.opengis.net/kml/2.2">\n<Placemark/></kml>\n', "XML"),
    "JSON": (b'{\n "a": [1, 2],\n "b": 3\n}\n', "JSON"),
    "a list": (b'[\n  {"a": 1}\n]\n', "JSON"),
    "JSON lines": (b'{"a": 1}\n{"a": 2}\n', "JSON"),
    "YAML": (b"---\nname: Ann\nage: 3\n", "YAML"),
    "YAML without a mark": (b"- name: Ann\n  age: 3\n- name: Bob\n  age: 4\n", "YAML"),
    "YAML of keys": (b"version: 2\nname: Ann\nage: 3\n", "YAML"),
    "SQL": (b"CREATE TABLE people (\n  id int\n);\nINSERT INTO people VALUES (1);\n", "SQL"),
    "a dump": (b"-- MySQL dump 10.13\n--\n-- Host: x\n/*!40101 SET NAMES utf8 */;\n", "SQL"),
    "a dump of PostgreSQL": (
        b"--\n-- PostgreSQL database dump\n--\n\nSET statement_timeout = 0;\n",
        "SQL",
    ),
    "INSERT": (b"INSERT INTO people (a, b) VALUES (1, 2);\n", "SQL"),
    "RTF": (b"{\\rtf1\\ansi a,b}\n", "RTF"),
    "PostScript": (b"%!PS-Adobe-3.0\n", "PostScript"),
    "LaTeX": (b"\\documentclass{article}\n", "LaTeX"),
    "a calendar": (b"BEGIN:VCALENDAR\nVERSION:2.0\n", "contacts or dates"),
    "ARFF": (b"@relation iris\n@attribute a numeric\n", "Weka"),
    "SAS": (b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!000000\n", "SAS"),
    "portable SPSS": (b"ASCII SPSS PORT FILE      \n", "SPSS"),
    "a bitmap": (b"BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00", "picture"),
    "TIFF": (b"II*\x00\x08\x00\x00\x00", "picture"),
    "NumPy": (b"\x93NUMPY\x01\x00v\x00", "NumPy"),
    "R": (b"RDX3\nX\n", "file of R"),
}


@pytest.mark.parametrize(("content", "what"), OTHER_TEXTS.values(), ids=OTHER_TEXTS)
def test_a_text_of_another_kind_called_csv_is_refused_with_what_it_is(
    tmp_path: Path, content: bytes, what: str
) -> None:
    path = tmp_path / "table.csv"
    for kind, stored in (("csv", content), ("csv.gz", gzip.compress(content))):
        path.write_bytes(stored)
        with pytest.raises(TableError, match=f"this is .*{what}.*, not a CSV table") as refusal:
            cells(path, kind)
        assert refusal.value.repair


@pytest.mark.parametrize(
    "content",
    [
        b"<id>,name\n1,Ann\n",
        b"<18,18-30,>30\n1,2,3\n",
        b"<title>;b\n1;2\n",
        b"[id],[name]\n1,Ann\n",
        b"{id},name\n1,Ann\n",
        b"time: start,end\n12:30,13:00\n",
        b"BMI,age\n20,5\n",
        b"BM,age\n20,5\n",
        b"set,value\na,1\n",
        b"create,drop\n1,2\n",
        b"insert\n1\n",
        b"-- a,b\n1,2\n",
        b"FEA1,FEA2\n1,2\n",
        b"12:30\n12:45\n",
        b"name\nAnn: x\nBob\n",
    ],
)
def test_headers_that_only_look_like_other_texts_are_headers(content: bytes) -> None:
    formats.check_kind("csv", content)
    assert formats.found_kind(content) == "csv"


def test_lists_of_baskets_may_hold_anything(tmp_path: Path) -> None:
    path = tmp_path / "t.dat"
    path.write_bytes(b"<html> {x}\n---\n")
    assert cells(path, "baskets") == {"items": ["<html> {x}", "---"]}


@pytest.mark.parametrize(
    ("records", "held", "is_column"),
    [(300, 1, False), (300, 19, False), (300, 20, True), (6, 2, False), (6, 3, True)],
)
def test_a_key_that_few_records_have_is_drafted_as_no_column(
    file: Path, records: int, held: int, is_column: bool
) -> None:
    """It may be what one record says. It can be named, and is read then."""
    rare = "visits of one canary"
    lines = [{"age": n} | ({rare: n} if n < held else {}) for n in range(records)]
    file.write_text("\n".join(map(json.dumps, lines)))
    assert (rare in readers.detect(file).names) is is_column
    reading = ingest.read(file)
    assert any("keys that too few" in note for note in reading.notes) is not is_column
    named = cells(file, "json", dialect=Dialect(names=("age", rare), records="lines"))
    assert named[rare][:2] == ["0", "1" if held > 1 else None]


def test_objects_without_a_common_key_are_refused(file: Path) -> None:
    file.write_text("".join(f'{{"k{n}": 1}}\n' for n in range(50)))
    with pytest.raises(TableError, match="no key in common"):
        readers.detect(file)
