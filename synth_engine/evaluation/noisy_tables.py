"""The noisy tables of a run in long form: a row for each cell, with the standard deviation of its noise.
These are published answers: whoever has them can compute estimates of their own."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from synth_engine.domain import Domain
from synth_engine.measurement.paid_counts import Bins, PaidCounts

Kind = Literal["count", "interaction"]
"""count: noisy records of a cell. interaction: what a cell has beyond what the smaller tables of its columns
imply, in records."""
_LISTED = 3
"""Values that a bin of values without an order names before it is cut."""
_ROWS = 100_000
"""Rows of a piece of a file."""


def width_of(tables: Sequence[PaidCounts]) -> int:
    """The largest number of columns of a table."""
    return max((len(table.clique) for table in tables), default=0)


def schema_of(width: int) -> pa.Schema:
    """The columns of the long form: for each axis the name of the column and the value or bin."""
    axes = [
        (f"{what}_{axis}", pa.string())
        for axis in range(1, width + 1)
        for what in ("column", "value")
    ]
    fields = [("table", pa.int32()), ("kind", pa.string()), *axes]
    return pa.schema([*fields, ("noisy", pa.float64()), ("sigma", pa.float64())])


def blocks(tables: Sequence[PaidCounts], domain: Domain) -> Iterator[pa.Table]:
    """The rows of all tables, in the order in which they were asked for.

    domain: the one by which they count, resolved (`paid_counts`). `table` numbers them from 1. An interaction
    is measured in units of 1 / cells of a record (docs/proofs/interaction.md), and given in records.
    """
    width = width_of(tables)
    labels = {attribute.name: attribute.labels for attribute in domain.modelled}
    for number, table in enumerate(tables, start=1):
        names = [
            bin_labels(labels[name], bins)
            for name, bins in zip(table.clique, table.bins, strict=True)
        ]
        values = table.values.reshape(-1)
        unit = math.prod(table.values.shape) if table.interaction else 1
        kind: Kind = "interaction" if table.interaction else "count"
        for start in range(0, values.size, _ROWS):
            cells = np.arange(start, min(start + _ROWS, values.size))
            places = np.unravel_index(cells, table.values.shape) if table.clique else ()
            columns: dict[str, object] = {
                "table": np.full(cells.size, number, dtype=np.int32),
                "kind": [kind] * cells.size,
            }
            for axis in range(width):
                inside = axis < len(table.clique)
                columns[f"column_{axis + 1}"] = [
                    table.clique[axis] if inside else None
                ] * cells.size
                columns[f"value_{axis + 1}"] = (
                    [names[axis][place] for place in places[axis].tolist()]
                    if inside
                    else [None] * cells.size
                )
            columns["noisy"] = values[cells] / unit
            columns["sigma"] = np.full(cells.size, math.sqrt(table.variance) / unit)
            yield pa.table(columns, schema=schema_of(width))


def bin_labels(labels: Sequence[str], bins: Bins) -> list[str]:
    """The text of every bin: a value, the first and the last of neighbouring values, or the first few of
    others."""
    texts = []
    # The codes of each bin, in the order of the bins.
    ends = np.cumsum(np.bincount(bins))[:-1]
    for part in np.split(np.argsort(bins, kind="stable"), ends):
        codes = part.tolist()
        together = all(after == before + 1 for before, after in pairwise(codes))
        if len(codes) == 1:
            texts.append(labels[codes[0]])
        elif together:
            texts.append(f"{labels[codes[0]]} … {labels[codes[-1]]}")
        else:
            listed = " | ".join(labels[code] for code in codes[:_LISTED])
            more = len(codes) - _LISTED
            texts.append(f"{listed} | {more} others" if more > 0 else listed)
    return texts


def parquet_pieces(tables: Sequence[PaidCounts], domain: Domain) -> Iterator[bytes]:
    """All rows as a Parquet file, piece by piece."""
    out = io.BytesIO()
    writer = pq.ParquetWriter(
        pa.PythonFile(out, mode="w"), schema_of(width_of(tables)), compression="zstd"
    )
    for block in blocks(tables, domain):
        writer.write_table(block)
        yield _taken(out)
    writer.close()
    yield _taken(out)


def _taken(out: io.BytesIO) -> bytes:
    """What was written since it was asked for last; Arrow counts the bytes itself."""
    piece = out.getvalue()
    out.seek(0)
    out.truncate()
    return piece
