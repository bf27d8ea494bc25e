"""Parquet: the cells as text, block by block; what is nested, damaged or swollen is refused by column and
rule."""

from __future__ import annotations

import contextlib
import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth_engine import readers
from synth_engine.errors import TableError
from synth_engine.readers import Limits
from synth_engine.steward import ingest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.parquet"


def cells(path: Path, **limits: int) -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = {}
    for block in readers.blocks(
        path, kind="parquet", options=readers.ReadOptions(limits=Limits(**limits))
    ):
        for name, texts in block.items():
            found.setdefault(name, []).extend(texts.to_pylist())
    return found


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        (pa.array([1, None]), ["1", None]),
        (pa.array(["007", ""]), ["007", ""]),
        (pa.array(["007", None], type=pa.large_string()), ["007", None]),
        (pa.array([True, False]), ["true", "false"]),
        (pa.array(["x", "y"]).dictionary_encode(), ["x", "y"]),
        (pa.array([3, 4]).dictionary_encode(), ["3", "4"]),
        (pa.array([0.5, -1.25]), ["0.5", "-1.25"]),
        (pa.array([decimal.Decimal("1.50"), None]), ["1.50", None]),
        (pa.array([datetime.date(2019, 3, 1), None]), ["2019-03-01", None]),
        (pa.array([datetime.time(8, 5), None], type=pa.time32("s")), ["08:05:00.000", None]),
        (pa.array([None, None]), [None, None]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_every_plain_type_is_read_as_text(
    path: Path, column: pa.Array, texts: list[str | None]
) -> None:
    pq.write_table(pa.table({"a": column}), path)
    assert cells(path) == {"a": texts}


def test_row_groups_are_read_in_blocks(path: Path) -> None:
    pq.write_table(pa.table({"a": list(range(1_000))}), path, row_group_size=300)
    blocks = list(
        readers.blocks(
            path, kind="parquet", options=readers.ReadOptions(limits=Limits(block_rows=64))
        )
    )
    assert max(len(block["a"]) for block in blocks) <= 64
    assert [text for block in blocks for text in block["a"].to_pylist()] == [
        str(i) for i in range(1_000)
    ]


def test_a_preview_and_suggestions_are_made_as_for_a_csv(path: Path) -> None:
    pq.write_table(
        pa.table({"age": [18 + i % 60 for i in range(100)], "sex": ["f", "m"] * 50}), path
    )
    reading = ingest.read(path, kind="parquet")
    assert (reading.columns, reading.rows, reading.dialect) == (("age", "sex"), 100, None)
    assert reading.preview[1] == ["19", "m"]
    assert [each["kind"] for each in reading.suggestions] == ["scale", "categorical"]
    assert readers.detect(path, kind="parquet") is None
    assert readers.columns(path) == ("age", "sex")  # recognised by its content


NESTED = {
    "a list": pa.array([[1, 2]]),
    "a struct": pa.array([{"x": 1}]),
    "a map": pa.array([[("k", 1)]], type=pa.map_(pa.string(), pa.int64())),
    "a list of structs": pa.array([[{"x": [1]}]]),
}


@pytest.mark.parametrize("what", NESTED)
def test_nested_values_are_refused_by_column_rule_and_repair(path: Path, what: str) -> None:
    pq.write_table(pa.table({"a": [1], "b": NESTED[what]}), path)
    for reading in (cells, lambda path: readers.columns(path, kind="parquet")):
        with pytest.raises(TableError, match="nested values") as refusal:
            reading(path)
        assert refusal.value.column == "b"
        assert refusal.value.repair


@pytest.mark.parametrize(
    ("column", "rule"),
    [
        (pa.array([b"\xff\x00"]), "binary values"),
        (pa.array([b"ab"], type=pa.binary(2)), "binary values"),
        (pa.array(["a\0b"]), "a NUL byte"),
        (pa.array(["x" * 200_000]), "a cell is too long"),
    ],
)
def test_what_no_cell_of_text_can_be_is_refused_by_column(
    path: Path, column: pa.Array, rule: str
) -> None:
    pq.write_table(pa.table({"a": [1], "b": column}), path)
    with pytest.raises(TableError, match=rule) as refusal:
        cells(path)
    assert refusal.value.column == "b"
    assert refusal.value.repair


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        (["a", "a"], "the same name"),
        (["Age", "age "], "the same name"),
        (["a", ""], "column 2 has no name"),
        (["a", "b\u202e"], "invisible"),
        (["a", "x" * 300], "too long"),
    ],
)
def test_names_of_columns_keep_the_rules_of_a_header(
    path: Path, names: list[str], rule: str
) -> None:
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=names), path)
    with pytest.raises(TableError, match=rule):
        cells(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PAR1",
        b"PAR1" + b"\x00" * 100 + b"PAR1",
        b"a,b\n1,2\n",
        b"PK\x03\x04",
        b"PARE\x15\x00",
    ],
)
def test_what_is_not_parquet_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(TableError, match="not a Parquet"):
        cells(path)


