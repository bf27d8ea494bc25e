"""A kind of column that is not part of the product: months, such as 2022-06. It is written as CONTRIBUTING.md
says, one class and one form, and known to the product only while a test asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from synth_engine.kinds import KINDS
from synth_engine.kinds.attribute import Attribute, TableSchemaField, Units
from synth_engine.kinds.bounds import equal_bins, sample_steps
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import POSITIVE, TEXT, Schema
from synth_engine.kinds.ladders import Even, Floats, Ladder, padded
from synth_engine.kinds.reading import Scaled, read_each

_MONTH = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])")


def number_of(text: str) -> int | None:
    """The number of a month since the year 0; None for another text."""
    if not _MONTH.fullmatch(text):
        return None
    year, month = map(int, text.split("-"))
    return 12 * year + month - 1


def text_of(number: int) -> str:
    """The text of a month by its number."""
    return f"{number // 12:04}-{number % 12 + 1:02}"


@dataclass(frozen=True, kw_only=True)
class Month(Attribute):
    """Months from `low` to `high`, both included, each `every` months after the one before."""

    kind: ClassVar[str] = "month"
    schema_position: ClassVar[int] = 55
    is_comparable: ClassVar[bool] = True
    cell_words: ClassVar[str] = "months"
    span_units: ClassVar[Units] = ((1, "months"),)
    table_schema_type: ClassVar[str] = "yearmonth"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "missing")

    low: str
    high: str
    every: int = 1
    ordered: bool = True

    def check(self) -> None:
        if number_of(self.low) is None or number_of(self.high) is None:
            raise self.error("a bound is no month", repair="write it like 2022-06", field="low")
        if self._first > self._last:
            raise self.error("low is after high", repair="swap them", field="low")

    @property
    def _first(self) -> int:
        return number_of(self.low) or 0

    @property
    def _last(self) -> int:
        return number_of(self.high) or 0

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        return {"low": TEXT, "high": TEXT, "every": POSITIVE}, ("low", "high")

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, object]:
        return fields.needed(
            low=fields.text("low", default=None), high=fields.text("high", default=None)
        ) | {"every": fields.integer("every")}

    def details(self) -> dict[str, object]:
        return {"low": self.low, "high": self.high, "every": self.every}

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """Bin i holds the steps cuts[i] ≤ k < cuts[i+1]."""
        return equal_bins((self._last - self._first) // self.every + 1, None)

    def _number(self, step: int) -> int:
        return self._first + step * self.every

    @property
    def value_count(self) -> int:
        return len(self.cuts) - 1

    @property
    def value_labels(self) -> tuple[str, ...]:
        ends = (
            (text_of(self._number(start)), text_of(self._number(end - 1)))
            for start, end in pairwise(self.cuts)
        )
        return tuple(a if a == b else f"{a} to {b}" for a, b in ends)

    def scaled(self, texts: list[str]) -> Scaled:
        cuts = [*map(self._number, self.cuts[:-1]), self._last + 1]
        values = read_each(number_of, texts)
        return Scaled(values=values, low=self._first, high=self._last, cuts=cuts)

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> pd.Series:
        missing = codes == self.missing_code
        steps = sample_steps(self.cuts, np.where(missing, 0, codes), rng)
        return self._texts(self._first + steps * self.every, missing)

    def _texts(self, numbers: NDArray[np.int64], missing: NDArray[np.bool_]) -> pd.Series:
        return pd.Series([text_of(number) for number in numbers.tolist()], dtype="str").mask(
            missing
        )

    def ladder(self) -> Ladder:
        low = np.array([self._number(cut) for cut in self.cuts[:-1]])
        high = np.array([self._number(cut - 1) for cut in self.cuts[1:]])
        return Even(
            low=padded(low, self.size),
            high=padded(high, self.size),
            missing_code=self.missing_code,
            start=self._first,
            step=self.every,
        )

    def range_end(self, end: float | str, *, last: bool) -> float:
        number = number_of(str(end))
        if number is None:
            raise ValueError
        return float(number)

    def comparable(self, column: pd.Series) -> Floats:
        return read_each(number_of, column.fillna("").tolist())

    def natural(self, values: Floats) -> pd.Series:
        missing = np.isneginf(values)
        return self._texts(np.where(missing, 0.0, values).astype(np.int64), missing)

    def table_schema(self) -> TableSchemaField:
        return TableSchemaField("yearmonth", {}, {"minimum": self.low, "maximum": self.high})

    @classmethod
    def from_table_schema(cls, field: Mapping[str, Any]) -> dict[str, Any]:
        bounds = field.get("constraints") or {}
        return {"kind": cls.kind, "low": bounds["minimum"], "high": bounds["maximum"]}

    @classmethod
    def suggest(cls, texts: pa.Array) -> dict[str, object] | None:
        numbers = [number_of(text) for text in texts.to_pylist()]
        known = [number for number in numbers if number is not None]
        if len(known) < len(numbers):
            return None
        ends = {"low": text_of(min(known)), "high": text_of(max(known))}
        return {"kind": cls.kind, **ends, "why": "All values are months."}


@contextmanager
def known_to_engine() -> Iterator[type[Month]]:
    """The engine knows the kind, as if its module were in the package of kinds."""
    with patch.dict(KINDS, {Month.kind: Month}):
        yield Month


@contextmanager
def known_to_pages() -> Iterator[None]:
    """The engine and the pages know the kind, as if its two modules were in the packages of kinds."""
    from synthweb.datasets import draft
    from synthweb.datasets.kinds import FORMS
    from synthweb.datasets.kinds.form import SHARED, KindForm, shows_unordered_if_set

    form = KindForm(
        kind=Month.kind,
        label="Month",
        position=55,
        fields=("low", "high", "every", "unordered", *SHARED),
        document=lambda typed: {
            "low": typed.needed("low"),
            "high": typed.needed("high"),
            "every": typed.whole("every") if typed.text("every") else 1,
        },
        summary=lambda attribute: f"{attribute.low} to {attribute.high}",
        outsides={"clamp": "moves to the nearest month", "missing": "counts as missing"},
        labels={"every": ("Months between values", "Empty: 1.")},
        is_shown=shows_unordered_if_set,
    )
    with (
        known_to_engine(),
        patch.dict(FORMS, {Month.kind: form}),
        patch.dict(draft.KINDS, {Month.kind: form.label}),
        patch.dict(draft.OUTSIDES, {Month.kind: form.outsides}),
        patch.dict(draft.FIELDS, {Month.kind: form.fields}),
    ):
        yield


# --- a table of months --------------------------------------------------------------------------------------
FIRST, LAST = "2022-06", "2023-11"
ROWS = 600


def months(seed: int, rows: int = ROWS) -> list[str]:
    """Months from 2022-06 to 2023-11, more of the later ones."""
    first = number_of(FIRST) or 0
    steps = np.random.default_rng(seed).triangular(0, 17, 18, rows).astype(int)
    return [text_of(first + step) for step in steps.tolist()]


def table() -> str:
    """Two columns of months, the second never before the first, and a group."""
    begun, lasted = months(1), np.random.default_rng(2).integers(0, 7, ROWS)
    lines = ["begun,ended,group"]
    for place, (month, length) in enumerate(zip(begun, lasted.tolist(), strict=True)):
        end = text_of((number_of(month) or 0) + length)
        lines.append(f"{month},{end},{'ab'[place % 3 == 0]}")
    return "\n".join(lines) + "\n"


def strings(document: Any) -> Iterator[str]:
    """All texts of a JSON document, keys too."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict):
        for key, value in document.items():
            yield key
            yield from strings(value)
    elif isinstance(document, list):
        for value in document:
            yield from strings(value)


def raw_numbers(text: str) -> list[str]:
    """The numbers by which the engine counts these months, as somebody would see them: 24269 to 24292."""
    return re.findall(r"(?<![\w.])24[,\s\u2009\u202f]?2[6-9]\d(?![\w])", text)
