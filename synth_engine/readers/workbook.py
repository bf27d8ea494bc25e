"""A sheet of an Excel workbook as blocks of text columns.

A workbook is a ZIP archive that may unpack to anything, so it is unpacked once for nothing and looked at before it is
opened. Its cells have types; what each becomes is said in `cells`. Formulas count by the value that was saved with them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import python_calamine as calamine

from synth_engine import formats
from synth_engine.errors import TableError
from synth_engine.formats import Dialect, Kind
from synth_engine.readers import archive, cells, tried
from synth_engine.readers.source import Block, Limits, Progress, Shape


class Row(NamedTuple):
    """A row that is not blank, with its number in the sheet."""

    number: int
    values: list[Any]


def blocks(
    path: Path,
    *,
    kind: Kind,
    limits: Limits,
    dialect: Dialect | None,
    shape: Shape,
    wanted: Sequence[str] | None,
    progress: Progress,
) -> Iterator[Block]:
    """Columns of a sheet as text, block by block."""
    dialect = dialect or Dialect()
    with _opened(path, kind=kind, limits=limits) as book:
        sheet = _sheet(book, dialect.sheet)
        rows = _rows(sheet, dialect, shape)
        names = _names(rows, dialect, width=sheet.width, limits=limits, shape=shape)
        _refuse_merged(sheet, below=shape.lines)
        places = {name: place for place, name in enumerate(names) if wanted is None or name in wanted}
        waiting: list[list[Any]] = []
        for row in _complete(rows, width=len(names)):
            shape.rows, shape.lines = shape.rows + 1, row.number
            if shape.rows > limits.rows:
                raise TableError("more rows than are allowed", repair="use a smaller table")
            waiting.append(row.values)
            if len(waiting) == limits.rows_at_once(len(names)):
                progress("read", min(1.0, row.number / max(1, sheet.total_height)))
                yield _block(waiting, places, limits=limits)
                waiting = []
        progress("read", 1.0)
        if waiting:
            yield _block(waiting, places, limits=limits)
    shape.notes.append("Numbers, dates and times of the sheet were written as a CSV would hold them.")


def columns(path: Path, *, kind: Kind, limits: Limits, dialect: Dialect | None) -> tuple[str, ...]:
    """The names in the header; without a header, as many as the dialect says, and no look."""
    dialect, shape = dialect or Dialect(), Shape()
    if not dialect.header and dialect.columns is not None:
        return formats.counted_names(dialect.columns)
    with _opened(path, kind=kind, limits=limits) as book:
        sheet = _sheet(book, dialect.sheet)
        return _names(_rows(sheet, dialect, shape), dialect, width=sheet.width, limits=limits, shape=shape)


def _opened(path: Path, *, kind: Kind, limits: Limits) -> calamine.CalamineWorkbook:
    try:
        with path.open("rb") as file:
            formats.check_kind(kind, file.read(formats.HEAD))
        if kind == "xlsx":
            archive.look_through(path, limits=limits)
        elif tried.is_deadly(path, kind=kind, cells=archive.MOST_CELLS):
            raise TableError(archive.UNUSABLE, repair=formats.SAVE_AS_CSV)
        return calamine.CalamineWorkbook.from_path(path)
    except calamine.PasswordError:
        raise TableError("the workbook has a password", repair="save it without; it is encrypted on arrival") from None
    except (OSError, MemoryError, calamine.CalamineError):
        raise TableError(archive.UNUSABLE, repair=formats.SAVE_AS_CSV) from None


def _sheet(book: calamine.CalamineWorkbook, name: str) -> calamine.CalamineSheet:
    """The one that is said, or the only one with cells."""
    try:
        if name:
            if name not in book.sheet_names:
                raise TableError("the workbook has no sheet of this name", repair="say the name as the workbook has it")
            return book.get_sheet_by_name(name)
        plain = [one.name for one in book.sheets_metadata if one.typ == calamine.SheetTypeEnum.WorkSheet]
        found = [sheet for sheet in map(book.get_sheet_by_name, plain) if sheet.height]
    except (calamine.CalamineError, OSError, MemoryError):
        raise TableError(archive.UNUSABLE, repair=formats.SAVE_AS_CSV) from None
    if not found:
        raise TableError("the file is empty", repair="upload a table with a header and rows")
    if len(found) > 1:
        raise TableError("more than one sheet has cells", repair="say which of them is the table, or keep that one")
    return found[0]


def _rows(sheet: calamine.CalamineSheet, dialect: Dialect, shape: Shape) -> Iterator[Row]:
    """The rows that are not blank, without those above and below the table."""
    held: deque[Row] = deque()
    blank = 0
    for number, values in enumerate(sheet.iter_rows(), start=1):
        if number <= dialect.skip:
            continue
        if all(value == "" for value in values):
            blank += number > (sheet.start or (0, 0))[0]
            continue
        held.append(Row(number, values))
        if len(held) > dialect.footer:
            yield held.popleft()
    if blank:
        shape.notes.append(f"{blank} blank lines were left out.")


def _names(rows: Iterator[Row], dialect: Dialect, *, width: int, limits: Limits, shape: Shape) -> tuple[str, ...]:
    """The names of the columns. Without a header the width of the sheet says how many there are."""
    if not dialect.header:
        counted = formats.counted_names(dialect.columns or width)
        shape.columns = formats.checked_names(counted, most=limits.columns)
        shape.dialect = replace(dialect, columns=len(counted))
        return shape.columns
    first = next(rows, None)
    if first is None:
        raise TableError("the file is empty", repair="upload a table with a header and rows")
    names = [cells.text(value) or "" for value in first.values]
    while names and not names[-1].strip():
        names.pop()
    shape.lines, shape.dialect = first.number, dialect
    shape.columns = formats.checked_names(names, most=limits.columns, line=first.number)
    if formats.looks_like_data(shape.columns):
        raise TableError(
            "the first line looks like data",
            repair="put a line of column names on top, or say that there is none",
            line=first.number,
        )
    return shape.columns


def _complete(rows: Iterable[Row], *, width: int) -> Iterator[Row]:
    for row in rows:
        if len(row.values) < width or any(value != "" for value in row.values[width:]):
            raise TableError(
                f"a line with more or fewer cells than the {width} of the header",
                repair="name every column that has cells",
                line=row.number,
            )
        yield row


def _refuse_merged(sheet: calamine.CalamineSheet, *, below: int) -> None:
    """A merged cell has one value and covers many cells: whether it holds for all of them, only a person knows."""
    for _, (last_row, _) in sheet.merged_cell_ranges or []:
        number = last_row + (sheet.start or (0, 0))[0] + 1
        if number >= below:
            raise TableError(
                "merged cells", repair="take them apart, and write the value into each that it is for", line=number
            )


def _block(rows: list[list[Any]], places: dict[str, int], *, limits: Limits) -> Block:
    values = list(zip(*rows, strict=True))
    return {name: cells.column(name, values[place], limits=limits) for name, place in places.items()}
