"""Samples as files: CSV, Parquet, and the dictionary that says what the columns mean.

A table is generated at each download and never stored: the same release, rows and seed give the same bytes.
Values stand in memory a block at a time, so that ten million rows do not need ten million rows of memory.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from synth_engine.domain import Attribute, Derived, Domain, ScaleBins, Text
from synth_engine.evaluation import noisy_tables
from synth_engine.evaluation.marginals import PublishedCounts
from synth_engine.mechanisms import Model
from synth_engine.row_selection import RowSelection
from synth_engine.tables import Drawing
from synthweb.releases import table_writers
from synthweb.releases.models import Release, Sample
from synthweb.releases.table_writers import FileFormat, harmless_text


def stream_csv(sample: Sample, *, for_spreadsheets: bool = False) -> Iterator[str]:
    """The table as CSV text, a block at a time, drawn where it is read. `spool.Download` gives the same text
    to people, within limits."""
    draw = draw_of(sample)
    yield table_writers.header(draw.model.domain, for_spreadsheets=for_spreadsheets)
    yield from table_writers.csv_blocks(draw, for_spreadsheets=for_spreadsheets)


def draw_of(sample: Sample) -> Drawing:
    """What to draw for a sample."""
    return Drawing(
        model=Model.from_json(sample.model_document),
        rows=sample.rows,
        seed=sample.seed,
        selection=selection_of(sample),
    )


def selection_of(sample: Sample) -> RowSelection | None:
    """Which rows it has; None where all are asked for."""
    return None if sample.selection is None else RowSelection.from_json(sample.selection)


def has_form(sample: Sample) -> bool:
    """Whether the description states how the file is written, as a whole or in some column."""
    domain = sample.model_document["domain"]
    return "file" in domain or any("written" in column for column in domain["attributes"])


def columns_of_one_marker(sample: Sample) -> list[str]:
    """Columns with several markers of missing values, all of which a sample writes as the first one."""
    return [
        column["name"]
        for column in sample.model_document["domain"]["attributes"]
        if len(column.get("missing") or ()) > 1 and not column.get("separate_markers")
    ]


def csv_media_type(sample: Sample, format: FileFormat) -> str:
    """The media type of a CSV, with the encoding that the description states for the file where it is written
    so."""
    stated = sample.model_document["domain"].get("file") if format == "declared" else None
    return f"text/csv; charset={(stated or {}).get('encoding', 'utf-8')}"


def stream_lines(lines: Iterable[Sequence[object]]) -> Iterator[str]:
    """Rows as CSV text, one at a time; no text in it is one that a spreadsheet would run."""
    for line in lines:
        text = io.StringIO()
        cells = [harmless_text(cell) if isinstance(cell, str) else cell for cell in line]
        csv.writer(text, lineterminator="\n").writerow(cells)
        yield text.getvalue()


def noisy_lines(published: PublishedCounts) -> Iterator[str]:
    """The noisy tables of a release as CSV text, for people: no text in it is one that a spreadsheet would
    run."""
    names = noisy_tables.schema_of(noisy_tables.width_of(published.tables)).names
    yield from stream_lines([names])
    for block in noisy_tables.blocks(published.tables, published.domain):
        columns = [block.column(name).to_pylist() for name in names]
        yield "".join(stream_lines(zip(*columns, strict=True)))


def write_parquet(sample: Sample, file: IO[bytes]) -> None:
    """The table as Parquet with natural types, one row group a block."""
    file.writelines(table_writers.pieces(draw_of(sample), "parquet"))


def data_dictionary(release: Release) -> list[dict[str, object]]:
    """A row for each column: kind, declared values or bounds, how missing is written, where the fact comes
    from."""
    # The model's domain, not the description: it also has the values that the run learned.
    domain = Domain.from_json(release.model["domain"])
    return [describe(attribute) for attribute in domain.table_columns]


def describe(attribute: Attribute) -> dict[str, object]:
    """One line of the dictionary."""
    return {
        "column": attribute.name,
        "kind": attribute.kind,
        "values": _values(attribute),
        "missing": attribute.missing[0] if attribute.missing else "",
        "outside": attribute.outside,
        "provenance": ", ".join(sorted(set(attribute.facts.values()))),
    }


def _values(attribute: Attribute) -> str:
    """Bounds of a scale, or the declared list: at most fifty of it, the whole stands in the domain
    document."""
    document = attribute.to_json()
    if not attribute.is_found:
        return "not found"
    if isinstance(attribute, Derived):
        return attribute.sentence
    if isinstance(attribute, ScaleBins):
        # What was learned, not the bounds of what could be.
        label = attribute.lattice.label
        return f"{label(attribute.cuts[0])} to {label(attribute.cuts[-1] - 1)}"
    if isinstance(attribute, Text):
        return attribute.words
    if "low" in document:
        return f"{document['low']} to {document['high']}"
    labels = attribute.value_labels
    return ", ".join(labels[:50]) + (f", … ({len(labels)} values)" if len(labels) > 50 else "")


def dictionary_csv(release: Release) -> str:
    """The dictionary as CSV, for people: no text in it is one that a spreadsheet would run as a formula. The
    JSON form has every text as it is."""
    rows = data_dictionary(release)
    return "".join(stream_lines([list(rows[0]), *(list(row.values()) for row in rows)]))
