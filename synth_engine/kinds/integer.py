"""Whole numbers in public bins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds.attribute import MAX_CODES, Attribute, TableSchemaField
from synth_engine.kinds.bounds import (
    DEFAULT_BINS,
    ONE_CODE_A_VALUE_UP_TO,
    check_bounds,
    check_edges,
    nullable,
    sample_steps,
)
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import (
    POSITIVE,
    WHOLE,
    Schema,
    edges,
    optional,
)
from synth_engine.kinds.ladders import Even, Floats, Ladder, padded
from synth_engine.kinds.reading import Scaled, whole_numbers

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class Integer(Attribute):
    """Whole numbers from `low` to `high`, both included. `edges` cuts them into bins as a histogram does: a
    bin holds its lower edge, the last one holds both. Without edges, bins are `width` wide; without a width,
    by a public rule, each value has a code if there are at most 100, else there are 32 bins of (nearly) equal
    width."""

    kind: ClassVar[str] = "integer"
    schema_position: ClassVar[int] = 20
    is_comparable: ClassVar[bool] = True
    cell_words: ClassVar[str] = "whole numbers"
    codes_field: ClassVar[str] = "width"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "missing")

    low: int
    high: int
    edges: tuple[int, ...] | None = None
    width: int | None = None
    ordered: bool = True

    def check(self) -> None:
        check_bounds(self, self.low, self.high)
        if self.edges is not None:
            object.__setattr__(self, "edges", tuple(self.edges))
            check_edges(self, self.edges, self.low, self.high)
            if self.width is not None:
                raise self.error(
                    "both edges and width are given",
                    repair="leave one of them out",
                    field="edges",
                )
        if self.width is not None and self.width < 1:
            raise self.error(
                "width is less than one",
                repair="give a whole number of 1 or more",
                field="width",
            )
        # Checked before `cuts` lists them all.
        if self.width is not None and (self.high - self.low) // self.width >= MAX_CODES:
            raise self.error(
                f"more than {MAX_CODES:,} codes", repair="use wider bins", field="width"
            )

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """Bin i holds cuts[i] ≤ x < cuts[i+1]."""
        end = self.high + 1
        if self.edges is not None:
            # The last edge belongs to the last bin, which therefore ends one above it.
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

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        own: Schema = {
            "low": WHOLE,
            "high": WHOLE,
            "edges": edges(WHOLE),
            "width": optional(POSITIVE),
        }
        return own, ("low", "high")

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, object]:
        return fields.needed(low=fields.integer("low"), high=fields.integer("high")) | {
            "edges": fields.numbers("edges", whole=True),
            "width": fields.integer("width"),
        }

    def scaled(self, texts: list[str]) -> Scaled:
        return Scaled(values=whole_numbers(texts), low=self.low, high=self.high, cuts=self.cuts)

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> pd.Series:
        missing = codes == self.missing_code
        values = sample_steps(self.cuts, np.where(missing, 0, codes), rng)
        return nullable(values, missing, self, "Int64")

    def write(self, column: pd.Series) -> pd.Series:
        import pandas as pd
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = pc.fill_null(pc.cast(pa.array(column), pa.string()), self.missing_text)
        return pd.Series(texts.to_numpy(zero_copy_only=False), dtype="str")

    @property
    def holds_numbers(self) -> bool:
        return True

    @property
    def arrow_type(self) -> pa.DataType:
        import pyarrow as pa

        return pa.int64()

    def ladder(self) -> Ladder:
        cuts = np.asarray(self.cuts, dtype=np.float64)
        return Even(
            low=padded(cuts[:-1], self.size),
            high=padded(cuts[1:] - 1, self.size),
            missing_code=self.missing_code,
        )

    def natural(self, values: Floats) -> pd.Series:
        missing = np.isneginf(values)
        return nullable(np.where(missing, 0.0, values).astype(np.int64), missing, self, "Int64")

    def table_schema(self) -> TableSchemaField:
        return TableSchemaField("integer", {}, {"minimum": self.low, "maximum": self.high})
