"""Columns that are functions of other columns: neither read nor modelled, and computed when records are
generated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import MAX_CODES, Attribute, TableSchemaField
from synth_engine.kinds.basket import Baskets
from synth_engine.kinds.cell_form import SCHEMA as CELL_FORM
from synth_engine.kinds.cell_form import CellForm
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import NAME, TEXT, Schema, optional

if TYPE_CHECKING:
    from scipy.spatial import KDTree

Rule = Literal["sum", "difference", "copy", "year", "month", "weekday", "lookup", "nearest"]
RULES: tuple[Rule, ...] = get_args(Rule)
_NUMBER_RULES, _DAY_RULES = ("sum", "difference"), ("year", "month", "weekday")
MAX_SOURCES = 100
MAX_POINTS = 100_000
_SOURCES: Mapping[str, tuple[int, int]] = {
    "sum": (2, MAX_SOURCES),
    "difference": (2, 2),
    "nearest": (2, 2),
}
"""The least and the largest number of source columns, where it is not one."""
MAX_DECIMALS = 15
Result = Literal["number", "day", "text"]
Point = tuple[float, float, str]
"""Latitude and longitude in degrees, and the text that belongs to the point."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Derived(Attribute):
    """A function of other columns, `of`: their sum, the first less the second, a copy, the year, month or
    weekday (1 is Monday) of a day, what a public `table` lists beside a value, or the text of the nearest of
    some public `points` to a latitude and a longitude. No record is read for it. Sums and differences have
    `decimals`; `marker` is written where a source is missing, or the table does not list its value."""

    kind: ClassVar[str] = "derived"
    schema_position: ClassVar[int] = 130
    bare: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = ("kind",)

    rule: Rule
    of: tuple[str, ...]
    decimals: int = 0
    table: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    points: tuple[Point, ...] = field(default=(), repr=False)
    marker: str = ""

    def check(self) -> None:
        object.__setattr__(self, "of", tuple(self.of))
        if self.rule not in RULES:
            raise self.error(
                "unknown rule", repair=f"use one of {', '.join(RULES)}", field="rule"
            )
        least, most = _SOURCES.get(self.rule, (1, 1))
        if not least <= len(self.of) <= most or len(set(self.of)) < len(self.of):
            raise self.error(
                f"a {self.rule} of this number of columns, or of one column twice",
                repair="name the columns in order, each once: two or more for a sum, two for a difference, "
                "latitude and longitude for the nearest point, else one",
                field="of",
            )
        if type(self.decimals) is not int or not 0 <= self.decimals <= MAX_DECIMALS:
            raise self.error(
                f"decimals are not from 0 to {MAX_DECIMALS}",
                repair="give a whole number",
                field="decimals",
            )
        if self.decimals and self.rule not in _NUMBER_RULES:
            raise self.error(
                "decimals of what is no sum", repair="leave decimals out", field="decimals"
            )
        self._check_table()
        self._check_points()

    def _check_table(self) -> None:
        object.__setattr__(self, "table", tuple(tuple(pair) for pair in self.table))
        if bool(self.table) != (self.rule == "lookup"):
            raise self.error(
                "a lookup without a table, or a table without a lookup",
                repair='give "table" with the rule "lookup", and with no other',
                field="table",
            )
        if len(self.table) > MAX_CODES or not all(
            len(pair) == 2 and all(isinstance(text, str) for text in pair)
            for pair in self.table
        ):
            raise self.error(
                f"the table has more than {MAX_CODES:,} pairs, or one that is not two texts",
                repair='list pairs like ["value", "what stands beside it"]',
                field="table",
            )
        if len({value for value, _ in self.table}) < len(self.table):
            raise self.error(
                "the table lists a value twice", repair="list each value once", field="table"
            )

    def _check_points(self) -> None:
        object.__setattr__(self, "points", tuple(tuple(point) for point in self.points))
        if bool(self.points) != (self.rule == "nearest"):
            raise self.error(
                "the nearest point without points, or points without that rule",
                repair='give "points" with the rule "nearest", and with no other',
                field="points",
            )
        if len(self.points) > MAX_POINTS or not all(map(_is_point, self.points)):
            raise self.error(
                f"more than {MAX_POINTS:,} points, or one that is not a latitude, a longitude and a text",
                repair='list points like [41.49, -71.31, "Newport"], in degrees, latitude first',
                field="points",
            )
        if len({point[:2] for point in self.points}) < len(self.points):
            raise self.error(
                "a point is listed twice", repair="list each point once", field="points"
            )

    @cached_property
    def _tree(self) -> KDTree:
        from scipy.spatial import KDTree  # slow to import

        return KDTree(on_sphere(*np.array([point[:2] for point in self.points]).T))

    def nearest_texts(self, latitude: Floats, longitude: Floats) -> NDArray[np.object_]:
        """The text of the nearest point by great-circle distance; None where a coordinate is NaN.

        latitude, longitude: in degrees, shape (rows,)."""
        known = ~(np.isnan(latitude) | np.isnan(longitude))
        texts = np.full(latitude.size, None, dtype=object)
        if known.any():
            _, index = self._tree.query(on_sphere(latitude[known], longitude[known]))
            texts[known] = np.array([point[2] for point in self.points], dtype=object)[index]
        return texts

    def result(self, known: Mapping[str, Attribute], *, above: tuple[str, ...] = ()) -> Result:
        """What its values are. Refuses sources that are not there, not in a generated table, of another kind,
        or computed from this column. Errors: DomainError naming the column.

        known: all columns. above: the derived columns that are computed from this one."""
        if self.name in above:
            raise self.error(
                "derived columns are computed from each other in a circle",
                repair="describe one of them by its values",
                field="of",
            )
        results = {self._source(name, known, above=(*above, self.name)) for name in self.of}
        if self.rule in (*_NUMBER_RULES, "nearest") and results != {"number"}:
            raise self.error(
                f"a {self.rule} of columns that are no numbers",
                repair="name columns of numbers, or choose another rule",
                field="of",
            )
        if self.rule in _DAY_RULES and results != {"day"}:
            raise self.error(
                f"the {self.rule} of a column that has no days",
                repair="name a column of dates or date-times, or choose another rule",
                field="of",
            )
        if self.rule == "copy":
            return results.pop()
        return "number" if self.holds_numbers else "text"

    def _source(
        self, name: str, known: Mapping[str, Attribute], *, above: tuple[str, ...]
    ) -> Result:
        source = known.get(name)
        if source is None or isinstance(source, Baskets) or not source.in_table:
            raise DomainError(
                "a derived column is computed from a column that a generated table does not have",
                repair="describe that column, or take it off the list",
                column=self.name,
                field="of",
            )
        if isinstance(source, Derived):
            return source.result(known, above=above)
        if source.holds_numbers:
            return "number"
        return "text" if source.day_format is None else "day"

    @property
    def value_labels(self) -> tuple[str, ...]:
        return ()

    @property
    def in_table(self) -> bool:
        return True

    @property
    def missing_text(self) -> str:
        return self.marker

    @property
    def declared_texts(self) -> tuple[str, ...]:
        texts = [text for _, text in self.table] or [text for _, _, text in self.points]
        return (self.marker, *dict.fromkeys(texts))

    @property
    def holds_numbers(self) -> bool:
        return self.rule not in ("copy", "lookup", "nearest")

    @property
    def sentence(self) -> str:
        """The function in words."""
        match self.rule:
            case "sum":
                return " + ".join(self.of)
            case "difference":
                return " − ".join(self.of)
            case "copy":
                return f"a copy of {self.of[0]}"
            case "lookup":
                return f"{self.of[0]}, by a list of {len(self.table)} values"
            case "nearest":
                return f"the nearest of {len(self.points):,} points to {' and '.join(self.of)}"
        return f"the {self.rule} of {self.of[0]}"

    def details(self) -> dict[str, object]:
        further: dict[str, object] = {
            "decimals": self.decimals,
            "table": [list(pair) for pair in self.table],
            "points": [list(point) for point in self.points],
            "marker": self.marker,
            "written": self.written.to_json(),
        }
        return {"rule": self.rule, "of": list(self.of)} | {
            key: value for key, value in further.items() if value
        }

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        pair: Schema = {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2}
        own: Schema = {
            "rule": {"enum": list(RULES)},
            "of": {"type": "array", "items": NAME, "minItems": 1, "maxItems": MAX_SOURCES},
            "decimals": {"type": "integer", "minimum": 0, "maximum": MAX_DECIMALS},
            "table": {"type": "array", "items": pair, "minItems": 1, "maxItems": MAX_CODES},
            "points": {
                "type": "array",
                "items": {
                    "type": "array",
                    "prefixItems": [
                        {"type": "number", "minimum": -90, "maximum": 90},
                        {"type": "number", "minimum": -180, "maximum": 180},
                        TEXT,
                    ],
                    "minItems": 3,
                    "maxItems": 3,
                },
                "minItems": 1,
                "maxItems": MAX_POINTS,
            },
            "marker": TEXT,
            "written": optional(CELL_FORM),
        }
        return own, ("rule", "of")

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, object]:
        document, written = fields.document, fields.document.get("written")
        table = fields.list("table") if document.get("table") is not None else None
        if table is not None and not all(isinstance(pair, list | tuple) for pair in table):
            raise fields.wrong("table", "a list of pairs")
        points = fields.list("points") if document.get("points") is not None else None
        if points is not None and not all(isinstance(point, list | tuple) for point in points):
            raise fields.wrong("points", "a list of points")
        of = fields.texts("of")
        if of is not None and not all(isinstance(name, str) for name in of):
            raise fields.wrong("of", "a list of names of columns")
        form = (
            None if written is None else CellForm.from_json(written, column=fields.column or "")
        )
        return fields.needed(rule=fields.text("rule", default=None), of=of) | {
            "decimals": fields.integer("decimals"),
            "table": table,
            "points": points,
            "marker": fields.text("marker", default=None),
            "written": form,
        }

    def write(self, column: pd.Series) -> pd.Series:
        if not self.holds_numbers:
            return super().write(column)
        missing = column.isna().to_numpy()
        texts = [
            self.marker if gone else str(value)
            for value, gone in zip(column.tolist(), missing, strict=True)
        ]
        return pd.Series(texts, dtype="str")

    @property
    def arrow_type(self) -> pa.DataType:
        if not self.holds_numbers:
            return pa.string()
        return pa.float64() if self.decimals else pa.int64()

    def table_schema(self) -> TableSchemaField:
        if not self.holds_numbers:
            return TableSchemaField("string")
        return TableSchemaField("number" if self.decimals else "integer")


