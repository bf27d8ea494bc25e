"""Trees of points with further columns beside them, which are counted by areas of the tree."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from synth_engine.errors import SpecError
from synth_engine.hierarchy import NodeSet, divide_into_areas
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.inference.factors import Floats
from synth_engine.inference.tables import fit_margins, shrink_towards
from synth_engine.measurement import Answers, Leaves
from synth_engine.mechanisms.trees.covariates import CovariatePlan

_RECORDS_PER_NOISE = 8
"""An area is divided where it has so many times as many records as the noise of a whole column, mean size:
then its parts, a quarter of it or less, still say something of that column by themselves."""


@dataclass(frozen=True, kw_only=True)
class SpatialCovariatePlan(CovariatePlan):
    """`adaptive` for points and other columns."""

    tree_columns = "points"
    max_parts = 256

    def require_countable(self) -> None:
        if not self.tree.hierarchy.joint_halving:
            raise SpecError(
                "cells halved one coordinate at a time bear no further columns",
                repair="leave the other columns out, or halve along all coordinates at once",
            )
        super().require_countable()

    def parts(self, where: Answers, leaves: LeafEstimates) -> NodeSet:
        size = sum(self.sizes.values()) / len(self.sizes)
        least = _RECORDS_PER_NOISE * size * math.sqrt(self.noises().areas.variance)
        (grown,) = where.growths
        return divide_into_areas(
            grown, self.tree.hierarchy, leaves, least=least, most=self.part_limit
        )

    def spread(self, table: Leaves, counts: Floats, oneway: Floats, *, rows: int) -> Floats:
        # Read against areas that are all alike, with the sums that are known.
        alike: Floats = np.multiply.outer(counts, oneway / max(rows, 1))
        read = shrink_towards(table.values, alike, sigma=math.sqrt(table.noise.variance))
        return fit_margins(read, [((0,), counts), ((1,), oneway)])
