"""Columns that are functions of other columns: neither read nor modelled, and computed when records are
generated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import MAX_CODES, Attribute, TableSchemaField
from synth_engine.kinds.basket import Baskets
from synth_engine.kinds.boolean import Boolean
from synth_engine.kinds.cell_form import SCHEMA as CELL_FORM
from synth_engine.kinds.cell_form import CellForm
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.formulas import FORMULAS, MAX_WHOLE
from synth_engine.kinds.formulas import problem as problem_of_constant
from synth_engine.kinds.fragments import NAME, TEXT, Schema, optional
from synth_engine.kinds.nearest_points import MAX_POINTS, NearestPoints, Point

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

OwnRule = Literal["sum", "difference", "copy", "year", "month", "weekday", "lookup", "nearest"]
RULES: tuple[str, ...] = (*get_args(OwnRule), *FORMULAS)
"""Those of this module, and the formulas."""
NUMBER_RULES = ("sum", "difference", *FORMULAS)
_DAY_RULES = ("year", "month", "weekday")
MAX_SOURCES = 100
_SOURCES: Mapping[str, tuple[int, int]] = {
    "sum": (2, MAX_SOURCES),
    "difference": (2, 2),
    "lookup": (1, 2),
    "nearest": (2, 2),
    **{name: formula.sources for name, formula in FORMULAS.items()},
}
"""The least and the largest number of source columns, where it is not one."""
MAX_DECIMALS = 15
Result = Literal["number", "day", "text"]
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Derived(Attribute):
    """A function of other columns, `of`: their sum, the first less the second, a copy, the year, month or
    weekday (1 is Monday) of a day, what a public `table` lists beside a value or a pair of values, the text
    of the nearest of some public `points` to a latitude and a longitude, or a formula with a `constant`
    (`formulas.FORMULAS`). No record is read for it. Numbers that are computed from numbers have `decimals`;
    `marker` is written where a source is missing, the table does not list its value, or a formula has
    none."""

    kind: ClassVar[str] = "derived"
    schema_position: ClassVar[int] = 130
    bare: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = ("kind",)

    rule: str
    of: tuple[str, ...]
    decimals: int = 0
    constant: float | None = None
    table: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
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
                repair="name the columns in order, each once: two or more for a sum, two for a difference "
                "or a clock, latitude and longitude for the nearest point, one or two for a lookup or a "
                "ratio, one or more for a product or a complement, else one",
                field="of",
            )
        if type(self.decimals) is not int or not 0 <= self.decimals <= MAX_DECIMALS:
            raise self.error(
                f"decimals are not from 0 to {MAX_DECIMALS}",
                repair="give a whole number",
                field="decimals",
            )
        if self.decimals and self.rule not in NUMBER_RULES:
            raise self.error(
                "decimals of what is no sum", repair="leave decimals out", field="decimals"
            )
        self._check_constant()
        self._check_table()
        self._check_points()

    def _check_constant(self) -> None:
        broken = problem_of_constant(self.rule, self.constant)
        if broken is not None:
            raise self.error(broken.rule, repair=broken.repair, field=broken.field)
        if self.rule in ("product", "ratio") and len(self.of) == 1 and self.constant is None:
            raise self.error(
                f"a {self.rule} of one column without a constant",
                repair='name another column, or state "constant"',
                field="of",
            )
        if self.constant is not None:
            object.__setattr__(self, "constant", float(self.constant))

    def _check_table(self) -> None:
        object.__setattr__(self, "table", tuple(tuple(pair) for pair in self.table))
        if bool(self.table) != (self.rule == "lookup"):
            raise self.error(
                "a lookup without a table, or a table without a lookup",
                repair='give "table" with the rule "lookup", and with no other',
                field="table",
            )
        if len(self.table) > MAX_CODES or not all(
            len(row) == len(self.of) + 1 and all(isinstance(text, str) for text in row)
            for row in self.table
        ):
            raise self.error(
                f"the table has more than {MAX_CODES:,} rows, or one that is not a text for each column "
                "and one beside them",
                repair='list rows like ["value", "what stands beside it"], with a value of each column',
                field="table",
            )
        if len({row[:-1] for row in self.table}) < len(self.table):
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
        broken = NearestPoints(self.points).problem()
        if broken is not None:
            raise self.error(broken.rule, repair=broken.repair, field=broken.field)

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
        if self.rule in (*NUMBER_RULES, "nearest") and results != {"number"}:
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
        if source.holds_numbers or (self.rule in FORMULAS and _is_written_in_digits(source)):
            return "number"
        return "text" if source.day_format is None else "day"

    @property
    def reads_texts(self) -> bool:
        """Whether it is computed from its sources as a file has them."""
        return self.rule == "lookup" or self.rule in FORMULAS

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
        texts = [row[-1] for row in self.table] or [text for _, _, text in self.points]
        return (self.marker, *dict.fromkeys(texts))

    @property
    def holds_numbers(self) -> bool:
        return self.rule not in ("copy", "lookup", "nearest")

    @property
    def sentence(self) -> str:
        """The function in words."""
        if self.rule in FORMULAS:
            formula = FORMULAS[self.rule]
            constant = formula.constant if self.constant is None else self.constant
            return formula.sentence(self.of, constant)
        match self.rule:
            case "sum":
                return " + ".join(self.of)
            case "difference":
                return " − ".join(self.of)
            case "copy":
                return f"a copy of {self.of[0]}"
            case "lookup":
                return f"{' and '.join(self.of)}, by a list of {len(self.table)} values"
            case "nearest":
                return f"the nearest of {len(self.points):,} points to {' and '.join(self.of)}"
        return f"the {self.rule} of {self.of[0]}"

    def details(self) -> dict[str, object]:
        further: dict[str, object] = {
            "decimals": self.decimals,
            "constant": self.constant,
            "table": [list(pair) for pair in self.table],
            "points": [list(point) for point in self.points],
            "marker": self.marker,
            "written": self.written.to_json(),
        }
        return {"rule": self.rule, "of": list(self.of)} | {
            key: value
            for key, value in further.items()
            if value or (key == "constant" and value is not None)
        }

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        pair: Schema = {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 3}
        own: Schema = {
            "rule": {"enum": list(RULES)},
            "of": {"type": "array", "items": NAME, "minItems": 1, "maxItems": MAX_SOURCES},
            "decimals": {"type": "integer", "minimum": 0, "maximum": MAX_DECIMALS},
            "constant": {"type": "number"},
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
            "constant": fields.number("constant"),
            "table": table,
            "points": points,
            "marker": fields.text("marker", default=None),
            "written": form,
        }

    def write(self, column: pd.Series) -> pd.Series:
        import pandas as pd

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
        import pyarrow as pa

        if not self.holds_numbers:
            return pa.string()
        return pa.float64() if self.decimals else pa.int64()

    def table_schema(self) -> TableSchemaField:
        if not self.holds_numbers:
            return TableSchemaField("string")
        return TableSchemaField("number" if self.decimals else "integer")


def _is_written_in_digits(source: Attribute) -> bool:
    """Whether a yes or no is written as two numbers, such as 1 and 0."""
    return isinstance(source, Boolean) and all(text.isdecimal() for text in source.value_labels)


def compute(
    attribute: Derived, sources: list[pd.Series], texts: Sequence[pd.Series]
) -> pd.Series:
    """The values of a derived column. sources: its source columns, shape (rows,). texts: the same as a file
    has them."""
    import pandas as pd

    first = sources[0]
    if attribute.rule == "copy":
        return first
    if attribute.rule == "lookup":
        return _looked_up(attribute, texts).set_axis(first.index)
    if attribute.rule in FORMULAS:
        return _formula(attribute, sources, texts).set_axis(first.index)
    if attribute.rule == "nearest":
        latitude, longitude = map(_floats, sources)
        nearest = NearestPoints(attribute.points).texts(latitude, longitude)
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


def _floats(column: pd.Series) -> Floats:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _looked_up(attribute: Derived, texts: Sequence[pd.Series]) -> pd.Series:
    import pandas as pd

    listed = {row[:-1]: row[-1] for row in attribute.table}
    cells = zip(*(column.tolist() for column in texts), strict=True)
    return pd.Series([listed.get(row) for row in cells], dtype="str")


def _formula(
    attribute: Derived, sources: Sequence[pd.Series], texts: Sequence[pd.Series]
) -> pd.Series:
    import pandas as pd

    columns = [
        _floats(source)
        if pd.api.types.is_numeric_dtype(source)
        else pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64)
        for source, text in zip(sources, texts, strict=True)
    ]
    values = np.round(
        FORMULAS[attribute.rule].compute(columns, attribute.constant), attribute.decimals
    )
    if attribute.decimals:
        return pd.Series(values).astype("Float64").mask(np.isnan(values))
    # What no whole number stands for exactly is no value of a column of whole numbers.
    lost = np.isnan(values) | (np.abs(values) > MAX_WHOLE)
    return pd.Series(np.where(lost, 0.0, values).astype(np.int64)).astype("Int64").mask(lost)
