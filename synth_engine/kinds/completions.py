"""Public texts by which a text is completed of which only the beginning was found: a set of values, and a
weight for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from synth_engine import values as public_sets
from synth_engine.errors import DomainError
from synth_engine.strict_json import JsonObject

MAX_COMPLETIONS = 1_000_000
_REPAIR = (
    'give a set of values, such as {"set": "list", "values": '
    '["…"]}, with "weights" if some are more likely'
)


@dataclass(frozen=True, kw_only=True)
class Completions:
    """`weights`: of each text of the set, in its order, not negative; none where each is as likely as
    another. Public: no weight may come from the table."""

    values: public_sets.ValueSet
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.values.size > MAX_COMPLETIONS:
            raise DomainError(
                f"completions are more than {MAX_COMPLETIONS:,} texts",
                repair="list the frequent ones",
            )
        if self.weights and len(self.weights) != self.values.size:
            raise DomainError(
                "weights of completions are not one for each text", repair=_REPAIR
            )
        numbers = [
            w for w in self.weights if isinstance(w, int | float) and not isinstance(w, bool)
        ]
        # The bound keeps the sum of all weights finite.
        if len(numbers) < len(self.weights) or not all(0 <= w < 1e300 for w in numbers):
            raise DomainError("a weight of a completion is no number from 0 on", repair=_REPAIR)

    def to_json(self) -> JsonObject:
        return self.values.to_json() | ({"weights": list(self.weights)} if self.weights else {})

    @classmethod
    def from_json(cls, document: object) -> Completions:
        """Errors: DomainError."""
        if not isinstance(document, Mapping) or not isinstance(
            document.get("weights", []), list
        ):
            raise DomainError("completions are no set of values", repair=_REPAIR)
        values = public_sets.from_json(
            {key: value for key, value in document.items() if key != "weights"}
        )
        return cls(values=values, weights=tuple(document.get("weights", ())))
