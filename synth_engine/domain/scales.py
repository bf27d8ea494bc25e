"""Attributes on a scale: whole numbers, numbers and dates, cut into public bins."""

from __future__ import annotations

import contextlib
import datetime
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from synth_engine.domain.attributes import MAX_CODES, Attribute

MAX_EXACT = 2**53  # beyond it a number in JSON is no longer the number that was written
ONE_CODE_A_VALUE_UP_TO = 100
DEFAULT_BINS = 32
ISO = "%Y-%m-%d"
_ISO_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T]|$)")


@dataclass(frozen=True, kw_only=True)
class Integer(Attribute):
    """Whole numbers from `low` to `high`, both included. `edges` cuts them into bins as a histogram does: a bin holds
    its lower edge, the last one holds both. Without edges, bins are `width` wide; without a width, by a public rule,
    each value has a code if there are at most 100, else there are 32 bins of (nearly) equal width."""

    kind: ClassVar[str] = "integer"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "missing")

    low: int
    high: int
    edges: tuple[int, ...] | None = None
    width: int | None = None
    ordered: bool = True

    def check(self) -> None:
        _check_bounds(self, self.low, self.high)
        if self.edges is not None:
            object.__setattr__(self, "edges", tuple(self.edges))
            _check_edges(self, self.edges, self.low, self.high)
            if self.width is not None:
                raise self.error(
                    "both edges and width are given", repair="leave one of them out"
                )
        if self.width is not None and self.width < 1:
            raise self.error(
                "width is less than one", repair="give a whole number of 1 or more"
            )
        if self.width is not None and (self.high - self.low) // self.width >= MAX_CODES:
            raise self.error(f"more than {MAX_CODES:,} codes", repair="use wider bins")

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """Bin i holds cuts[i] ≤ x < cuts[i+1]."""
        end = self.high + 1
        if self.edges is not None:
            return (*self.edges[:-1], end)
        count = end - self.low
        width = self.width or (1 if count <= ONE_CODE_A_VALUE_UP_TO else None)
        if width is not None:
            return (*range(self.low, end, width), end)
        return tuple(self.low + count * i // DEFAULT_BINS for i in range(DEFAULT_BINS + 1))

    @property
    def value_count(self) -> int:
        return len(self.cuts) - 1

    @property
    def value_labels(self) -> tuple[str, ...]:
        pairs = pairwise(self.cuts)
        return tuple(
            str(start) if end == start + 1 else f"{start} to {end - 1}" for start, end in pairs
        )

    def details(self) -> dict[str, object]:
        edges = None if self.edges is None else list(self.edges)
        return {"low": self.low, "high": self.high, "edges": edges, "width": self.width}


@dataclass(frozen=True, kw_only=True)
class Number(Attribute):
    """Numbers from `low` to `high` in bins: those between `edges`, else 32 of equal width. A bin holds its lower edge,
    the last one holds both."""

    kind: ClassVar[str] = "number"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "missing")

    low: float
    high: float
    edges: tuple[float, ...] | None = None
    ordered: bool = True

    def check(self) -> None:
        _check_bounds(self, self.low, self.high)
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        if self.edges is not None:
            object.__setattr__(self, "edges", tuple(map(float, self.edges)))
            _check_edges(self, self.edges, self.low, self.high)
        elif any(a >= b for a, b in pairwise(self.cuts)) and self.low != self.high:
            raise self.error("low and high are too close for equal bins", repair="give edges")

    @cached_property
    def cuts(self) -> tuple[float, ...]:
        """Bin i holds cuts[i] ≤ x < cuts[i+1]; the last holds its end as well."""
        if self.edges is not None:
            return self.edges
        if self.low == self.high:
            return (self.low, self.high)
        step = (self.high - self.low) / DEFAULT_BINS
        return (*(self.low + step * i for i in range(DEFAULT_BINS)), self.high)

    @property
    def value_count(self) -> int:
        return len(self.cuts) - 1

    @property
    def value_labels(self) -> tuple[str, ...]:
        return tuple(f"{a:.6g} to {b:.6g}" for a, b in pairwise(self.cuts))

    def details(self) -> dict[str, object]:
        return {
            "low": self.low,
            "high": self.high,
            "edges": None if self.edges is None else list(self.edges),
        }


