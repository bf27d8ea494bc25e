"""Numbers or days within a range that is declared wide; a run learns where they lie in it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from synth_engine.kinds.attribute import Attribute, TableSchemaField
from synth_engine.kinds.date import ISO, Date
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import DAY, NUMBER, TEXT, Schema
from synth_engine.kinds.grids import number_grid, whole_grid
from synth_engine.kinds.integer import Integer
from synth_engine.kinds.number import Number
from synth_engine.kinds.reading import Codes
from synth_engine.kinds.undeclared import Undeclared

if TYPE_CHECKING:
    import pyarrow as pa

Of = Literal["integer", "number", "date"]
SCALES: tuple[Of, ...] = ("integer", "number", "date")
GRID_DAYS = 1_000
MAX_BINS = 500


@dataclass(frozen=True, kw_only=True)
class Range(Undeclared):
    """Numbers or days within a range that is declared wide, from `low` to `high`; where they lie in it, and
    bins that suit them, up to `bins`, are learned on a public grid."""

    kind: ClassVar[str] = "range"
    schema_position: ClassVar[int] = 80
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "missing")

    of: Of
    low: Any
    high: Any
    bins: int = 16
    format: str = ISO
    ordered: bool = True

    def check(self) -> None:
        if self.of not in SCALES:
            raise self.error(
                "unknown scale", repair=f"set of to one of {', '.join(SCALES)}", field="of"
            )
        if type(self.bins) is not int or not 2 <= self.bins <= MAX_BINS:
            raise self.error(
                f"bins is not a whole number from 2 to {MAX_BINS}",
                repair="16 is a common choice",
                field="bins",
            )
        kind = (
            datetime.date
            if self.of == "date"
            else int
            if self.of == "integer"
            else (int, float)
        )
        for key, bound in (("low", self.low), ("high", self.high)):
            if not isinstance(bound, kind) or isinstance(bound, bool):
                raise self.error(
                    f"a bound is no {self.of}", repair="give low and high", field=key
                )
        if self.of != "date" and self.format != ISO:
            raise self.error("a format is for dates", repair="leave it out", field="format")
        if not self.low < self.high:
            raise self.error(
                "low is not below high", repair="swap them, or widen the range", field="low"
            )
        self.grid  # noqa: B018  # what is wrong with the bounds is said now

    @cached_property
    def grid(self) -> Integer | Number | Date:
        """The same column cut into public cells: fine near zero, or everywhere alike where zero is far."""
        if self.of == "date":
            days = -(-((self.high - self.low).days + 1) // GRID_DAYS)
            return Date(
                **self._shared(),
                low=self.low,
                high=self.high,
                step_days=days,
                format=self.format,
            )
        if self.of == "integer":
            return Integer(
                **self._shared(),
                low=self.low,
                high=self.high,
                edges=whole_grid(self.low, self.high),
            )
        return Number(
            **self._shared(),
            low=self.low,
            high=self.high,
            edges=number_grid(self.low, self.high),
        )

    def _shared(self) -> dict[str, Any]:
        facts = {
            "kind": self.facts["kind"],
            "bounds": "learned",
            "missing": self.facts["missing"],
        }
        return {
            "name": self.name,
            "missing": self.missing,
            "outside": self.outside,
            "provenance": facts,
        }

    @property
    def holds_numbers(self) -> bool:
        return self.of in ("integer", "number")

    @property
    def day_format(self) -> str | None:
        return self.format if self.of == "date" else None

    @property
    def value_labels(self) -> tuple[str, ...]:
        return self.grid.value_labels

    @property
    def value_count(self) -> int:
        return self.grid.value_count

    def cut(self, places: Sequence[int]) -> Attribute:
        """The attribute with bins from each of these cells of the grid to the next; the last place is an end.
        Days have bins of equal width, so of those the first and the last place count, and how many there
        are."""
        grid = self.grid
        if isinstance(grid, Date):
            cells = -(-(places[-1] - places[0]) // (len(places) - 1))
            low, high = grid.days(places[0])[0], grid.days(places[-1] - 1)[1]
            return Date(
                **self._shared(),
                low=low,
                high=high,
                step_days=cells * grid.step_days,
                format=self.format,
            )
        if isinstance(grid, Integer):
            return _whole_bins([grid.cuts[place] for place in places], shared=self._shared())
        edges = [grid.cuts[place] for place in places]
        if self.outside == "missing" and places[-1] < grid.value_count:
            edges[-1] = _last_before(edges[-1])
        return Number(**self._shared(), low=edges[0], high=edges[-1], edges=tuple(edges))

    def admits(self, resolved: Attribute) -> bool:
        """Whether every cell of the grid lies in one bin."""
        grid = self.grid
        # Bins that begin and end on the grid are counted from its codes, so that the table is
        # not read again, and units are not truncated again (docs/proofs/learning.md).
        if type(resolved) is not type(grid) or resolved.facts["bounds"] != "learned":
            return False
        if (resolved.missing, resolved.outside) != (self.missing, self.outside):
            return False
        if isinstance(resolved, Date) and isinstance(grid, Date):
            offset = (resolved.low - grid.low).days
            return resolved.step_days % grid.step_days == 0 and offset % grid.step_days == 0
        if isinstance(resolved, Date) or isinstance(grid, Date):
            raise TypeError("the range is made of dates")
        edges, last = set(grid.cuts), resolved.cuts[-1]
        if self.outside == "missing" and isinstance(grid, Number) and last != grid.cuts[-1]:
            return set(resolved.cuts[:-1]) <= edges and last in map(_last_before, edges)
        return set(resolved.cuts) <= edges

    def details(self) -> dict[str, object]:
        bounds = [
            bound.isoformat() if self.of == "date" else bound for bound in (self.low, self.high)
        ]
        shared: dict[str, object] = {
            "of": self.of,
            "low": bounds[0],
            "high": bounds[1],
            "bins": self.bins,
        }
        return shared | ({"format": self.format} if self.of == "date" else {})

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        end = {"anyOf": [NUMBER, DAY]}
        own = {
            "of": {"enum": list(SCALES)},
            "low": end,
            "high": end,
            "bins": {"type": "integer", "minimum": 2, "maximum": MAX_BINS},
            "format": TEXT,
        }
        return own, ("of", "low", "high")

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, Any]:
        of = fields.needed(of=fields.text("of", default=None))
        return (
            of
            | fields.needed(low=fields.bound("low"), high=fields.bound("high"))
            | {
                "bins": fields.integer("bins"),
                "format": fields.text("format", default=None),
            }
        )

    @property
    def arrow_type(self) -> pa.DataType:
        return self.grid.arrow_type

    def encode(self, texts: list[str]) -> Codes:
        return self.grid.encode(texts)

    def table_schema(self) -> TableSchemaField:
        """The widest bounds; where values lie between them is learned by each release."""
        ends = {"minimum": self.low, "maximum": self.high}
        if self.of != "date":
            return TableSchemaField(self.of, {}, ends)
        return self.grid.table_schema()


def _last_before(edge: float) -> float:
    """Return the largest number below an edge of the grid. A last bin holds its upper edge, with which a cell
    begins that lies beyond it: where what lies beyond is missing, the edge must be so as well."""
    return math.nextafter(edge, -math.inf)


def _whole_bins(cuts: list[int], *, shared: dict[str, Any]) -> Integer:
    """Whole numbers with these bins. The upper edge of the last bin is its largest number, so it cannot have
    one number alone, unless all bins do."""
    low, high = cuts[0], cuts[-1] - 1
    if len(cuts) == high - low + 2:  # increasing, so every number is a bin
        return Integer(**shared, low=low, high=high, width=1)
    if cuts[-2] == high:
        cuts = [*cuts[:-2], cuts[-1]]
    return Integer(**shared, low=low, high=high, edges=(*cuts[:-1], high))
