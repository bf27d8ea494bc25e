"""Trees with further columns beside them: how each column is spread in parts of the tree, and how the columns
go together."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from synth_engine.errors import SpecError
from synth_engine.hierarchy import NodeSet
from synth_engine.inference import error_forecast, factors
from synth_engine.inference.denoising import Denoised, denoise_tables
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.inference.factors import Floats
from synth_engine.inference.tables import fit_margins
from synth_engine.measurement import (
    Candidate,
    Clique,
    Leaves,
    Measurement,
    Noise,
    Query,
    Session,
)
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.pairwise import pairs
from synth_engine.mechanisms.trees.further_counts import FurtherCountsPlan
from synth_engine.models.model import Model, whole_weights
from synth_engine.models.trees.covariates import Covariate, Covariates
from synth_engine.plans import budget_allocation
from synth_engine.plans.resources import ResourceEstimate

_COLUMNS, _AREAS, _CHOICES, _PAIRS = (Fraction(n, 100) for n in (12, 20, 4, 14))
MAX_TABLE_CELLS = 500_000
"""Of one table of the model: parts by a column by another one."""


@dataclass(frozen=True, kw_only=True)
class Noises:
    """Of each column, of each table of parts, of a pair; and the scale of a choice."""

    columns: Mapping[str, Noise]
    areas: Noise
    choice: Fraction
    pair: Noise | None


@dataclass(frozen=True, kw_only=True)
class CovariatePlan(FurtherCountsPlan):
    """A tree over some columns, half of the budget, and questions about the others."""

    tree_share = Fraction(1, 2)

    tree_columns: ClassVar[str]
    """What the tree divides, in words."""
    max_parts: ClassVar[int]
    """Parts of the tree by which the other columns are counted."""

    def require_countable(self) -> None:
        for name, size in self.sizes.items():
            if size * max(self.sizes.values()) > MAX_TABLE_CELLS:
                raise SpecError(
                    f"an additional column of {self.tree_columns} has more values than can be counted with "
                    f"others: {size:,}",
                    repair="describe it with fewer values or bins, or leave it out",
                    column=name,
                )
        self.noises()

    @abstractmethod
    def spread(self, table: Leaves, counts: Floats, oneway: Floats, *, rows: int) -> Floats:
        """Parts by values of a column, shape (parts, values). counts: of the parts; oneway: of the values."""

    # ---- allocation ----------------------------------------------------------------------

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many values each column beside the tree has."""
        inside = self.tree.hierarchy.columns
        return {name: size for name, size in self.domain.sizes.items() if name not in inside}

    @property
    def part_limit(self) -> int:
        """At most so many parts, as the tables of the model bear."""
        largest = max(self.sizes.values()) ** (2 if len(self.sizes) > 1 else 1)
        return max(1, min(self.max_parts, MAX_TABLE_CELLS // largest))

    @cached_property
    def _noises(self) -> Noises:
        pair_count = len(self.sizes) - 1
        # A single column has no pairs, whose shares its table by parts then gets.
        spare = Fraction(0) if pair_count else _CHOICES + _PAIRS
        # The error of a one-way table grows with the root of its number of values.
        weights = [
            Fraction(round(10**6 * math.sqrt(size)), 10**6) for size in self.sizes.values()
        ]
        columns = {
            name: self._noise(_COLUMNS * weight / sum(weights))
            for name, weight in zip(self.sizes, weights, strict=True)
        }
        choice = self.loss.of(self.loss.amount * _CHOICES / max(1, pair_count))
        return Noises(
            columns=columns,
            areas=self._noise((_AREAS + spare) / len(self.sizes)),
            choice=choice.selection_scale(self.sensitivity.linf) if pair_count else Fraction(1),
            pair=self._noise(_PAIRS / pair_count) if pair_count else None,
        )

    def noises(self) -> Noises:
        return self._noises

    def _noise(self, share: Fraction) -> Noise:
        return budget_allocation.noise(self.loss.of(self.loss.amount * share), self.sensitivity)

    # ---- the run -------------------------------------------------------------------------

    def ask(self, session: Session) -> None:
        noises, where = self.noises(), self.tree.run(session)
        columns = [self._ask(session, (name,), noise) for name, noise in noises.columns.items()]
        rows, leaves = self.tree.estimated(where)
        parts = self.parts(where, leaves)
        for name in self.sizes:
            session.leaves(parts, noise=noises.areas, by=(name,))
        forest = self._choose(session, [_of_all(table) for table in columns], rows=rows)
        if noises.pair is not None:
            for pair in forest.taken:
                self._ask(session, pair, noises.pair)

    def _ask(self, session: Session, columns: Clique, noise: Noise) -> Measurement | Leaves:
        """A table of columns of all records that can be in the tree."""
        # Records whose text has another character are in no node, so that they count nowhere here either.
        if self.tree.reads_strings:
            return session.leaves(self.tree.root, noise=noise, by=columns)
        return session.measure(columns, noise=noise)

    def _choose(
        self, session: Session, columns: Sequence[Measurement], *, rows: int
    ) -> pairs.Forest:
        """Pairs of columns that go together, by `select`: one fewer than there are columns."""
        forest = pairs.Forest(tuple(self.sizes))
        candidates = self._candidates(columns, rows=rows)
        while choices := [pair for pair in candidates if forest.connects(pair)]:
            index = session.select(
                [candidates[pair] for pair in choices], scale=self.noises().choice
            )
            forest.take(choices[index])
        return forest

    def _candidates(
        self, columns: Sequence[Measurement], *, rows: int
    ) -> dict[Clique, Candidate]:
        known, pair = self._denoised(columns, rows=rows), self.noises().pair
        deviation = pair.mean_deviation if pair else 0.0
        names = list(self.sizes)
        return {
            (a, b): pairs.candidate(
                (a, b),
                factors.product([known.oneways[a], known.oneways[b]], total=known.total),
                deviation=deviation,
            )
            for index, a in enumerate(names)
            for b in names[index + 1 :]
        }

    def _denoised(self, measurements: Sequence[Measurement], *, rows: int) -> Denoised:
        along = {
            name: count
            for name, count in pairs.along(self.domain).items()
            if name in self.sizes
        }
        return denoise_tables(
            pairs.noisy(measurements), sizes=self.sizes, along=along, rows=rows
        )

    # ---- the model -----------------------------------------------------------------------

    def fit_replay(self, given: Replay) -> Model:
        where = given.take_while(lambda line: not self._is_of_columns(line.call.query))
        columns = [self._read(given, (name,)) for name in self.sizes]
        rows, leaves = self.tree.estimated(where)
        parts = self.parts(where, leaves)
        within = [self._read_within(given, parts, name) for name in self.sizes]
        forest = pairs.read_forest(given, tuple(self.sizes))
        given.require(len(forest) == len(self.sizes) - 1)
        whole = [*columns, *(self._read(given, pair) for pair in forest)]
        hierarchy, cells = self.tree.hierarchy, self.tree.kept_leaves(leaves)
        areas = parts.places(hierarchy, cells.prefixes)
        weights = cells.counts
        if self.tree.reads_strings:  # the clean-up left out some records, and made up others
            weights = weights * (rows / float(weights.sum()))
        counts = np.bincount(areas, weights=weights, minlength=len(parts)).astype(np.float64)
        known = self._denoised(whole, rows=rows)
        tables = {}
        for table in within:
            (name,) = table.by
            tables[name] = self.spread(table, counts, known.oneways[name], rows=rows)
        attached = self._covariates(known, tables, areas=areas, rows=rows)
        tree = self.tree.tree(cells, attached=attached)
        return self.tree.model(tree, self.tree.diagnose(where, leaves, rows=rows), rows=rows)

    def _is_of_columns(self, query: Query) -> bool:
        """Whether the first of the questions about columns, and none about the tree."""
        return bool(query.by) or not self.sizes.keys().isdisjoint(query.clique)

    def _read(self, given: Replay, columns: Clique) -> Measurement:
        """The stored answer to `_ask`, as a table of columns alone. Errors: InputError."""
        if not self.tree.reads_strings:
            return given.measurement(columns)
        asked = self.tree.root.digest, columns
        return _of_all(given.next(Leaves, lambda one: (one.partition.digest, one.by) == asked))

    def _read_within(self, given: Replay, parts: NodeSet, name: str) -> Leaves:
        asked = parts.digest, (name,)
        return given.next(Leaves, lambda one: (one.partition.digest, one.by) == asked)

    def _covariates(
        self,
        known: Denoised,
        tables: Mapping[str, Floats],
        *,
        areas: npt.NDArray[np.intp],
        rows: int,
    ) -> Covariates:
        """tables: of each column, parts by values; areas: in which part each cell of the tree lies."""
        nodes = pairs.network(known.tables, known.oneways, total=float(rows))
        return Covariates(
            areas=areas.astype(np.int64),
            columns=tuple(
                _covariate(node.attribute, node.parents, node.table, within=tables)
                for node in nodes
            ),
        )

    # ---- forecasts -----------------------------------------------------------------------

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        values = sum(self.sizes.values())
        cells = self.part_limit * values + values**2
        seconds = 2e-8 * self._guess(rows) * len(self.sizes) ** 2 + 2e-6 * cells
        return self.tree.needs(rows) + ResourceEstimate(
            memory_bytes=24 * cells, seconds=seconds
        )

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        """Of the tree as of one alone; of the other columns as of a network. Pairs of a column of the tree
        and another one are taken for pairs of columns."""
        tree, noises = self.tree.expected_error(rows=rows), self.noises()
        table = error_forecast.typical(self.sizes, rows=tree.rows)
        network = error_forecast.network(noises.columns, noises.pair or noises.areas, table)
        errors = {**tree.attributes, **network.attributes}
        means = [tree.mean_pairs]
        if len(self.sizes) > 1:
            means.append(network.mean_pairs)
        return replace(
            tree,
            attributes=errors,
            mean=sum(errors.values()) / len(errors),
            mean_pairs=max(means),
            pairs_band=None,
            column_noise=network.column_noise,
        )


def _of_all(table: Measurement | Leaves) -> Measurement:
    """A table of the root as one of columns alone."""
    if isinstance(table, Measurement):
        return table
    return Measurement(clique=table.by, noise=table.noise, values=table.values[0])


def _covariate(
    column: str, parents: Clique, table: Floats, *, within: Mapping[str, Floats]
) -> Covariate:
    """A column by area, or by area and another column: of all tables with the three pairs' sums the one that
    says nothing else."""
    if not parents:
        return Covariate(column=column, given=None, weights=whole_weights(within[column]))
    (given,) = parents
    # Iterative proportional fitting from a uniform table has the largest entropy.
    uniform = np.ones((len(within[column]), *table.shape))
    fitted = fit_margins(
        uniform, [((1, 2), table), ((0, 2), within[column]), ((0, 1), within[given])]
    )
    return Covariate(column=column, given=given, weights=whole_weights(fitted))