@dataclass(frozen=True, kw_only=True)
class Date(Attribute):
    """Days from `low` to `high`, both included, in steps of `step_days`; `format` is how a file writes them
    (as in `datetime.strptime`)."""

    kind: ClassVar[str] = "date"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "missing")

    low: datetime.date
    high: datetime.date
    step_days: int = 1
    format: str = ISO
    ordered: bool = True

    def check(self) -> None:
        if self.low > self.high:
            raise self.error("low is after high", repair="swap them")
        if self.step_days < 1:
            raise self.error(
                "step_days is less than one", repair="give a whole number of 1 or more"
            )
        if self.value_count > MAX_CODES:
            raise self.error(f"more than {MAX_CODES:,} codes", repair="use a larger step_days")
        probes = (self.low, self.high, datetime.date(1987, 10, 31), datetime.date(2001, 3, 4))
        if any(self.parse(day.strftime(self.format)) != day for day in probes):
            raise self.error(
                "the format does not tell every day apart", repair='write it like "%Y-%m-%d"'
            )
        if any(
            day is not None and self.low <= day <= self.high
            for day in map(self.parse, self.missing or ())
        ):
            raise self.error(
                "a missing marker lies between low and high", repair="narrow the bounds"
            )

    def parse(self, text: str) -> datetime.date | None:
        """The day a text stands for; None if it is not of this format. ISO dates may carry a time, which is dropped."""
        text = text.strip(" \t")
        if len(text) > 64:
            return None
        try:
            if self.format != ISO:
                return datetime.datetime.strptime(text, self.format).date()  # noqa: DTZ007  # days have no time zone
            return datetime.date.fromisoformat(text[:10]) if _ISO_DAY.match(text) else None
        except ValueError:
            return None

    @property
    def value_count(self) -> int:
        return (self.high - self.low).days // self.step_days + 1

    def days(self, code: int) -> tuple[datetime.date, datetime.date]:
        """First and last day of a code."""
        start = self.low + datetime.timedelta(days=code * self.step_days)
        return start, min(start + datetime.timedelta(days=self.step_days - 1), self.high)

    @property
    def value_labels(self) -> tuple[str, ...]:
        ranges = (self.days(code) for code in range(self.value_count))
        return tuple(
            str(start) if start == end else f"{start} to {end}" for start, end in ranges
        )

    def details(self) -> dict[str, object]:
        return {
            "low": self.low.isoformat(),
            "high": self.high.isoformat(),
            "step_days": self.step_days,
            "format": self.format,
        }


def _check_bounds(attribute: Attribute, low: float, high: float) -> None:
    if not (abs(low) <= MAX_EXACT and abs(high) <= MAX_EXACT):
        raise attribute.error(
            "a bound is not finite or beyond 2^53", repair="give nearer bounds"
        )
    if low > high:
        raise attribute.error("low is above high", repair="swap them")
    _check_markers(attribute, low, high)


def _check_markers(attribute: Attribute, low: float, high: float) -> None:
    for marker in attribute.missing or ():
        with contextlib.suppress(ValueError):
            if low <= float(marker) <= high:
                raise attribute.error(
                    "a missing marker lies between low and high", repair="narrow the bounds"
                )


def _check_edges(
    attribute: Attribute, edges: tuple[float, ...], low: float, high: float
) -> None:
    if len(edges) < 2 or any(not a < b for a, b in pairwise(edges)):
        raise attribute.error(
            "edges do not increase", repair="list at least two, each above the one before"
        )
    if edges[0] != low or edges[-1] != high:
        raise attribute.error(
            "edges do not run from low to high", repair="start them at low and end them at high"
        )
