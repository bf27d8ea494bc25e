"""A second header line, such as one of units, that was read as the first record."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from synth_engine.codec import numbers
from synth_engine.formats import Dialect
from synth_engine.steward.hints import FormQuestion, ReadingChoice
from synth_engine.steward.markers import is_known
from synth_engine.steward.summary import Column

_UNIT = frozenset(
    """
    kg g mg t lb lbs oz km m cm mm mi ft in inch yd l ml h hr hrs min s sec ms days years months weeks usd eur
    gbp chf $ € £ % °c °f c f k km/h mph kwh kw w v a hz pa bar m2 m² m3 m³ ha sqm sqft yyyy-mm-dd dd/mm/yyyy
    mm/dd/yyyy
    """.split()  # noqa: SIM905  # words are read as lines
)
_FEWEST_WORDS = 2  # above numbers, where none of them is a known unit
_FEWEST_VALUES = 3


def question(
    columns: Mapping[str, Column], first: Mapping[str, str], dialect: Dialect | None
) -> FormQuestion | None:
    """Asks whether the first record is a second line of the header: where columns of numbers begin with a
    word, and none begins with a number. `first` is that record."""
    if dialect is None or not dialect.header or dialect.names:
        return None
    words: dict[str, str] = {}
    for name, column in columns.items():
        cell = first[name]
        verdict = _begins_with_word(column, cell)
        if verdict is False:
            return None
        if verdict:
            words[name] = cell
    units = [cell for cell in words.values() if cell.strip().strip("()[]").casefold() in _UNIT]
    if not units and len(words) < _FEWEST_WORDS:
        return None
    listed = ", ".join(f"“{cell}”" for cell in list(words.values())[:3])
    name, cell = next(iter(words.items()))
    label = f"Yes: the columns are then called like “{name} {cell}”"
    form = {"header_lines": dialect.header_lines + 1}
    return FormQuestion(
        key="header-lines",
        text=f"The first record has words above numbers ({listed}). Is it a second line of names or units?",
        columns=tuple(words),
        choices=(ReadingChoice(key="join", label=label, form=form),),
    )


def _begins_with_word(column: Column, cell: str) -> bool | None:
    """Whether a column of numbers or dates begins with a word; None for another column, or one that begins
    with no value."""
    if column.wide is not None:
        if column.wide.read not in ("numbers", "times"):
            return None
        return column.wide.odd[cell] == 1 or (None if is_known(cell) else False)
    others = [
        text
        for text, times in column.times.items()
        if not is_known(text) and (text != cell or times > 1)
    ]
    if len(others) < _FEWEST_VALUES:
        return None
    texts = pa.array(others, type=pa.string())
    if numbers.decimal(column.marks.plain(texts)) is None and numbers.times(texts) is None:
        return None
    if is_known(cell):
        return None
    return cell not in others and not any(map(str.isdigit, cell[:1]))
