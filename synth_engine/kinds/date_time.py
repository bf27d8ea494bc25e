"""Attributes on a clock: moments in steps of minutes, hours, days or months, cut into public bins.

A moment has no time zone. Clocks are compared as they are written: nothing is converted, no hour is doubled
or skipped.
"""

from __future__ import annotations

import calendar
import datetime
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds import month_names
from synth_engine.kinds.attribute import MAX_CODES, Attribute, TableSchemaField, Units
from synth_engine.kinds.bounds import (
    equal_bins,
    sample_steps,
    write_moments,
)
from synth_engine.kinds.century import has_two_digits, in_century
from synth_engine.kinds.date import nearest_day, seconds_since_1970
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import (
    POSITIVE,
    TEXT,
    Schema,
    optional,
)
from synth_engine.kinds.ladders import Even, Floats, Ladder, ListedScale, padded
from synth_engine.kinds.reading import Scaled

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Unit = Literal["seconds", "minutes", "hours", "days", "weeks", "months"]
UNITS: tuple[Unit, ...] = get_args(Unit)
SECONDS = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400, "weeks": 604_800}
ISO_MOMENT = "%Y-%m-%dT%H:%M:%S"
# A day, then perhaps a clock with or without seconds, a fraction of one, and a zone; the last two are passed
# over.
ISO_TEXT = (
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ](?P<clock>[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:[.,][0-9]{1,9})?(?: "
    r"?(?:Z|[+-][0-9]{2}:?[0-9]{2}))?)?"
)
MAX_CELL_LENGTH = 64
_ISO = re.compile(ISO_TEXT)
# `strptime` reads six digits of a fraction and databases write up to nine: those after the sixth are passed
# over.
_FRACTION = re.compile(r"%S[.,]%f(?![%0-9])")
_FINE_FRACTION = re.compile(r"([.,][0-9]{6})[0-9]{1,3}(?![0-9])")
_FIRST_YEAR = 1_000
_PROBES = 100
_GOLDEN = 0.6180339887498949
_LAST_SECOND = datetime.time(23, 59, 59)
_EPOCH_SECONDS = 719_163 * 86_400  # from the day before the year 1 to 1970
_MOMENT: Schema = {
    "type": "string",
    "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?$",
    "description": "Without a time zone. A day alone stands for its first second as low, for its last as "
    "high.",
}


@dataclass(frozen=True, kw_only=True)
class DateTime(Attribute):
    """Moments from `low` to `high` on a clock without time zone. Values stand at `low` and every `step`
    `unit`s after it; a moment in between counts as the one before. `width` such steps make a bin; without it,
    by a public rule, each step has a code if there are at most 100, else there are 32 bins of (nearly) equal
    width. `format` is how a file writes them (as in `datetime.strptime`; names of months are read in the
    languages of `month_names` as well)."""

    kind: ClassVar[str] = "datetime"
    schema_position: ClassVar[int] = 60
    is_comparable: ClassVar[bool] = True
    cell_words: ClassVar[str] = "dates and times"
    span_units: ClassVar[Units] = (
        (86_400, "days"),
        (3_600, "hours"),
        (60, "minutes"),
        (1, "seconds"),
    )
    codes_field: ClassVar[str] = "width"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "missing")

    low: datetime.datetime
    high: datetime.datetime
    step: int = 1
    unit: Unit = "hours"
    width: int | None = None
    format: str = ISO_MOMENT
    ordered: bool = True

    def check(self) -> None:
        for key, end in (("low", self.low), ("high", self.high)):
            if end.tzinfo is not None or end.microsecond:
                raise self.error(
                    "a bound has a time zone or a fraction of a second",
                    repair="write it like 2024-12-31T23:59:00",
                    field=key,
                )
        if self.low.year < _FIRST_YEAR:
            raise self.error(
                f"low is before the year {_FIRST_YEAR}",
                repair="years are written with four digits",
                field="low",
            )
        if self.low > self.high:
            raise self.error("low is after high", repair="swap them", field="low")
        if self.unit not in UNITS:
            raise self.error(
                "unknown unit", repair=f"use one of {', '.join(UNITS)}", field="unit"
            )
        if self.step < 1:
            raise self.error(
                "step is less than one", repair="give a whole number of 1 or more", field="step"
            )
        if self.width is not None and self.width < 1:
            raise self.error(
                "width is less than one",
                repair="give a whole number of 1 or more",
                field="width",
            )
        if self.width is not None and (self.points - 1) // self.width >= MAX_CODES:
            raise self.error(
                f"more than {MAX_CODES:,} codes", repair="use wider bins", field="width"
            )
        self._check_format()
        if any(
            moment is not None and self.low <= moment <= self.high
            for moment in map(self.parse, self.missing or ())
        ):
            raise self.error(
                "a missing marker lies between low and high",
                repair="narrow the bounds",
                field="missing",
            )

    def _check_format(self) -> None:
        """Refuse a format by which a timestamp is not read as it was written. Steps spread over the range
        stand for all."""
        if self.format == ISO_MOMENT:
            return  # to the second, and the year has four digits
        if any(self.parse(moment.strftime(self.format)) != moment for moment in self._probes()):
            raise self.error(
                "the format does not tell every step apart, or holds a time zone",
                repair=f'write it like "{ISO_MOMENT}", and a zone as plain text, for example a Z at its end',
                field="format",
            )

    def _probes(self) -> Iterator[datetime.datetime]:
        # Multiples of the golden ratio spread over the range without a period that a calendar
        # shares.
        for place in {
            0,
            self.points - 1,
            *(int(self.points * (_GOLDEN * k % 1)) for k in range(1, _PROBES)),
        }:
            yield self.point(place)

    def parse(self, text: str) -> datetime.datetime | None:
        """The moment a text stands for; None if it is not of this format."""
        text = text.strip(" \t")
        if len(text) > MAX_CELL_LENGTH or any(
            sign.isdigit() and not sign.isascii() for sign in text
        ):
            return None
        try:
            if self.format != ISO_MOMENT:
                return self._formatted(text)
            match = _ISO.fullmatch(text)
            return match and datetime.datetime.fromisoformat(
                f"{match['day']} {match['clock'] or '00:00'}"
            )
        except ValueError:
            return None

    def _formatted(self, text: str) -> datetime.datetime:
        """The moment a text of the declared format stands for. Raises ValueError."""
        try:
            moment = month_names.parsed(text, self.format)
        except ValueError:
            if not self._has_fraction:
                raise
            shortened = _FINE_FRACTION.sub(r"\1", text)
            moment = month_names.parsed(shortened, self.format)
        return in_century(moment, self.high.year) if self._two_digits else moment

    @cached_property
    def _two_digits(self) -> bool:
        return has_two_digits(self.format)

    @cached_property
    def _has_fraction(self) -> bool:
        """Whether the format ends its seconds with a point or comma and a fraction, as databases write
        them."""
        return _FRACTION.search(self.format) is not None

    @cached_property
    def points(self) -> int:
        """How many steps there are from low to high."""
        if self.unit != "months":
            return (
                int((self.high - self.low).total_seconds()) // (self.step * SECONDS[self.unit])
                + 1
            )
        months = (self.high.year - self.low.year) * 12 + self.high.month - self.low.month
        count = months // self.step + 1
        return count if self.point(count - 1) <= self.high else count - 1

    def point(self, place: int) -> datetime.datetime:
        """The moment at a step. A month after the 31st is the last day of the next month."""
        if self.unit != "months":
            return self.low + datetime.timedelta(seconds=place * self.step * SECONDS[self.unit])
        years, month = divmod(self.low.month - 1 + place * self.step, 12)
        year = self.low.year + years
        day = min(self.low.day, calendar.monthrange(year, month + 1)[1])
        return self.low.replace(year=year, month=month + 1, day=day)

    def offset(self, place: int) -> int:
        """Seconds from low to a step."""
        return int((self.point(place) - self.low).total_seconds())

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """Bin i holds the steps cuts[i] ≤ k < cuts[i+1]."""
        return equal_bins(self.points, self.width)

    @property
    def value_count(self) -> int:
        return len(self.cuts) - 1

    @property
    def value_labels(self) -> tuple[str, ...]:
        ends = ((self.point(start), self.point(end - 1)) for start, end in pairwise(self.cuts))
        return tuple(
            self.formatted(a) if a == b else f"{self.formatted(a)} to {self.formatted(b)}"
            for a, b in ends
        )

    def formatted(self, moment: datetime.datetime) -> str:
        """A moment for people, as fine as the steps are."""
        if self.unit in ("days", "weeks", "months") and self.low.time() == datetime.time():
            return moment.date().isoformat()
        fine = self.unit == "seconds" or self.low.second
        return moment.isoformat(" ", "seconds" if fine else "minutes")

    @property
    def declared_texts(self) -> tuple[str, ...]:
        return tuple(moment.strftime(self.format) for moment in (self.low, self.high))

    def details(self) -> dict[str, object]:
        return {
            "low": self.low.isoformat(),
            "high": self.high.isoformat(),
            "step": self.step,
            "unit": self.unit,
            "width": self.width,
            "format": self.format,
        }

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        own = {
            "low": _MOMENT,
            "high": _MOMENT,
            "step": POSITIVE,
            "unit": {"enum": list(UNITS)},
            "width": optional(POSITIVE),
            "format": TEXT,
        }
        return own, ("low", "high")

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, object]:
        ends = fields.needed(low=fields.moment("low"), high=fields.moment("high", end=True))
        return ends | {
            "step": fields.integer("step"),
            "unit": fields.text("unit", default=None),
            "width": fields.integer("width"),
            "format": fields.text("format", default=None),
        }

    def scaled(self, texts: list[str]) -> Scaled:
        span = int((self.high - self.low).total_seconds())
        cuts = [*map(self.offset, self.cuts[:-1]), span + 1]
        return Scaled(values=seconds_since(self, texts), low=0, high=span, cuts=cuts)

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> pd.Series:
        import pandas as pd

        missing = codes == self.missing_code
        places = sample_steps(self.cuts, np.where(missing, 0, codes), rng)
        if self.unit == "months":  # months differ in length
            offsets = [self.offset(place) for place in range(self.points)]
            seconds = np.array(offsets, dtype=np.int64)[places]
        else:
            seconds = places * (self.offset(1) if self.points > 1 else 0)
        return pd.Series(np.datetime64(self.low, "s") + seconds).mask(missing)

    def write(self, column: pd.Series) -> pd.Series:
        return write_moments(self, column, self.format)

    @property
    def day_format(self) -> str | None:
        return self.format

    @property
    def arrow_type(self) -> pa.DataType:
        import pyarrow as pa

        return pa.timestamp("ms")

    def ladder(self) -> Ladder:
        start = _seconds_of(self.low)
        low = np.array([start + self.offset(cut) for cut in self.cuts[:-1]])
        high = np.array([start + self.offset(cut - 1) for cut in self.cuts[1:]])
        ends = {"low": padded(low, self.size), "high": padded(high, self.size)}
        if self.unit == "months":
            places = [start + self.offset(place) for place in range(self.points)]
            return ListedScale(values=np.array(places), missing_code=self.missing_code, **ends)
        step = self.step * SECONDS[self.unit]
        return Even(start=start, step=step, missing_code=self.missing_code, **ends)

    def range_end(self, end: float | str, *, last: bool) -> float:
        text = str(end)
        if len(text) == len("2024-12-31"):
            day = datetime.date.fromisoformat(text)
            moment = datetime.datetime.combine(day, _LAST_SECOND if last else datetime.time())
        else:
            moment = datetime.datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            raise ValueError
        return _seconds_of(moment)

    def comparable(self, column: pd.Series) -> Floats:
        return seconds_since_1970(column) + _EPOCH_SECONDS

    @property
    def value_step(self) -> float:
        return float(self.offset(1)) if self.points > 1 else 1.0

    def value_text(self, value: float) -> str:
        seconds = math.floor(value)
        midnight = datetime.datetime.combine(nearest_day(seconds // 86_400), datetime.time())
        return self.formatted(midnight + datetime.timedelta(seconds=seconds % 86_400))

    def natural(self, values: Floats) -> pd.Series:
        import pandas as pd

        missing = np.isneginf(values)
        seconds = np.where(missing, 0.0, values) - _EPOCH_SECONDS
        return pd.Series(seconds.astype(np.int64).astype("datetime64[s]")).mask(missing)

    def table_schema(self) -> TableSchemaField:
        style = {} if self.format == ISO_MOMENT else {"format": self.format}
        ends = {"minimum": self.low, "maximum": self.high}
        return TableSchemaField(
            "datetime",
            style,
            {end: moment.strftime(self.format) for end, moment in ends.items()},
        )


def _seconds_of(moment: datetime.datetime) -> float:
    """Seconds of the calendar up to a moment."""
    clock = moment.hour * 3_600 + moment.minute * 60 + moment.second
    return float(moment.toordinal() * 86_400 + clock)


Seconds = NDArray[np.float64]
_BLANKS = " \t"
_UNREADABLE = "0000-00-00 00:00:00"  # no calendar has such a day
_SIGNS = len(_UNREADABLE)
_EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001  # clocks without a zone
_SECOND = datetime.timedelta(seconds=1)
_MONTHS_TO_1970 = 1970 * 12


def seconds_since(attribute: DateTime, texts: list[str]) -> Seconds:
    """Seconds from the attribute's low to the moment each text states, a fraction of a second left out.

    texts: the cells, shape (n,). Returns shape (n,), NaN where a text cannot be read. Entry i is a function
    of texts[i] alone: no step infers a type, a resolution or a format from several texts, because texts
    belong to different records.
    """
    since_1970 = (
        _iso_seconds(texts)
        if attribute.format == ISO_MOMENT
        else _formatted_seconds(attribute, texts)
    )
    return since_1970 - float(np.datetime64(attribute.low, "s").astype(np.int64))


def _formatted_seconds(attribute: DateTime, texts: list[str]) -> Seconds:
    """Seconds since 1970 of texts in a declared format, each parsed by itself."""
    seconds = np.full(len(texts), np.nan)
    for place, text in enumerate(texts):
        moment = attribute.parse(text)
        if moment is not None:
            seconds[place] = (moment - _EPOCH) // _SECOND
    return seconds


def _iso_seconds(texts: list[str]) -> Seconds:
    """Seconds since 1970 of ISO texts, in whole-number arithmetic on the digits of each text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    signs = _signs(pc.utf8_trim(pa.array(texts, type=pa.string()), characters=_BLANKS))
    digits = signs.astype(np.int64) - ord("0")
    year = _number(digits[:, 0:4])
    month = _number(digits[:, 5:7])
    day = _number(digits[:, 8:10])
    hour = _number(digits[:, 11:13])
    minute = _number(digits[:, 14:16])
    second = _number(digits[:, 17:19])

    # Every entry is judged by itself: an exception of a calendar function would let one text
    # decide how others are read (docs/proofs/reading.md, Lemma 2).
    readable = (
        (year >= 1) & (month >= 1) & (month <= 12) & (hour < 24) & (minute < 60) & (second < 60)
    )
    # Unreadable entries are put at January 1970, so that the calendar arithmetic is defined.
    months = np.where(readable, year * 12 + month - 1 - _MONTHS_TO_1970, 0)
    first_day = _days_to(months)
    readable &= (day >= 1) & (day <= _days_to(months + 1) - first_day)

    days = first_day + day - 1
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    return np.where(readable, seconds.astype(np.float64), np.nan)


def _signs(column: pa.Array) -> NDArray[np.uint8]:
    """Each text in the form YYYY-MM-DD hh:mm:ss, as bytes, shape (n, 19); a text that is not ISO as an
    impossible day."""
    import pyarrow.compute as pc

    parts = pc.extract_regex(column, pattern=f"^{ISO_TEXT}$")
    day, clock = pc.struct_field(parts, "day"), pc.struct_field(parts, "clock")
    length = pc.utf8_length(clock)
    filled = pc.if_else(
        pc.equal(length, 0),
        "00:00:00",
        pc.if_else(pc.equal(length, 5), _joined(clock, ":00"), clock),
    )
    written = pc.fill_null(_joined(day, filled, by=" "), _UNREADABLE)
    return np.array(written.to_pylist(), dtype=f"S{_SIGNS}").view(np.uint8).reshape(-1, _SIGNS)


def _number(digits: NDArray[np.int64]) -> NDArray[np.int64]:
    """The whole number written in each row of digits."""
    number = np.zeros(len(digits), dtype=np.int64)
    for column in digits.T:
        number = number * 10 + column
    return number


def _days_to(months: NDArray[np.int64]) -> NDArray[np.int64]:
    """Days from 1970 to the first day of each month, counted from January 1970."""
    days: NDArray[np.int64] = (
        months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    )
    return days


def _joined(*parts: Any, by: str = "") -> pa.Array:
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*parts, by)
