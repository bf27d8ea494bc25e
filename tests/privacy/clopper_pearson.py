"""Bounds of a chance from how often an event was seen (Clopper and Pearson 1934)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]


def lower(seen: Any, runs: int, *, alpha: float) -> Floats:
    """The chance is at least that, wrong with probability `alpha` at most. seen: counts from 0 to `runs`, of
    any shape."""
    seen = np.asarray(seen)
    # The beta law has no first parameter 0: an event that was never seen has no lower bound but 0.
    bound = stats.beta.ppf(alpha, np.maximum(seen, 1), runs - seen + 1)
    return np.where(seen == 0, 0.0, bound)


def upper(seen: Any, runs: int, *, alpha: float) -> Floats:
    """The chance is at most that, wrong with probability `alpha` at most."""
    seen = np.asarray(seen)
    bound = stats.beta.ppf(1 - alpha, seen + 1, np.maximum(runs - seen, 1))
    return np.where(seen == runs, 1.0, bound)
