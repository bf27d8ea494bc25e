"""Trees with further columns beside them: how each column is spread in parts of the tree, and how the columns go together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.inference import error_forecast, factors
from synth_engine.inference.denoising import Denoised, denoise_tables
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.inference.factors import Floats
from synth_engine.inference.tables import fit_margins
from synth_engine.measurement import Candidate, Clique, Measurement, Noise, Session
from synth_engine.measurement.answers import not_of_this_plan
from synth_engine.mechanisms.pairwise import pairs
from synth_engine.mechanisms.trees.delegation import DelegatingPlan
from synth_engine.models.model import whole_weights
from synth_engine.models.trees.covariates import Covariate, Covariates
from synth_engine.plans import budget_allocation
from synth_engine.plans.plan import Plan
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy.loss import Budget as Loss

TREE_SHARE = Fraction(1, 2)
"""Of the budget for the tree."""
_COLUMNS, _AREAS, _CHOICES, _PAIRS = (Fraction(n, 100) for n in (12, 20, 4, 14))
MAX_TABLE_CELLS = 500_000
"""Of one table of the model: parts by a column by another one."""


def require_small(sizes: Mapping[str, int], *, beside: str) -> None:
    """Errors: SpecError where a column has too many values to be counted by parts of a tree."""
    for name, size in sizes.items():
        if size * max(sizes.values()) > MAX_TABLE_CELLS:
            raise SpecError(
                f"a column beside {beside} has more values than can be counted with others: {size:,}",
                repair="describe it with fewer values or bins, or leave it out",
                column=name,
            )


def without(domain: Domain, columns: Sequence[str]) -> dict[str, int]:
    """How many values the columns have that are not among these."""
    return {name: size for name, size in domain.sizes.items() if name not in columns}


@dataclass(frozen=True, kw_only=True)
class Noises:
    """Of each column, of each table of parts, of a pair; and the scale of a choice."""

    columns: Mapping[str, Noise]
    areas: Noise
    choice: Fraction
    pair: Noise | None


@dataclass(frozen=True, kw_only=True)
class CovariatePlan(DelegatingPlan):
    """A tree over some columns, half of the budget, and what is asked of the others. `beside`: what these stand beside; `most_parts`:
    how many parts of the tree they are counted by at most."""

    beside: ClassVar[str]
    most_parts: ClassVar[int]

    @classmethod
    def of(cls, tree: Plan, *, cap: Loss) -> Self:
        """Errors: SpecError where a column beside the tree has too many values to be counted by parts of it."""
        found = cls(config=tree.config, domain=tree.domain, spec=tree.spec, cap=cap, tree=tree)
        require_small(found.sizes, beside=cls.beside)
        found.noises()
        return found

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Of the columns beside the tree."""
        hierarchy = self.tree.tree_hierarchy
        return without(self.domain, () if hierarchy is None else hierarchy.columns)

    @property
    def most(self) -> int:
        """Parts, as many as the tables of the model bear."""
        borne = MAX_TABLE_CELLS // max(self.sizes.values()) ** (2 if len(self.sizes) > 1 else 1)
        return max(1, min(self.most_parts, borne))

    @cached_property
    def _noises(self) -> Noises:
        loss: Loss = self.loss
        edges = len(self.sizes) - 1
        alone = Fraction(0) if edges else _CHOICES + _PAIRS
        weights = [
            Fraction(round(10**6 * math.sqrt(size)), 10**6) for size in self.sizes.values()
        ]
        shared = [_COLUMNS * weight / sum(weights) for weight in weights]
        columns = dict(zip(self.sizes, (self._noise(part) for part in shared), strict=True))
        each = loss.of(loss.amount * _CHOICES / max(1, edges))
        return Noises(
            columns=columns,
            areas=self._noise((_AREAS + alone) / len(self.sizes)),
            choice=budget_allocation.selection_scale(each, self.sensitivity)
            if edges
            else Fraction(1),
            pair=self._noise(_PAIRS / edges) if edges else None,
        )

    def noises(self) -> Noises:
        return self._noises

    def _noise(self, share: Fraction) -> Noise:
        return budget_allocation.noise(self.loss.of(self.loss.amount * share), self.sensitivity)

    def chosen(
        self, session: Session, columns: Sequence[Measurement], *, rows: int
    ) -> pairs.Forest:
        """Pairs of columns that go together, by `select`: one fewer than there are columns."""
        found = pairs.Forest(tuple(self.sizes))
        candidates = self._candidates(columns, rows=rows)
        while choices := [pair for pair in candidates if found.connects(pair)]:
            index = session.select(
                [candidates[pair] for pair in choices], scale=self.noises().choice
            )
            found.take(choices[index], index=index)
        return found

    def _candidates(
        self, columns: Sequence[Measurement], *, rows: int
    ) -> dict[Clique, Candidate]:
        known, pair = self.denoised(columns, rows=rows), self.noises().pair
        deviation = pair.mean_deviation if pair else 0.0
        names = list(self.sizes)
        return {
            (a, b): pairs.candidate(
                (a, b),
                factors.product([known.oneways[a], known.oneways[b]], total=known.total),
                deviation=deviation,
            )
            for place, a in enumerate(names)
            for b in names[place + 1 :]
        }

    def denoised(self, measurements: Sequence[Measurement], *, rows: int) -> Denoised:
        along = {
            name: count
            for name, count in pairs.along(self.domain).items()
            if name in self.sizes
        }
        return denoise_tables(
            pairs.noisy(measurements), sizes=self.sizes, along=along, rows=rows
        )

    def require_asked(self, further: Sequence[Clique], within: Sequence[Clique]) -> None:
        """Errors: InputError unless these are columns and a forest of their pairs, and one table by parts for each column."""
        names = tuple(self.sizes)
        forest = pairs.Forest(names)
        for pair in further[len(names) :]:
            if len(pair) == 2 and set(pair) <= set(names) and forest.connects(pair):
                forest.take(pair, index=0)
        fits = [*further] == [*((name,) for name in names), *forest.taken] and len(
            forest.taken
        ) == len(names) - 1
        if not fits or [*within] != [(name,) for name in names]:
            raise not_of_this_plan()

    def attached(
        self,
        known: Denoised,
        tables: Mapping[str, Floats],
        *,
        areas: npt.NDArray[np.intp],
        rows: int,
    ) -> Covariates:
        """tables: of each column, parts by values; areas: in which part each cell of the tree lies."""
        drawn = pairs.network(known.tables, known.oneways, total=float(rows))
        columns = tuple(
            _beside(one.attribute, one.parents, one.table, within=tables) for one in drawn
        )
        return Covariates(areas=areas.astype(np.int64), columns=columns)

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        found = self._guess(rows)
        cells = self.most * sum(self.sizes.values()) + sum(self.sizes.values()) ** 2
        more = ResourceEstimate(
            memory_bytes=24 * cells, seconds=2e-8 * found * len(self.sizes) ** 2 + 2e-6 * cells
        )
        return self.tree.needs(rows) + more

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        """Of the tree as of one alone; of the other columns as of a network. Pairs of a column of the tree and another one are
        taken for pairs of columns."""
        tree, noises = self.tree.expected_error(rows=rows), self.noises()
        beside = error_forecast.network(
            noises.columns, noises.pair or noises.areas, sizes=self.sizes, rows=tree.rows
        )
        errors = {**tree.attributes, **beside.attributes}
        means = tree.mean_pairs, beside.mean_pairs
        return replace(
            tree,
            attributes=errors,
            mean=sum(errors.values()) / len(errors),
            mean_pairs=max(means) if len(self.sizes) > 1 else tree.mean_pairs,
        )


def _beside(
    column: str,
    parents: Clique,
    table: Floats,
    *,
    within: Mapping[str, npt.NDArray[np.float64]],
) -> Covariate:
    """A column by area, or by area and another column: of all tables with the three pairs' sums the one that says nothing
    else."""
    if not parents:
        return Covariate(column=column, given=None, weights=whole_weights(within[column]))
    (given,) = parents
    alike = np.ones((len(within[column]), *table.shape))
    found = fit_margins(
        alike, [((1, 2), table), ((0, 2), within[column]), ((0, 1), within[given])]
    )
    return Covariate(column=column, given=given, weights=whole_weights(found))
