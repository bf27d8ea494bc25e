"""A file of baskets: one in each line, a blank line being an empty one. It is a table of one column, `items`,
whose cells are the lines; what stands between items is said by the description of that column."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

from synth_engine import formats
from synth_engine.errors import TableError
from synth_engine.formats import Kind
from synth_engine.readers.source import Block, Limits, Meter, Mode, ReadOptions, Shape

COLUMNS = ("items",)
_PIECE = 2**22
_MARK = b"\xef\xbb\xbf"
_SAVE_AGAIN = "save the file as plain text in UTF-8"


def blocks(
    path: Path,
    *,
    kind: Kind,
    shape: Shape,
    options: ReadOptions,
) -> Iterator[Block]:
    """The lines as one column of text, block by block. Raises TableError for a line that is too long or not
    UTF-8; a total reading takes a long line by its first characters, and U+FFFD for bytes that are not
    UTF-8."""
    limits, wanted = options.limits, options.wanted
    progress, mode = options.progress, options.mode
    shape.columns, shape.facts = COLUMNS, {name: {"baskets": True} for name in COLUMNS}
    with Meter(path, packed=False, limits=limits) as plain:
        if mode == "checked" or kind == "baskets.gz":  # of a text, the first bytes are a record
            formats.check_kind(kind, plain.take(formats.HEAD))
    with Meter(path, packed=kind == "baskets.gz", limits=limits) as meter:
        for lines in _pieces(meter, shape=shape, limits=limits, mode=mode):
            rest = iter(lines)
            while some := list(islice(rest, limits.block_rows)):
                shape.rows += len(some)
                if shape.rows > limits.rows:
                    raise TableError("more rows than are allowed", repair="use a smaller table")
                progress("read", meter.fraction)
                column = pa.array(some, type=pa.string())
                yield {name: column for name in COLUMNS if wanted is None or name in wanted}
    progress("read", 1.0)


def _pieces(meter: Meter, *, shape: Shape, limits: Limits, mode: Mode) -> Iterator[list[str]]:
    """Whole lines, many at a time, without their ends; after the last line end there is no line."""
    rest = meter.take(_PIECE)
    if mode == "checked":
        formats.refuse_foreign(rest[: formats.HEAD], instead_of=formats.BASKET_LIST)
    rest = rest.removeprefix(_MARK)
    while True:
        data = meter.take(_PIECE)
        whole, end, rest = (rest + b"", b"", b"") if not data else rest.rpartition(b"\n")
        if whole or end:
            lines = (
                _text(whole, before=shape.lines, mode=mode)
                .replace("\r\n", "\n")
                .removesuffix("\r")
                .split("\n")
            )
            if not data and not lines[-1]:
                lines.pop()
            lines = _checked(lines, before=shape.lines, limits=limits, mode=mode)
            shape.lines += len(lines)
            yield lines
        if not data:
            return
        rest += data
        # A character has at most 4 bytes, so that the line is certainly too long. Memory needs
        # a bound in a total reading too, which otherwise cuts long lines.
        if len(rest) > 4 * limits.line_characters + 2 * _PIECE:
            raise TableError(
                "the line is too long", repair="put a basket in each line", line=shape.lines + 1
            )


def _text(data: bytes, *, before: int, mode: Mode) -> str:
    if mode == "total":
        return data.decode(
            "utf-8", errors="replace"
        )  # a line end is never a part of a damaged character
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = before + data.count(b"\n", 0, error.start) + 1
        raise TableError("the text is not UTF-8", repair=_SAVE_AGAIN, line=line) from None


def _checked(lines: list[str], *, before: int, limits: Limits, mode: Mode) -> list[str]:
    if mode == "total":
        return [line[: limits.line_characters] for line in lines]
    for place, line in enumerate(lines, start=before + 1):
        if len(line) >= limits.line_characters:
            raise TableError(
                "the line is too long", repair="put a basket in each line", line=place
            )
        if "\0" in line:
            raise TableError("a NUL byte", repair=_SAVE_AGAIN, line=place)
    return lines
