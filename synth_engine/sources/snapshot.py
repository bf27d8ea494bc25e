"""A table that lies elsewhere, copied once before a run: the result of a query of a database, or an object in
Parquet.

The copy is a Parquet file that is encrypted at rest with a key that only this process has. Its form, the
names and types of columns, is that of the query or of the object and is written before the first record, so
that no record decides it. A source that fails while it is copied leaves no copy, and nothing was spent. No
message quotes the source: what a database says about a query may contain values.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.parquet.encryption import create_encryption_properties

from synth_engine import readers
from synth_engine.errors import InputError, SynthError, TableError
from synth_engine.formats import MAX_VOUCHER, is_voucher
from synth_engine.formats.damage import DAMAGED
from synth_engine.readers import keys
from synth_engine.sources import queries
from synth_engine.sources.parts import PartFolder

if TYPE_CHECKING:
    import duckdb
    import psycopg

BATCH = 10_000
"""Records that are in memory at a time."""
GROUP_BYTES = 1 << 25
"""Of a group of rows of the copy, which is in memory while it is written."""
PATIENCE = 10
"""Seconds until a database counts as one that does not answer."""
POSTGRES = ("postgresql://", "postgres://")
DUCKDB = "duckdb:"
OBJECTS = ("s3://", "file://")
_SECRET = re.compile(r"://[^/@]*:[^/@]*@|[?&](password|secret_key|access_key)=", re.IGNORECASE)
_GONE = ("08", "57", "53")
"""Classes of SQLSTATE of a connection that ended, of somebody who stopped the server, and of one that has no
room left."""


@dataclass(frozen=True, kw_only=True)
class SnapshotSource:
    """Where a table is. address: `postgresql://user@host/database`, `duckdb:FILE`, `s3://bucket/object` or
    `file:///object`; query: of a database. Neither is printed. vouched_by: who states that each record of the
    result is of one privacy unit alone, of a query for which that is not proved. Errors: InputError for an
    address of another kind, or with a secret in it, and for a query that needs somebody's word."""

    address: str = field(repr=False)
    query: str = field(default="", repr=False)
    vouched_by: str = ""

    def __post_init__(self) -> None:
        if not self.address.startswith((*POSTGRES, DUCKDB, *OBJECTS)):
            raise InputError(
                "the address of the source is of no known kind",
                repair="give postgresql://user@host/database, duckdb:FILE, s3://bucket/object or "
                "file:///path",
            )
        if _SECRET.search(self.address):
            raise InputError(
                "the address of the source has a password in it, which other users of the machine can see",
                repair="give it in PGPASSWORD or a password file, or in AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY",
            )
        if bool(self.query.strip()) != self.is_database:
            raise InputError(
                "a database needs a query, and an object has none",
                repair="add --query for a database, and leave it out for an object",
            )
        if self.vouched_by and not (self.is_database and is_voucher(self.vouched_by)):
            raise InputError(
                "nobody can vouch for that",
                repair="give --vouched-by for a query alone, with a name and a role of at most "
                f"{MAX_VOUCHER} letters",
            )
        if self.is_database and not self.vouched_by and queries.table_of(self.query) is None:
            raise _unproved("the query does more than choose rows and columns of one table")

    @property
    def is_database(self) -> bool:
        return not self.address.startswith(OBJECTS)

    @property
    def query_digest(self) -> str:
        """SHA-256 of the query as it was given, without blanks and a semicolon around it; empty for an
        object."""
        text = self.query.strip().removesuffix(";").rstrip()
        return hashlib.sha256(text.encode()).hexdigest() if self.is_database else ""


def taken(
    source: SnapshotSource, *, progress: readers.Progress
) -> contextlib.AbstractContextManager[Path]:
    """Copy the table, and give the path of the copy, which this process can read as a Parquet file for the
    time of the block. progress: is told the stage without a share, because nobody knows how many records
    there are. Errors: TableError."""
    return _copied(source, progress=progress, key=os.urandom(32))


