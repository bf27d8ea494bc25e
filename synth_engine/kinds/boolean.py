"""Yes or no, each written as one text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds.attribute import Attribute, Outside, TableSchemaField
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import TEXT, Schema
from synth_engine.kinds.labels import codes_of_labels, labelled
from synth_engine.kinds.reading import Codes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Boolean(Attribute):
    """Two texts. Anything else is missing, or false where nothing can be missing. Code 0 is false."""

    kind: ClassVar[str] = "boolean"
    schema_position: ClassVar[int] = 40
    lists_values: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "values", "missing")

    true: str = "true"
    false: str = "false"

    def check(self) -> None:
        self._check_texts((self.false, self.true), what="value", field="true")
        self._check_apart_from_missing((self.false, self.true))

    @property
    def value_labels(self) -> tuple[str, ...]:
        return (self.false, self.true)

    @property
    def declared_texts(self) -> tuple[str, ...]:
        return self.value_labels

    def details(self) -> dict[str, object]:
        return {"true": self.true, "false": self.false}

    def _default_outside(self) -> Outside:
        return "clamp" if self.missing is None else "missing"

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        return {"true": TEXT, "false": TEXT}, ()

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, object]:
        return {key: fields.text(key, default=None) for key in ("true", "false")}

    def encode(self, texts: list[str]) -> Codes:
        return codes_of_labels(self, texts)

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> pd.Series:  # noqa: ARG002
        return labelled(self, codes)

    def table_schema(self) -> TableSchemaField:
        return TableSchemaField(
            "boolean", {"trueValues": [self.true], "falseValues": [self.false]}
        )
