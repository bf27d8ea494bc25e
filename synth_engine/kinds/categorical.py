"""One of a list of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine.kinds.attribute import OTHER, Attribute, Outside, TableSchemaField
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import TEXTS, Schema
from synth_engine.kinds.labels import codes_of_labels, labelled
from synth_engine.kinds.reading import Codes

MAX_PLACED_CODES = 1_000_000
"""Codes of a column whose values have public points: census blocks are many. Which methods count so many is up to each
(`Mechanism.most_codes`)."""


@dataclass(frozen=True, kw_only=True)
class Categorical(Attribute):
    """One of a list of texts. A text not listed is "other", else missing, else (`outside="clamp"`, to be asked for)
    the first of the list."""

    kind: ClassVar[str] = "categorical"
    codes_field: ClassVar[str] = "values"
    schema_position: ClassVar[int] = 10
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "values", "missing")
    outsides: ClassVar[tuple[Outside, ...]] = ("other", "missing", "clamp")
    most_codes: ClassVar[int] = (
        MAX_PLACED_CODES  # beyond MAX_CODES they need points: see Domain
    )

    values: tuple[str, ...]
    other: bool = False

    def check(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        self._check_texts(self.values, what="value", field="values")
        self._check_apart_from_missing(self.values)
        if self.other and OTHER in self.values + (self.missing or ()):
            raise self.error(
                f"{OTHER!r} is what other values are called",
                repair="rename that value",
                field="values",
            )

    @property
    def value_labels(self) -> tuple[str, ...]:
        return self.values

    @property
    def has_other(self) -> bool:
        return self.other

    @property
    def declared_texts(self) -> tuple[str, ...]:
        return self.value_labels

    def details(self) -> dict[str, object]:
        return {"values": list(self.values), "other": self.other}

    def _default_outside(self) -> Outside:
        if self.other:
            return "other"
        if self.missing is not None:
            return "missing"
        raise self.error(
            "a text that is not listed has nowhere to go",
            repair='set "other": true, declare missing markers, or set "outside": "clamp" for the first value',
            field="outside",
        )

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        return {
            "values": TEXTS | {"maxItems": MAX_PLACED_CODES},
            "other": {"type": "boolean"},
        }, ("values",)

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, object]:
        return fields.needed(values=fields.texts("values")) | {"other": fields.boolean("other")}

    def encode(self, texts: list[str]) -> Codes:
        return codes_of_labels(self, texts)

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> pd.Series:  # noqa: ARG002
        return labelled(self, codes)

    def table_schema(self) -> TableSchemaField:
        listed = [*self.values, *([OTHER] if self.has_other else [])]
        order: dict[str, object] = (
            {"categories": listed, "categoriesOrdered": True} if self.ordered else {}
        )
        return TableSchemaField("string", order, {"enum": listed})
