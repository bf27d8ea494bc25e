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

from synth_engine.errors import TableError

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
    delimiter: str = ""
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


def parquet_columns(path: Path) -> tuple[str, ...]:
    """The names in the schema."""
    try:
        return tuple(pq.read_schema(path).names)
    except (OSError, pa.ArrowException):
        raise TableError("not a Parquet file that can be read", repair="write it again, or use CSV") from None


def parquet_blocks(
    path: Path, *, limits: Limits, shape: Shape, wanted: Sequence[str] | None, progress: Progress
) -> Iterator[Block]:
    """Columns of a Parquet file as text, block by block."""
    try:
        file = pq.ParquetFile(path)
        shape.columns = tuple(file.schema_arrow.names)
        size = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
    except (OSError, pa.ArrowException):
        raise TableError("not a Parquet file that can be read", repair="write it again, or use CSV") from None
    shape.rows = file.metadata.num_rows
    if shape.rows > limits.rows or size > limits.plain_bytes or len(shape.columns) > limits.columns:
        raise TableError("the file holds more than is allowed", repair="use a smaller table")
    for column in file.schema_arrow:
        if not _is_flat(column.type):
            raise TableError("nested or binary values", repair="store plain values", column=column.name)
    names = [name for name in shape.columns if wanted is None or name in wanted]
    done = 0
    try:
        for batch in file.iter_batches(batch_size=limits.block_rows, columns=names):
            done += batch.num_rows
            progress("read", done / max(1, shape.rows))
            yield {name: _as_text(batch.column(name)) for name in names}
    except (OSError, pa.ArrowException):
        raise TableError("the Parquet file is damaged", repair="write it again, or use CSV") from None


def _is_flat(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return not (pa.types.is_nested(kind) or binary)


def _as_text(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return pc.cast(column, pa.string())
