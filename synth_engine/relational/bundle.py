"""A release of a database as one archive: its tables, receipt, model and report, and a list of them with
checksums, which the verifier checks as a whole. Everything in it follows from the noisy answers."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from synth_engine import outputs
from synth_engine.relational import files
from synth_engine.relational.files import Frames
from synth_engine.relational.plan import DatabasePlan
from synth_engine.strict_json import JsonObject
from synth_engine.verifier import standalone
from synth_engine.verifier.bundle import BUNDLE, BUNDLE_LIST, BUNDLE_RECEIPT, BUNDLE_TABLES

_COMMENT_BYTES = 64
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""A fixed time: the same release gives the same bytes."""


@dataclass(kw_only=True)
class _ListedArchive:
    """An archive that lists what is written to it."""

    archive: zipfile.ZipFile
    entries: list[JsonObject] = field(default_factory=list)

    def add(self, name: str, content: bytes) -> None:
        digest = hashlib.sha256(content).hexdigest()
        self.entries.append({"name": name, "size": len(content), "sha256": digest})
        self.write(name, content)

    def write(self, name: str, content: bytes) -> None:
        info = zipfile.ZipInfo(name, _EPOCH)
        self.archive.writestr(info, content, zipfile.ZIP_DEFLATED)


def write(
    plan: DatabasePlan,
    frames: Frames,
    path: Path,
    *,
    receipt: Mapping[str, Any],
    model: Mapping[str, Any],
    overwrite: bool = True,
) -> None:
    """Writes the archive. frames: the tables that the receipt names by their digest. Errors: InputError."""
    outputs.replace(
        path,
        lambda file: _write(plan, frames, file, receipt=receipt, model=model),
        overwrite=overwrite,
    )


def _write(
    plan: DatabasePlan,
    frames: Frames,
    path: Path,
    *,
    receipt: Mapping[str, Any],
    model: Mapping[str, Any],
) -> None:
    database = plan.database
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        listed = _ListedArchive(archive=archive)
        # Tables are numbered: names of tables may hold what no name of a file may.
        for number, table in enumerate(database.tables, start=1):
            name = f"{BUNDLE_TABLES}{number}.csv"
            listed.add(name, files.csv_bytes(table, frames[table.name]))
        for number, lookup in enumerate(database.lookups, start=1):
            listed.add(
                f"lookups/{files.lookup_file_name(number)}", files.lookup_csv_bytes(lookup)
            )
        listed.add(BUNDLE_RECEIPT, _json(receipt))
        listed.add("model.json", _json(model))
        listed.add("report.json", _json(_report(plan, frames)))
        listed.add(files.SQL_FILE, files.ddl(database).encode())
        listed.add(standalone.NAME, standalone.text().encode())
        statement = {"core": receipt["digest"], "files": listed.entries}
        listed.write(BUNDLE_LIST, _json({"schema": BUNDLE, "statement": statement}))
        archive.comment = b"0" * _COMMENT_BYTES
    _seal(path)


def _seal(path: Path) -> None:
    """Writes the digest of all bytes before the comment as the comment."""
    sha = hashlib.sha256()
    with path.open("r+b") as file:
        left = file.seek(0, 2) - _COMMENT_BYTES
        file.seek(0)
        while left and (piece := file.read(min(left, 1 << 20))):
            left -= len(piece)
            sha.update(piece)
        file.write(sha.hexdigest().encode("ascii"))


def _report(plan: DatabasePlan, frames: Frames) -> JsonObject:
    """What the release is: its guarantee, what was measured, and the tables with their files and rows."""
    tables: list[Any] = [
        {
            "table": table.name,
            "file": f"{BUNDLE_TABLES}{number}.csv",
            "rows": len(frames[table.name]),
            "columns": list(frames[table.name].columns),
        }
        for number, table in enumerate(plan.database.tables, start=1)
    ]
    return plan.outline() | {"tables": tables}


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, indent=1, ensure_ascii=False).encode()
