"""A reading for a run refuses no well-formed record for what it holds, reads each by itself, and takes a
table without any.

For every format: the records of a file are what each would be alone, whatever stands beside it and wherever
the reader cuts. See docs/proofs/reading.md, "Files"."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth_engine import codec, readers
from synth_engine.domain import Categorical, Domain, Identifier
from synth_engine.errors import DomainError, TableError
from synth_engine.formats import ENCODINGS, Dialect, Kind
from synth_engine.privacy.unit import PrivacyUnit, Spelling
from synth_engine.readers import baskets, fast_csv, line_feed, rules, source
from synth_engine.sources.opening import _units, open_table
from tests.engine.workbooks import workbook as written_workbook
from tests.privacy import hostile

Record = tuple[str, ...]
NAMES = ("left", "right")
SMALL = source.Limits(cell_characters=50, block_rows=3)


def read(
    path: Path,
    kind: Kind,
    *,
    dialect: Dialect | None = None,
    limits: source.Limits | None = None,
) -> list[Record]:
    """All records of a file, as a run reads them."""
    found: list[Record] = []
    limits = limits or source.Limits()
    for block in readers.blocks(
        path,
        kind=kind,
        dialect=dialect,
        options=readers.ReadOptions(limits=limits, mode="total"),
    ):
        found += list(zip(*(column.to_pylist() for column in block.values()), strict=True))
    return found


# --- what a checked reading refuses and a total one takes ---------------------------------------------------
def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def csv_bytes(
    records: Sequence[Sequence[str]],
    *,
    header: Sequence[str] | None = NAMES,
    encoding: str = "utf-8",
) -> bytes:
    rows = ([header] if header is not None else []) + list(records)
    return "".join(",".join(map(quoted, row)) + "\n" for row in rows).encode(
        encoding, "surrogatepass"
    )


DOUBTFUL: dict[str, tuple[bytes, list[Record]]] = {
    "a line like the header": (
        b"left,right\n1,2\nleft,right\n",
        [("1", "2"), ("left", "right")],
    ),
    "a quoted line like the header": (
        b'left,right\n1,2\n"left",right\n',
        [("1", "2"), ("left", "right")],
    ),
    "a NUL": (b"left,right\n1,a\0b\n3,4\n", [("1", "a\0b"), ("3", "4")]),
    "a byte that is not UTF-8": (
        b"left,right\n1,a\xff\xe2\x82\n3,4\n",
        [("1", "a\ufffd\ufffd"), ("3", "4")],
    ),
    "a long cell": (
        b"left,right\n1," + b"x" * 200_000 + b"\n3,4\n",
        [("1", "x" * 131_072), ("3", "4")],
    ),
    "a cell of a million letters": (
        b"left,right\n" + b"7" * 10**6 + b",2\n",
        [("7" * 131_072, "2")],
    ),
    "a long cell over lines": (
        b'left,right\n1,"' + b"x\n" * 200_000 + b'"\n3,4\n',
        [("1", "x\n" * 65_536), ("3", "4")],
    ),
    "no record": (b"left,right\n", []),
    "no record and no line end": (b"left,right", []),
    "a name of a magic number": (
        b"left,right\n" + b"x" * 246 + b"ustar,4\n",
        [("x" * 246 + "ustar", "4")],
    ),
    "a byte order mark": (
        b"left,right\n\xef\xbb\xbf1,2\n3,4\n",
        [("\ufeff1", "2"), ("3", "4")],
    ),
    "a mark inside a cell": (b'left,right\n3"r,2\n3,4\n', [('3"r', "2"), ("3", "4")]),
    "a backslash": (b'left,right\na\\"b,2\n3,4\n', [('a\\"b', "2"), ("3", "4")]),
    "a total": (b"left,right\n1,2\nTotal:,2\n", [("1", "2"), ("Total:", "2")]),
    "an empty row": (b"left,right\n1,2\n,\n", [("1", "2"), ("", "")]),
}


@pytest.mark.parametrize("name", DOUBTFUL)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_a_run_takes_what_an_upload_asks_about(tmp_path: Path, name: str, packed: bool) -> None:
    content, expected = DOUBTFUL[name]
    path = tmp_path / "table.csv"
    path.write_bytes(gzip.compress(content) if packed else content)
    kind: Kind = "csv.gz" if packed else "csv"
    assert read(path, kind) == expected
    with pytest.raises(TableError):
        for _ in readers.blocks(path, kind=kind):
            pass


def test_a_blank_line_in_a_table_of_one_column_is_no_record(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b'left\n1\n\n""\n2\n\n')
    assert read(path, "csv") == [("1",), ("",), ("2",)]


@pytest.mark.parametrize("first", ["GIF89a", "%PDF-1", "PAR1\x15", "<stata_dta>", "BZh91AY&SY"])
def test_without_a_header_the_first_record_decides_no_kind(tmp_path: Path, first: str) -> None:
    path = tmp_path / "table.csv"
    dialect = Dialect(header=False, delimiter=",", columns=2)
    path.write_bytes(csv_bytes([(first, "2")], header=None).replace(b'"', b""))
    found = [
        tuple(column[0].as_py() for column in block.values())
        for block in readers.blocks(
            path, kind=None, dialect=dialect, options=readers.ReadOptions(mode="total")
        )
    ]
    assert found == [(first, "2")]


FIRST = st.lists(
    st.sampled_from(["total", "Grand", "SUM", "\u017fum", "\u212a", "note", ":", " ", "\u00a0", "\v", "\x1c",
        "\n", "*", "7)", "a", "\u2003"]),
    max_size=6,
).map("".join)  # fmt: skip


@given(
    rows=st.lists(
        st.tuples(FIRST, st.sampled_from(["", " ", "\u00a0", "\x1c", "7"])),
        min_size=1,
        max_size=6,
    )
)
def test_which_rows_are_left_out_is_the_same_in_both_parsers(rows: list[Record]) -> None:
    """One asks RE2 of a whole piece, the other `re` of a row, and which of them does depends on other
    records."""
    columns = [pa.array(cells, type=pa.string()) for cells in zip(*rows, strict=True)]
    declared = rules.Rules(Dialect(extra_rows="drop"), total=True)
    together = declared.not_records(columns)
    found = [False] * len(rows) if together is None else together.to_pylist()
    assert found == [not declared.takes(row, line=1) for row in rows]


# --- without a header the first records are records ---------------------------------------------------------
TOPS: dict[str, tuple[str, int, list[bytes]]] = {
    "empty cells between tabs": ("\t", 3, [b"\t\t\n", b"\t \t\n", b"\t\t\r\n"]),
    "blanks": (",", 1, [b" \n", b"\xc2\xa0\n", b"\x1c\n", b"\t\n"]),
    "a line that seems to state the delimiter": (",", 1, [b"sep=;\n", b"sep=;\n"]),
    "such a line of two cells": (";", 2, [b"sep=;\n", b"sep=;\n"]),
    "blank lines": (",", 2, [b"\n", b"\r\n", b",\n"]),
}


@pytest.mark.parametrize("name", TOPS)
@pytest.mark.parametrize("declared", [True, False], ids=["columns declared", "not declared"])
def test_without_a_header_a_record_above_makes_no_other_a_record(
    tmp_path: Path, name: str, declared: bool
) -> None:
    """Records without anything in them are counted at the top as anywhere else: otherwise one more record
    above them would change the counts by any number."""
    delimiter, width, lines = TOPS[name]
    dialect = Dialect(header=False, delimiter=delimiter, columns=width if declared else None)
    path = tmp_path / "table.csv"
    one = delimiter.join("x" * width).encode() + b"\n"

    def records(chosen: Sequence[bytes]) -> list[Record]:
        path.write_bytes(b"".join(chosen))
        return read(path, "csv", dialect=dialect)

    above, *behind = records([one, *lines, one])
    assert records([*lines, one]) == behind
    assert len(behind) == 1 + sum(line.strip(b"\r\n") != b"" for line in lines)
    assert above == behind[-1]


def test_without_a_header_a_file_may_have_no_record(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for content in (b"", b"\n\r\n"):
        path.write_bytes(content)
        assert read(path, "csv", dialect=Dialect(header=False, delimiter=",", columns=2)) == []


def test_a_line_that_states_the_delimiter_above_records_is_said_to_be_none(
    tmp_path: Path,
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"sep=;\n" + b"1;2\n3;4\n" * 4)
    guessed = readers.detect(path)
    assert guessed is not None
    dialect = replace(guessed, asked=())
    assert (dialect.header, dialect.skip, dialect.delimiter) == (False, 1, ";")
    assert read(path, "csv", dialect=dialect) == [("1", "2"), ("3", "4")] * 4
    # A form that was stored without that is read as it was, because such a line has another number of cells.
    path.write_bytes(b"sep=,\n1;2\n")
    assert read(path, "csv", dialect=Dialect(header=False, delimiter=";", columns=2)) == [
        ("1", "2")
    ]


STILL_REFUSED = {
    "another number of cells": b"left,right\n1,2,3\n",
    "fewer cells": b"left,right\n1\n",
    "a mark that is never closed": b'left,right\n"1,2\n',
    "a line too long": b"left,right\n1," + b"x" * (2**20 + 1) + b"\n",
    "no header": b"",
}


@pytest.mark.parametrize("name", STILL_REFUSED)
def test_what_is_no_well_formed_record_still_fails(tmp_path: Path, name: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(STILL_REFUSED[name])
    with pytest.raises(TableError):
        read(path, "csv")


# --- what the proof of docs/proofs/reading.md rests on: damage ends with its line ---------------------------
WIDE = ("utf-8", "cp932", "euc_jp", "gb18030", "big5", "big5hkscs", "cp949")


def test_every_encoding_of_several_bytes_a_character_is_named_here() -> None:
    """Of the others each byte is a character by itself, or a part of a unit of 16 or 32 bits."""
    by_bytes = {name for name in ENCODINGS if not name.startswith(("utf-16", "utf-32"))}
    for name in by_bytes - set(WIDE):
        codec_name = Dialect(encoding=name).codec
        assert all(
            len(bytes([byte]).decode(codec_name, "replace")) == 1 for byte in range(256)
        ), name


@pytest.mark.parametrize("encoding", WIDE)
def test_no_damaged_character_takes_a_line_end_with_it(encoding: str) -> None:
    """Every one and every two bytes before a line end, decoded as a run decodes them."""
    codec_name = Dialect(encoding=encoding).codec
    for first in range(256):
        for second in (b"", *(bytes([byte]) for byte in range(256) if byte not in b"\r\n")):
            text = (bytes([first]) + second + b"\nab,c").decode(codec_name, "replace")
            assert text.endswith("\nab,c")


def test_no_three_bytes_of_a_character_of_four_take_a_line_end_with_them() -> None:
    """GB18030 alone has such characters: the second of their bytes is a digit."""
    for first, digit, third in itertools.product(range(0x81, 0xFF), b"0123456789", range(256)):
        if third not in b"\r\n":
            text = (bytes([first, digit, third]) + b"\nab,c").decode("gb18030", "replace")
            assert text.endswith("\nab,c")


def test_the_last_record_is_read_as_if_others_followed(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    form = Dialect(encoding="gb18030", delimiter=",")
    path.write_bytes(b"left,right\nx,\x817\n")
    alone = read(path, "csv", dialect=form)
    path.write_bytes(b"left,right\nx,\x817\ny,z\n")
    assert read(path, "csv", dialect=form) == [*alone, ("y", "z")]
    assert alone == [("x", "\ufffd7")]


# --- each record by itself, in every encoding and at every cut ----------------------------------------------
@pytest.fixture(params=[16, 64, 2**22], ids=lambda size: f"pieces of {size}")
def piece_sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(line_feed, "PIECE", request.param)
    monkeypatch.setattr(line_feed, "_READ", max(7, request.param // 2))
    return int(request.param)


RAW = st.lists(
    st.sampled_from([b"a", b"7", b"\xff", b"\x81", b"\xe2\x82", b"\xc3", b"\x00", b"\xef\xbb\xbf", b"\xa0",
        b" ", b"'", b"\xed\xa0\x80"]),
    max_size=6,
).map(b"".join)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    lines=st.lists(st.tuples(RAW, RAW).map(b",".join), min_size=1, max_size=8),
    codec_name=st.sampled_from(list(ENCODINGS)),
)
def test_damaged_bytes_concern_their_own_record(
    tmp_path: Path, piece_sizes: int, lines: list[bytes], codec_name: str
) -> None:
    """In every encoding whose line ends are bytes: what a line is read as does not depend on the others."""
    if codec_name.startswith(("utf-16", "utf-32")):
        return
    dialect = Dialect(encoding=codec_name, delimiter=",")
    path = tmp_path / "table.csv"

    def records(chosen: Sequence[bytes]) -> list[Record]:
        path.write_bytes(b"left,right\n" + b"".join(line + b"\n" for line in chosen))
        return read(path, "csv", dialect=dialect)

    assert records(lines) == [record for line in lines for record in records([line])]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(units=st.lists(st.lists(st.integers(0, 0xFFFF), max_size=4), min_size=1, max_size=6))
def test_damaged_halves_of_characters_concern_their_own_record(
    tmp_path: Path, piece_sizes: int, units: list[list[int]]
) -> None:
    ends = {10, 13, ord(","), ord('"'), 0xFEFF, 0xFFFE}
    lines = [
        b"".join(one.to_bytes(2, "little") for one in line if one not in ends) for line in units
    ]
    dialect = Dialect(encoding="utf-16-le", delimiter=",")
    path = tmp_path / "table.csv"

    def records(chosen: Sequence[bytes]) -> list[Record]:
        head, apart, end = (
            "left,right\n".encode("utf-16-le"),
            ",".encode("utf-16-le"),
            "\n".encode("utf-16-le"),
        )
        path.write_bytes(head + b"".join(line + apart + line + end for line in chosen))
        return read(path, "csv", dialect=dialect)

    assert records(lines) == [record for line in lines for record in records([line])]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    records=st.lists(st.tuples(hostile.SHORT, hostile.SHORT), min_size=1, max_size=8),
    one_more=st.tuples(hostile.SHORT, hostile.SHORT),
)
def test_one_more_record_changes_no_other_and_both_parsers_agree(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    piece_sizes: int,
    records: list[Record],
    one_more: Record,
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(csv_bytes(records))
    without = read(path, "csv", limits=SMALL)
    assert without == [tuple(cell[:50] for cell in record) for record in records]
    for place in (0, len(records)):
        path.write_bytes(csv_bytes([*records[:place], one_more, *records[place:]]))
        found = read(path, "csv", limits=SMALL)
        assert found[:place] + found[place + 1 :] == without
        with monkeypatch.context() as strict:
            strict.setattr(fast_csv, "parsed", lambda *_args, **_options: None)
            assert read(path, "csv", limits=SMALL) == found


# --- the other formats --------------------------------------------------------------------------------------
def parquet_bytes(path: Path, column: pa.Array) -> None:
    pq.write_table(pa.table({"left": column}), path, row_group_size=2)


DAMAGED = pa.Array.from_buffers(
    pa.string(), 4, pa.array([b"ok", b"\xff\xfe", b"", b"{}"], type=pa.binary()).buffers()
)
PARQUET_COLUMNS = (
    pa.array(["a", "a\0b", "x" * 200_000, "", None, "\ufeffa"]),
    pa.Array.from_buffers(
        pa.string(), 4, pa.array([b"a", b"\xff\xfe", b"", b"ok"], type=pa.binary()).buffers()
    ),
    pa.array([1.5, float("nan"), float("inf"), 1e300, -0.0, None, 1e15, 5.0]),
    pa.array([1, 2**62, -(2**62), None]),
    pa.array([0, 2**62, 1, None], type=pa.timestamp("ms")),
    pa.array([0, 2**62, 1, None], type=pa.timestamp("us", tz="UTC")),
    pa.array([0, 2**30, None, 19_000], type=pa.date32()),
    pa.array([5, 90_000, None], type=pa.time32("s")),
    pa.array(["a", "b", None, "a"]).dictionary_encode(),
    pa.array([True, None, False]),
    pa.array([b"\0" * 16, b"\xff" * 16, UUID(int=5).bytes, None], type=pa.uuid()),
    DAMAGED.cast(pa.string_view(), safe=False),
    DAMAGED.cast(pa.large_string(), safe=False),
    pa.ExtensionArray.from_storage(pa.json_(), DAMAGED),
    pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, -128, None], type=pa.int8())),
    pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "a", "b"), DAMAGED),
    pa.array([float("nan"), -float("inf"), -0.0, 65_504.0, None], type=pa.float16()),
    pa.array([Decimal("9" * 38), Decimal(-5), None], type=pa.decimal128(38, 0)),
    pa.array([Decimal("9" * 76), Decimal(-5), None], type=pa.decimal256(76, 0)),
    pa.array([2**63 - 1, -(2**63), None], type=pa.int64()),
    pa.array([2**62 // 86_400_000 * 86_400_000, 0, None], type=pa.date64()),
    pa.array([86_399_999_999, -5, None], type=pa.time64("us")),
    pa.array([2**63 - 1, -(2**63), None], type=pa.duration("us")),
    *(
        pa.array([end, None, 0], type=pa.from_numpy_dtype(kind))
        for kind in ("int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64")
        for limits in [np.iinfo(kind)]
        for end in (limits.min, limits.max)
    ),
)


@pytest.mark.parametrize("column", PARQUET_COLUMNS, ids=lambda column: str(column.type))
def test_a_record_of_parquet_is_read_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: pa.Array
) -> None:
    path = tmp_path / "table.parquet"
    alone = []
    for place in range(len(column)):
        parquet_bytes(path, column.slice(place, 1))
        alone += read(path, "parquet")
    parquet_bytes(path, column)
    assert read(path, "parquet") == alone
    assert read(path, "parquet", limits=source.Limits(block_rows=1)) == alone
    parquet_bytes(path, column.slice(0, 0))
    assert read(path, "parquet") == []


BOOK: tuple[tuple[Any, Any], ...] = (
    ("x", 1), (("#N/A", 't="e"'), 2), (("#DIV/0!", 't="e"'), "seen"), (1e15, 0.1), (12345678901234567, True),
    (("45000", 's="1"'), ("45000.5", 's="2"')), (("3e9", 's="1"'), ("-5", 's="2"')), ("left", "right"),
    (None, "y"), ("z", None),
    ("x" * 32_767, "\ufeff"), ("_xD800_", "_xDC00__xD800_"), (("1e999999999", ""), ("-1e999999999", 's="1"')),
    (("1e-999999999", ""), ("0e999999999", "")), (("1" * 5_000, ""), ("NaN", "")),
    (("nothing", ""), ("1_0", "")),
    (("2", 't="b"'), ("", 't="d"')),
)  # fmt: skip


@pytest.mark.parametrize("header", [True, False], ids=["with a header", "without"])
def test_a_record_of_a_workbook_is_read_alone(tmp_path: Path, header: bool) -> None:
    path = tmp_path / "table.xlsx"
    dialect = Dialect(header=header, columns=None if header else 2)

    def records(rows: Sequence[tuple[Any, Any]]) -> list[Record]:
        path.write_bytes(written_workbook({"s": [*([NAMES] if header else []), *rows]}))
        return read(path, "xlsx", dialect=dialect, limits=source.Limits(cell_characters=100))

    alone = [record for row in BOOK for record in records([row])]
    assert len(alone) == len(BOOK)
    assert records(BOOK) == alone
    assert alone[1][0] == "" and alone[2] == (
        "",
        "seen",
    )  # what shows an error is an empty cell
    assert records([(("#DIV/0!", 't="e"'), ("#VALUE!", 't="e"')), BOOK[0]]) == [
        ("", ""),
        alone[0],
    ]
    assert records([]) == []
    # A record without any cell is nothing, also where it is the only one.
    assert records([(None, None), ("", "")]) == []


def test_a_sheet_without_a_header_has_the_columns_that_are_declared(tmp_path: Path) -> None:
    """Neither where its leftmost nor where its rightmost record has cells decides what another one's cells
    are."""
    path = tmp_path / "table.xlsx"
    path.write_bytes(written_workbook({"s": [(None, "x"), (None, "y")]}))
    with pytest.raises(TableError, match="how many columns"):
        read(path, "xlsx", dialect=Dialect(header=False))
    assert read(path, "xlsx", dialect=Dialect(header=False, columns=3)) == [
        ("", "x", ""),
        ("", "y", ""),
    ]


STATISTICAL: tuple[tuple[list[float], str], ...] = (
    ([1.0, 2.5, float("nan"), 1e15, 1e300], "F8.2"),
    ([1.3e10, 5e18, float("nan"), 1.2e10, -5e18], "DATE11"),
    ([1.3e10, 5e18, float("nan"), 1.2e10], "DATETIME20"),
    ([3_600.0, 5e18, 10.0], "TIME8"),
)


@pytest.mark.parametrize(("values", "form"), STATISTICAL, ids=[form for _, form in STATISTICAL])
def test_a_record_of_spss_is_read_alone(tmp_path: Path, values: list[float], form: str) -> None:
    """A day that no calendar has is nothing, and fails no other record."""
    path = tmp_path / "table.sav"

    def records(chosen: list[float]) -> list[Record]:
        table = pd.DataFrame({"left": chosen, "right": [1.0] * len(chosen)})
        pyreadstat.write_sav(table, str(path), variable_format={"left": form})
        return read(path, "sav")

    alone = [record for value in values for record in records([value])]
    assert records(values) == alone
    assert all(right == "1" for _, right in alone)


def test_a_record_of_stata_is_read_alone(tmp_path: Path) -> None:
    path = tmp_path / "table.dta"
    table = pd.DataFrame({"left": [1, 2, "a"] * 3, "right": [0.1, "b", 2.5] * 3})
    missing = {"left": ["a"], "right": ["b"]}

    def records(chosen: pd.DataFrame) -> list[Record]:
        pyreadstat.write_dta(chosen, str(path), missing_user_values=missing)
        return read(path, "dta", limits=source.Limits(block_rows=2))

    found = records(table)
    assert found[:3] == [("1", "0.1"), ("2", ".b"), (".a", "2.5")]
    assert found == records(table.iloc[:3]) * 3


LINES = st.lists(
    st.sampled_from(
        [b"a", b" ", b"7", b"\xff", b"\xe2\x82", b"\0", b"\r", b"\xef\xbb\xbf", b"PAR1\x15"]
    ),
    max_size=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(lines=st.lists(LINES.map(b"".join), min_size=1, max_size=6))
def test_a_basket_is_read_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[bytes]
) -> None:
    path = tmp_path / "table.dat"
    monkeypatch.setattr(baskets, "_PIECE", 5)

    def records(chosen: Sequence[bytes]) -> list[Record]:
        path.write_bytes(b"first\n" + b"".join(line + b"\n" for line in chosen))
        return read(path, "baskets")[1:]

    assert records(lines) == [record for line in lines for record in records([line])]


# --- units --------------------------------------------------------------------------------------------------
PERSON = Domain(
    attributes=(
        Categorical(name="job", values=("clerk", "cook"), other=True),
        Identifier(name="person"),
    ),
    unit=PrivacyUnit(max_records=1, column="person"),
)


def kept(tmp_path: Path, ids: Sequence[str], *, spelling: Spelling = Spelling.EXACT) -> int:
    """How many records are kept of so many."""
    path = tmp_path / "table.csv"
    path.write_bytes(csv_bytes([("clerk", each) for each in ids], header=("job", "person")))
    unit = PrivacyUnit(max_records=1, column="person", spelling=spelling)
    domain = Domain(attributes=PERSON.attributes, unit=unit)
    return open_table(path, domain).total


def test_blanks_around_an_identifier_make_no_other_person(tmp_path: Path) -> None:
    assert kept(tmp_path, [" 7", "7 ", "7", "\u00a07\t"]) == 1
    assert kept(tmp_path, [" 7", "7 ", "7", "07"]) == 2  # spelling decides
    assert kept(tmp_path, ["", " ", "\ufeff"]) == 1  # whoever has no identifier


@pytest.mark.parametrize(
    ("spelling", "alike", "apart"),
    [
        (
            Spelling.INTEGER,
            [" 7", "7 ", "7", "07", "+7", "7.0", "0" * 200_000 + "7"],
            ["7", "-7", "70", "x7", "7.5"],
        ),
        (Spelling.INTEGER, ["0", "-0", "00.0"], ["0", "", "1"]),
        (Spelling.CASEFOLD, ["Ann", "ANN", " ann", "\uff21nn"], ["Ann", "Anne", "A nn"]),
        (Spelling.CASEFOLD, ["Stra\u00dfe", "STRASSE"], ["strase", "stra\u00dfe"]),
    ],
)
def test_a_declared_spelling_says_who_is_one_person(
    tmp_path: Path, spelling: Spelling, alike: list[str], apart: list[str]
) -> None:
    shorter = [each[-100_000:] for each in alike]
    assert kept(tmp_path, shorter, spelling=spelling) == 1
    assert kept(tmp_path, apart, spelling=spelling) == len(apart)


@given(
    ids=st.lists(hostile.SHORT | st.none(), min_size=1, max_size=10),
    spelling=st.sampled_from(list(Spelling)),
)
def test_the_form_of_an_identifier_is_a_function_of_it_alone(
    ids: list[str | None], spelling: Spelling
) -> None:
    column = pa.array(ids, type=pa.string())
    together = codec.normal(column, spelling).to_pylist()
    assert together == [
        codec.normal(column.slice(place, 1), spelling)[0].as_py() for place in range(len(ids))
    ]
    again = codec.normal(pa.array(together, type=pa.string()), spelling).to_pylist()
    assert again == together


def test_a_spelling_that_is_unknown_is_refused() -> None:
    for unit in (
        {"column": "person", "spelling": "loose"},
        {"column": "person", "spelling": 7},
        {"spelling": "integer"},
    ):
        with pytest.raises(DomainError):
            PrivacyUnit.from_json(unit)
    written = PrivacyUnit(column="person", spelling=Spelling.INTEGER).to_json()
    assert PrivacyUnit.from_json(written).to_json() == written
    assert "spelling" not in PrivacyUnit(column="person").to_json()


def test_identifiers_together_may_be_longer_than_a_column_of_text_reaches() -> None:
    """Numbers of units do not depend on how blocks are cut."""
    blocks = [pa.array(["a", "b", ""]), pa.array(["b", "c"]), pa.array(["a"])]
    assert (
        _units(blocks).tolist()
        == _units([pa.concat_arrays(blocks)]).tolist()
        == [0, 1, 2, 1, 3, 0]
    )
    assert _units([]).tolist() == []
