"""Read the sheets of an .xlsx from their XML: exactly what each cell stores, and where it stands.

A library that turns cells into numbers has rounded them before anybody can ask; the number format of a cell,
which tells a code with leading zeros from a number, is in another part of the archive. Cells are read in
streams: of a sheet one row is held, and the texts that the sheets share.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from synth_engine.errors import TableError
from synth_engine.readers import archive, number_formats, stored_values
from synth_engine.readers.stored_values import Stored

MOST_CELLS = 20_000_000  # of the rectangle around all cells of a sheet
_PLACE = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
_RANGE = re.compile(r"\$?[A-Z]{1,3}\$?([1-9][0-9]{0,6})(?::\$?[A-Z]{1,3}\$?([1-9][0-9]{0,6}))?")
_AREA = re.compile(r"\$?[A-Z]{1,3}\$?[1-9][0-9]{0,6}(?::\$?([A-Z]{1,3})\$?([1-9][0-9]{0,6}))?")
_ROW = re.compile(r"[1-9][0-9]{0,6}")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")  # a sign that XML cannot hold (ST_Xstring)
_ROOT = "_rels/.rels"
_MAIN_PART = "/officeDocument"


class Row(NamedTuple):
    """A row that has cells, with its number in the sheet; an empty text where nothing stands. computed: the
    places, from zero, of cells that hold the stored result of a formula; has_formula: whether one stands in
    the row itself, whatever its result."""

    number: int
    values: list[Stored]
    computed: tuple[int, ...] = ()
    has_formula: bool = False


@dataclass(kw_only=True)
class Sheet:
    """A sheet of a workbook. `merged`, `hidden` and `percents` are complete once its rows have been read."""

    name: str
    number: int  # from 1, as the tabs stand
    part: str
    merged: list[int] = field(default_factory=list)  # the last rows of merged ranges
    hidden: int = 0  # rows and groups of columns that the sheet does not show
    percents: int = 0
    fraction: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Workbook:
    """The parts of a workbook that all its sheets share."""

    parts: archive.Archive
    sheets: list[Sheet]
    codes: list[str]  # the number format of each cell style
    since_1904: bool
    shared: list[Stored]

    def rows(self, sheet: Sheet) -> Iterator[Row]:
        """The rows of a sheet that have cells, in order."""
        reader = _Cells(self, sheet)
        for fraction in self.parts.parse(
            sheet.part, start=reader.start, end=reader.end, text=reader.text
        ):
            sheet.fraction = fraction
            yield from reader.complete()

    def has_cells(self, sheet: Sheet) -> bool:
        """Whether anything stands in a sheet; stops at the first cell."""
        return any(value != "" for row in self.rows(sheet) for value in row.values)


def opened(parts: archive.Archive) -> Workbook:
    """Reads everything but the cells. Raises TableError for an archive that is no workbook."""
    main = next(
        (
            target
            for kind, target in _links(parts, _ROOT, base="").values()
            if kind.endswith(_MAIN_PART)
        ),
        None,
    )
    if main is None or not parts.has(main):
        archive.refuse()
    folder, name = posixpath.split(main)
    links = _links(parts, f"{folder}/_rels/{name}.rels", base=folder)
    listed = _Listed()
    _read(parts, main, listed)
    of_kind = {kind.rpartition("/")[2]: target for kind, target in links.values()}
    styles, texts = _Styles(), _Texts()
    if "styles" in of_kind:
        _read(parts, of_kind["styles"], styles)
    if "sharedStrings" in of_kind:
        _read(parts, of_kind["sharedStrings"], texts)
    sheets = [
        Sheet(name=sheet_name, number=place, part=links[link][1])
        for place, (sheet_name, link) in enumerate(listed.sheets, start=1)
        if link in links and links[link][0].endswith("/worksheet")
    ]
    return Workbook(
        parts=parts,
        sheets=sheets,
        codes=styles.codes,
        since_1904=listed.since_1904,
        shared=texts.texts,
    )


def letters(column: int) -> str:
    """The letters that name a column, counted from 1."""
    text = ""
    while column:
        column, rest = divmod(column - 1, 26)
        text = chr(65 + rest) + text
    return text


def unescaped(text: str) -> Stored:
    """The text that a spreadsheet shows: signs that XML cannot hold stand in it as _x000D_."""
    if "_x" not in text:
        return text
    # A character beyond U+FFFF is escaped as two surrogates. They become one character when
    # they pass through UTF-16; of half of a pair there is no text.
    text_units = _ESCAPED.sub(lambda sign: chr(int(sign[1], 16)), text)
    try:
        return text_units.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        return stored_values.HALF_CHARACTER


# --- parts other than sheets --------------------------------------------------------------------------------
class _Handler:
    """The callbacks for the parse of a part."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""

    def end(self, name: str) -> None:
        """An element ends."""

    def text(self, text: str) -> None:
        """Text in an element."""


