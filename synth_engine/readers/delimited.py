"""Strict CSV: either the exact cells of the file, or a refusal that says where and why."""

from __future__ import annotations

import codecs
import csv
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pyarrow as pa

from synth_engine import formats
from synth_engine.errors import TableError
from synth_engine.formats import Dialect
from synth_engine.formats.dialect import declared_delimiter, delimiter_of
from synth_engine.formats.encodings import marked
from synth_engine.readers import fast_csv, rules
from synth_engine.readers.line_feed import Feed
from synth_engine.readers.source import (
    LONGEST_CELL,
    Block,
    Limits,
    Meter,
    Mode,
    ReadOptions,
    Shape,
)
from synth_engine.threads import Job, Pool

SAMPLE = 2**16  # characters from which a dialect is guessed
SHOWN_LINES, SHOWN_CELLS, SHOWN_LETTERS = (
    6,
    12,
    60,
)  # of a file whose form is open, to its steward
MOST_ENCODINGS = 10
MOST_BLANKS = 10_000  # lines of blanks above a table without a header
AHEAD = 3  # pieces that are parsed while one is used


def detect(path: Path, *, packed: bool, limits: Limits) -> Dialect:
    """The dialect of a file: its encoding from all of its bytes, the rest from its first lines. What is open
    is in `asked`."""
    _check_kind(path, packed=packed, limits=limits)
    encodings = formats.Encodings()
    with Meter(path, packed=packed, limits=limits) as meter:
        while data := meter.read(2**20):
            encodings.feed(data)
    dialect = Dialect(encoding=encodings.most_likely())
    with Meter(path, packed=packed, limits=limits) as meter:
        text = codecs.getincrementaldecoder(dialect.codec)("replace").decode(
            meter.read(4 * SAMPLE) or b""
        )
        complete = len(text) <= SAMPLE and not meter.read(1)
    guessed = formats.guess(
        text[:SAMPLE], encoding=dialect.encoding, certain=encodings.certain, complete=complete
    )
    # UTF-8 with some damage is refused at its place, whatever else is open.
    return replace(guessed, asked=(), header=True) if encodings.damaged else guessed


def encodings(path: Path, *, packed: bool, limits: Limits) -> dict[str, list[str]]:
    """Return the encodings that the bytes of a file allow, the likeliest first, with some of its words in
    each."""
    candidates = formats.Encodings()
    with Meter(path, packed=packed, limits=limits) as meter:
        while data := meter.read(2**20):
            candidates.feed(data)
    candidates.most_likely()
    return {name: candidates.words(name) for name in candidates.possible()[:MOST_ENCODINGS]}


def first_lines(
    path: Path, *, packed: bool, limits: Limits, dialect: Dialect
) -> list[list[str]]:
    """The first lines, blank ones and those above the table too, each split into cells if it can be."""
    with Meter(path, packed=packed, limits=limits) as meter:
        text = codecs.getincrementaldecoder(dialect.codec)("replace").decode(
            meter.read(SAMPLE) or b""
        )
    shown = []
    for line in [line for line in text.splitlines() if line.strip()][:SHOWN_LINES]:
        try:
            shown.append(next(dialect.reader([line]), []))
        except csv.Error:
            shown.append([line])
    return [[cell[:SHOWN_LETTERS] for cell in row[:SHOWN_CELLS]] for row in shown]


def blocks(
    path: Path,
    *,
    packed: bool,
    dialect: Dialect | None,
    shape: Shape,
    options: ReadOptions,
) -> Iterator[Block]:
    """Columns of a CSV file as text, block by block. Every cell is exactly what the file holds; in a total
    reading, what the rules for doubtful cells make of it."""
    limits, wanted = options.limits, options.wanted
    progress, mode = options.progress, options.mode
    _check_kind(path, packed=packed, limits=limits, mode=mode, dialect=dialect)
    if packed:
        _unpack(path, limits=limits)
    if dialect is not None:
        dialect.require_answers()
    dialect = dialect or _usual(path, packed=packed, limits=limits)
    with Meter(path, packed=packed, limits=limits) as meter:
        try:
            feed = Feed(meter, dialect, limits=limits, mode=mode)
            table = _Table(feed, dialect, limits=limits, shape=shape, mode=mode)
            for block in table.blocks(wanted):
                progress("read", meter.fraction)
                yield block
        except UnicodeError:
            raise _not_text(path, dialect, packed=packed, limits=limits) from None


