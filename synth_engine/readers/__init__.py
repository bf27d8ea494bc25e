"""Files as blocks of text columns, for the room alone, whatever the format. Nothing here keeps, counts or
compares rows.

Either a table's cells are exactly those of its file, or it is refused; refusals name line, column, rule and
repair, never a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from synth_engine import formats
from synth_engine.errors import TableError
from synth_engine.formats import Dialect, Kind
from synth_engine.readers import (
    baskets,
    delimited,
    objects,
    parquet,
    statistical,
    workbook,
    zipped,
)
from synth_engine.readers.source import (
    CHECKED,
    Block,
    Limits,
    Meter,
    Mode,
    Progress,
    ReadOptions,
    Shape,
    silent,
)

__all__ = [
    "Block",
    "Limits",
    "Mode",
    "Progress",
    "ReadOptions",
    "Shape",
    "blocks",
    "columns",
    "detect",
    "encodings",
    "first_lines",
    "is_delimited",
    "silent",
]


def detect(
    path: Path | str, *, kind: Kind | None = None, limits: Limits | None = None
) -> Dialect | None:
    """Return how a CSV is written, guessed from its content, or which keys JSON objects have; None for other
    kinds."""
    path, limits = Path(path), limits or Limits()
    kind = kind or _found_kind(path, limits=limits)
    if kind == "zip":
        with zipped.opened(path, limits=limits) as (inside, its_kind):
            return detect(inside, kind=its_kind, limits=limits)
    if kind in formats.JSON:
        return objects.detect(path, kind=kind, limits=limits)
    return (
        delimited.detect(path, packed=kind == "csv.gz", limits=limits)
        if kind in formats.DELIMITED
        else None
    )


def encodings(
    path: Path | str, *, kind: Kind | None = None, limits: Limits | None = None
) -> dict[str, list[str]]:
    """The encodings that the bytes of a delimited text allow, the likeliest first, with some words in
    each."""
    path, limits = Path(path), limits or Limits()
    kind = kind or _found_kind(path, limits=limits)
    return (
        delimited.encodings(path, packed=kind == "csv.gz", limits=limits)
        if kind in formats.DELIMITED
        else {}
    )


def first_lines(
    path: Path | str,
    *,
    kind: Kind | None = None,
    dialect: Dialect,
    limits: Limits | None = None,
) -> list[list[str]]:
    """The first lines of a delimited text as cells, as far as they can be read in a form that may be
    wrong."""
    path, limits = Path(path), limits or Limits()
    kind = kind or _found_kind(path, limits=limits)
    return delimited.first_lines(path, packed=kind == "csv.gz", limits=limits, dialect=dialect)


def is_delimited(
    path: Path | str, *, kind: Kind | None = None, limits: Limits | None = None
) -> bool:
    """Whether a file is a CSV, packed or not, by its kind or else by its first bytes."""
    path, limits = Path(path), limits or Limits()
    kind = kind or _found_kind(path, limits=limits)
    if kind == "zip":
        with zipped.opened(path, limits=limits) as (_, its_kind):
            return its_kind in formats.DELIMITED
    return kind in formats.DELIMITED


def columns(
    path: Path | str,
    *,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    limits: Limits | None = None,
    mode: Mode = "checked",
) -> tuple[str, ...]:
    """The names of a table's columns: its form, no row of it is read."""
    path, limits = Path(path), limits or Limits()
    kind = kind or _kind_for(path, limits=limits, dialect=dialect, mode=mode)
    if kind == "zip":
        with zipped.opened(path, limits=limits) as (inside, its_kind):
            return columns(inside, kind=its_kind, dialect=dialect, limits=limits, mode=mode)
    if kind == "parquet":
        return parquet.columns(path, limits=limits)
    if kind in formats.WORKBOOKS:
        return workbook.columns(path, kind=kind, limits=limits, dialect=dialect)
    if kind in formats.BASKETS:
        return baskets.COLUMNS
    if kind in formats.JSON:
        return objects.columns(path, kind=kind, limits=limits, dialect=dialect)
    if kind in formats.WITH_SCHEMA:
        return statistical.columns(path, kind=kind, limits=limits)
    return delimited.columns(
        path, packed=kind == "csv.gz", limits=limits, dialect=dialect, mode=mode
    )


