"""Where the colours of differences end: one number for each kind of figure, whatever is in it.

A scale that ends at the largest difference of its own figure makes a good table as dark as a bad one.
Differences beyond an end have its colour. What chance alone gives has no colour of difference: it is grey."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from synth_engine.evaluation import style
from synth_engine.evaluation.plots import Trace
from synth_engine.evaluation.wording import Json

DEPENDENCE_CHANGE = 0.25
"""Of normalised mutual information."""
RANK_CHANGE = 0.5
RANK = 1.0
"""Of rank correlations themselves, which have signs."""
DISTANCE = 0.3
"""Of total variation distances, from 0."""
SHARE_CHANGE = 0.01
"""Of all records, at one place or on one way."""
SHARE_DEVIATIONS = 3.0
"""Standard deviations up to which a difference of two shares counts as chance."""
CHANCE: style.Scale = [[0.0, style.QUIET], [1.0, style.QUIET]]


def diverging(end: float) -> Trace:
    """The scale of values with signs, in a map of squares."""
    return {"colorscale": style.DIVERGING, "zmin": -end, "zmax": end, "zmid": 0.0}


def of_markers(end: float) -> Trace:
    """The same for markers."""
    return {"colorscale": style.DIVERGING, "cmin": -end, "cmax": end, "cmid": 0.0}


def from_zero(end: float) -> Trace:
    """The scale of distances, in a map of squares."""
    return {"colorscale": style.DISTANCE, "zmin": 0.0, "zmax": end}


def without_chance(
    trace: Trace, cells: Sequence[Sequence[Json | None]], is_chance: Callable[[Json], bool]
) -> list[Trace]:
    """A map of squares in two traces: the differences, and in grey those that chance explains. cells: the
    entries of its squares, None where there is none. is_chance: of an entry."""
    return split(
        trace, [[cell is not None and is_chance(cell) for cell in row] for row in cells]
    )


def split(trace: Trace, by_chance: Sequence[Sequence[bool]]) -> list[Trace]:
    """The same, from whether each square is chance."""
    values: list[list[float | None]] = trace["z"]  # type: ignore[assignment]
    parts = [
        [
            [
                value if chance == wanted else None
                for value, chance in zip(row, grey, strict=True)
            ]
            for row, grey in zip(values, by_chance, strict=True)
        ]
        for wanted in (False, True)
    ]
    grey: Trace = {
        key: value
        for key, value in trace.items()
        if key not in ("colorbar", "colorscale", "zmin", "zmax", "zmid")
    }
    grey |= {"z": parts[1], "colorscale": CHANCE, "showscale": False, "meta": "chance"}
    return [{**trace, "z": parts[0]}, grey]
