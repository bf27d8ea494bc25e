"""Trees of points with further columns beside them: how each column lies in the areas of the tree, and how the columns go together."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from synth_engine.domain import Domain
from synth_engine.hierarchy import NodeSet, Prefixes, divide_into_areas
from synth_engine.hierarchy.estimate import LeafEstimates as Estimated
from synth_engine.inference.factors import Floats
from synth_engine.inference.tables import fit_margins, shrink_towards
from synth_engine.measurement import Answers, Leaves, Session
from synth_engine.measurement.answers import not_of_this_plan
from synth_engine.mechanisms.trees import covariates
from synth_engine.mechanisms.trees.adaptive_depth import AdaptiveDepthPlan
from synth_engine.models.model import Model
from synth_engine.models.trees.covariates import Covariates

_WORTH = 8
"""An area is divided where it has so many times as many records as the noise of a whole column, mean size: then its parts, a
quarter of it or less, still say something of that column by themselves."""


def placed(domain: Domain) -> tuple[str, ...]:
    """The columns of the domain that say where a record lies."""
    found = {column for place in domain.places for column in place.columns}
    found |= {points.column for points in domain.points}
    return tuple(name for name in domain.names if name in found)


@dataclass(frozen=True, kw_only=True)
class SpatialCovariatePlan(covariates.CovariatePlan):
    """`adaptive` for points and other columns, its budget cut up."""

    beside: ClassVar[str] = "points"
    most_parts: ClassVar[int] = 256

    tree: AdaptiveDepthPlan

    # ---- the run -----------------------------------------------------------------------------------------------------

    def run(self, session: Session) -> Answers:
        noises, where = self.noises(), self.tree.run(session)
        columns = [
            session.measure((name,), noise=noise) for name, noise in noises.columns.items()
        ]
        parts = self._areas(where)
        within = [session.leaves(parts, noise=noises.areas, by=(name,)) for name in self.sizes]
        chosen = self.chosen(session, columns, rows=self.tree.estimated(where)[0])
        tables = (
            [session.measure(pair, noise=noises.pair) for pair in chosen.taken]
            if noises.pair
            else []
        )
        return Answers(
            measurements=(*where.measurements, *columns, *tables),
            selections=tuple(chosen.indices),
            growths=where.growths,
            leaves=(*where.leaves, *within),
            calls=session.calls,
        )

    def _areas(self, where: Answers) -> NodeSet:
        """Parts in which columns are counted: a function of the tree, which was paid for."""
        size = sum(self.sizes.values()) / len(self.sizes)
        least = _WORTH * size * math.sqrt(self.noises().areas.variance)
        (grown,) = where.growths
        leaves = self.tree.estimated(where)[1]
        return divide_into_areas(grown, self.tree.points, leaves, least=least, most=self.most)

    # ---- the model ---------------------------------------------------------------------------------------------------

    def fit(self, answers: Answers) -> Model:
        first = 0 if self.tree.total_noise() is None else 1
        own, within = (
            [each for each in answers.leaves if bool(each.by) is beside]
            for beside in (False, True)
        )
        where = replace(
            answers, measurements=answers.measurements[:first], selections=(), leaves=tuple(own)
        )
        rows, cells = self.tree.estimated(where)
        parts, beside = self._areas(where), answers.measurements[first:]
        self.require_asked([each.clique for each in beside], [each.by for each in within])
        if any(each.partition.digest != parts.digest for each in within):
            raise not_of_this_plan()
        known = self.denoised(beside, rows=rows)
        counts = self._counts(parts, cells)
        tables = {
            one.by[0]: self._within(one, counts, known.oneways[one.by[0]], rows=rows)
            for one in within
        }

        def attached(prefixes: Prefixes) -> Covariates:
            return self.attached(
                known, tables, areas=parts.places(self.tree.points, prefixes), rows=rows
            )

        tree, notes = (
            self.tree.tree(cells, attached=attached),
            self.tree.notes(where, cells, rows=rows),
        )
        return Model(
            mechanism=self.mechanism,
            domain=self.domain,
            rows=rows,
            tables=(),
            tree=tree,
            notes=notes,
        )

    def _counts(self, parts: NodeSet, cells: Estimated) -> Floats:
        """How many records each area has, by the tree."""
        places = parts.places(self.tree.points, cells.prefixes)
        found = np.bincount(places, weights=cells.counts, minlength=len(parts))
        return found.astype(np.float64)

    def _within(self, leaves: Leaves, counts: Floats, oneway: Floats, *, rows: int) -> Floats:
        """Areas by values: read against areas that are all alike, with the sums that are known."""
        alike: Floats = np.multiply.outer(counts, oneway / max(rows, 1))
        table = shrink_towards(leaves.values, alike, sigma=math.sqrt(leaves.noise.variance))
        return fit_margins(table, [((0,), counts), ((1,), oneway)])
