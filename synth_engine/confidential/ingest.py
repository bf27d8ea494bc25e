"""Reading a table for its steward: its form, a preview, and suggestions for a domain.

Everything in a Reading comes from rows. It is shown to the steward alone and becomes public only where the steward
confirms it as known without the data."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synth_engine.confidential import suggest
from synth_engine.confidential.summary import Column
from synth_engine.formats import Dialect, Kind, Marks
from synth_engine.readers import Block, Limits, Progress, Shape, blocks, silent

PREVIEW_ROWS = 20
TOTALS = (
    "total",
    "totals",
    "grand total",
    "sum",
    "all",
    "gesamt",
    "summe",
    "insgesamt",
    "totale",
    "totaal",
    "suma",
)
THREADS = 2  # columns of a block are looked at side by side


@dataclass(frozen=True, kw_only=True, repr=False)
class Reading:
    """The reading of a table for its steward. `suggestions` have the form of attributes in a
    domain's JSON, each fact marked "suggested", with a sentence under "why". `unique` are
    columns that seem to be different in every row."""

    columns: tuple[str, ...]
    suggestions: list[dict[str, Any]]
    preview: list[list[str]]
    rows: int
    line_count: int
    dialect: Dialect | None
    notes: list[str]
    unique: list[str]

    def to_json(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "suggestions": self.suggestions,
            "preview": self.preview,
            "rows": self.rows,
            "line_count": self.line_count,
            "dialect": self.dialect and self.dialect.to_json(),
            "notes": self.notes,
            "unique": self.unique,
        }


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
    columns: dict[str, Column] = {}
    preview: list[list[str]] = []
    last: list[str] = []
    marks = dialect.marks if dialect else Marks()
    with ThreadPoolExecutor(max_workers=THREADS) as pool:
        for block in blocks(
            path, kind=kind, dialect=dialect, limits=limits, shape=shape, progress=progress
        ):
            columns = columns or {name: Column(marks, of=len(block)) for name in block}
            preview = preview or _head(block)
            last = _row(block, -1)
            list(
                pool.map(Column.add, columns.values(), block.values())
            )  # a failure comes out here
    # Only a note: whether the row is left out is decided by the steward, who states it in the
    # dialect.
    if last and last[0].strip().casefold() in TOTALS:
        shape.notes.append(
            "The last row seems to be a sum: if it is, say that a line at the end is to be left out."
        )
    suggestions = []
    for number, (name, column) in enumerate(columns.items(), start=1):
        suggestions.append(suggest.attribute(name, column, codebook=shape.facts.get(name)))
        progress("suggest", number / len(columns))
    return Reading(
        columns=shape.columns,
        suggestions=suggestions,
        preview=preview,
        rows=shape.rows,
        line_count=shape.lines,
        dialect=shape.dialect,
        notes=shape.notes,
        unique=[name for name, column in columns.items() if column.unique],
    )


def head(
    path: Path | str,
    names: Sequence[str],
    *,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
) -> list[list[str]]:
    """The first rows of some columns, as text; of a table that a run has read, which may have none."""
    limits = Limits(block_rows=PREVIEW_ROWS)
    first_blocks = blocks(
        path, kind=kind, dialect=dialect, limits=limits, wanted=names, mode="total"
    )
    block = next(first_blocks, None)
    if block is None:
        return []
    return _head({name: block[name] for name in names})


def _row(block: Block, index: int) -> list[str]:
    return [texts[index].as_py() or "" for texts in block.values()]


def _head(block: Block) -> list[list[str]]:
    columns = [
        [text or "" for text in texts.slice(0, PREVIEW_ROWS).to_pylist()]
        for texts in block.values()
    ]
    return [list(row) for row in zip(*columns, strict=True)]
