"""Attributes on a clock: moments in steps of minutes, hours, days or months, cut into public bins.

A moment has no time zone. Clocks are compared as they are written: nothing is converted, no hour is doubled or skipped.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Literal, get_args

from synth_engine.domain.attributes import MAX_CODES, Attribute
from synth_engine.domain.scales import DEFAULT_BINS, ONE_CODE_A_VALUE_UP_TO

Unit = Literal["seconds", "minutes", "hours", "days", "weeks", "months"]
UNITS: tuple[Unit, ...] = get_args(Unit)
SECONDS = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400, "weeks": 604_800}
ISO_MOMENT = "%Y-%m-%dT%H:%M:%S"
# A day, then perhaps a clock with or without seconds, a fraction of one, and a zone; the last two are passed over.
ISO_TEXT = (
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ](?P<clock>[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:[.,][0-9]{1,9})?(?: ?(?:Z|[+-][0-9]{2}:?[0-9]{2}))?)?"
)
MAX_CELL_LENGTH = 64
_ISO = re.compile(ISO_TEXT)
# `strptime` reads six digits of a fraction and databases write up to nine: those after the sixth are passed over.
_FRACTION = re.compile(r"%S[.,]%f(?![%0-9])")
_FINE_FRACTION = re.compile(r"([.,][0-9]{6})[0-9]{1,3}(?![0-9])")
_FIRST_YEAR = 1_000
_PROBES = 100
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, kw_only=True)
class DateTime(Attribute):
    """Moments from `low` to `high` on a clock without time zone. Values stand at `low` and every `step` `unit`s after
    it; a moment in between counts as the one before. `width` such steps make a bin; without it, by a public rule, each
    step has a code if there are at most 100, else there are 32 bins of (nearly) equal width. `format` is how a file
    writes them (as in `datetime.strptime`)."""

    kind: ClassVar[str] = "datetime"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "missing")

    low: datetime.datetime
    high: datetime.datetime
    step: int = 1
    unit: Unit = "hours"
    width: int | None = None
    format: str = ISO_MOMENT
    ordered: bool = True

    def check(self) -> None:
        if any(end.tzinfo is not None or end.microsecond for end in (self.low, self.high)):
            raise self.error(
                "a bound has a time zone or a fraction of a second",
                repair="write it like 2024-12-31T23:59:00",
            )
        if self.low.year < _FIRST_YEAR:
            raise self.error(
                f"low is before the year {_FIRST_YEAR}",
                repair="years are written with four digits",
            )
        if self.low > self.high:
            raise self.error("low is after high", repair="swap them")
        if self.unit not in UNITS:
            raise self.error("unknown unit", repair=f"use one of {', '.join(UNITS)}")
        if self.step < 1:
            raise self.error("step is less than one", repair="give a whole number of 1 or more")
        if self.width is not None and self.width < 1:
            raise self.error(
                "width is less than one", repair="give a whole number of 1 or more"
            )
        if self.width is not None and (self.points - 1) // self.width >= MAX_CODES:
            raise self.error(f"more than {MAX_CODES:,} codes", repair="use wider bins")
        self._check_format()
        if any(
            moment is not None and self.low <= moment <= self.high
            for moment in map(self.parse, self.missing or ())
        ):
            raise self.error(
                "a missing marker lies between low and high", repair="narrow the bounds"
            )

    def _check_format(self) -> None:
        """What is written must be read as the same moment. Steps spread over the range stand for all of them."""
        if self.format == ISO_MOMENT:
            return  # to the second, and the year has four digits
        if any(self.parse(moment.strftime(self.format)) != moment for moment in self._probes()):
            raise self.error(
                "the format does not tell every step apart, or holds a time zone",
                repair=f'write it like "{ISO_MOMENT}", and a zone as plain text, for example a Z at its end',
            )

    def _probes(self) -> Iterator[datetime.datetime]:
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
            return datetime.datetime.strptime(text, self.format)  # noqa: DTZ007  # clocks without a zone
        except ValueError:
            if not self._has_fraction:
                raise
            shortened = _FINE_FRACTION.sub(r"\1", text)
            return datetime.datetime.strptime(shortened, self.format)  # noqa: DTZ007

    @cached_property
    def _has_fraction(self) -> bool:
        """Whether the format ends its seconds with a point or comma and a fraction, as databases write them."""
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
        width = self.width or (1 if self.points <= ONE_CODE_A_VALUE_UP_TO else None)
        if width is not None:
            return (*range(0, self.points, width), self.points)
        return tuple(self.points * i // DEFAULT_BINS for i in range(DEFAULT_BINS + 1))

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

    def details(self) -> dict[str, object]:
        return {
            "low": self.low.isoformat(),
            "high": self.high.isoformat(),
            "step": self.step,
            "unit": self.unit,
            "width": self.width,
            "format": self.format,
        }
