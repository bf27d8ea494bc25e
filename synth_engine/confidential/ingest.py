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
from synth_engine.formats import Dialect, Kind

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
    dialect: Dialect | None
    notes: list[str]

    def to_json(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "suggestions": self.suggestions,
            "preview": self.preview,
            "rows": self.rows,
            "line_count": self.line_count,
            "dialect": self.dialect and self.dialect.to_json(),
            "notes": self.notes,
        }


def detect(path: Path | str, *, kind: Kind | None = None, limits: Limits | None = None) -> Dialect | None:
    """How a CSV is written, guessed from its content; None for other kinds."""
    path, limits = Path(path), limits or Limits()
    kind = kind or _found_kind(path, limits=limits)
    return None if kind == "parquet" else delimited.detect(path, packed=kind == "csv.gz", limits=limits)


def read(
    path: Path | str,
    *,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    limits: Limits | None = None,
    progress: Progress = silent,
) -> Reading:
    """Reads a whole table. Raises TableError where it is not well formed."""
    shape, limits = Shape(), limits or Limits()
    pieces: dict[str, list[pa.Array]] = {}
    preview: list[list[str]] = []
    for block in blocks(path, kind=kind, dialect=dialect, limits=limits, shape=shape, progress=progress):
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
        dialect=shape.dialect,
        notes=shape.notes,
    )


def head(
    path: Path | str, names: Sequence[str], *, kind: Kind | None = None, dialect: Dialect | None = None
) -> list[list[str]]:
    """The first rows of some columns, as text."""
    limits = Limits(block_rows=PREVIEW_ROWS)
    block = next(blocks(path, kind=kind, dialect=dialect, limits=limits, wanted=names))
    return _head({name: block[name] for name in names})


def columns(
    path: Path | str, *, kind: Kind | None = None, dialect: Dialect | None = None, limits: Limits | None = None
) -> tuple[str, ...]:
    """The names of a table's columns: its form, no row of it is read."""
    path, limits = Path(path), limits or Limits()
    kind = kind or _found_kind(path, limits=limits)
    if kind == "parquet":
        return sources.parquet_columns(path, limits=limits)
    return delimited.csv_columns(path, packed=kind == "csv.gz", limits=limits, dialect=dialect)


def blocks(
    path: Path | str,
    *,
    kind: Kind | None,
    limits: Limits,
    dialect: Dialect | None = None,
    wanted: Sequence[str] | None = None,
    shape: Shape | None = None,
    progress: Progress = silent,
) -> Iterator[Block]:
    """A table as blocks of text columns; those wanted that it has, or all. Fills `shape` meanwhile. Nothing about the
    form of a CSV is guessed from its rows here: without a dialect it is UTF-8 with a header."""
    path, shape = Path(path), shape or Shape()
    kind = kind or _found_kind(path, limits=limits)
    if kind not in formats.KINDS:
        raise TableError("unknown kind of file", repair=f"use one of {', '.join(formats.KINDS)}")
    if kind == "parquet":
        yield from sources.parquet_blocks(path, limits=limits, shape=shape, wanted=wanted, progress=progress)
    else:
        yield from delimited.csv_blocks(
            path,
            packed=kind == "csv.gz",
            limits=limits,
            dialect=dialect,
            shape=shape,
            wanted=wanted,
            progress=progress,
        )
    if not shape.rows:
        raise TableError("a table without rows", repair="add the rows")


def _found_kind(path: Path, *, limits: Limits) -> Kind:
    with sources.Meter(path, packed=False, limits=limits) as meter:
        return formats.found_kind(meter.read(formats.HEAD) or b"")


def _head(block: Block) -> list[list[str]]:
    columns = [[text or "" for text in texts.slice(0, PREVIEW_ROWS).to_pylist()] for texts in block.values()]
    return [list(row) for row in zip(*columns, strict=True)]
