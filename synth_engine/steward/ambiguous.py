"""Texts that may be read in more than one way: the question that their steward is asked about them.

Which of two readings is meant is never guessed. Where the values allow one alone, that one is suggested. One
convincing cell is enough to ask, and cells like `-` or a lone `0` do not defeat a reading that all others
share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.formats import (
    CURRENCY_CODES,
    CURRENCY_SIGNS,
    CURRENCY_WORDS,
    DECIMALS,
    NUMBER_MARKS,
    THOUSANDS,
    Marks,
)
from synth_engine.steward import centuries, written_numbers
from synth_engine.steward.hints import FormQuestion, Hint, ReadingChoice
from synth_engine.steward.markers import odd_markers
from synth_engine.steward.written_dates import DateLayout, layouts

_ORDERS = {
    "day-first": "the day first",
    "month-first": "the month first",
    "year-first": "the year first",
    "named-month": "the month by its name",
    "compact": "eight digits",
    "compact-day-first": "eight digits, the day first",
    "compact-month-first": "eight digits, the month first",
    "compact-short": "six digits, the year first",
    "compact-short-day-first": "six digits, the day first",
    "compact-day-of-year": "a year and the day of the year",
    "ideographic": "signs for year, month and day",
    "compact-moment": "digits alone",
    "compact-moment-fraction": "digits alone",
    "compact-moment-iso": "digits around a T",
    "compact-moment-iso-zone": "digits around a T",
}
_CURRENCY = "|".join(("US", *CURRENCY_CODES, *CURRENCY_WORDS))
_BEGINNING = (
    rf"^[^A-Za-z]{{0,3}}[0-9]|^[A-Z]{{1,3}}[{CURRENCY_SIGNS}]|^({_CURRENCY})[^A-Za-z]|^\p{{L}}{{3,10}}\.? "
    rf"[0-9]{{1,2}},? "
)
_MAX_LENGTH = 100  # bytes of a cell with a number or a date
_LEAST_SHARE = 0.5  # of the rows, for a reading that is worth a question
_NEARLY_ALL = 0.9  # of the rows, where the others are no markers
_LISTED = 3
_SURE_CELLS = 3  # different cells that decide
MIXED = "They look like dates, some with the day first and some with the month first: correct the file."


@dataclass(frozen=True, kw_only=True)
class NumberQuestion:
    """The ways in which a column of texts may be numbers. A file has one set of marks, so `ingest` asks one
    question for all columns."""

    readings: list[
        tuple[list[Marks], str]
    ]  # the marks with the same values, and a cell with its value in words


def may_be_read(texts: pa.Array, counts: NDArray[np.int64]) -> bool:
    """Whether half of the texts or rows begin as numbers and dates do: a quick look, since most columns of
    texts do not."""
    if pc.max(pc.binary_length(texts)).as_py() > _MAX_LENGTH:
        return False
    begin = pc.match_substring_regex(texts, _BEGINNING).to_numpy(zero_copy_only=False)
    shares = (begin.mean(), counts[begin].sum() / counts.sum())
    return bool(max(shares) >= _LEAST_SHARE)


def dates(name: str, texts: pa.Array) -> dict[str, Any] | None:
    """A draft of days or timestamps, if the values make sense in one layout alone; else None. Where their
    years may be of several centuries, it asks."""
    fitting = [
        (layout, odd) for layout in layouts(texts) if (odd := layout.odd(texts)) is not None
    ]
    # Where all days are also months, as in 3/3/2021, both orders mean the same.
    if len(fitting) == 2 and _same_days(fitting[0][0], fitting[1][0]):
        fitting = fitting[1:]
    if len(fitting) != 1:
        return None
    (layout, odd), counts = fitting[0], np.ones(len(texts), dtype=np.int64)
    centuries_of = centuries.readings(name, layout)
    draft = _sure(texts, centuries_of[0], odd)
    if len(centuries_of) > 1:
        choices = [_choice(texts, counts, each, centuries_of) for each in centuries_of]
        draft["hint"] = Hint(certainty="open", question=centuries.ASKED, choices=choices)
        draft["why"] += f" {centuries.ASKED}"
    return draft


def compact_choices(
    name: str, texts: pa.Array, counts: NDArray[np.int64]
) -> list[ReadingChoice]:
    """The layouts of digits alone by which all these texts are days, as answers."""
    fitting = [layout for layout in layouts(texts) if layout.readable.all()]
    read = [centuries.readings(name, layout)[-1] for layout in fitting]
    return [_choice(texts, counts, layout, read) for layout in read]


def date_question(name: str, texts: pa.Array, counts: NDArray[np.int64]) -> Hint | None:
    """The question about texts that are dates in several layouts, or in one but for some cells; None if they
    are no dates."""
    rows = counts.sum()
    partly = [
        layout
        for layout in layouts(texts)
        if counts[layout.readable].sum() >= _LEAST_SHARE * rows
    ]
    if not partly:
        return None
    partly = [centuries.readings(name, layout)[-1] for layout in partly]
    whole = [layout for layout in partly if layout.odd(texts) is not None]
    choices = [_choice(texts, counts, layout, partly) for layout in whole or partly]
    if whole:
        same_years = all(np.array_equal(layout.years, whole[0].years) for layout in whole)
        unclear = (
            "whether the day or the month comes first"
            if same_years
            else "which number is the day, the month or the year"
        )
        question = f"They look like dates, and {unclear} cannot be seen. Which is it?"
        return Hint(certainty="open", question=question, choices=choices)
    orders = {layout.key for layout in partly}
    if len(orders) > 1:
        return Hint(certainty="open", question=MIXED, choices=choices)
    return Hint(
        certainty="open",
        question="Most cells look like dates, and some do not. Are they dates?",
        choices=choices,
    )


def number_question(
    texts: pa.Array, counts: NDArray[np.int64], now: Marks
) -> NumberQuestion | None:
    """The ways in which texts may be numbers that the file's form does not read; None if there is none."""
    rows = counts.sum()
    readings = []
    for reading in written_numbers.readings(texts, now):
        nearly_all = counts[reading.readable].sum() >= _NEARLY_ALL * rows
        if not nearly_all and odd_markers(texts, reading.readable) is None:
            continue
        first = int(np.flatnonzero(reading.convincing)[0])
        value = reading.values[first]
        spelled = f"{value:.0f}" if value == int(value) else f"{value:.12g}"
        readings.append((reading.same, f"“{texts[first].as_py()}” is {spelled}"))
    return NumberQuestion(readings=readings) if readings else None


