"""Databases: tables that keys connect, read and truncated once, and the views of them that sessions count.

What a privacy unit is counted as depends on its own rows and on secret randomness of its own
(docs/proofs/relational.md). Views hand out `Rows`, which can be counted and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine import readers
from synth_engine.codec import Codes
from synth_engine.domain import views
from synth_engine.domain.database import Database, DatabaseTable, Siblings
from synth_engine.domain.views import DatabaseView
from synth_engine.errors import TableError
from synth_engine.formats import Dialect
from synth_engine.formats import Kind as FileKind
from synth_engine.kinds.reading import code_dtype
from synth_engine.readers import Progress
from synth_engine.room.rows import Rows
from synth_engine.sources import opening

Indices = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class TableFile:
    """The file of one table, and how it is written; None where its name and its beginning say so."""

    path: Path
    kind: FileKind | None = None
    dialect: Dialect | None = None


Files = Path | str | Mapping[str, TableFile]
"""The folder where the paths of a description start, or the file of each table by its name."""


@dataclass(frozen=True, eq=False, repr=False)
class _Truncated:
    """The retained rows of one table, sorted by their parents and in order among siblings. codes: of its own
    columns. parents: the index of the parent of each row, among the retained rows of the parent's table; all
    0 of the root. keys: the key of each row; empty where no table refers to it."""

    codes: Mapping[str, Codes]
    parents: Indices
    keys: pa.Array

    @property
    def starts(self) -> NDArray[np.bool_]:
        """Whether each row is the first one of its parent."""
        return np.append(True, self.parents[1:] != self.parents[:-1])[: self.parents.size]

    @property
    def positions(self) -> Indices:
        """The place of each row among its siblings, from 0 on."""
        indices = np.arange(self.parents.size)
        starts = np.flatnonzero(self.starts)
        return indices - np.repeat(starts, np.diff(np.append(starts, indices.size)))


def _sibling_pairs(own: _Truncated, siblings: Siblings) -> tuple[Indices, Indices]:
    """The pairs of rows with one parent: the later row of each, and the earlier one."""
    later = np.flatnonzero(~own.starts)
    steps = own.positions[later] if siblings is Siblings.FIRST else np.ones_like(later)
    return later, later - steps


class DatabaseRows:
    """All tables of a database, truncated. It is not printed, copied or stored, as `Rows` is not."""

    __slots__ = ("__database", "__tables")

    def __init__(self, database: Database, tables: Mapping[str, _Truncated]) -> None:
        self.__database, self.__tables = database, dict(tables)

    def view(
        self, view: DatabaseView, *, random_bytes: Callable[[int], bytes] = os.urandom
    ) -> Rows:
        """The records of a view. Each is one row of a table with what is above it, a pair of siblings, or a
        unit: a function of the retained rows of one privacy unit. Where the view is bounded, as many as it
        states are selected by chance of a unit with more records. random_bytes: as of `open_database`."""
        table = self.__database.table(view.table)
        match view.kind:
            case "table":
                columns = self._of_rows(table)
            case "pairs":
                columns = self._of_pairs(table)
            case "units":
                columns = self._of_units()
        sizes = view.domain.sizes
        codes = {
            name: columns[name].astype(code_dtype(sizes[name]), copy=False) for name in sizes
        }
        if view.bounded:
            most = view.domain.unit.max_records
            codes = _bounded(codes, self._units(view), most, random_bytes=random_bytes)
        # The units of a view have a column by name only: all rows of the database are truncated by it
        # already.
        return Rows(codes, domain=view.domain)

    def _of_rows(self, table: DatabaseTable) -> dict[str, NDArray[Any]]:
        own = self.__tables[table.name]
        columns = self._row_columns(table)
        columns[views.POSITION] = own.positions
        rows = own.parents
        for ancestor in self.__database.ancestors(table):
            columns |= {
                views.column_above(ancestor, name): codes[rows]
                for name, codes in self._row_columns(ancestor).items()
            }
            rows = self.__tables[ancestor.name].parents[rows]
        return columns

    def _row_columns(self, table: DatabaseTable) -> dict[str, NDArray[Any]]:
        """The own columns of each row, and its numbers of children."""
        own = self.__tables[table.name]
        numbers = {
            views.count_of(child): np.bincount(
                self.__tables[child.name].parents, minlength=own.parents.size
            )
            for child in self.__database.children(table)
        }
        return {**own.codes, **numbers}

    def _units(self, view: DatabaseView) -> Indices:
        """The privacy unit of each record of a view of a table or of pairs."""
        table = self.__database.table(view.table)
        units = self._units_of_rows(table)
        if view.kind == "pairs":
            later, _ = _sibling_pairs(self.__tables[table.name], table.siblings)
            return units[later]
        return units

    def _units_of_rows(self, table: DatabaseTable) -> Indices:
        """The privacy unit of each row of a table, as an index among the rows of the root."""
        own = self.__tables[table.name]
        if table.parent is None:
            return np.arange(own.parents.size)
        return self._units_of_rows(self.__database.parent_of(table))[own.parents]

    def _of_units(self) -> dict[str, NDArray[Any]]:
        """How many rows of each table a unit has, as codes of the bounds that are considered."""
        database = self.__database
        number = self.__tables[database.root.name].parents.size
        columns = {}
        for table in database.tables[1:]:
            rows = np.bincount(self._units_of_rows(table), minlength=number)
            bounds = views.bounds_of(database.max_records(table))
            columns[views.count_of(table)] = np.searchsorted(bounds, rows)
        return columns

    def _of_pairs(self, table: DatabaseTable) -> dict[str, NDArray[Any]]:
        own = self.__tables[table.name]
        later, before = _sibling_pairs(own, table.siblings)
        columns: dict[str, NDArray[Any]] = {}
        for name, codes in own.codes.items():
            columns |= {name: codes[later], views.earlier(name): codes[before]}
        return columns

    def __repr__(self) -> str:
        return "<database: confidential>"

    __reduce__ = __getstate__ = __copy__ = __deepcopy__ = Rows._refuse


def open_database(
    database: Database,
    *,
    folder: Files,
    progress: Progress = readers.silent,
    random_bytes: Callable[[int], bytes] = os.urandom,
) -> DatabaseRows:
    """Reads all tables and truncates each once. random_bytes: as of `opening.open_counted`.

    Rows that refer to no row of their parent, and those of rows that are not retained, belong to no privacy
    unit and are left out. Errors: TableError for a file that is not well formed, and for a key that occurs
    twice."""
    tables: dict[str, _Truncated] = {}
    for table in database.tables:
        parent = None if table.parent is None else tables[table.parent]
        tables[table.name] = _read(
            table, parent, _file_of(table, folder), progress=progress, random_bytes=random_bytes
        )
    return DatabaseRows(database, tables)


def files_of(database: Database, *, folder: Files) -> list[TableFile]:
    """The files of the tables, in their order."""
    return [_file_of(table, folder) for table in database.tables]


def require_columns(database: Database, *, folder: Files) -> None:
    """Raises TableError for a file without a column that is described. Reads headers and no row."""
    for table in database.tables:
        file = _file_of(table, folder)
        names = readers.columns(file.path, kind=file.kind, dialect=file.dialect, mode="total")
        for name in (*table.domain.columns, *table.key_columns):
            if name not in names:
                raise TableError(
                    f"table {table.name!r} has no such column in its file",
                    repair="check header and description",
                    column=name,
                )


@dataclass(frozen=True, kw_only=True)
class KeyFaults:
    """Faults of the keys of one table: *not private*, for its steward alone.

    rows: of its file. repeated: rows without a key of their own. orphans: rows that refer to no row of the
    parent. crowded: parents with more rows than the declared maximum; beyond: how many rows these have too
    many."""

    rows: int
    repeated: int
    orphans: int
    crowded: int
    beyond: int


def key_faults(
    database: Database, *, folder: Files, progress: Progress = readers.silent
) -> dict[str, KeyFaults]:
    """Counts rows that a release would leave out, and keys that it would refuse, by the name of the table."""
    keys: dict[str, pa.Array] = {}
    faults = {}
    for table in database.tables:
        read, texts = _open(table, _file_of(table, folder), progress=progress)
        own = texts.get(table.key or "", pa.array([], type=pa.large_string()))
        orphans = crowded = beyond = 0
        if table.parent is not None:
            parent_rows = pc.index_in(
                texts[table.reference or ""], value_set=keys[table.parent]
            )
            orphans = parent_rows.null_count
            sizes = np.bincount(parent_rows.drop_null().to_numpy(zero_copy_only=False))
            crowded = int((sizes > table.most).sum())
            beyond = int(np.maximum(sizes - table.most, 0).sum())
        repeated = len(own) - len(pc.unique(own))
        faults[table.name] = KeyFaults(
            rows=read.total, repeated=repeated, orphans=orphans, crowded=crowded, beyond=beyond
        )
        keys[table.name] = own
    return faults


def _file_of(table: DatabaseTable, files: Files) -> TableFile:
    if isinstance(files, Mapping):
        return files[table.name]
    return TableFile(path=Path(files) / table.file)


def _open(
    table: DatabaseTable, file: TableFile, *, progress: Progress
) -> tuple[Rows, dict[str, pa.Array]]:
    return opening.open_with_keys(
        file.path,
        table.domain,
        keys=table.key_columns,
        kind=file.kind,
        dialect=file.dialect,
        progress=progress,
    )


def _read(
    table: DatabaseTable,
    parent: _Truncated | None,
    file: TableFile,
    *,
    progress: Progress,
    random_bytes: Callable[[int], bytes],
) -> _Truncated:
    read, texts = _open(table, file, progress=progress)
    keys = texts.get(table.key or "", pa.array([], type=pa.large_string()))
    if table.key is not None:
        _require_unique(table, keys)
    parents = np.zeros(read.total, dtype=np.intp)
    retained = np.arange(read.total)
    if parent is not None:
        # Of a row that refers to no retained row nothing is counted: it belongs to no unit.
        indices = pc.index_in(texts[table.reference or ""], value_set=parent.keys)
        parents = pc.fill_null(indices, -1).to_numpy(zero_copy_only=False).astype(np.intp)
        retained = _retained(table, read, parents, random_bytes=random_bytes)
    return _Truncated(
        codes={name: read.codes(name)[retained] for name in table.domain.names},
        parents=parents[retained],
        keys=keys.take(pa.array(retained)) if table.key is not None else keys,
    )


def _retained(
    table: DatabaseTable,
    read: Rows,
    parents: Indices,
    *,
    random_bytes: Callable[[int], bytes],
) -> Indices:
    """Selects at most `most` rows of each parent, every one with the same chance, and sorts them by parent
    and by order."""
    retained = _by_chance(parents, table.most, random_bytes=random_bytes)
    if table.order is None:
        return retained
    codes = read.codes(table.order)[retained].astype(np.int64)
    # Stable: rows of one code stay in the random order in which they are.
    order = np.lexsort((-codes if table.descending else codes, parents[retained]))
    return retained[order]


def _bounded(
    codes: Mapping[str, Codes],
    units: Indices,
    most: int,
    *,
    random_bytes: Callable[[int], bytes],
) -> dict[str, Codes]:
    """The columns of at most `most` records of each unit. units: of each record."""
    selected = _by_chance(units, most, random_bytes=random_bytes)
    return {name: column[selected] for name, column in codes.items()}


def _by_chance(owners: Indices, most: int, *, random_bytes: Callable[[int], bytes]) -> Indices:
    """Selects at most `most` rows of each owner, every one with the same chance, sorted by owner; none of
    those without an owner, which have a negative one."""
    # A word for each row, of the operating system: which rows are selected depends on nothing that they hold.
    words = np.frombuffer(random_bytes(8 * owners.size), dtype=np.uint64)
    by_chance = np.lexsort((words, owners))
    by_chance = by_chance[owners[by_chance] >= 0]
    ordered = owners[by_chance]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: ordered.size])
    ranks = np.arange(ordered.size) - np.repeat(
        starts, np.diff(np.append(starts, ordered.size))
    )
    return by_chance[ranks < most]


def _require_unique(table: DatabaseTable, keys: pa.Array) -> None:
    """Refuses a table in which a key occurs twice: which rows belong to a unit would depend on other units.
    It is asked when the file is read, before anything is paid for."""
    if len(pc.unique(keys)) < len(keys):
        raise TableError(
            f"table {table.name!r} has a key more than once, or rows without one",
            repair="give each row a key of its own, or name the column of the table's unique keys",
            column=table.key,
        )
