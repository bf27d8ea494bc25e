"""Read many lines of a CSV at a time where they can only be read in one way.

A piece of text is *regular* if every quotation mark in it opens or closes a cell, or is doubled inside one,
if its lines end alike, and if nothing in it has to be refused. Of such a piece a fast parser gives the cells
that the strict one would give; every other piece is left to the strict one, which takes it or says where it
is malformed.
"""

from __future__ import annotations

import codecs
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from synth_engine.formats import Dialect
from synth_engine.readers.rules import Rules

_LF, _CR = 10, 13
_MARK = codecs.BOM_UTF8
Bytes = NDArray[np.uint8]
Places = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Piece:
    """The wanted columns of some lines, how many rows and lines these are, how many of the lines are blank,
    and how many rows were left out."""

    columns: list[pa.Array]
    rows: int
    lines: int
    blank: int
    left_out: int = 0


@dataclass(frozen=True, kw_only=True)
class Form:
    """How the lines of a table are read: which of its columns are wanted, whether each line has one more,
    empty, cell at its end, and the longest record that is certainly within the limits."""

    dialect: Dialect
    width: int
    wanted: Sequence[int]
    empty_end: bool
    longest: int
    header: tuple[
        str, ...
    ]  # the cells of the header, without blanks around them; nothing if it may stand there again
    rules: Rules

    @functools.cached_property
    def names(self) -> list[str]:
        return [str(place) for place in range(self.width + self.empty_end)]

    @functools.cached_property
    def parsed_names(self) -> list[str]:
        """Name the columns to parse. With none wanted one is still parsed, because its length is the number
        of rows."""
        if self.rules.whole_rows:
            return self.names
        return [str(place) for place in self.wanted] + (
            [self.names[-1]] if self.empty_end or not self.wanted else []
        )


def parsed(piece: bytes, form: Form, *, last: bool) -> Piece | None:
    """The cells of a piece, or None if it is not regular."""
    if not _plain(piece, form, last=last):
        return None
    codes = np.frombuffer(piece, dtype=np.uint8)
    ends = np.flatnonzero(codes == _LF)
    open_end = not piece.endswith(b"\n")
    records = _record_ends(codes, ends, form.dialect)
    if records is None:
        return None
    starts = np.append(-1, records)
    longest = np.diff(np.append(starts, len(piece)) if open_end else starts).max(initial=0)
    # The bytes of the longest record bound the characters of every cell and line in it: below
    # this length no limit can be exceeded, and cells need not be measured.
    if longest >= form.longest:
        return None
    table = _read(piece, form)
    if table is None or (form.empty_end and not _empty(table.column(form.names[-1]))):
        return None
    if _has_header(table, form):
        return None
    # The fast parser skips blank lines: they are the records that are not among its rows.
    blank, left_out = len(records) + open_end - table.num_rows, 0
    if form.rules.whole_rows:
        cells = [table.column(name) for name in form.names[: form.width]]
        extra = form.rules.not_records(cells)
        if extra is not None:
            # The strict parser refuses such a row with its line number, which this one does not
            # have.
            if form.rules.refuses:
                return None
            left_out = table.num_rows
            table = table.filter(pc.invert(extra))
            left_out -= table.num_rows
    columns = [table.column(str(place)).combine_chunks() for place in form.wanted]
    return Piece(
        columns=columns,
        rows=table.num_rows,
        lines=len(ends) + open_end,
        blank=blank,
        left_out=left_out,
    )


def _has_header(table: pa.Table, form: Form) -> bool:
    """Whether a row may be the header again, as far as the parsed columns tell: the strict parser looks at
    all."""
    if not form.header:
        return False
    may_match: Any = None
    for name in form.parsed_names:
        if int(name) >= form.width:
            continue
        same = pc.equal(pc.utf8_trim_whitespace(table.column(name)), form.header[int(name)])
        may_match = same if may_match is None else pc.and_(may_match, same)
        if not pc.any(may_match).as_py():
            return False
    return True


def _plain(piece: bytes, form: Form, *, last: bool) -> bool:
    # A piece that does not end with a line, and is not the last, may cut a record in two.
    if b"\0" in piece or not (last or piece.endswith(b"\n")):
        return False
    if piece.startswith(codecs.BOM_UTF8):
        # The fast parser drops this mark at the start of whatever it is given, and it belongs to a cell
        return False
    # Lines are counted and cut at \n alone, which would miss a line that a lone \r ends.
    if b"\r" in piece and piece.count(b"\r") != piece.count(b"\r\n"):
        return False
    ascii_alone = piece.isascii()
    if not form.dialect.regular or (
        not ascii_alone and not form.dialect.literal and _MARK in piece
    ):
        return False
    # One byte is looked for many times as fast as two.
    marks = form.dialect.quote and form.dialect.escape == ""
    if marks and b"\\" in piece and b"\\" + form.dialect.quote.encode() in piece:
        return False
    return ascii_alone or _is_utf8(piece)


def _is_utf8(piece: bytes) -> bool:
    try:
        piece.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _record_ends(codes: Bytes, ends: Places, dialect: Dialect) -> Places | None:
    """The line ends outside quotation marks; None if a mark is where it does not open, close or double."""
    marks = (
        np.flatnonzero(codes == ord(dialect.quote))
        if dialect.quote
        else np.empty(0, dtype=np.intp)
    )
    if not len(marks):
        return ends
    # With an odd number the piece ends inside a quoted cell, or one of the marks is a letter.
    if len(marks) % 2:
        return None
    # In a regular piece marks alternate. A doubled mark inside a cell closes and opens it
    # again.
    opening, closing = marks[::2], marks[1::2]
    before = np.where(opening > 0, codes[opening - 1], _LF)
    after = np.where(
        closing + 1 < len(codes), codes[np.minimum(closing + 1, len(codes) - 1)], _LF
    )
    doubled = np.append(
        closing[:-1] + 1 == opening[1:], False
    )  # closed and opened again: one mark inside a cell
    delimiter_code = ord(dialect.delimiter)
    starts = (before == delimiter_code) | (before == _LF) | np.append(False, doubled[:-1])
    stops = (after == delimiter_code) | (after == _LF) | (after == _CR) | doubled
    if not (starts.all() and stops.all()):
        return None
    # A line end with an even number of marks before it stands outside quotation marks.
    outside: Places = ends[np.searchsorted(marks, ends) % 2 == 0]
    return outside


def _read(piece: bytes, form: Form) -> pa.Table | None:
    dialect = form.dialect
    try:
        return pyarrow.csv.read_csv(
            pa.BufferReader(piece),
            read_options=pyarrow.csv.ReadOptions(
                column_names=form.names, use_threads=False, block_size=len(piece) + 1
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char=dialect.quote or False,
                newlines_in_values=False,  # of the whole: it is one block, which is not cut
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(form.names, pa.string()),
                include_columns=form.parsed_names,
                null_values=[],
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
    except (
        pa.ArrowException
    ):  # too few or too many cells, or no row at all: the strict parser says which
        return None


def _empty(column: pa.ChunkedArray) -> bool:
    return not pc.sum(pc.binary_length(column)).as_py()