def require_vouched(
    path: Path | str,
    *,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    limits: Limits | None = None,
) -> None:
    """Raises TableError for a workbook with results of formulas for which nobody vouches. It reads all rows,
    so what it says is for a steward, before anything is charged."""
    path, limits = Path(path), limits or Limits()
    kind = kind or _kind_for(path, limits=limits, dialect=dialect, mode="total")
    if kind == "zip":
        with zipped.opened(path, limits=limits) as (inside, its_kind):
            require_vouched(inside, kind=its_kind, dialect=dialect, limits=limits)
    elif kind in formats.WORKBOOKS:
        workbook.require_vouched(path, kind=kind, limits=limits, dialect=dialect)


def blocks(
    path: Path | str,
    *,
    kind: Kind | None,
    dialect: Dialect | None = None,
    shape: Shape | None = None,
    options: ReadOptions = CHECKED,
) -> Iterator[Block]:
    """A table as blocks of text columns; those wanted that it has, or all. Fills `shape` meanwhile. Nothing
    about the form of a CSV is guessed from its rows here: without a dialect it is UTF-8 with a header. In a
    total reading a table may have no rows, and then there are no blocks."""
    path, shape = Path(path), shape or Shape()
    limits, mode = options.limits, options.mode
    kind = kind or _kind_for(path, limits=limits, dialect=dialect, mode=mode)
    if kind not in formats.KINDS:
        raise TableError(
            "unknown kind of file", repair=f"use one of {', '.join(formats.KINDS)}"
        )
    if kind == "zip":
        with zipped.opened(path, limits=limits) as (inside, its_kind):
            yield from blocks(
                inside, kind=its_kind, dialect=dialect, shape=shape, options=options
            )
        return
    if kind == "parquet":
        yield from parquet.blocks(path, shape=shape, options=options)
    elif kind in formats.WORKBOOKS:
        yield from workbook.blocks(
            path, kind=kind, dialect=dialect, shape=shape, options=options
        )
    elif kind in formats.JSON:
        yield from objects.blocks(
            path, kind=kind, dialect=dialect, shape=shape, options=options
        )
    elif kind in formats.BASKETS:
        yield from baskets.blocks(path, kind=kind, shape=shape, options=options)
    elif kind in formats.WITH_SCHEMA:
        yield from statistical.blocks(path, kind=kind, shape=shape, options=options)
    else:
        packed = kind == "csv.gz"
        yield from delimited.blocks(
            path, packed=packed, dialect=dialect, shape=shape, options=options
        )
    # Whether a table has rows is a fact about its records: a run must not fail because of it.
    if not shape.rows and mode == "checked":
        raise TableError("a table without rows", repair="add the rows")


def _kind_for(path: Path, *, limits: Limits, dialect: Dialect | None, mode: Mode) -> Kind:
    """Return the kind of a file that nobody declared. Where its first bytes belong to a record, a declared
    delimiter makes it a CSV, and only the mark of gzip is looked for."""
    # Guessing the kind from a record's bytes would let that record decide how all others are
    # read.
    if mode == "total" and dialect is not None and dialect.delimiter and not dialect.header:
        with Meter(path, packed=False, limits=limits) as meter:
            packed = (meter.read(len(formats.GZIP)) or b"") == formats.GZIP
        return "csv.gz" if packed else "csv"
    return _found_kind(path, limits=limits)


def _found_kind(path: Path, *, limits: Limits) -> Kind:
    with Meter(path, packed=False, limits=limits) as meter:
        return formats.found_kind(meter.read(formats.HEAD) or b"", name=path.name)
