"""Read the cells of a column on a scale as numbers of its ladder, neither moved to a bound nor put in a
bin."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine.domain import Attribute, DateTime
from synth_engine.kinds.ladders import Even, ListedScale
from synth_engine.kinds.lattice import Lattice
from synth_engine.kinds.on_lattice import OnLattice

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LadderCells:
    """Cells as numbers of a ladder, NaN where a cell cannot be read, and which of them are beyond the
    declared bounds; both of shape (n,)."""

    values: Floats = field(repr=False)
    outside: NDArray[np.bool_] = field(repr=False)


def is_on_ladder(attribute: Attribute) -> bool:
    """Return whether the values of a column compare as numbers."""
    return attribute.reader.is_comparable


def read_cells(attribute: Attribute, texts: list[str]) -> LadderCells | None:
    """Read texts as the description says; None for a kind without a scale."""
    if not is_on_ladder(attribute):
        return None
    reader = attribute.reader
    scale = reader.scaled(texts)
    if scale is None:
        return None
    values = scale.values + (float(reader.bin_spans()[0][0]) - float(scale.low))
    if isinstance(attribute, OnLattice):
        # The reader of a lattice has no bounds of its own.
        low, high = _lattice_ends(attribute.lattice, reader)
        return LadderCells(values=values, outside=(values < low) | (values > high))
    outside = (scale.values < scale.low) | (scale.values > scale.high)
    return LadderCells(values=values, outside=outside)


def _lattice_ends(lattice: Lattice, reader: Attribute) -> tuple[float, float]:
    positions = np.array([0, lattice.count - 1], dtype=np.uint64)
    low, high = reader.comparable(pd.Series(lattice.values(positions)))
    return float(low), float(high)


def on_declared_steps(attribute: Attribute, values: Floats) -> Floats:
    """Move moments to the step that their column declares for them, and days of a lattice to the nearest of
    its steps."""
    if isinstance(attribute, OnLattice):
        step = attribute.lattice.step
        if attribute.reader.holds_numbers or step == 1:
            return values
        low, _ = _lattice_ends(attribute.lattice, attribute.reader)
        nearest: Floats = low + np.rint((values - low) / step) * step
        return nearest
    if not isinstance(attribute, DateTime):
        return values
    ladder = attribute.ladder()
    if isinstance(ladder, ListedScale):
        steps = np.searchsorted(ladder.values, values, side="right") - 1
        listed = ladder.values[np.clip(steps, 0, len(ladder.values) - 1)]
        # Beyond the declared moments there are no steps.
        return np.where((steps >= 0) & (values <= ladder.values[-1]), listed, values)
    if isinstance(ladder, Even):
        before: Floats = ladder.start + np.floor((values - ladder.start) / ladder.step) * (
            ladder.step
        )
        return before
    return values
