"""Writes an encoded table as parts, and truncates it by unit, without holding more than a part of it in
memory.

Identifiers are spread over buckets by a hash of them, so that all records of a unit are in one bucket; what
is retained of a unit is decided there, from its records alone, as it is for a table in memory. One bit a
record says what is retained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow.parquet.encryption import (
    create_decryption_properties,
    create_encryption_properties,
)

from synth_engine.domain import Domain
from synth_engine.room.records_source import RecordSource
from synth_engine.sources import parts
from synth_engine.sources.parts import Codes, EncodedParts, PartFolder

BUCKETS = 64
IDS_AT_ONCE = 1 << 20
"""Identifiers that are in memory before they are spread over buckets."""

Retain = Callable[[pa.ChunkedArray], NDArray[np.intp]]
"""Which records are retained, by their place. The argument: the identifiers of all records of some units."""
OpenParts = Callable[[EncodedParts], RecordSource]
"""What counts parts that are written."""


class PartWriter:
    """Takes blocks of codes and makes parts of them. folder: where; secret: of the parts; opened: what counts
    them."""

    def __init__(
        self, domain: Domain, *, folder: PartFolder, secret: bytes, opened: OpenParts
    ) -> None:
        self._opened = opened
        self._sizes = {name: domain.sizes[name] for name in domain.names}
        self._rows = parts.rows_of_part(list(self._sizes.values()))
        self._folder, self._secret = folder, secret
        self._written = EncodedParts(folder.path, secret)
        self._pending: dict[str, list[Codes]] = {name: [] for name in self._sizes}
        self._waiting = 0
        self._identifiers = _Identifiers(
            folder.path, secret=parts.derived_key(secret, b"identifiers")
        )

    def add(self, codes: Mapping[str, Codes], ids: pa.ChunkedArray | None) -> None:
        """Add records. codes: shape (records,) each. ids: to whom they belong, if the unit has a column."""
        for name, column in codes.items():
            self._pending[name].append(parts.narrow(column, self._sizes[name]))
        self._waiting += len(next(iter(codes.values())))
        while self._waiting >= self._rows:
            self._write(self._rows)
        if ids is not None:
            self._identifiers.add(ids)

    def finish(self, retain: Retain | None) -> RecordSource:
        """All records, or those that are retained."""
        if self._waiting:
            self._write(self._waiting)
        if retain is None:
            return self._opened(self._written)
        retained = self._identifiers.retained(retain, records=sum(self._written.rows))
        return self._opened(self._filtered(retained))

    def _write(self, rows: int) -> None:
        codes = {}
        for name, pieces in self._pending.items():
            joined = np.concatenate(pieces)
            codes[name], self._pending[name] = joined[:rows], [joined[rows:]]
        self._written.write(codes)
        self._waiting -= rows

    def _filtered(self, retained: NDArray[np.uint8]) -> EncodedParts:
        """The parts once more, with the records whose bits are set."""
        folder = self._folder.path / "retained"
        folder.mkdir(mode=0o700)
        # Files of other content have other keys.
        remaining = EncodedParts(folder, parts.derived_key(self._secret, b"retained"))
        start = 0
        for part, rows in enumerate(self._written.rows):
            mask = _bits(retained, start, start + rows)
            codes = self._written.read(part, list(self._sizes))
            remaining.write({name: column[mask] for name, column in codes.items()})
            self._written.path(part).unlink()
            start += rows
        return remaining


class _Identifiers:
    """The identifiers of records, in encrypted files of one row group for each bucket."""

    def __init__(self, folder: Path, *, secret: bytes) -> None:
        self._folder, self._secret = folder, secret
        self._pending: list[pa.Array] = []
        self._first = self._waiting = 0
        self._groups: list[dict[int, int]] = []

    def add(self, ids: pa.ChunkedArray) -> None:
        self._pending += ids.chunks
        self._waiting += len(ids)
        if self._waiting >= IDS_AT_ONCE:
            self._spread()

    def retained(self, retain: Retain, *, records: int) -> NDArray[np.uint8]:
        """One bit a record: whether it is retained."""
        if self._waiting:
            self._spread()
        bits = np.zeros(records // 8 + 1, dtype=np.uint8)
        for bucket in range(BUCKETS):
            held = list(self._of(bucket))
            if not held:
                continue
            table = pa.concat_tables(held)
            chosen = retain(table.column("id"))
            rows = table.column("record").to_numpy()[chosen]
            np.bitwise_or.at(bits, rows >> 3, (1 << (rows & 7)).astype(np.uint8))
        for number in range(len(self._groups)):
            self._path(number).unlink()
        return bits

    def _spread(self) -> None:
        ids = pa.chunked_array(self._pending, type=pa.string()).cast(pa.large_string())
        coded = ids.combine_chunks().dictionary_encode()
        # Any function of an identifier would do: a bucket decides where a unit is looked at, and nothing
        # else.
        hashes = pd.util.hash_array(coded.dictionary.to_numpy(zero_copy_only=False))
        buckets = (hashes % np.uint64(BUCKETS)).astype(np.int64)[coded.indices.to_numpy()]
        order = np.argsort(buckets, kind="stable")
        ends = np.searchsorted(buckets[order], np.arange(BUCKETS + 1))
        records = np.arange(self._first, self._first + len(coded), dtype=np.int64)
        table = pa.table({"id": coded.dictionary_decode(), "record": records}).take(order)
        self._write(table, ends)
        self._first += len(coded)
        self._pending, self._waiting = [], 0

    def _write(self, table: pa.Table, ends: NDArray[np.intp]) -> None:
        number, groups = len(self._groups), dict[int, int]()
        with pq.ParquetWriter(
            self._path(number),
            table.schema,
            compression="none",
            encryption_properties=create_encryption_properties(self._key(number)),
        ) as writer:
            for bucket in range(BUCKETS):
                first, end = int(ends[bucket]), int(ends[bucket + 1])
                if first < end:
                    groups[bucket] = len(groups)
                    writer.write_table(
                        table.slice(first, end - first), row_group_size=end - first
                    )
        self._groups.append(groups)

    def _of(self, bucket: int) -> Iterator[pa.Table]:
        for number, groups in enumerate(self._groups):
            if bucket not in groups:
                continue
            properties = create_decryption_properties(self._key(number))
            with pq.ParquetFile(self._path(number), decryption_properties=properties) as file:
                yield file.read_row_group(groups[bucket], use_threads=False)

    def _path(self, number: int) -> Path:
        return self._folder / f"ids-{number:06d}.parquet"

    def _key(self, number: int) -> bytes:
        return parts.derived_key(self._secret, number.to_bytes(8, "big"))


def _bits(bits: NDArray[np.uint8], start: int, stop: int) -> NDArray[np.bool_]:
    """The bits from `start` to `stop`, lowest first in each byte."""
    whole = np.unpackbits(bits[start // 8 : stop // 8 + 1], bitorder="little")
    return whole[start % 8 : start % 8 + stop - start].astype(np.bool_)
