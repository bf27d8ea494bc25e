"""Samples as files: CSV, Parquet, and the dictionary that says what the columns mean.

A table is drawn anew at each download and never stored: the same release, rows and seed give the same bytes. Values
stand in memory a block at a time, so that ten million rows do not need ten million rows of memory.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from synth_engine import codec, mechanisms
from synth_engine.domain import Attribute, Domain, Text
from synth_engine.mechanisms import Model
from synthweb.releases.models import Release, Sample

NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
# What a spreadsheet takes for the start of a formula; the last four are the wide forms of the first.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def stream_csv(sample: Sample, *, for_spreadsheets: bool = False) -> Iterator[str]:
    """The table as CSV text, a block at a time. `for_spreadsheets` puts an apostrophe before texts that a spreadsheet
    would run as a formula; other programs want the values as they are."""
    model = Model.from_json(sample.model_document)
    for number, block in enumerate(mechanisms.draw_blocks(model, sample.rows, sample.seed)):
        written = codec.as_text(model.domain, block)
        if for_spreadsheets:
            written = written.apply(_harmless).rename(columns=harmless_text)
        yield written.to_csv(index=False, header=number == 0, lineterminator="\n")


def _harmless(column: pd.Series) -> pd.Series:
    """Each text as it is, or with an apostrophe before it. Any column may hold one that a spreadsheet would run: a
    marker of missing values is a text, too, and a date is written as its format says."""
    places, texts = pd.factorize(column)
    return pd.Series([harmless_text(text) for text in texts], dtype="str").take(places).set_axis(column.index)


def harmless_text(text: str) -> str:
    """As it is, or with an apostrophe before what a spreadsheet would run."""
    risky = text.startswith(FORMULA) and not NUMBER.fullmatch(text)
    return f"'{text}" if risky else text


def stream_lines(lines: Iterable[Sequence[object]]) -> Iterator[str]:
    """Rows as CSV text, one at a time; no text in it is one that a spreadsheet would run."""
    for line in lines:
        text = io.StringIO()
        written = [harmless_text(cell) if isinstance(cell, str) else cell for cell in line]
        csv.writer(text, lineterminator="\n").writerow(written)
        yield text.getvalue()


def write_parquet(sample: Sample, file: IO[bytes]) -> None:
    """The table as Parquet with natural types, one row group a block."""
    model = Model.from_json(sample.model_document)
    writer: pq.ParquetWriter | None = None
    for block in mechanisms.draw_blocks(model, sample.rows, sample.seed):
        table = pa.Table.from_pandas(block, preserve_index=False).replace_schema_metadata(None)
        writer = writer or pq.ParquetWriter(file, table.schema, compression="zstd")
        writer.write_table(table)
    if writer:
        writer.close()


def data_dictionary(release: Release) -> list[dict[str, Any]]:
    """A row for each column: kind, declared values or bounds, how missing is written, where the fact comes from."""
    domain = Domain.from_json(release.model["domain"])
    return [_describe(attribute) for attribute in domain.drawn]


def _describe(attribute: Attribute) -> dict[str, Any]:
    return {
        "column": attribute.name,
        "kind": attribute.kind,
        "values": _values(attribute),
        "missing": attribute.missing[0] if attribute.missing else "",
        "outside": attribute.outside,
        "provenance": ", ".join(sorted(set(attribute.facts.values()))),
    }


def _values(attribute: Attribute) -> str:
    """Bounds of a scale, or the declared list: at most fifty of it, the whole stands in the domain document."""
    document = attribute.to_json()
    if isinstance(attribute, Text):
        return attribute.words
    if "low" in document:
        return f"{document['low']} to {document['high']}"
    labels = attribute.value_labels
    return ", ".join(labels[:50]) + (f", … ({len(labels)} values)" if len(labels) > 50 else "")


def dictionary_csv(release: Release) -> str:
    """The dictionary as CSV, for people: no text in it is one that a spreadsheet would run as a formula. The JSON form has
    every text as it is."""
    rows = data_dictionary(release)
    return "".join(stream_lines([list(rows[0]), *(list(row.values()) for row in rows)]))
