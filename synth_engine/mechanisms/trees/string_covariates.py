"""Trees of strings with further columns beside them, which are counted by frequent strings and prefixes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy import NodeSet, frequent_prefixes
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.inference import hierarchical_shrinkage
from synth_engine.inference.factors import Floats
from synth_engine.inference.tables import fit_margins
from synth_engine.measurement import Answers, Leaves
from synth_engine.mechanisms.trees.covariates import CovariatePlan

_RECORDS_PER_NOISE = 32
"""A prefix is divided where it has so many times as many records as one count of a column there has noise:
less, and sums of many small parts, from which large ones are read, hold too much of it."""


@dataclass(frozen=True, kw_only=True)
class StringCovariatePlan(CovariatePlan):
    """`adaptive` for texts and other columns."""

    tree_columns = "texts"
    max_parts = 4_096

    def parts(self, where: Answers, leaves: LeafEstimates) -> NodeSet:  # noqa: ARG002 - leaves say it all
        least = _RECORDS_PER_NOISE * math.sqrt(self.noises().areas.variance)
        return frequent_prefixes(self.tree.hierarchy, leaves, least=least, most=self.part_limit)

    def spread(self, table: Leaves, counts: Floats, oneway: Floats, *, rows: int) -> Floats:  # noqa: ARG002
        # Each part is read against the prefixes that it lies in, with the sums that are known.
        read = hierarchical_shrinkage.shrink_by_node(
            table.values,
            self._depths(table.partition),
            counts=counts,
            whole=oneway,
            variance=table.noise.variance,
        )
        return fit_margins(read, [((0,), counts), ((1,), oneway)])

    def _depths(self, parts: NodeSet) -> Iterator[npt.NDArray[np.intp]]:
        """From the first depth on, the number of the prefix in which each part lies."""
        for level in range(1, int(parts.levels.max(initial=0)) + 1):
            prefixes = self.tree.hierarchy.prefix(parts.prefixes, level)
            yield np.unique(prefixes, return_inverse=True)[1]
