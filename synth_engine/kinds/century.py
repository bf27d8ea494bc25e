"""Years of two digits: they are those of the hundred years that end with the upper bound of the column, a
public fact."""

from __future__ import annotations

import datetime
from typing import TypeVar

Day = TypeVar("Day", datetime.date, datetime.datetime)


def has_two_digits(style: str) -> bool:
    """Whether a format of `strftime` writes years with two digits."""
    return "%y" in style.replace("%%", "")


def in_century(day: Day, last: int) -> Day:
    """The same day of the year that ends in the same two digits, of the hundred years up to `last`. Errors:
    ValueError for a 29th of February that the year does not have."""
    return day.replace(year=last - (last - day.year) % 100)
