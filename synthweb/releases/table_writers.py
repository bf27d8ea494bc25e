"""A table drawn from a model as a file, block by block. Nothing here needs Django: a process that only draws
imports this and the engine (`drawing`)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import Literal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from synth_engine import codec
from synth_engine.domain import Domain
from synth_engine.tables import Drawing

NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
# What a spreadsheet takes for the start of a formula; the last four are the wide forms of the first.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

FileFormat = Literal["csv", "spreadsheets", "declared", "parquet", "xlsx"]
"""csv: the clean form. spreadsheets: with an apostrophe before texts that a spreadsheet would run as a
formula. declared: the form that the description states for the file."""
LINE_FORMATS: tuple[FileFormat, ...] = ("csv", "spreadsheets", "declared")


def first_line(domain: Domain, format: FileFormat) -> bytes:
    """The first line of a text file, known before anything is drawn; nothing of other files."""
    if format not in LINE_FORMATS:
        return b""
    if format == "declared":
        return codec.DeclaredFormWriter(domain).header()
    return header(domain, for_spreadsheets=format == "spreadsheets").encode()


def pieces(draw: Drawing, format: FileFormat) -> Iterator[bytes]:
    """The bytes of a file below its `first_line`, a piece for each block as soon as it is drawn."""
    if format == "parquet":
        return _parquet_pieces(draw)
    if format == "xlsx":
        return codec.workbook_pieces(draw.model.domain, draw.blocks())
    if format == "declared":
        return _declared_pieces(draw)
    spreadsheets = format == "spreadsheets"
    return (text.encode() for text in csv_blocks(draw, for_spreadsheets=spreadsheets))


def _declared_pieces(draw: Drawing) -> Iterator[bytes]:
    writer = codec.DeclaredFormWriter(draw.model.domain)
    writer.header()  # which `first_line` gives; a byte order mark comes once
    for block in draw.blocks():
        yield writer.block(block)


def header(domain: Domain, *, for_spreadsheets: bool = False) -> str:
    """The first line of the CSV, known before anything is drawn."""
    names = [attribute.name for attribute in domain.table_columns]
    written = [harmless_text(name) for name in names] if for_spreadsheets else names
    return codec.csv_lines(pd.DataFrame([written]))


def csv_blocks(draw: Drawing, *, for_spreadsheets: bool = False) -> Iterator[str]:
    """The lines below the header. `for_spreadsheets` puts an apostrophe before texts that a spreadsheet would
    run as a formula; other programs want the values as they are."""
    for block in draw.blocks():
        written = codec.as_text(draw.model.domain, block)
        if for_spreadsheets:
            written = written.apply(_harmless)
        yield codec.csv_lines(written)


def for_spreadsheets(lines: Iterable[str]) -> Iterator[str]:
    """CSV that is written already, its header included, with the same apostrophes. lines: of text, each with
    its end."""
    for cells in csv.reader(lines):
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerow(map(harmless_text, cells))
        yield written.getvalue()


def _parquet_pieces(draw: Drawing) -> Iterator[bytes]:
    """The table as Parquet with natural types, one row group a block."""
    written = io.BytesIO()
    writer: pq.ParquetWriter | None = None
    for frame in draw.blocks():
        block = codec.without_markers(draw.model.domain, frame)
        # Without what pandas notes about its index and versions, which is no part of the table.
        group = pa.Table.from_pandas(block, preserve_index=False).replace_schema_metadata(None)
        # Arrow counts the bytes itself, so what was taken may be forgotten.
        writer = writer or pq.ParquetWriter(
            pa.PythonFile(written, mode="w"), group.schema, compression="zstd"
        )
        writer.write_table(group)
        yield _taken(written)
    if writer:
        writer.close()
        yield _taken(written)


def _taken(file: io.BytesIO) -> bytes:
    """What was written since it was asked for last."""
    taken = file.getvalue()
    file.seek(0)
    file.truncate()
    return taken


def _harmless(column: pd.Series) -> pd.Series:
    """Each text as it is, or with an apostrophe before it. Any column may hold one that a spreadsheet would
    run: a marker of missing values is a text, too, and a date is written as its format says."""
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
