"""Provide what every reader needs: a file's bytes, the limits on them, and what is learned about the file's
form."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import pyarrow as pa

from synth_engine.errors import TableError
from synth_engine.formats import Dialect

Block = dict[str, pa.Array]
Progress = Callable[[str, float], None]
BLOCK_CELLS = 1_500_000
Mode = Literal["checked", "total"]
"""How a table is read. "checked", for uploads and drafts: whatever is doubtful is refused, with line, rule
and repair. "total", for runs that are paid for: no well-formed record is refused for what it holds, because
whether a run succeeds is not protected; what each doubtful cell is read as is a function of that cell
(docs/uploads.md, "What a run does not refuse").
"""
LONGEST_CELL = 2**24
"""Characters of a cell beyond which even a total reading refuses a file."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits beyond which a file is refused."""

    plain_bytes: int = 4 * 2**30
    gzip_ratio: int = 250  # beyond the first 64 MB; very repetitive tables reach about 100
    rows: int = 100_000_000
    columns: int = 2_000
    cell_characters: int = 131_072
    line_characters: int = 1_048_576
    block_rows: int = 65_536

    def rows_at_once(self, columns: int) -> int:
        """Rows of a block: fewer of a wide table."""
        return max(1, min(self.block_rows, BLOCK_CELLS // max(1, columns)))


def silent(_stage: str, _fraction: float) -> None:
    """Ignore progress."""


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a table is read, whatever its kind. wanted: columns that are read, None for all; progress: is told
    the stage and the fraction of the file that was read; mode: see `Mode`."""

    limits: Limits = Limits()
    wanted: Sequence[str] | None = None
    progress: Progress = silent
    mode: Mode = "checked"


CHECKED = ReadOptions()


@dataclass(kw_only=True)
class Shape:
    """The form of a file as it was read. It is filled while blocks are read. `facts` are what a file with a
    codebook inside says about its columns."""

    columns: tuple[str, ...] = ()
    dialect: Dialect | None = None  # of a CSV, complete with its delimiter
    lines: int = 0
    rows: int = 0
    notes: list[str] = field(default_factory=list)
    facts: dict[str, dict[str, object]] = field(default_factory=dict)


class Meter(io.RawIOBase):
    """Bytes of a file, unpacked if need be, counted against the limits."""

    def __init__(self, path: Path, *, packed: bool, limits: Limits) -> None:
        try:
            self._file: BinaryIO = path.open("rb")
            self._size = max(1, path.stat().st_size)
        except OSError:
            raise TableError(
                "the file cannot be opened", repair="check its path and rights"
            ) from None
        self._limits, self._count, self._packed = limits, 0, packed
        self._stream = (
            cast(BinaryIO, gzip.GzipFile(fileobj=self._file)) if packed else self._file
        )

    @property
    def fraction(self) -> float:
        """Return the share of the file that has been read, 0 to 1."""
        return min(1.0, self._file.tell() / self._size)

    def readable(self) -> bool:
        return True

    def take(self, size: int) -> bytes:
        """The next so many bytes; fewer only at the end."""
        try:
            data = self._stream.read(size)
        # `gzip.BadGzipFile` is an OSError, a file that ends too early an EOFError.
        except (OSError, EOFError, zlib.error):
            raise TableError(
                "the compressed file is damaged or cut short", repair="compress it again"
            ) from None
        self._count += len(data)
        # The ratio is taken of the bytes read so far, and not of sizes that the file itself
        # states: a file made to exhaust memory would state whatever passes.
        unpacks_too_far = (
            self._packed and self._count > 2**26 + self._limits.gzip_ratio * self._file.tell()
        )
        if unpacks_too_far or self._count > self._limits.plain_bytes:
            raise TableError(
                "the file unpacks to more than is allowed", repair="upload a smaller table"
            )
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.take(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()