@contextlib.contextmanager
def _copied(
    source: SnapshotSource, *, progress: readers.Progress, key: bytes
) -> Iterator[Path]:
    folder = PartFolder()
    path = folder.path / "snapshot.parquet"
    progress("snapshot", 0.0)
    try:
        with _opened(source) as batches:
            _write(batches, path, key=key)
        progress("snapshot", 1.0)
        with keys.keyed(path, key):
            yield path
    finally:
        folder.remove()


@dataclass(frozen=True)
class _Batches:
    """The form of a table, and its records."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


def _opened(source: SnapshotSource) -> contextlib.AbstractContextManager[_Batches]:
    if source.address.startswith(POSTGRES):
        return _of_postgres(source)
    return _of_duckdb(source) if source.is_database else _of_object(source)


def _write(table: _Batches, path: Path, *, key: bytes) -> None:
    properties = create_encryption_properties(key)
    limits = readers.Limits()
    rows = size = 0
    waiting: list[pa.RecordBatch] = []
    with (
        _disk(),
        pq.ParquetWriter(path, table.schema, encryption_properties=properties) as file,
    ):
        path.chmod(0o600)
        for batch in table.batches:
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows > limits.rows or size > limits.plain_bytes:
                raise TableError(
                    "the source holds more than is allowed",
                    repair="ask for fewer records or columns",
                )
            waiting.append(batch)
            if sum(each.nbytes for each in waiting) >= GROUP_BYTES:
                file.write_table(pa.Table.from_batches(waiting))
                waiting = []
        file.write_table(pa.Table.from_batches(waiting, schema=table.schema))


@contextlib.contextmanager
def _disk() -> Iterator[None]:
    try:
        yield
    except OSError:
        raise SynthError(
            "the copy of the table cannot be written; free space in the folder of temporary files, or set "
            "TMPDIR to a larger disk"
        ) from None


@contextlib.contextmanager
def _of_postgres(source: SnapshotSource) -> Iterator[_Batches]:
    """Every value as the text that PostgreSQL writes, of one state of the database, read without a right to
    write."""
    try:
        import psycopg
    except ImportError:
        raise _missing("psycopg", "postgresql") from None
    try:
        connection = psycopg.connect(source.address, connect_timeout=PATIENCE)
    except (psycopg.Error, ValueError):
        raise TableError(
            "the database cannot be reached, or refuses the user",
            repair="check host, user and password (PGPASSWORD or a password file)",
        ) from None
    try:
        # Closed without a commit: whatever the query did is undone.
        with contextlib.closing(connection), connection.cursor() as cursor:
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            cursor.execute("SET LOCAL datestyle TO 'ISO'")
            cursor.execute("SET LOCAL client_encoding TO 'UTF8'")
            if not source.vouched_by:
                _require_table_of_postgres(cursor, source.query)
            query = source.query.strip().rstrip(";")
            # The query is its owner's own, and whoever runs it could as well open the database.
            cursor.execute(f"SELECT * FROM ({query}\n) AS snapshot LIMIT 0".encode())  # noqa: S608
            names = [column.name for column in cursor.description or ()]
            schema = pa.schema([(name, pa.string()) for name in names])
            with cursor.copy(f"COPY ({query}\n) TO STDOUT".encode()) as copy:
                yield _Batches(schema, _of_texts(schema, copy))
    except psycopg.Error as error:
        raise _refused(error.sqlstate) from None


def _unproved(what: str) -> InputError:
    return InputError(
        f"{what}, so one record may change others, and the guarantee would not hold",
        repair="ask for columns of one table by plain conditions, or say who vouches that each record of "
        'the result is of one person or record alone: --vouched-by "NAME, ROLE"',
    )


def _require_table_of_postgres(cursor: psycopg.Cursor[Any], query: str) -> None:
    """See that what the query chooses from is a table: a view is another query, and a table with row security
    has a condition of its own. Errors: InputError, psycopg.Error where there is no such table."""
    name = ".".join(queries.table_of(query) or ())
    cursor.execute(
        "SELECT relkind, relrowsecurity FROM pg_class WHERE oid = %s::regclass", (name,)
    )
    kind, has_policies = cursor.fetchone() or ("", False)
    if kind not in ("r", "p") or has_policies:
        raise _unproved("the query is of a view, or of a table with rules of its own")


def _require_table_of_duckdb(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """The same. Errors: InputError."""
    *_, last = queries.table_of(query) or ("",)
    plain = last[1:-1].replace('""', '"') if last.startswith('"') else last
    # A cursor of its own each: of one that has rows left, the connection is busy.
    views = connection.cursor().execute(
        "SELECT count(*) FROM duckdb_views() WHERE lower(view_name) = lower(?)", [plain]
    )
    tables = connection.cursor().execute(
        "SELECT count(*) FROM duckdb_tables() WHERE lower(table_name) = lower(?)", [plain]
    )
    # A view of that name in any schema: which of the two is meant is the database's to know.
    if views.fetchall() != [(0,)] or tables.fetchall() == [(0,)]:
        raise _unproved("the query is of a view, or of something that is no table")


def _of_texts(schema: pa.Schema, copy: psycopg.Copy) -> Iterator[pa.RecordBatch]:
    records: list[tuple[object, ...]] = []
    for record in copy.rows():
        records.append(record)
        if len(records) == BATCH:
            yield _batch(schema, records)
            records = []
    yield _batch(schema, records)


def _batch(schema: pa.Schema, records: list[tuple[object, ...]]) -> pa.RecordBatch:
    columns = zip(*records, strict=True) if records else ([] for _ in schema)
    return pa.record_batch([pa.array(list(one), pa.string()) for one in columns], schema=schema)


@contextlib.contextmanager
def _of_duckdb(source: SnapshotSource) -> Iterator[_Batches]:
    """A file that is opened for reading alone, by a query that reads no other file and loads nothing."""
    try:
        import duckdb
    except ImportError:
        raise _missing("duckdb", "duckdb") from None
    path = Path(source.address.removeprefix(DUCKDB))
    if not path.is_file():
        raise TableError("there is no such DuckDB file", repair="check the path after duckdb:")
    config: dict[str, str | bool | int | float | list[str]] = {
        "enable_external_access": "false",
        "lock_configuration": "true",
    }
    try:
        with duckdb.connect(path, read_only=True, config=config) as connection:
            if not source.vouched_by:
                _require_table_of_duckdb(connection, source.query)
            result = connection.sql(source.query)
            if result is None:  # of a statement that returns no rows
                raise _refused(None)
            reader = result.to_arrow_reader(BATCH)
            yield _Batches(reader.schema, iter(reader))
    except (duckdb.Error, pa.ArrowException):
        raise _refused(None) from None


@contextlib.contextmanager
def _of_object(source: SnapshotSource) -> Iterator[_Batches]:
    """A Parquet file in a store that speaks S3, or on a disk."""
    from pyarrow import fs

    try:
        system, path = fs.FileSystem.from_uri(source.address)
        with system.open_input_file(path) as raw, pq.ParquetFile(raw) as file:
            yield _Batches(file.schema_arrow, _of_groups(file))
    except (OSError, ValueError, pa.ArrowException):
        raise _unreadable() from None


def _of_groups(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    try:
        yield from file.iter_batches(batch_size=BATCH)
    except DAMAGED:
        # Here, or it would be taken for an error of the disk that is written to.
        raise _unreadable() from None


def _unreadable() -> TableError:
    return TableError(
        "the object cannot be read, or is no Parquet file",
        repair="check address, rights and form; nothing was spent",
    )


def _refused(sqlstate: str | None) -> TableError:
    """A database's own words may contain values: only the number of its error is passed on."""
    if sqlstate is None or sqlstate.startswith(_GONE):
        return TableError(
            "the database refused the query, or went away while it was read",
            repair="try the query by itself; nothing was spent",
        )
    return TableError(
        f"the database refused the query, with SQLSTATE {sqlstate}",
        repair="try the query by itself, with the same account; nothing was spent",
    )


def _missing(package: str, extra: str) -> InputError:
    return InputError(
        f"the package {package} is not installed", repair=f"install synth-engine[{extra}]"
    )
