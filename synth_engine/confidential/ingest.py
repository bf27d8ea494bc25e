"""Reading a table for its steward: its form, a preview, and suggestions for a domain.

Everything in a Reading comes from rows. It is shown to the steward alone and becomes public only where the steward
confirms it as known without the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from synth_engine import formats
from synth_engine.confidential import delimited, sources, suggest
from synth_engine.confidential.sources import Block, Limits, Progress, Shape
from synth_engine.errors import TableError
from synth_engine.formats import Kind

PREVIEW_ROWS = 20


def silent(_stage: str, _fraction: float) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Reading:
    """What the steward sees of a table. `suggestions` have the form of attributes in a domain's JSON, each fact
    marked "suggested", with a sentence under "why"."""

    columns: tuple[str, ...]
    suggestions: list[dict[str, Any]]
    preview: list[list[str]]
    rows: int
    line_count: int
    delimiter: str
    notes: list[str]

    def to_json(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "suggestions": self.suggestions,
            "preview": self.preview,
            "rows": self.rows,
            "line_count": self.line_count,
            "delimiter": self.delimiter,
            "notes": self.notes,
        }


def read(
    path: Path | str, *, kind: Kind | None = None, limits: Limits | None = None, progress: Progress = silent
) -> Reading:
    """Reads a whole table. Raises TableError where it is not well formed."""
    shape = Shape()
    pieces: dict[str, list[pa.Array]] = {}
    preview: list[list[str]] = []
    for block in blocks(path, kind=kind, limits=limits or Limits(), shape=shape, progress=progress):
        pieces = pieces or {name: [] for name in block}
        preview = preview or _head(block)
        for name, texts in block.items():
            pieces[name].append(texts)
    suggestions = []
    for place, (name, texts) in enumerate(pieces.items(), start=1):
        suggestions.append(suggest.attribute(name, pa.chunked_array(texts)))
        progress("suggest", place / len(pieces))
    return Reading(
        columns=shape.columns,
        suggestions=suggestions,
        preview=preview,
        rows=shape.rows,
        line_count=shape.lines,
        delimiter=shape.delimiter,
        notes=shape.notes,
    )


def head(path: Path | str, names: Sequence[str], *, kind: Kind | None = None) -> list[list[str]]:
    """The first rows of some columns, as text."""
    limits = Limits(block_rows=PREVIEW_ROWS)
    block = next(blocks(path, kind=kind, limits=limits, wanted=names))
    return _head({name: block[name] for name in names})


def columns(path: Path | str, *, kind: Kind | None = None, limits: Limits | None = None) -> tuple[str, ...]:
    """The names of a table's columns: its form, no row of it is read."""
    path = Path(path)
    kind = kind or formats.kind_of(path)
    if kind == "parquet":
        return sources.parquet_columns(path)
    return delimited.csv_columns(path, packed=kind == "csv.gz", limits=limits or Limits())


def blocks(
    path: Path | str,
    *,
    kind: Kind | None,
    limits: Limits,
    wanted: Sequence[str] | None = None,
    shape: Shape | None = None,
    progress: Progress = silent,
) -> Iterator[Block]:
    """A table as blocks of text columns; those wanted that it has, or all. Fills `shape` meanwhile."""
    path, shape = Path(path), shape or Shape()
    kind = kind or formats.kind_of(path)
    if kind not in formats.KINDS:
        raise TableError("unknown kind of file", repair=f"use one of {', '.join(formats.KINDS)}")
    if kind == "parquet":
        found = sources.parquet_blocks(path, limits=limits, shape=shape, wanted=wanted, progress=progress)
    else:
        packed = kind == "csv.gz"
        found = delimited.csv_blocks(path, packed=packed, limits=limits, shape=shape, wanted=wanted, progress=progress)
    yield from found
    if not shape.rows:
        raise TableError("a table without rows", repair="add the rows")


def _head(block: Block) -> list[list[str]]:
    columns = [[text or "" for text in texts.slice(0, PREVIEW_ROWS).to_pylist()] for texts in block.values()]
    return [list(row) for row in zip(*columns, strict=True)]
