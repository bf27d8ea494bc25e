"""Check the names of the columns of a table."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from synth_engine.errors import TableError

LONGEST_NAME = 200


def nameless(place: int, *, line: int | None) -> TableError:
    """The refusal of a column with cells and no name. line: of its name, or of one of its cells."""
    return TableError(
        f"column {place} has no name",
        repair="name it, leave the empty column out, or say how many lines above the names are left out "
        "(skip)",
        line=line,
    )


def checked_names(
    names: Sequence[str], *, most: int, line: int | None = None
) -> tuple[str, ...]:
    """The names without spaces around them. Raises TableError for too many, unnamed, unprintable or repeated
    ones; `line` is where they stand in their file."""
    if len(names) > most:
        raise TableError(
            f"more than {most:,} columns", repair="keep the columns you need", line=line
        )
    stripped = tuple(name.strip() for name in names)
    seen: dict[str, int] = {}
    for place, name in enumerate(stripped, start=1):
        if not name:
            raise nameless(place, line=line)
        if not name.isprintable() or len(name) > LONGEST_NAME:
            raise TableError(
                f"the name of column {place} is too long or has invisible characters",
                repair="rename it",
                line=line,
            )
        # Names that look alike would be confused on screens, and are one name in many
        # databases.
        key = unicodedata.normalize("NFKC", name).casefold()
        if key in seen:
            raise TableError(
                f"columns {seen[key]} and {place} have the same name (but for case or form of letters)",
                repair="rename one of them",
                line=line,
                column=name,
            )
        seen[key] = place
    return stripped


def counted_names(columns: int) -> tuple[str, ...]:
    """The names of a table without a header: column_1, column_2 and so on."""
    return tuple(f"column_{place}" for place in range(1, columns + 1))


def joined_names(lines: Sequence[Sequence[str]]) -> list[str]:
    """Join several header lines to one name for each column, with blanks between. In a line above others an
    empty cell belongs to the name at its left, as merged cells of a spreadsheet do."""
    names = [""] * len(lines[-1])
    for depth, line in enumerate(lines):
        left = ""
        for place, cell in enumerate(line):
            # Only the last line has one cell for each column; above, merged cells leave empty
            # ones.
            left = cell.strip() or (left if depth < len(lines) - 1 else "")
            names[place] = f"{names[place]} {left}".strip() if len(lines) > 1 else cell
    return names


def looks_like_data(names: Sequence[str]) -> bool:
    """Numbers for names mean that the header is not there, unless they merely count the columns."""
    counted = [[str(i) for i in range(start, start + len(names))] for start in (0, 1)]
    stripped = [name.strip() for name in names]
    return stripped not in counted and all(
        re.fullmatch(r"[+-]?[0-9.]+", name) for name in stripped
    )
