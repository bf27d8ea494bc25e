"""Times of day, without a date and without a time zone, in steps of minutes."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds.attribute import Attribute, TableSchemaField, Units
from synth_engine.kinds.bounds import equal_bins, sample_steps
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import POSITIVE, Schema, optional
from synth_engine.kinds.ladders import Even, Floats, Ladder, padded
from synth_engine.kinds.reading import Scaled, read_each

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Format = Literal["HH:MM", "HH:MM:SS"]
FORMATS: tuple[Format, ...] = get_args(Format)
_TEXT = r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?"
_CLOCK = re.compile(_TEXT)
_BOUND: Schema = {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
_STEPS = (60, 30, 15, 10, 5)
"""Minutes between values, from the coarsest on, that a suggestion tries."""
_TABLE_SCHEMA_FORMATS = {"default": "HH:MM:SS", "%H:%M:%S": "HH:MM:SS", "%H:%M": "HH:MM"}


@dataclass(frozen=True, kw_only=True)
class Time(Attribute):
    """Times of day from `low` to `high`, in steps of `step` minutes from `low`; a time in between counts as
    the step before. `width` such steps make a bin; without it, by a public rule, each step has a code if
    there are at most 100, else there are 32 bins of (nearly) equal width. `format` is how a synthetic table
    writes them; both are read."""

    kind: ClassVar[str] = "time"
    schema_position: ClassVar[int] = 65
    is_comparable: ClassVar[bool] = True
    cell_words: ClassVar[str] = "times of day"
    span_units: ClassVar[Units] = ((1, "minutes"),)
    codes_field: ClassVar[str] = "width"
    table_schema_type: ClassVar[str] = "time"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "missing")

    low: datetime.time = datetime.time()
    high: datetime.time = datetime.time(23, 59)
    step: int = 1
    width: int | None = None
    format: Format = "HH:MM"
    ordered: bool = True

    def check(self) -> None:
        if self.low > self.high:
            raise self.error("low is after high", repair="swap them", field="low")
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
        # A marker inside the bounds would be both a value and missing.
        first, last = _minutes(self.low), _minutes(self.high)
        if any(
            minute is not None and first <= minute <= last
            for minute in map(parse, self.missing or ())
        ):
            raise self.error(
                "a missing marker lies between low and high",
                repair="narrow the bounds",
                field="missing",
            )

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        own = {
            "low": _BOUND,
            "high": _BOUND,
            "step": POSITIVE,
            "width": optional(POSITIVE),
            "format": {"enum": list(FORMATS)},
        }
        return own, ()

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, object]:
        return {
            "low": _bound(fields, "low"),
            "high": _bound(fields, "high"),
            "step": fields.integer("step"),
            "width": fields.integer("width"),
            "format": _format(fields),
        }

    def details(self) -> dict[str, object]:
        return {
            "low": f"{self.low:%H:%M}",
            "high": f"{self.high:%H:%M}",
            "step": self.step,
            "width": self.width,
            "format": self.format,
        }

    @property
    def points(self) -> int:
        """How many steps there are from low to high."""
        return (_minutes(self.high) - _minutes(self.low)) // self.step + 1

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """Bin i holds the steps cuts[i] ≤ k < cuts[i+1]."""
        return equal_bins(self.points, self.width)

    def minute(self, place: int) -> int:
        """The minute of the day at a step."""
        return _minutes(self.low) + place * self.step

    @property
    def value_count(self) -> int:
        return len(self.cuts) - 1

    @property
    def value_labels(self) -> tuple[str, ...]:
        ends = (
            (self.minute(start), self.minute(end - 1)) for start, end in pairwise(self.cuts)
        )
        return tuple(_text(a) if a == b else f"{_text(a)} to {_text(b)}" for a, b in ends)

    def scaled(self, texts: list[str]) -> Scaled:
        # The last bin reaches to high, which need not be on a step.
        high = _minutes(self.high)
        cuts = [*map(self.minute, self.cuts[:-1]), high + 1]
        return Scaled(
            values=read_each(parse, texts), low=_minutes(self.low), high=high, cuts=cuts
        )

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> pd.Series:
        missing = codes == self.missing_code
        places = sample_steps(self.cuts, np.where(missing, 0, codes), rng)
        return self._written(_minutes(self.low) + places * self.step, missing)

    def _written(self, minutes: NDArray[np.int64], missing: NDArray[np.bool_]) -> pd.Series:
        import pandas as pd

        end = ":00" if self.format == "HH:MM:SS" else ""
        clock = pd.Series([_text(minute) + end for minute in range(24 * 60)], dtype="str")
        return clock.take(minutes).reset_index(drop=True).mask(missing)

    def ladder(self) -> Ladder:
        low = np.array([self.minute(cut) for cut in self.cuts[:-1]])
        high = np.array([self.minute(cut - 1) for cut in self.cuts[1:]])
        return Even(
            low=padded(low, self.size),
            high=padded(high, self.size),
            missing_code=self.missing_code,
            start=_minutes(self.low),
            step=self.step,
        )

    def range_end(self, end: float | str, *, last: bool) -> float:  # noqa: ARG002 - a minute is both its ends
        minute = parse(str(end))
        if minute is None:
            raise ValueError
        return float(minute)

    def comparable(self, column: pd.Series) -> Floats:
        return read_each(parse, column.fillna("").tolist())

    def value_text(self, value: float) -> str:
        return _text(round(value))

    def natural(self, values: Floats) -> pd.Series:
        missing = np.isneginf(values)
        return self._written(np.where(missing, 0.0, values).astype(np.int64), missing)

    def table_schema(self) -> TableSchemaField:
        end = ":00" if self.format == "HH:MM:SS" else ""
        style = {} if end else {"format": "%H:%M"}
        bounds = {"minimum": f"{self.low:%H:%M}{end}", "maximum": f"{self.high:%H:%M}{end}"}
        return TableSchemaField("time", style, bounds)

    @classmethod
    def from_table_schema(cls, field: Mapping[str, Any]) -> dict[str, Any]:
        constraints = field.get("constraints") or {}
        style = _TABLE_SCHEMA_FORMATS.get(field.get("format", "default"))
        # A day has public ends, so a field without bounds says enough.
        ends = [
            parse(constraints.get("minimum", "00:00")),
            parse(constraints.get("maximum", "23:59")),
        ]
        if style is None or None in ends:
            raise ValueError
        low, high = (_text(end or 0) for end in ends)
        return {"kind": cls.kind, "low": low, "high": high, "format": style}

    @classmethod
    def suggest(cls, texts: pa.Array) -> dict[str, object] | None:
        import pyarrow.compute as pc

        if not pc.all(pc.match_substring_regex(texts, f"^{_TEXT}$")).as_py():
            return None
        minutes = [minute for text in texts.to_pylist() if (minute := parse(text)) is not None]
        fine = pc.any(pc.greater(pc.utf8_length(texts), len("23:59"))).as_py()
        step = next((step for step in _STEPS if not any(m % step for m in minutes)), 1)
        why = "All values are times of day; the range is the whole day, the step the coarsest that fits."
        return {
            "kind": cls.kind,
            "low": "00:00",
            "high": "23:59",
            "step": step,
            "format": "HH:MM:SS" if fine else "HH:MM",
            "why": why,
        }


def parse(text: object) -> int | None:
    """The minute of the day that a text names, its seconds left out; None if it names none."""
    if not isinstance(text, str) or not _CLOCK.fullmatch(text := text.strip(" \t")):
        return None
    hour, minute = text.split(":")[:2]
    return int(hour) * 60 + int(minute)


def _bound(fields: Fields, key: str) -> datetime.time | None:
    minute = parse(text := fields.text(key, default=None))
    if text is not None and minute is None:
        raise fields.wrong(key, 'a time of day like "08:30"')
    return None if minute is None else datetime.time(*divmod(minute, 60))


def _format(fields: Fields) -> str | None:
    style: str | None = fields.text("format", default=None)
    if style is not None and style not in FORMATS:
        raise fields.wrong("format", " or ".join(FORMATS))
    return style


def _minutes(time: datetime.time) -> int:
    return time.hour * 60 + time.minute


def _text(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
