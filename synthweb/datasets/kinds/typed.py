"""The typed fields of one column; every refusal names the column and the input."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from synth_engine.domain import MAX_CODES
from synth_engine.domain.document import parse
from synth_engine.errors import DomainError
from synthweb.datasets.list_fields import split

CHECKED = "on"

# Eighteen digits always fit into 64 bits.
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")

# Stricter than `float`, which takes “inf”, “nan” and “1_000”.
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")

LABELS = {
    "low": "lowest",
    "high": "highest",
    "width": "bin width",
    "edges": "edges",
    "bins": "number of bins",
    "step_days": "step",
    "step": "step",
    "true": "yes",
    "false": "no",
    "widest_low": "lowest at the widest",
    "widest_high": "highest at the widest",
    "most_bins": "number of bins at most",
    "rho": "chance that nothing is invented",
    "min_length": "shortest",
    "max_length": "longest",
    "decimals": "digits after the decimal mark",
    "digits_wide": "digits in front",
    "keep": "how many items a run chooses",
}
"""What messages call the inputs, whatever the kind."""


class FieldError(DomainError):
    """A refusal of what stands in some inputs, whose names are `keys`."""

    def __init__(self, rule: str, *, repair: str, column: str, keys: Sequence[str]) -> None:
        super().__init__(rule, repair=repair, column=column)
        self.keys = tuple(keys)


class TypedFields:
    """The typed fields of one column; every refusal names the column and the input."""

    def __init__(self, name: str, fields: Mapping[str, str]) -> None:
        self.name, self.fields = name, fields

    def wrong(self, rule: str, repair: str, *keys: str) -> DomainError:
        """A refusal, at the inputs that it is about if they are known."""
        if keys:
            return FieldError(rule, repair=repair, column=self.name, keys=keys)
        return DomainError(rule, repair=repair, column=self.name)

    def text(self, key: str) -> str:
        return str(self.fields.get(key) or "").strip()

    def needed(self, key: str) -> str:
        if not self.text(key):
            raise self.wrong(f"“{LABELS[key]}” is empty", "fill it in", key)
        return self.text(key)

    def whole(self, key: str) -> int:
        return self.as_whole(self.needed(key), key)

    def number(self, key: str) -> float:
        return self.as_number(self.needed(key), key)

    def as_whole(self, text: str, key: str) -> int:
        if not _WHOLE.fullmatch(text):
            raise self.wrong(
                f"“{LABELS[key]}” is not a whole number of at most 18 digits",
                "write digits only, without separators",
                key,
            )
        return int(text)

    def as_number(self, text: str, key: str) -> float:
        if not _NUMBER.fullmatch(text):
            raise self.wrong(
                f"“{LABELS[key]}” is not a number",
                "write it like 12.5, without separators",
                key,
            )
        return float(text)

    def json(self, key: str) -> Any:
        """What came with a file and is kept as it was there."""
        try:
            return parse(self.text(key).encode())
        except DomainError:
            raise self.wrong(
                "what came with a description cannot be read", "upload a DOMAIN.json again"
            ) from None

    def one_of(self, *keys: str) -> str:
        """The one of these inputs that is filled in, if any."""
        filled = [key for key in keys if self.text(key)]
        if len(filled) > 1:
            labels = " and ".join(f"“{LABELS[key]}”" for key in filled)
            raise self.wrong(
                f"{labels} are all given" if len(filled) > 2 else f"both {labels} are given",
                "keep one of them",
                *filled,
            )
        return filled[0] if filled else ""

    def bins(self) -> int:
        bins = self.whole("bins")
        if not 1 <= bins <= MAX_CODES:
            raise self.wrong(
                "the number of bins is out of range",
                f"give a whole number from 1 to {MAX_CODES:,}",
                "bins",
            )
        return bins

    def values_per_bin(self, count: int) -> int:
        """How many of `count` values go into each bin."""
        return max(1, -(-count // self.bins()))

    def missing(self) -> list[str] | None:
        """The markers in order; the first is the one that a release writes."""
        ticked = [""] if self.text("missing_empty") == CHECKED else []
        written = split(self.text("missing"))
        return [*ticked, *(text for text in written if text or not ticked)] or None
