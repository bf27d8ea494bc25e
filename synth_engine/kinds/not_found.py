"""A column of which a run learned too little to say anything: it is empty in every generated table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds.attribute import MISSING, Attribute, TableSchemaField
from synth_engine.kinds.cell_form import USUAL
from synth_engine.kinds.facts import Provenance
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import Schema
from synth_engine.kinds.reading import Codes, code_dtype
from synth_engine.kinds.undeclared import Undeclared

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class NotFound(Attribute):
    """An undeclared column whose values a run did not find. No method counts it, and all of its generated
    cells are missing. `column` is what was described. `counted`: it has one code, the same for every record,
    so that a table of which nothing was found has a column to count records by."""

    kind: ClassVar[str] = "not-found"
    schema_position: ClassVar[int] = 87
    bare: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "values")

    column: Undeclared
    counted: bool = False

    @classmethod
    def of(cls, column: Undeclared, *, counted: bool = False) -> NotFound:
        """The state of a column that was described like this and not found."""
        facts: dict[str, Provenance] = {"kind": column.facts["kind"], "values": "learned"}
        return cls(name=column.name, column=column, counted=counted, provenance=facts)

    def check(self) -> None:
        if not isinstance(self.column, Undeclared) or self.column.name != self.name:
            raise self.error(
                "a column that was not found is no column of this name that is to be learned",
                repair="use the description of the release",
                field="column",
            )
        if self.missing is not None or not self.written.usual or self.written != USUAL:
            raise self.error(
                "what is missing is stated by the column that was not found",
                repair="use the description of the release",
                field="column",
            )

    @property
    def value_labels(self) -> tuple[str, ...]:
        return (MISSING,) if self.counted else ()

    @property
    def is_found(self) -> bool:
        return False

    @property
    def in_table(self) -> bool:
        return True

    def encode(self, texts: list[str]) -> Codes:
        codes: Codes = np.zeros(len(texts), dtype=code_dtype(1))
        return codes

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> pd.Series:  # noqa: ARG002
        import pandas as pd
        import pyarrow as pa

        empty = pd.Series(pd.NA, index=range(len(codes)), dtype="object")
        if self.holds_numbers:
            return empty.astype("Float64" if pa.types.is_floating(self.arrow_type) else "Int64")
        return empty.astype("datetime64[s]" if self.day_format else "str")

    def write(self, column: pd.Series) -> pd.Series:
        import pandas as pd

        return pd.Series([self.missing_text] * len(column), dtype="str")

    @property
    def missing_text(self) -> str:
        return self.column.missing_text

    @property
    def holds_numbers(self) -> bool:
        return self.column.holds_numbers

    @property
    def day_format(self) -> str | None:
        return self.column.day_format

    @property
    def arrow_type(self) -> pa.DataType:
        return self.column.arrow_type

    def table_schema(self) -> TableSchemaField:
        """The type alone: there are no values."""
        field = self.column.table_schema()
        return TableSchemaField(field.type, field.properties)

    def details(self) -> dict[str, object]:
        return {"column": self.column.to_json()} | ({"counted": True} if self.counted else {})

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        own: Schema = {
            "column": {"type": "object", "required": ["name", "kind"]},
            "counted": {"type": "boolean"},
        }
        return own, ("column",)

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, Any]:
        from synth_engine.kinds import parse_attribute  # which knows this kind, too

        document = fields.document.get("column")
        # No column that was not found is the column of another one: a document could be as deep as it likes.
        if not isinstance(document, dict) or document.get("kind") == cls.kind:
            raise fields.wrong("column", "the description of a column that is to be learned")
        return {"column": parse_attribute(document), "counted": fields.boolean("counted")}
