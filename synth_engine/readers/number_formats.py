"""Parse the number format of a spreadsheet cell, which decides what the number in it means.

A sheet stores dates as numbers of days and codes with leading zeros as numbers without them; the format alone
tells them apart (ECMA-376 part 1, 18.8.30 and 18.8.31).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import lru_cache

_BUILT_IN = {  # numbers of formats that a workbook does not spell out
    **dict.fromkeys(range(14, 18), "yyyy-mm-dd"),
    **dict.fromkeys(range(18, 22), "h:mm:ss"),
    22: "yyyy-mm-dd h:mm",
    **dict.fromkeys((27, 28, 29, 30, 31, 34, 35, 36), "yyyy-mm-dd"),  # of East Asian versions
    **dict.fromkeys((32, 33), "h:mm:ss"),
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss.0",
    **dict.fromkeys(range(50, 59), "yyyy-mm-dd"),
    9: "0%",
    10: "0.00%",
}
_TOKEN = re.compile(
    r'"([^"]*)"|\\(.)|_(?:.)|\*(?:.)|\[([^\]]*)\]|(AM/PM|A/P|General)|(.)',
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)(-?[0-9]+(?:\.[0-9]+)?)")
_ELAPSED = re.compile(r"h+|m+|s+", re.IGNORECASE)
_FIXED = "- ():+'"  # signs that stand for themselves without quotation marks
_COMPARE: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<>": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}


class Shows(Enum):
    """What a section of a format shows."""

    NUMBER = "number"
    PERCENT = "percent"
    DATE = "date"
    MOMENT = "date and time"
    TIME = "time of day"
    ELAPSED = "elapsed time"
    DIGITS = "digits with leading zeros"


@dataclass(frozen=True, kw_only=True)
class Section:
    """One of the sections of a format. `pattern` has, for DIGITS, None where a digit stands and the sign
    elsewhere."""

    shows: Shows
    pattern: tuple[str | None, ...] = ()
    condition: tuple[str, Decimal] | None = None


@lru_cache(maxsize=4_096)
def sections(code: str) -> tuple[Section, ...]:
    """The sections of a format, at least one."""
    parts: list[list[re.Match[str]]] = [[]]
    for token in _TOKEN.finditer(code):
        if token[5] == ";":
            parts.append([])
        else:
            parts[-1].append(token)
    return tuple(_section(tokens) for tokens in parts)


def built_in(number: int) -> str:
    """The format of this number where the workbook itself does not say it."""
    return _BUILT_IN.get(number, "General")


def section(code: str, value: Decimal) -> tuple[Section, bool]:
    """The section that shows this value, and whether it shows the sign by itself."""
    every = sections(code)
    if any(one.condition is not None for one in every):
        return _by_condition(every, value), False
    # Sections without conditions are, in this order: positive; negative; zero; text.
    if value < 0 and len(every) > 1:
        return every[1], True
    if value == 0 and len(every) > 2:
        return every[2], True
    return every[0], False


def digits(pattern: tuple[str | None, ...], value: int) -> str:
    """The text of a whole number of 0 or more: its digits from the right, zeros before them, fixed signs
    between them."""
    left = str(value)
    text = ""
    for place in range(len(pattern) - 1, -1, -1):
        sign = pattern[place]
        if sign is not None:
            text = sign + text
            continue
        is_first = None not in pattern[:place]
        taken = left if is_first else left[-1:]
        text, left = (taken or "0") + text, left[: len(left) - len(taken)]
    return text


def _by_condition(every: tuple[Section, ...], value: Decimal) -> Section:
    for one in every:
        if one.condition is None or _COMPARE[one.condition[0]](value, one.condition[1]):
            return one
    return Section(shows=Shows.NUMBER)


def _section(tokens: list[re.Match[str]]) -> Section:
    brackets = [token[3] for token in tokens if token[3] is not None]
    conditions = [match for text in brackets if (match := _CONDITION.fullmatch(text.strip()))]
    condition = (conditions[0][1], Decimal(conditions[0][2])) if conditions else None
    letters = "".join((token[5] or "").lower() for token in tokens)
    has_half_days = any((token[4] or "").lower() in ("am/pm", "a/p") for token in tokens)
    # [h] counts on beyond 24 hours: such a number is no time of day.
    if any(_ELAPSED.fullmatch(text) for text in brackets):
        return Section(shows=Shows.ELAPSED, condition=condition)
    if any((token[4] or "").lower() == "general" for token in tokens):
        return Section(shows=Shows.NUMBER, condition=condition)
    has_time = has_half_days or any(letter in letters for letter in "hs")
    # "m" is a month in a date, and minutes as soon as hours or seconds are shown.
    has_day = any(letter in letters for letter in "yd") or ("m" in letters and not has_time)
    if has_day:
        return Section(shows=Shows.MOMENT if has_time else Shows.DATE, condition=condition)
    if has_time:
        return Section(shows=Shows.TIME, condition=condition)
    if "%" in letters:
        return Section(shows=Shows.PERCENT, condition=condition)
    pattern = _pattern(tokens)
    shows = Shows.DIGITS if pattern.count(None) > 1 else Shows.NUMBER
    return Section(shows=shows, pattern=pattern, condition=condition)


def _pattern(tokens: list[re.Match[str]]) -> tuple[str | None, ...]:
    """Return the pattern of a section of zeros and fixed signs alone; an empty one for any other section."""
    pattern: list[str | None] = []
    for token in tokens:
        fixed = token[1] if token[1] is not None else token[2]
        if fixed is not None:
            pattern += fixed
        elif token[5] == "0":
            pattern.append(None)
        elif token[5] is not None and token[5] in _FIXED:
            pattern.append(token[5])
        elif token[5] is not None:
            return ()
    return tuple(pattern)