def columns(
    path: Path, *, packed: bool, limits: Limits, dialect: Dialect | None, mode: Mode
) -> tuple[str, ...]:
    """The names in the header, and nothing below it; without a header, as many as the dialect says, and no
    look."""
    if dialect is not None:
        dialect.require_answers()
        if dialect.names:
            return formats.checked_names(dialect.names, most=limits.columns)
        if not dialect.header and dialect.columns is not None:
            return formats.counted_names(dialect.columns)
    shape, dialect = Shape(), dialect or _usual(path, packed=packed, limits=limits)
    with Meter(path, packed=packed, limits=limits) as meter:
        try:  # what is decoded beside the header must not matter, not even by being no text
            feed = Feed(meter, dialect, limits=limits, errors="replace", mode=mode)
            _Table(feed, dialect, limits=limits, shape=shape, mode=mode)
        except UnicodeError:  # UTF-16 that does not begin with its mark
            raise _not_text(path, dialect, packed=packed, limits=limits) from None
    return shape.columns


def _head(path: Path, *, packed: bool, limits: Limits) -> bytes:
    with Meter(path, packed=packed, limits=limits) as meter:
        return meter.read(formats.HEAD) or b""


def _check_kind(
    path: Path,
    *,
    packed: bool,
    limits: Limits,
    mode: Mode = "checked",
    dialect: Dialect | None = None,
) -> None:
    """A total reading looks at the first line alone where that is the header, and not at all where it is a
    record."""
    outer = _head(path, packed=False, limits=limits)
    if mode == "checked":
        formats.check_kind("csv.gz" if packed else "csv", outer)
        if packed:
            formats.refuse_foreign(_head(path, packed=True, limits=limits))
        return
    if packed:
        formats.check_kind("csv.gz", outer)
    if dialect is None or dialect.header:
        formats.refuse_foreign(_head(path, packed=packed, limits=limits).partition(b"\n")[0])


def _usual(path: Path, *, packed: bool, limits: Limits) -> Dialect:
    """Return the form of a file without a stated one: UTF-8, or UTF-16 or UTF-32 by its mark, and a header.
    It does not depend on rows."""
    return Dialect(encoding=marked(_head(path, packed=packed, limits=limits)) or "utf-8")


def _unpack(path: Path, *, limits: Limits) -> None:
    """Unpack the file once and drop the result, to refuse a damaged or swollen one before the slow work of
    parsing."""
    buffer = bytearray(2**20)
    with Meter(path, packed=True, limits=limits) as meter:
        while meter.readinto(buffer):
            pass


