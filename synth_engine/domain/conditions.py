"""Convert values that a declaration names to codes of a column: by their text, as a range of a scale, or as
missing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import MISSING, Attribute
from synth_engine.kinds.categorical import Categorical
from synth_engine.kinds.facts import PAID_FOR
from synth_engine.kinds.number import Number
from synth_engine.kinds.scale_bins import ScaleBins
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


@dataclass(frozen=True, kw_only=True)
class CodeSet:
    """Codes by values that a declaration names: those that stand for such values alone, and those that stand
    for at least one. They differ where learned bins hold other values besides."""

    wholly: tuple[int, ...]
    partly: tuple[int, ...]


def is_learned(attribute: Attribute) -> bool:
    """Whether a run learned what the column holds: this one, or an earlier one that paid for it."""
    return isinstance(attribute, ScaleBins) or bool(PAID_FOR & set(attribute.facts.values()))


def codes(attribute: Attribute, values: Sequence[Value]) -> CodeSet:
    """The codes that are named, ascending. A text that a run did not find has none. Errors: DomainError for
    what the column does not declare."""
    if isinstance(attribute, ScaleBins):
        return _codes_of_bins(attribute, values)
    matching: set[int] = set()
    texts = any(
        isinstance(value, str) for value in values
    )  # labels of long scales take a while
    known = _codes_by_text(attribute) if texts else {}
    for place, value in enumerate(values, start=1):
        if value is None:
            matching.add(_missing(attribute))
        elif isinstance(value, ValueRange):
            matching |= set(_inside(attribute, value))
        elif (code := _code_of(attribute, value, known)) is not None:
            matching.add(code)
        elif not _may_be_unfound(attribute):
            raise attribute.error(
                f"value {place} of a constraint is not declared",
                repair="take one of the column's values or bins, null for missing, or a range of a scale",
            )
    named = tuple(sorted(matching))
    return CodeSet(wholly=named, partly=named)


def each(attribute: Attribute, values: Iterable[Value]) -> list[int | None]:
    """The one code of each text, or of missing, of the places of a table; None for a text that a run did not
    find."""
    listed = list(values)
    if isinstance(attribute, ScaleBins):
        return _code_of_each(attribute, listed)
    known = _codes_by_text(attribute)
    matches: list[int | None] = []
    for place, value in enumerate(listed, start=1):
        code = _missing(attribute) if value is None else _code_of(attribute, str(value), known)
        if code is None and not _may_be_unfound(attribute):
            raise _undeclared_pair(attribute, place)
        matches.append(code)
    return matches


def stands_alone(attribute: Attribute, code: int) -> bool:
    """Whether a code that a text names stands for no other value."""
    if not isinstance(attribute, ScaleBins) or code >= attribute.value_count:
        return True
    return attribute.cuts[code + 1] - attribute.cuts[code] == 1


def cuts_named(attribute: ScaleBins, values: Iterable[Value]) -> set[int]:
    """The positions at which bins must begin so that none holds both values that are named and others."""
    ends = _positions_of(attribute, [value for value in values if value is not None])
    return {end for start_and_end in ends for end in start_and_end}


def _codes_by_text(attribute: Attribute) -> dict[str, int]:
    return {label: code for code, label in enumerate(attribute.labels)}


def _code_of(attribute: Attribute, text: str, known: Mapping[str, int]) -> int | None:
    """The code of a text; of values that a run found in a set, by the spelling of the set."""
    if text in known or not isinstance(attribute, Categorical) or not is_learned(attribute):
        return known.get(text)
    (listed,) = attribute.listed([text])
    return None if listed is None else known[listed]


def _may_be_unfound(attribute: Attribute) -> bool:
    """Whether its values were found by a run in a set that has more: that it has a text was said when it was
    declared."""
    return isinstance(attribute, Categorical) and is_learned(attribute)


def _undeclared_pair(attribute: Attribute, place: int) -> DomainError:
    return attribute.error(
        f"pair {place} of a table holds what is not declared",
        repair="take one of the column's values or bins, or null for missing",
    )


def _codes_of_bins(attribute: ScaleBins, values: Sequence[Value]) -> CodeSet:
    named = _union(_positions_of(attribute, [value for value in values if value is not None]))
    starts = [start for start, _ in named]
    wholly, partly = [], []
    for code in range(attribute.value_count):
        first, end = attribute.cuts[code : code + 2]
        # Of disjoint intervals the last one that begins before the bin ends is the one to look at.
        before = bisect_right(starts, end - 1) - 1
        if before >= 0 and named[before][1] > first:
            partly.append(code)
            if named[before][0] <= first and end <= named[before][1]:
                wholly.append(code)
    if None in values:
        wholly.append(_missing(attribute))
        partly.append(_missing(attribute))
    return CodeSet(wholly=tuple(wholly), partly=tuple(partly))


def _code_of_each(attribute: ScaleBins, values: Sequence[Value]) -> list[int | None]:
    texts = [(place, value) for place, value in enumerate(values, start=1) if value is not None]
    for place, named in texts:
        if not isinstance(named, str):
            raise _undeclared_pair(attribute, place)
    positions = iter(_positions_of(attribute, [value for _, value in texts]))
    matches: list[int | None] = []
    for value in values:
        if value is None:
            matches.append(_missing(attribute))
            continue
        start, _ = next(positions)
        inside = attribute.cuts[0] <= start < attribute.cuts[-1]
        matches.append(bisect_right(attribute.cuts, start) - 1 if inside else None)
    return matches


def _positions_of(attribute: ScaleBins, values: Sequence[Value]) -> list[tuple[int, int]]:
    """Of each value, the first of its positions and the one after its last. Errors: DomainError for a text
    that the column does not hold, and for a range without a value."""
    texts = [value for value in values if isinstance(value, str)]
    positions, sides = attribute.lattice.positions(texts, attribute)
    bins = {label: code for code, label in enumerate(attribute.value_labels)} if texts else {}
    of_texts = iter(zip(positions.tolist(), sides.tolist(), strict=True))
    spans: list[tuple[int, int]] = []
    for place, value in enumerate(values, start=1):
        if isinstance(value, ValueRange):
            spans.append(_span(attribute, value))
        elif isinstance(value, str):
            position, side = next(of_texts)
            if side == 0 and value not in (attribute.missing or ()):
                spans.append((position, position + 1))
            elif value in bins:
                spans.append((attribute.cuts[bins[value]], attribute.cuts[bins[value] + 1]))
            else:
                raise attribute.error(
                    f"value {place} of a constraint is none that the column can hold",
                    repair="write a value within the bounds, null for missing, or a range",
                )
    return spans


def _span(attribute: ScaleBins, wanted: ValueRange) -> tuple[int, int]:
    low, high = _ends(attribute, wanted)
    start = 0 if np.isneginf(low) else attribute.first_position(low, above=False)
    count = attribute.lattice.count
    end = count if np.isposinf(high) else attribute.first_position(high, above=True)
    if start >= end:
        raise attribute.error(
            "a range of a constraint holds no value", repair="take it within the bounds"
        )
    return start, end


def _union(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Disjoint intervals that hold the same positions, in order."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


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
    low, high = _ends(attribute, wanted)
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


def _ends(attribute: Attribute, wanted: ValueRange) -> tuple[float, float]:
    low, high = _end(attribute, wanted.low, last=False), _end(attribute, wanted.high, last=True)
    if low > high:
        raise attribute.error(
            "a range of a constraint ends before it begins", repair="swap its ends"
        )
    return low, high


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
