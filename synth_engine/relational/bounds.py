"""How many rows of a unit the views of a table hold at most, learned from noisy counts of units:
post-processing.

The noise of every count of a table is proportional to that bound. A declared maximum has to hold for every
unit that could be, so that it is often far above what units have. A bound below it costs the rows beyond it,
which are left out by chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from synth_engine.domain.database import Database
from synth_engine.domain.views import DatabaseView, bounds_of, count_of
from synth_engine.inference import oneway
from synth_engine.measurement import Answers, Measurement

_DISTANCE = 0.25
"""How far the rows of large units are assumed to be from all others, as a total variation distance: a share
of rows that is left out moves a column by that part of it."""


def learned(
    database: Database,
    view: DatabaseView,
    answers: Answers,
    *,
    prices: Mapping[str, float],
) -> dict[str, int]:
    """The bound of each table of the view of units, from its answers. prices: by how many records noise moves
    a column of a table, for each row that a unit may have."""
    measured = {answer.clique[0]: answer for answer in answers.measurements}
    bounds = {}
    for table in database.tables[1:]:
        if count_of(table) in view.own:
            bounds[table.name] = bound(
                units_by_code(measured[count_of(table)]),
                bounds_of(database.max_records(table)),
                price=prices[table.name],
            )
    return bounds


def units_by_code(answer: Measurement) -> npt.NDArray[np.float64]:
    """The estimated number of units of each code of the view of units."""
    values = answer.values.astype(np.float64).ravel()
    return oneway.mean_of_readings(
        values,
        sigma=math.sqrt(answer.noise.variance),
        total=max(0, round(float(values.sum()))),
        along=values.size,
    )


def bound(units: npt.NDArray[np.float64], bounds: Sequence[int], *, price: float) -> int:
    """The bound with the least predicted error: of noise, and of rows that are left out. units: their number
    by code; one of code k is taken to have as many rows as it can have."""
    of_units = np.array(bounds, dtype=np.float64)
    lost = [float(units @ np.maximum(of_units - most, 0.0)) for most in bounds]
    predicted = price * of_units + _DISTANCE * np.array(lost)
    return bounds[int(np.argmin(predicted))]
