"""Tables drawn from a model, as files. Deterministic: the same model, rows and seed give the same bytes of
CSV."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from synth_engine import codec, mechanisms, outputs, row_selection
from synth_engine.domain import (
    Baskets,
    Derived,
    Domain,
    NotFound,
)
from synth_engine.errors import InputError
from synth_engine.models.model import Codes, Model
from synth_engine.row_selection import RowSelection

FORMATS = (".csv", ".parquet", ".xlsx", ".dat", ".dat.gz")


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """What to draw: the same first four give the same table (`mechanisms.draw_blocks`). selection: which
    rows. progress: is given the number of rows so far after each block."""

    model: Model
    rows: int
    seed: str
    selection: RowSelection | None = None
    progress: Callable[[int], None] = lambda _: None

    def blocks(self) -> Iterator[pd.DataFrame]:
        """Its rows, block by block."""
        rows = 0
        for block in self._blocks():
            rows += len(block)
            self.progress(rows)
            yield block

    def codes(self) -> Iterator[Codes]:
        """The codes of its rows, which no conditions choose, block by block."""
        return self.model.sample_blocks(self.rows, seed=self.seed)

    def _blocks(self) -> Iterator[pd.DataFrame]:
        if self.selection is not None:
            return row_selection.draw_blocks(
                self.model, self.rows, self.seed, selection=self.selection
            )
        return mechanisms.draw_blocks(self.model, self.rows, self.seed)


def write(
    model: Model,
    rows: int,
    *,
    seed: str,
    path: Path,
    overwrite: bool = True,
    declared: bool = False,
) -> str:
    """Draws a table into a file; all else as in `write_drawn`."""
    draw = Drawing(model=model, rows=rows, seed=seed)
    return write_drawn(draw, path=path, overwrite=overwrite, declared=declared)


def write_drawn(
    draw: Drawing, *, path: Path, overwrite: bool = True, declared: bool = False
) -> str:
    """Draws a table into a file whose name ends in one of `FORMATS`; returns its SHA-256. The file appears
    whole or not at all. declared: as in `fill`."""
    require_format(path, domain=draw.model.domain, declared=declared)
    digest = ""

    def fill_it(temporary: Path) -> None:
        nonlocal digest
        digest = fill(draw, path=temporary, form=path.name, declared=declared)

    outputs.replace(path, fill_it, overwrite=overwrite)
    return digest


def fill(draw: Drawing, *, path: Path, form: str, declared: bool = False) -> str:
    """Draws a table into `path` in the format that the name `form` ends in; returns the SHA-256 of the file,
    which is on the disk by then. declared: a CSV in the declared form of its file. OSError where the disk
    does not take it."""
    if form.endswith(".xlsx"):
        codec.require_rows(draw.rows, columns=len(draw.model.domain.table_columns))
    if form.endswith(".parquet"):
        _write_parquet(draw, path=path)
    elif form.endswith(".xlsx"):
        with path.open("wb") as file:
            codec.write_workbook(draw.model.domain, draw.blocks(), file)
    elif form.endswith(".dat.gz"):
        # Neither name nor time of day: the same baskets, the same bytes.
        with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            packed.writelines(basket_pieces(draw))
    else:
        usual = declared_pieces if declared else csv_pieces
        pieces = basket_pieces if form.endswith(".dat") else usual
        with path.open("wb") as file:
            file.writelines(pieces(draw))
    with path.open("rb") as written:
        os.fsync(written.fileno())
        return hashlib.file_digest(written, "sha256").hexdigest()


def csv_pieces(draw: Drawing) -> Iterator[bytes]:
    """The table as CSV in UTF-8, block by block; a missing value by its first marker."""
    domain = draw.model.domain
    names = [attribute.name for attribute in domain.table_columns]
    yield codec.csv_lines(pd.DataFrame([names])).encode()
    for block in draw.blocks():
        yield codec.csv_lines(codec.as_text(domain, block)).encode()


def declared_pieces(draw: Drawing) -> Iterator[bytes]:
    """The table as its file came in: in the declared form of the file, block by block."""
    writer = codec.DeclaredFormWriter(draw.model.domain)
    yield writer.header()
    for block in draw.blocks():
        yield writer.block(block)


def basket_pieces(draw: Drawing) -> Iterator[bytes]:
    """A basket in each line, in UTF-8, block by block."""
    (column,) = draw.model.domain.table_columns
    for block in draw.blocks():
        yield "".join(f"{text}\n" for text in block[column.name]).encode()


def require_format(path: Path, *, domain: Domain | None = None, declared: bool = False) -> None:
    """Refuses a file name of another format, one for baskets where something else is drawn, or one in a
    folder that is not there."""
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


def _write_parquet(draw: Drawing, *, path: Path) -> None:
    schema = arrow_schema(draw.model.domain)
    with pq.ParquetWriter(path, schema) as writer:
        for table in _arrow_blocks(draw, schema):
            writer.write_table(table)


def _arrow_blocks(draw: Drawing, schema: pa.Schema) -> Iterator[pa.Table]:
    """The blocks of a table; without data frames where each code stands for one value."""
    values = codec.values_of_codes(draw.model.domain)
    if draw.selection is not None or values is None:
        for frame in draw.blocks():
            yield pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        return
    arrays = {
        field.name: pa.array(values[field.name], type=field.type, from_pandas=True)
        for field in schema
    }
    rows = 0
    for codes in draw.codes():
        rows += len(next(iter(codes.values())))
        yield pa.table(
            {name: array.take(pa.array(codes[name])) for name, array in arrays.items()},
            schema=schema,
        )
        draw.progress(rows)


def arrow_schema(domain: Domain) -> pa.Schema:
    """Column types of a drawn table; a missing value is null."""
    return pa.schema(
        [
            pa.field(
                a.name,
                domain.written_like(a).arrow_type,
                nullable=a.missing is not None or isinstance(a, Derived | NotFound),
            )
            for a in domain.table_columns
        ]
    )
