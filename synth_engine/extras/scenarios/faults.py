"""Faults of files: cells that no description declares, or that are right in form and wrong in content.

A step alters a share of the cells of one column that can have its fault: those that are not missing and that
no earlier fault altered. So each cell has one fault at most, and a record of faults says all there is to
find.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from synth_engine.errors import InputError
from synth_engine.extras.scenarios.draft import Draft, DrawnColumn, Numbers, Rows, Texts, Truth
from synth_engine.extras.scenarios.steps import (
    Apply,
    Parameters,
    StepKind,
    column_rule,
    rounded,
    share_rule,
)
from synth_engine.plans.parameters import ParameterRule

_MARKERS = ("", "NA", "N/A", "null", "-", "?", "unknown", "999")
_WORDS = ("unknown", "see notes", "not stated", "twelve", "yes")
_SPACES = (" {}", "{} ", "  {}", "{}\t", "\u00a0{}")
_ACCENTS = str.maketrans("aeiounAEIOUN", "áéíóúñÁÉÍÓÚÑ")
_TAIL_INDEX = 1.5
"""Index of the Pareto law of a heavy tail: its variance is infinite."""
_NO_DAYS = (datetime.date(1, 1, 1), datetime.date(1800, 2, 3), datetime.date(9999, 12, 31))
_MAY_BE_ACCENTED = re.compile("[aeiounAEIOUN]")
_DAY_AND_MONTH = re.compile("%[dm]")


@dataclass(frozen=True)
class _FaultCells:
    """The cells of one column that a fault may alter. rows: their places in the table; source: the drawn
    records they are of."""

    column: DrawnColumn
    rows: Rows
    source: Rows

    def only(self, selected: Truth | Rows) -> _FaultCells:
        return _FaultCells(self.column, self.rows[selected], self.source[selected])

    @property
    def texts(self) -> Texts:
        texts: Texts = self.column.texts[self.source]
        return texts

    @property
    def numbers(self) -> Numbers:
        values: Numbers = self.column.numbers[self.source]
        return values


def _open_cells(draft: Draft, given: Parameters) -> _FaultCells:
    """The cells of the named column that are neither missing nor altered by an earlier fault."""
    column = draft.column(given["column"], parameter="column")
    source = draft.source[column.name]
    is_open = ~column.missing[source]
    if column.name in draft.faults:
        is_open[draft.faults[column.name].rows] = False
    rows = np.flatnonzero(is_open)
    return _FaultCells(column, rows, source[rows])


def _chosen(cells: _FaultCells, given: Parameters, rng: np.random.Generator) -> _FaultCells:
    """The share of the cells that gets the fault. Errors: InputError where no cell can have it."""
    if len(cells.rows) == 0:
        raise InputError(
            "no cell of the drawn table can have this fault",
            repair="choose another column, or put this step before others of the column",
            column=cells.column.name,
        )
    count = rounded(given["rate"], len(cells.rows))
    return cells.only(np.sort(rng.choice(len(cells.rows), count, replace=False)))


def _store(
    draft: Draft, cells: _FaultCells, texts: Sequence[str], *, step: int, kind: str
) -> None:
    draft.set_faults(
        cells.column.name, cells.rows, np.array(texts, dtype=object), step=step, kind=kind
    )


def _picked(texts: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    return [texts[place] for place in rng.integers(len(texts), size=count)]


def _rewrite(
    draft: Draft,
    given: Parameters,
    rng: np.random.Generator,
    step: int,
    *,
    kind: str,
    written: Callable[[str], str],
) -> None:
    """A fault that writes a text otherwise. Cells that it leaves as they are cannot have it."""
    cells = _open_cells(draft, given)
    places, distinct = cells.column.distinct
    missing = set(np.unique(places[cells.column.missing]))
    altered = np.array(
        [text if place in missing else written(text) for place, text in enumerate(distinct)],
        dtype=object,
    )
    differs = altered != np.array(distinct, dtype=object)
    cells = _chosen(cells.only(differs[places[cells.source]]), given, rng)
    _store(draft, cells, list(altered[places[cells.source]]), step=step, kind=kind)


def _missing_marker(
    draft: Draft, given: Parameters, rng: np.random.Generator, step: int
) -> None:
    cells = _chosen(_open_cells(draft, given), given, rng)
    declared = cells.column.attribute.missing or ()
    markers = [one for one in given["markers"] if one not in declared]
    if not markers:
        raise InputError(
            "every marker is declared as missing",
            repair="name another",
            column=cells.column.name,
        )
    texts = _picked(markers, len(cells.rows), rng)
    _store(draft, cells, texts, step=step, kind="missing-marker")


def _wrong_type(draft: Draft, given: Parameters, rng: np.random.Generator, step: int) -> None:
    cells = _chosen(_open_cells(draft, given), given, rng)
    attribute = cells.column.attribute
    if attribute.holds_numbers or attribute.day_format is not None:
        other: Sequence[str] = _WORDS
    else:
        known = set(cells.column.distinct[1])
        other = [text for text in map(str, range(1, 1000)) if text not in known] or _WORDS
    _store(draft, cells, _picked(other, len(cells.rows), rng), step=step, kind="wrong-type")


def _out_of_range(draft: Draft, given: Parameters, rng: np.random.Generator, step: int) -> None:
    cells = _chosen(_open_cells(draft, given), given, rng)
    count = len(cells.rows)
    if given["values"]:
        texts = _picked(given["values"], count, rng)
    elif cells.column.attribute.day_format is not None:
        days = [day.strftime(cells.column.attribute.day_format) for day in _NO_DAYS]
        texts = _picked(days, count, rng)
    else:
        cells.column.require_numbers()
        low, high = cells.column.bounds
        # At least 1 outside, and at most as far as the bounds lie apart.
        beyond = 1 + rng.random(count) * (high - low)
        values = np.where(rng.random(count) < 0.5, low - beyond, high + beyond)
        texts = _numbers_like(cells.texts, values)
    _store(draft, cells, texts, step=step, kind="out-of-range")


def _unit_change(draft: Draft, given: Parameters, rng: np.random.Generator, step: int) -> None:
    column = draft.column(given["column"], parameter="column")
    column.require_numbers()

    def converted(text: str) -> str:
        return _number_like(text, float(text) * given["factor"])

    # Zero is the same in every unit: nobody could find it, and it is left out.
    _rewrite(draft, given, rng, step, kind="unit-change", written=converted)


def _heavy_tail(draft: Draft, given: Parameters, rng: np.random.Generator, step: int) -> None:
    cells = _open_cells(draft, given)
    values = cells.numbers
    # A Pareto law starts above 0.
    start = max(float(np.quantile(values, 1 - given["rate"])) if len(values) else 0.0, 1.0)
    cells = _chosen(cells, given, rng)
    values_of_tail = start * (1 - rng.random(len(cells.rows))) ** (-1 / _TAIL_INDEX)
    _store(
        draft, cells, _numbers_like(cells.texts, values_of_tail), step=step, kind="heavy-tail"
    )


def _encoding(draft: Draft, given: Parameters, rng: np.random.Generator, step: int) -> None:
    _rewrite(draft, given, rng, step, kind="encoding", written=_double_encoded)


def _letter_case(draft: Draft, given: Parameters, rng: np.random.Generator, step: int) -> None:
    _rewrite(draft, given, rng, step, kind="letter-case", written=str.swapcase)


def _date_order(draft: Draft, given: Parameters, rng: np.random.Generator, step: int) -> None:
    column = draft.column(given["column"], parameter="column")
    declared = column.attribute.day_format
    if declared is None or {"%d", "%m"} - set(_DAY_AND_MONTH.findall(declared)):
        raise InputError(
            "the values are no dates with a day and a month in digits",
            repair="choose a column of such dates",
            column=column.name,
        )
    swapped = _DAY_AND_MONTH.sub(
        lambda match: "%m" if match.group() == "%d" else "%d", declared
    )

    def turned(text: str) -> str:
        moment = datetime.datetime.strptime(text, declared)  # noqa: DTZ007  # days of a file have no zone
        return moment.strftime(swapped)

    _rewrite(draft, given, rng, step, kind="date-order", written=turned)


def _whitespace(draft: Draft, given: Parameters, rng: np.random.Generator, step: int) -> None:
    cells = _chosen(_open_cells(draft, given), given, rng)
    spaces = _picked(_SPACES, len(cells.rows), rng)
    texts = [space.format(text) for space, text in zip(spaces, cells.texts, strict=True)]
    _store(draft, cells, texts, step=step, kind="whitespace")


def _typing_error(draft: Draft, given: Parameters, rng: np.random.Generator, step: int) -> None:
    cells = _open_cells(draft, given)
    places, distinct = cells.column.distinct
    swaps = [_unlike_neighbours(text) for text in distinct]
    can = np.array([bool(candidates) for candidates in swaps], dtype=bool)
    cells = _chosen(cells.only(can[places[cells.source]]), given, rng)
    texts = []
    for at, draw in zip(places[cells.source], rng.random(len(cells.rows)), strict=True):
        text, candidates = distinct[at], swaps[at]
        place = candidates[int(draw * len(candidates))]
        texts.append(text[:place] + text[place + 1] + text[place] + text[place + 2 :])
    _store(draft, cells, texts, step=step, kind="typing-error")


def _duplicate_key(
    draft: Draft, given: Parameters, rng: np.random.Generator, step: int
) -> None:
    cells = _open_cells(draft, given)
    if len(set(cells.texts)) < len(cells.rows):
        raise InputError(
            "the values are no key: some come twice already",
            repair="choose a column of identifiers",
            column=cells.column.name,
        )
    chosen = _chosen(cells, given, rng)
    originals = np.setdiff1d(cells.source, chosen.source)
    if len(chosen.rows) and not len(originals):
        raise InputError(
            "no key is left to be copied", repair="give a lower rate", column=cells.column.name
        )
    texts = (
        cells.column.texts[rng.choice(originals, len(chosen.rows))] if len(originals) else []
    )
    _store(draft, chosen, list(texts), step=step, kind="duplicate-key")


def _numbers_like(texts: Texts, values: Numbers) -> list[str]:
    return [_number_like(text, value) for text, value in zip(texts, values, strict=True)]


def _number_like(text: str, value: float) -> str:
    """A number with as many decimals as the text beside it has."""
    return f"{value:.{len(text.partition('.')[2])}f}"


def _double_encoded(text: str) -> str:
    """A text whose UTF-8 was read as Windows-1252. One of plain ASCII gets an accent on its first vowel or n
    before; one without either stays."""
    accented = text
    if text.isascii():
        letter = _MAY_BE_ACCENTED.search(text)
        if letter is None:
            return text
        accented = (
            text[: letter.start()] + letter.group().translate(_ACCENTS) + text[letter.end() :]
        )
    return accented.encode().decode("cp1252", errors="replace")


def _unlike_neighbours(text: str) -> list[int]:
    """Places of signs whose neighbour to the right is another one."""
    return [place for place in range(len(text) - 1) if text[place] != text[place + 1]]


_RATE = share_rule("Rate", "Share of the cells that can have the fault.", default=0.01)


def _fault(
    id_: str,
    title: str,
    summary: str,
    apply: Apply,
    *,
    column: str = "Any column.",
    **further: ParameterRule,
) -> StepKind:
    return StepKind(
        id=id_,
        title=title,
        summary=summary,
        properties={"column": column_rule("Column", column), "rate": _RATE, **further},
        apply=apply,
        is_situation=False,
    )


def _texts_rule(title: str, description: str, default: tuple[str, ...]) -> ParameterRule:
    return {
        "type": "array",
        "title": title,
        "description": description,
        "items": {"type": "string", "maxLength": 200},
        "maxItems": 100,
        "default": list(default),
    }


FAULTS = (
    _fault(
        "missing-marker",
        "Undeclared missing markers",
        "A text that means missing, and that the description does not declare.",
        _missing_marker,
        markers=_texts_rule("Markers", "One is drawn for each cell.", _MARKERS),
    ),
    _fault(
        "wrong-type",
        "Wrong type",
        "A word where a number or date belongs, or a number where a word belongs.",
        _wrong_type,
    ),
    _fault(
        "out-of-range",
        "Out of range",
        "A value that cannot be, such as an age of -2.",
        _out_of_range,
        column="Numbers or dates; any column if values are given.",
        values=_texts_rule(
            "Values", "To draw from; empty: from outside the declared bounds.", ()
        ),
    ),
    _fault(
        "unit-change",
        "Another unit",
        "The number in another unit, such as grams instead of kilograms.",
        _unit_change,
        column="Numbers.",
        factor={
            "type": "number",
            "title": "Factor",
            "description": "From one unit to the other.",
            "minimum": -1e9,
            "maximum": 1e9,
            "default": 1000,
        },
    ),
    _fault(
        "heavy-tail",
        "Heavy tail",
        "Numbers from a Pareto law that starts at the quantile of the rate.",
        _heavy_tail,
        column="Numbers.",
    ),
    _fault(
        "encoding",
        "Wrong encoding",
        "Letters with accents whose UTF-8 was read as Windows-1252.",
        _encoding,
        column="Texts.",
    ),
    _fault(
        "whitespace",
        "Whitespace",
        "Spaces, tabs or no-break spaces before or behind the text.",
        _whitespace,
    ),
    _fault(
        "letter-case",
        "Letter case",
        "Capitals for small letters, and small letters for capitals.",
        _letter_case,
        column="Texts.",
    ),
    _fault(
        "typing-error",
        "Typing error",
        "Two neighbouring signs change places.",
        _typing_error,
    ),
    _fault(
        "duplicate-key",
        "Duplicate key",
        "The identifier of another record.",
        _duplicate_key,
        column="Identifiers that a drawn table has.",
    ),
    _fault(
        "date-order",
        "Day and month exchanged",
        "The day where the month belongs; some are no dates then.",
        _date_order,
        column="Dates.",
    ),
)
"""In the order of the catalogue."""
