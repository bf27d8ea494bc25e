"""Checks and bins that kinds on a scale share."""

from __future__ import annotations

import contextlib
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.fragments import MAX_EXACT

if TYPE_CHECKING:
    import pandas as pd

ONE_CODE_A_VALUE_UP_TO = 100
DEFAULT_BINS = 32


def check_bounds(attribute: Attribute, low: float, high: float) -> None:
    if not (abs(low) <= MAX_EXACT and abs(high) <= MAX_EXACT):
        raise attribute.error(
            "a bound is not finite or beyond 2^53",
            repair="give nearer bounds",
            field="high" if abs(low) <= MAX_EXACT else "low",
        )
    if low > high:
        raise attribute.error("low is above high", repair="swap them", field="low")
    _check_markers(attribute, low, high)


def _check_markers(attribute: Attribute, low: float, high: float) -> None:
    for marker in attribute.missing or ():
        # A marker that is no number cannot be taken for a value.
        with contextlib.suppress(ValueError):
            if low <= float(marker) <= high:
                raise attribute.error(
                    "a missing marker lies between low and high",
                    repair="narrow the bounds",
                    field="missing",
                )


def check_edges(
    attribute: Attribute, edges: tuple[float, ...], low: float, high: float
) -> None:
    if len(edges) < 2 or any(not a < b for a, b in pairwise(edges)):
        raise attribute.error(
            "edges do not increase",
            repair="list at least two, each above the one before",
            field="edges",
        )
    if edges[0] != low or edges[-1] != high:
        raise attribute.error(
            "edges do not run from low to high",
            repair="start them at low and end them at high",
            field="edges",
        )


def equal_bins(count: int, width: int | None) -> tuple[int, ...]:
    """Cuts of 0 … count-1 into bins: bin i holds cuts[i] ≤ k < cuts[i+1]. Without a width each value has a
    bin if there are few, else there are `DEFAULT_BINS` of (nearly) equal width."""
    width = width or (1 if count <= ONE_CODE_A_VALUE_UP_TO else None)
    if width is not None:
        return (*range(0, count, width), count)
    # Bins follow from the declared range alone; bins that follow from values would cost budget.
    return tuple(count * i // DEFAULT_BINS for i in range(DEFAULT_BINS + 1))


def sample_steps(
    cuts: tuple[int, ...], bins: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.int64]:
    """A whole number of each bin, uniform inside it. cuts: as in `equal_bins`."""
    starts = np.asarray(cuts, dtype=np.int64)
    places = starts[bins]
    # No random number is spent where every bin has one value: the same seed gives the same rows.
    if np.any(np.diff(starts) > 1):
        places = rng.integers(places, starts[bins + 1])
    return places


def nullable(
    values: NDArray[np.int64] | NDArray[np.float64],
    missing: NDArray[np.bool_],
    attribute: Attribute,
    dtype: Literal["Int64", "Float64"],
) -> pd.Series:
    """Numbers as a column: a missing one is NA, in a column that may have one."""
    import pandas as pd

    if attribute.missing is None:
        return pd.Series(values)
    return pd.Series(values).astype(dtype).mask(missing)


def write_moments(attribute: Attribute, column: pd.Series, style: str) -> pd.Series:
    """Days or moments in a format of `strftime`, each different one written once."""
    import pandas as pd

    places, days = pd.factorize(column)  # a missing day has place -1
    texts = [*pd.Series(days).dt.strftime(style), attribute.missing_text]
    return pd.Series(texts, dtype="str").take(places % len(texts)).reset_index(drop=True)
