"""Count how the cells of a column fit its description: those read as they are, those moved to a bound, and
those that cannot be read. Exact counts of real cells: for the report of the data steward alone, and never to
be released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.codec.ladder_cells import LadderCells, read_cells
from synth_engine.domain import Attribute, Categorical


@dataclass(frozen=True, kw_only=True)
class Fit:
    """`cells`: those that are not missing by a declared marker. Of them, `outside`: readable and beyond what
    is declared, so that they are moved to a bound, to the first value, or to missing; `unreadable`: not of
    the declared kind or format at all."""

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
    """Count how the cells of one column of text (PyArrow or a list; null is missing) fit; None for a kind
    without declared values or bounds. A value that a column keeps as "other" fits: that is what is declared
    for it."""
    if not isinstance(column, pa.Array | pa.ChunkedArray):
        column = pa.array(column, type=pa.string())
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    counted = pc.value_counts(column)
    texts = counted.field("values").to_pylist()
    return count_fit(attribute, texts, times=counted.field("counts").to_numpy())


def count_fit(
    attribute: Attribute,
    texts: list[str | None],
    *,
    times: NDArray[np.int64],
    cells: LadderCells | None = None,
) -> Fit | None:
    """Count how different texts fit, each as often as `times` says; None for a kind without declared values
    or bounds.

    cells: the same texts, null as empty, as numbers of the column's ladder, if the caller has them already.
    """
    stated = stated_cells(attribute, texts)
    bad = _bad(attribute, [text or "" for text in texts], cells)
    if bad is None:
        return None
    outside, unreadable = bad
    return Fit(
        cells=int(times[stated].sum()),
        outside=int(times[stated & outside].sum()),
        unreadable=int(times[stated & unreadable].sum()),
    )


def unfit_texts(attribute: Attribute, texts: list[str | None]) -> NDArray[np.bool_]:
    """Return which texts are beyond what is declared, or cannot be read, shape (n,)."""
    bad = _bad(attribute, [text or "" for text in texts], None)
    if bad is None:
        return np.zeros(len(texts), dtype=np.bool_)
    outside, unreadable = bad
    return stated_cells(attribute, texts) & (outside | unreadable)


def listed(attribute: Attribute, texts: list[str]) -> list[str | None]:
    """Return the declared value that each text stands for; None for another one. attribute: of a kind that
    lists its values."""
    if isinstance(attribute, Categorical):
        return attribute.listed(texts)
    return [text if text in attribute.value_labels else None for text in texts]


def stated_cells(attribute: Attribute, texts: list[str | None]) -> NDArray[np.bool_]:
    """Return which texts are not missing by a declared marker, shape (n,)."""
    # Nothing is declared missing: then an empty cell is a value that cannot be read.
    if attribute.missing is None:
        return np.ones(len(texts), dtype=bool)
    markers = set(attribute.missing)
    return np.array([text is not None and text not in markers for text in texts], dtype=bool)


def _bad(
    attribute: Attribute, texts: list[str], cells: LadderCells | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Return which texts are beyond what is declared, and which cannot be read."""
    if attribute.lists_values:
        never = np.zeros(len(texts), dtype=bool)
        if attribute.has_other:
            return never, never
        return np.array(
            [value is None for value in listed(attribute, texts)], dtype=bool
        ), never
    cells = cells or read_cells(attribute, texts)
    if cells is None:
        return None
    return cells.outside, np.isnan(cells.values)
