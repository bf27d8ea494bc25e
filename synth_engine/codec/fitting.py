"""Count how the cells of a column fit its description: those read as they are, those moved to a bound, and those that
cannot be read. Exact counts of real cells: for the report of the data steward alone, and never to be released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.domain import Attribute, Boolean, Categorical


@dataclass(frozen=True, kw_only=True)
class Fit:
    """`cells`: those that are not missing by a declared marker. Of them, `outside`: readable and beyond what is declared, so that
    they are moved to a bound, to the first value, or to missing; `unreadable`: not of the declared kind or format at all."""

    cells: int = 0
    outside: int = 0
    unreadable: int = 0

    def __add__(self, other: Fit) -> Fit:
        return Fit(
            cells=self.cells + other.cells,
            outside=self.outside + other.outside,
            unreadable=self.unreadable + other.unreadable,
        )


def fit(attribute: Attribute, column: Any) -> Fit | None:
    """Count how the cells of one column of text (PyArrow or a list; null is missing) fit; None for a kind without
    declared values or bounds. A value that a column keeps as "other" fits: that is what is declared for it."""
    if not isinstance(column, pa.Array | pa.ChunkedArray):
        column = pa.array(column, type=pa.string())
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    counted = pc.value_counts(column)
    texts = counted.field("values").to_pylist()
    times = counted.field("counts").to_numpy()
    markers = set(attribute.missing or ())
    stated = np.array([text is not None and text not in markers for text in texts], dtype=bool)
    if attribute.missing is None:
        stated[:] = (
            True  # nothing is declared missing, so an empty cell is a value that cannot be read
        )
    bad = _bad(attribute, [text or "" for text in texts])
    if bad is None:
        return None
    outside, unreadable = bad
    return Fit(
        cells=int(times[stated].sum()),
        outside=int(times[stated & outside].sum()),
        unreadable=int(times[stated & unreadable].sum()),
    )


def _bad(
    attribute: Attribute, texts: list[str]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Return which texts are beyond what is declared, and which cannot be read."""
    if isinstance(attribute, Categorical | Boolean):
        never = np.zeros(len(texts), dtype=bool)
        if attribute.has_other:
            return never, never
        listed = set(attribute.value_labels)
        return np.array([text not in listed for text in texts], dtype=bool), never
    on_scale = attribute.scaled(texts)
    if on_scale is None:
        return None
    unreadable = np.isnan(on_scale.values)
    return (on_scale.values < on_scale.low) | (on_scale.values > on_scale.high), unreadable