def form_question(
    questions: Mapping[str, NumberQuestion], now: Marks, *, decimals: Sequence[str] = ()
) -> FormQuestion | None:
    """One question for all columns of texts that are numbers by other marks: a file has one set of them.
    Offered are the marks that read most columns; those that give the same numbers are one choice. now: how
    the file is read. decimals: columns with decimals as it is read now, which another decimal mark would
    lose."""
    by_marks: dict[tuple[str, str], dict[str, int]] = {}
    units = set(now.units)
    for name, question in questions.items():
        for index, (same, _) in enumerate(question.readings):
            units.update(*(marks.units for marks in same))
            for marks in same:
                by_marks.setdefault((marks.decimal, marks.thousands), {}).setdefault(
                    name, index
                )
    if not by_marks:
        return None
    most = max(map(len, by_marks.values()))
    choices: dict[tuple[tuple[str, int], ...], ReadingChoice] = {}
    # Those that the file is read by come first: an answer must not undo what is certain of other columns.
    for each in sorted(NUMBER_MARKS, key=lambda each: each != replace(now, units=())):
        read = by_marks.get((each.decimal, each.thousands), {})
        if len(read) < most:
            continue
        marks = Marks(
            decimal=each.decimal, thousands=each.thousands, units=tuple(sorted(units))
        )
        name, index = next(iter(read.items()))
        label = f"{questions[name].readings[index][1]} ({marks_in_words(marks)})"
        if decimals and marks.decimal != now.decimal:
            more = " and others" if len(decimals) > _LISTED else ""
            label += (
                f"; then the numbers of {', '.join(decimals[:_LISTED])}{more} cannot be read"
            )
        form = {
            "decimal": marks.decimal,
            "thousands": marks.thousands,
            "units": list(marks.units),
        }
        key = f"decimal {DECIMALS[marks.decimal]}, thousands {THOUSANDS[marks.thousands]}"
        choices.setdefault(tuple(read.items()), ReadingChoice(key=key, label=label, form=form))
    columns = tuple(
        name for name in questions if any(name in read for read in by_marks.values())
    )
    several = f"{len(columns)} columns look" if len(columns) > 1 else f"“{columns[0]}” looks"
    text = f"{several} like numbers that the file's form does not read. How are they written?"
    return FormQuestion(
        key="marks", text=text, columns=columns, choices=tuple(choices.values())
    )


