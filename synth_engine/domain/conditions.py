"""Convert values that a declaration names to codes of a column: by their text, as a range of a scale, or as
missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import MISSING, Attribute
from synth_engine.kinds.number import Number
from synth_engine.strict_json import JsonObject


@dataclass(frozen=True, kw_only=True)
class ValueRange:
    """Values of a scale from `low` to `high`, both included; None where it has no end. Days and moments are
    texts."""

    low: float | str | None = None
    high: float | str | None = None

    def to_json(self) -> JsonObject:
        return {
            key: value
            for key, value in (("from", self.low), ("to", self.high))
            if value is not None
        }

    @property
    def words(self) -> str:
        if self.low is None or self.high is None:
            return f"up to {self.high}" if self.low is None else f"{self.low} or more"
        return f"{self.low} to {self.high}"


Value = str | ValueRange | None
"""The text of a value or bin, a range, or None for missing."""


def parse(documents: object, *, column: str) -> tuple[Value, ...]:
    """Values from JSON. Whole numbers may stand for the texts that they are written as."""
    if not isinstance(documents, Sequence) or isinstance(documents, str) or not documents:
        raise DomainError(
            "the values of a constraint are no list", repair="list at least one", column=column
        )
    return tuple(_value(document, column=column) for document in documents)


def to_json(values: Sequence[Value]) -> list[Any]:
    return [value.to_json() if isinstance(value, ValueRange) else value for value in values]


def words(values: Sequence[Value]) -> str:
    """The values as people read them: "a, b or missing"."""
    texts = [
        MISSING.strip("()") if v is None else v.words if isinstance(v, ValueRange) else v
        for v in values
    ]
    shown = texts if len(texts) <= 6 else [*texts[:5], f"{len(texts) - 5} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def codes(attribute: Attribute, values: Sequence[Value]) -> tuple[int, ...]:
    """The codes that are named, ascending. Errors: DomainError for what the column does not declare."""
    matching: set[int] = set()
    texts = any(
        isinstance(value, str) for value in values
    )  # labels of long scales take a while
    known = {label: code for code, label in enumerate(attribute.labels)} if texts else {}
    for place, value in enumerate(values, start=1):
        if value is None:
            matching.add(_missing(attribute))
        elif isinstance(value, ValueRange):
            matching |= set(_inside(attribute, value))
        elif value in known:
            matching.add(known[value])
        else:
            raise attribute.error(
                f"value {place} of a constraint is not declared",
                repair="take one of the column's values or bins, null for missing, or a range of a scale",
            )
    return tuple(sorted(matching))


def each(attribute: Attribute, values: Iterable[Value]) -> Iterator[int]:
    """The one code of each text, or of missing, of the places of a table."""
    known = {label: code for code, label in enumerate(attribute.labels)}
    for place, value in enumerate(values, start=1):
        if value is not None and value not in known:
            raise attribute.error(
                f"pair {place} of a table holds what is not declared",
                repair="take one of the column's values or bins, or null for missing",
            )
        yield _missing(attribute) if value is None else known[str(value)]


def _missing(attribute: Attribute) -> int:
    if attribute.missing_code is None:
        raise attribute.error(
            "a constraint speaks of missing values, which this column cannot have",
            repair="declare its missing markers, or correct the constraint",
        )
    return attribute.missing_code


def _inside(attribute: Attribute, wanted: ValueRange) -> Iterator[int]:
    if not attribute.is_comparable:
        raise attribute.error("a range of a column that is no scale", repair="list its values")
    low, high = _end(attribute, wanted.low, last=False), _end(attribute, wanted.high, last=True)
    if low > high:
        raise attribute.error(
            "a range of a constraint ends before it begins", repair="swap its ends"
        )
    starts, ends = attribute.bin_spans()
    # A number's bin reaches up to its upper edge, where the next one begins: to touch there is not to
    # overlap.
    touching = isinstance(attribute, Number)
    incomparable = (
        (ends <= low) | (starts >= high)
        if touching and low < high
        else (ends < low) | (starts > high)
    )
    within = (starts >= low) & (ends <= high)
    # A constraint is judged on codes: a bin that is cut has one code for both of its parts.
    if not (incomparable | within).all():
        raise attribute.error(
            "a range of a constraint cuts a bin in two",
            repair="begin and end it where bins do, or put edges of bins where it begins and ends",
        )
    if not within.any():
        raise attribute.error(
            "a range of a constraint holds no value", repair="take it within the bounds"
        )
    yield from np.flatnonzero(within & ~incomparable if touching else within).tolist()


def _end(attribute: Attribute, end: float | str | None, *, last: bool) -> float:
    if end is None:
        return np.inf if last else -np.inf
    try:
        return attribute.range_end(end, last=last)
    except (ValueError, OverflowError):
        raise attribute.error(
            "an end of a range cannot be read", repair="write it as the column's bounds are"
        ) from None


def _value(document: object, *, column: str) -> Value:
    if document is None or isinstance(document, str):
        return document
    if isinstance(document, int) and not isinstance(document, bool):
        return str(document)
    if isinstance(document, Mapping) and document and set(document) <= {"from", "to"}:
        low, high = document.get("from"), document.get("to")
        if all(
            end is None or (isinstance(end, int | float | str) and not isinstance(end, bool))
            for end in (low, high)
        ):
            return ValueRange(low=low, high=high)
    raise DomainError(
        "a value of a constraint is neither text, null nor a range",
        repair='write a text, null for missing, or {"from": …, "to": …}',
        column=column,
    )