class _Table:
    """The header, read when it is made, and the rows under it, each as long as the header; without one, as
    the first."""

    def __init__(
        self, feed: Feed, dialect: Dialect, *, limits: Limits, shape: Shape, mode: Mode
    ) -> None:
        self._feed, self._shape, self._limits = feed, shape, limits
        self._blank = self._left_out = 0
        self._total = mode == "total"
        # A total reading cuts a long cell (`_cut`) instead of refusing it, so that the csv
        # module has to let it pass. Its limit is one for the whole process, hence set for every
        # table.
        csv.field_size_limit(LONGEST_CELL if self._total else limits.cell_characters)
        above: list[str] = []
        first = self._first(dialect.skip) if dialect.header else self._start(dialect, above)
        declared = declared_delimiter(first)
        if declared:
            above.append(first)
            first = (
                feed.line() if dialect.header else self._start(replace(dialect, skip=0), above)
            )
        line = feed.lines
        delimiter = dialect.delimiter or declared or delimiter_of(first, quote=dialect.quote)
        shape.dialect = self._dialect = replace(dialect, delimiter=delimiter)
        self._rules = rules.Rules(self._dialect, total=self._total)
        self._names, read = self._record(first) if first or dialect.header else ([], "")
        self._header = ""
        headers = [self._names] + [
            self._next_header() for _ in range(dialect.header_lines - 1) if dialect.header
        ]
        self._names = headers[-1]
        nameless_end = len(self._names) > 1 and not self._names[-1].strip()
        self._empty_end = (
            dialect.header and nameless_end and len(dialect.names) != len(self._names)
        )
        if dialect.header:
            shape.columns = self._named(formats.joined_names(headers), line=line)
            may_repeat = self._total or len(shape.columns) == 1  # such a line is a record
            self._header = "" if may_repeat else self._names[0].strip()
        else:
            shape.columns = self._counted(dialect.columns)
            # Without a header the first record was read only for its width; it is still to
            # come, and so are lines above it that are records of that width.
            records = [text for text in above if self._is_record(text)]
            text = "".join([*records, read])
            feed.give_back(text.encode(), lines=feed.lines - line + bool(first) + len(records))
            declared = "" if any(map(declared_delimiter, records)) else declared
        if declared:
            shape.notes.append("The first line says which delimiter is used; it was left out.")
        shape.dialect = replace(
            self._dialect, columns=None if dialect.header else len(shape.columns)
        )

    def _next_header(self) -> list[str]:
        """Read one more of the lines that name the columns together."""
        names, _ = self._record(self._first(0))
        if len(names) != len(self._names):
            raise _ragged(len(self._names), line=self._feed.lines)
        return names

    def _first(self, skip: int) -> str:
        for _ in range(skip):
            self._feed.line()
        for line in self._feed:
            if line.strip():
                return line
        raise TableError("the file is empty", repair="upload a table with a header and rows")

    def _start(self, dialect: Dialect, above: list[str]) -> str:
        """Return the first line of a table without a header, nothing if a run may have a table without one.
        Lines of blanks above it are put into `above`: they are records if the table has one column, which may
        not be known yet."""
        for _ in range(dialect.skip):
            self._feed.line()
        # Whether a line of empty cells is a record must not depend on whether another one stands above it.
        delimiter = dialect.delimiter or "\t"
        for line in self._feed:
            if line.strip() or (delimiter in line and delimiter != " "):
                return line
            if line.strip("\r\n"):
                above.append(line)
            if len(above) == MOST_BLANKS:
                return above.pop()
        if above:
            return above.pop()
        if self._total and dialect.columns is not None:
            return ""
        raise TableError("the file is empty", repair="upload a table with a header and rows")

    def _is_record(self, text: str) -> bool:
        """Whether a line of blanks, or one that states the delimiter, has as many cells as the table has
        columns."""
        if self._dialect.delimiter == " " and not text.strip():
            return False
        row = self._next(self._dialect.reader([text]), line=self._feed.lines)
        return row is not None and len(row) == len(self._shape.columns)

    def _record(self, first: str) -> tuple[list[str], str]:
        """The first record, and its text."""
        read: list[str] = []

        def noted() -> Iterator[str]:
            for line in chain([first] if first else [], self._feed):
                read.append(line)
                yield line

        line = self._feed.lines
        names = self._next(self._dialect.reader(noted()), line=line)
        if names is None:
            raise TableError("no header", repair="put a line of column names on top")
        text = "".join(read)
        self._rules.check(text, line=line)
        return self._rules.cells(names, text), text

    def _named(self, names: list[str], *, line: int) -> tuple[str, ...]:
        names, notes = names[:-1] if self._empty_end else names, self._shape.notes
        if self._empty_end:
            notes.append(
                "Every line ends with a delimiter; the empty column behind it was left out."
            )
        if self._dialect.names:
            return self._given(len(names))
        checked = formats.checked_names(names, most=self._limits.columns, line=line)
        if list(checked) != names:
            notes.append("Spaces around column names were left out.")
        if formats.looks_like_data(checked) and not self._dialect.marks_confirmed:
            raise TableError(
                "the first line looks like data",
                repair="put a line of column names on top, or say that there is none",
                line=line,
            )
        return checked

    def _given(self, width: int) -> tuple[str, ...]:
        """The names that a person gave, if they are as many as the columns."""
        if len(self._dialect.names) != width:
            raise TableError(
                f"{len(self._dialect.names)} names are given for {width} columns",
                repair="give each column one name",
            )
        return formats.checked_names(self._dialect.names, most=self._limits.columns)

    def _counted(self, width: int | None) -> tuple[str, ...]:
        if self._dialect.names:
            return self._given(width or len(self._names))
        return formats.checked_names(
            formats.counted_names(width or len(self._names)), most=self._limits.columns
        )

    def blocks(self, wanted: Sequence[str] | None) -> Iterator[Block]:
        """Everything under the header."""
        shape, places = self._shape, {}
        for place, name in enumerate(shape.columns):
            if wanted is None or name in wanted:
                places[name] = place
        with _Pieces(
            self._feed, self._form(list(places.values())), total=self._total
        ) as pieces:
            for piece in pieces:
                parsed = (
                    self._slowly(len(piece), places)
                    if isinstance(piece, bytes)
                    else self._sliced(piece, places)
                )
                for block, rows in parsed:
                    shape.rows += rows
                    if shape.rows > self._limits.rows:
                        raise TableError(
                            "more rows than are allowed", repair="use a smaller table"
                        )
                    yield block
        shape.lines = self._feed.lines
        if not shape.rows and not self._total:
            raise TableError(
                "a header and no rows", repair="add the rows of the table", line=shape.lines
            )
        if self._blank:
            shape.notes.append(f"{self._blank} blank lines were left out.")
        if self._left_out:
            shape.notes.append(f"{self._left_out} empty rows, notes and totals were left out.")

    def _form(self, wanted: list[int]) -> fast_csv.Form:
        limits = self._limits
        return fast_csv.Form(
            dialect=self._dialect,
            width=len(self._shape.columns),
            wanted=wanted,
            empty_end=self._empty_end,
            longest=min(limits.cell_characters, limits.line_characters),
            header=tuple(name.strip() for name in self._names) if self._header else (),
            rules=self._rules,
        )

    def _sliced(
        self, piece: fast_csv.Piece, places: dict[str, int]
    ) -> Iterator[tuple[Block, int]]:
        # In a table of one column a blank line may be an empty cell or no record. Above other
        # rows it is refused as ambiguous; below the last row it is the end of the file.
        if self._blank and piece.rows and len(self._shape.columns) == 1 and not self._total:
            raise _blank_cell(line=self._feed.lines + 1)
        self._feed.lines += piece.lines
        self._blank += piece.blank
        self._left_out += piece.left_out
        most = self._limits.rows_at_once(len(places))
        for start in range(0, piece.rows, most):
            rows = min(most, piece.rows - start)
            yield (
                {name: piece.columns[i].slice(start, rows) for i, name in enumerate(places)},
                rows,
            )

    def _slowly(self, least: int, places: dict[str, int]) -> Iterator[tuple[Block, int]]:
        """The records of so many bytes, one by one."""
        rows: list[list[str]] = []
        most = self._limits.rows_at_once(len(self._shape.columns))
        for row in self._records(self._feed.taken + least):
            rows.append(row)
            if len(rows) == most:
                yield _block(rows, places), len(rows)
                rows = []
        if rows:
            yield _block(rows, places), len(rows)

    def _uneven(self, cells: int, *, line: int) -> TableError:
        """The refusal of a line with other cells than the header has, or with a cell behind its last name."""
        width = len(self._shape.columns)
        behind = self._empty_end and cells == width + 1
        return formats.nameless(cells, line=line) if behind else _ragged(width, line=line)

    def _records(self, end: int) -> Iterator[list[str]]:
        width = len(self._shape.columns) + self._empty_end
        read: list[str] = []

        def noted() -> Iterator[str]:
            for line in self._feed:
                read.append(line)
                yield line

        reader, names = self._dialect.reader(noted()), [name.strip() for name in self._names]
        while self._feed.taken < end:
            before = self._feed.lines + 1
            read.clear()
            if (row := self._next(reader, line=before)) is None:
                return
            text = "".join(read)
            if not row or (not text.strip() and self._dialect.delimiter == " "):
                self._blank += 1
                continue
            # The csv module returns cells alone, but these rules concern marks that it has
            # removed.
            self._rules.check(text, line=before)
            # From here on the width of the row is judged, which blanks at its end must not
            # change.
            row = self._rules.cells(row, text)
            line = self._feed.lines
            if len(row) != width or (self._empty_end and row[-1]):
                raise self._uneven(len(row), line=line)
            if self._blank and width == 1 and not self._total:
                raise _blank_cell(line=line)
            if self._header and [cell.strip() for cell in row] == names:
                raise TableError(
                    "the header stands here again",
                    repair="keep one table a file, and one header",
                    line=line,
                )
            if self._rules.takes(row, line=line):
                yield self._cut(row) if self._total else row
            else:
                self._left_out += 1

    def _cut(self, row: list[str]) -> list[str]:
        """Cut each cell to as many characters as are allowed at upload."""
        most = self._limits.cell_characters
        return row if max(map(len, row)) <= most else [cell[:most] for cell in row]

    def _next(self, reader: Iterator[list[str]], *, line: int) -> list[str] | None:
        try:
            return next(reader, None)
        except csv.Error as error:
            raise _malformed(str(error), line=line) from None


