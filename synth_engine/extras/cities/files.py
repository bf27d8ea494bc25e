"""Writes a generated city: a folder or a zip of Parquet with the SQL that creates the tables, or one SQLite
file; with its receipt."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from synth_engine import outputs
from synth_engine.extras.cities.building import BuiltCity
from synth_engine.relational import files as databases
from synth_engine.relational import layout
from synth_engine.strict_json import JsonObject

RECEIPT_FILE = "city.receipt.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write(built: BuiltCity, document: JsonObject, path: Path, *, overwrite: bool) -> None:
    """Writes all tables, to a folder, a .zip or a SQLite file by the name of `path`; a folder and a zip with
    the receipt. The output appears whole or not at all; a folder is new and has the SQLite file as well.
    Errors: InputError."""
    if path.suffix in databases.SQLITE:
        outputs.replace(path, lambda file: _sqlite(built, file), overwrite=overwrite)
    elif path.suffix == ".zip":
        members = _files(built, document)
        outputs.replace(path, lambda file: pack(members, file), overwrite=overwrite)
    else:
        outputs.new_folder(
            path,
            _files(built, document),
            and_then=lambda folder: _sqlite(built, folder / "city.sqlite"),
        )


def _sqlite(built: BuiltCity, path: Path) -> None:
    layout.write_sqlite(built.layouts, built.frames, path)


def _files(built: BuiltCity, document: JsonObject) -> Iterator[tuple[str, bytes]]:
    for table in built.layouts:
        yield f"{table.name}.parquet", layout.parquet(table, built.frames[table.name])
    yield databases.SQL_FILE, layout.ddl(built.layouts).encode()
    yield RECEIPT_FILE, json_bytes(document)


def json_bytes(document: JsonObject) -> bytes:
    """A document as a file holds it."""
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def pack(members: Iterable[tuple[str, bytes]], path: Path) -> None:
    """Writes a zip of files, each with its name."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            # A fixed time: the same files give the same bytes.
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
