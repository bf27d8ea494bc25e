"""How a CSV is written: encoding, delimiter, quotation mark, and whether its first line names the columns.

A dialect is guessed once, from the table itself, and shown to the table's steward like any other suggestion. From then
on it is a public fact about the table, handed to every later reading: how one person's record is read must never
depend on another's.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from synth_engine.errors import TableError
from synth_engine.formats.header import LONGEST_NAME, looks_like_data
from synth_engine.formats.marks import DECIMALS, THOUSANDS, Marks

if TYPE_CHECKING:
    from _csv import Reader

ENCODINGS = {
    "utf-8": "UTF-8",
    "cp1252": "Windows-1252 (Western European)",
    "latin-1": "Latin-1 (ISO 8859-1)",
    "utf-16": "UTF-16 (“Unicode” of older programs)",
    "utf-16-le": "UTF-16 without a byte order mark (little-endian)",
}
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
RAREST_FIRST = ("\t", ";", "|", ",")  # a comma is also a decimal mark
QUOTES = {'"': "double quotation marks", "'": "single quotation marks", "": "no quotation marks"}
ERROR_CELLS = {"refuse": "refuse the file", "missing": "count as missing"}  # cells of a sheet like #N/A
GUESSED_LINES = 20
MOST_LEFT_OUT = 100  # lines above the header, or below the last row
MARKS_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
NO_CP1252 = b"\x81\x8d\x8f\x90\x9d"  # bytes that stand for nothing in Windows-1252
RARE_CP1252 = b"\x82\x83\x84\x86\x87\x88\x89\x8b\x98\x9b"  # signs that stand in few Western texts, often in other codes
LETTERS_CP1252 = bytes(range(0xC0, 0x100))


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """The form of one CSV. Without a delimiter it is taken from the header line; `columns` is how many there are in a
    table whose first line does not name them. `error_cells` says what becomes of cells of a sheet that show an error."""

    encoding: str = "utf-8"
    delimiter: str = ""
    quote: str = '"'
    header: bool = True
    columns: int | None = None
    skip: int = 0
    footer: int = 0
    decimal: str = "."
    thousands: str = ""
    sheet: str = ""
    error_cells: str = "refuse"

    def __post_init__(self) -> None:
        known = (
            (self.encoding, ENCODINGS),
            (self.delimiter, DELIMITERS | {"": ""}),
            (self.quote, QUOTES),
            (self.decimal, DECIMALS),
            (self.thousands, THOUSANDS),
            (self.error_cells, ERROR_CELLS),
        )
        for value, choices in known:
            if not isinstance(value, str) or value not in choices:
                raise TableError("this form of CSV is not read", repair="choose one of the forms listed")
        if not isinstance(self.header, bool) or not (self.columns is None or type(self.columns) is int):
            raise TableError("this form of CSV is not read", repair="say whether the first line names the columns")
        if not all(type(lines) is int and 0 <= lines <= MOST_LEFT_OUT for lines in (self.skip, self.footer)):
            raise TableError("this form of CSV is not read", repair=f"leave out at most {MOST_LEFT_OUT} lines")
        if not isinstance(self.sheet, str) or len(self.sheet) > LONGEST_NAME:
            raise TableError("this form of CSV is not read", repair="say the name of the sheet as the workbook has it")
        if self.decimal == self.thousands:
            raise TableError("decimals and thousands have the same sign", repair="say which of them it marks")

    @property
    def marks(self) -> Marks:
        """How numbers are written."""
        return Marks(decimal=self.decimal, thousands=self.thousands)

    @property
    def codec(self) -> str:
        """The encoding as Python calls it; a byte order mark of UTF-8 is no part of the first name."""
        return "utf-8-sig" if self.encoding == "utf-8" else self.encoding

    @property
    def sentence(self) -> str:
        """The form in words."""
        between = f"{DELIMITERS[self.delimiter]} between cells" if self.delimiter else "delimiter as in the header"
        parts = [ENCODINGS[self.encoding], between, QUOTES[self.quote], self._lines]
        if not self.marks.usual:
            parts.append(DECIMALS[self.decimal])
        if self.thousands:
            parts.append(f"{THOUSANDS[self.thousands]} between thousands")
        return ", ".join(parts)

    @property
    def sentence_of_sheet(self) -> str:
        """The same of a sheet of a workbook, whose cells need no delimiter."""
        parts = [f"the sheet “{self.sheet}”" if self.sheet else "the only sheet with cells", self._lines]
        if not self.marks.usual:
            parts.append(f"numbers in texts have a {DECIMALS[self.decimal]}")
        if self.error_cells == "missing":
            parts.append("cells that show an error count as missing")
        return ", ".join(parts)

    @property
    def _lines(self) -> str:
        """Which lines are what."""
        first = "the first line" if not self.skip else f"line {self.skip + 1}"
        said = f"{first} names the columns" if self.header else "no header line"
        left_out = [f"{self.skip} above it"] * bool(self.skip) + [f"{self.footer} at the end"] * bool(self.footer)
        return said + (f" (left out: {' and '.join(left_out)})" if left_out else "")

    def reader(self, lines: Iterable[str]) -> Reader:
        """The cells of lines in this form; malformed ones raise csv.Error."""
        if not self.quote:
            return csv.reader(lines, delimiter=self.delimiter, quotechar=None, quoting=csv.QUOTE_NONE, strict=True)
        return csv.reader(lines, delimiter=self.delimiter, quotechar=self.quote, strict=True)

    def to_json(self) -> dict[str, Any]:
        """For storage; `from_json` is its inverse."""
        return {
            "encoding": self.encoding,
            "delimiter": self.delimiter,
            "quote": self.quote,
            "header": self.header,
            "columns": self.columns,
            "skip": self.skip,
            "footer": self.footer,
            "decimal": self.decimal,
            "thousands": self.thousands,
            "sheet": self.sheet,
            "error_cells": self.error_cells,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Dialect:
        """Raises TableError for anything but a dialect."""
        if set(stored) - set(cls.__dataclass_fields__):
            raise TableError("this form of CSV is not read", repair="say encoding, delimiter, quote and header")
        return cls(**stored)

    @classmethod
    def guess(cls, text: str, *, encoding: str) -> Dialect:
        """The form of a table that begins with `text`."""
        every = text.splitlines()
        lines = [line for line in every if line.strip()][:GUESSED_LINES] or [""]
        quote = _quote(lines)
        declared = declared_delimiter(lines[0])
        if declared:
            lines = lines[1:] or [""]
        above = 0 if declared else _above(lines, quote)
        skip = every.index(lines[above]) if above else 0
        lines = lines[above:]
        found = cls(encoding=encoding, delimiter=declared or _delimiter(lines, quote), quote=quote, skip=skip)
        cells = [_cells(line, found) for line in lines]
        header = not looks_like_data(cells[0])
        return replace(found, header=header, decimal=_decimal(cells[header:], found.delimiter))


def declared_delimiter(line: str) -> str:
    """Some spreadsheets write their delimiter on a line of its own."""
    declared = re.fullmatch(r"sep=(.)\s*", line)
    return declared[1] if declared and declared[1] in DELIMITERS else ""


def delimiter_of(line: str, *, quote: str = '"') -> str:
    """The delimiter of a header line: the one met most often outside quotation marks; of two, the more usual one."""
    bare = _bare(line, quote)
    return max(DELIMITERS, key=bare.count)


def _bare(line: str, quote: str) -> str:
    return re.sub(f"{quote}[^{quote}]*{quote}?", "", line) if quote else line


def _quote(lines: list[str]) -> str:
    """Single quotation marks, if cells begin and end with them and none with the usual ones."""
    ends = "[,;\t|]"
    text = "\n".join(lines)
    single = len(re.findall(rf"(?m)(?:^|{ends})'[^'\n]*'(?=$|{ends})", text))
    return "'" if single >= 2 and '"' not in text else '"'


def _delimiter(lines: list[str], quote: str) -> str:
    """One that every line has as often as the first, looked for among the rarer ones first because a comma is also a
    decimal mark; else what the first line has most of."""
    bare = [_bare(line, quote) for line in lines]
    for delimiter in RAREST_FIRST:
        if bare[0].count(delimiter) and len({line.count(delimiter) for line in bare}) == 1:
            return delimiter
    return delimiter_of(lines[0], quote=quote)


def _above(lines: list[str], quote: str) -> int:
    """How many lines stand above the header: they have none of a delimiter that all lines below them have equally
    often, as a title has; or they are comments, which may have some, though not as many."""
    bare = [_bare(line, quote) for line in lines]
    delimiter = next((one for one in RAREST_FIRST if one in bare[-1]), "")
    counts = [line.count(delimiter) for line in bare] if delimiter else []
    for start in range(1, len(counts) - 1):
        if len(set(counts[start:])) != 1:
            continue
        comments = all(line.startswith("#") for line in lines[:start]) and not lines[start].startswith("#")
        if not any(counts[:start]) or (comments and counts[start] not in counts[:start]):
            return start
        return 0
    return 0


def _decimal(rows: list[list[str]], delimiter: str) -> str:
    """A comma, if cells have numbers with one that cannot stand between thousands, and none with a point."""
    cells = [cell.strip() for row in rows for cell in row]
    points = any(re.fullmatch(r"[+-]?[0-9]*\.[0-9]+", cell) for cell in cells)
    commas = [cell for cell in cells if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", cell)]
    sure = any(len(cell.partition(",")[2]) != 3 for cell in commas)
    return "," if delimiter != "," and sure and not points else "."


def _cells(line: str, dialect: Dialect) -> list[str]:
    try:
        return next(dialect.reader([line]), [])
    except csv.Error:  # to be refused where it is read in earnest
        return [line]


class Encodings:
    """Finds the encoding of a text whose bytes are fed to it, piece by piece, to the end.

    A text that is not UTF-8 throughout is taken for Windows-1252, unless it is UTF-8 for the most part: then it is
    damaged, and left to be refused where the damage is.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._wide: str | None = None  # a variant of UTF-16; "" if it is none
        self._letters = self._strange = self._rare = self._usual = 0
        self._western = True

    def feed(self, data: bytes) -> None:
        """The next bytes."""
        if self._wide is None:
            zeros = data[1:64:2].count(0) * 2 > len(data[1:64:2])
            self._wide = "utf-16" if data.startswith(MARKS_16) else "utf-16-le" if zeros else ""
        if not self._wide:
            self._count(data, final=False)

    def found(self) -> str:
        """The encoding, once all is fed."""
        if self._wide:
            return self._wide
        self._count(b"", final=True)
        western = self._western and self._rare <= self._usual
        return "cp1252" if self._strange > self._letters and western else "utf-8"

    def _count(self, data: bytes, *, final: bool) -> None:
        text = self._decoder.decode(data, final)
        if text.isascii() and data.isascii():
            return
        strange = text.count("\ufffd")
        self._strange += strange
        self._letters += len(text) - len(text.encode("ascii", "ignore")) - strange
        self._rare += len(data) - len(data.translate(None, RARE_CP1252))
        self._usual += len(data) - len(data.translate(None, LETTERS_CP1252))
        self._western = self._western and not any(byte in data for byte in NO_CP1252)