def test_a_damaged_page_is_refused(path: Path) -> None:
    pq.write_table(
        pa.table({"a": [f"text {i}" for i in range(10_000)]}), path, compression="gzip"
    )
    data = bytearray(path.read_bytes())
    data[200:4000] = bytes(3800)
    path.write_bytes(data)
    with pytest.raises(TableError, match="damaged"):
        cells(path)


def test_text_that_is_no_utf8_is_refused(path: Path) -> None:
    broken = pa.StringArray.from_buffers(
        1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")
    )
    pq.write_table(pa.table({"a": broken}), path)
    with pytest.raises(TableError, match="damaged"):
        cells(path)


def test_an_empty_table_is_refused(path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([], type=pa.int64())}), path)
    with pytest.raises(TableError, match="without rows"):
        cells(path)


def test_the_limits_are_kept(path: Path) -> None:
    pq.write_table(pa.table({name: list(range(100)) for name in "abc"}), path)
    for limits in ({"rows": 99}, {"columns": 2}, {"plain_bytes": 500}):
        with pytest.raises(TableError, match=r"more than"):
            cells(path, **limits)


def swollen(path: Path, *, rows: int, length: int) -> None:
    """One long text, said once and pointed at by every row: kilobytes that unpack to gigabytes."""
    column: Any = pa.DictionaryArray.from_arrays(
        pa.array([0] * rows, type=pa.int32()), pa.array(["x" * length])
    )
    pq.write_table(pa.table({"a": column}), path, compression="zstd", store_schema=False)


def test_a_text_that_is_repeated_beyond_the_limit_is_refused_before_it_is_unpacked(
    path: Path,
) -> None:
    swollen(path, rows=100_000, length=100_000)
    assert path.stat().st_size < 2**20
    pa.default_memory_pool().release_unused()
    before = pa.total_allocated_bytes()
    with pytest.raises(TableError, match="unpacks to more"):
        cells(path, plain_bytes=2**28)
    assert pa.total_allocated_bytes() - before < 2**28


def test_bytes_that_are_no_text_anywhere_in_the_schema_are_refused(path: Path) -> None:
    """The name of a column stands in the schema, and in the path of its chunk."""
    table = pa.table({"column-of-texts": ["a", "b"], "column-of-numbers": [1, 2]})
    pq.write_table(table, path)
    written = path.read_bytes()
    places = [at for at in range(len(written)) if written.startswith(b"column-of", at)]
    refused = 0
    for at in places:
        path.write_bytes(written[:at] + b"\xff" + written[at + 1 :])
        try:
            cells(path)
        except TableError:
            refused += 1
    # The paths of the chunks are read by nobody.
    assert len(places) == 4 and refused == 2


def test_a_damaged_footer_is_read_or_refused_and_nothing_else(path: Path) -> None:
    table = pa.table({"texts": ["a", "b", None], "numbers": [1, 2, 3]})
    pq.write_table(table, path)
    written = path.read_bytes()
    footer = len(written) - 8 - int.from_bytes(written[-8:-4], "little")
    for at in range(footer, len(written) - 8):
        for bits in (0x80, 0xFF, 0x01):
            path.write_bytes(written[:at] + bytes([written[at] ^ bits]) + written[at + 1 :])
            with contextlib.suppress(TableError):
                cells(path)
