"""A table of groups: columns chosen one after the other so that groups stay large, published with noisy
counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.hierarchy import estimate
from synth_engine.inference import error_forecast, oneway
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.inference.suppression import Group, suppress_small_groups
from synth_engine.measurement import Answers, Measurement, Noise, Selection, Session
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.generalize.boxes import MIN_DEVIATIONS, TOTAL_SHARE, BoxesPlan
from synth_engine.models.model import Model, Node, Table, whole_weights
from synth_engine.plans import budget_allocation, resources
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Mechanism, Plan
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy import conversion
from synth_engine.privacy.unit import Relation
from synth_engine.spec import Spec
from synth_engine.strict_json import JsonObject, JsonValue

CHOICE_SHARE = Fraction(1, 10)
"""Of the budget for all choices together: one record moves a score by one, and scores differ by many
records."""
MAX_GROUP_CELLS = 100_000
"""Cells of the table of groups."""
_DIGITS = 10**9
_MOST_RECORDS = 2**62
"""So many that all columns can be chosen."""


@dataclass(frozen=True, kw_only=True)
class Generalize(Mechanism):
    """Columns are chosen one after the other, as few classes as possible being cut off; groups get noisy
    counts.

    Asks: one `measure` of the number of records, unless it is public; one `refine` for each column that is
    chosen; one
        `measure` of all chosen columns together, and one of each other column (adaptive, under a cap). Where
            groups are divided
        apart: one `measure` of each column; rounds of one `divide` and one count of all `boxes`; a last
            count.
    Privacy: permute-and-flip and discrete Laplace noise for delta 0, else Gumbel and rounded Gaussian noise,
    under a cap on
        epsilon or mu². Proofs: docs/proofs/generalize.md, docs/proofs/refine.md, docs/proofs/divide.md.
    Public assumptions: the domain, the unit, the relation; the number of records only where it is a public
    invariant.
    """

    id: ClassVar[str] = "generalize"
    counts_groups: ClassVar[bool] = True
    title: ClassVar[str] = "Table of large groups"
    summary: ClassVar[str] = (
        "Chooses columns one after the other so that groups of equal records stay large, as k-anonymity "
        "does, and publishes noisy counts of the groups; small ones are put together. Other columns are "
        "drawn by themselves."
    )
    paper: ClassVar[str] = "Synthetic Data via Differential Privacy (section 4.1)"
    keeps: ClassVar[tuple[str, ...]] = ("counts of large groups", "single columns")
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {
            "k": {
                "type": "integer",
                "minimum": 1,
                "maximum": 1_000_000,
                "default": 10,
                "title": "Least size of a group",
                "description": "Groups with a noisy count below it, or below twice their noise, are put "
                "together.",
            },
            "columns": {
                "type": "integer",
                "minimum": 0,
                "maximum": 64,
                "default": 0,
                "title": "Columns to choose at most",
                "description": "0: as many as leave k records for each group on average.",
            },
            "divided": {
                "type": "string",
                "enum": ["together", "apart"],
                "default": "together",
                "title": "Groups are divided",
                "x-labels": {
                    "together": "All by the same column",
                    "apart": "Each by a column of its own, class by class",
                },
                "description": "Class by class: by the partitions of a column, the widest first, or by "
                "halves of its range.",
            },
            "rest": {
                "type": "string",
                "enum": ["histogram", "any"],
                "default": "histogram",
                "title": "Columns that are not chosen",
                "x-labels": {
                    "histogram": "Follow their own noisy histogram",
                    "any": "Have any value, all alike",
                },
                "description": "Histograms are paid for; where values are all alike, groups get the whole "
                "budget.",
            },
        },
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "adaptive"
    adds_up: ClassVar[Literal["zcdp", "gdp"]] = "gdp"

    k: int = 10
    columns: int = 0
    divided: str = "together"
    rest: str = "histogram"

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        cap = within or conversion.budget_for(spec.epsilon, spec.delta, adds_up=self.adds_up)
        if self.divided == "apart":
            return self._box_plan(domain, spec, cap)
        plan = GeneralizePlan(config=self, domain=domain, spec=spec, cap=cap)
        plan.require_noise()
        return plan

    def _box_plan(self, domain: Domain, spec: Spec, cap: Budget) -> Plan:
        if self.columns:
            raise SpecError(
                "the number of columns is of groups that are divided together",
                repair="leave it out, or divide groups together",
            )
        plan = BoxesPlan(
            config=self,
            domain=domain,
            spec=spec,
            cap=cap,
            k=self.k,
            histograms=self.rest == "histogram",
        )
        plan.require()
        return plan


@dataclass(frozen=True, kw_only=True)
class GeneralizePlan(Plan):
    """`generalize` with its budget cut up."""

    config: Generalize

    def require_noise(self) -> None:
        """Check that all noise can be drawn, whatever is chosen, before anything is paid. Errors:
        SpecError."""
        self.total_noise()
        self.choices(0)
        self.choices(_MOST_RECORDS)
        self.noises(())
        # The cheapest table beside the largest one that groups can have, and all other columns.
        sizes = list(self.domain.sizes.values())
        roots = math.sqrt(min(math.prod(sizes), MAX_GROUP_CELLS)) + sum(map(math.sqrt, sizes))
        least = Fraction(math.sqrt(min(sizes)) / roots)
        budget_allocation.noise(self.loss.of(self._for_tables.amount * least), self.sensitivity)

    def total_noise(self) -> Noise | None:
        if self.domain.rows is not None:
            return None
        return budget_allocation.noise(
            self.loss.of(self.loss.amount * TOTAL_SHARE), self.sensitivity
        )

    def choices(self, records: int) -> tuple[int, Fraction]:
        """How many columns are chosen at most where there are about so many records, and the scale of each
        choice."""
        smallest = np.sort(np.array(list(self.domain.sizes.values()), dtype=np.float64))
        number = int((np.cumprod(smallest) <= self._max_cells(records)).sum())
        number = min(number, self.config.columns or number)
        # Equal parts for as many choices as there can be; fewer choices cost less than
        # planned.
        part = self.loss.of(self.loss.amount * CHOICE_SHARE / max(number, 1))
        return number, part.selection_scale(self.sensitivity.linf, monotonic=True)

    def candidates(self, chosen: Sequence[str], records: int) -> tuple[str, ...]:
        """Columns by which the groups may be divided next: `k` records are left for each on average."""
        cells = math.prod(self.domain.sizes[name] for name in chosen)
        sizes = self.domain.sizes.items()
        return tuple(
            name
            for name, size in sizes
            if name not in chosen and cells * size <= self._max_cells(records)
        )

    def _max_cells(self, records: int) -> float:
        return min(records / self.config.k, MAX_GROUP_CELLS)

    @property
    def _for_tables(self) -> Budget:
        """The part of the budget that remains for the tables that are measured."""
        total = 0 if self.domain.rows is not None else TOTAL_SHARE
        return self.loss.of(self.loss.amount * (1 - CHOICE_SHARE - total))

    def noises(self, chosen: Sequence[str]) -> dict[tuple[str, ...], Noise]:
        """Of each table that is measured: what is left of the budget in proportion to the roots of their
        sizes, which makes the sum of all errors least under Laplace noise."""
        cliques = [tuple(chosen)] if chosen else []
        if self.config.rest == "histogram" or not chosen:
            cliques += [(name,) for name in self.domain.sizes if name not in chosen]
        roots = [math.isqrt(self.domain.cells(clique) * _DIGITS**2) for clique in cliques]
        noises = budget_allocation.noises(
            self._for_tables, [Fraction(root, _DIGITS) for root in roots], domain=self.domain
        )
        return dict(zip(cliques, noises, strict=True))

    def ask(self, session: Session) -> None:
        noise = self.total_noise()
        totals = () if noise is None else (session.measure((), noise=noise),)
        records = self._records(totals)
        number, scale = self.choices(records)
        chosen: list[str] = []
        while len(chosen) < number and (candidates := self.candidates(chosen, records)):
            index = session.select_split(tuple(chosen), candidates, scale=scale)
            chosen.append(candidates[index])
        for clique, noise in self.noises(chosen).items():
            session.measure(clique, noise=noise)

    def _records(self, totals: Sequence[Measurement]) -> int:
        return (
            self.domain.rows
            if self.domain.rows is not None
            else oneway.clip_rows(int(totals[0].values))
        )

    def _read(self, given: Replay) -> tuple[int, list[str], list[Measurement]]:
        """The number of records, the columns chosen, and the tables that were measured."""
        totals = [given.measurement(())] if self.domain.rows is None else []
        records, chosen = self._records(totals), list[str]()
        while given.comes(Selection):
            candidates = self.candidates(chosen, records)
            chosen.append(candidates[given.selection(len(candidates))])
        tables = [given.measurement(clique) for clique in self.noises(chosen)]
        return self._rows([*totals, *tables]), chosen, tables

    def groups(self, answers: Answers) -> tuple[list[str], list[Group]]:
        """The published table: the columns chosen, in their order, and the groups; none where no column was
        chosen."""
        rows, chosen, tables = self._read(Replay(answers))
        if not chosen:
            return [], []
        return chosen, self._published(tables[0], rows=rows)[1]

    def published(self, answers: Answers) -> JsonObject | None:
        """The columns chosen, and of each group: codes of the first of them, codes of the next that are put
        together, and its records."""
        chosen, groups = self.groups(answers)
        lines: list[JsonValue] = [
            [list(group.values), list(group.among), round(group.count, 3)] for group in groups
        ]
        return {"columns": chosen, "groups": lines}

    def _rows(self, measurements: Sequence[Measurement]) -> int:
        return (
            self.domain.rows
            if self.domain.rows is not None
            else oneway.estimate_rows(measurements)
        )

    def _published(
        self, table: Measurement, *, rows: int
    ) -> tuple[npt.NDArray[np.float64], list[Group]]:
        counts = table.values.astype(np.float64).ravel()
        root = np.zeros(counts.size, dtype=np.int64)
        projected = estimate.project_nonnegative(
            counts, np.ones(counts.size), sums=np.array([float(rows)]), parents=root
        )
        # A group smaller than its noise would be published as little else than noise.
        least = max(float(self.config.k), MIN_DEVIATIONS * math.sqrt(table.noise.variance))
        return suppress_small_groups(projected.reshape(table.values.shape), least=least)

    def fit_replay(self, given: Replay) -> Model:
        rows, chosen, tables = self._read(given)
        network, weights = [], []
        if chosen:
            published, _ = self._published(tables[0], rows=rows)
            for length, name in enumerate(chosen, start=1):
                network.append(Node(attribute=name, parents=tuple(chosen[: length - 1])))
                weights.append(published.sum(axis=tuple(range(length, len(chosen)))))
        measured = {m.clique: m for m in tables}
        for name in self.domain.sizes:
            if name not in chosen:
                network.append(Node(attribute=name, parents=()))
                weights.append(self._alone(name, measured.get((name,)), rows=rows))
        tables_ = tuple(
            Table(clique=(*node.parents, node.attribute), weights=whole_weights(values))
            for node, values in zip(network, weights, strict=True)
        )
        return Model(
            mechanism=self.mechanism,
            domain=self.domain,
            rows=rows,
            tables=tables_,
            network=tuple(network),
        )

    def _alone(
        self, name: str, table: Measurement | None, *, rows: int
    ) -> npt.NDArray[np.float64]:
        if table is None:
            return np.ones(self.domain.sizes[name])
        along = self.domain.attribute(name).value_count
        return oneway.denoise(table.values, noise=table.noise, total=rows, along=along)

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        records = self._guess(rows)
        number, _ = self.choices(records)
        cells = int(max(1.0, self._max_cells(records)))
        queries = resources.of_groups(
            records, [(cells,)] * (number * len(self.domain.names) + 1), in_memory_at_once=False
        )
        return super().needs(rows) + queries

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        """As if no column were chosen: which ones are is not known beforehand. Where columns that are not
        chosen have any value, as if nothing were measured."""
        records = self._guess(rows)
        if self.config.rest == "any":
            return error_forecast.uniform(sizes=self.domain.sizes, rows=records)
        noises = {clique[0]: noise for clique, noise in self.noises(()).items()}
        table = error_forecast.typical(self.domain.sizes, rows=records)
        # How many columns go together in groups is not known beforehand.
        return replace(error_forecast.independent(noises, table), pair_noise=None)
