"""A table drawn from a model as a file, block by block. Nothing here needs Django: a process that only draws imports this
and the engine (`drawing`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from synth_engine import codec, mechanisms
from synth_engine.domain import Domain
from synth_engine.mechanisms import Model

NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
# What a spreadsheet takes for the start of a formula; the last four are the wide forms of the first.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

FileFormat = Literal["csv", "spreadsheets", "declared", "parquet", "xlsx"]
"""csv: the clean form. spreadsheets: with an apostrophe before texts that a spreadsheet would run as a formula. declared:
the form that the description states for the file."""
LINE_FORMATS: tuple[FileFormat, ...] = ("csv", "spreadsheets", "declared")


def first_line(domain: Domain, format: FileFormat) -> bytes:
    """The first line of a text file, known before anything is drawn; nothing of other files."""
    if format not in LINE_FORMATS:
        return b""
    if format == "declared":
        return codec.DeclaredFormWriter(domain).header()
    return header(domain, for_spreadsheets=format == "spreadsheets").encode()


def blocks_below(
    model: Model,
    rows: int,
    *,
    seed: str,
    format: FileFormat,
) -> Iterator[bytes]:
    """The lines of a text file below its first one."""
    if format == "declared":
        writer = codec.DeclaredFormWriter(model.domain)
        writer.header()  # which `first_line` gives; a byte order mark comes once
        for block in mechanisms.draw_blocks(model, rows, seed):
            yield writer.block(block)
    else:
        spreadsheets = format == "spreadsheets"
        for text in csv_blocks(model, rows, seed=seed, for_spreadsheets=spreadsheets):
            yield text.encode()


def header(domain: Domain, *, for_spreadsheets: bool = False) -> str:
    """The first line of the CSV, known before anything is drawn."""
    names = [attribute.name for attribute in domain.table_columns]
    written = [harmless_text(name) for name in names] if for_spreadsheets else names
    return str(pd.DataFrame(columns=written).to_csv(index=False, lineterminator="\n"))


def csv_blocks(
    model: Model, rows: int, *, seed: str, for_spreadsheets: bool = False
) -> Iterator[str]:
    """The lines below the header. `for_spreadsheets` puts an apostrophe before texts that a spreadsheet would run as a
    formula; other programs want the values as they are."""
    for block in mechanisms.draw_blocks(model, rows, seed):
        written = codec.as_text(model.domain, block)
        if for_spreadsheets:
            written = written.apply(_harmless)
        yield written.to_csv(index=False, header=False, lineterminator="\n")


def write_file(
    model: Model,
    rows: int,
    *,
    seed: str,
    format: FileFormat,
    file: IO[bytes],
) -> None:
    """The table as Parquet or as a workbook, from beginning to end."""
    if format == "xlsx":
        codec.write_workbook(model.domain, mechanisms.draw_blocks(model, rows, seed), file)
    else:
        write_parquet(model, rows, seed=seed, file=file)


def write_parquet(model: Model, rows: int, *, seed: str, file: IO[bytes]) -> None:
    """The table as Parquet with natural types, one row group a block."""
    writer: pq.ParquetWriter | None = None
    for block in mechanisms.draw_blocks(model, rows, seed):
        # Without what pandas notes about its index and versions, which is no part of the table.
        table = pa.Table.from_pandas(block, preserve_index=False).replace_schema_metadata(None)
        writer = writer or pq.ParquetWriter(file, table.schema, compression="zstd")
        writer.write_table(table)
    if writer:
        writer.close()


def _harmless(column: pd.Series) -> pd.Series:
    """Each text as it is, or with an apostrophe before it. Any column may hold one that a spreadsheet would run: a
    marker of missing values is a text, too, and a date is written as its format says."""
    # Most columns have few distinct texts, and ten million rows may be asked for.
    places, texts = pd.factorize(column)
    return (
        pd.Series([harmless_text(text) for text in texts], dtype="str")
        .take(places)
        .set_axis(column.index)
    )


def harmless_text(text: str) -> str:
    """As it is, or with an apostrophe before what a spreadsheet would run."""
    risky = text.startswith(FORMULA) and not NUMBER.fullmatch(text)
    return f"'{text}" if risky else text
