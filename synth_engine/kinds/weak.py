"""One of a public set of texts; a run learns which of them occur."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from synth_engine.kinds.attribute import MAX_CODES, OTHER, Attribute, Outside
from synth_engine.kinds.categorical import Categorical
from synth_engine.kinds.completions import Completions
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import VALUE_SET, Schema
from synth_engine.kinds.not_found import NotFound
from synth_engine.kinds.reading import Codes, code_dtype
from synth_engine.kinds.undeclared import Undeclared
from synth_engine.values import ValueSet

DEFAULT_RHO = 0.9


@dataclass(frozen=True, kw_only=True)
class Weak(Undeclared):
    """One of a public set of texts, of which few occur. `rho` is the chance that no text comes out that
    nobody has. What is not found, or not in the set, is "other", or missing if `outside` says so.
    completions: for a method that finds beginnings of texts."""

    kind: ClassVar[str] = "weak"
    schema_position: ClassVar[int] = 70
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "values", "missing")
    outsides: ClassVar[tuple[Outside, ...]] = ("other", "missing")

    values: ValueSet
    rho: float = DEFAULT_RHO
    completions: Completions | None = None
    ordered: bool = field(default=False)

    def check(self) -> None:
        if (
            not isinstance(self.rho, int | float)
            or isinstance(self.rho, bool)
            or not 0 < self.rho < 1
        ):
            raise self.error(
                "rho does not lie strictly between 0 and 1",
                repair="0.9 is a common choice",
                field="rho",
            )
        object.__setattr__(self, "rho", float(self.rho))
        if self.separate_markers:
            raise self.error(
                "separate markers of a column whose values are not known",
                repair="put the markers into the public set, so that they are values",
                field="separate_markers",
            )
        if any(marker in self.values for marker in self.missing or ()):
            raise self.error(
                "a missing marker is also a value",
                repair="take it off one of the two lists",
                field="missing",
            )
        if self.has_other and OTHER in (self.missing or ()):
            raise self.error(
                f"{OTHER!r} is what other values are called",
                repair="take it off the missing markers",
                field="missing",
            )

    @property
    def value_labels(self) -> tuple[str, ...]:
        return ()

    @property
    def has_other(self) -> bool:
        return self.outside != "missing"

    @property
    def population(self) -> int:
        """Count the values that may be found: those of the set, "other" and missing."""
        return self.values.size + self.size

    def rank(self, text: str | None) -> int:
        """The number of a text among them. "Other" follows the set, missing comes last."""
        return self.ranks([text])[0]

    def ranks(self, texts: Sequence[str | None]) -> list[int]:
        """The numbers of many texts."""
        last, gone = self.population - 1, self.missing
        outside = self.values.size if self.has_other else last
        value_ranks = [
            outside if rank is None else rank
            for rank in self.values.ranks([text or "" for text in texts])
        ]
        if gone is None:
            return value_ranks
        missing = [text is None or text in gone for text in texts]
        return [
            last if lacks else rank for rank, lacks in zip(value_ranks, missing, strict=True)
        ]

    def listed(self, texts: Sequence[str]) -> list[str | None]:
        """The value of the set that each text stands for; None for one that is not in it."""
        return [
            None if rank is None else self.values.unrank(rank)
            for rank in self.values.ranks(texts)
        ]

    def from_ranks(self, ranks: Sequence[int]) -> Categorical | NotFound:
        """The attribute whose values are those of these ranks, in their order. Of too many the first are
        kept, so put the most frequent there; "other" and missing are never left out."""
        # Two codes are left for "other" and missing. Sorted, so that codes run in the order of
        # the set and `admits` can compare.
        texts = [
            self.values.unrank(rank)
            for rank in sorted(ranks[: MAX_CODES - 2])
            if rank < self.values.size
        ]
        # This label stands for all texts that were not found.
        texts = [text for text in texts if text != OTHER]
        facts = dict(self.facts) | {"values": "learned"}
        if not texts and not self.has_other:
            return NotFound.of(self)
        if not texts:  # nothing but "other" and missing
            return Categorical(
                name=self.name,
                values=(OTHER,),
                missing=self.missing,
                outside="clamp",
                provenance=facts,
            )
        # Whoever reads the table again counts each text as the run did: the set's rule goes with
        # the values. Of exact texts the values are the rule.
        reads = None if self.values.is_exact else self.values.reader
        return Categorical(
            name=self.name,
            values=tuple(texts),
            other=self.has_other,
            missing=self.missing,
            outside=self.outside,
            provenance=facts,
            reads=reads,
        )

    def admits(self, resolved: Attribute) -> bool:
        if not isinstance(resolved, Categorical):
            return False
        ranks = [self.values.rank(text) for text in resolved.values]
        return resolved == self.from_ranks([rank for rank in ranks if rank is not None])

    def details(self) -> dict[str, object]:
        further = (
            {} if self.completions is None else {"completions": self.completions.to_json()}
        )
        return {
            "values": self.values.to_json() | {"size": self.values.size},
            "rho": self.rho,
        } | further

    def _default_outside(self) -> Outside:
        return "other"

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        own = {
            "values": VALUE_SET,
            "rho": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            "completions": {"type": "object", "required": ["set"]},
        }
        return own, ("values",)

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, object]:
        return fields.needed(values=fields.value_set("values")) | {
            "rho": fields.number("rho"),
            "completions": fields.completions("completions"),
        }

    def encode(self, texts: list[str]) -> Codes:
        # Nothing is learned yet: each text is "other", or missing where there is no "other".
        return np.zeros(len(texts), dtype=code_dtype(self.size))
