"""Define totals: how many records have each value of one column, public, exact, and equal in neighbouring
tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from synth_engine.domain import sources
from synth_engine.domain.sources import Source
from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.undeclared import Undeclared
from synth_engine.privacy.receipt import TOTALS

_REPAIR = 'give "column" and "counts", an object of values and whole numbers'


@dataclass(frozen=True, kw_only=True)
class Totals:
    """`counts`: how many records have each code of `column`, "other" and missing included; 0 is allowed.
    `source`: where that is published."""

    column: str
    counts: tuple[int, ...]
    source: Source | None = None

    @property
    def rows(self) -> int:
        return sum(self.counts)

    @property
    def invariant(self) -> str:
        """Return the name of the invariant in a receipt."""
        return f"{TOTALS}{self.column}"

    def check(self, attributes: Sequence[Attribute]) -> None:
        """Refuses totals of a column that is absent or not known by all its values."""
        known = {attribute.name: attribute for attribute in attributes if attribute.size}
        attribute = known.get(self.column)
        if attribute is None or isinstance(attribute, Undeclared):
            raise DomainError(
                "totals of a column that has no declared values",
                repair="declare its values",
                column=self.column,
            )
        # "Other" and missing need totals too: the sum is the public number of records.
        if len(self.counts) != attribute.size or any(
            type(n) is not int or n < 0 for n in self.counts
        ):
            raise DomainError(
                "totals are not one whole number of 0 or more for each value",
                repair=_REPAIR,
                column=self.column,
            )
        if not self.rows:
            raise DomainError(
                "all totals are 0",
                repair="give the public totals, or leave them out",
                column=self.column,
            )

    def to_json(self, attributes: Sequence[Attribute]) -> dict[str, object]:
        """Return the totals that are not 0, by label."""
        [attribute] = [each for each in attributes if each.name == self.column]
        return {
            "column": self.column,
            "counts": {
                label: n for label, n in zip(attribute.labels, self.counts, strict=True) if n
            },
            **({} if self.source is None else {"source": self.source.to_json()}),
        }


def parse(document: object, attributes: Sequence[Attribute]) -> Totals:
    """Read totals from JSON; values that are not named have the total 0. Errors: DomainError."""
    if not isinstance(document, Mapping):
        raise DomainError("totals are not an object", repair=_REPAIR)
    fields = Fields(document)
    fields.only("column", "counts", "source")
    column, counts = fields.text("column"), document.get("counts")
    if not isinstance(counts, Mapping):
        raise DomainError("counts are not an object", repair=_REPAIR, column=column or None)
    labels = next((each.labels for each in attributes if each.name == column), ())
    if not labels:
        raise DomainError(
            "totals of a column that has no declared values",
            repair="declare its values",
            column=column or None,
        )
    if not set(counts) <= set(labels):
        raise DomainError(
            "totals name a value that the column does not have",
            repair="declare the value, or take it out",
            column=column,
        )
    source = sources.parse(document.get("source"))
    return Totals(
        column=column, counts=tuple(counts.get(label, 0) for label in labels), source=source
    )
