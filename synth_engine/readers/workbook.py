"""A sheet of an Excel workbook as blocks of text columns.

`stored_values` gives the text of each cell. A cell that has no text is refused with its sheet, row and
column; cells that show an error count as missing where the form says so.

The result of a formula that was saved with it may depend on other rows, as a query's may. It is read where
the form names who vouches that it does not; else a reading for a steward refuses it, before anything is paid
for (ADR 156).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from synth_engine import formats
from synth_engine.errors import TableError
from synth_engine.formats import Dialect, Kind
from synth_engine.readers import archive, cell_text, spreadsheet, stored_values
from synth_engine.readers.rules import Rules
from synth_engine.readers.source import Block, Limits, Mode, ReadOptions, Shape
from synth_engine.readers.spreadsheet import Row, Sheet


class Book(Protocol):
    """An opened workbook of either kind."""

    @property
    def sheets(self) -> list[Sheet]: ...

    def rows(self, sheet: Sheet) -> Iterator[Row]: ...

    def has_cells(self, sheet: Sheet) -> bool: ...


def blocks(
    path: Path,
    *,
    kind: Kind,
    dialect: Dialect | None,
    shape: Shape,
    options: ReadOptions,
) -> Iterator[Block]:
    """Columns of a sheet as text, block by block."""
    limits, wanted = options.limits, options.wanted
    progress, mode = options.progress, options.mode
    dialect = dialect or Dialect()
    if mode == "total":
        _require_width(dialect)
    with _opened(path, kind=kind, limits=limits) as book:
        # Without a header a sheet without records has no cell, and a run must not fail because of it.
        bare = mode == "total" and not dialect.header
        sheet = _sheet(book, dialect.sheet, may_be_empty=bare)
        rows = _rows(book, sheet, dialect, shape, mode=mode)
        names = _names(
            rows, dialect, width=lambda: _width(book, sheet), limits=limits, shape=shape
        )
        header = shape.lines
        places = {
            name: place for place, name in enumerate(names) if wanted is None or name in wanted
        }
        waiting: list[list[str]] = []
        results = _Results()
        takes = Rules(dialect, total=mode == "total").takes
        for row in _complete(rows, width=len(names)):
            if not takes(_shown(row, len(names)), line=row.number):
                continue
            _require_one_header(row, names, mode=mode)
            shape.rows, shape.lines = shape.rows + 1, row.number
            if shape.rows > limits.rows:
                raise TableError("more rows than are allowed", repair="use a smaller table")
            results.add(row)
            waiting.append(
                [
                    _text(row, place, sheet=sheet, dialect=dialect, mode=mode)
                    for place in places.values()
                ]
            )
            if len(waiting) == limits.rows_at_once(len(names)):
                progress("read", sheet.fraction)
                yield _block(waiting, list(places), limits=limits, mode=mode)
                waiting = []
        # Merged ranges stand behind the cells in the file, so that they are known only now.
        _refuse_merged(sheet, below=header)
        if mode == "checked" and not dialect.vouched_by:
            results.require_none(names, wanted=places)
        progress("read", 1.0)
        if waiting:
            yield _block(waiting, list(places), limits=limits, mode=mode)
        shape.notes += _notes(sheet)


def require_vouched(path: Path, *, kind: Kind, limits: Limits, dialect: Dialect | None) -> None:
    """Read a sheet for results of formulas alone. Raises TableError for a column that has some for which
    nobody vouches."""
    dialect, shape = dialect or Dialect(), Shape()
    if dialect.vouched_by:
        return
    with _opened(path, kind=kind, limits=limits) as book:
        sheet = _sheet(book, dialect.sheet, may_be_empty=True)
        rows = _rows(book, sheet, dialect, shape)
        names = _names(
            rows, dialect, width=lambda: _width(book, sheet), limits=limits, shape=shape
        )
        results = _Results()
        for row in rows:
            results.add(row)
        results.require_none(names, wanted=names)


class _Results:
    """Where results of formulas stand in a sheet. A formula beside the table is a fact of its row; the
    results of an array that begins in another row are not, wherever they stand: they decide which rows are
    blank."""

    def __init__(self) -> None:
        self._places: set[int] = set()
        self._of_other_rows: set[int] = set()

    def add(self, row: Row) -> None:
        """Count a row in."""
        self._places.update(row.computed)
        if not row.has_formula:
            self._of_other_rows.update(row.computed)

    def require_none(self, names: Sequence[str], *, wanted: Iterable[str]) -> None:
        """Raises TableError for a column of those wanted that has some, and for any of an array beside the
        table."""
        taken = [name for place, name in enumerate(names) if place in self._places]
        _refuse_computed([name for name in taken if name in wanted])
        if any(place >= len(names) for place in self._of_other_rows):
            raise TableError(
                "results of an array formula stand beside the table",
                repair="write values in their place, or say who vouches for the formulas (vouched_by in "
                "the form of the file)",
            )


def columns(
    path: Path, *, kind: Kind, limits: Limits, dialect: Dialect | None
) -> tuple[str, ...]:
    """The names in the header; without a header, as many as the dialect says, and no look."""
    dialect, shape = dialect or Dialect(), Shape()
    if not dialect.header and dialect.columns is not None:
        return formats.counted_names(dialect.columns)
    with _opened(path, kind=kind, limits=limits) as book:
        sheet = _sheet(book, dialect.sheet)
        rows = _rows(book, sheet, dialect, shape)
        return _names(
            rows, dialect, width=lambda: _width(book, sheet), limits=limits, shape=shape
        )


def _require_width(dialect: Dialect) -> None:
    """Without a header the width of a sheet is that of its widest record, which a run must not depend on."""
    if not dialect.header and dialect.columns is None:
        raise TableError(
            "a sheet without a header, of which nobody said how many columns it has",
            repair="say how many there are",
        )


@contextmanager
def _opened(path: Path, *, kind: Kind, limits: Limits) -> Iterator[Book]:
    # Its library takes longer to load than a small CSV to read.
    from synth_engine.readers import old_spreadsheet

    try:
        with path.open("rb") as file:
            head = file.read(formats.HEAD)
    except OSError:
        raise TableError(
            "the file cannot be opened", repair="check its path and rights"
        ) from None
    # An encrypted .xlsx is wrapped in the container format of an .xls.
    if kind == "xlsx" and head.startswith(old_spreadsheet.MAGIC):
        raise TableError(
            "the workbook has a password", repair="save it without; it is encrypted on arrival"
        )
    formats.check_kind(kind, head)
    if kind == "xls":
        yield old_spreadsheet.opened(path)
        return
    with archive.Archive(path, limits=limits) as parts:
        yield spreadsheet.opened(parts)


def _sheet(book: Book, name: str, *, may_be_empty: bool = False) -> Sheet:
    """Return the sheet of this name; without a name the only one with cells, hidden or not. may_be_empty:
    whether the first one is meant where none has cells."""
    if name:
        candidates = [sheet for sheet in book.sheets if sheet.name == name]
        if not candidates:
            raise TableError(
                "the workbook has no sheet of this name",
                repair="say the name as the workbook has it",
            )
        return candidates[0]
    candidates = [sheet for sheet in book.sheets if book.has_cells(sheet)]
    if not candidates and may_be_empty:
        candidates = book.sheets[:1]
    if not candidates:
        raise TableError("the file is empty", repair="upload a table with a header and rows")
    if len(candidates) > 1:
        raise TableError(
            "more than one sheet has cells",
            repair="say which of them is the table, or keep that one",
        )
    return candidates[0]


def _rows(
    book: Book, sheet: Sheet, dialect: Dialect, shape: Shape, *, mode: Mode = "checked"
) -> Iterator[Row]:
    """The rows that are not blank, without those above and below the table. A total reading takes results of
    formulas for which nobody vouches as nothing, before it is asked whether a row is blank."""
    strict = mode == "total" and not dialect.vouched_by
    # Which rows are the last is known at the end of the sheet only: that many are held back.
    held: deque[Row] = deque()
    blank, last = 0, 0
    for stored in book.rows(sheet):
        # The names of the columns are public, however they were computed.
        is_header = dialect.header and not last and stored.number > dialect.skip
        row = _without_results(stored) if strict and not is_header else stored
        # That a formula stands in a row is a fact of the row; what it shows may be one of another.
        blank_row = all(value == "" for value in row.values) and not (
            strict and row.has_formula
        )
        if row.number <= dialect.skip or blank_row:
            continue
        blank += row.number - last - 1 if last else 0
        last = row.number
        held.append(row)
        if len(held) > dialect.footer:
            yield held.popleft()
    if blank:
        shape.notes.append(f"{blank} blank lines were left out.")


def _without_results(row: Row) -> Row:
    """The row with empty cells where formulas stand."""
    values = row.values.copy()
    for place in row.computed:
        values[place : place + 1] = [""] * (place < len(values))
    return row._replace(values=values)


def _width(book: Book, sheet: Sheet) -> int:
    """Count the columns of a sheet, up to its last cell that is not empty."""
    return max((len(row.values) for row in book.rows(sheet)), default=0)


def _names(
    rows: Iterator[Row],
    dialect: Dialect,
    *,
    width: Callable[[], int],
    limits: Limits,
    shape: Shape,
) -> tuple[str, ...]:
    """The names of the columns. Without a header the width of the sheet says how many there are."""
    if not dialect.header:
        counted = formats.counted_names(dialect.columns or width())
        shape.columns = formats.checked_names(counted, most=limits.columns)
        shape.dialect = replace(dialect, columns=len(counted))
        return shape.columns
    first = next(rows, None)
    if first is None:
        raise TableError("the file is empty", repair="upload a table with a header and rows")
    names = ["" if isinstance(value, TableError) else value for value in first.values]
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
    """Rows as long as the header."""
    for row in rows:
        if any(value != "" for value in row.values[width:]):
            raise TableError(
                f"a line with more or fewer cells than the {width} of the header",
                repair="name every column that has cells, in one line: header_lines is of no use in a "
                "workbook",
                line=row.number,
            )
        yield row


def _shown(row: Row, width: int) -> list[str]:
    """The cells of a row that are texts; of others, that they are not empty."""
    shown = [value if isinstance(value, str) else "#" for value in row.values[:width]]
    return shown + [""] * (width - len(shown))


def _require_one_header(row: Row, names: Sequence[str], *, mode: Mode) -> None:
    """Refuses a row that equals the header, in a reading for the steward of a sheet with several columns."""
    if mode == "checked" and len(names) > 1 and _shown(row, len(names)) == list(names):
        raise TableError(
            "the header stands here again",
            repair="keep one table a file, and one header",
            line=row.number,
        )


def _text(row: Row, place: int, *, sheet: Sheet, dialect: Dialect, mode: Mode) -> str:
    """The text of a cell; of one that shows an error, none where the form says so. A total reading takes
    every cell of which there is no text as an empty one."""
    value = row.values[place] if place < len(row.values) else ""
    if isinstance(value, str):
        return value
    if mode == "total" or (value is stored_values.ERROR and dialect.error_cells == "missing"):
        return ""
    where = f"column {spreadsheet.letters(place + 1)} of sheet {sheet.number}"
    raise TableError(f"{value.rule}, in {where}", repair=value.repair, line=row.number)


def _refuse_computed(names: list[str]) -> None:
    """Refuse columns with results of formulas; their names are for the steward."""
    if names:
        raise TableError(
            "stored results of formulas, which may depend on other rows",
            repair="say who vouches that each is computed from its own row alone (vouched_by in the form "
            "of the file; on the command line: "
            '--vouched-by "NAME, ROLE"), or leave these columns out of the sheet',
            column=", ".join(names),
        )


def _refuse_merged(sheet: Sheet, *, below: int) -> None:
    """A merged cell has one value and covers many cells: whether it holds for all of them, only a person
    knows."""
    number = max((last for last in sheet.merged if last >= below), default=None)
    if number is not None:
        raise TableError(
            "merged cells",
            repair="take them apart, and write the value into each that it is for",
            line=number,
        )


def _notes(sheet: Sheet) -> Iterator[str]:
    """Report what somebody who looks at the sheet would not expect."""
    if sheet.hidden:
        yield "The sheet hides rows or columns, by hand or by a filter; they were read like the others."
    if sheet.percents:
        yield "Percentages were read as the numbers that are stored: 25 % is 0.25."
    yield "Numbers, dates and times of the sheet were written as a CSV would hold them."


def _block(rows: list[list[str]], names: list[str], *, limits: Limits, mode: Mode) -> Block:
    values = list(zip(*rows, strict=True)) or [()] * len(names)
    return {
        name: cell_text.column(name, values[place], limits=limits, mode=mode)
        for place, name in enumerate(names)
    }
