"""The rows of a model, changed until they have its target tables, with the domain's constraints kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from synth_engine.constraints import tables as restricting
from synth_engine.domain import Domain
from synth_engine.domain.relations import Component
from synth_engine.inference import column_counts, record_refinement
from synth_engine.inference.cost_tables import AttributeFacts, Axes, Truth
from synth_engine.kinds.reading import Codes as Column
from synth_engine.measurement import Clique
from synth_engine.models import binning as bins
from synth_engine.models.binning import is_merged_in_order
from synth_engine.models.triple_mixture import TripleMixture

Floats = npt.NDArray[np.float64]
Codes = dict[str, Column]
Targets = Sequence[tuple[Clique, Floats]]
_FEW_COLUMNS = 3
"""Columns of a constraint that get a table of the cells that may be entered, whatever the targets are."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Refinement:
    """What the rows of a model are refined to.

    targets: tables of two columns or more. merged: the columns whose codes are bins. mixture: where tables of
    three columns start. Rows that keep the constraints among columns without bins still keep them.
    """

    targets: Targets
    domain: Domain
    merged: Mapping[str, bins.Binning]
    mixture: TripleMixture | None = None

    def refine(self, before: Codes, codes: Codes, *, rng: np.random.Generator) -> Codes:
        """Columns of codes (of bins, where an attribute has them) whose tables, together with those of the
        rows before, are near to the targets."""
        names = list(codes)
        axes, facts = self._by_place(names)
        refined = record_refinement.refine(
            _stacked(before, codes),
            fixed=len(before[names[0]]),
            targets=axes,
            rng=rng,
            facts=facts,
        )
        return dict(zip(names, refined, strict=True))

    def match_columns(
        self, before: Codes, codes: Codes, *, times: int, rng: np.random.Generator
    ) -> Codes:
        """Columns of codes whose histograms, together with those of the rows before, each of which counts so
        many times, are those of the targets to rounding."""
        names = list(codes)
        axes, facts = self._by_place(names)
        matched = column_counts.match(
            _stacked(before, codes),
            fixed=len(before[names[0]]),
            targets=axes,
            rng=rng,
            facts=facts,
            times=times,
        )
        return dict(zip(names, matched, strict=True))

    def _by_place(
        self, names: Sequence[str]
    ) -> tuple[list[tuple[Axes, Floats]], AttributeFacts]:
        """The targets, and what is known of the columns, by the places of their names."""
        axis_of = {name: axis for axis, name in enumerate(names)}
        axes = [
            (tuple(axis_of[name] for name in clique), weights)
            for clique, weights in self.targets
        ]
        # Constraints on binned columns cannot be judged here: their codes are drawn within the
        # bins afterwards, and repaired then.
        allowed, tied = _cell_constraints(
            self.domain, self.merged, axis_of, [set(c) for c, _ in self.targets]
        )
        free = sorted({axis for clique, _ in axes for axis in clique})
        in_sequence = {
            attribute.name: is_merged_in_order(attribute) for attribute in self.domain.modelled
        }
        return axes, AttributeFacts(
            allowed=[table for table in allowed if set(table[0]) & set(free)],
            tied=[attributes for attributes in tied if set(attributes) & set(free)],
            ordered=[in_sequence[name] for name in names],
            start=None if self.mixture is None else self.mixture.start(names, self._histograms),
        )

    @property
    def _histograms(self) -> dict[str, Floats]:
        """Return the sums of the targets of each column that is in one, by values or bins."""
        return {
            name: weights.sum(axis=tuple(k for k in range(weights.ndim) if k != axis))
            for clique, weights in reversed(self.targets)
            for axis, name in enumerate(clique)
        }


def _stacked(before: Codes, codes: Codes) -> Column:
    """The codes of the rows before and of these, shape (columns, rows), in the order of these."""
    return np.array([np.concatenate([before[name], column]) for name, column in codes.items()])


def decidable_components(domain: Domain, merged: Mapping[str, bins.Binning]) -> list[Component]:
    """Returns the constraints that can be judged before codes are drawn within their bins."""
    return [
        component for component in domain.components if not set(component.columns) & set(merged)
    ]


def _cell_constraints(
    domain: Domain,
    merged: Mapping[str, bins.Binning],
    axis_of: Mapping[str, int],
    targets: Sequence[set[str]],
) -> tuple[list[tuple[Axes, Truth]], list[Axes]]:
    """Tables of cells that may be entered, and, where these were too large, attributes to be changed together
    only. targets: the columns of each."""
    allowed: list[tuple[Axes, Truth]] = []
    tied: list[Axes] = []
    for component in decidable_components(domain, merged):
        clique = component.columns
        axes = tuple(axis_of[name] for name in clique)
        # A larger table of allowed cells does not fit in memory. Its columns are then only
        # exchanged together, from record to record, which keeps valid combinations valid.
        # Columns of one target have to change one by one to come near to it.
        few = len(axes) <= _FEW_COLUMNS or any(set(clique) <= target for target in targets)
        if few and prod(domain.shape(clique)) <= bins.MAX_CELLS:
            allowed.append((axes, np.ascontiguousarray(restricting.possible(domain, clique))))
        else:
            tied.append(axes)
    return allowed, tied