def _read(parts: archive.Archive, name: str, handler: _Handler) -> None:
    for _ in parts.parse(name, start=handler.start, end=handler.end, text=handler.text):
        pass


def _links(parts: archive.Archive, name: str, *, base: str) -> dict[str, tuple[str, str]]:
    """Identifier → kind and target of each relationship of a part."""
    links: dict[str, tuple[str, str]] = {}

    class Links(_Handler):
        def start(self, name: str, attributes: dict[str, str]) -> None:
            # External targets are never followed: reading a table opens no other file and no
            # address.
            if name == "Relationship" and attributes.get("TargetMode") != "External":
                target = attributes.get("Target", "")
                path = (
                    target.lstrip("/")
                    if target.startswith("/")
                    else posixpath.normpath(posixpath.join(base, target))
                )
                links[attributes.get("Id", "")] = (attributes.get("Type", ""), path)

    _read(parts, name, Links())
    return links


class _Listed(_Handler):
    """The workbook part: names of sheets, and from which year days are counted."""

    def __init__(self) -> None:
        self.sheets: list[tuple[str, str]] = []
        self.since_1904 = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sheet":
            # The prefix of the namespace of relationships is up to the program that wrote the
            # file.
            link = next(
                (value for key, value in attributes.items() if key.rpartition(":")[2] == "id"),
                "",
            )
            self.sheets.append((attributes.get("name", ""), link))
        elif name == "workbookPr":
            self.since_1904 = attributes.get("date1904", "0") in ("1", "true", "on")


class _Styles(_Handler):
    """The styles part: the number format of each cell style."""

    def __init__(self) -> None:
        self.codes: list[str] = []
        self._spelled: dict[str, str] = {}
        self._in_cells = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "numFmt":
            self._spelled[attributes.get("numFmtId", "")] = attributes.get(
                "formatCode", "General"
            )
        elif name == "cellXfs":
            self._in_cells = True
        elif name == "xf" and self._in_cells:
            number = attributes.get("numFmtId", "0")
            if not number.isascii() or not number.isdigit() or len(number) > 9:
                archive.refuse()
            self.codes.append(self._spelled.get(number) or number_formats.built_in(int(number)))

    def end(self, name: str) -> None:
        if name == "cellXfs":
            self._in_cells = False


class _Texts(_Handler):
    """The texts that cells share, each with its runs joined and without what says how to pronounce it."""

    def __init__(self) -> None:
        self.texts: list[Stored] = []
        self._pieces: list[str] = []
        self._in_text = False
        self._silent = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:  # noqa: ARG002 - as expat calls
        if name == "si":
            self._pieces = []
        elif name == "rPh":
            self._silent += 1
        elif name == "t":
            self._in_text = not self._silent

    def text(self, text: str) -> None:
        if self._in_text:
            self._pieces.append(text)

    def end(self, name: str) -> None:
        if name == "t":
            self._in_text = False
        elif name == "rPh":
            self._silent -= 1
        elif name == "si":
            self.texts.append(unescaped("".join(self._pieces)))


