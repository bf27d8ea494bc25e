"""Days and timestamps that are not written in ISO form: in which orders and layouts all cells of a column make sense.

Nothing is decided here for a cell alone: a layout is a format for the whole column, and each layout has a mask of the
texts that it reads."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.domain import rounding

_CLOCK = r"(?:[ T][0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?[AaPp][Mm])?)?"
_PARTS = (
    r"^(?P<a>[0-9]{1,4})(?P<s>[./-])(?P<b>[0-9]{1,2})(?P<t>[./-])(?P<c>[0-9]{1,4})"
    rf"(?P<clock>{_CLOCK})$"
)
_COMPACT = r"^(?P<y>1[89]|20)(?P<z>[0-9]{2})(?P<m>[0-9]{2})(?P<d>[0-9]{2})$"
_NAMED = r"^(?:[0-9]{1,2}[ ./-]?[A-Za-z]{3,9}\.?[ ,./-]*[0-9]{2,4}|[A-Za-z]{3,9}\.? [0-9]{1,2},? [0-9]{4})$"
_MONTHS = {datetime.date(2000, month, 1).strftime("%B").lower(): "%B" for month in range(1, 13)}
_SHORT_MONTHS = {name[:3]: "%b" for name in _MONTHS}
_CENTURY_PIVOT = 69  # two digits from here on are years of the 20th century, as in strptime
_NAMED_MOST = 20_000  # texts with names of months that are read one by one
_SPELLED_CLOCK = {"T9:9": "T%H:%M", "T9:9:9": "T%H:%M:%S", "": ""} | {
    f" {clock}{half}": f" {spelled}{half_spelled}"
    for half, half_spelled in (("", ""), (" p", " %p"), ("p", "%p"))
    for clock, spelled in (
        (("9:9", "%I:%M"), ("9:9:9", "%I:%M:%S"))
        if half
        else (("9:9", "%H:%M"), ("9:9:9", "%H:%M:%S"))
    )
}


@dataclass(frozen=True, kw_only=True)
class DateLayout:
    """One way to read texts as days. key: the order of day, month and year. readable: shape (n,). years, months, days,
    seconds (since midnight): shape (n,), of use where the text is readable. clocks: whether a time of day is written."""

    key: str
    format: str
    readable: NDArray[np.bool_]
    years: NDArray[np.int64]
    months: NDArray[np.int64]
    days: NDArray[np.int64]
    seconds: NDArray[np.int64]
    clocks: bool

    def day_in_words(self, index: int) -> str:
        """Return the day that a text stands for, as nobody can mistake it."""
        day = datetime.date(
            int(self.years[index]), int(self.months[index]), int(self.days[index])
        )
        return f"{day.day} {day:%B} {day.year}"

    def facts(self) -> dict[str, Any]:
        """The description of a column that is read so; where its days lie is not part of it."""
        seconds = self.seconds[self.readable]
        if not seconds.any():
            return {"kind": "scale", "of": "date", "format": self.format}
        common = int(np.gcd.reduce(seconds))
        step = rounding.moments(common=common, spellings=set())
        return {"kind": "scale", **step, "format": self.format}


def layouts(texts: pa.Array) -> list[DateLayout]:
    """The layouts that read at least one of these different texts, none of them in ISO form alone."""
    return [
        layout
        for layout in (*_numeric(texts), *_compact(texts), *_with_names(texts))
        if layout.readable.any()
    ]


def _numeric(texts: pa.Array) -> list[DateLayout]:
    parts = pc.extract_regex(texts, _PARTS)
    matched = pc.is_valid(parts).to_numpy(zero_copy_only=False)
    if not matched.any():
        return []
    fields = {name: pc.fill_null(pc.struct_field(parts, name), "") for name in "asbtc"}
    clock = pc.fill_null(pc.struct_field(parts, "clock"), "")
    shapes = _shapes(fields, clock)
    # Cells of the layout that most of them have are read; a cell in another layout is none of them.
    counted = pc.value_counts(shapes.filter(pa.array(matched)))
    counts = counted.field("counts").to_numpy()
    shape = counted.field("values")[int(np.argmax(counts))].as_py()
    sign, other, first, last, clock_shape = shape.split("\x1f")
    clock_format = _SPELLED_CLOCK.get(clock_shape)
    if sign != other or clock_format is None or last not in ("2", "4", "1"):
        return []
    usable = matched & pc.equal(shapes, shape).to_numpy(zero_copy_only=False)
    a, b, c = (_numbers(fields[name], usable) for name in "abc")
    seconds, valid_clock = _seconds(clock, clock_shape, usable)
    usable = usable & valid_clock
    orders: list[tuple[str, str, tuple[NDArray[np.int64], ...]]]
    if first == "4":
        orders = [("year-first", f"%Y{sign}%m{sign}%d", (a, b, c))]
    elif last == "4":
        orders = [
            ("day-first", f"%d{sign}%m{sign}%Y", (c, b, a)),
            ("month-first", f"%m{sign}%d{sign}%Y", (c, a, b)),
        ]
    elif last == "2":
        years = np.where(c < _CENTURY_PIVOT, 2_000 + c, 1_900 + c)
        orders = [
            ("day-first", f"%d{sign}%m{sign}%y", (years, b, a)),
            ("month-first", f"%m{sign}%d{sign}%y", (years, a, b)),
        ]
    else:
        return []
    return [
        DateLayout(
            key=key,
            format=f"{style}{clock_format}",
            readable=usable & _is_day(*ymd),
            years=ymd[0],
            months=ymd[1],
            days=ymd[2],
            seconds=seconds,
            clocks=bool(clock_format),
        )
        for key, style, ymd in orders
    ]


def _shapes(fields: dict[str, pa.Array], clock: pa.Array) -> pa.Array:
    """Signs, digits of the outer numbers (4, 2, or 1 for either), and the clock with 9 for digits and p for a half day."""
    spelled = pc.replace_substring_regex(clock, "[0-9]+", "9")
    spelled = pc.replace_substring_regex(spelled, "[AaPp][Mm]", "p")
    lengths = {}
    for name, few in (("a", "2"), ("c", "1")):
        length = pc.utf8_length(fields[name])
        short = pa.scalar(few)
        # The first number may have one or two digits in one column; a year may not.
        lengths[name] = pc.if_else(
            pc.equal(length, 4),
            "4",
            pc.if_else(pc.equal(length, 3), "3", pc.if_else(pc.equal(length, 2), "2", short)),
        )
    return pc.binary_join_element_wise(
        fields["s"], fields["t"], lengths["a"], lengths["c"], spelled, "\x1f"
    )


def _numbers(texts: pa.Array, usable: NDArray[np.bool_]) -> NDArray[np.int64]:
    texts = pc.if_else(pa.array(usable), texts, "0")
    values: NDArray[np.int64] = pc.cast(texts, pa.int64()).to_numpy()
    return values


def _seconds(
    clock: pa.Array, shape: str, usable: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Seconds since midnight, and whether the clock is one."""
    if not shape:
        return np.zeros(len(clock), dtype=np.int64), np.ones(len(clock), dtype=np.bool_)
    clock = pc.if_else(pa.array(usable), clock, "0:00")
    numbers = pc.extract_regex(
        clock, r"(?P<h>[0-9]{1,2}):(?P<m>[0-9]{2})(?P<s>:[0-9]{2})?(?P<p> ?[AaPp][Mm])?$"
    )
    hours = _numbers(pc.struct_field(numbers, "h"), usable)
    minutes = _numbers(pc.struct_field(numbers, "m"), usable)
    spelled = pc.utf8_ltrim(pc.struct_field(numbers, "s"), ":")
    seconds = _numbers(pc.if_else(pc.equal(spelled, ""), "0", spelled), usable)
    valid = (minutes < 60) & (seconds < 60)
    if shape.endswith("p"):
        after_noon = pc.match_substring_regex(pc.struct_field(numbers, "p"), "[Pp]")
        valid &= (hours >= 1) & (hours <= 12)
        hours = hours % 12 + 12 * after_noon.to_numpy(zero_copy_only=False)
    return hours * 3_600 + minutes * 60 + seconds, valid & (hours < 24)


