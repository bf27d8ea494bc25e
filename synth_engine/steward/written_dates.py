"""Days and timestamps that are not written in ISO form: in which orders and layouts all cells of a column
make sense.

Nothing is decided here for a cell alone: a layout is a format for the whole column, and each layout has a
mask of the texts that it reads."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.codec import sentinels
from synth_engine.domain import rounding
from synth_engine.kinds import month_names
from synth_engine.steward.markers import odd_markers

_CLOCK = r"(?:(?:,? |T)[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?[AaPp][Mm]| Uhr)?)?"
_PARTS = (
    r"^(?P<a>[0-9]{1,4})(?P<s>[./-] ?)(?P<b>[0-9]{1,2})(?P<t>[./-] ?)(?P<c>[0-9]{1,4})"
    rf"(?P<clock>{_CLOCK})$"
)
_Y, _MD, _DM = (
    "(?P<y>(?:1[89]|20)[0-9]{2})",
    "(?P<m>[0-9]{2})(?P<d>[0-9]{2})",
    "(?P<d>[0-9]{2})(?P<m>[0-9]{2})",
)
_HMS = "(?P<H>[0-9]{2})(?P<M>[0-9]{2})(?P<S>[0-9]{2})"
_COMPACT = (
    ("compact", "%Y%m%d", f"^{_Y}{_MD}$"),
    ("compact-day-first", "%d%m%Y", f"^{_DM}{_Y}$"),
    ("compact-month-first", "%m%d%Y", f"^{_MD}{_Y}$"),
    ("compact-short", "%y%m%d", f"^(?P<y>[0-9]{{2}}){_MD}$"),
    ("compact-short-day-first", "%d%m%y", f"^{_DM}(?P<y>[0-9]{{2}})$"),
    ("compact-day-of-year", "%Y%j", f"^{_Y}(?P<j>[0-9]{{3}})$"),
    (
        "ideographic",
        "%Y年%m月%d日",
        "^(?P<y>[0-9]{4})年(?P<m>[0-9]{1,2})月(?P<d>[0-9]{1,2})日$",
    ),
    ("compact-moment", "%Y%m%d%H%M%S", f"^{_Y}{_MD}{_HMS}$"),
    ("compact-moment-iso", "%Y%m%dT%H%M%S", f"^{_Y}{_MD}T{_HMS}$"),
    ("compact-moment-iso-zone", "%Y%m%dT%H%M%SZ", f"^{_Y}{_MD}T{_HMS}Z$"),
    ("compact-moment-fraction", "%Y%m%d%H%M%S000000", f"^{_Y}{_MD}{_HMS}0{{6}}$"),
)
_LOOKED_AT_FIRST = 1_000  # texts, of which one is of digits where days are written so
_NAMED = (
    r"^(?:[0-9]{1,2}[ ./-]{0,2}(?:de )?\p{L}{3,10}\.?[ ,./-]*(?:de )?[0-9]{2,4}"
    r"|\p{L}{3,10}\.? [0-9]{1,2},? [0-9]{4})" + _CLOCK + "$"
)
_BEFORE_CLOCK = re.compile(f"(.*?)({_CLOCK})", re.ASCII)
_MOST_YEARS = 15  # different ones of a column in which the days are those of a whole month
_MOST_DAYS = 20
CENTURY_PIVOT = 69  # two digits from here on are years of the 20th century, as in strptime
_NAMED_MOST = 20_000  # texts with names of months that are read one by one
_SPELLED_CLOCK = {"": ""} | {
    f"{before}9:9{seconds}{end}": f"{before}{hours}:%M{spelled}{end.replace('p', '%p')}"
    for before in (" ", ", ", "T")
    for seconds, spelled in (("", ""), (":9", ":%S"))
    for end, hours in (("", "%H"), (" p", "%I"), ("p", "%I"), (" Uhr", "%H"))
}


@dataclass(frozen=True, kw_only=True)
class DateLayout:
    """One way to read texts as days. key: the order of day, month and year. readable: shape (n,). years,
    months, days, seconds (since midnight): shape (n,), of use where the text is readable. clocks: whether a
    time of day is written."""

    key: str
    format: str
    readable: NDArray[np.bool_]
    years: NDArray[np.int64]
    months: NDArray[np.int64]
    days: NDArray[np.int64]
    seconds: NDArray[np.int64]
    clocks: bool
    last: int | None = (
        None  # where years have two digits and are said to be of the hundred years up to this one
    )

    def odd(self, texts: pa.Array) -> list[str] | None:
        """The texts that stand for a missing value, if all others are days of this layout; None if some may
        be values. Days that stand for none, like 31.12.9999, are such texts."""
        ends = np.zeros(len(texts), dtype=np.bool_)
        ymd = zip(
            *(each[self.readable].tolist() for each in (self.years, self.months, self.days)),
            strict=True,
        )
        days = [f"{year:04}-{month:02}-{day:02}" for year, month, day in ymd]
        alone = sentinels.of_days(pa.array(days, type=pa.string()))
        if alone is None:
            return odd_markers(texts, self.readable)
        ends[np.flatnonzero(self.readable)[alone]] = True
        others = odd_markers(texts.filter(pa.array(~ends)), self.readable[~ends])
        return None if others is None else [*others, *texts.filter(pa.array(ends)).to_pylist()]

    def until(self, last: int) -> DateLayout:
        """The same layout with years of the hundred years up to this one."""
        return replace(self, years=last - (last - self.years) % 100, last=last)

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
            ends = ("-01-01", "-12-31")
            return {"kind": "scale", "of": "date", "format": self.format} | self._bounds(*ends)
        common = int(np.gcd.reduce(seconds))
        step = rounding.moments(common=common, spellings=set())
        # The last moment of the range stands on the steps that begin with the first one.
        last_second = 86_400 - int(str(step["step"]))
        clock = f"{last_second // 3_600:02}:{last_second // 60 % 60:02}:{last_second % 60:02}"
        ends = ("-01-01T00:00:00", f"-12-31T{clock}")
        return {"kind": "scale", **step, "format": self.format} | self._bounds(*ends)

    def _bounds(self, first: str, last: str) -> dict[str, str]:
        if self.last is None:
            return {}
        return {"low": f"{self.last - 99}{first}", "high": f"{self.last}{last}"}


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
    counted = pc.value_counts(shapes.filter(pa.array(matched))).to_pylist()
    shape = max(counted, key=lambda each: (each["counts"], each["values"]))["values"]
    sign, other, first, last, clock_shape = shape.split("\x1f")
    clock_format = _SPELLED_CLOCK.get(clock_shape)
    if sign != other or clock_format is None:
        return []
    usable = matched & pc.equal(shapes, shape).to_numpy(zero_copy_only=False)
    a, b, c = (_numbers(fields[name], usable) for name in "abc")
    seconds, valid_clock = _seconds(clock, clock_shape, usable)
    return [
        DateLayout(
            key=key,
            format=f"{style}{clock_format}",
            readable=usable & valid_clock & _is_day(*ymd),
            years=ymd[0],
            months=ymd[1],
            days=ymd[2],
            seconds=seconds,
            clocks=bool(clock_format),
        )
        for key, style, ymd in _orders(
            sign, first, last, (a, b, c), padded=_padded(fields["a"], usable)
        )
    ]


def _orders(
    sign: str, first: str, last: str, numbers: tuple[NDArray[np.int64], ...], *, padded: bool
) -> list[tuple[str, str, tuple[NDArray[np.int64], ...]]]:
    """The orders that three numbers can have, with the format of each and its years, months and days. first,
    last: their digits. padded: whether the first always has two, without which it is no year."""
    a, b, c = numbers
    if first == "4" and last == "2":
        return [("year-first", f"%Y{sign}%m{sign}%d", (a, b, c))]
    if first == "2" and last == "4":
        return [
            ("day-first", f"%d{sign}%m{sign}%Y", (c, b, a)),
            ("month-first", f"%m{sign}%d{sign}%Y", (c, a, b)),
        ]
    if first != "2" or last != "2":
        return []
    orders: list[tuple[str, str, tuple[NDArray[np.int64], ...]]] = [
        ("day-first", f"%d{sign}%m{sign}%y", (_full(c), b, a)),
        ("month-first", f"%m{sign}%d{sign}%y", (_full(c), a, b)),
    ]
    # Days of a table are many and its years are few: where the last number is no day by that, nothing is
    # asked.
    if padded and (len(np.unique(c)) > _MOST_YEARS or len(np.unique(a)) < _MOST_DAYS):
        orders.append(("year-first", f"%y{sign}%m{sign}%d", (_full(a), b, c)))
    return orders


def _padded(first: pa.Array, usable: NDArray[np.bool_]) -> bool:
    lengths = pc.utf8_length(first).to_numpy()
    return bool((lengths[usable] == 2).all())


def _full(years: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(years < CENTURY_PIVOT, 2_000 + years, 1_900 + years)


def _shapes(fields: dict[str, pa.Array], clock: pa.Array) -> pa.Array:
    """Signs, digits of the outer numbers (4, 3, or 2 for one or two), and the clock with 9 for digits and p
    for a half day. A day or month of one digit has the shape of two."""
    spelled = pc.replace_substring_regex(clock, "[0-9]+", "9")
    spelled = pc.replace_substring_regex(spelled, "[AaPp][Mm]$", "p")
    digits = [
        pc.cast(pc.max_element_wise(pc.utf8_length(fields[name]), 2), pa.string())
        for name in "ac"
    ]
    return pc.binary_join_element_wise(fields["s"], fields["t"], *digits, spelled, "\x1f")


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
        clock, r"(?P<h>[0-9]{1,2}):(?P<m>[0-9]{2})(?P<s>:[0-9]{2})?(?P<p> ?[AaPp][Mm]| Uhr)?$"
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
    """Days, or moments, of digits alone."""
    if len(texts) > _LOOKED_AT_FIRST and not _may_be_compact(texts.slice(0, _LOOKED_AT_FIRST)):
        return []
    read = []
    for key, style, pattern in _COMPACT:
        parts = pc.extract_regex(texts, pattern)
        usable = pc.is_valid(parts).to_numpy(zero_copy_only=False)
        if not usable.any():
            continue
        names = [field.name for field in parts.type]

        def field(
            name: str,
            default: int,
            *,
            of: pa.Array = parts,
            known: Any = usable,
            named: Any = names,
        ) -> NDArray[np.int64]:
            if name not in named:
                return np.full(len(texts), default)
            return _numbers(pc.fill_null(pc.struct_field(of, name), "0"), known)

        years = field("y", 0) if "%Y" in style else _full(field("y", 0))
        months, days = field("m", 1), field("d", 1)
        if "%j" in style:
            of_year = field("j", 0)
            leap = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
            valid = (
                (of_year >= 1) & (of_year <= 365 + leap) & (years >= 1_800) & (years < 2_100)
            )
            ordinals = np.array(
                [datetime.date(int(y), 1, 1).toordinal() for y in np.where(valid, years, 2_000)]
            )
            calendar = [
                datetime.date.fromordinal(int(day))
                for day in ordinals + np.where(valid, of_year - 1, 0)
            ]
            months, days = (
                np.array([d.month for d in calendar]),
                np.array([d.day for d in calendar]),
            )
        else:
            valid = _is_day(years, months, days) & (years >= 1_800) & (years < 2_100)
        hours, minutes, rest = field("H", 0), field("M", 0), field("S", 0)
        valid &= (hours < 24) & (minutes < 60) & (rest < 60)
        read.append(
            DateLayout(
                key=key,
                format=style,
                readable=usable & valid,
                years=years,
                months=months,
                days=days,
                seconds=hours * 3_600 + minutes * 60 + rest,
                clocks="%H" in style,
            )
        )
    return read


def _may_be_compact(texts: pa.Array) -> bool:
    return bool(
        pc.any(
            pc.match_substring_regex(texts, r"^[0-9]{6,20}(T[0-9]{6}Z?)?$|^[0-9]{4}年")
        ).as_py()
    )


def _with_names(texts: pa.Array) -> list[DateLayout]:
    """Days, or moments, with the name of a month."""
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
    ymd, seconds = (
        np.zeros((3, len(listed)), dtype=np.int64),
        np.zeros(len(listed), dtype=np.int64),
    )
    for index in np.flatnonzero(matched).tolist():
        try:
            day = month_names.parsed(listed[index], style)
        except ValueError:
            continue
        ymd[:, index] = day.year, day.month, day.day
        seconds[index] = day.hour * 3_600 + day.minute * 60 + day.second
    return [
        DateLayout(
            key="named-month",
            format=style,
            readable=_is_day(*ymd),
            years=ymd[0],
            months=ymd[1],
            days=ymd[2],
            seconds=seconds,
            clocks="%M" in style,
        )
    ]


def _named_format(text: str) -> str:
    """The format of one text with the name of a month; empty if it has none."""
    match = _BEFORE_CLOCK.fullmatch(text)
    if match is None:
        return ""
    shape = re.sub("[AaPp][Mm]$", "p", re.sub("[0-9]+", "9", match[2]))
    pieces = re.findall(r"[0-9]+|[^\W\d_]+\.?|.", match[1])
    style, numbers = "", [piece for piece in pieces if piece.isdigit()]
    if len(numbers) != 2 or len(numbers[0]) > 2 or len(numbers[1]) not in (2, 4):
        return ""
    for piece in pieces:
        if piece[0].isalpha() and piece != "de":
            name = month_names.directive(piece.removesuffix("."))
            if not name or "%b" in style or "%B" in style:
                return ""
            style += name
        elif piece.isdigit():
            style += "%d" if "%d" not in style else "%Y" if len(piece) == 4 else "%y"
        else:
            style += piece
    return style + _SPELLED_CLOCK[shape]
