"""Encoded tables as parts: files of codes that are encrypted at rest, and each counted by itself.

A part is a Parquet file of at most `PART_ROWS` records with a key of its own, which is derived from the
secret of the table. A machine that knows the secret can count a part without knowing anything else of the
table, so that a cluster counts with this module, too.
"""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import DTypeLike, NDArray
from pyarrow.parquet.encryption import (
    create_decryption_properties,
    create_encryption_properties,
)

from synth_engine.errors import SynthError
from synth_engine.formats.damage import DAMAGED
from synth_engine.indexing import contingency
from synth_engine.indexing.contingency import CountPlan, Table
from synth_engine.kinds.reading import code_dtype

Codes = NDArray[Any]

PART_ROWS = 1 << 20
SMALLEST_PART = 1 << 16
PART_BYTES = 1 << 26
"""Of the codes of a part, which are in memory while it is written."""
PREFIX = "synth-engine-parts-"
LOCK = "lock"


class PartError(SynthError):
    """A part is missing, was changed, or was counted twice. The message names no code."""


@dataclass(frozen=True)
class EncodedParts:
    """The parts of an encoded table. folder: where they are. secret: from which the keys of the parts are
    derived; it is not printed. rows: the records of each part."""

    folder: Path
    secret: bytes = field(repr=False)
    rows: list[int] = field(default_factory=list, repr=False)

    def path(self, part: int) -> Path:
        return self.folder / f"{part:06d}.parquet"

    def write(self, codes: dict[str, Codes]) -> None:
        """Write one more part. codes: shape (records,) each. Errors: SynthError where the disk does not take
        it."""
        part = len(self.rows)
        write_encrypted(pa.table(codes), self.path(part), key=self._key(part))
        self.rows.append(len(next(iter(codes.values()))))

    def read(self, part: int, names: Sequence[str]) -> dict[str, Codes]:
        """Read some columns of a part. Errors: PartError."""
        table = read_encrypted(self.path(part), names, key=self._key(part))
        if not set(names) <= set(table.column_names):
            raise PartError("a part of the encoded table lacks a column")
        return {name: table.column(name).to_numpy() for name in names}

    def column(self, name: str, kind: DTypeLike) -> Codes:
        """All codes of one column. Errors: PartError."""
        pieces = [self.read(part, [name])[name].astype(kind) for part in range(len(self.rows))]
        return np.concatenate([np.empty(0, dtype=kind), *pieces])

    def _key(self, part: int) -> bytes:
        return derived_key(self.secret, part.to_bytes(8, "big"))


def derived_key(secret: bytes, purpose: bytes) -> bytes:
    """A key of 32 bytes for one purpose (HMAC-SHA-256 as a pseudorandom function)."""
    return hmac.digest(secret, purpose, "sha256")


def write_encrypted(table: pa.Table, path: Path, *, key: bytes) -> None:
    """Write a Parquet file whose columns and footer are encrypted. Errors: SynthError where the disk does not
    take it."""
    properties = create_encryption_properties(key)
    try:
        with pq.ParquetWriter(
            path, table.schema, compression="none", encryption_properties=properties
        ) as writer:
            writer.write_table(table, row_group_size=max(1, table.num_rows))
        path.chmod(0o600)
    except OSError:
        raise SynthError(
            "the encoded table cannot be written; free space in the folder of temporary files, or set "
            "TMPDIR to a larger disk"
        ) from None


def read_encrypted(path: Path, names: Sequence[str], *, key: bytes) -> pa.Table:
    """Read columns of such a file. Errors: PartError for one that is missing or not what was written."""
    try:
        with pq.ParquetFile(
            path, decryption_properties=create_decryption_properties(key), pre_buffer=False
        ) as file:
            return file.read(columns=list(names), use_threads=False)
    except DAMAGED:
        raise PartError("a part of the encoded table is missing or was changed") from None


def count_part(
    parts: EncodedParts, part: int, names: Sequence[str], plan: CountPlan
) -> list[Table]:
    """Count the records of one part in each table of the plan, on one thread. names: the column of each
    axis."""
    columns = parts.read(part, list(dict.fromkeys(names)))
    # An axis of one code reads no column, and a plan without axes counts records alone.
    return contingency.count(
        [columns[name] for name in names], plan, records=parts.rows[part], threads=1
    )


class PartSum:
    """The sum of partial tables, each part once. rows: the records of each part."""

    def __init__(self, plan: CountPlan, rows: Sequence[int]) -> None:
        self._rows, self._counted = rows, set[int]()
        self._tables = [np.zeros(plan.shape(table), dtype=np.int64) for table in plan.tables]

    def add(self, several: Sequence[int], tables: Sequence[Table]) -> None:
        """Add the tables of some parts together. Errors: PartError for one that was added before, or where
        other records were counted."""
        new = set(several)
        if (
            len(new) < len(several)
            or new & self._counted
            or not new <= set(range(len(self._rows)))
        ):
            raise PartError("a part of the encoded table was counted twice")
        records = sum(self._rows[part] for part in several)
        fitting = [table.shape for table in tables] == [table.shape for table in self._tables]
        if not fitting or any(int(table.sum()) != records for table in tables):
            raise PartError("a part of the encoded table was not counted as a whole")
        self._counted |= new
        for total, table in zip(self._tables, tables, strict=True):
            total += table

    def so_far(self) -> list[Table]:
        """The sum of what was added."""
        return self._tables

    def tables(self) -> list[Table]:
        """The sum of all parts. Errors: PartError where a part was not counted."""
        if len(self._counted) < len(self._rows):
            raise PartError("a part of the encoded table was not counted")
        return self._tables


class PartFolder:
    """A folder for parts, removed with this object, or by the next process where this one was killed."""

    def __init__(self, parent: Path | None = None) -> None:
        base = Path(tempfile.gettempdir()) if parent is None else parent
        _sweep(base)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        lock = os.open(self.path / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.remove = weakref.finalize(self, _remove, self.path, lock)


def _remove(path: Path, lock: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    os.close(lock)


def _sweep(base: Path) -> None:
    """Remove folders of processes that ended without doing so: nobody holds their locks any more."""
    for path in base.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), (path / LOCK).open("r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)


class PartColumns:
    """The columns of a table in encrypted parts, whoever counts them. folder: where they are; removed with
    this object."""

    def __init__(
        self, encoded: EncodedParts, *, folder: PartFolder, sizes: Mapping[str, int]
    ) -> None:
        self._parts, self._folder, self._sizes = encoded, folder, dict(sizes)
        self.names = frozenset(sizes)

    @property
    def records(self) -> int:
        return sum(self._parts.rows)

    def codes(self, name: str) -> Codes:
        return self._parts.column(name, code_dtype(self._sizes[name]))


def narrow(codes: Codes, size: int) -> Codes:
    """Codes below `size` in as few bytes as hold them: files and loops are faster then."""
    if size <= 1 << 8:
        return codes.astype(np.uint8)
    return codes.astype(np.uint16 if size <= 1 << 16 else np.uint32)


def rows_of_part(sizes: Sequence[int]) -> int:
    """How many records a part has. sizes: the number of codes of each column."""
    width = sum(1 if size <= 1 << 8 else 2 if size <= 1 << 16 else 4 for size in sizes)
    return int(np.clip(PART_BYTES // max(1, width), SMALLEST_PART, PART_ROWS))


def chunks(parts: int, number: int) -> Iterator[range]:
    """The numbers of so many parts, in runs of `number`."""
    for first in range(0, parts, number):
        yield range(first, min(parts, first + number))