def _is_day(
    years: NDArray[np.int64], months: NDArray[np.int64], days: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether the calendar has these days, from the year 1000 on."""
    lengths = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    in_year = (months >= 1) & (months <= 12)
    leap = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
    last = lengths[np.where(in_year, months, 0)] + (leap & (months == 2))
    valid: NDArray[np.bool_] = in_year & (days >= 1) & (days <= last) & (years >= 1_000)
    return valid


def _compact(texts: pa.Array) -> list[DateLayout]:
    """Days of eight digits."""
    parts = pc.extract_regex(texts, _COMPACT)
    usable = pc.is_valid(parts).to_numpy(zero_copy_only=False)
    if not usable.any():
        return []
    years, short, months, days = (
        _numbers(pc.fill_null(pc.struct_field(parts, name), "0"), usable) for name in "yzmd"
    )
    years = years * 100 + short
    return [
        DateLayout(
            key="compact",
            format="%Y%m%d",
            readable=usable & _is_day(years, months, days),
            years=years,
            months=months,
            days=days,
            seconds=np.zeros_like(years),
            clocks=False,
        )
    ]


def _with_names(texts: pa.Array) -> list[DateLayout]:
    """Days with the name of a month."""
    matched = pc.match_substring_regex(texts, _NAMED).to_numpy(zero_copy_only=False)
    if not matched.any() or len(texts) > _NAMED_MOST:
        return []
    listed = texts.to_pylist()
    formats: dict[str, int] = {}
    for index in np.flatnonzero(matched)[:1_000].tolist():
        if style := _named_format(listed[index]):
            formats[style] = formats.get(style, 0) + 1
    if not formats:
        return []
    style = max(formats, key=lambda each: formats[each])
    ymd = np.zeros((3, len(listed)), dtype=np.int64)
    for index in np.flatnonzero(matched).tolist():
        try:
            day = datetime.datetime.strptime(listed[index], style)  # noqa: DTZ007  # days have no time zone
        except ValueError:
            continue
        ymd[:, index] = day.year, day.month, day.day
    return [
        DateLayout(
            key="named-month",
            format=style,
            readable=_is_day(*ymd),
            years=ymd[0],
            months=ymd[1],
            days=ymd[2],
            seconds=np.zeros(len(listed), dtype=np.int64),
            clocks=False,
        )
    ]


def _named_format(text: str) -> str:
    """The format of one text with the name of a month; empty if it has none."""
    pieces = re.findall(r"[0-9]+|[A-Za-z]+|[^0-9A-Za-z]+", text)
    style, numbers = "", [piece for piece in pieces if piece.isdigit()]
    if len(numbers) != 2 or len(numbers[0]) > 2 or len(numbers[1]) not in (2, 4):
        return ""
    for piece in pieces:
        if piece.isalpha():
            name = _MONTHS.get(piece.lower()) or _SHORT_MONTHS.get(piece.lower())
            if name is None or "%b" in style or "%B" in style:
                return ""
            style += name
        elif piece.isdigit():
            style += "%d" if "%d" not in style else "%Y" if len(piece) == 4 else "%y"
        else:
            style += piece
    return style
