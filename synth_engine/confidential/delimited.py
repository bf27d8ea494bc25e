"""Strict CSV: either the exact cells of the file, or a refusal that says where and why."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pyarrow as pa

from synth_engine import formats
from synth_engine.confidential.sources import Block, Limits, Meter, Progress, Shape
from synth_engine.errors import TableError
from synth_engine.formats import Dialect
from synth_engine.formats.dialect import MARKS_16, declared_delimiter, delimiter_of

SAMPLE = 2**16  # characters from which a dialect is guessed


def detect(path: Path, *, packed: bool, limits: Limits) -> Dialect:
    """The dialect of a file: its encoding from all of its bytes, the rest from its first lines."""
    _check_kind(path, packed=packed, limits=limits)
    encodings = formats.Encodings()
    with Meter(path, packed=packed, limits=limits) as meter:
        while data := meter.read(2**20):
            encodings.feed(data)
    dialect = Dialect(encoding=encodings.found())
    with Meter(path, packed=packed, limits=limits) as meter:
        return Dialect.guess(_text(meter, dialect, errors="replace").read(SAMPLE), encoding=dialect.encoding)


def csv_blocks(
    path: Path,
    *,
    packed: bool,
    limits: Limits,
    dialect: Dialect | None,
    shape: Shape,
    wanted: Sequence[str] | None,
    progress: Progress,
) -> Iterator[Block]:
    """Columns of a CSV file as text, block by block. Every cell is exactly what the file holds."""
    _check_kind(path, packed=packed, limits=limits)
    if packed:
        _unpack(path, limits=limits)
    dialect = dialect or _usual(path, packed=packed, limits=limits)
    with Meter(path, packed=packed, limits=limits) as meter:
        text = _text(meter, dialect)  # named, because it closes the meter when it goes
        try:
            for block in _blocks(_lines(text, limits=limits), dialect, limits=limits, shape=shape, wanted=wanted):
                progress("read", meter.fraction)
                yield block
        except UnicodeError:
            raise _not_text(path, dialect, packed=packed, limits=limits) from None


def csv_columns(path: Path, *, packed: bool, limits: Limits, dialect: Dialect | None) -> tuple[str, ...]:
    """The names in the header, and nothing below it; without a header, as many as the dialect says, and no look."""
    if dialect is not None and not dialect.header and dialect.columns is not None:
        return formats.counted_names(dialect.columns)
    shape, dialect = Shape(), dialect or _usual(path, packed=packed, limits=limits)
    with Meter(path, packed=packed, limits=limits) as meter:
        # What is decoded beside the header must not matter, not even by being no text.
        lines = _lines(_text(meter, dialect, errors="replace"), limits=limits)
        try:
            _Records(lines, dialect, limits=limits, shape=shape)
        except UnicodeError:  # UTF-16 that does not begin with its mark
            raise _not_text(path, dialect, packed=packed, limits=limits) from None
    return shape.columns


def _text(meter: Meter, dialect: Dialect, *, errors: str = "strict") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedReader(meter, 2**18), encoding=dialect.codec, errors=errors, newline="")


def _head(path: Path, *, packed: bool, limits: Limits) -> bytes:
    with Meter(path, packed=packed, limits=limits) as meter:
        return meter.read(formats.HEAD) or b""


def _check_kind(path: Path, *, packed: bool, limits: Limits) -> None:
    formats.check_kind("csv.gz" if packed else "csv", _head(path, packed=False, limits=limits))
    if packed:
        formats.refuse_foreign(_head(path, packed=True, limits=limits))


def _usual(path: Path, *, packed: bool, limits: Limits) -> Dialect:
    """What is read when nobody has said how: UTF-8, or UTF-16 by its mark, and a header. Rows have no say in it."""
    marked = _head(path, packed=packed, limits=limits).startswith(MARKS_16)
    return Dialect(encoding="utf-16" if marked else "utf-8")


def _unpack(path: Path, *, limits: Limits) -> None:
    """Unpacks once for nothing: a damaged or swollen file is refused before the slow work of parsing begins."""
    buffer = bytearray(2**20)
    with Meter(path, packed=True, limits=limits) as meter:
        while meter.readinto(buffer):
            pass


def _lines(text: io.TextIOWrapper, *, limits: Limits) -> Iterator[str]:
    number = 0
    while line := text.readline(limits.line_characters):
        number += 1
        if len(line) == limits.line_characters:
            raise TableError("the line is too long", repair="check quotation marks and line ends", line=number)
        if "\0" in line:
            raise TableError("a NUL byte", repair="export the table again as plain text in UTF-8", line=number)
        yield line


def _blocks(
    lines: Iterator[str], dialect: Dialect, *, limits: Limits, shape: Shape, wanted: Sequence[str] | None
) -> Iterator[Block]:
    records = _Records(lines, dialect, limits=limits, shape=shape)
    places = [(name, i) for i, name in enumerate(shape.columns) if wanted is None or name in wanted]
    rows: list[list[str]] = []
    for row in records:
        rows.append(row)
        if len(rows) == limits.block_rows:
            yield _block(rows, places)
            rows = []
            if shape.rows > limits.rows:
                raise TableError("more rows than are allowed", repair="use a smaller table")
    if not shape.rows:
        raise TableError("a header and no rows", repair="add the rows of the table", line=shape.lines)
    if rows:
        yield _block(rows, places)


def _block(rows: list[list[str]], places: list[tuple[str, int]]) -> Block:
    columns = list(zip(*rows, strict=True))
    return {name: pa.array(columns[i], type=pa.string()) for name, i in places}


class _Records:
    """The rows under the header, each as long as the header; without one, as long as the first."""

    def __init__(self, lines: Iterator[str], dialect: Dialect, *, limits: Limits, shape: Shape) -> None:
        self._shape, self._skipped = shape, 0
        first = self._first(lines)
        if declared := declared_delimiter(first):
            self._skipped, first = self._skipped + 1, next(lines, "")
        delimiter = dialect.delimiter or declared or delimiter_of(first, quote=dialect.quote)
        shape.dialect = replace(dialect, delimiter=delimiter)
        csv.field_size_limit(limits.cell_characters)
        self._reader = shape.dialect.reader(chain([first], lines))
        names = self._next()
        if names is None:
            raise TableError("no header", repair="put a line of column names on top")
        self._waiting = None if dialect.header else names
        shape.columns = self._named(names, most=limits.columns) if dialect.header else self._counted(names, limits)
        shape.dialect = replace(shape.dialect, columns=None if dialect.header else len(shape.columns))

    def _named(self, names: list[str], *, most: int) -> tuple[str, ...]:
        found = formats.checked_names(names, most=most, line=1)
        if list(found) != names:
            self._shape.notes.append("Spaces around column names were left out.")
        if formats.looks_like_data(found):
            raise TableError(
                "the first line looks like data",
                repair="put a line of column names on top, or say that there is none",
                line=1,
            )
        return found

    def _counted(self, first: list[str], limits: Limits) -> tuple[str, ...]:
        width = (self._shape.dialect and self._shape.dialect.columns) or len(first)
        return formats.checked_names(formats.counted_names(width), most=limits.columns)

    def _first(self, lines: Iterator[str]) -> str:
        for line in lines:
            if line.strip():
                return line
            self._skipped += 1
        raise TableError("the file is empty", repair="upload a table with a header and rows")

    def _next(self) -> list[str] | None:
        start = self._reader.line_num + self._skipped + 1
        try:
            return next(self._reader, None)
        except csv.Error as error:
            raise _malformed(str(error), line=start) from None

    def __iter__(self) -> Iterator[list[str]]:
        width, blank = len(self._shape.columns), 0
        while (row := self._waiting or self._next()) is not None:
            self._waiting = None
            if not row:
                blank += 1
                continue
            if len(row) != width:
                self._refuse_ragged()
            if blank and width == 1:
                raise TableError(
                    "a blank line in a table of one column", repair='write "" for an empty cell', line=self._line
                )
            self._shape.rows += 1
            yield row
        self._shape.lines = self._line
        if blank:
            self._shape.notes.append(f"{blank} blank lines were left out.")

    @property
    def _line(self) -> int:
        return self._reader.line_num + self._skipped

    def _refuse_ragged(self) -> None:
        """Where it is, which its steward alone is told, and not how many cells there are: the rule is for everybody."""
        raise TableError(
            f"a line with more or fewer cells than the {len(self._shape.columns)} of the header",
            repair="give every line as many cells as the header; quote cells that hold the delimiter",
            line=self._line,
        )


def _malformed(message: str, *, line: int) -> TableError:
    if "unexpected end" in message:
        return TableError("a quotation mark is never closed", repair="close it, or double it inside a cell", line=line)
    if "field larger" in message:
        return TableError("a cell is too long", repair="look for a quotation mark that is not closed", line=line)
    return TableError("text after a closing quotation mark", repair="double quotation marks inside a cell", line=line)


def _not_text(path: Path, dialect: Dialect, *, packed: bool, limits: Limits) -> TableError:
    """Finds the line again, where a line end is a byte; only a refusal pays for that."""
    line = None if dialect.encoding.startswith("utf-16") else _first_bad_line(path, dialect, packed, limits)
    name = formats.ENCODINGS[dialect.encoding].split(" (")[0]
    return TableError(f"not text in {name}", repair='save it as "CSV UTF-8", or say which encoding it has', line=line)


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
