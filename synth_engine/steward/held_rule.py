"""A rule that holds in some rows of a table, the columns in which it is looked for, and when chance would not
explain it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Attribute

MIN_ROWS = 50
CHANCE = 1e-6
"""Below it, a rule does not hold by chance."""
_FEWEST_VALUES = 3
DERIVED = "derived"
_FACT = "This holds in the data: declare it only if it is written somewhere."

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class HeldRule:
    """A rule that holds in some rows.

    column: the column that it is about.
    sentence: the rule in words.
    kind: the constraint that states it, "derived" for a function that a column is computed by, empty where
    nothing does. facts: keys of that constraint, or of that column. Values of the table are not among them:
    whoever states the rule
        writes them down."""

    column: str
    sentence: str
    kind: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def remark(self) -> str:
        return f"{self.sentence} {_FACT}"

    def to_json(self) -> dict[str, object]:
        return {
            "column": self.column,
            "kind": self.kind,
            "facts": dict(self.facts),
            "sentence": self.remark,
        }


Rules = dict[str, list[HeldRule]]
"""Rules by the column that they are about."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledColumn:
    """A column of some rows.

    attribute: as it is suggested; None where the suggestion says too little to be one.
    numbers: shape (n,), values that compare, in their unit, NaN where missing; None for texts.
    unit: the largest unit of differences of these values, such as days; empty for plain numbers and texts.
    codes: shape (n,), a number for each different text.
    missing: shape (n,), whether the cell is a marker.
    texts: the different texts, by code."""

    name: str
    attribute: Attribute | None
    numbers: Floats | None
    unit: str
    codes: NDArray[np.int64]
    missing: NDArray[np.bool_]
    texts: list[str]


def add(
    rules: Rules, column: str, sentence: str, *, kind: str, facts: Mapping[str, Any]
) -> None:
    rules[column].append(HeldRule(column=column, sentence=sentence, kind=kind, facts=facts))


def varies(column: SampledColumn) -> bool:
    """Whether it has numbers, and enough different ones for a rule to say anything."""
    if column.numbers is None:
        return False
    known = column.numbers[~np.isnan(column.numbers)]
    return len(known) >= MIN_ROWS and len(np.unique(known)) >= _FEWEST_VALUES


def equal(left: Floats, right: Floats) -> NDArray[np.bool_]:
    """Which numbers are equal but for rounding."""
    near: NDArray[np.bool_] = np.abs(left - right) <= 1e-6 * np.maximum(1.0, np.abs(left))
    return near
