"""Describe how a CSV is written: encoding, delimiter, quotation mark, and whether its first line names the
columns.

A dialect is guessed once, from the table itself, and shown to the table's steward like any other suggestion.
From then on it is a public fact about the table, handed to every later reading: how one person's record is
read must never depend on another's.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from synth_engine.errors import TableError
from synth_engine.formats.encodings import ENCODINGS
from synth_engine.formats.header import LONGEST_NAME
from synth_engine.formats.marks import DECIMALS, THOUSANDS, Marks
from synth_engine.formats.voucher import MAX_VOUCHER, is_voucher
from synth_engine.strict_json import JsonObject

if TYPE_CHECKING:
    from _csv import Reader

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", " ": "blanks"}
QUOTES = {
    '"': "double quotation marks",
    "'": "single quotation marks",
    "": "no quotation marks",
}
ERROR_CELLS = {
    "refuse": "refuse the file",
    "missing": "count as missing",
}  # cells of a sheet like #N/A
ESCAPES = {
    "": "a backslash before a quotation mark is refused",
    "\\": "a backslash makes the next sign a letter",
    "none": "a backslash is a letter",
}
EXTRA_ROWS = {"refuse": "refused", "keep": "records like the others", "drop": "left out"}
RECORDS = {"list": "one list of objects", "lines": "an object in each line"}
MOST_LEFT_OUT = 100  # lines above the header, or below the last row
MOST_HEADER_LINES = 5
MOST_UNITS = 20
MAX_UNIT_LENGTH = 12
MARKS_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
NUMBERS = ("decimal", "thousands")
# What a form stored before these facts existed has to be read as: exactly as it was read then.
_BEFORE = {"literal": True, "escape": "none", "extra_rows": "keep"}
_WRITTEN_BEFORE = frozenset(
    (
        "encoding",
        "delimiter",
        "quote",
        "header",
        "columns",
        "skip",
        "footer",
        "decimal",
        "thousands",
        "sheet",
        "error_cells",
    )
)
QUESTIONS = {
    "encoding": ("which encoding its letters have", "NAME"),
    "delimiter": ("what stands between cells", "comma|semicolon|tab|vertical-bar|blanks"),
    "header": ("whether the first line names the columns or is a record", "yes|no"),
    "skip": ("how many lines stand above the names of the columns", "N"),
    "decimal": (
        "whether the sign in its numbers stands before decimals or between thousands",
        "point|comma",
    ),
    "spaced": ("whether the blanks behind delimiters belong to the cells", "yes|no"),
    "escape": ("what a backslash before a quotation mark means", "backslash|none"),
}


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """The public form of one delimited text.

    Without a `delimiter` it is taken from the header line. `columns` is the number of columns of a table
    without a header. `names` replace the names in the header, or name the columns of a table without one; of
    JSON objects they are the keys that are columns. `header_lines` are joined to one name a column.
    `literal`: a quotation mark inside an unquoted cell, or a byte order mark inside the text, is a letter;
    otherwise it is refused. `spaced`: blanks behind a delimiter are no part of a cell. `escape`: what a
    backslash means (ESCAPES). `extra_rows`: what becomes of rows without any cell, notes and totals
    (EXTRA_ROWS). `asked` names the facts that are only guessed: until a person has answered, nothing is read.
    `said`: a person has stated how numbers are written. `error_cells`: what becomes of cells of a sheet that
    show an error. `units`: currencies, percent signs and units that stand around numbers and are left out.
    `records`: whether JSON objects are the elements of one list, or stand in a line each (RECORDS); empty
    where the file was not looked at. `vouched_by`: of a workbook, who states that the stored results of its
    formulas depend on their own row alone; without anybody they are not read."""

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
    header_lines: int = 1
    names: tuple[str, ...] = ()
    literal: bool = False
    spaced: bool = False
    escape: str = ""
    extra_rows: str = "refuse"
    asked: tuple[str, ...] = ()
    marks_confirmed: bool = False
    units: tuple[str, ...] = ()
    records: str = ""
    vouched_by: str = ""

    def __post_init__(self) -> None:
        known = (
            (self.encoding, ENCODINGS),
            (self.delimiter, DELIMITERS | {"": ""}),
            (self.quote, QUOTES),
            (self.decimal, DECIMALS),
            (self.thousands, THOUSANDS),
            (self.error_cells, ERROR_CELLS),
            (self.escape, ESCAPES),
            (self.extra_rows, EXTRA_ROWS),
            (self.records, RECORDS | {"": ""}),
        )
        for value, choices in known:
            if not isinstance(value, str) or value not in choices:
                raise TableError(
                    "this form of CSV is not read", repair="choose one of the forms listed"
                )
        if not isinstance(self.header, bool) or not (
            self.columns is None or type(self.columns) is int
        ):
            raise TableError(
                "this form of CSV is not read",
                repair="say whether the first line names the columns",
            )
        if not all(
            type(lines) is int and 0 <= lines <= MOST_LEFT_OUT
            for lines in (self.skip, self.footer)
        ):
            raise TableError(
                "this form of CSV is not read",
                repair=f"leave out at most {MOST_LEFT_OUT} lines",
            )
        if not isinstance(self.sheet, str) or len(self.sheet) > LONGEST_NAME:
            raise TableError(
                "this form of CSV is not read",
                repair="say the name of the sheet as the workbook has it",
            )
        self._check_further()
        if self.decimal == self.thousands:
            raise TableError(
                "decimals and thousands have the same sign", repair="say which of them it marks"
            )

    def _check_further(self) -> None:
        """Check the facts that only delimited texts have."""
        if not all(
            isinstance(one, bool) for one in (self.literal, self.spaced, self.marks_confirmed)
        ):
            raise TableError(
                "this form of CSV is not read",
                repair="say true or false for literal, spaced and said",
            )
        if (
            type(self.header_lines) is not int
            or not 1 <= self.header_lines <= MOST_HEADER_LINES
        ):
            raise TableError(
                "this form of CSV is not read",
                repair=f"join 1 to {MOST_HEADER_LINES} header lines",
            )
        if not isinstance(self.names, tuple) or not all(
            isinstance(name, str) for name in self.names
        ):
            raise TableError(
                "this form of CSV is not read", repair="list the names of the columns as texts"
            )
        if not isinstance(self.units, tuple) or not all(map(_is_unit, self.units)):
            raise TableError(
                "a unit around numbers is empty, long, or has a digit or a mark of numbers",
                repair=f"list at most {MOST_UNITS} units like $, % or kg",
            )
        if len(self.units) > MOST_UNITS:
            raise TableError(
                "too many units around numbers", repair=f"list at most {MOST_UNITS} units"
            )
        if self.vouched_by != "" and not is_voucher(self.vouched_by):
            raise TableError(
                "who vouches for formulas is no name on one line",
                repair=f"write a name and a role of at most {MAX_VOUCHER} letters",
            )
        if not isinstance(self.asked, tuple) or not all(one in QUESTIONS for one in self.asked):
            raise TableError(
                "this form of CSV is not read", repair=f"leave open only {', '.join(QUESTIONS)}"
            )

    def require_answers(self) -> None:
        """Raises TableError, with the questions, as long as a fact of the form is only a guess."""
        # A guess from rows must not decide how a run reads: one record could change how the
        # others are read, and no proof of sensitivity would hold.
        if not self.asked:
            return
        open_facts = "; ".join(QUESTIONS[one][0] for one in self.asked)
        open_names = " and ".join(self.asked)
        flags = " ".join(f"--read {one}={QUESTIONS[one][1]}" for one in self.asked)
        other = "; a table with another sign between cells has to be saved as CSV again"
        raise TableError(
            f"the file does not tell for certain {open_facts}",
            repair=f"say {open_names} in the form of the file (on the command line: {flags})"
            + other * ("delimiter" in self.asked),
        )

    @property
    def regular(self) -> bool:
        """Whether the fast parser knows this form; the strict one knows all of them."""
        return self.delimiter != " " and not self.spaced and self.escape != "\\"

    @property
    def marks(self) -> Marks:
        """Return how numbers are written."""
        return Marks(decimal=self.decimal, thousands=self.thousands, units=self.units)

    @property
    def codec(self) -> str:
        """The encoding as Python calls it; a byte order mark of UTF-8 is no part of the first name."""
        return "utf-8-sig" if self.encoding == "utf-8" else self.encoding

    @property
    def sentence(self) -> str:
        """The form in words."""
        between = (
            f"{DELIMITERS[self.delimiter]} between cells"
            if self.delimiter
            else "delimiter as in the header"
        )
        parts = [ENCODINGS[self.encoding], between, QUOTES[self.quote], self._lines]
        if not Marks(decimal=self.decimal, thousands=self.thousands).usual:
            parts.append(DECIMALS[self.decimal])
        if self.thousands:
            parts.append(f"{THOUSANDS[self.thousands]} between thousands")
        return ", ".join(parts + self._odd)

    @property
    def _odd(self) -> list[str]:
        """Return in words the facts that few files need."""
        parts = self._units_in_words + ["blanks behind delimiters left out"] * self.spaced
        parts += ["quotation marks inside unquoted cells are letters"] * self.literal
        parts += [ESCAPES[self.escape]] * bool(self.escape)
        parts += [f"empty rows, notes and totals are {EXTRA_ROWS[self.extra_rows]}"] * (
            self.extra_rows != "refuse"
        )
        return (
            parts
            + [f"{self.header_lines} header lines joined"] * (self.header_lines > 1)
            + ["names given"] * bool(self.names)
        )

    @property
    def _units_in_words(self) -> list[str]:
        """Return in words what is left out around numbers."""
        return [f"{', '.join(self.units)} left out around numbers"] * bool(self.units)

    @property
    def sentence_of_sheet(self) -> str:
        """The same of a sheet of a workbook, whose cells need no delimiter."""
        parts = [
            f"the sheet “{self.sheet}”" if self.sheet else "the only sheet with cells",
            self._lines,
        ]
        if not Marks(decimal=self.decimal, thousands=self.thousands).usual:
            parts.append(f"numbers in texts have a {DECIMALS[self.decimal]}")
        parts += self._units_in_words
        if self.error_cells == "missing":
            parts.append("cells that show an error count as missing")
        if self.vouched_by:
            parts.append(f"results of formulas are read on the word of {self.vouched_by}")
        return ", ".join(parts)

    @property
    def sentence_of_objects(self) -> str:
        """The same of a file of JSON objects."""
        return (
            f"an object a record, with {len(self.names)} keys as columns; a key that an object lacks is "
            "missing"
        )

    @property
    def _lines(self) -> str:
        """Return in words what each line is."""
        first = "the first line" if not self.skip else f"line {self.skip + 1}"
        header_line = f"{first} names the columns" if self.header else "no header line"
        left_out = [f"{self.skip} above it"] * bool(self.skip) + [
            f"{self.footer} at the end"
        ] * bool(self.footer)
        return header_line + (f" (left out: {' and '.join(left_out)})" if left_out else "")

    def reader(self, lines: Iterable[str]) -> Reader:
        """The cells of lines in this form; malformed ones raise csv.Error."""
        escape = "\\" if self.escape == "\\" else None
        # Between blanks, several in a row are one delimiter.
        spaced = self.spaced or self.delimiter == " "
        if not self.quote:
            return csv.reader(
                lines,
                delimiter=self.delimiter,
                quotechar=None,
                quoting=csv.QUOTE_NONE,
                escapechar=escape,
                skipinitialspace=spaced,
                strict=True,
            )
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote,
            escapechar=escape,
            skipinitialspace=spaced,
            strict=True,
        )

    def to_json(self) -> JsonObject:
        """Return the document that is stored; `from_json` is its inverse."""
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
            "header_lines": self.header_lines,
            "names": list(self.names),
            "literal": self.literal,
            "spaced": self.spaced,
            "escape": self.escape,
            "extra_rows": self.extra_rows,
            "asked": list(self.asked),
            "said": self.marks_confirmed,  # the key of files that were stored
            # Forms that were stored without this fact keep their bytes.
            **({"units": list(self.units)} if self.units else {}),
            **({"records": self.records} if self.records else {}),
            **({"vouched_by": self.vouched_by} if self.vouched_by else {}),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Dialect:
        """Raises TableError for anything but a dialect. One that was stored before some of its facts existed
        is read as it was then."""
        facts = dict(stored)
        if "said" in facts:
            facts["marks_confirmed"] = facts.pop("said")
        if set(facts) - set(cls.__dataclass_fields__):
            raise TableError(
                "this form of CSV is not read",
                repair="say encoding, delimiter, quote and header",
            )
        if (
            _WRITTEN_BEFORE
            >= set(facts)
            >= {"encoding", "delimiter", "quote", "header", "columns"}
        ):
            facts |= _BEFORE
        for listed in ("names", "asked", "units"):
            if isinstance(facts.get(listed), list):
                facts[listed] = tuple(facts[listed])
        return cls(**facts)


def _is_unit(unit: object) -> bool:
    """Whether a text can stand around a number without being mistaken for a part of it."""
    return (
        isinstance(unit, str)
        and 0 < len(unit) <= MAX_UNIT_LENGTH
        and unit == unit.strip()
        and unit.isprintable()
        and not re.search(r"[0-9+,'-]|^\.|^[eE]$", unit)
    )


def declared_delimiter(line: str) -> str:
    """Return the delimiter of a line like `sep=;`, which some spreadsheet programs write first; else
    nothing."""
    declared = re.fullmatch(r"sep=(.)\s*", line)
    return declared[1] if declared and declared[1] in DELIMITERS else ""


def delimiter_of(line: str, *, quote: str = '"') -> str:
    """The delimiter of a header line: the one met most often outside quotation marks; of two, the more usual
    one."""
    outside = bare(line, quote)
    # Names of columns often contain blanks, which therefore never count as delimiters here.
    return max((one for one in DELIMITERS if one != " "), key=outside.count)


def bare(line: str, quote: str) -> str:
    return re.sub(f"{quote}[^{quote}]*{quote}?", "", line) if quote else line
