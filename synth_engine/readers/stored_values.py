"""Convert what stands in the cells of a spreadsheet to the text that a CSV would hold.

Numbers keep every digit that the file has, codes whose format shows leading zeros keep these, dates and times
are in ISO form. A cell for which there is no such text is the TableError that refuses it, without its place.
"""

from __future__ import annotations

import datetime
from decimal import Decimal, InvalidOperation

from synth_engine.errors import TableError
from synth_engine.readers import number_formats
from synth_engine.readers.number_formats import Shows

MOST_DIGITS = 40  # of a whole number that is written out
MOST_EXPONENT = 9_999  # of ten, of a number that is read; those of double precision end at 308
_EXACT = 17  # digits with which a number of double precision is spelled exactly
_DAY = 86_400_000  # milliseconds
_SHORTEST_LEAP = 60  # the day that spreadsheets count though 1900 had no 29 February


Stored = str | TableError

NO_NUMBER = TableError(
    "a cell with a number that cannot be read", repair="type it again, or save the sheet as CSV"
)
ERROR = TableError(
    "a cell that shows an error, like #N/A or #DIV/0!",
    repair="mend its formula or clear the cell, or say that cells that show an error count as missing",
)
HALF_CHARACTER = TableError(
    "a cell with one half of a character that is escaped as two",
    repair="type its text again, or save the sheet as CSV",
)
NO_RESULT = TableError(
    "a formula without a stored result",
    repair="open the workbook in a spreadsheet program and save it, which stores the results",
)
NO_DAY = TableError(
    "a date that the calendar of the workbook does not have",
    repair="write the date as text, like 1899-12-31",
)


def number(text: str, *, code: str = "General", since_1904: bool = False) -> Stored:
    """A number as the file spells it, under the number format of its cell."""
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return NO_NUMBER
    # No spreadsheet holds such a number, and arithmetic with it fails.
    if not value.is_finite() or abs(value.adjusted()) > MOST_EXPONENT:
        return NO_NUMBER
    section, has_sign = number_formats.section(code, value)
    match section.shows:
        case Shows.NUMBER | Shows.PERCENT:
            return plain(value)
        case Shows.DIGITS:
            return _with_zeros(value, section, has_sign=has_sign)
    return _moment(value, section.shows, since_1904=since_1904)


def truth(text: str) -> Stored:
    """A truth value, which a sheet stores as 1 or 0."""
    return {"1": "TRUE", "0": "FALSE", "true": "TRUE", "false": "FALSE"}.get(
        text.strip(), NO_NUMBER
    )


def plain(value: Decimal) -> str:
    """Whole numbers with all their digits and without a point, others in the shortest way that names the same
    number; where the file has more digits than double precision can hold, all of them."""
    if value == value.to_integral_value() and value.adjusted() < MOST_DIGITS:
        return str(int(value))
    stored = value.normalize()
    # Spreadsheet programs write a double with up to 17 digits, like 0.10000000000000001: the
    # shortest decimal that gives the same double is the number that was typed. From 1e300 on,
    # where `float` may overflow, the spelling of the file stands.
    short = Decimal(repr(float(stored))) if stored.adjusted() < 300 else stored
    spelled = len(stored.as_tuple().digits)
    same = short == stored or (
        spelled <= _EXACT and len(short.normalize().as_tuple().digits) < spelled
    )
    return repr(float(stored)) if same and short.is_finite() else str(stored)


def _with_zeros(value: Decimal, section: number_formats.Section, *, has_sign: bool) -> str:
    if value != value.to_integral_value() or value.adjusted() >= MOST_DIGITS:
        return plain(value)
    shown = number_formats.digits(section.pattern, abs(int(value)))
    return f"-{shown}" if value < 0 and not has_sign else shown


def _moment(value: Decimal, shows: Shows, *, since_1904: bool) -> Stored:
    """A number of days as a date, a time of day or both. A fraction of a day is never dropped, whatever is
    shown."""
    if abs(value) >= 10_000_000:
        return NO_NUMBER
    milliseconds = int((value * _DAY).to_integral_value())
    days, rest = divmod(milliseconds, _DAY)
    if shows is Shows.ELAPSED:
        return _elapsed(milliseconds)
    if shows is Shows.TIME and days == 0:
        return _time(rest).isoformat()
    day = _day(days, since_1904=since_1904)
    if isinstance(day, TableError) or (rest == 0 and shows is Shows.DATE):
        return day
    return f"{day}T{_time(rest).isoformat()}"


def _day(days: int, *, since_1904: bool) -> Stored:
    if days < (0 if since_1904 else 1):
        return NO_DAY
    # Day 60 is 29 February 1900, which spreadsheets count and no calendar has. All later days
    # are one too high, hence the two origins below.
    if not since_1904 and days == _SHORTEST_LEAP:
        return NO_DAY
    first = (
        datetime.date(1904, 1, 1)
        if since_1904
        else datetime.date(1899, 12, 31 if days < _SHORTEST_LEAP else 30)
    )
    try:
        return (first + datetime.timedelta(days=days)).isoformat()
    except OverflowError:
        return NO_NUMBER


def _time(milliseconds: int) -> datetime.time:
    seconds, thousandths = divmod(milliseconds, 1_000)
    return datetime.time(
        seconds // 3_600, seconds // 60 % 60, seconds % 60, thousandths * 1_000
    )


def _elapsed(milliseconds: int) -> str:
    seconds, thousandths = divmod(abs(milliseconds), 1_000)
    text = f"{'-' * (milliseconds < 0)}{seconds // 3_600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{thousandths:03}" if thousandths else text
