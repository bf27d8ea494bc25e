"""Define the result of reading a document of any kind, and the bins that follow from a range alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from synth_engine.domain import Attribute, parse_attribute
from synth_engine.errors import DomainError
from synth_engine.kinds.bounds import DEFAULT_BINS, ONE_CODE_A_VALUE_UP_TO

_WIDE = 1_000  # a range from which on most values of counts and amounts lie near its lower end
_FACTORS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
_DECADES = 4
_LARGEST = {
    True: 2.0**53,
    False: 1e300,
}  # of whole and other numbers: the domain says what is wrong beyond
PUBLIC: dict[str, object] = {"provenance": "public-file"}


class Remark(NamedTuple):
    """A fact of a document that was changed or left out: column, rule, repair."""

    column: str
    rule: str
    repair: str


@dataclass(frozen=True, kw_only=True)
class DictionaryContents:
    """The attributes a document describes, every fact of them public, and what it leaves open."""

    attributes: tuple[Attribute, ...]
    remarks: tuple[Remark, ...] = ()


class Underspecified(Exception):
    """A document says too little about a column to describe it."""

    def __init__(self, rule: str, repair: str) -> None:
        self.rule, self.repair = rule, repair
        super().__init__(rule)


def attribute(document: dict[str, Any]) -> Attribute:
    """An attribute all of whose facts come from a public file. Errors: Underspecified, where they contradict one another."""
    try:
        return parse_attribute(document | PUBLIC)
    except DomainError as error:
        raise Underspecified(error.rule, error.repair) from None


def edges(
    low: float, high: float, *, whole: bool, below: bool = False, above: bool = False
) -> list[float] | list[int] | None:
    """Edges that follow from a range by a public rule; None where the domain's usual bins do.

    A range of a thousand and more gets bins that widen away from zero, since counts and amounts do. `below` and
    `above`: the first or last whole number of the range is a code with a meaning of its own, for example "no
    children" or "more than five times": it gets a bin of its own, or shares one with the value next to it.
    """
    too_large = max(abs(low), abs(high)) > _LARGEST[whole]
    if too_large or (whole and high - low < ONE_CODE_A_VALUE_UP_TO):
        return None
    first, last = low + below, high - above
    if last - first >= _WIDE:
        inner = _widening(first, last, whole=whole)
    elif below or above:
        inner = [
            first + (last - first) * step / DEFAULT_BINS for step in range(1, DEFAULT_BINS)
        ]
    else:
        return None
    inner = [math.floor(edge) for edge in inner] if whole else inner
    ends = {low, first, last, high}
    return sorted({*ends, *(edge for edge in inner if first < edge < last)})


def _widening(low: float, high: float, *, whole: bool) -> list[float]:
    """1, 1.5, 2, 3, 5, 7 … over the upper decades of the larger end, to both sides of zero."""
    # Counts and amounts are skewed: bins of equal width would put nearly all records into the
    # first.
    start = math.ceil(math.log10(max(abs(low), abs(high)))) - _DECADES
    steps = [
        factor * 10.0 ** (start + decade)
        for decade in range(_DECADES + 1)
        for factor in _FACTORS
    ]
    steps = [step for step in steps if not whole or step == int(step)]
    around = [0.0, 1.0] if whole else [0.0]
    return [*(-step for step in steps), *around, *steps]
