"""Gower's distance between coded records, column by column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Attribute

Codes = NDArray[np.int64]
Distances = NDArray[np.float32]


def column_distance(attribute: Attribute, first: Codes, second: Codes) -> Distances:
    """From 0 to 1: of an ordered column the difference over its range, of another one whether values differ.
    first, second: codes of shapes that broadcast."""
    if not attribute.ordered or attribute.value_count < 3:
        return np.asarray(first != second, dtype=np.float32)
    span = np.float32(attribute.value_count - 1)
    gap = np.abs((first - second).astype(np.float32)) / span
    # A missing value is as far from a value as can be.
    missing = (first >= attribute.value_count) != (second >= attribute.value_count)
    near = np.minimum(gap, np.float32(1.0))
    return np.asarray(np.where(missing, np.float32(1.0), near), dtype=np.float32)