# --- the cells of a sheet -----------------------------------------------------------------------------------
class _Cells(_Handler):
    """The cells of a sheet, row by row. Rows and cells stand in order; a row or cell without a place follows
    the one before it."""

    def __init__(self, book: Workbook, sheet: Sheet) -> None:
        self._book, self._sheet = book, sheet
        sheet.merged, sheet.hidden, sheet.percents = [], 0, 0
        self._complete: list[Row] = []
        self._in_cells = False
        self._row = self._column = self._width = 0
        self._values: list[Stored] = []
        self._computed: list[int] = []
        self._has_formula = False
        # Until which row each column, from 1, has results of a formula that stands in another cell.
        self._spilled: dict[int, int] = {}
        self._kind, self._style, self._formula = "n", 0, False
        self._value: list[str] | None = None  # while inside <v>, or a text of the cell's own
        self._text: str | None = None
        self._silent = 0

    def complete(self) -> list[Row]:
        """The rows that have ended since this was asked last."""
        rows, self._complete = self._complete, []
        return rows

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._in_cells:
            self._around(name, attributes)
        elif name == "c":
            self._start_cell(attributes)
        elif name in ("v", "t"):
            self._value = None if self._silent else []
        elif name == "f":
            self._start_formula(attributes)
        elif name == "row":
            self._start_row(attributes)
        elif name == "rPh":
            self._silent += 1

    def text(self, text: str) -> None:
        if self._value is not None:
            self._value.append(text)

    def end(self, name: str) -> None:
        if name in ("v", "t"):
            if self._value is not None:
                self._text = (self._text or "") + "".join(self._value)
            self._value = None
        elif name == "c" and self._in_cells:
            self._end_cell()
        elif name == "row" and self._in_cells:
            computed = tuple(self._computed)
            self._complete.append(Row(self._row, self._values, computed, self._has_formula))
            self._values, self._computed, self._has_formula = [], [], False
        elif name == "rPh":
            self._silent -= 1
        elif name == "sheetData":
            self._in_cells = False

    def _around(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sheetData":
            self._in_cells = True
        elif name == "col":
            self._sheet.hidden += _is_hidden(attributes)
        elif name == "mergeCell":
            reference = _RANGE.fullmatch(attributes.get("ref", ""))
            if reference is None:
                archive.refuse()
            self._sheet.merged.append(int(reference[2] or reference[1]))

    def _start_row(self, attributes: dict[str, str]) -> None:
        place = attributes.get("r")
        if place is not None and not _ROW.fullmatch(place):
            archive.refuse()
        before, self._row = self._row, self._row + 1 if place is None else int(place)
        # A row number that repeats or goes back would put cells of two records into one.
        if self._row <= before:
            archive.refuse()
        self._column = 0
        self._sheet.hidden += _is_hidden(attributes)

    def _start_cell(self, attributes: dict[str, str]) -> None:
        place = attributes.get("r")
        column = self._column + 1
        if place is not None:
            reference = _PLACE.fullmatch(place)
            if reference is None or int(reference[2]) != self._row:
                archive.refuse()
            column = _number(reference[1])
        if column <= self._column:
            archive.refuse()
        self._column = column
        self._width = max(self._width, column)
        # Rows are filled with empty cells up to their last one: a few cells far out would take
        # memory out of proportion to the size of the file.
        if self._width * self._row > MOST_CELLS:
            raise TableError(
                "cells far from each other",
                repair="delete what stands far below or beside the table",
            )
        style = attributes.get("s", "0")
        self._style = (
            int(style) if style.isascii() and style.isdigit() and len(style) < 9 else -1
        )
        self._kind, self._formula, self._text = attributes.get("t", "n"), False, None

    def _start_formula(self, attributes: dict[str, str]) -> None:
        """A formula of the cell; that of an array or of a table of values has its results in the cells of an
        area."""
        self._formula = self._has_formula = True
        area = _AREA.fullmatch(attributes.get("ref", ""))
        if area is None or area[1] is None or attributes.get("t") not in ("array", "dataTable"):
            return
        for column in range(self._column, _number(area[1]) + 1):
            self._spilled[column] = max(self._spilled.get(column, 0), int(area[2]))

    def _end_cell(self) -> None:
        value = self._stored()
        if value != "":
            if self._formula or self._spilled.get(self._column, 0) >= self._row:
                self._computed.append(self._column - 1)
            self._values += [""] * (self._column - 1 - len(self._values))
            self._values.append(value)

    def _stored(self) -> Stored:
        """Return the content of the cell."""
        raw = self._text
        if self._kind == "e":
            return stored_values.ERROR
        if raw is None or (raw == "" and self._kind in ("n", "b", "d")):
            return stored_values.NO_RESULT if self._formula else ""
        match self._kind:
            case "n":
                return self._number(raw)
            case "s":
                return self._shared(raw)
            case "inlineStr" | "str":
                return unescaped(raw)
            case "b":
                return stored_values.truth(raw)
        if self._kind != "d":
            archive.refuse()
        return raw

    def _number(self, text: str) -> Stored:
        codes = self._book.codes
        if self._style < 0 or (self._style and self._style >= len(codes)):
            archive.refuse()
        code = codes[self._style] if codes else "General"
        if "%" in code:
            self._sheet.percents += 1
        return stored_values.number(text, code=code, since_1904=self._book.since_1904)

    def _shared(self, text: str) -> Stored:
        shared = self._book.shared
        if not text.isascii() or not text.isdigit() or int(text) >= len(shared):
            archive.refuse()
        return shared[int(text)]


def _is_hidden(attributes: dict[str, str]) -> bool:
    return attributes.get("hidden") in ("1", "true")


def _number(column: str) -> int:
    number = 0
    for letter in column:
        number = 26 * number + ord(letter) - 64
    return number


__all__ = ["MOST_CELLS", "Row", "Sheet", "Workbook", "letters", "opened", "unescaped"]
