"""Days in public steps."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds import month_names
from synth_engine.kinds.attribute import MAX_CODES, Attribute, TableSchemaField, Units
from synth_engine.kinds.bounds import (
    write_moments,
)
from synth_engine.kinds.century import has_two_digits, in_century
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import (
    DAY,
    POSITIVE,
    TEXT,
    Schema,
)
from synth_engine.kinds.ladders import Even, Floats, Ladder, padded
from synth_engine.kinds.reading import Scaled, read_each

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ISO = "%Y-%m-%d"
_ISO_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T]|$)")
ORDINAL_OF_1970 = 719_163
_SECONDS = 86_400


@dataclass(frozen=True, kw_only=True)
class Date(Attribute):
    """Days from `low` to `high`, both included, in steps of `step_days`; `format` is how a file writes them
    (as in `datetime.strptime`; names of months are read in the languages of `month_names` as well)."""

    kind: ClassVar[str] = "date"
    schema_position: ClassVar[int] = 50
    is_comparable: ClassVar[bool] = True
    cell_words: ClassVar[str] = "dates"
    span_units: ClassVar[Units] = ((1, "days"),)
    codes_field: ClassVar[str] = "step_days"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "missing")

    low: datetime.date
    high: datetime.date
    step_days: int = 1
    format: str = ISO
    ordered: bool = True

    def check(self) -> None:
        if self.low > self.high:
            raise self.error("low is after high", repair="swap them", field="low")
        if self.step_days < 1:
            raise self.error(
                "step_days is less than one",
                repair="give a whole number of 1 or more",
                field="step_days",
            )
        if self.value_count > MAX_CODES:
            raise self.error(
                f"more than {MAX_CODES:,} codes",
                repair="use a larger step_days",
                field="step_days",
            )
        # Days other than the bounds reveal a format that drops a part, such as the day of the
        # month, which both bounds may survive by chance.
        probes = [self.low, self.high, datetime.date(1987, 10, 31), datetime.date(2001, 3, 4)]
        if self._two_digits:
            probes[2:] = [in_century(day, self.high.year) for day in probes[2:]]
        if any(self.parse(day.strftime(self.format)) != day for day in probes):
            raise self.error(
                "the format does not tell every day apart",
                repair='write it like "%Y-%m-%d"',
                field="format",
            )
        if any(
            day is not None and self.low <= day <= self.high
            for day in map(self.parse, self.missing or ())
        ):
            raise self.error(
                "a missing marker lies between low and high",
                repair="narrow the bounds",
                field="missing",
            )

    def parse(self, text: str) -> datetime.date | None:
        """The day a text stands for; None if it is not of this format. ISO dates may carry a time, which is
        dropped."""
        text = text.strip(" \t")
        if len(text) > 64:
            return None
        try:
            if self.format != ISO:
                day = month_names.parsed(text, self.format).date()
                return in_century(day, self.high.year) if self._two_digits else day
            return datetime.date.fromisoformat(text[:10]) if _ISO_DAY.match(text) else None
        except ValueError:
            return None

    @cached_property
    def _two_digits(self) -> bool:
        return has_two_digits(self.format)

    @property
    def value_count(self) -> int:
        return (self.high - self.low).days // self.step_days + 1

    def days(self, code: int) -> tuple[datetime.date, datetime.date]:
        """First and last day of a code."""
        start = self.low + datetime.timedelta(days=code * self.step_days)
        # The last bin may be cut: the end of a whole one can lie behind the calendar.
        further = min(self.step_days - 1, (self.high - start).days)
        return start, start + datetime.timedelta(days=further)

    @property
    def value_labels(self) -> tuple[str, ...]:
        ranges = (self.days(code) for code in range(self.value_count))
        return tuple(
            str(start) if start == end else f"{start} to {end}" for start, end in ranges
        )

    @property
    def declared_texts(self) -> tuple[str, ...]:
        return tuple(day.strftime(self.format) for day in (self.low, self.high))

    def details(self) -> dict[str, object]:
        return {
            "low": self.low.isoformat(),
            "high": self.high.isoformat(),
            "step_days": self.step_days,
            "format": self.format,
        }

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        return {"low": DAY, "high": DAY, "step_days": POSITIVE, "format": TEXT}, ("low", "high")

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, object]:
        return fields.needed(low=fields.day("low"), high=fields.day("high")) | {
            "step_days": fields.integer("step_days"),
            "format": fields.text("format", default=None),
        }

    def scaled(self, texts: list[str]) -> Scaled:
        span = (self.high - self.low).days
        cuts = [*range(0, span + 1, self.step_days), span + 1]
        return Scaled(
            values=read_each(self._days_since_low, texts), low=0, high=span, cuts=cuts
        )

    def _days_since_low(self, text: str) -> int | None:
        day = self.parse(text)
        return None if day is None else (day - self.low).days

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> pd.Series:
        import pandas as pd

        missing = codes == self.missing_code
        days = np.where(missing, 0, codes) * self.step_days
        if self.step_days > 1:
            end = (self.high - self.low).days + 1
            days = rng.integers(days, np.minimum(days + self.step_days, end))
        values = (np.datetime64(self.low, "D") + days).astype("datetime64[s]")
        return pd.Series(values).mask(missing)

    def write(self, column: pd.Series) -> pd.Series:
        return write_moments(self, column, self.format)

    @property
    def day_format(self) -> str | None:
        return self.format

    @property
    def arrow_type(self) -> pa.DataType:
        import pyarrow as pa

        return pa.date32()

    def ladder(self) -> Ladder:
        steps = np.arange(self.value_count, dtype=np.float64) * self.step_days
        first: Floats = self.low.toordinal() + steps
        last: Floats = np.minimum(first + self.step_days - 1, self.high.toordinal())
        return Even(
            low=padded(first, self.size),
            high=padded(last, self.size),
            missing_code=self.missing_code,
        )

    def range_end(self, end: float | str, *, last: bool) -> float:  # noqa: ARG002 - a day is both its ends
        return float(datetime.date.fromisoformat(str(end)).toordinal())

    def comparable(self, column: pd.Series) -> Floats:
        return seconds_since_1970(column) / _SECONDS + ORDINAL_OF_1970

    def value_text(self, value: float) -> str:
        return nearest_day(value).isoformat()

    def natural(self, values: Floats) -> pd.Series:
        import pandas as pd

        missing = np.isneginf(values)
        seconds = (np.where(missing, 0.0, values) - ORDINAL_OF_1970) * _SECONDS
        return pd.Series(seconds.astype(np.int64).astype("datetime64[s]")).mask(missing)

    def table_schema(self) -> TableSchemaField:
        style = {} if self.format == ISO else {"format": self.format}
        ends = {"minimum": self.low, "maximum": self.high}
        return TableSchemaField(
            "date", style, {end: day.strftime(self.format) for end, day in ends.items()}
        )


def nearest_day(ordinal: float) -> datetime.date:
    """The day of an ordinal number, the first or the last one of the calendar beyond its ends."""
    first, last = datetime.date.min.toordinal(), datetime.date.max.toordinal()
    return datetime.date.fromordinal(min(max(round(ordinal), first), last))


def seconds_since_1970(column: pd.Series) -> Floats:
    """Days or moments as seconds; NaN where missing."""
    moments = column.to_numpy().astype("datetime64[s]")
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64).astype(np.float64))
