"""Questions about columns whose cells have two readings: each finds one kind of doubt, shows both readings,
and says what each loses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.codec import numbers
from synth_engine.kinds.text import MAX_TEXT_LENGTH
from synth_engine.steward import ambiguous, codes, drafts, value_lists
from synth_engine.steward.drafts import DistinctTexts
from synth_engine.steward.hints import Hint, ReadingChoice
from synth_engine.steward.markers import MARKERS
from synth_engine.steward.summary import Column
from synth_engine.steward.value_lists import FOUND

_LEAST_WITH_SEVERAL = 0.25  # share of the rows with several items
_MOST_ITEMS = 100
_FEWEST_DAYS = 5  # whole numbers of eight digits that are all days
_FEWEST_COMPACT_DAYS = 20  # of a rarer layout
_FEWEST_MONTHS = 12
_NO_DAY = "^(0+|1+|8+|9+)$"
_COUNTED = {
    (20_000, 60_000): "days counted from 30 December 1899, as spreadsheets do",
    (10**8, 3 * 10**9): "seconds counted from 1970",
    (10**11, 3 * 10**12): "thousandths of a second counted from 1970",
}
_MOSTLY_BLANK = 0.8
_TRUTHS = frozenset(
    [
        "yes",
        "no",
        "y",
        "n",
        "true",
        "false",
        "t",
        "f",
        "1",
        "0",
        "ja",
        "nein",
        "j",
        "wahr",
        "falsch",
        "oui",
        "non",
        "si",
        "sí",
    ]
)


def digits_as_days(column: DistinctTexts, number: ReadingChoice) -> dict[str, Any] | None:
    """Days like 20210209 or 210209, if all whole numbers are such days, but for those of one digit alone,
    like 99999999. They may be numbers as well, which is asked where the layout is a rare one. number: that
    reading."""
    alone = pc.match_substring_regex(column.texts, _NO_DAY)
    days = column.texts.filter(pc.invert(alone))
    if len(days) < _FEWEST_DAYS or not numbers.fits(days, "^([0-9]{6,8}|[0-9]{14})$"):
        return None
    draft = ambiguous.dates(column.name, days)
    if draft is not None and draft.get("format") == "%Y%m%d":
        draft["hint"].choices.append(number)
        return draft | {"odd": column.texts.filter(alone).to_pylist()}
    counts = column.counts[~alone.to_numpy(zero_copy_only=False)]
    choices = ambiguous.compact_choices(column.name, days, counts)
    if not choices or len(days) < _FEWEST_COMPACT_DAYS:
        return None
    question = "They are numbers, and days in digits alone as well. Which are they?"
    return drafts.opened(question, [*choices[:3], number])


def counted_days(name: str, least: int, most: int) -> dict[str, Any] | None:
    """The question about whole numbers that by the column's name and their size are days or seconds counted
    from a fixed day."""
    if not codes.says_day(name):
        return None
    for (first, last), what in _COUNTED.items():
        if first <= least and most <= last:
            facts = drafts.facts_of(drafts.whole(least, most))
            number = ReadingChoice(key="number", label=f"Whole numbers: {what}", facts=facts)
            question = (
                "By its name the column has days, and its numbers may "
                f"be {what}. How are they to be read?"
            )
            return drafts.opened(question, [number, drafts.LEAVE_OUT])
    return None


def months(column: DistinctTexts, values: NDArray[np.int64]) -> dict[str, Any] | None:
    """The question about whole numbers that are all months like 202103."""
    of_year = values % 100
    years = values.min() >= 190_001 and values.max() <= 210_012
    if len(values) < _FEWEST_MONTHS or not years or of_year.min() < 1 or of_year.max() > 12:
        return None
    number = drafts.whole(int(values.min()), int(values.max()))
    facts = drafts.facts_of(code_draft(column, "", number))
    choice = ReadingChoice(key="codes", label="Months, each a value of its own", facts=facts)
    question = "They look like a year and a month in digits. Are they?"
    return drafts.opened(question, [choice, drafts.as_number(number)])


def decimals_as_codes(
    column: DistinctTexts, plain: pa.Array, values: Any
) -> dict[str, Any] | None:
    """The draft of decimals that are codes by their name or form, or the question whether they are; None if
    they are numbers. plain: the texts in the usual notation. values: their numbers."""
    number = drafts.number(values)
    if number["kind"] != "scale":
        return None
    if (why := codes.says_codes(column.name)) is not None:
        return code_draft(column, why, number)
    bare = pc.match_substring_regex(plain, "^[0-9]+[eE][0-9]+$")
    others = pc.match_substring_regex(plain, r"[.]|[eE][+-]|^[+-]")
    if pc.any(bare).as_py() and not pc.any(others).as_py():
        why = "Digits around a letter E without a point or a sign are codes more often than numbers."
        return code_draft(column, why, number)
    spelled: dict[float, set[str]] = {}
    for text, value in zip(plain.to_pylist(), values.tolist(), strict=True):
        spelled.setdefault(value, set()).add(text.strip(" \t"))
    twice = [sorted(texts)[:2] for texts in spelled.values() if len(texts) > 1]
    if not twice:
        return None
    first, second = min(twice)
    facts = drafts.facts_of(code_draft(column, "", number))
    as_codes = ReadingChoice(key="codes", label="Codes, as they are written", facts=facts)
    label = f"Numbers that measure something; “{first}” and “{second}” become one"
    as_number = ReadingChoice(key="number", label=label, facts=drafts.facts_of(number))
    question = f"“{first}” and “{second}” are one number and two codes. Which are they?"
    return drafts.opened(question, [as_codes, as_number])


def code_draft(column: DistinctTexts, why: str, number: Mapping[str, Any]) -> dict[str, Any]:
    """The draft of codes that are digits: listed, or found by each release. number: what they are as a
    number."""
    hint = Hint(certainty="probable", choices=[drafts.as_number(number)])
    if (listed := column.listed()) is None:
        return {**FOUND, "why": f"{why} {drafts.FINDING}", "hint": hint}
    facts = drafts.listed_facts(listed, other=True)
    return {**facts, "why": f"{why} {drafts.OCCURRING}", "hint": hint}


def zones(texts: pa.Array, span: Mapping[str, Any]) -> dict[str, Any] | None:
    """The question about moments of several time zones; None if they have one, or none. span: their draft."""
    parts = pc.extract_regex(texts, r"[0-9](?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?$")
    offsets = sorted(pc.unique(pc.struct_field(parts, "zone")).to_pylist())
    if len(offsets) < 2:
        return None
    written = " and ".join(f"“{zone}”" if zone else "none" for zone in offsets[:3])
    keep = ReadingChoice(
        key="clocks",
        label="The clocks as they are written; times of different zones that read alike become one",
        facts=drafts.facts_of(span),
    )
    question = (
        f"The moments are of several time zones, {written}, and no "
        "zone is kept. How are they to be read?"
    )
    return drafts.opened(question, [keep, drafts.LEAVE_OUT])


def days_and_moments(column: DistinctTexts) -> Hint | None:
    """The question about ISO days of which some have a clock; None if they are something else."""
    clocks = pc.match_substring_regex(column.texts, numbers.MOMENT)
    days = column.texts.filter(pc.invert(clocks))
    if not len(days) or len(days) == len(column.texts):
        return None
    moments = numbers.times(column.texts.filter(clocks))
    if moments is None or numbers.times(days) is None:
        return None
    span = drafts.facts_of(drafts.span(moments, int(np.gcd.reduce(moments.clocks))))
    span.pop("format", None)
    midnight = f"Moments; “{min(days.to_pylist())}” is that day at midnight"
    choices = [
        ReadingChoice(key="midnight", label=midnight, facts=span),
        ReadingChoice(
            key="days",
            label="Days; the times of day are left out",
            facts=drafts.facts_of(drafts.days()),
        ),
    ]
    question = "Some cells are days, and some have a time of day as well. Which are they?"
    return Hint(certainty="open", question=question, choices=choices)


def several_in_a_cell(column: DistinctTexts) -> dict[str, Any] | None:
    """The question about cells that hold several items of a short list; None if they hold one value each."""
    rows = int(column.counts.sum())
    for separator in (";", "|", ","):
        split = pc.split_pattern(column.texts, separator)
        lengths = pc.list_value_length(split).to_numpy(zero_copy_only=False)
        if column.counts[lengths > 1].sum() < _LEAST_WITH_SEVERAL * rows:
            continue
        items = pc.utf8_trim_whitespace(pc.list_flatten(split)).to_pylist()
        times: Counter[str] = Counter()
        for item, count in zip(items, np.repeat(column.counts, lengths).tolist(), strict=True):
            times[item] += count
        times.pop("", None)
        few = len(times) <= _MOST_ITEMS and len(times) < len(column.texts)
        if few and min(times.values()) >= value_lists.FEWEST_PERSONS:
            return _basket_question(column, sorted(times), separator)
    return None


def _basket_question(
    column: DistinctTexts, items: list[str], separator: str
) -> dict[str, Any] | None:
    if max(map(len, items)) > MAX_TEXT_LENGTH:
        return None
    facts = {"kind": "basket", "items": items, "separator": separator}
    label = f"Several items in a cell, {len(items)} different ones"
    several = ReadingChoice(key="basket", label=label, facts=facts)
    listed = column.listed()
    whole = ReadingChoice(
        key="one-value",
        label="One value in a cell, with signs inside",
        facts=FOUND
        if listed is None
        else drafts.listed_facts(listed, other=len(listed) < len(column.texts)),
    )
    return drafts.opened(
        "Cells seem to hold several items of a list. Do they?", [several, whole]
    )


def country(name: str, draft: Mapping[str, Any], column: Column) -> Hint | None:
    """The question whether NA is a country where all other values are two letters as well."""
    others = [text for text in column.times if text not in MARKERS]
    if (
        "NA" not in column.times
        or draft["kind"] not in ("categorical", "weak")
        or len(others) < 2
    ):
        return None
    if not all(re.fullmatch("[A-Z]{2}", text) for text in others):
        return None
    missing = [marker for marker in draft.get("missing") or () if marker != "NA"]
    facts = drafts.facts_of(draft) | {"missing": missing or None}
    if draft["kind"] == "categorical":
        facts["values"] = sorted([*draft["values"], "NA"])
    if "outside" in facts:
        facts["outside"] = "missing" if missing else "clamp"
    value = ReadingChoice(key="value", label="“NA” is a value like the others", facts=facts)
    marker = ReadingChoice(
        key="missing", label="“NA” is a missing value", facts=drafts.facts_of(draft)
    )
    question = f"Is “NA” in “{name}” a value, as the code of Namibia is, or a missing one?"
    return Hint(certainty="open", question=question, choices=[value, marker])


def filled_down(column: Column) -> list[str]:
    """A remark on values that stand in few rows, above cells that are blank."""
    blank, rows = column.times[""], column.times.total()
    if blank < _MOSTLY_BLANK * rows or rows - blank > 2 * (len(column.times) - 1):
        return []
    return [
        f"{round(100 * blank / rows)} of 100 cells are blank, and each value stands in one or two rows: if "
        "a value holds for the blank below it, fill the cells in before the file is read."
    ]


def say_yes_or_no(texts: pa.Array) -> bool:
    """Whether all these texts say yes or no, in the languages of the pages."""
    if len(texts) > len(_TRUTHS) * 3:
        return False
    return {text.strip().casefold() for text in texts.to_pylist()} <= _TRUTHS
