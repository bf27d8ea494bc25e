"""The files of a scenario: the table, its changes, and the record of both."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from synth_engine import codec, outputs
from synth_engine.errors import InputError
from synth_engine.extras.scenarios.building import Built

FORMATS = (".csv", ".parquet")
ARCHIVED = ("STATEMENT.txt", "table.csv", "changes.csv", "record.json", "scenario.json")
"""The files of an archive, in order."""
_BLOCK = 1 << 16
_PIECE = 1 << 20


def write(
    built: Built, *, table: Path, changes: Path, record: Path, overwrite: bool = False
) -> None:
    """Writes the three files; each appears whole or not at all. The record gets the digests of the other
    two."""
    require_format(table)
    table_digest = _replace(table, built.table, overwrite=overwrite)
    changes_digest = _replace(changes, built.changes, overwrite=overwrite)
    document = built.record | {
        "table_sha256": table_digest,
        "changes_sha256": changes_digest,
    }
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    outputs.replace(record, lambda path: _put(path, text), overwrite=overwrite)


def archive(built: Built, file: IO[bytes]) -> None:
    """Writes a zip of the table and its changes as CSV, the record of both, the scenario, which can be given
    again, and the statement that this is no release. The same table gives the same bytes."""
    with tempfile.TemporaryDirectory() as name, zipfile.ZipFile(file, "w") as packed:
        folder = Path(name)
        write(
            built,
            table=folder / "table.csv",
            changes=folder / "changes.csv",
            record=folder / "record.json",
        )
        scenario = json.dumps(built.record["scenario"], indent=2, ensure_ascii=False) + "\n"
        _put(folder / "scenario.json", scenario)
        _put(folder / "STATEMENT.txt", f"{built.record['statement']}\n")
        for member in ARCHIVED:
            # No time of day: it would differ each time.
            entry = zipfile.ZipInfo(member)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            with (
                (folder / member).open("rb") as source,
                packed.open(entry, "w", force_zip64=True) as target,
            ):
                shutil.copyfileobj(source, target, _PIECE)


def require_format(path: Path) -> None:
    """Refuses a table in another format."""
    if not path.name.endswith(FORMATS):
        raise InputError(
            "the table has another format", repair=f"end its name in {' or '.join(FORMATS)}"
        )


def read(path: Path) -> pd.DataFrame:
    """A table of changes or findings, a text in each cell. Errors: InputError."""
    require_format(path)
    try:
        if path.name.endswith(".parquet"):
            table: pd.DataFrame = pq.read_table(path).to_pandas()
            return table
        return pd.read_csv(path, dtype="str", keep_default_na=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"a table cannot be read ({type(error).__name__})",
            repair="give a CSV in UTF-8 with a header, or a Parquet file",
        ) from None


def _replace(path: Path, table: pd.DataFrame, *, overwrite: bool) -> str:
    """Writes a table as its name says; returns the SHA-256 of the file."""
    digest = ""

    def fill(temporary: Path) -> None:
        nonlocal digest
        digest = fill_table(temporary, table, form=path.name)

    outputs.replace(path, fill, overwrite=overwrite)
    return digest


def fill_table(path: Path, table: pd.DataFrame, *, form: str) -> str:
    """Writes a table into `path` in the format that the name `form` ends in; returns the SHA-256 of the
    file."""
    texts = pd.DataFrame({name: _texts(table[name]) for name in table}, dtype=object)
    if form.endswith(".parquet"):
        columns = {name: pa.array(texts[name], pa.string()) for name in texts}
        pq.write_table(pa.table(columns), path)
    else:
        with path.open("wb") as file:
            file.write(codec.csv_lines(pd.DataFrame([list(table.columns)])).encode())
            for start in range(0, len(table), _BLOCK):
                file.write(codec.csv_lines(texts.iloc[start : start + _BLOCK]).encode())
    with path.open("rb") as written:
        os.fsync(written.fileno())
        return hashlib.file_digest(written, "sha256").hexdigest()


def _texts(column: pd.Series) -> NDArray[np.object_]:
    if pd.api.types.is_integer_dtype(column):
        return column.astype("str").to_numpy(dtype=object)
    return column.to_numpy(dtype=object)


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
