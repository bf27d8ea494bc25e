"""Positions of values on the lattice of a column: from a lowest to a highest value in steps of one size.

Position k stands for the value low + k · step. There are up to 2^64 positions, so they are unsigned 64-bit
integers, and all arithmetic on them is exact.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.date import ISO, Date
from synth_engine.kinds.date_time import ISO_MOMENT, DateTime
from synth_engine.kinds.fields import Fields, Problem
from synth_engine.kinds.fragments import DAY, MAX_EXACT, NUMBER, TEXT, Schema
from synth_engine.kinds.integer import Integer
from synth_engine.kinds.number import Number
from synth_engine.kinds.reading import MANY, decimal_numbers, read_whole

Of = Literal["integer", "number", "date", "datetime"]
SCALES: tuple[Of, ...] = get_args(Of)
Positions = NDArray[np.uint64]
Floats = NDArray[np.float64]
BOUND: Schema = {"anyOf": [NUMBER, DAY, TEXT]}
Bound = int | float | datetime.date | datetime.datetime
"""A bound of a column, in the type of its scale."""

MAX_POSITIONS = 2**64
MAX_NUMBER_POSITIONS = 2**50
"""Decimals are read as doubles, which tell that many steps apart with room for rounding."""
MIN_STEP = 1e-100
"""Smaller ones are the mistakes of somebody who wanted 0, and reach the end of what doubles can write."""
_INT64 = 2**63
_PLAIN = r"^-?[0-9]{1,18}$"
_DAY_ZERO = datetime.date(1970, 1, 1)
_SECONDS_ZERO = datetime.datetime(1970, 1, 1)  # noqa: DTZ001  # clocks have no zone
_PROBE_STEPS = 1_000


@dataclass(frozen=True, kw_only=True)
class Lattice:
    """low, high: bounds, both positions. step: the distance of neighbouring values; of numbers in their unit,
    of days in days, of moments in seconds. form: how a file writes days or moments, as in
    `datetime.strptime`."""

    of: Of
    low: Bound
    high: Bound
    step: int | float = 1
    form: str | None = None

    def problem(self) -> Problem | None:
        """The fault of the facts, and its repair; None if there is none."""
        if self.of not in SCALES:
            return Problem("unknown scale", f"set of to one of {', '.join(SCALES)}", "of")
        for key, bound in (("low", self.low), ("high", self.high)):
            if not self._is_bound(bound):
                return Problem(f"a bound is no {self.of}", "give low and high", key)
        if self.form is not None and self.of in ("integer", "number"):
            return Problem("a format is for dates", "leave it out", "format")
        if not is_step(self.of, self.step):
            return Problem(
                "the step is not a positive number",
                "give the smallest difference of two values",
                "step",
            )
        for key, bound in (("low", self.low), ("high", self.high)):
            if abs(self._fraction(bound)) >= (_INT64 if self.of == "integer" else MAX_EXACT):
                return Problem("a bound is too large", "give nearer bounds", key)
        return self._problem_of_steps()

    def _problem_of_steps(self) -> Problem | None:
        """The same, of bounds and a step that are sound by themselves."""
        if not self._fraction(self.low) < self._fraction(self.high):
            return Problem("low is not below high", "swap them, or widen the range", "low")
        if (self._fraction(self.high) - self._fraction(self.low)) % self._step:
            return Problem(
                "the step does not divide the distance between low and high",
                "change the step, or one of the bounds",
                "step",
            )
        most = MAX_NUMBER_POSITIONS if self.of == "number" else MAX_POSITIONS
        largest = max(abs(self._fraction(self.low)), abs(self._fraction(self.high)))
        # A lattice far from zero has numbers that doubles do not tell apart, however short it is.
        reach = int(largest / self._step) if self.of == "number" else 0
        if max(self.count, reach) > most:
            return Problem(
                f"more than 2^{most.bit_length() - 1} steps",
                "give a larger step or nearer bounds",
                "step",
            )
        return None

    def _is_bound(self, value: Bound) -> bool:
        """Whether a value is of the type of the scale, and no infinity; a moment is no day, nor is True a
        number."""
        if not isinstance(value, _TYPES[self.of]) or isinstance(value, bool):
            return False
        if self.of == "date":
            return not isinstance(value, datetime.datetime)
        return not isinstance(value, float) or math.isfinite(value)

    @cached_property
    def count(self) -> int:
        """How many positions there are."""
        return int((self._fraction(self.high) - self._fraction(self.low)) / self._step) + 1

    @cached_property
    def zero(self) -> int:
        """The position of the number 0, or the nearest one; days and moments have none, so that it is the
        first."""
        if self.of in ("date", "datetime"):
            return 0
        return round(-self._fraction(self.low) / self._step)

    @property
    def has_zero(self) -> bool:
        """Whether 0 lies on the lattice, if it were long enough: only then do round numbers mean anything."""
        return not self._fraction(self.low) % self._step

    @cached_property
    def divisors(self) -> tuple[int, ...]:
        """Numbers of steps of which people like to use multiples, each a divisor of the next; the first is
        1."""
        if self.of == "date" or not self.has_zero:
            return (1,)
        if self.of == "datetime":
            ladder = (1, 60, 300, 900, 3_600, 86_400)
            return tuple(
                dict.fromkeys(
                    [1, *(n // int(self.step) for n in ladder if n % int(self.step) == 0)]
                )
            )
        largest = (
            max(abs(self._fraction(self.low)), abs(self._fraction(self.high))) / self._step
        )
        chain = [1]
        while chain[-1] * 5 <= largest and len(chain) < _MAX_DIVISORS:
            chain.append(chain[-1] * (5 if len(chain) % 2 else 2))
        return tuple(chain)

    @property
    def remainder(self) -> int:
        """The distance of position 0 from the nearest multiple of the last divisor at or below it, in
        steps."""
        return int(self._fraction(self.low) / self._step) % self.divisors[-1]

    def positions(
        self, texts: list[str], attribute: Attribute
    ) -> tuple[Positions, NDArray[np.int8]]:
        """The position of each text, the nearest one where it lies beyond the bounds or between two; and for
        each text 0, or -1 or 1 where it lies below or above the bounds, or 2 where it cannot be read. Entry i
        is a function of texts[i] alone (docs/proofs/reading.md, Lemma 2). attribute: with the name and the
        missing markers of the column."""
        if self.of == "integer":
            return self._of_whole(texts)
        return self._of_floats(self._floats(texts, attribute))

    def _of_whole(self, texts: list[str]) -> tuple[Positions, NDArray[np.int8]]:
        import pyarrow as pa
        import pyarrow.compute as pc

        (low, high), step, count = map(int, self._ends), int(self._step), self.count
        positions = np.zeros(len(texts), dtype=np.uint64)
        outside = np.zeros(len(texts), dtype=np.int8)
        others = list(range(len(texts)))
        if len(texts) >= MANY:
            array = pa.array(texts, type=pa.string())
            plain = pc.match_substring_regex(array, _PLAIN).to_numpy(zero_copy_only=False)
            cast = pc.cast(pc.if_else(pa.array(plain), array, "0"), pa.int64()).to_numpy()
            # Differences of 64-bit numbers wrap around, and come out right as unsigned ones.
            steps = cast.astype(np.uint64) - np.array(low, dtype=np.int64).astype(np.uint64)
            outside[cast < low], outside[cast > high] = -1, 1
            positions = _nearest(steps, step)
            others = np.flatnonzero(~plain).tolist()
        for index in others:
            value = read_whole(texts[index])
            if value is None:
                outside[index] = 2
                continue
            outside[index] = (value > high) - (value < low)
            positions[index] = min(max(_rounded(value - low, step), 0), count - 1)
        positions[outside == -1] = 0
        positions[outside == 1] = count - 1
        positions[outside == 2] = 0
        return positions, outside

    def _of_floats(self, values: Floats) -> tuple[Positions, NDArray[np.int8]]:
        low, high = map(float, self._ends)
        step = float(self._step)
        unread = np.isnan(values)
        outside = np.where(values < low, -1, np.where(values > high, 1, 0)).astype(np.int8)
        outside[unread] = 2
        steps = np.rint((np.clip(np.where(unread, low, values), low, high) - low) / step)
        return np.minimum(steps.astype(np.uint64), np.uint64(self.count - 1)), outside

    def _floats(self, texts: list[str], attribute: Attribute) -> Floats:
        """Numbers as they are; days and moments as days and seconds since 1970; NaN where a text cannot be
        read."""
        if self.of == "number":
            return decimal_numbers(texts)
        reader = self.reader(attribute)
        scaled = reader.scaled(texts)
        # Both kinds count from their low, which is the upper end here.
        return scaled.values + float(self._ends[1])

    @property
    def day_format(self) -> str | None:
        """The format in which a file has days or moments; None for numbers."""
        usual = {"date": ISO, "datetime": ISO_MOMENT}.get(self.of)
        return None if usual is None else self.form or usual

    def reader(self, attribute: Attribute) -> Integer | Number | Date | DateTime:
        """The kind that writes and compares such values, and reads days and moments. attribute: with the name
        and the missing markers of the column. Errors: DomainError."""
        # Its bounds are one value, because they matter for nothing here; a marker may lie within those of the
        # lattice.
        return self._of_kind(attribute.name, attribute.missing, low=self.high)

    def check_format(self, name: str) -> None:
        """Refuses a format by which some days or moments within the bounds are not read as they were written.
        Errors: DomainError."""
        if self.of in ("date", "datetime"):
            self._of_kind(name, None, low=self.low)

    def _of_kind(
        self, name: str, missing: tuple[str, ...] | None, *, low: Bound
    ) -> Integer | Number | Date | DateTime:
        shared: dict[str, Any] = {"name": name, "missing": missing, "provenance": "declared"}
        if self.of == "number":
            return Number(**shared, low=float(self._fraction(low)), high=float(self._ends[1]))
        if self.of == "integer":
            # Larger bounds are no numbers of a JSON description.
            low, high = (
                min(max(int(self._fraction(end)), -MAX_EXACT), MAX_EXACT)
                for end in (low, self.high)
            )
            return Integer(**shared, low=low, high=high)
        bins = -(-self.count // _PROBE_STEPS)
        shared |= {"low": low, "high": self.high}
        if self.of == "date":
            return Date(**shared, step_days=bins * int(self.step), format=self.form or ISO)
        return DateTime(
            **shared,
            unit="seconds",
            step=int(self.step),
            width=bins,
            format=self.form or ISO_MOMENT,
        )

    def values(self, positions: Positions) -> NDArray[Any]:
        """The values at positions, as the column holds them: int64, float64, or datetime64[s]."""
        low, step = self._ends[0], self._step
        if self.of == "number":
            first, whole, scale = self.whole_numbers
            # One division of two exact numbers, so that 0.1 comes out as people write it.
            return (first + positions.astype(np.float64) * whole) / scale
        offsets = positions * np.uint64(int(step))
        numbers = (offsets + np.array(int(low), dtype=np.int64).astype(np.uint64)).astype(
            np.int64
        )
        if self.of == "integer":
            return numbers
        unit = "D" if self.of == "date" else "s"
        return numbers.astype(f"datetime64[{unit}]").astype("datetime64[s]")

    @property
    def whole_numbers(self) -> tuple[float, float, float]:
        """Of decimals, the lowest value and the step as multiples of the largest unit that both have, and
        that unit's part of 1."""
        low, step = self._ends[0], self._step
        scale = math.lcm(low.denominator, step.denominator)
        return float(low * scale), float(step * scale), float(scale)

    def number(self, position: int) -> Fraction:
        """The number at a position; days and seconds since 1970."""
        return self._fraction(self.low) + position * self._step

    def label(self, position: int) -> str:
        """The text of the value at a position."""
        number = self.number(position)
        if self.of == "date":
            return str(_DAY_ZERO + datetime.timedelta(days=int(number)))
        if self.of == "datetime":
            return (_SECONDS_ZERO + datetime.timedelta(seconds=int(number))).isoformat()
        return str(int(number)) if number.denominator == 1 else str(float(number))

    @cached_property
    def _ends(self) -> tuple[Fraction, Fraction]:
        return self._fraction(self.low), self._fraction(self.high)

    @cached_property
    def _step(self) -> Fraction:
        return self._fraction(self.step)

    @staticmethod
    def _fraction(value: Any) -> Fraction:
        """The number that people mean: 0.1 is one tenth, and not the double beside it."""
        if isinstance(value, datetime.datetime):
            return Fraction(int((value - _SECONDS_ZERO).total_seconds()))
        if isinstance(value, datetime.date):
            return Fraction((value - _DAY_ZERO).days)
        return Fraction(Decimal(repr(value)))


