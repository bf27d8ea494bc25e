"""Texts that may be read in more than one way: the question that their steward is asked about them.

Which of two readings is meant is never guessed. Where the values allow one alone, that one is suggested."""

from __future__ import annotations

import calendar
import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from synth_engine.domain import rounding

_DATE = r"^[0-9]{1,2}([./-])[0-9]{1,2}[./-][1-9][0-9]{3}$"
_SHORT_DATE = r"^[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2}$"
_ORDERS = {"the day first": (0, 1, "%d{0}%m{0}%Y"), "the month first": (1, 0, "%m{0}%d{0}%Y")}
_MARKED = {
    "a comma between digits: a decimal comma, or a sign between thousands": r"^[+-]?[0-9]+(,[0-9]+)*$",
    "signs between thousands and a decimal point": r"^[+-]?[0-9]{1,3}((,[0-9]{3})*|([ '][0-9]{3})*)(\.[0-9]+)?$",
    "signs between thousands and a decimal comma": r"^[+-]?[0-9]{1,3}((\.[0-9]{3})*|([ '][0-9]{3})*)(,[0-9]+)?$",
}


def dates(texts: pa.Array) -> dict[str, Any] | None:
    """A draft of days with the day or the month first, if the values make sense in one of the two orders alone."""
    orders = _orders(texts)
    # If both orders fit, nothing in the file decides, and a guess would silently exchange days
    # and months.
    if orders is None or len(orders) != 1:
        return None
    [order] = orders
    form = _ORDERS[order][2]
    years = pc.min_max(pc.utf8_slice_codeunits(texts, -4)).as_py()
    why = f"All values are dates with {order}: some have a number above 12 there. The range is in whole years."
    sign = re.sub("[0-9]", "", texts[0].as_py())[0]
    return {
        "kind": "date",
        **rounding.days(years["min"], years["max"]),
        "format": form.format(sign),
        "why": why,
    }


def add_question(draft: dict[str, Any], texts: pa.Array) -> dict[str, Any]:
    """A draft of texts, with the question that its steward has to answer first, if there is one."""
    if question := _question(texts):
        draft["why"] += f" {question}"
    return draft


def _question(texts: pa.Array) -> str:
    orders = _orders(texts)
    if orders == set():
        return "They look like dates, some with the day and some with the month first: only the file can be mended."
    if orders:
        return (
            "They look like dates, and whether the day or the month comes first cannot be seen: if you know, make this"
            " a date, written %d/%m/%Y or %m/%d/%Y with the sign that the file has between them."
        )
    if pc.all(pc.match_substring_regex(texts, _SHORT_DATE)).as_py() and len(_signs(texts)) == 1:
        return (
            "They look like dates with years of two digits, whose century and order cannot be seen: if you know, make this"
            " a date, written %d/%m/%y or %m/%d/%y with the sign that the file has between them."
        )
    for what, pattern in _MARKED.items():
        if pc.all(pc.match_substring_regex(texts, pattern)).as_py():
            return f"They look like numbers with {what}. If you know, say so where it says how the file is read."
    return ""


def _orders(texts: pa.Array) -> set[str] | None:
    """The orders of day and month in which all values make sense; None if they are no such dates."""
    if not pc.all(pc.match_substring_regex(texts, _DATE)).as_py() or len(_signs(texts)) != 1:
        return None
    parts = [[int(part) for part in re.split("[./-]", text)] for text in texts.to_pylist()]
    fitting = set()
    for order, (day, month, _) in _ORDERS.items():
        if all(
            1 <= part[month] <= 12 and 1 <= part[day] <= _days(part[2], part[month])
            for part in parts
        ):
            fitting.add(order)
    return fitting


def _signs(texts: pa.Array) -> set[str]:
    return {re.sub("[0-9]", "", text) for text in texts.to_pylist()}


def _days(year: int, month: int) -> int:
    return calendar.monthrange(year, month)[1]
