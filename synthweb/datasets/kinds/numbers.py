"""What the forms of numbers share."""

from __future__ import annotations

from synth_engine.domain import Integer, Number
from synthweb.datasets.list_fields import plain
from synthweb.lib.number_format import grouped


def equal_edges(low: float, high: float, *, bins: int) -> list[float]:
    """Edges of bins of equal width."""
    # The last edge is `high` itself: computed, it may differ from it by rounding, and leave the
    # declared maximum outside.
    return [low + (high - low) * step / bins for step in range(bins)] + [high]


def spaced(number: float) -> str:
    """A bound for reading: thin separators from five digits on, so that years stay years."""
    text = plain(number)
    return grouped(int(text)) if text.lstrip("-").isdigit() and len(text) > 4 else text


def summary(attribute: Integer | Number) -> str:
    """Bounds and number of bins."""
    count = attribute.value_count
    single = isinstance(attribute, Integer) and count == attribute.high - attribute.low + 1
    bins = "each value" if single else "one bin" if count == 1 else f"{count} bins"
    return f"{spaced(attribute.low)} to {spaced(attribute.high)}, {bins}"
