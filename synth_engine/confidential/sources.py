"""A file as blocks of text columns, whatever its format. Refusals name line, column, rule and repair, never a value."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synth_engine import formats
from synth_engine.errors import TableError
from synth_engine.formats import Dialect

Block = dict[str, pa.Array]
Progress = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a file may cost before it is refused."""

    plain_bytes: int = 4 * 2**30
    gzip_ratio: int = 250  # beyond the first 64 MB; very repetitive tables reach about 100
    rows: int = 100_000_000
    columns: int = 2_000
    cell_characters: int = 131_072
    line_characters: int = 1_048_576
    block_rows: int = 16_384


@dataclass(kw_only=True)
class Shape:
    """What reading a file found out about its form. Filled while blocks are drawn."""

    columns: tuple[str, ...] = ()
    dialect: Dialect | None = None  # of a CSV, complete with its delimiter
    lines: int = 0
    rows: int = 0
    notes: list[str] = field(default_factory=list)


class Meter(io.RawIOBase):
    """Bytes of a file, unpacked if need be, counted against the limits."""

    def __init__(self, path: Path, *, packed: bool, limits: Limits) -> None:
        try:
            self._file: BinaryIO = path.open("rb")
            self._size = max(1, path.stat().st_size)
        except OSError:
            raise TableError("the file cannot be opened", repair="check its path and rights") from None
        self._limits, self._count, self._packed = limits, 0, packed
        self._stream = cast(BinaryIO, gzip.GzipFile(fileobj=self._file)) if packed else self._file

    @property
    def fraction(self) -> float:
        """How much of the file has been read, 0 to 1."""
        return min(1.0, self._file.tell() / self._size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read(len(buffer))
        except (OSError, EOFError, zlib.error):
            raise TableError("the compressed file is damaged or cut short", repair="compress it again") from None
        self._count += len(data)
        unpacks_too_far = self._packed and self._count > 2**26 + self._limits.gzip_ratio * self._file.tell()
        if unpacks_too_far or self._count > self._limits.plain_bytes:
            raise TableError("the file unpacks to more than is allowed", repair="upload a smaller table")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def parquet_columns(path: Path, *, limits: Limits) -> tuple[str, ...]:
    """The names in the schema."""
    return tuple(_opened(path, limits=limits).schema_arrow.names)


def parquet_blocks(
    path: Path, *, limits: Limits, shape: Shape, wanted: Sequence[str] | None, progress: Progress
) -> Iterator[Block]:
    """Columns of a Parquet file as text, block by block."""
    file = _opened(path, limits=limits)
    shape.columns, shape.rows = tuple(file.schema_arrow.names), file.metadata.num_rows
    names = [name for name in shape.columns if wanted is None or name in wanted]
    done = unpacked = 0
    try:
        for batch in file.iter_batches(batch_size=limits.block_rows, columns=names, use_threads=False):
            done += batch.num_rows
            progress("read", done / max(1, shape.rows))
            block = {}
            for name in names:
                column = batch.column(name)
                unpacked += _text_bytes(column, name, limits=limits)
                if unpacked > limits.plain_bytes:
                    raise TableError("the file unpacks to more than is allowed", repair="upload a smaller table")
                block[name] = _as_text(column)
            yield block
    except (OSError, MemoryError, pa.ArrowException):
        raise TableError("the Parquet file is damaged", repair="write it again, or use CSV") from None


def _opened(path: Path, *, limits: Limits) -> pq.ParquetFile:
    """The file, once its schema and the sizes it states are found to be in bounds. Texts are read as codes of a
    dictionary: a cell is measured once before it is repeated in a million rows."""
    try:
        with path.open("rb") as opened:
            formats.check_kind("parquet", opened.read(formats.HEAD))
        schema = pq.read_schema(path)
        texts = [one.name for one in schema if pa.types.is_string(one.type) or pa.types.is_large_string(one.type)]
        file = pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False, buffer_size=2**20)
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    except (OSError, MemoryError, pa.ArrowException):
        raise TableError("not a Parquet file that can be read", repair="write it again, or use CSV") from None
    formats.checked_names(schema.names, most=limits.columns)
    if file.metadata.num_rows > limits.rows or sum(group.total_byte_size for group in groups) > limits.plain_bytes:
        raise TableError("the file holds more than is allowed", repair="use a smaller table")
    for column in schema:
        _check_type(column.type, column.name)
    return file


def _check_type(kind: pa.DataType, name: str) -> None:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_nested(kind):
        raise TableError(
            "nested values (a list, struct or map in one cell)",
            repair="store one plain value a cell, in several columns if need be, or leave the column out",
            column=name,
        )
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        raise TableError("binary values", repair="store them as text or numbers, or leave the column out", column=name)
    try:
        pc.cast(pa.array([], type=kind), pa.string())
    except pa.ArrowException:
        raise TableError("values of a type that has no text", repair="store text or numbers", column=name) from None


def _text_bytes(column: pa.Array, name: str, *, limits: Limits) -> int:
    """How much text a block of a column will be, before it is made; refuses cells that no CSV could hold."""
    if not pa.types.is_dictionary(column.type) or not pa.types.is_string(column.dictionary.type):
        return 32 * len(column)
    texts = column.dictionary
    texts.validate(full=True)  # text in UTF-8, which Parquet promises and does not check
    lengths = pc.binary_length(texts)
    if (pc.max(lengths).as_py() or 0) > limits.cell_characters:
        raise TableError("a cell is too long", repair="leave the column out", column=name)
    if pc.any(pc.match_substring(texts, "\0")).as_py():
        raise TableError("a NUL byte", repair="write the table again without it", column=name)
    return int(pc.sum(pc.take(lengths, column.indices)).as_py() or 0)


def _as_text(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return pc.cast(column, pa.string())
