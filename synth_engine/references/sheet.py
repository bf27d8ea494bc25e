"""The file of a public reference: CSV in UTF-8, plain or packed with gzip, as columns of texts."""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from synth_engine.errors import TableError

MOST_BYTES = 128 * 2**20
"""Unpacked."""
MOST_LINES = 1_000_000
LONGEST_CELL = 1_000
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, kw_only=True)
class ReferenceSheet:
    """`names` of all columns in order, and the cells of those that were asked for."""

    names: tuple[str, ...]
    cells: Mapping[str, list[str]]

    def __len__(self) -> int:
        return len(next(iter(self.cells.values()), ()))


def unpacked(data: bytes) -> bytes:
    """The file as text in bytes. Errors: TableError for a damaged or an endless file."""
    unpacked_data = b""
    if not data.startswith(_GZIP):
        unpacked_data = data
    while data.startswith(_GZIP):  # a packed file may have several members
        member = zlib.decompressobj(wbits=31)
        try:
            # One byte more than is allowed is enough to refuse a file, however far it would
            # unpack.
            unpacked_data += member.decompress(data, MOST_BYTES + 1 - len(unpacked_data))
        except zlib.error:
            raise TableError("the packed file is damaged", repair="pack it again") from None
        if not member.eof and len(unpacked_data) <= MOST_BYTES:
            raise TableError("the packed file ends too early", repair="fetch or pack it again")
        data = b"" if len(unpacked_data) > MOST_BYTES else member.unused_data
    if len(unpacked_data) > MOST_BYTES:
        raise TableError(
            f"a reference table is larger than {MOST_BYTES // 2**20} MB",
            repair="leave out columns or rows that no table needs",
        )
    return unpacked_data


def read_sheet(text: bytes, *, wanted: Iterable[str] | None = None) -> ReferenceSheet:
    """Takes a CSV apart. `wanted`: which columns' cells to keep, None for none. Errors: TableError naming the
    line."""
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TableError(
            "the file is no text in UTF-8", repair="save it as CSV in UTF-8"
        ) from None
    lines = csv.reader(io.StringIO(decoded, newline=""), strict=True)
    try:
        names = tuple(name.strip() for name in next(lines, []))
        _check(names)
        return ReferenceSheet(names=names, cells=_cells(lines, names=names, wanted=wanted))
    except csv.Error:
        raise TableError(
            "a quotation mark is not closed", repair="save it again as CSV", line=lines.line_num
        ) from None


def _check(names: tuple[str, ...]) -> None:
    if not names or not all(names):
        raise TableError(
            "the first line does not name every column", repair="put a header above the table"
        )
    if len(set(names)) < len(names):
        raise TableError("two columns have one name", repair="rename one of them")


def _cells(
    lines: Iterable[list[str]], *, names: tuple[str, ...], wanted: Iterable[str] | None
) -> dict[str, list[str]]:
    places = []
    for name in () if wanted is None else dict.fromkeys(wanted):
        if name not in names:
            raise TableError(
                "the reference table has no such column",
                repair="take its name from the header",
                column=name,
            )
        places.append((names.index(name), list[str]()))
    if not places:
        return {}
    # Equal cells share one text: a table of records has few different ones, many times.
    memo: dict[str, str] = {}
    for number, row in enumerate(filter(None, lines), start=2):
        if len(row) != len(names):
            raise TableError(
                "a line has another number of cells than the header",
                repair="mend it",
                line=number,
            )
        if number > MOST_LINES + 1:
            raise TableError(
                f"a reference table has more than {MOST_LINES:,} lines",
                repair="take those of one region",
            )
        for place, texts in places:
            text = row[place].strip()
            texts.append(memo.setdefault(text, text))
    cells = {names[place]: texts for place, texts in places}
    for name, texts in cells.items():
        if any(len(text) > LONGEST_CELL for text in texts):
            raise TableError(
                f"a cell is longer than {LONGEST_CELL:,} letters",
                repair="shorten it",
                column=name,
            )
    return cells