class _Pieces:
    """Walks through a text: regular pieces parsed, some of them ahead of their use, and others as their
    bytes, given back to the feed to be read in another way."""

    def __init__(self, feed: Feed, form: fast_csv.Form, *, total: bool) -> None:
        self._feed, self._form, self._total = feed, form, total
        self._pool = Pool(2)
        self._waiting: deque[tuple[bytes, Job[fast_csv.Piece | None]]] = deque()

    def __enter__(self) -> _Pieces:
        return self

    def __exit__(self, *_: object) -> None:
        # A reading that is given up may be collected in the middle of anything, such as the start of another
        # thread under a lock of Python's own: nobody may be waited for here. What is being parsed ends by
        # itself.
        self._pool.close()

    def __iter__(self) -> Iterator[fast_csv.Piece | bytes]:
        ahead = AHEAD
        while self._fill(ahead):
            piece, future = self._waiting.popleft()
            parsed = future.result()
            # A checked table of one column has to know of blank lines above, which may be in another piece.
            if parsed is not None and (
                self._total or not (parsed.blank and self._form.width == 1)
            ):
                ahead = AHEAD
                yield parsed
                continue
            # The feed stands behind the pieces that were read ahead. They go back in order, so
            # that the strict parser, whose record may end in the next piece, begins at this
            # one.
            self._feed.give_back(piece + b"".join(one for one, _ in self._waiting))
            self._waiting.clear()
            # Irregular pieces often follow each other, and each would waste what is parsed
            # ahead.
            ahead = 1
            yield piece

    def _fill(self, ahead: int) -> bool:
        while len(self._waiting) < ahead and (piece := self._feed.piece()):
            last = self._feed.empty
            self._waiting.append(
                (piece, self._pool.submit(fast_csv.parsed, piece, self._form, last=last))
            )
        return bool(self._waiting)


