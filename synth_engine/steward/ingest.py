"""Reading a table for its steward: its form, a preview, and suggestions for a domain.

Everything in a Reading comes from rows. It is shown to the steward alone and becomes public only where the
steward confirms it as known without the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from synth_engine.errors import TableError
from synth_engine.formats import Dialect, Kind, Marks
from synth_engine.readers import Block, Limits, Progress, ReadOptions, Shape, blocks, silent
from synth_engine.steward import ambiguous, header_units, relations, suggest, value_lists
from synth_engine.steward.cell_sample import CellsDocument, cells_of_each
from synth_engine.steward.hints import FormQuestion, FormQuestionDocument, HintDocument
from synth_engine.steward.summary import Column
from synth_engine.strict_json import JsonObject
from synth_engine.threads import Pool

PREVIEW_ROWS = 20
ASKED_OF_FILE = (
    "How its numbers are written is a question about the whole file, and asked there."
)
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


class ReadingDocument(TypedDict):
    """A reading as JSON."""

    reader: int
    columns: list[str]
    suggestions: list[dict[str, object]]
    preview: list[list[str]]
    rows: int
    line_count: int
    dialect: JsonObject | None
    notes: list[str]
    unique: list[str]
    hints: dict[str, HintDocument]
    questions: list[FormQuestionDocument]
    cells: dict[str, CellsDocument]
    rules: list[dict[str, object]]


@dataclass(frozen=True, kw_only=True, repr=False)
class Reading:
    """The reading of a table for its steward. `suggestions` have the form of attributes in a domain's JSON,
    each fact marked "suggested", with a sentence under "why". `unique` are columns that seem to be different
    in every row. `hints`: of each column, how sure its suggestion is and what else it could be. `questions`:
    about the form of the file, with their answers. `cells`: of each column, cells as they are written, with
    the rows that each stands for. `rules`: between columns, that hold in the rows looked through
    (`held_rule.HeldRule`)."""

    columns: tuple[str, ...]
    suggestions: list[dict[str, object]]
    preview: list[list[str]]
    rows: int
    line_count: int
    dialect: Dialect | None
    notes: list[str]
    unique: list[str]
    hints: dict[str, HintDocument] = field(default_factory=dict)
    questions: list[FormQuestionDocument] = field(default_factory=list)
    cells: dict[str, CellsDocument] = field(default_factory=dict)
    rules: list[dict[str, object]] = field(default_factory=list)

    def to_json(self) -> ReadingDocument:
        return {
            "reader": suggest.READER,
            "columns": list(self.columns),
            "suggestions": self.suggestions,
            "preview": self.preview,
            "rows": self.rows,
            "line_count": self.line_count,
            "dialect": None if self.dialect is None else self.dialect.to_json(),
            "notes": self.notes,
            "unique": self.unique,
            "hints": self.hints,
            "questions": self.questions,
            "cells": self.cells,
            "rules": self.rules,
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
    table = _Ingested(dialect=dialect)
    options = ReadOptions(limits=limits or Limits(), progress=progress)
    with Pool(THREADS) as pool:
        for block in blocks(
            path, kind=kind, dialect=dialect, shape=table.shape, options=options
        ):
            table.add(block, pool)
    table.note_sum()
    shape, columns, form = table.shape, table.columns, table.form
    suggested = table.suggestions(progress)
    rules = relations.held_rules(
        table.rows.columns() if table.rows else {},
        [each.attribute for each in suggested],
        table.marks,
    )
    for each in suggested:
        each.hint.remarks += [rule.remark for rule in rules.get(each.attribute["name"], ())]
    marks_question = _marks_question(suggested, form)
    preview = table.preview
    questions = [
        header_units.question(columns, dict(zip(columns, preview[0], strict=True)), form)
        if preview
        else None,
        marks_question,
    ]
    return Reading(
        columns=shape.columns,
        suggestions=[each.attribute for each in suggested],
        preview=preview,
        rows=shape.rows,
        line_count=shape.lines,
        dialect=shape.dialect,
        notes=shape.notes,
        unique=[name for name, column in columns.items() if column.unique],
        hints={each.attribute["name"]: each.hint.to_json() for each in suggested},
        questions=[question.to_json() for question in questions if question is not None],
        cells={
            name: column.cells(cells_of_each(len(columns))) for name, column in columns.items()
        },
        rules=[rule.to_json() for several in rules.values() for rule in several],
    )


@dataclass
class _Ingested:
    """What is kept of a table while its blocks are read. dialect: as it was stated; rows: a sample."""

    dialect: Dialect | None
    shape: Shape = field(default_factory=Shape)
    columns: dict[str, Column] = field(default_factory=dict)
    preview: list[list[str]] = field(default_factory=list)
    last: list[str] = field(default_factory=list)
    rows: relations.RowSample | None = None
    persons: value_lists.PersonCounts = field(default_factory=value_lists.PersonCounts)

    @property
    def form(self) -> Dialect | None:
        """How the table is written: a form that was not stated is guessed before the first block."""
        return self.dialect or self.shape.dialect

    @property
    def marks(self) -> Marks:
        return self.form.marks if self.form else Marks()

    def add(self, block: Block, pool: Pool) -> None:
        marks = self.marks
        self.columns = self.columns or {name: Column(marks, of=len(block)) for name in block}
        self.rows = self.rows or relations.RowSample(list(block))
        self.rows.add(block)
        self.persons.add(block)
        self.preview = self.preview or _head(block)
        _refuse_descriptions(self.preview)
        self.last = _row(block, -1)
        # A failure comes out of the list.
        list(pool.map(Column.add, self.columns.values(), block.values()))

    def note_sum(self) -> None:
        """Only a note: whether the row is left out is decided by the steward, who states it in the form."""
        if self.last and self.last[0].strip().casefold() in TOTALS:
            self.shape.notes.append(
                "The last row seems to be a sum: if it is, say that a line at the end is to be left out."
            )

    def suggestions(self, progress: Progress) -> list[suggest.ColumnSuggestion]:
        suggested = []
        for number, (name, column) in enumerate(self.columns.items(), start=1):
            facts, holders = self.shape.facts.get(name), self.persons.of(name)
            suggested.append(suggest.suggestion(name, column, codebook=facts, holders=holders))
            progress("suggest", number / len(self.columns))
        return suggested


def _marks_question(
    suggested: list[suggest.ColumnSuggestion], form: Dialect | None
) -> FormQuestion | None:
    """What the marks of a file's numbers are, where its cells do not decide it; the columns that are asked
    about say so."""
    if form is None:
        return None
    asked = {
        each.attribute["name"]: each.numbers for each in suggested if each.numbers is not None
    }
    question = ambiguous.form_question(asked, form.marks, decimals=_with_decimals(suggested))
    for each in suggested:
        if question is not None and each.attribute["name"] in question.columns:
            each.hint.question = ASKED_OF_FILE
    return question


def _refuse_descriptions(preview: Sequence[Sequence[str]]) -> None:
    """Refuses records that survey programs write below the names, to say what the columns are."""
    for place, row in enumerate(preview[:3], start=2):
        if sum(cell.startswith('{"ImportId"') for cell in row) * 2 > len(row):
            raise TableError(
                "lines below the names describe the columns, and are no records",
                repair=f"say that the header has {place} lines (header_lines), or remove those below the "
                "names",
                line=place,
            )


def _with_decimals(suggested: list[suggest.ColumnSuggestion]) -> list[str]:
    """The columns that are suggested as numbers with decimals."""
    attributes = [each.attribute for each in suggested]
    return [
        each["name"]
        for each in attributes
        if each.get("of", each["kind"]) == "number" and each.get("step", 0.1) != 1
    ]


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
        path,
        kind=kind,
        dialect=dialect,
        options=ReadOptions(limits=limits, wanted=names, mode="total"),
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
