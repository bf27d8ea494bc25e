"""Strict CSV: either the exact cells of the file, or a refusal that says where and why."""

from __future__ import annotations

import codecs
import csv
import io
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import pyarrow as pa

from synth_engine import formats
from synth_engine.confidential.sources import Block, Limits, Meter, Progress, Shape
from synth_engine.errors import TableError

DELIMITERS = (",", ";", "\t", "|")


def csv_blocks(
    path: Path, *, packed: bool, limits: Limits, shape: Shape, wanted: Sequence[str] | None, progress: Progress
) -> Iterator[Block]:
    """Columns of a CSV file as text, block by block. Every cell is exactly what the file holds."""
    with Meter(path, packed=False, limits=limits) as meter:
        formats.refuse_foreign(meter.read(formats.HEAD) or b"", packed=packed)
    if packed:
        _unpack(path, limits=limits)
    with Meter(path, packed=packed, limits=limits) as meter:
        buffered = io.BufferedReader(meter, 2**18)
        formats.refuse_foreign(buffered.peek(formats.HEAD)[: formats.HEAD])
        text = io.TextIOWrapper(buffered, encoding="utf-8-sig", newline="")
        try:
            for block in _blocks(_lines(text, limits=limits), limits=limits, shape=shape, wanted=wanted):
                progress("read", meter.fraction)
                yield block
        except UnicodeDecodeError:
            raise _not_utf8(path, packed=packed, limits=limits) from None


def csv_columns(path: Path, *, packed: bool, limits: Limits) -> tuple[str, ...]:
    """The names in the header, and nothing below it."""
    shape = Shape()
    with Meter(path, packed=packed, limits=limits) as meter:
        # What is decoded beside the header must not matter, not even by being no text.
        text = io.TextIOWrapper(io.BufferedReader(meter, 2**13), encoding="utf-8-sig", errors="replace", newline="")
        _Records(_lines(text, limits=limits), limits=limits, shape=shape)
    return shape.columns


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


def _blocks(lines: Iterator[str], *, limits: Limits, shape: Shape, wanted: Sequence[str] | None) -> Iterator[Block]:
    records = _Records(lines, limits=limits, shape=shape)
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
    """The rows under the header, each as long as the header."""

    def __init__(self, lines: Iterator[str], *, limits: Limits, shape: Shape) -> None:
        self._shape, self._skipped = shape, 0
        first = self._first(lines)
        shape.delimiter, first = self._dialect(first, lines)
        csv.field_size_limit(limits.cell_characters)
        self._reader = csv.reader(chain([first], lines), delimiter=shape.delimiter, strict=True)
        names = self._next()
        if names is None:
            raise TableError("no header", repair="put a line of column names on top")
        shape.columns = _header(names, limits=limits, shape=shape)

    def _first(self, lines: Iterator[str]) -> str:
        for line in lines:
            if line.strip():
                return line
            self._skipped += 1
        raise TableError("the file is empty", repair="upload a table with a header and rows")

    def _dialect(self, first: str, lines: Iterator[str]) -> tuple[str, str]:
        declared = re.fullmatch(r"sep=(.)\s*", first)
        if declared and declared[1] in DELIMITERS:  # some spreadsheets write their delimiter on a line of its own
            self._skipped += 1
            return declared[1], next(lines, "")
        bare = re.sub(r'"[^"]*"?', "", first)
        return max(DELIMITERS, key=bare.count), first  # a tie goes to the first of the list

    def _next(self) -> list[str] | None:
        start = self._reader.line_num + self._skipped + 1
        try:
            return next(self._reader, None)
        except csv.Error as error:
            raise _malformed(str(error), line=start) from None

    def __iter__(self) -> Iterator[list[str]]:
        width, blank = len(self._shape.columns), 0
        while (row := self._next()) is not None:
            if not row:
                blank += 1
                continue
            if len(row) != width:
                self._refuse_ragged(len(row))
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

    def _refuse_ragged(self, found: int) -> None:
        columns = self._shape.columns
        raise TableError(
            f"{found} cells where the header has {len(columns)}",
            repair="give every line as many cells as the header; quote cells that hold the delimiter",
            line=self._line,
            column=columns[found] if found < len(columns) else None,
        )


def _header(names: list[str], *, limits: Limits, shape: Shape) -> tuple[str, ...]:
    if len(names) > limits.columns:
        raise TableError(f"more than {limits.columns:,} columns", repair="keep the columns you need", line=1)
    stripped = tuple(name.strip() for name in names)
    if stripped != tuple(names):
        shape.notes.append("Spaces around column names were left out.")
    seen: dict[str, int] = {}
    for place, name in enumerate(stripped, start=1):
        if not name:
            raise TableError(f"column {place} has no name", repair="name it, or remove the delimiter", line=1)
        if not name.isprintable() or len(name) > 200:
            raise TableError(
                f"the name of column {place} is too long or has invisible characters", repair="rename it", line=1
            )
        key = unicodedata.normalize("NFKC", name).casefold()
        if key in seen:
            raise TableError(
                f"columns {seen[key]} and {place} have the same name (but for case or form of letters)",
                repair="rename one of them",
                line=1,
                column=name,
            )
        seen[key] = place
    _refuse_data_as_header(stripped)
    return stripped


def _refuse_data_as_header(names: tuple[str, ...]) -> None:
    """Numbers for names mean that the header is not there, unless they merely count the columns."""
    counted = [tuple(str(i) for i in range(start, start + len(names))) for start in (0, 1)]
    if all(re.fullmatch(r"[+-]?[0-9.]+", name) for name in names) and names not in counted:
        raise TableError("the first line looks like data", repair="put a line of column names on top", line=1)


def _malformed(message: str, *, line: int) -> TableError:
    if "unexpected end" in message:
        return TableError("a quotation mark is never closed", repair="close it, or double it inside a cell", line=line)
    if "field larger" in message:
        return TableError("a cell is too long", repair="look for a quotation mark that is not closed", line=line)
    return TableError("text after a closing quotation mark", repair="double quotation marks inside a cell", line=line)


def _not_utf8(path: Path, *, packed: bool, limits: Limits) -> TableError:
    """Finds the line again; only a refusal pays for that."""
    decoder, line, last = codecs.getincrementaldecoder("utf-8")(), 1, ""
    with Meter(path, packed=packed, limits=limits) as meter:
        while data := meter.read(2**18):
            try:
                text = decoder.decode(data)
            except UnicodeDecodeError as error:
                text = error.object[: error.start].decode("utf-8", errors="replace")
                data = b""
            line += _line_ends(last, text)
            last = text[-1:] or last
            if not data:
                break
    return TableError("not text in UTF-8", repair='save it as "CSV UTF-8" (it may be Latin-1 now)', line=line)


def _line_ends(last: str, text: str) -> int:
    pairs = text.count("\r\n") + (last == "\r" and text.startswith("\n"))
    return text.count("\n") + text.count("\r") - pairs
