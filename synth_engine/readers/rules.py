"""Check what the csv module does not: marks that may mean two things, and rows that are no records.

Each rule looks at one record alone, so that which records are read never depends on others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synth_engine.errors import TableError
from synth_engine.formats import Dialect

_MARK = "\ufeff"
_BLANKS = " \t\n\r\f\v\u00a0"
# Of the first cell of a row, without blanks around it. Written so that `re` and RE2 agree on every text,
# because which of them is asked depends on other records: no class of signs that one takes for ASCII and the
# other does not, and no case but ASCII.
_TOTAL = (
    r"^(grand[ \t\n\r\f]+|sub[- ]?|overall[ "
    r"\t\n\r\f]+)?(total|totals|totale|totaal|sum|summe|gesamt|insgesamt|suma|somme|ensemble)"
    r"([ \t\n\r\f]*[:=(].*)?$"
)
_NOTE = (
    r"^(source|sources|note|notes|nb|n\.b\.|footnote|quelle|quellen|anmerkung|hinweis|fuente|nota|remarque|"
    r"fonte|bron)"
    r"[ \t\n\r\f]*[:.].*$|^[*†‡#].*$|^\(?[0-9]{1,2}\)[ \t\n\r\f].*$|^[^ \t\n\r\f]+([ \t\n\r\f]+[^ "
    r"\t\n\r\f]+){3,}$|^.*[.:]$"
)


# `str.lower` would change letters that pyarrow's `ascii_lower` leaves alone (see above).
_LOWER = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


class Rules:
    """Check records in one form. With `total`, in a run, no record is refused: a mark that may mean two
    things is a letter, and a row is a record unless the form leaves such rows out."""

    def __init__(self, dialect: Dialect, *, total: bool = False) -> None:
        self._dialect, self._total = dialect, total
        self.refuses = dialect.extra_rows == "refuse" and not total
        self.whole_rows = dialect.extra_rows != "keep" and (
            self.refuses or dialect.extra_rows != "refuse"
        )
        self._record = _record(dialect)
        self._odd_backslash = re.compile(
            rf"\\(?![\\{re.escape(dialect.quote + dialect.delimiter)}\r\n])"
        )

    def check(self, text: str, *, line: int) -> None:
        """Refuses the text of one record in which a mark may mean two things."""
        dialect = self._dialect
        # A run must not fail on what a record holds: whether it succeeds is not protected.
        if self._total:
            return
        if _MARK in text and not dialect.literal:
            raise TableError(
                "a byte order mark inside the text",
                repair="upload the joined files apart, or say that odd marks are letters (literal)",
                line=line + text.count("\n", 0, text.index(_MARK)),
            )
        if dialect.escape == "\\":
            if self._odd_backslash.search(text):
                raise TableError(
                    "a backslash before an ordinary letter",
                    repair="double the backslash, or say that a backslash is a letter (escape=none)",
                    line=line,
                )
        elif dialect.escape == "" and dialect.quote and f"\\{dialect.quote}" in text:
            raise TableError(
                "a backslash before a quotation mark",
                repair="say whether it makes the mark a letter (escape: a backslash, or none)",
                line=line,
            )
        if (
            self._record is not None
            and dialect.quote in text
            and not self._record.fullmatch(text)
        ):
            raise TableError(
                "a quotation mark inside a cell that is not quoted",
                repair="quote the cell and double the mark inside it, or say that such marks are letters "
                "(literal), or that blanks stand around cells (spaced)",
                line=line,
            )

    def cells(self, row: list[str], text: str) -> list[str]:
        """The cells of a record. Blanks at its end are no delimiter; those behind a cell are no part of
        it."""
        if self._dialect.delimiter == " ":
            return (
                row[:-1] if row and not row[-1] and text.rstrip("\r\n").endswith(" ") else row
            )
        return row

    def takes(self, row: Sequence[str], *, line: int) -> bool:
        """Whether a row is a record. Raises TableError where the form has to state first what such a row
        is."""
        if not self.whole_rows or not _is_extra(row):
            return True
        if self.refuses:
            raise TableError(
                "an empty row, a note or a total among the records",
                repair="leave it out of the file, or say whether such rows are records or are left out "
                "(extra_rows)",
                line=line,
            )
        return False

    def not_records(self, columns: Sequence[Any]) -> pa.Array | None:
        """Return which rows of a block are no records, by the rule of `takes`; None if all are records."""
        # A row with one cell cannot be told from a record.
        if len(columns) < 2:
            return None
        alone = _all_empty(columns[1:])
        any_alone = pc.any(alone).as_py()
        if not any_alone and not _has_letters(columns[0]):
            return None  # as in most tables, whose first column holds numbers
        first = pc.ascii_lower(pc.utf8_trim(columns[0], characters=_BLANKS))
        extra = pc.match_substring_regex(first, _TOTAL)
        if any_alone:
            notes = pc.match_substring_regex(first, _NOTE)
            extra = pc.or_(extra, pc.and_(alone, pc.or_(pc.equal(first, ""), notes)))
        return extra if pc.any(extra).as_py() else None


def _has_letters(column: Any) -> bool:
    """Whether a cell may hold an ASCII letter, without which none is a total. May be true of a slice whose
    cells hold none, because all bytes behind it are looked at."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    buffers = [chunk.buffers()[2] for chunk in chunks]
    # 0x20 is the bit in which a capital ASCII letter differs from the small one.
    codes = [
        np.frombuffer(buffer, dtype=np.uint8) | 0x20 for buffer in buffers if buffer is not None
    ]
    return any(bool(((code >= ord("a")) & (code <= ord("z"))).any()) for code in codes)


def _is_extra(row: Sequence[str]) -> bool:
    if len(row) < 2:
        return False
    first, others = (
        row[0].strip(_BLANKS).translate(_LOWER),
        any(cell.strip(_BLANKS) for cell in row[1:]),
    )
    if re.search(_TOTAL, first):
        return True
    return not others and (not first or bool(re.search(_NOTE, first)))


def _all_empty(columns: Sequence[Any]) -> Any:
    """Return, for each row, whether all its cells are empty or blank."""
    all_empty: Any = None
    for column in columns:
        empty = pc.equal(pc.utf8_trim(column, characters=_BLANKS), "")
        all_empty = empty if all_empty is None else pc.and_(all_empty, empty)
        if not pc.any(all_empty).as_py():
            break
    return all_empty


def _record(dialect: Dialect) -> re.Pattern[str] | None:
    """Compile the pattern of a record in which marks open, close and are doubled, and do nothing else."""
    if not dialect.quote or dialect.literal:
        return None
    quote, between = re.escape(dialect.quote), re.escape(dialect.delimiter)
    blanks = " *" if dialect.spaced or dialect.delimiter == " " else ""
    if dialect.escape == "\\":
        quoted = rf"{quote}(?:[^{quote}\\]|\\[\s\S]|{quote}{quote})*{quote}"
        plain = rf"(?:[^{quote}{between}\\\r\n]|\\[\s\S])*"
    else:
        quoted = rf"{quote}(?:[^{quote}]|{quote}{quote})*{quote}"
        plain = rf"[^{quote}{between}\r\n]*"
    cell = rf"{blanks}(?:{quoted}|{plain})"
    return re.compile(rf"{cell}(?:{between}{cell})*[\r\n]*")