def _is_point(point: tuple[object, ...]) -> bool:
    """Whether it is a latitude and a longitude in degrees, and a text."""
    if len(point) != 3 or not isinstance(point[2], str):
        return False
    # Truth values are numbers to Python, and no degrees.
    return all(
        type(degrees) in (int, float)
        and math.isfinite(degrees)  # type: ignore[arg-type]
        and abs(degrees) <= limit  # type: ignore[arg-type]
        for degrees, limit in zip(point, (90, 180), strict=False)
    )


def on_sphere(latitude: Floats, longitude: Floats) -> Floats:
    """Points of the unit sphere, shape (points, 3): the nearest along a chord is the nearest along a great
    circle."""
    north, east = np.radians(latitude), np.radians(longitude)
    return np.stack(
        [np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=1
    )


def compute(attribute: Derived, sources: list[pd.Series], texts: pd.Series) -> pd.Series:
    """The values of a derived column. sources: its source columns, shape (rows,). texts: the first of them as
    a file has it."""
    first = sources[0]
    if attribute.rule == "copy":
        return first
    if attribute.rule == "lookup":
        return texts.map(dict(attribute.table)).astype("str").set_axis(first.index)
    if attribute.rule == "nearest":
        latitude, longitude = (
            source.to_numpy(dtype=np.float64, na_value=np.nan) for source in sources
        )
        nearest = attribute.nearest_texts(latitude, longitude)
        return pd.Series(nearest, index=first.index, dtype="str")
    if attribute.rule in _DAY_RULES:
        day: Any = first.dt
        numbers: pd.Series = {
            "year": day.year,
            "month": day.month,
            "weekday": day.day_of_week + 1,
        }[attribute.rule]
        return numbers.astype("Int64")
    # Of nullable types, so that a sum with a missing part is missing.
    total: pd.Series = first.convert_dtypes()
    for column in sources[1:]:
        other = column.convert_dtypes()
        total = total + other if attribute.rule == "sum" else total - other
    rounded: pd.Series = total.astype("Float64").round(attribute.decimals)
    if attribute.decimals:
        return rounded
    # Whole numbers beyond 2^53 are exact only as long as they are no floats.
    return total if total.dtype == "Int64" else rounded.astype("Int64")
