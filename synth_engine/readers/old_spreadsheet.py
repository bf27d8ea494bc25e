"""The sheets of an .xls (Excel 97–2003), through a library that keeps the number formats of cells.

The library lays a whole sheet out in memory and trusts what the file says of itself, so that a process of its
own tries it out first (`sandbox.is_deadly`). Numbers are stored in double precision: of a larger whole number
all digits are given that the stored one has.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import xlrd
from xlrd.biffh import XL_EOF, XL_FORMULA_OPCODES, boflen

from synth_engine.readers import archive, sandbox, spreadsheet, stored_values
from synth_engine.readers.spreadsheet import Row, Sheet
from synth_engine.readers.stored_values import Stored

_HEAD = struct.Struct(
    "<HH"
)  # of a record: what it is, and its length; of a cell: row and column
MAGIC = b"\xd0\xcf\x11\xe0"


@dataclass(frozen=True, kw_only=True)
class OldWorkbook:
    """An opened .xls."""

    book: xlrd.book.Book
    sheets: list[Sheet]
    formulas: list[dict[int, tuple[int, ...]]]
    """Of each sheet: row, from zero, → the columns of its formulas."""

    def rows(self, sheet: Sheet) -> Iterator[Row]:
        """The rows of a sheet that have cells, in order."""
        xls_sheet = self.book.sheet_by_index(sheet.number - 1)
        sheet.merged = [last for _, last, _, _ in xls_sheet.merged_cells]
        hidden = [
            one
            for one in (*xls_sheet.rowinfo_map.values(), *xls_sheet.colinfo_map.values())
            if one.hidden
        ]
        sheet.hidden, sheet.percents = len(hidden), 0
        formulas = self.formulas[sheet.number - 1]
        for number in range(xls_sheet.nrows):
            values = [self._stored(cell, sheet) for cell in xls_sheet.row(number)]
            sheet.fraction = (number + 1) / xls_sheet.nrows
            if values:
                computed = formulas.get(number, ())
                yield Row(number + 1, values, computed, bool(computed))

    def has_cells(self, sheet: Sheet) -> bool:
        """Whether anything stands in a sheet."""
        return any(value != "" for row in self.rows(sheet) for value in row.values)

    def _stored(self, cell: xlrd.sheet.Cell, sheet: Sheet) -> Stored:
        match cell.ctype:
            case xlrd.XL_CELL_EMPTY | xlrd.XL_CELL_BLANK:
                return ""
            case xlrd.XL_CELL_ERROR:
                return stored_values.ERROR
            case xlrd.XL_CELL_BOOLEAN:
                return "TRUE" if cell.value else "FALSE"
            case xlrd.XL_CELL_NUMBER | xlrd.XL_CELL_DATE:
                return self._number(cell, sheet)
        return str(cell.value)

    def _number(self, cell: xlrd.sheet.Cell, sheet: Sheet) -> Stored:
        code = self.book.format_map[self.book.xf_list[cell.xf_index].format_key].format_str
        sheet.percents += "%" in code
        value = float(cell.value)
        # `repr` turns a large whole number into an exponent, which hides the digits of a code.
        exact = (
            str(int(value))
            if value.is_integer() and abs(value) < 10**stored_values.MOST_DIGITS
            else repr(value)
        )
        return stored_values.number(exact, code=code, since_1904=bool(self.book.datemode))


def opened(path: Path) -> OldWorkbook:
    """Raises TableError for a file that is no workbook, or that the library would die of."""
    if sandbox.is_deadly(path, kind="xls", cells=spreadsheet.MOST_CELLS):
        archive.refuse()
    try:
        book = xlrd.open_workbook(
            str(path), formatting_info=True, ragged_rows=True, logfile=_Silent(), on_demand=True
        )
        # All sheets, before the bytes are discarded: of a cell the library does not say whether it has a
        # formula.
        read = book.sheets()
        formulas = [_formulas(book.mem, start) for start in book._sh_abs_posn]
        book.release_resources()
    except Exception:  # noqa: BLE001
        # Of a damaged file the library says this or that, and never in our words
        archive.refuse()
    sheets = [
        Sheet(name=sheet.name, number=place, part="")
        for place, sheet in enumerate(read, start=1)
    ]
    return OldWorkbook(book=book, sheets=sheets, formulas=formulas)


def _formulas(stream: bytes, start: int) -> dict[int, tuple[int, ...]]:
    """The formulas of the sheet that begins here: every cell of an array has a record of its own ([MS-XLS]
    2.4.127)."""
    columns_of: dict[int, list[int]] = {}
    place, depth = start, 0
    while place + 4 <= len(stream):
        record, length = _HEAD.unpack_from(stream, place)
        if record in XL_FORMULA_OPCODES:
            row, column = _HEAD.unpack_from(stream, place + 4)
            columns_of.setdefault(row, []).append(column)
        # A chart inside a sheet has a beginning and an end of its own.
        depth += (record in boflen) - (record == XL_EOF)
        if depth == 0:
            break
        place += 4 + length
    return {row: tuple(columns) for row, columns in columns_of.items()}


class _Silent:
    """Drop what the library prints, which could quote the file."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""