def _block(rows: list[list[str]], places: dict[str, int]) -> Block:
    cells = list(zip(*rows, strict=True))
    return {name: pa.array(cells[place], type=pa.string()) for name, place in places.items()}


def _ragged(width: int, *, line: int) -> TableError:
    """Return the refusal of such a line. It names the line, which only the steward sees, and never its number
    of cells, because the text of the rule is shown to everybody."""
    return TableError(
        f"a line with more or fewer cells than the {width} of the header",
        repair="give every line as many cells as the header; quote cells that hold the delimiter; say how "
        "many lines above and below the table are left out (skip, footer)",
        line=line,
    )


def _blank_cell(*, line: int) -> TableError:
    return TableError(
        "a blank line in a table of one column", repair='write "" for an empty cell', line=line
    )


def _malformed(message: str, *, line: int) -> TableError:
    if "unexpected end" in message:
        return TableError(
            "a quotation mark is never closed",
            repair="close it, or double it inside a cell",
            line=line,
        )
    if "field larger" in message:
        return TableError(
            "a cell is too long",
            repair="look for a quotation mark that is not closed",
            line=line,
        )
    return TableError(
        "text after a closing quotation mark",
        repair="double quotation marks inside a cell, or say that a backslash stands before them (escape)",
        line=line,
    )


def _not_text(path: Path, dialect: Dialect, *, packed: bool, limits: Limits) -> TableError:
    """Return the refusal of a text in another encoding, with the first line that does not fit. The file is
    decoded again to find it; for UTF-16 and UTF-32, whose line ends are no single bytes, no line is given."""
    line = (
        None
        if dialect.encoding.startswith(("utf-16", "utf-32"))
        else _first_bad_line(path, dialect, packed, limits)
    )
    name = formats.ENCODINGS[dialect.encoding].split(" (")[0]
    return TableError(
        f"not text in {name}",
        repair='save it as "CSV UTF-8", or say which encoding it has',
        line=line,
    )


def _first_bad_line(path: Path, dialect: Dialect, packed: bool, limits: Limits) -> int:
    decoder, line, last = codecs.getincrementaldecoder(dialect.codec)(), 1, ""
    with Meter(path, packed=packed, limits=limits) as meter:
        while data := meter.read(2**18):
            try:
                text = decoder.decode(data)
            except UnicodeDecodeError as error:
                text = error.object[: error.start].decode(dialect.codec, errors="replace")
                data = b""
            line += _line_ends(last, text)
            last = text[-1:] or last
            if not data:
                break
    return line


def _line_ends(last: str, text: str) -> int:
    pairs = text.count("\r\n") + (last == "\r" and text.startswith("\n"))
    return text.count("\n") + text.count("\r") - pairs
