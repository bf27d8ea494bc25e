"""Guess how a delimited text is written, from its beginning: what is certain, and what a person has to
answer."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from synth_engine.formats import evidence
from synth_engine.formats.dialect import (
    Dialect,
    bare,
    declared_delimiter,
    delimiter_of,
)
from synth_engine.formats.marks import Marks
from synth_engine.formats.number_marks import agreed_marks

RAREST_FIRST = ("\t", ";", "|", ",")  # a comma is also a decimal mark
GUESSED_LINES = 20
MOST_ROWS = 2_000  # below the header, by which it is judged
_OTHER_SIGNS = (":", "~", "^", "\x01", "\x1f")  # between cells of files that are not read


def guess(text: str, *, encoding: str, certain: bool = True, complete: bool = True) -> Dialect:
    """Guess the form of a table that begins with `text`. The facts that stay open are listed in `asked`.

    certain: whether the encoding is; complete: whether `text` is the whole file.
    """
    every = text.splitlines()
    lines = [line for line in every if line.strip()][:GUESSED_LINES] or [""]
    quote = _quote(lines)
    declared = declared_delimiter(lines[0])
    stated = lines[0]
    if declared:
        lines = lines[1:] or [""]
    above = 0 if declared else _above(lines, quote)
    skip = every.index(lines[above]) if above else 0
    title, lines = lines[:above], lines[above:]
    asked = [] if certain else ["encoding"]
    delimiter = declared or _delimiter(lines, quote)
    if not declared and _open_delimiter(lines, quote, delimiter):
        asked.append("delimiter")
    dialect = Dialect(encoding=encoding, delimiter=delimiter, quote=quote, skip=skip)
    if _escaped(text, quote):
        dialect = replace(dialect, escape="\\")
        asked.append("escape")
    if _spaced(lines, quote, delimiter):
        dialect = replace(dialect, spaced=True)
        asked.append("spaced")
    start = every.index(lines[0]) if lines[0] else 0
    # The last line of a sample may be cut short.
    rows = _rows(every[start:] if complete else every[start:-1], dialect)
    guessed = _headed(dialect, rows, title=title, asked=asked)
    if declared and (not guessed.header or "header" in guessed.asked):
        # Without a header a line like `sep=;` might be a record: the form says that it is none.
        return replace(guessed, skip=every.index(stated) + 1)
    return guessed


def _headed(
    dialect: Dialect, rows: list[list[str]], *, title: Sequence[str], asked: list[str]
) -> Dialect:
    """Add what the first row is, and how decimals are marked, or that a person has to say so."""
    first, below = (rows[0], rows[1:]) if rows else ([], [])
    verdict = evidence.weigh(first, below)
    if verdict.answer == "open":
        asked.append("header")
    # If the first row below a title is no certain header, the header may be in the title, as a
    # line with another delimiter. Both facts are then left to a person.
    if title and (verdict.answer != "header" or _broken_header(title, first)):
        asked.append("skip")
        asked += ["header"] * ("header" not in asked)
    header = verdict.header
    known = rows[header:]
    marks = agreed_marks([set(column) for column in zip_longest(*known, fillvalue="")])
    if marks is None:
        marks = Marks(decimal=_decimal(known, dialect.delimiter))
        if _open_decimal(known, dialect.delimiter):
            asked.append("decimal")
    return replace(
        dialect,
        header=header,
        decimal=marks.decimal,
        thousands=marks.thousands,
        units=marks.units,
        asked=tuple(dict.fromkeys(asked)),
    )


def _broken_header(title: Sequence[str], first: Sequence[str]) -> bool:
    """Whether a line above the table may be its header, written with another delimiter."""
    for line in title:
        if line.startswith("#"):
            continue
        for cells in (
            line.split(),
            *(line.split(sign) for sign in (*RAREST_FIRST, *_OTHER_SIGNS)),
        ):
            if len(cells) == len(first) > 1 and (
                len(first) > 2 or any(map(evidence.is_name, cells))
            ):
                return True
    return False


def _rows(lines: list[str], form: Dialect) -> list[list[str]]:
    """The rows of some lines, as far as they can be read."""
    rows: list[list[str]] = []
    try:
        for row in form.reader(f"{line}\n" for line in lines):
            if row:
                rows.append(row)
            if len(rows) > MOST_ROWS:
                break
    except csv.Error:  # to be refused where it is read in earnest
        return rows or [[lines[0]]]
    return rows


def _quote(lines: list[str]) -> str:
    """Single quotation marks, if cells begin and end with them and none with the usual ones."""
    ends = "[,;\t|]"
    text = "\n".join(lines)
    # An apostrophe inside a word must not count as a quotation mark: both ends of a cell are
    # needed.
    single = len(re.findall(rf"(?m)(?:^|{ends})'[^'\n]*'(?=$|{ends})", text))
    return "'" if single >= 2 and '"' not in text else '"'


def _escaped(text: str, quote: str) -> bool:
    """A backslash before a quotation mark is no part of a usual CSV."""
    return bool(quote) and f"\\{quote}" in text


def _spaced(lines: list[str], quote: str, delimiter: str) -> bool:
    """Whether every delimiter has a blank behind it."""
    outside = "\n".join(bare(line, quote) for line in lines)
    count = len(re.findall(rf"{re.escape(delimiter)}(?!\s*$)", outside, re.MULTILINE))
    return count > 0 and count == len(
        re.findall(rf"{re.escape(delimiter)} (?!\s*$)", outside, re.MULTILINE)
    )


def _delimiter(lines: list[str], quote: str) -> str:
    """Return a delimiter that every line has as often as the first, looked for among the rarer ones first
    because a comma is also a decimal mark; else what the first line has most of."""
    return next(iter(_even(lines, quote)), delimiter_of(lines[0], quote=quote))


def _even(lines: list[str], quote: str) -> list[str]:
    """The delimiters that all lines have equally often."""
    outside = [bare(line, quote) for line in lines]
    delimiters = []
    for delimiter in RAREST_FIRST:
        if (
            outside[0].count(delimiter)
            and len({line.count(delimiter) for line in outside}) == 1
        ):
            delimiters.append(delimiter)
    return delimiters


def _open_delimiter(lines: list[str], quote: str, delimiter: str) -> bool:
    """Whether two signs may stand between cells, or none of the known ones does in what looks like a table or
    prose."""
    even = _even(lines, quote)
    if len(even) > 1:
        # A comma between digits is a decimal mark as often as a delimiter, and is no evidence.
        plain = [re.sub(r"(?<=\d),(?=\d)", "", bare(line, quote)) for line in lines]
        return any(all(sign in line for line in plain) for sign in even if sign != delimiter)
    if any(delimiter in line for line in lines):
        return False
    return _wide_lines(lines)


def _wide_lines(lines: list[str]) -> bool:
    """Whether lines without a delimiter are more than single words: prose, fixed width, or another sign
    between cells."""
    with_blanks = sum(bool(re.search(r"\S\s+\S", line)) for line in lines)
    if with_blanks * 2 >= len(lines) or any(len(line.split()) > 3 for line in lines):
        return True
    return any(
        len({line.count(sign) for line in lines}) == 1 and sign in lines[0]
        for sign in _OTHER_SIGNS
    )


def _above(lines: list[str], quote: str) -> int:
    """Count the lines above the header: they have none of a delimiter that all lines below them have equally
    often, as a title has; or they are comments, which may have some, though not as many."""
    outside = [bare(line, quote) for line in lines]
    delimiter = next((one for one in RAREST_FIRST if one in outside[-1]), "")
    counts = [line.count(delimiter) for line in outside] if delimiter else []
    if padded := _padded(outside, delimiter, counts):
        return padded
    for start in range(1, len(counts) - 1):
        if len(set(counts[start:])) != 1:
            continue
        comments = all(line.startswith("#") for line in lines[:start]) and not lines[
            start
        ].startswith("#")
        if not any(counts[:start]) or (comments and counts[start] not in counts[:start]):
            return start
        return 0
    return 0


def _padded(lines: list[str], delimiter: str, counts: list[int]) -> int:
    """Count the lines above the header of which only the first cell has a text, as spreadsheets write
    titles."""
    if not counts or min(counts) == 0 or len(set(counts)) != 1:
        return 0
    filled = [[cell.strip() for cell in line.split(delimiter)] for line in lines]
    above = next((place for place, cells in enumerate(filled) if any(cells[1:])), 0)
    titled = any(cells[0] for cells in filled[:above])
    return above if titled and all(filled[above]) and above < len(lines) - 1 else 0


def _open_decimal(rows: list[list[str]], delimiter: str) -> bool:
    """Whether numbers have one sign before three digits, and none shows what it means: 1.096 may be a
    thousand. Between commas, a point is taken for that of decimals."""
    if delimiter == ",":
        return False
    cells = {cell.strip() for row in rows for cell in row}
    grouped = [
        cell for cell in cells if re.fullmatch(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}", cell)
    ]
    shown = any(
        re.fullmatch(
            r"[+-]?([0-9]*[.,](?:[0-9]{1,2}|[0-9]{4,})|0[.,][0-9]+|[0-9]{4,}[.,][0-9]+)", cell
        )
        or re.fullmatch(r"[+-]?[0-9]{1,3}(?:([.,])[0-9]{3})+(?!\1)[.,][0-9]+", cell)
        for cell in cells
    )
    return bool(grouped) and not shown


def _decimal(rows: list[list[str]], delimiter: str) -> str:
    """A comma, if cells have numbers with one that cannot stand between thousands, and none with a point."""
    cells = [cell.strip() for row in rows for cell in row]
    points = any(re.fullmatch(r"[+-]?[0-9]*\.[0-9]+", cell) for cell in cells)
    commas = [cell for cell in cells if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", cell)]
    sure = any(len(cell.partition(",")[2]) != 3 for cell in commas)
    return "," if delimiter != "," and sure and not points else "."
