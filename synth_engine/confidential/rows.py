"""Rows: encoded records that can be counted and nothing else.

Parsing, encoding and truncation by unit happen once, in `open_table`, before anything is counted."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from synth_engine import codec, readers
from synth_engine.codec import Bags, Codes
from synth_engine.codec.contingency import CountPlan, Table
from synth_engine.confidential import sources
from synth_engine.confidential.part_writer import PartWriter, Retain
from synth_engine.confidential.sources import Counting, MemorySource, RecordSource
from synth_engine.domain import Domain, NotFound, Range, Scale, Weak, WeakBasket
from synth_engine.errors import PrivacyError, TableError
from synth_engine.formats import Dialect, Kind
from synth_engine.hierarchy import NodeSet
from synth_engine.kinds.reading import code_dtype
from synth_engine.privacy.unit import PrivacyUnit, Spelling
from synth_engine.readers import Block, Progress, Shape

Ranked = tuple[NDArray[np.int32], list[int]]
"""The values of a weak attribute: for each record an index into a list, and the list: different
numbers within the public set."""
Placed = tuple[NDArray[np.uint64], NDArray[np.bool_]]
"""The values of a column on a lattice: for each record a position, and whether it has none."""


class Rows:
    """Columns of codes, one entry a record. Only `counts` reads them; printing, copying, storing, walking
    through, or comparing them is refused, so that no log line, traceback or task argument can hold a record
    by mistake."""

    __slots__ = (
        "__baskets",
        "__domain",
        "__positions",
        "__ranked",
        "__source",
        "__units",
    )

    def __init__(
        self,
        codes: Mapping[str, Codes] | RecordSource,
        *,
        domain: Domain,
        ranked: Mapping[str, Ranked] = MappingProxyType({}),
        units: NDArray[np.integer[Any]] | None = None,
        baskets: Mapping[str, Bags] = MappingProxyType({}),
        positions: Mapping[str, Placed] = MappingProxyType({}),
    ) -> None:
        """codes: columns in memory, or where else they are."""
        lengths, names = (
            ({len(column) for column in codes.values()}, set(codes))
            if isinstance(codes, Mapping)
            else ({codes.records}, set(codes.names))
        )
        lengths |= {len(column) for column in baskets.values()}
        lengths |= {len(part) for placed in positions.values() for part in placed}
        lengths |= {len(value_indices) for value_indices, _ in ranked.values()} | (
            {len(units)} if units is not None else set()
        )
        weak = {
            attribute.name for attribute in domain.undeclared if isinstance(attribute, Weak)
        }
        held = {
            attribute.name
            for attribute in domain.undeclared
            if isinstance(attribute, WeakBasket)
        }
        scales = {
            attribute.name for attribute in domain.undeclared if isinstance(attribute, Scale)
        }
        given = (names, set(ranked), set(baskets), set(positions))
        if len(lengths) != 1 or given != (set(domain.names), weak, held, scales):
            raise PrivacyError("rows do not fit their domain")
        self.__source: RecordSource = (
            MemorySource(codes, records=lengths.pop()) if isinstance(codes, Mapping) else codes
        )
        self.__domain, self.__units = domain, units
        self.__ranked, self.__baskets = dict(ranked), dict(baskets)
        self.__positions = dict(positions)

    def codes(self, name: str) -> Codes:
        """The codes of one attribute, for `counts` alone."""
        return self.__source.codes(name)

    def count(self, names: Sequence[str], plan: CountPlan) -> list[Table]:
        """Counts of the records in each table of a plan, whose axes are these columns, for `counts` alone."""
        return self.__source.count(names, plan)

    def units(self) -> NDArray[np.integer[Any]]:
        """Returns to which unit each record belongs, as numbers without further meaning, for
        `counts` alone."""
        if self.__units is None:
            raise PrivacyError("the privacy unit of these rows has no column")
        return self.__units

    def ranked(self, name: str) -> Ranked:
        """The numbers of the values of a weak attribute, for `counts` alone."""
        return self.__ranked[name]

    def basket(self, name: str) -> Bags:
        """The numbers of the items in the cells of a weak basket, for `counts` alone."""
        return self.__baskets[name]

    def positions(self, name: str) -> Placed:
        """The positions of a column on a lattice, for `counts` alone."""
        return self.__positions[name]

    def resolve(self, domain: Domain) -> Rows:
        """The same records under what was learned. Raises DomainError where that does not fit what was
        declared."""
        learned = {
            attribute.name: domain.attribute(attribute.name)
            for attribute in self.__domain.undeclared
        }
        # Resolving is not charged, so it must not change how any other column is counted.
        if self.__domain.resolve(learned) != domain:
            raise PrivacyError("more than what was open has changed")
        codes = self._all_codes()
        for attribute in self.__domain.undeclared:
            name = attribute.name
            resolved = learned[name]
            if isinstance(resolved, NotFound):
                codes[name] = np.zeros(self.total, dtype=code_dtype(1))
            elif isinstance(attribute, Weak):
                value_indices, ranks = self.__ranked[name]
                codes[name] = codec.resolved_codes(attribute, resolved, ranks)[value_indices]
            elif isinstance(attribute, Range):
                codes[name] = codec.resolved_cells(attribute, resolved)[codes[name]]
            elif isinstance(attribute, Scale):
                codes[name] = codec.resolved_positions(
                    attribute, resolved, self.__positions[name]
                )
            elif isinstance(attribute, WeakBasket):
                codes |= codec.resolved_items(attribute, resolved, self.__baskets[name])
        # A column that was not found has no codes, and neither has that of its markers.
        counted = {name: codes[name] for name in domain.names}
        return Rows(counted, domain=domain, units=self.__units)

    def join_places(self, cells: Mapping[str, NodeSet]) -> Rows:
        """The same records, each of these places as one attribute. The code of a record is a function of its
        own coordinates; one that lies in no cell has the last code."""
        domain = self.__domain
        joined = domain.join_places({name: len(cells[name]) for name in cells})
        held = self._all_codes()
        codes = {name: column for name, column in held.items() if name in joined.sizes}
        for place in domain.places:
            if place.name not in cells:
                continue
            degrees = {name: held[name] for name in place.columns}
            codes[place.name] = codec.cells_of_places(domain, cells[place.name], degrees)
        return Rows(
            codes,
            domain=joined,
            ranked=self.__ranked,
            units=self.__units,
            baskets=self.__baskets,
            positions=self.__positions,
        )

    @property
    def domain(self) -> Domain:
        return self.__domain

    @property
    def total(self) -> int:
        """Number of records, as confidential as any other count."""
        return self.__source.records

    def _all_codes(self) -> dict[str, Codes]:
        return {name: self.__source.codes(name) for name in self.__domain.names}

    def __repr__(self) -> str:
        return "<rows: confidential>"

    def _refuse(self, *_: object) -> NoReturn:
        raise PrivacyError("rows cannot be copied, stored, walked through or compared")

    def __reduce_ex__(self, _: object) -> NoReturn:
        self._refuse()

    def __eq__(self, _: object) -> NoReturn:
        self._refuse()

    __reduce__ = __getstate__ = __copy__ = __deepcopy__ = __iter__ = __len__ = __bool__ = (
        __contains__
    ) = _refuse
    __hash__ = None  # type: ignore[assignment]


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
    opened = _Opened(domain, dialect, counting if sources.are_countable(domain) else None)
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
    _require_form(path, kind=kind, dialect=dialect)
    wanted = list(dict.fromkeys(name for table in opened for name in _wanted(table.domain)))
    shape = Shape()
    blocks = readers.blocks(
        path,
        kind=kind,
        dialect=dialect,
        shape=shape,
        options=readers.ReadOptions(wanted=wanted, progress=progress, mode="total"),
    )
    for block in blocks:
        _require(wanted, names=block)
        for table in opened:
            table.add(block)
    _require(wanted, names=shape.columns)  # a table without records has no block


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
    _require_form(path, kind=kind, dialect=dialect)
    wanted = [*_wanted(domain), *keys]
    shape, opened = Shape(), _Opened(domain, dialect)
    texts: dict[str, list[pa.Array]] = {name: [] for name in keys}
    blocks = readers.blocks(
        path,
        kind=kind,
        dialect=dialect,
        shape=shape,
        options=readers.ReadOptions(wanted=wanted, progress=progress, mode="total"),
    )
    for block in blocks:
        _require(wanted, names=block)
        opened.add(block)
        for name in keys:
            texts[name].append(codec.normal(block[name], Spelling.EXACT))
    _require(wanted, names=shape.columns)
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


def count_raw_columns(
    path: Path | str,
    domain: Domain,
    *,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = readers.silent,
) -> codec.RawTable:
    """Counts the uncoded cells of each column, how they fit its description, and how two columns go together,
    over all rows of the table.

    Exact counts of real cells: not private, for the data steward's report alone. Raises
    TableError as `open_table` does."""
    _require_form(path, kind=kind, dialect=dialect)
    wanted = _wanted(domain)
    marks = None if dialect is None else dialect.marks
    header = readers.columns(path, kind=kind, dialect=dialect, mode="total")
    counters = {
        attribute.name: codec.RawCounter(attribute, marks=marks)
        for attribute in domain.attributes
        # Identifiers are not among the columns that a description needs.
        if codec.is_counted(attribute) and attribute.name in header
    }
    pairs = codec.RawPairCounter(domain, marks=marks)
    for block in readers.blocks(
        path,
        kind=kind,
        dialect=dialect,
        options=readers.ReadOptions(
            wanted=list(dict.fromkeys([*wanted, *counters])), progress=progress, mode="total"
        ),
    ):
        _require(wanted, names=block)
        times = codec.repetitions(domain, block, marks=marks)
        for name, counter in counters.items():
            counter.add(block[name], times=times)
        pairs.add(block, times=times)
    return codec.RawTable(
        {name: counter.finish() for name, counter in counters.items()}, pairs.finish()
    )


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
    _require_form(path, kind=kind, dialect=dialect)
    _require(
        _wanted(domain), names=readers.columns(path, kind=kind, dialect=dialect, mode="total")
    )


def _require_form(path: Path | str, *, kind: Kind | None, dialect: Dialect | None) -> None:
    """Refuses a table without a header whose delimiter is not declared: its first line is a
    record, and how all others are read must not be guessed from it."""
    if dialect is None or dialect.header or dialect.delimiter:
        return
    if readers.is_delimited(path, kind=kind):
        raise TableError(
            "a table without a header, of which nobody said what stands between cells",
            repair="say the delimiter",
        )


def _wanted(domain: Domain) -> list[str]:
    others = [domain.unit.column, None if domain.repeats is None else domain.repeats.column]
    return [
        *domain.columns,
        *(name for name in others if name is not None and name not in domain.columns),
    ]


def _require(wanted: list[str], *, names: Collection[str]) -> None:
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
