"""DPSyn: many overlapping groups of columns are measured, made to agree, and records are made that have their
tables."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.inference import error_forecast, oneway, ripple, view_design
from synth_engine.inference.consistency import View
from synth_engine.inference.error_forecast import ErrorForecast, StandIn
from synth_engine.inference.view_design import AssessedDesign, Design
from synth_engine.measurement import Call, Clique, Noise, Query, Session
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.pairwise import pairs
from synth_engine.models.model import Model, Synthesis, Table, generator, whole_weights
from synth_engine.plans import budget_allocation, resources, two_stage
from synth_engine.plans.parameters import ParameterSchema, records_parameter
from synth_engine.plans.plan import Mechanism, Plan
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy.loss import Budget, Pure
from synth_engine.privacy.unit import Relation, histogram_sensitivity
from synth_engine.spec import Spec

KINDS: dict[str, tuple[str, ...]] = {
    "chosen": ("covering",),
    "covering": ("covering",),
    "random": ("random",),
    "triples": ("triples",),
}
"""Designs among which the expected error decides. Random views have to be asked for: what their noise does in
tables with many empty cells is worse than reckoned, ten times on market baskets (docs/proofs/dpsyn.md)."""
BYTES = 64
"""Of memory, for each cell of a view: its answer, what it is made into, what is between, and its weight."""
_DIGITS = 10**9


@dataclass(frozen=True, kw_only=True)
class DPSyn(Mechanism):
    """Views of many columns each, chosen without the data.

    Asks: one `measure` for each view, all fixed beforehand (static).
    Privacy: discrete Laplace (delta 0) with shares of epsilon in proportion to cells^(1/3), or rounded
    Gaussian with
        shares of mu² in proportion to cells^(1/2), cells rounded to a power of two. Which views there are
            follows from
        the sizes of the columns, a number of records that is public or a guess, and the target. Proofs:
        docs/proofs/dpsyn.md, docs/proofs/accounting.md.
    Public assumptions: the domain, its sizes, the unit, the relation; the number of records only where it is
    a public
        invariant.
    """

    id: ClassVar[str] = "dpsyn"
    counts_groups: ClassVar[bool] = True
    title: ClassVar[str] = "Overlapping views (DPSyn)"
    summary: ClassVar[str] = (
        "Measures many overlapping groups of columns, chosen from the sizes of the columns alone, makes "
        "their tables agree, and changes random records as little as possible until they have these "
        "tables. Treats all columns alike."
    )
    paper: ClassVar[str] = (
        "Li, Zhang and Wang 2018 (DPSyn); Qardaji, Yang and Li 2014 (PriView)"
    )
    keeps: ClassVar[tuple[str, ...]] = (
        "relations of any few columns, whichever they are",
        "histograms of single columns",
        "number of records",
    )
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {
            "views": {
                "type": "string",
                "enum": ["chosen", "covering", "triples", "random"],
                "default": "chosen",
                "title": "Groups of columns",
                "x-labels": {
                    "chosen": "As the least error is expected",
                    "covering": "Every pair of columns in at least one",
                    "triples": "Every three columns in at least one",
                    "random": "At random",
                },
                "description": "How the groups of columns that are measured are made up. It does not "
                "depend on the table. Pairs and triples of columns with more cells than a group may have "
                "are left out.",
            },
            "number": {
                "type": "integer",
                "minimum": 0,
                "maximum": view_design.MAX_VIEWS,
                "default": 0,
                "title": "Number of groups",
                "description": "More groups say more, and each with more noise. 0: as the least error is "
                "expected.",
            },
            "cells": {
                "type": "integer",
                "minimum": 0,
                "maximum": 1_000_000,
                "default": 0,
                "title": "Most cells of a group",
                "description": "A column that has more values than this is measured by itself. 0: as the "
                "least error is expected.",
            },
            "records": records_parameter("the number and size of groups are set by it"),
            "synthesis": {
                "type": "string",
                "enum": ["mcf", "sts"],
                "default": "mcf",
                "title": "Records",
                "x-labels": {
                    "mcf": "By minimum-cost flow",
                    "sts": "One by one, from sorted groups",
                },
                "description": "How records are made that have the tables measured. Minimum-cost flow "
                "keeps far more of them.",
            },
            "ripple_threshold": {
                "type": "number",
                "minimum": 0.001,
                "maximum": 10,
                "default": ripple.THRESHOLD,
                "title": "Negative counts: from where",
                "description": "In standard deviations of the noise of a cell: how far below zero a cell "
                "may stay while the tables are made to agree. Further below it is set to zero, and its "
                "neighbours give what it lacked.",
            },
            "ripple_neighbours": {
                "type": "integer",
                "minimum": 0,
                "maximum": 10**6,
                "default": 0,
                "title": "Negative counts: neighbours",
                "description": "How many cells that differ in one column give what a cell below zero "
                "lacked, the largest ones. 0: all of them.",
            },
            "memory_mb": pairs.MEMORY,
        },
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "static"
    adds_up: ClassVar[Literal["zcdp", "gdp"]] = "gdp"

    views: str = "chosen"
    number: int = 0
    cells: int = 0
    records: int = 0
    synthesis: Synthesis = "mcf"
    ripple_threshold: float = ripple.THRESHOLD
    ripple_neighbours: int = 0
    memory_mb: int = 0

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        budget = within or two_stage.total_budget(self, spec)
        design = self._design(domain, budget=budget)
        names = tuple(domain.sizes)
        cliques = tuple(tuple(names[axis] for axis in group) for group in design.groups)
        counts = tuple(design.counts(tuple(domain.sizes.values())))
        noises = budget_allocation.noises(
            budget, _weights(counts, pure=isinstance(budget, Pure)), domain=domain
        )
        if within is not None:
            return DPSynPlan(
                config=self,
                domain=domain,
                spec=spec,
                cap=within,
                cliques=cliques,
                noises=noises,
            )
        sensitivity = histogram_sensitivity(domain.unit, domain.relation)
        calls = tuple(
            Call(
                query=Query(verb="measure", clique=clique, cells=cells),
                event=noise.event(sensitivity),
            )
            for clique, cells, noise in zip(cliques, counts, noises, strict=True)
        )
        return DPSynPlan(
            config=self, domain=domain, spec=spec, calls=calls, cliques=cliques, noises=noises
        )

    def _design(self, domain: Domain, *, budget: Budget) -> Design:
        """From public facts alone. Errors: SpecError for tables that are too large."""
        rows = self.records or domain.rows or error_forecast.ROWS
        sizes = tuple(domain.sizes.values())
        pure = isinstance(budget, Pure)
        amount = _amount(budget, domain)
        scale = amount**-2 if pure else 1 / amount
        assessed = _assessed(sizes, self.views, self.cells, self.number, pure)
        if not assessed:
            most = self.number or view_design.MAX_VIEWS
            raise SpecError(
                f"more than {most:,} groups would be needed for every three columns",
                repair='take every pair of columns (views: "covering"), larger groups, or fewer columns',
            )
        max_bytes = min(
            view_design.MAX_TOTAL_CELLS * BYTES,
            (self.memory_mb or pairs.DEFAULT_MEMORY_MB) * 10**6,
        )
        fitting = [
            candidate for candidate in assessed if memory(candidate.design, sizes) <= max_bytes
        ]
        if not fitting:
            least = min(memory(candidate.design, sizes) for candidate in assessed)
            pairs.require_memory(least, megabytes=max_bytes // 10**6, domain=domain)
        # Errors are compared with seven digits, so that the choice is the same on every
        # machine.
        return min(
            fitting,
            key=lambda candidate: float(f"{candidate.error(rows=rows, scale=scale):.6e}"),
        ).design


def memory(design: Design, sizes: Sequence[int]) -> int:
    """Bytes at most that views take from their answers to the model."""
    return BYTES * sum(design.counts(sizes))


def _amount(budget: Budget, domain: Domain) -> float:
    """Epsilon or rho, in units of the sensitivity, to seven digits: what designs go by."""
    sensitivity = histogram_sensitivity(domain.unit, domain.relation)
    if isinstance(budget, Pure):
        amount = float(budget.epsilon / sensitivity.l1)
    else:
        amount = float(budget.rho / sensitivity.l2_squared)
    return float(f"{amount:.6e}")


@functools.lru_cache(maxsize=64)
def _assessed(
    sizes: tuple[int, ...], views: str, cells: int, number: int, pure: bool
) -> list[AssessedDesign]:
    """Designs, with their errors for an epsilon or rho of one."""
    assessed = []
    for design in _candidates(sizes, views, cells, number):
        weights = np.array(
            [float(weight) for weight in _weights(design.counts(sizes), pure=pure)]
        )
        parts = weights / weights.sum()
        variances = 2 / parts**2 if pure else 1 / (2 * parts)
        assessed.append(view_design.assess(design, sizes=sizes, variances=variances))
    return assessed


@functools.lru_cache(maxsize=64)
def _candidates(sizes: tuple[int, ...], views: str, cells: int, number: int) -> list[Design]:
    """Randomness is public: it follows from what is asked for and the sizes of the columns."""
    random = functools.partial(_public, tuple(map(str, sizes)))
    return view_design.candidates(
        sizes, kinds=KINDS[views], cells=cells, views=number, random=random
    )


def _public(facts: tuple[str, ...], purpose: str) -> np.random.Generator:
    return generator("", purpose=("dpsyn", "views", purpose, *facts))


def _weights(counts: Sequence[int], *, pure: bool) -> tuple[Fraction, ...]:
    """Laplace: shares of epsilon that minimise the sum, over views, of cells times variance (2 l² /
    epsilon_i²) for a given sum of epsilons. Gaussian: of rho (l² / (2 rho_i)). Cells are rounded to a power
    of two, so that scales are few."""
    power = 1 / 3 if pure else 1 / 2
    rounded = [2 ** round(math.log2(count)) for count in counts]
    return tuple(Fraction(round(count**power * _DIGITS), _DIGITS) for count in rounded)


@dataclass(frozen=True, kw_only=True)
class DPSynPlan(Plan):
    """`dpsyn` with its views chosen and their noise set."""

    config: DPSyn
    cliques: tuple[Clique, ...]
    noises: tuple[Noise, ...]

    @property
    def advice(self) -> str:
        if self.config.synthesis != "sts":
            return ""
        return (
            "Records made one by one from sorted groups had more error than independent columns nearly "
            "everywhere they were compared (docs/papers.md). Take minimum-cost flow, unless the paper is "
            "to be repeated."
        )

    def ask(self, session: Session) -> None:
        for clique, noise in zip(self.cliques, self.noises, strict=True):
            session.measure(clique, noise=noise)

    def fit_replay(self, given: Replay) -> Model:
        measurements = [given.measurement(clique) for clique in self.cliques]
        axis_of = {name: axis for axis, name in enumerate(self.domain.sizes)}
        noisy = [
            View(
                axes=tuple(axis_of[name] for name in m.clique),
                values=m.values.astype(np.float64),
                variance=m.noise.variance,
            )
            for m in measurements
        ]
        public = self.domain.rows
        views = ripple.nonnegative_views(
            noisy,
            total=None if public is None else float(public),
            threshold=self.config.ripple_threshold,
            neighbours=self.config.ripple_neighbours,
        )
        rows = public if public is not None else oneway.estimate_rows(measurements)
        targets = tuple(
            Table(clique=c, weights=whole_weights(v.values))
            for c, v in zip(self.cliques, views, strict=True)
        )
        return Model(
            mechanism=self.mechanism,
            domain=self.domain,
            rows=rows,
            tables=tuple(self._column(name, views) for name in self.domain.sizes),
            targets=targets,
            synthesis=self.config.synthesis,
        )

    def _column(self, name: str, views: Sequence[View]) -> Table:
        """Of one column, by the smallest view that has it; up to what cutting at zero changed, all of them
        agree."""
        axis = list(self.domain.sizes).index(name)
        view = min(
            (view for view in views if axis in view.axes), key=lambda view: view.values.size
        )
        return Table(clique=(name,), weights=whole_weights(view.on((axis,)).ravel()))

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        return super().needs(rows) + resources.of_flows(self._guess(rows), len(self.cliques))

    def expected_error_on(self, table: StandIn) -> ErrorForecast:
        sizes = self.domain.sizes
        columns: dict[Clique, float] = {(name,): 0.0 for name in sizes}
        pairs: dict[Clique, float] = {}
        for clique, noise in zip(self.cliques, self.noises, strict=True):
            precision = 1 / (math.prod(sizes[name] for name in clique) * noise.variance)
            for name in clique:
                columns[(name,)] += precision * sizes[name]
            for pair in itertools.combinations(clique, 2):
                pairs[pair] = pairs.get(pair, 0.0) + precision * sizes[pair[0]] * sizes[pair[1]]
        deviations = {name: _deviation(precision) for (name,), precision in columns.items()}
        known = [_deviation(precision) for precision in pairs.values()]
        return error_forecast.views(
            deviations,
            sum(known) / max(1, len(known)),
            table,
            covered=len(known) / max(1, math.comb(len(sizes), 2)),
        )


def _deviation(precision: float) -> float:
    """The mean absolute value of normal noise."""
    return math.sqrt(2 / (math.pi * precision))
