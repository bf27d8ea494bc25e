"""One of a list of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds.attribute import OTHER, Attribute, Outside, TableSchemaField
from synth_engine.kinds.facts import PAID_FOR
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import TEXTS, VALUE_SET, Schema, optional
from synth_engine.kinds.labels import codes_of_labels, labelled
from synth_engine.kinds.reading import Codes
from synth_engine.values import ValueSet

if TYPE_CHECKING:
    import pandas as pd

MAX_PLACED_CODES = 1_000_000
"""Codes of a column whose values have public points: census blocks are many. Which methods count so many is
up to each (`Mechanism.most_codes`)."""


@dataclass(frozen=True, kw_only=True)
class Categorical(Attribute):
    """One of a list of texts. A text not listed is "other", else missing, else (`outside="clamp"`, to be
    asked for) the first of the list. With `reads`, a public set, every spelling of a value that the set knows
    is that value; a run that finds values in a set keeps it so."""

    kind: ClassVar[str] = "categorical"
    codes_field: ClassVar[str] = "values"
    schema_position: ClassVar[int] = 10
    lists_values: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "values", "missing")
    outsides: ClassVar[tuple[Outside, ...]] = ("other", "missing", "clamp")
    most_codes: ClassVar[int] = (
        MAX_PLACED_CODES  # beyond MAX_CODES they need points: see Domain
    )

    values: tuple[str, ...]
    other: bool = False
    reads: ValueSet | None = field(default=None, repr=False)

    def check(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        self._check_texts(self.values, what="value", field="values")
        self._check_reads()
        self._check_apart_from_missing(self.values)
        if self.other and OTHER in self.values + (self.missing or ()):
            raise self.error(
                f"{OTHER!r} is what other values are called",
                repair="rename that value",
                field="values",
            )

    def _check_reads(self) -> None:
        if self.reads is None:
            return
        ranks = self.reads.ranks(self.values)
        spelled = [None if rank is None else self.reads.unrank(rank) for rank in ranks]
        # Where a run found no value at all, the label that stands for none is in no set.
        if any(
            text != value and not (text is None and self.facts["values"] in PAID_FOR)
            for text, value in zip(spelled, self.values, strict=True)
        ):
            raise self.error(
                "a value that the set in reads does not have in this spelling",
                repair="spell it as the set does, or leave reads out",
                field="values",
            )

    def listed(self, texts: Sequence[str]) -> list[str | None]:
        """The value that each text stands for, a function of this text alone; None for one that is not
        listed."""
        if self.reads is None:
            return [text if text in self._values_by_text else None for text in texts]
        return [
            None if rank is None else self._values_by_rank.get(rank)
            for rank in self.reads.ranks(texts)
        ]

    @cached_property
    def _values_by_text(self) -> frozenset[str]:
        return frozenset(self.values)

    @cached_property
    def _values_by_rank(self) -> dict[int, str]:
        ranks = [] if self.reads is None else self.reads.ranks(self.values)
        return {
            rank: value
            for rank, value in zip(ranks, self.values, strict=False)
            if rank is not None
        }

    @property
    def value_labels(self) -> tuple[str, ...]:
        return self.values

    @property
    def is_found(self) -> bool:
        # What was learned is never called "other" but where there is nothing else (`Weak.from_ranks`).
        return self.facts["values"] not in PAID_FOR or self.values != (OTHER,)

    @property
    def has_other(self) -> bool:
        return self.other

    @property
    def declared_texts(self) -> tuple[str, ...]:
        return self.value_labels

    def details(self) -> dict[str, object]:
        reading = {} if self.reads is None else {"reads": self.reads.to_json()}
        return {"values": list(self.values), "other": self.other, **reading}

    def _default_outside(self) -> Outside:
        if self.other:
            return "other"
        if self.missing is not None:
            return "missing"
        raise self.error(
            "a text that is not listed has nowhere to go",
            repair='set "other": true, declare missing markers, or set "outside": "clamp" for the first '
            "value",
            field="outside",
        )

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        return {
            "values": TEXTS | {"maxItems": MAX_PLACED_CODES},
            "other": {"type": "boolean"},
            "reads": optional(VALUE_SET),
        }, ("values",)

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, object]:
        return fields.needed(values=fields.texts("values")) | {
            "other": fields.boolean("other"),
            "reads": fields.value_set("reads"),
        }

    def encode(self, texts: list[str]) -> Codes:
        if self.reads is None:
            return codes_of_labels(self, texts)
        # "Other" as a generated table has it is no value of the set.
        labels = [
            OTHER if text == OTHER else value
            for text, value in zip(texts, self.listed(texts), strict=True)
        ]
        return codes_of_labels(self, labels)

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> pd.Series:  # noqa: ARG002
        return labelled(self, codes)

    def table_schema(self) -> TableSchemaField:
        listed = [*self.values, *([OTHER] if self.has_other else [])]
        order: dict[str, object] = (
            {"categories": listed, "categoriesOrdered": True} if self.ordered else {}
        )
        return TableSchemaField("string", order, {"enum": listed})
