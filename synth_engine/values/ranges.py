"""Sets that are ranges: whole numbers, decimals with a step, days."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from decimal import Context, Decimal
from typing import ClassVar, Self

from synth_engine.strict_json import JsonObject
from synth_engine.values.base import ValueSet, checked_size, fields, refuse

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_LONGEST_NUMBER = 60
_EXACT = Context(prec=4 * _LONGEST_NUMBER)
"""Digits enough for sums, products and whole quotients of numbers of that length: nothing is rounded, no text
fails."""
_DIGITS = frozenset("0123456789-")
_ISO_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Integers(ValueSet):
    """The whole numbers from low to high. Leading zeros and a plus sign are read and not written."""

    kind: ClassVar[str] = "integers"
    characters = _DIGITS
    is_exact = False

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high
        if low > high:
            refuse("low is above high", repair="swap them")
        self.size = checked_size(high - low + 1)
        self.longest = max(len(str(low)), len(str(high)))

    def rank(self, text: str) -> int | None:
        text = text.strip()
        if not _INTEGER.fullmatch(text) or not self.low <= int(text) <= self.high:
            return None
        return int(text) - self.low

    def unrank(self, rank: int) -> str:
        return str(self.low + self.in_range(rank))

    def to_json(self) -> JsonObject:
        return {"set": self.kind, "low": self.low, "high": self.high}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        return cls(**fields(document, low=int, high=int))


class Decimals(ValueSet):
    """low, low + step, … up to high, exactly; all three are texts in decimal digits."""

    kind: ClassVar[str] = "decimals"
    characters = _DIGITS | {"."}
    is_exact = False

    def __init__(self, low: str, high: str, step: str) -> None:
        self.low, self.high, self.step = (_decimal(text, name) for text, name in zip(
            (low, high, step), ("low", "high", "step"), strict=True
        ))  # fmt: skip
        if self.step <= 0:
            refuse("step is not above zero", repair="give a step such as 0.01")
        if self.low > self.high:
            refuse("low is above high", repair="swap them")
        self.places = max(
            -int(part.as_tuple().exponent) for part in (self.low, self.step, Decimal(0))
        )
        steps = _EXACT.divide_int(_EXACT.subtract(self.high, self.low), self.step)
        self.size = checked_size(int(steps) + 1)
        self.longest = max(len(self.unrank(0)), len(self.unrank(self.size - 1)))

    def rank(self, text: str) -> int | None:
        text = text.strip()
        if len(text) > _LONGEST_NUMBER or not _DECIMAL.fullmatch(text):
            return None
        steps, rest = _EXACT.divmod(_EXACT.subtract(Decimal(text), self.low), self.step)
        return int(steps) if not rest and 0 <= steps < self.size else None

    def unrank(self, rank: int) -> str:
        value = _EXACT.fma(self.step, Decimal(self.in_range(rank)), self.low)
        return f"{value:.{self.places}f}"

    def to_json(self) -> JsonObject:
        # Never with an exponent, as small steps would be written otherwise: it would not be read again.
        return {
            "set": self.kind,
            "low": f"{self.low:f}",
            "high": f"{self.high:f}",
            "step": f"{self.step:f}",
        }

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        return cls(**fields(document, low=str, high=str, step=str))


class Dates(ValueSet):
    """The days from low to high, as year-month-day."""

    kind: ClassVar[str] = "dates"
    characters = _DIGITS
    is_exact = False
    longest = 10

    def __init__(self, low: str, high: str) -> None:
        self.low, self.high = _day(low, "low"), _day(high, "high")
        if self.low > self.high:
            refuse("low is after high", repair="swap them")
        self.size = checked_size((self.high - self.low).days + 1)

    def rank(self, text: str) -> int | None:
        try:
            day = datetime.date.fromisoformat(text.strip())
        except ValueError:
            return None
        return (day - self.low).days if self.low <= day <= self.high else None

    def unrank(self, rank: int) -> str:
        return (self.low + datetime.timedelta(days=self.in_range(rank))).isoformat()

    def to_json(self) -> JsonObject:
        return {"set": self.kind, "low": self.low.isoformat(), "high": self.high.isoformat()}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        return cls(**fields(document, low=str, high=str))


def _decimal(text: str, name: str) -> Decimal:
    if len(text) > _LONGEST_NUMBER // 2 or not _DECIMAL.fullmatch(text):
        refuse(f"{name} is no plain decimal number", repair='write it like "0.25"')
    return Decimal(text)


def _day(text: str, name: str) -> datetime.date:
    try:
        if not _ISO_DAY.fullmatch(text):
            raise ValueError
        return datetime.date.fromisoformat(text)
    except ValueError:
        refuse(f"{name} is no day", repair='write it like "2024-02-29"')
