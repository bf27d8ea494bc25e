"""Write numbers of a column's scale for people: values as dates or times where they are, and distances with
their unit."""

from __future__ import annotations

from synth_engine.domain import Attribute
from synth_engine.evaluation.thousands import grouped
from synth_engine.kinds.lattice import SCALES

_DIGITS = 6
_THOUSAND = 1_000


def number_text(value: float) -> str:
    """A number with thin separators and at most six digits that matter."""
    if abs(value) >= 10**_DIGITS:
        return grouped(value, ",.0f") if abs(value) < 1e15 else f"{value:.6g}"
    if value == round(value):
        return grouped(value, ",.0f")
    if abs(value) >= _THOUSAND:
        return grouped(value, ",.1f")
    return f"{value:.{_DIGITS}g}"


def text_of(attribute: Attribute, value: float) -> str:
    """A value of the column's ladder as people write it."""
    reader = attribute.reader
    return number_text(value) if reader.holds_numbers else reader.value_text(value)


def span_text(attribute: Attribute, value: float) -> str:
    """A distance between values of the column with its unit."""
    units = attribute.reader.span_units
    if not units:
        return number_text(value)
    size, name = next((unit for unit in units if value >= 2 * unit[0]), units[-1])
    return f"{number_text(value / size)} {name}"


def span_unit(attribute: Attribute) -> str:
    """The unit of the numbers of the column's ladder; empty for plain numbers."""
    units = attribute.reader.span_units
    return units[-1][1] if units else ""


def is_moment(attribute: Attribute) -> bool:
    """Whether values are days or times, which have no zero."""
    return attribute.reader.is_moment


def is_learnable(attribute: Attribute) -> bool:
    """Whether a release can learn where the values of the column lie: those of a lattice."""
    return attribute.reader.kind in SCALES
