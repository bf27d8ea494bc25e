"""Find the marks of decimals and thousands that all numbers of a file agree on, where some cell can be read
in no other way.

A column such as `1,096` alone decides nothing: it may have decimals or thousands. `2,385,000` decides, and so
does `1,096` beside a column with decimal points, because a file has one set of marks."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from synth_engine.formats import notation
from synth_engine.formats.currencies import CURRENCY_SIGNS
from synth_engine.formats.marks import Marks, grouped

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER_MARKS = (
    Marks(),
    Marks(decimal=","),
    Marks(decimal=".", thousands=","),
    Marks(decimal=",", thousands="."),
    Marks(decimal=".", thousands="'"),
    Marks(decimal=".", thousands=" "),
    Marks(decimal=",", thousands=" "),
    Marks(decimal=",", thousands="'"),
)
_UNIT_SIGNS = f"{CURRENCY_SIGNS}%"  # left out where every cell with a digit has them
_PHONE_DIGITS = 9
_SHORT = re.compile(r"[+-]?[0-9]+")


def _pattern(marks: Marks) -> re.Pattern[str]:
    signs = "[ \u00a0\u202f]" if marks.thousands == " " else re.escape(marks.thousands)
    thousands = rf"(?!0)(?:{grouped(signs)})|" if marks.thousands else ""
    decimals = rf"(?:{re.escape(marks.decimal)}[0-9]+)?"
    return re.compile(rf"[+-]?(?:{thousands}0|[1-9][0-9]*)?{decimals}")


_PATTERNS = [(marks, _pattern(marks)) for marks in NUMBER_MARKS]


def agreed_marks(columns: Sequence[Collection[str]]) -> Marks | None:
    """The marks by which all columns of numbers can be read, given the different cells of each column; None
    where several sets remain that differ in both marks, where none does, or where no number has a mark."""
    import pyarrow as pa

    remaining = list(NUMBER_MARKS)
    units: set[str] = set()
    marked = False
    for cells in columns:
        unified = notation.unified(pa.array([cell.strip() for cell in cells], type=pa.string()))
        texts, unit = _without_unit(set(unified.to_pylist()))
        if not texts or all(_SHORT.fullmatch(text) for text in texts):
            units |= unit
            continue
        fitting = [
            marks
            for marks, pattern in _PATTERNS
            if all(map(pattern.fullmatch, texts))
            and not like_phones(pa.array(texts, type=pa.string()), marks)
        ]
        if fitting:
            marked = True
            units |= unit
            remaining = [marks for marks in remaining if marks in fitting]
    left_out = tuple(sorted(units))
    if not marked or not remaining:
        return Marks(units=left_out) if left_out and not marked else None
    # The first is the simplest: without a sign between thousands where none is needed.
    if len({marks.decimal for marks in remaining}) == 1 or len(remaining) == 1:
        simplest = remaining[0]
        return Marks(decimal=simplest.decimal, thousands=simplest.thousands, units=left_out)
    if len({marks.thousands for marks in remaining}) == 1:
        return Marks(thousands=remaining[0].thousands, units=left_out)
    return None


def _without_unit(cells: Collection[str]) -> tuple[set[str], set[str]]:
    """The cells with a digit, without the one currency or percent sign that they have, and that sign."""
    import pyarrow as pa

    texts = {cell for cell in cells if re.search("[0-9]", cell)}
    for unit in _UNIT_SIGNS:
        with_unit = {text for text in texts if unit in text}
        if not with_unit:
            continue
        marks = Marks(units=(unit,))
        bare = set(marks.without_units(pa.array(texts, type=pa.string())).to_pylist())
        # A share beside plain numbers is two scales.
        least = 0.9 if unit == "%" else 0.5
        if any(unit in text for text in bare) or len(with_unit) < least * len(texts):
            return texts, set()
        return bare, {unit}
    return texts, set()


def like_phones(texts: pa.Array, marks: Marks) -> bool:
    """Whether different texts with digits in groups look like telephone numbers: long, and equally long in
    every cell."""
    import pyarrow.compute as pc

    if marks.thousands not in (" ", "."):
        return False
    lengths = pc.utf8_length(pc.replace_substring_regex(texts, "[^0-9]", ""))
    ends = pc.min_max(lengths).as_py()
    return len(texts) > 1 and ends["min"] == ends["max"] >= _PHONE_DIGITS
