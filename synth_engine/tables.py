"""Tables drawn from a model, as files. Deterministic: the same model, rows and seed give the same bytes of CSV."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from synth_engine import codec, mechanisms, outputs
from synth_engine.domain import (
    Baskets,
    Derived,
    Domain,
)
from synth_engine.errors import InputError
from synth_engine.models.model import Model

FORMATS = (".csv", ".parquet", ".xlsx", ".dat", ".dat.gz")


def write(
    model: Model,
    rows: int,
    *,
    seed: str,
    path: Path,
    overwrite: bool = True,
    declared: bool = False,
) -> str:
    """Draws a table into a file whose name ends in one of `FORMATS`; returns its SHA-256. The file appears whole or not at
    all. declared: as in `fill`."""
    require_format(path, domain=model.domain, declared=declared)
    digest = ""

    def fill_it(temporary: Path) -> None:
        nonlocal digest
        digest = fill(model, rows, seed=seed, path=temporary, form=path.name, declared=declared)

    outputs.replace(path, fill_it, overwrite=overwrite)
    return digest


def fill(
    model: Model, rows: int, *, seed: str, path: Path, form: str, declared: bool = False
) -> str:
    """Draws a table into `path` in the format that the name `form` ends in; returns the SHA-256 of the file, which is on
    the disk by then. declared: a CSV in the declared form of its file. OSError where the disk does not take it."""
    if form.endswith(".xlsx"):
        codec.require_rows(rows, columns=len(model.domain.table_columns))
    if form.endswith(".parquet"):
        _write_parquet(model, rows, seed=seed, path=path)
    elif form.endswith(".xlsx"):
        with path.open("wb") as file:
            codec.write_workbook(model.domain, mechanisms.draw_blocks(model, rows, seed), file)
    elif form.endswith(".dat.gz"):
        # Neither name nor time of day: the same baskets, the same bytes.
        with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            packed.writelines(basket_pieces(model, rows, seed=seed))
    else:
        usual = declared_pieces if declared else csv_pieces
        pieces = basket_pieces if form.endswith(".dat") else usual
        with path.open("wb") as file:
            file.writelines(pieces(model, rows, seed=seed))
    with path.open("rb") as written:
        os.fsync(written.fileno())
        return hashlib.file_digest(written, "sha256").hexdigest()


def csv_pieces(model: Model, rows: int, *, seed: str) -> Iterator[bytes]:
    """The table as CSV in UTF-8, block by block; a missing value by its first marker."""
    yield _csv([[attribute.name for attribute in model.domain.table_columns]])
    for block in mechanisms.draw_blocks(model, rows, seed):
        texts = codec.as_text(model.domain, block)
        yield _csv(zip(*(texts[name].tolist() for name in texts), strict=True))


def declared_pieces(model: Model, rows: int, *, seed: str) -> Iterator[bytes]:
    """The table as its file came in: in the declared form of the file, block by block."""
    writer = codec.DeclaredFormWriter(model.domain)
    yield writer.header()
    for block in mechanisms.draw_blocks(model, rows, seed):
        yield writer.block(block)


def basket_pieces(model: Model, rows: int, *, seed: str) -> Iterator[bytes]:
    """A basket in each line, in UTF-8, block by block."""
    (column,) = model.domain.table_columns
    for block in mechanisms.draw_blocks(model, rows, seed):
        yield "".join(f"{text}\n" for text in block[column.name]).encode()


def require_format(path: Path, *, domain: Domain | None = None, declared: bool = False) -> None:
    """Refuses a file name of another format, one for baskets where something else is drawn, or one in a folder that is not
    there."""
    if not path.name.endswith(FORMATS):
        raise InputError(
            "the output has another format", repair=f"end its name in {' or '.join(FORMATS)}"
        )
    if declared and not path.name.endswith(".csv"):
        raise InputError(
            "only a CSV is written as it came in", repair="end the output's name in .csv"
        )
    if path.name.endswith((".dat", ".dat.gz")) and domain is not None:
        columns = domain.table_columns
        if len(columns) != 1 or not isinstance(columns[0], Baskets):
            raise InputError(
                "what is drawn is no list of baskets",
                repair="end the output's name in .csv, .parquet or .xlsx",
            )
    outputs.require_folder(path)


def _csv(rows: object) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)  # type: ignore[arg-type]
    return text.getvalue().encode()


def _write_parquet(model: Model, rows: int, *, seed: str, path: Path) -> None:
    schema = arrow_schema(model.domain)
    with pq.ParquetWriter(path, schema) as writer:
        for block in mechanisms.draw_blocks(model, rows, seed):
            writer.write_table(pa.Table.from_pandas(block, schema=schema, preserve_index=False))


def arrow_schema(domain: Domain) -> pa.Schema:
    """Column types of a drawn table; a missing value is null."""
    return pa.schema(
        [
            pa.field(
                a.name,
                domain.written_like(a).arrow_type,
                nullable=a.missing is not None or isinstance(a, Derived),
            )
            for a in domain.table_columns
        ]
    )