def marks_in_words(marks: Marks) -> str:
    """Return in words how numbers are written."""
    parts = [f"{THOUSANDS[marks.thousands]} between thousands"] * bool(marks.thousands)
    parts += [DECIMALS[marks.decimal]]
    parts += [f"{' and '.join(marks.units)} left out"] * bool(marks.units)
    return ", ".join(parts)


def _sure(texts: pa.Array, layout: DateLayout, odd: Collection[str]) -> dict[str, Any]:
    """The draft of the only layout in which all texts are dates."""
    order = _ORDERS[layout.key]
    decisive = _decisive(layout)
    index = int(np.flatnonzero(decisive if decisive.any() else layout.readable)[0])
    example = f"“{texts[index].as_py()}” is {layout.day_in_words(index)}"
    if layout.key in ("day-first", "month-first"):
        why = f"All values are dates with {order}: some have a number above 12 there, so {example}."
        certain = int(decisive.sum()) >= _SURE_CELLS
    else:
        why = f"All values are dates with {order}: {example}."
        certain = not layout.key.startswith("compact")
    if layout.last is not None:
        why += f" Years of two digits are taken for {layout.last - 99} to {layout.last}."
    elif "%y" in layout.format:
        why += " Years 00 to 68 are taken for 2000 to 2068, and 69 to 99 for 1969 to 1999."
    hint = Hint(certainty="sure" if certain and not odd else "probable")
    return {**layout.facts(), "why": why, "hint": hint, "odd": list(odd)}


def _choice(
    texts: pa.Array, counts: NDArray[np.int64], layout: DateLayout, others: list[DateLayout]
) -> ReadingChoice:
    """A layout as an answer, with a cell that other layouts read otherwise."""
    telling = layout.readable.copy()
    for other in others:
        if other is not layout:
            same = (other.years == layout.years) & (other.months == layout.months)
            telling &= ~(same & (other.days == layout.days)) | ~other.readable
    index = int(np.flatnonzero(telling if telling.any() else layout.readable)[0])
    label = f"“{texts[index].as_py()}” is {layout.day_in_words(index)}"
    facts = layout.facts()
    lost = counts[~layout.readable].sum()
    odd = layout.odd(texts)
    if odd is None:
        label += (
            f"; {max(1, round(100 * lost / counts.sum()))} of 100 cells cannot be read so and count as "
            "missing"
        )
        facts |= {"missing": [""], "outside": "missing"}
    elif odd:
        facts |= {"missing": list(odd), "outside": "missing"}
    key = layout.key if layout.last is None else f"{layout.key}-{layout.last}"
    return ReadingChoice(key=key, label=label, facts=facts)


def _decisive(layout: DateLayout) -> NDArray[np.bool_]:
    return layout.readable & (layout.days > 12)


def _same_days(one: DateLayout, other: DateLayout) -> bool:
    both = one.readable & other.readable
    return bool(
        (one.readable == other.readable).all()
        and (one.years[both] == other.years[both]).all()
        and (one.months[both] == other.months[both]).all()
    )
