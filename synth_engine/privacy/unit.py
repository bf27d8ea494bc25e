"""Who is protected, against which change of the table, and how far counts can move under that change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import Any

from synth_engine.errors import DomainError, PrivacyError
from synth_engine.strict_json import JsonObject

MAX_RECORDS_LIMIT = 1_000_000


class Spelling(StrEnum):
    """When two identifiers of a unit's column are one unit. Blanks around an identifier never count."""

    EXACT = "exact"
    """They are spelled alike."""
    CASEFOLD = "casefold"
    """They are spelled alike but for case and for forms of the same letter (Unicode NFKC, then case
    folding)."""
    INTEGER = "integer"
    """They are the same whole number, whatever its sign +, its leading zeros and its decimals of zero; others
    as exact."""


IDENTIFIER_RULES = 1
"""The version of the rules by which identifiers get one form (`codec.units`). Which records are of one unit
follows from it, so it is raised with each change of these rules."""
VOTE = 10_000
"""Parts of the one vote that a basket has, so that shares of it are whole numbers."""


class Relation(StrEnum):
    """When two tables count as neighbours."""

    ADD_REMOVE = "add-remove"
    """One has all the records of the other, and one unit more."""
    REPLACE_ONE = "replace-one"
    """Both have the same number of records; the records of one unit differ."""


@dataclass(frozen=True, kw_only=True)
class PrivacyUnit:
    """What one unit may hold: at most `max_records` records, which share a value of `column`.

    Without a column the bound is a promise of the steward; with one, the room enforces it. `spelling` says
    which values of the column are the same one, so units of two spellings are different units.
    """

    max_records: int = 1
    column: str | None = None
    spelling: Spelling = Spelling.EXACT

    def __post_init__(self) -> None:
        if type(self.max_records) is not int or not 1 <= self.max_records <= MAX_RECORDS_LIMIT:
            raise DomainError(
                f"max_records of the privacy unit must be a whole number from 1 to {MAX_RECORDS_LIMIT}",
                repair="give the largest number of records that one person may have",
            )
        if self.column is not None and (not isinstance(self.column, str) or not self.column):
            raise DomainError(
                "the column of the privacy unit must be a column name",
                repair="leave it out if none",
            )
        if self.spelling not in set(Spelling):
            raise DomainError(
                "the spelling of the privacy unit is unknown",
                repair=f"use one of {', '.join(Spelling)}, or leave it out",
            )
        # The class is frozen, and a plain string is accepted: it is stored as the enumeration.
        object.__setattr__(self, "spelling", Spelling(self.spelling))
        if self.column is None and self.spelling is not Spelling.EXACT:
            raise DomainError(
                "the privacy unit has a spelling and no column",
                repair="name the column, or leave it out",
            )

    def to_json(self) -> JsonObject:
        """The usual spelling is not written, so that documents from before there was a choice keep their
        digests."""
        written: JsonObject = (
            {} if self.spelling is Spelling.EXACT else {"spelling": self.spelling.value}
        )
        return {"max_records": self.max_records, "column": self.column, **written}

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> PrivacyUnit:
        if not isinstance(obj, Mapping) or not set(obj) <= {
            "max_records",
            "column",
            "spelling",
        }:
            raise DomainError(
                "the privacy unit is an object with max_records and column, and perhaps spelling",
                repair="remove other keys",
            )
        spelling = obj.get("spelling", Spelling.EXACT)
        if not isinstance(spelling, str):
            raise DomainError(
                "the spelling of the privacy unit is no text",
                repair=f"use one of {', '.join(Spelling)}",
            )
        return cls(
            max_records=obj.get("max_records", 1),
            column=obj.get("column"),
            # What is no spelling is refused, with its repair, where a unit checks itself.
            spelling=spelling,  # type: ignore[arg-type]
        )

    def sentence(self) -> str:
        """Who is protected, as a noun phrase: "one record", "one person, at most 5 rows"."""
        if self.column is None and self.max_records == 1:
            return "one record"
        rows = "row" if self.max_records == 1 else "rows"
        return f"one person, at most {self.max_records} {rows}"


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """How far answers move between neighbours.

    l1, l2_squared: of a table of counts in which every record falls into exactly one cell.
    linf: of a vector of scores, each the L1 distance of such a table from a public reference; by the
    triangle inequality it is l1.
    """

    l1: int
    l2_squared: int
    linf: int


