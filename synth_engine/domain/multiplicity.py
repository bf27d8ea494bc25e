"""Define repeats: the column that contains how many records each row stands for. It is a fact about the
table's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.identifier import Identifier

# A row is repeated in memory, so that one cell must not be able to ask for any number of
# records.
MAX_REPEATS = 100_000


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """A row counts as so many records as `column` says, before anything else is done with it: at most `most`,
    and one where the cell is no whole number. One record more or less in the table is one more or less in a
    cell, so neighbours are what they were; what is protected is a record, not a row."""

    column: str
    most: int

    def check(self, attributes: Sequence[Attribute], *, unit: str | None) -> None:
        """Refuses a column that is described as something of a record, and a bound that holds nothing."""
        if not 1 <= self.most <= MAX_REPEATS:
            raise DomainError(
                f"the most records that a row stands for is not from 1 to {MAX_REPEATS:,}",
                repair="give the largest number that can be, from what is publicly known",
                column=self.column,
            )
        described = next((each for each in attributes if each.name == self.column), None)
        if self.column == unit or (
            described is not None and not isinstance(described, Identifier)
        ):
            raise DomainError(
                "a column says how many records a row stands for, and something else too",
                repair="leave it out of the described columns: each record has it no more",
                column=self.column,
            )

    def cuts(self, totals: Sequence[int]) -> bool:
        """Whether a row of a table with these totals may stand for more than `most` records. If not, cutting
        turns no other table into one that seems to have these totals: then whether a table has them is the
        same for all neighbours."""
        return self.most <= max(totals)

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def parse(document: object) -> Repeats | None:
    """Read repeats from JSON; None for none. Errors: DomainError."""
    if document is None:
        return None
    if not isinstance(document, Mapping):
        raise DomainError("repeats is no object", repair='give "column" and "most"')
    fields = Fields(document)
    fields.only("column", "most")
    return Repeats(column=fields.text("column"), most=fields.integer("most") or 0)
