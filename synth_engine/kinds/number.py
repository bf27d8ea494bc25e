"""Numbers in public bins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds.attribute import Attribute, TableSchemaField
from synth_engine.kinds.bounds import (
    DEFAULT_BINS,
    check_bounds,
    check_edges,
    nullable,
)
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import (
    NUMBER,
    Schema,
    edges,
)
from synth_engine.kinds.ladders import DecimalScale, Floats, Ladder, padded
from synth_engine.kinds.reading import Scaled, decimal_numbers

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_GRID_POINTS = 2  # decimals finer than a bin's width: at least a hundred values to draw from
_MAX_DECIMALS = 15


@dataclass(frozen=True, kw_only=True)
class Number(Attribute):
    """Numbers from `low` to `high` in bins: those between `edges`, else 32 of equal width. A bin holds its
    lower edge, the last one holds both."""

    kind: ClassVar[str] = "number"
    schema_position: ClassVar[int] = 30
    is_comparable: ClassVar[bool] = True
    cell_words: ClassVar[str] = "numbers"
    codes_field: ClassVar[str] = "edges"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "missing")

    low: float
    high: float
    edges: tuple[float, ...] | None = None
    ordered: bool = True

    def check(self) -> None:
        check_bounds(self, self.low, self.high)
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        if self.edges is not None:
            object.__setattr__(self, "edges", tuple(map(float, self.edges)))
            check_edges(self, self.edges, self.low, self.high)
        # In a narrow range far from zero, rounding makes neighbouring edges equal.
        elif any(a >= b for a, b in pairwise(self.cuts)) and self.low != self.high:
            raise self.error(
                "low and high are too close for equal bins", repair="give edges", field="edges"
            )

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

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        return {"low": NUMBER, "high": NUMBER, "edges": edges(NUMBER)}, ("low", "high")

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, object]:
        return fields.needed(low=fields.number("low"), high=fields.number("high")) | {
            "edges": fields.numbers("edges", whole=False)
        }

    def scaled(self, texts: list[str]) -> Scaled:
        return Scaled(
            values=decimal_numbers(texts), low=self.low, high=self.high, cuts=self.cuts
        )

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> pd.Series:
        grid = [self.decimals_inside(code) for code in range(self.value_count)]
        first, last, scale = (np.asarray(part) for part in zip(*grid, strict=True))
        missing = codes == self.missing_code
        bins = np.where(missing, 0, codes)
        numerators = rng.integers(first[bins], last[bins], endpoint=True)
        starts = np.asarray(self.cuts, dtype=np.float64)[bins]
        # A bin too narrow for any short decimal gives its lower edge.
        values = np.divide(numerators, scale[bins], out=starts, where=scale[bins] > 0)
        return nullable(values, missing, self, "Float64")

    def write(self, column: pd.Series) -> pd.Series:
        import pandas as pd

        # Python's own shortest decimals, which are read back as the same number
        cells = zip(column.tolist(), column.isna().to_numpy(), strict=True)
        return pd.Series(
            [self.missing_text if missing else str(value) for value, missing in cells],
            dtype="str",
        )

    @property
    def holds_numbers(self) -> bool:
        return True

    @property
    def arrow_type(self) -> pa.DataType:
        import pyarrow as pa

        return pa.float64()

    def decimals_inside(self, code: int) -> tuple[int, int, float]:
        """First and last multiple of 1/scale inside a bin; scale 0 where there is none, and its lower edge
        stands for it."""
        start, end = self.cuts[code], self.cuts[code + 1]
        if start == end:
            return 0, 0, 0.0
        # A double has at most 17 significant digits: further decimals would not be read back.
        room = 17 - math.ceil(math.log10(max(abs(start), abs(end), 1.0)) + 1)
        decimals = max(
            0, min(_GRID_POINTS - math.floor(math.log10(end - start)), _MAX_DECIMALS, room)
        )
        scale = 10.0**decimals
        closed = code == self.value_count - 1
        first, last = math.floor(start * scale) - 1, math.ceil(end * scale) + 1
        # Rounding may put a product on the wrong side of an edge by one step; the division is what gets
        # written.
        while first / scale < start:
            first += 1
        while last / scale > end or (not closed and last / scale == end):
            last -= 1
        return (first, last, scale) if first <= last else (0, 0, 0.0)

    def ladder(self) -> Ladder:
        grid = [self.decimals_inside(code) for code in range(self.value_count)]
        first, last, scale = (
            np.asarray(part, dtype=np.float64) for part in zip(*grid, strict=True)
        )
        starts = np.asarray(self.cuts[:-1], dtype=np.float64)
        fine = np.where(scale > 0, scale, 1.0)
        return DecimalScale(
            low=padded(np.where(scale > 0, first / fine, starts), self.size),
            high=padded(np.where(scale > 0, last / fine, starts), self.size),
            scale=np.append(scale, [0.0] * (self.size - scale.size)),
            missing_code=self.missing_code,
        )

    def bin_spans(self) -> tuple[Floats, Floats]:
        cuts = np.asarray(self.cuts, dtype=np.float64)
        return cuts[:-1], cuts[1:]

    def natural(self, values: Floats) -> pd.Series:
        missing = np.isneginf(values)
        return nullable(np.where(missing, 0.0, values), missing, self, "Float64")

    def table_schema(self) -> TableSchemaField:
        return TableSchemaField("number", {}, {"minimum": self.low, "maximum": self.high})
