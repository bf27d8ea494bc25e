"""Writes a generated database: a folder, or a zip, of CSV or Parquet with the SQL that creates the tables, or
one SQLite file."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pandas as pd
import pyarrow as pa

from synth_engine import codec, outputs
from synth_engine.domain.database import Database, DatabaseTable
from synth_engine.domain.lookups import FILES_OF_LOOKUPS, Lookup
from synth_engine.errors import InputError
from synth_engine.relational import layout
from synth_engine.relational.layout import ForeignKey, TableLayout
from synth_engine.relational.layout import Frames as Frames

Format = Literal["csv", "parquet"]
SQL_FILE = "schema.sql"
SQLITE = (".sqlite", ".db")
_EPOCH = (1980, 1, 1, 0, 0, 0)


def require_output(path: Path) -> None:
    """Refuses an output of another kind, and a folder that exists. Errors: InputError."""
    if path.suffix not in ("", ".zip", *SQLITE):
        raise InputError(
            "the output of a database has another form",
            repair=f"name a folder, or end the name in .zip or {' or '.join(SQLITE)}",
        )
    # A folder may hold other files of somebody, so it is never replaced.
    if not path.suffix and path.exists():
        raise InputError("the folder of the output exists", repair="name a new folder")


def write(
    database: Database,
    frames: Frames,
    path: Path,
    *,
    form: Format = "csv",
    overwrite: bool = True,
) -> str:
    """Writes all tables, to a folder, a .zip or a SQLite file by the name of `path`; returns the SHA-256 of
    all tables as CSV, which is the same for every form. The output appears whole or not at all; a folder is
    new. Errors: InputError."""
    if path.suffix in SQLITE:
        outputs.replace(
            path,
            lambda file: layout.write_sqlite(
                _layouts(database), {**frames, **_lookup_frames(database)}, file
            ),
            overwrite=overwrite,
        )
    elif path.suffix == ".zip":
        outputs.replace(
            path,
            lambda file: _write_zip(database, frames, file, form=form),
            overwrite=overwrite,
        )
    else:
        outputs.new_folder(path, _files(database, frames, form=form))
    return digest(database, frames)


def digest(database: Database, frames: Frames) -> str:
    """SHA-256 over the names of the tables and their digests as CSV."""
    sha = hashlib.sha256()
    for table in database.tables:
        content = hashlib.sha256(csv_bytes(table, frames[table.name])).hexdigest()
        sha.update(f"{table.name}\n{content}\n".encode())
    return sha.hexdigest()


def file_name(table: DatabaseTable, *, form: Format = "csv") -> str:
    """The name of the file of a table: that of its own file as far as the form allows."""
    return f"{Path(table.file).name.split('.')[0]}.{form}"


def lookup_file_name(number: int, *, form: Format = "csv") -> str:
    """The name of the file of the look-up table of a number, from 1 on: names of look-up tables may hold what
    no name of a file may."""
    return f"{FILES_OF_LOOKUPS}{number}.{form}"


def ddl(database: Database) -> str:
    """The SQL that creates the tables, with primary and foreign keys."""
    return layout.ddl(_layouts(database))


def _layouts(database: Database) -> list[TableLayout]:
    # Tables stand after those that they refer to.
    lookups = [_lookup_layout(lookup) for lookup in database.lookups]
    return [*lookups, *(_layout(database, table) for table in database.tables)]


def _lookup_layout(lookup: Lookup) -> TableLayout:
    fields = [
        pa.field(name, pa.string(), nullable=name != lookup.key) for name in lookup.columns
    ]
    return TableLayout(name=lookup.name, columns=pa.schema(fields), key=lookup.key)


def _lookup_frames(database: Database) -> dict[str, pd.DataFrame]:
    return {lookup.name: _lookup_frame(lookup) for lookup in database.lookups}


def _lookup_frame(lookup: Lookup) -> pd.DataFrame:
    frame = pd.DataFrame(lookup.rows, columns=list(lookup.columns), dtype="str")
    return frame.mask(frame == "")


def _layout(database: Database, table: DatabaseTable) -> TableLayout:
    """Keys first, then the described columns."""
    fields = [pa.field(key, pa.int64(), nullable=False) for key in table.key_columns]
    fields += [
        pa.field(a.name, a.arrow_type, nullable=a.missing is not None)
        for a in table.domain.table_columns
    ]
    references = []
    if table.parent is not None:
        parent = database.parent_of(table)
        references.append(
            ForeignKey(column=table.reference or "", table=parent.name, key=parent.key or "")
        )
    references += [
        ForeignKey(column=reference.column, table=lookup.name, key=lookup.key)
        for lookup in database.lookups
        for reference in lookup.references
        if reference.table == table.name
    ]
    return TableLayout(
        name=table.name,
        columns=pa.schema(fields),
        key=table.key,
        references=tuple(references),
    )


def csv_bytes(table: DatabaseTable, frame: pd.DataFrame) -> bytes:
    """A generated table as CSV: columns of keys first, then the described ones."""
    texts = codec.as_text(table.domain, frame)
    keys = frame[list(table.key_columns)].astype(str)
    written = pd.concat([keys, texts], axis=1)
    header = pd.DataFrame([list(written.columns)])
    return (codec.csv_lines(header) + codec.csv_lines(written)).encode()


def lookup_csv_bytes(lookup: Lookup) -> bytes:
    """A look-up table as CSV, as it was given."""
    lines = pd.DataFrame([list(lookup.columns), *map(list, lookup.rows)])
    return codec.csv_lines(lines).encode()


def _files(database: Database, frames: Frames, *, form: Format) -> Iterator[tuple[str, bytes]]:
    for table in database.tables:
        frame = frames[table.name]
        content = (
            csv_bytes(table, frame)
            if form == "csv"
            else layout.parquet(_layout(database, table), frame)
        )
        yield file_name(table, form=form), content
    for number, lookup in enumerate(database.lookups, start=1):
        content = (
            lookup_csv_bytes(lookup)
            if form == "csv"
            else layout.parquet(_lookup_layout(lookup), _lookup_frame(lookup))
        )
        yield lookup_file_name(number, form=form), content
    yield SQL_FILE, ddl(database).encode()


def _write_zip(database: Database, frames: Frames, path: Path, *, form: Format) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _files(database, frames, form=form):
            # A fixed time: the same tables give the same bytes.
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
