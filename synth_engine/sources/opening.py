"""Opens tables: parsing, encoding and truncation by unit, once, before anything is counted."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from synth_engine import codec, readers
from synth_engine.codec import Codes
from synth_engine.domain import Domain, Scale, Weak, WeakBasket
from synth_engine.errors import TableError
from synth_engine.formats import Dialect, Kind
from synth_engine.indexing.items import Bags
from synth_engine.kinds.reading import code_dtype
from synth_engine.privacy.unit import PrivacyUnit, Spelling
from synth_engine.readers import Block, Progress, Shape
from synth_engine.room.rows import Placed, Rows
from synth_engine.sources import counting as counted_in
from synth_engine.sources.counting import Counting
from synth_engine.sources.part_writer import PartWriter, Retain


def open_table(
    path: Path | str,
    domain: Domain,
    *,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = readers.silent,
    random_bytes: Callable[[int], bytes] = os.urandom,
) -> Rows:
    """Parses, encodes and truncates a table into memory. `random_bytes` is replaced by tests only.

    Well-formed records never make it fail, whatever they hold and however many they are, none included: what
    a record is counted as is a function of that record, of the other records of its unit and of secret
    randomness (docs/proofs/reading.md). Raises TableError for a file that is not a well-formed table with the
    columns of the domain.
    """
    (rows,) = open_tables(
        path,
        [domain],
        kind=kind,
        dialect=dialect,
        progress=progress,
        random_bytes=random_bytes,
    )
    return rows


def open_counted(
    path: Path | str,
    domain: Domain,
    *,
    counting: Counting,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = readers.silent,
    random_bytes: Callable[[int], bytes] = os.urandom,
) -> Rows:
    """Parses, encodes and truncates a table to where its records are counted. A table of which something is
    open that is learned, or whose places or persons are looked at as a whole, is in memory wherever that is.
    random_bytes: from an `expanded` secret, where a run may have to open the table again. Errors: as
    `open_table`."""
    opened = _Opened(domain, dialect, counting if counted_in.are_countable(domain) else None)
    _read(path, [opened], kind=kind, dialect=dialect, progress=progress)
    return opened.rows(random_bytes=random_bytes)


def open_tables(
    path: Path | str,
    domains: Sequence[Domain],
    *,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = readers.silent,
    random_bytes: Callable[[int], bytes] = os.urandom,
) -> list[Rows]:
    """Opens one table under several descriptions, as `open_table` does under each, and parses the file once.
    Each draws its own truncation, so that sessions on several of the results protect a unit less than one:
    only comparisons, which are not private, open more than one."""
    opened = [_Opened(domain, dialect) for domain in domains]
    _read(path, opened, kind=kind, dialect=dialect, progress=progress)
    return [table.rows(random_bytes=random_bytes) for table in opened]


def _read(
    path: Path | str,
    opened: Sequence[_Opened],
    *,
    kind: Kind | None,
    dialect: Dialect | None,
    progress: Progress,
) -> None:
    """Hands all blocks of a file to each of these."""
    wanted = dict.fromkeys(name for table in opened for name in columns_needed(table.domain))
    for block in _blocks(path, list(wanted), kind=kind, dialect=dialect, progress=progress):
        for table in opened:
            table.add(block)


def _blocks(
    path: Path | str,
    wanted: list[str],
    *,
    kind: Kind | None,
    dialect: Dialect | None,
    progress: Progress,
) -> Iterator[Block]:
    """All blocks of a file, each of which has the columns that are wanted. Errors: TableError."""
    require_form(path, kind=kind, dialect=dialect)
    shape = Shape()
    for block in readers.blocks(
        path,
        kind=kind,
        dialect=dialect,
        shape=shape,
        options=readers.ReadOptions(wanted=wanted, progress=progress, mode="total"),
    ):
        require_names(wanted, names=block)
        yield block
    require_names(wanted, names=shape.columns)  # a table without records has no block


def open_with_keys(
    path: Path | str,
    domain: Domain,
    *,
    keys: Sequence[str],
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = readers.silent,
) -> tuple[Rows, dict[str, pa.Array]]:
    """Opens a table whose domain has no column of units, without truncation, and the texts of its columns of
    keys, without the blanks around them; for the module that truncates by these keys. Errors: as
    `open_table`."""
    wanted, opened = [*columns_needed(domain), *keys], _Opened(domain, dialect)
    texts: dict[str, list[pa.Array]] = {name: [] for name in keys}
    for block in _blocks(path, wanted, kind=kind, dialect=dialect, progress=progress):
        opened.add(block)
        for name in keys:
            texts[name].append(codec.normal(block[name], Spelling.EXACT))
    joined = {
        name: pa.chunked_array(pieces, type=pa.string())
        .cast(pa.large_string())
        .combine_chunks()
        for name, pieces in texts.items()
    }
    return opened.rows(random_bytes=os.urandom), joined


class _Opened:
    """The result of encoding blocks of text: codes of records, and to which unit each belongs. counting:
    where they may be but in memory; None for there alone."""

    def __init__(
        self, domain: Domain, dialect: Dialect | None, counting: Counting | None = None
    ) -> None:
        self._domain, self._dialect = domain, dialect
        self._counting, self._held = counting, 0
        self._parts: PartWriter | None = None
        self._codes: dict[str, list[Codes]] = {name: [] for name in domain.names}
        self._rankings = {
            a.name: codec.Ranking(a) for a in domain.undeclared if isinstance(a, Weak)
        }
        self._value_indices: dict[str, list[NDArray[np.int32]]] = {
            name: [] for name in self._rankings
        }
        self._bags: dict[str, list[Bags]] = {
            a.name: [] for a in domain.undeclared if isinstance(a, WeakBasket)
        }
        self._scales = [a for a in domain.undeclared if isinstance(a, Scale)]
        self._placed: dict[str, list[Placed]] = {a.name: [] for a in self._scales}
        self._ids: list[pa.Array] = []

    @property
    def domain(self) -> Domain:
        return self._domain

    def add(self, block: Block) -> None:
        """A block of rows, each as often as it says."""
        domain = self._domain
        marks = None if self._dialect is None else self._dialect.marks
        times = codec.repetitions(domain, block, marks=marks)
        # Rows are read once, and what they became is repeated: texts repeated could be more than memory
        # holds.
        row_indices = None if times is None else np.repeat(np.arange(len(times)), times)

        plain = _plain(domain, block, self._dialect)
        for name, codes in codec.encode(domain, plain, leave_out=self._placed).items():
            self._codes[name].append(codes if row_indices is None else codes[row_indices])
        for scale in self._scales:
            positions, missing = codec.positions(scale, plain[scale.name])
            if row_indices is not None:
                positions, missing = positions[row_indices], missing[row_indices]
            self._placed[scale.name].append((positions, missing))
            # Until its values are learned, a record has a value or none.
            self._codes[scale.name].append(missing.astype(code_dtype(scale.size)))
        for name, ranking in self._rankings.items():
            ranks = ranking.places(block[name])
            self._value_indices[name].append(
                ranks if row_indices is None else ranks[row_indices]
            )
        for attribute in domain.baskets:
            if isinstance(attribute, WeakBasket):
                held = codec.bags(attribute, block[attribute.name])
                self._bags[attribute.name].append(
                    held if row_indices is None else held.take(pa.array(row_indices))
                )
        if domain.unit.column is not None:
            ids = codec.normal(block[domain.unit.column], domain.unit.spelling)
            self._ids.append(
                ids
                if row_indices is None
                else ids.dictionary_encode().take(pa.array(row_indices)).cast(pa.string())
            )
        if self._counting is not None:
            self._held += sum(pieces[-1].nbytes for pieces in self._codes.values())
            if self._parts or self._counting.in_parts(self._held):
                self._move(self._counting)

    def _move(self, counting: Counting) -> None:
        """Moves what is in memory to parts, to which all that comes later goes, too."""
        if self._parts is None:
            self._parts = counting.writer(self._domain)
        codes = {
            name: _joined(pieces, code_dtype(self._domain.sizes[name]))
            for name, pieces in self._codes.items()
        }
        ids = pa.chunked_array(self._ids, type=pa.string()) if self._ids else None
        self._parts.add(codes, ids)
        self._codes = {name: [] for name in self._codes}
        self._ids = []

    def rows(self, *, random_bytes: Callable[[int], bytes]) -> Rows:
        """Joins all blocks and truncates: of each unit at most so many records, chosen by
        chance."""
        domain = self._domain
        if self._parts is not None:
            source = self._parts.finish(self._retain(random_bytes))
            return Rows(source, domain=domain)
        # One column at a time is there twice.
        columns = {
            name: _joined(self._codes.pop(name), code_dtype(domain.sizes[name]))
            for name in list(self._codes)
        }
        ranked = {
            name: (_joined(self._value_indices.pop(name), np.int32), ranking.ranks)
            for name, ranking in self._rankings.items()
        }
        baskets = {
            name: pa.concat_arrays(pieces)
            if pieces
            else pa.array([], type=pa.large_list(pa.int32()))
            for name, pieces in self._bags.items()
        }
        placed = {
            name: (
                _joined([positions for positions, _ in pieces], np.uint64),
                _joined([missing for _, missing in pieces], np.bool_),
            )
            for name, pieces in self._placed.items()
        }
        if domain.unit.column is None:
            return Rows(
                columns, domain=domain, ranked=ranked, baskets=baskets, positions=placed
            )
        belongs = _units(self._ids)
        # Every sensitivity assumes at most `max_records` records a unit: from here on that
        # holds.
        retained = _truncate(belongs, most=domain.unit.max_records, random_bytes=random_bytes)
        columns = {name: codes[retained] for name, codes in columns.items()}
        ranked = {
            name: (value_indices[retained], ranks)
            for name, (value_indices, ranks) in ranked.items()
        }
        baskets = {
            name: value_indices.take(pa.array(retained))
            for name, value_indices in baskets.items()
        }
        placed = {
            name: (positions[retained], missing[retained])
            for name, (positions, missing) in placed.items()
        }
        return Rows(
            columns,
            domain=domain,
            ranked=ranked,
            units=belongs[retained],
            baskets=baskets,
            positions=placed,
        )

    def _retain(self, random_bytes: Callable[[int], bytes]) -> Retain | None:
        """Which records of some units are retained; None where all are."""
        unit = self._domain.unit
        if unit.column is None:
            return None
        return lambda ids: _truncate(
            _units(ids.chunks), most=unit.max_records, random_bytes=random_bytes
        )


def _joined(pieces: list[NDArray[Any]], kind: DTypeLike) -> NDArray[Any]:
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=kind)


def _plain(domain: Domain, block: Block, dialect: Dialect | None) -> Block:
    """Numbers written with the marks that are usual here, where the file has others. Markers of missing
    values stay."""
    marks = None if dialect is None else dialect.marks
    return dict(block) | {
        attribute.name: attribute.plain(block[attribute.name], marks)
        for attribute in domain.attributes
        if attribute.name in block
    }


def require_columns(
    path: Path | str,
    domain: Domain,
    *,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
) -> None:
    """Raises TableError for a table without a column that the domain needs. Reads the header, which is form,
    and no row: this may come before a charge."""
    require_form(path, kind=kind, dialect=dialect)
    require_names(
        columns_needed(domain),
        names=readers.columns(path, kind=kind, dialect=dialect, mode="total"),
    )


def require_form(path: Path | str, *, kind: Kind | None, dialect: Dialect | None) -> None:
    """Refuses a table without a header whose delimiter is not declared: its first line is a
    record, and how all others are read must not be guessed from it."""
    if dialect is None or dialect.header or dialect.delimiter:
        return
    if readers.is_delimited(path, kind=kind):
        raise TableError(
            "a table without a header, of which nobody said what stands between cells",
            repair="say the delimiter",
        )


def columns_needed(domain: Domain) -> list[str]:
    others = [domain.unit.column, None if domain.repeats is None else domain.repeats.column]
    return [
        *domain.columns,
        *(name for name in others if name is not None and name not in domain.columns),
    ]


def require_names(wanted: list[str], *, names: Collection[str]) -> None:
    for name in wanted:
        if name not in names:
            raise TableError(
                "the table has no such column", repair="check header and domain", column=name
            )


def retained_of_units(
    ids: pa.Array, *, unit: PrivacyUnit, random_bytes: Callable[[int], bytes] = os.urandom
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """The units of the records that are retained, and their indices: of each unit as many as it may have.
    ids: the identifier of each record, without the blanks around it, from `open_with_keys`."""
    belongs = units_of(ids, unit=unit)
    retained = _truncate(belongs, most=unit.max_records, random_bytes=random_bytes)
    return belongs[retained], retained


def units_of(ids: pa.Array, *, unit: PrivacyUnit) -> NDArray[np.int32]:
    """A number for each record, the same for those of one unit; none is left out. ids: as
    `retained_of_units`."""
    return _units([codec.normal(ids, unit.spelling)])


def _units(ids: list[pa.Array]) -> NDArray[np.int32]:
    """A number for each record, the same for those of one unit. Records without an identifier are one
    unit."""
    # Together the identifiers may be longer than the offsets of a usual column reach.
    texts = pa.large_string()
    column = pa.chunked_array([piece.cast(texts) for piece in ids], type=texts)
    encoded = column.combine_chunks().dictionary_encode()
    numbers: NDArray[np.int32] = encoded.indices.to_numpy(zero_copy_only=False)
    return numbers


def expanded(secret: bytes) -> Callable[[int], bytes]:
    """Random bytes that follow from a secret of at least 32 random bytes, other ones at each call: a run that
    was interrupted retains the same records when it opens its table again."""
    numbers = itertools.count()

    def random_bytes(size: int) -> bytes:
        number = next(numbers).to_bytes(8, "big")
        return hashlib.shake_256(b"synth_engine/truncation/1" + number + secret).digest(size)

    return random_bytes


def _truncate(
    units: NDArray[np.int32], *, most: int, random_bytes: Callable[[int], bytes]
) -> NDArray[np.intp]:
    """Selects at most so many records of each unit, every one with the same chance."""
    # Records in a random order within each unit: which ones are retained must not depend on what they hold.
    keys = np.frombuffer(random_bytes(8 * len(units)), dtype=np.uint64)
    order = np.lexsort((keys, units))
    ordered = units[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    ranks = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return np.sort(order[ranks < most])