def levels_sensitivity(of_one: Sensitivity, *, levels: int) -> Sensitivity:
    """The sensitivity of `levels` tables, in each of which every record has one cell: a tree counted depth by
    depth."""
    return Sensitivity(
        l1=levels * of_one.l1, l2_squared=levels * of_one.l2_squared, linf=of_one.linf
    )


def group_sizes_sensitivity(relation: Relation) -> Sensitivity:
    """Sensitivities of the numbers of units with 1, 2, … records, whatever the most that a unit may have: a
    unit is in one cell, so it counts there as one record does in a table of records
    (docs/proofs/group-sizes.md)."""
    return histogram_sensitivity(PrivacyUnit(), relation)


def scores_sensitivity(of_one: Sensitivity, *, number: int) -> Sensitivity:
    """The sensitivity of a vector of scores that all move at once, each by `of_one.linf` at most
    (docs/proofs/score.md)."""
    linf = of_one.linf
    return Sensitivity(l1=number * linf, l2_squared=number * linf**2, linf=linf)


def items_sensitivity(of_one: Sensitivity) -> Sensitivity:
    """The sensitivity of weighted counts of items, in parts of a vote: a basket has one vote in all, in the
    norm of its noise, as a record has one cell (docs/proofs/items.md)."""
    return Sensitivity(
        l1=VOTE * of_one.l1, l2_squared=VOTE**2 * of_one.l2_squared, linf=VOTE * of_one.linf
    )


def interaction_sensitivity(
    unit: PrivacyUnit, relation: Relation, *, sizes: Sequence[int]
) -> Sensitivity:
    """The sensitivity of the interaction contrast of a table with `sizes` cells along its axes
    (docs/proofs/interaction.md).

    One record more moves it by (K - 1 or -1) along each axis of K cells: L1 length 2 (K - 1), squared L2
    length K (K - 1). A record that is replaced moves it farthest where it changes its cell along the axis of
    fewest cells alone. Errors: PrivacyError for an axis of one cell, along which nothing interacts.
    """
    if not sizes or min(sizes) < 2:
        raise PrivacyError("interactions are asked for along axes of two or more cells")
    m, replaced = unit.max_records, relation is Relation.REPLACE_ONE
    spread = prod(size - 1 for size in sizes)
    l1, l2_squared, linf = 2 ** len(sizes) * spread, prod(sizes) * spread, spread
    if replaced:
        l1, linf = 2 * l1, linf + spread // (min(sizes) - 1)
        # |u|² + |v|² - 2 u·v: u·v has the factor -K on one axis, K (K - 1) on the others.
        l2_squared = 2 * prod(sizes) * linf
    return Sensitivity(l1=m * l1, l2_squared=m * m * l2_squared, linf=m * linf)


def histogram_sensitivity(unit: PrivacyUnit, relation: Relation) -> Sensitivity:
    """Sensitivities of counts for a unit of at most M records.

    Add/remove: the counts change by a vector a >= 0 with sum <= M, so L1 <= M and squared L2 <= M².
    Replace-one: by b - a with both of that kind, so L1 <= 2M, and squared L2 <= |a|² + |b|² <= 2M²,
    because the inner product of a and b is not negative (docs/proofs/measure.md).
    """
    m = unit.max_records
    if relation is Relation.ADD_REMOVE:
        return Sensitivity(l1=m, l2_squared=m * m, linf=m)
    return Sensitivity(l1=2 * m, l2_squared=2 * m * m, linf=2 * m)
