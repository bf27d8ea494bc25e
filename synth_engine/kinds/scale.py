"""Numbers, days or moments on a lattice of their own, from bounds and a smallest step; a run learns how they
lie on it."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds.attribute import Attribute, TableSchemaField
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import MAX_EXACT, TEXT, Schema, optional
from synth_engine.kinds.lattice import (
    BOUND,
    SCALES,
    Bound,
    Lattice,
    Of,
    Positions,
    bound_json,
    is_missing,
    is_step,
    read_bound,
)
from synth_engine.kinds.on_lattice import OnLattice
from synth_engine.kinds.reading import Codes, code_dtype
from synth_engine.kinds.scale_bins import ScaleBins
from synth_engine.kinds.undeclared import Undeclared

if TYPE_CHECKING:
    import pyarrow as pa

WIDEST_WHOLE = 10**15
"""The bound of whole numbers where none is given: numbers of more digits are identifiers."""
WIDEST_STEPS = 2**49
FIRST_DAY, LAST_DAY = datetime.date(1000, 1, 1), datetime.date(2999, 12, 31)
YEARS_OF_TWO_DIGITS = datetime.date(1969, 1, 1), datetime.date(2068, 12, 31)
"""The days that two digits of a year stand for, as POSIX has it."""


@dataclass(frozen=True, kw_only=True)
class Scale(OnLattice, Undeclared):
    """Numbers, days or moments from `low` to `high` in steps of `step`, and no bins: how finely the values
    can be described, and where they lie, is learned within the budget. Without bounds they lie anywhere.
    `step` is the smallest difference of two values: of days in days, of moments in seconds."""

    kind: ClassVar[str] = "scale"
    schema_position: ClassVar[int] = 85
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "missing")

    of: Of
    low: Bound | None = None
    high: Bound | None = None
    step: int | float = 1
    format: str | None = None
    ordered: bool = True

    def check(self) -> None:
        if (self.low is None) != (self.high is None):
            raise self.error(
                "one bound is given",
                repair="give both, or neither",
                field="low" if self.low is None else "high",
            )
        problem = self.lattice.problem()
        if problem is not None:
            raise self.error(problem.rule, repair=problem.repair, field=problem.field)
        # What is wrong with a format or a marker is said now.
        self.lattice.check_format(self.name)
        if self.low is not None:
            check_markers(self, self.lattice)

    @cached_property
    def lattice(self) -> Lattice:
        low, high = self.low, self.high
        if low is None or high is None:
            low, high = widest(self.of, self.step, self.format)
        return Lattice(of=self.of, low=low, high=high, step=self.step, form=self.format)

    @property
    def arrow_type(self) -> pa.DataType:
        return self.reader.arrow_type

    @property
    def value_labels(self) -> tuple[str, ...]:
        # Until values are learned, all of them have one code.
        return ("a value",)

    def positions(self, texts: Sequence[str]) -> tuple[Positions, NDArray[np.bool_]]:
        """The position on the lattice of each text that is no missing marker, and which ones count as
        missing."""
        positions, sides = self.lattice.positions(list(texts), self)
        if self.missing is None:
            return positions, np.zeros(len(texts), dtype=np.bool_)
        return positions, is_missing(sides, self)

    def encode(self, texts: list[str]) -> Codes:
        _, missing = self.positions(texts)
        codes: Codes = missing.astype(code_dtype(self.size))
        return codes

    def resolved(self, **learned: Any) -> ScaleBins:
        """The attribute with what was learned; learned: the fields of `ScaleBins` that this one lacks."""
        lattice = self.lattice
        return ScaleBins(
            name=self.name,
            provenance={
                "kind": self.facts["kind"],
                "bounds": "learned",
                "missing": self.facts["missing"],
            },
            missing=self.missing,
            outside=self.outside,
            of=self.of,
            low=lattice.low,
            high=lattice.high,
            step=self.step,
            format=self.format,
            **learned,
        )

    def admits(self, resolved: Attribute) -> bool:
        """Whether an attribute has the same lattice: every position lies in one bin of it."""
        return (
            isinstance(resolved, ScaleBins)
            and resolved.facts["bounds"] == "learned"
            and resolved.lattice == self.lattice
            and (resolved.missing, resolved.outside) == (self.missing, self.outside)
        )

    def details(self) -> dict[str, object]:
        ends = {
            key: bound_json(bound)
            for key, bound in (("low", self.low), ("high", self.high))
            if bound is not None
        }
        style = {} if self.format is None else {"format": self.format}
        return {"of": self.of, **ends, "step": self.step, **style}

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        own: Schema = {
            "of": {"enum": list(SCALES)},
            "low": optional(BOUND),
            "high": optional(BOUND),
            "step": {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_EXACT},
            "format": optional(TEXT),
        }
        return own, ("of",)

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, Any]:
        of = fields.needed(of=fields.text("of", default=None))
        return of | {
            "low": read_bound(fields, "low"),
            "high": read_bound(fields, "high"),
            "step": fields.number("step"),
            "format": fields.text("format", default=None),
        }

    def table_schema(self) -> TableSchemaField:
        """The declared bounds; where values lie between them is learned by each release."""
        field = self.lattice.reader(self).table_schema()
        if self.low is None:
            return TableSchemaField(field.type, field.properties)
        ends: dict[str, object] = {"minimum": self.low, "maximum": self.high}
        style = field.properties.get("format")
        if isinstance(style, str):
            ends = {key: end.strftime(style) for key, end in ends.items()}  # type: ignore[attr-defined]
        return TableSchemaField(field.type, field.properties, ends)


def check_markers(attribute: Attribute, lattice: Lattice) -> None:
    """Refuses a missing marker that is a value between the declared bounds. Errors: DomainError."""
    _, outside = lattice.positions(list(attribute.missing or ()), attribute)
    if (outside == 0).any():
        raise attribute.error(
            "a missing marker lies between low and high",
            repair="narrow the bounds",
            field="missing",
        )


def widest(of: Of, step: int | float, form: str | None) -> tuple[Bound, Bound]:
    """Bounds that hold every value, where none are given: on the lattice of 0, or of the first day. form: how
    a file writes days or moments; a year of two digits tells a hundred years apart."""
    # A step that is no whole number of days, seconds or units is refused afterwards.
    if not is_step(of, step):
        step = 1
    whole = max(int(step), 1)
    first_day, last_day = YEARS_OF_TWO_DIGITS if "%y" in (form or "") else (FIRST_DAY, LAST_DAY)
    if of == "date":
        days = (last_day - first_day).days // whole * whole
        return first_day, first_day + datetime.timedelta(days=days)
    if of == "datetime":
        first = datetime.datetime.combine(first_day, datetime.time())
        last = datetime.datetime.combine(last_day, datetime.time(23, 59, 59))
        seconds = int((last - first).total_seconds()) // whole * whole
        return first, first + datetime.timedelta(seconds=seconds)
    if of == "integer":
        most = WIDEST_WHOLE // whole * whole
        return -most, most
    # As decimals, so that a step of 0.3 divides the bounds.
    steps = 10 ** (len(str(WIDEST_STEPS)) - 1)
    end = float(min(steps * Decimal(repr(step)), Decimal(WIDEST_WHOLE)))
    return -end, end
