"""Cells that are no text in their file, as the text that a CSV would hold, and rows of them as blocks."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

import pyarrow as pa

from synth_engine.errors import TableError
from synth_engine.readers.source import Limits, Mode

_HALF = re.compile("[\ud800-\udfff]")
_EXACT = 10**15  # beyond it a float no longer says which whole number it stands for


def text(value: object) -> str | None:
    """Return what a CSV would hold: whole numbers without a point, dates and times in ISO form, nothing for
    nothing."""
    match value:
        case None | str():
            return value
        case bool():
            return "TRUE" if value else "FALSE"
        case float():
            if value != value:  # not a number: nothing is there
                return None
            return (
                str(int(value)) if value.is_integer() and abs(value) < _EXACT else repr(value)
            )
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            seconds = round(value.total_seconds())
            return (
                f"{'-' * (seconds < 0)}{abs(seconds) // 3_600}:{abs(seconds) // 60 % 60:02}:"
                f"{abs(seconds) % 60:02}"
            )
    return str(value)


def column(
    name: str, values: Sequence[object], *, limits: Limits, mode: Mode = "checked"
) -> pa.Array:
    """A column as text. Raises TableError for cells that no CSV could hold; a total reading takes them, by
    their first characters where they are too long."""
    texts = [text(value) for value in values]
    if mode == "total":
        return pa.array(
            [cell and _storable(cell[: limits.cell_characters]) for cell in texts],
            type=pa.string(),
        )
    if any(cell is not None and len(cell) > limits.cell_characters for cell in texts):
        raise TableError("a cell is too long", repair="leave the column out", column=name)
    if any(cell is not None and "\0" in cell for cell in texts):
        raise TableError("a NUL byte", repair="write the table again without it", column=name)
    try:
        return pa.array(texts, type=pa.string())
    except UnicodeEncodeError:
        raise TableError(
            "half of a character", repair="write the table again in UTF-8", column=name
        ) from None


def _storable(cell: str) -> str:
    """The cell, with U+FFFD for halves of characters."""
    return cell if cell.isascii() else _HALF.sub("\ufffd", cell)
