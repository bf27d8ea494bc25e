"""The layout of tables in files: types of columns, keys and references, and from these SQL, Parquet and
SQLite."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

Frames = Mapping[str, pd.DataFrame]


@dataclass(frozen=True, kw_only=True)
class ForeignKey:
    """A column that holds the key of a row of another table."""

    column: str
    table: str
    key: str


@dataclass(frozen=True, kw_only=True)
class TableLayout:
    """A table in a file. columns: in the order in which they are written. key: its primary key, if it has
    one."""

    name: str
    columns: pa.Schema
    key: str | None = None
    references: tuple[ForeignKey, ...] = ()


def ddl(layouts: Sequence[TableLayout]) -> str:
    """The SQL that creates the tables, with primary and foreign keys. Each stands after the tables that it
    refers to."""
    statements = []
    for table in layouts:
        lines = [f"  {_quoted(field.name)} {_sql_type(field)}" for field in table.columns]
        if table.key is not None:
            lines.append(f"  PRIMARY KEY ({_quoted(table.key)})")
        lines += [
            f"  FOREIGN KEY ({_quoted(each.column)}) REFERENCES {_quoted(each.table)} ({_quoted(each.key)})"
            for each in table.references
        ]
        body = ",\n".join(lines)
        statements.append(f"CREATE TABLE {_quoted(table.name)} (\n{body}\n);\n")
    return "\n".join(statements)


def _sql_type(field: pa.Field) -> str:
    kind, written = field.type, "TEXT"
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        written = "INTEGER"
    elif pa.types.is_floating(kind):
        written = "REAL"
    elif pa.types.is_date(kind):
        written = "DATE"
    elif pa.types.is_timestamp(kind):
        written = "TIMESTAMP"
    return written if field.nullable else f"{written} NOT NULL"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def arrow(table: TableLayout, frame: pd.DataFrame) -> pa.Table:
    """The rows of a table with the types of its layout."""
    return pa.Table.from_pandas(frame, schema=table.columns, preserve_index=False)


def digest(rows: pa.Table) -> str:
    """SHA-256 of the rows as CSV, the same before they are written to Parquet and after they are read from
    it."""
    sink = pa.BufferOutputStream()
    arrow_csv.write_csv(rows, sink)
    return hashlib.sha256(sink.getvalue()).hexdigest()


def parquet(table: TableLayout, frame: pd.DataFrame) -> bytes:
    """A table as a file of Parquet."""
    sink = pa.BufferOutputStream()
    pq.write_table(arrow(table, frame), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def write_sqlite(layouts: Sequence[TableLayout], frames: Frames, path: Path) -> None:
    """Writes all tables to a new SQLite file, which refuses a reference that does not resolve."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.executescript(ddl(layouts))
        for table in layouts:
            columns = table.columns.names
            names = ", ".join(map(_quoted, columns))
            marks = ", ".join("?" for _ in columns)
            connection.executemany(
                # Names are quoted
                f"INSERT INTO {_quoted(table.name)} ({names}) VALUES ({marks})",  # noqa: S608
                _records(frames[table.name][columns]),
            )


def _records(frame: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Rows of values that SQLite takes; days and moments as ISO texts."""
    columns = []
    for name in frame:
        column = frame[name]
        if pd.api.types.is_datetime64_any_dtype(column):
            column = column.dt.strftime("%Y-%m-%d %H:%M:%S").str.removesuffix(" 00:00:00")
        objects = column.astype(object)
        columns.append(objects.where(column.notna(), None).tolist())
    yield from zip(*columns, strict=True)