_MAX_DIVISORS = 26
_TYPES: dict[Of, Any] = {
    "integer": int,
    "number": (int, float),
    "date": datetime.date,
    "datetime": datetime.datetime,
}


def is_missing(sides: NDArray[np.int8], attribute: Attribute) -> NDArray[np.bool_]:
    """Whether texts count as missing: those that cannot be read, and those beyond the bounds where the
    attribute says so. sides: of each text, as `Lattice.positions` returns them."""
    missing: NDArray[np.bool_] = sides == 2
    if attribute.outside == "missing":
        missing |= sides != 0
    return missing


def is_step(of: Of, step: float) -> bool:
    """Whether a number can be the smallest difference of two values; whole but for decimals."""
    wanted = int if of != "number" else (int, float)
    if isinstance(step, bool) or not isinstance(step, wanted):
        return False
    return MIN_STEP <= step <= MAX_EXACT


def _nearest(steps: Positions, step: int) -> Positions:
    """The nearest whole number of steps, the larger one of two that are as near."""
    if step == 1:
        return steps
    quotient = steps // np.uint64(step)
    return quotient + ((steps % np.uint64(step)) * np.uint64(2) >= np.uint64(step))


def _rounded(distance: int, step: int) -> int:
    return (2 * distance + step) // (2 * step)


def bound_json(bound: Bound) -> object:
    """A bound as JSON: a number, a text of digits beyond 2^53, or the ISO text of a day or moment."""
    if isinstance(bound, datetime.date):
        return bound.isoformat()
    return str(bound) if isinstance(bound, int) and abs(bound) > MAX_EXACT else bound


def read_bound(fields: Fields, key: str) -> Any:
    """What `bound_json` wrote. Errors: DomainError."""
    of = fields.document.get("of")
    if of == "date":
        return fields.day(key)
    if of == "datetime":
        return fields.moment(key, end=key == "high")
    value = fields.document.get(key)
    if of == "integer" and isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            raise fields.wrong(key, "a whole number") from None
    return fields.integer(key) if of == "integer" else fields.number(key)
