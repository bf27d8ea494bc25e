"""Trees of texts with further columns beside them: how each column is spread among frequent texts and beginnings of texts, and how
the columns go together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy import NodeSet, frequent_prefixes
from synth_engine.hierarchy.estimate import LeafEstimates as Estimated
from synth_engine.inference import hierarchical_shrinkage
from synth_engine.inference.factors import Floats
from synth_engine.inference.tables import fit_margins
from synth_engine.measurement import Answers, Leaves, Measurement, Session
from synth_engine.measurement.answers import not_of_this_plan
from synth_engine.mechanisms.trees import covariates
from synth_engine.mechanisms.trees.threshold_tree import TreePlan, resolve_domain
from synth_engine.models.model import Model
from synth_engine.models.trees.strings import StringTree

_WORTH = 32
"""A beginning is divided where it has so many times as many records as one count of a column there has noise: less, and sums of many
small parts, from which large ones are read, hold too much of it."""


@dataclass(frozen=True, kw_only=True)
class StringCovariatePlan(covariates.CovariatePlan):
    """`adaptive` for texts and other columns, its budget cut up. Records whose text has another sign are counted nowhere:
    columns and pairs are those of the root."""

    beside: ClassVar[str] = "texts"
    most_parts: ClassVar[int] = 4_096

    tree: TreePlan

    # ---- the run -----------------------------------------------------------------------------------------------------

    def run(self, session: Session) -> Answers:
        noises, where, root = self.noises(), self.tree.run(session), self.tree.root
        columns = [
            session.leaves(root, noise=noise, by=(name,))
            for name, noise in noises.columns.items()
        ]
        rows, leaves = self.tree.estimated(where)
        parts = self._parts(leaves)
        within = [session.leaves(parts, noise=noises.areas, by=(name,)) for name in self.sizes]
        chosen = self.chosen(session, [_of_root(one) for one in columns], rows=rows)
        tables = (
            [session.leaves(root, noise=noises.pair, by=pair) for pair in chosen.taken]
            if noises.pair
            else []
        )
        return Answers(
            measurements=where.measurements,
            selections=tuple(chosen.indices),
            growths=where.growths,
            leaves=(*where.leaves, *columns, *within, *tables),
            calls=session.calls,
        )

    def _parts(self, leaves: Estimated) -> NodeSet:
        """Texts and beginnings by which columns are counted: a function of the tree, which was paid for."""
        least = _WORTH * math.sqrt(self.noises().areas.variance)
        return frequent_prefixes(self.tree.hierarchy, leaves, least=least, most=self.most)

    # ---- the model ---------------------------------------------------------------------------------------------------

    def fit(self, answers: Answers) -> Model:
        own, beside = (
            [each for each in answers.leaves if bool(each.by) is further_]
            for further_ in (False, True)
        )
        where = replace(answers, selections=(), leaves=tuple(own))
        rows, leaves = self.tree.estimated(where)
        parts, number = self._parts(leaves), len(self.sizes)
        columns, within, tables = (
            beside[:number],
            beside[number : 2 * number],
            beside[2 * number :],
        )
        of_root = [_of_root(one) for one in (*columns, *tables) if len(one.partition) == 1]
        self.require_asked([each.clique for each in of_root], [each.by for each in within])
        if any(each.partition.digest != parts.digest for each in within):
            raise not_of_this_plan()
        known = self.denoised(of_root, rows=rows)
        held = float(leaves.counts.sum())
        places = parts.places(self.tree.hierarchy, leaves.prefixes)
        counts = np.bincount(
            places, weights=leaves.counts * (rows / held), minlength=len(parts)
        ).astype(np.float64)
        spread = {
            one.by[0]: self._spread(one, counts, known.oneways[one.by[0]]) for one in within
        }
        tree = self.tree.tree(leaves)
        assert isinstance(tree, StringTree)  # noqa: S101 - of texts
        tree = replace(tree, attached=self.attached(known, spread, areas=places, rows=rows))
        notes, domain = self.tree.notes(where, rows=rows), resolve_domain(self.domain)
        return Model(
            mechanism=self.mechanism,
            domain=domain,
            rows=rows,
            tables=(),
            tree=tree,
            notes=notes,
        )

    def _spread(self, one: Leaves, counts: Floats, oneway: Floats) -> Floats:
        """Parts by values: each read against the beginnings that it lies in, with the sums that are known."""
        depths = self._depths(one.partition)
        table = hierarchical_shrinkage.shrink_by_node(
            one.values, depths, counts=counts, whole=oneway, variance=one.noise.variance
        )
        return fit_margins(table, [((0,), counts), ((1,), oneway)])

    def _depths(self, parts: NodeSet) -> Iterator[npt.NDArray[np.intp]]:
        for level in range(1, int(parts.levels.max(initial=0)) + 1):
            yield np.unique(
                self.tree.hierarchy.prefix(parts.prefixes, level), return_inverse=True
            )[1]


def _of_root(leaves: Leaves) -> Measurement:
    """A table of the root as one of columns alone."""
    return Measurement(clique=leaves.by, noise=leaves.noise, values=leaves.values[0])
