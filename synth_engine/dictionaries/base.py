"""Define the result of reading a document of any kind, and how a range becomes a column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from synth_engine.domain import Attribute, parse_attribute
from synth_engine.errors import DomainError
from synth_engine.kinds.bounds import ONE_CODE_A_VALUE_UP_TO

_DECIMALS = 6
"""Decimal places by which values between two bounds are told apart, if the bounds have no more."""
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
    """An attribute all of whose facts come from a public file. Errors: Underspecified, where they contradict
    one another."""
    try:
        return parse_attribute(document | PUBLIC)
    except DomainError as error:
        raise Underspecified(error.rule, error.repair) from None


def numeric(low: float, high: float, *, whole: bool) -> dict[str, object]:
    """The kind and the bounds of a numeric column of which a document gives the ends.

    Few whole numbers have a code each. A wider range says nothing about where in it values lie, nor which of
    them are frequent (0, or a code for "more than five times"): a run learns that within its budget.

    low, high: both included. Errors: none here; what is wrong with the bounds is found when the attribute is
    read.
    """
    bounds: dict[str, object] = {"low": low, "high": high}
    if whole and high - low < ONE_CODE_A_VALUE_UP_TO:
        return bounds | {"kind": "integer"}
    if whole:
        return bounds | {"kind": "scale", "of": "integer"}
    return bounds | {"kind": "scale", "of": "number", "step": _step(low, high)}


def _step(low: float, high: float) -> float:
    """A power of ten: the last decimal of the bounds, or a millionth of the range if that is finer."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        return 1.0
    written = min(
        int(Decimal(repr(end)).normalize().as_tuple().exponent) for end in (low, high)
    )
    finest = math.floor(math.log10(high - low)) - _DECIMALS
    return float(f"1e{min(written, finest, 0)}")
