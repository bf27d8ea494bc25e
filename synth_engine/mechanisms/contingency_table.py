"""One noisy table over all columns together, for a table of few columns with few values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.inference import error_forecast, factors, oneway, shrinkage
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.inference.factors import Floats
from synth_engine.inference.tables import Margin, fit_margins
from synth_engine.measurement import (
    MAX_TABLE_CELLS,
    Call,
    Measurement,
    Noise,
    Query,
    Session,
)
from synth_engine.measurement.replay import Replay
from synth_engine.models.model import Model, Table, whole_weights
from synth_engine.plans import budget_allocation, domain_learning, resources
from synth_engine.plans.formula_noise import by_formula
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Family, Mechanism, Plan, Rule, expected_rows
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy import static_calibration
from synth_engine.privacy.loss import ZeroConcentrated
from synth_engine.privacy.static_calibration import NoiseLaw
from synth_engine.privacy.unit import Relation, histogram_sensitivity
from synth_engine.spec import Spec

ALL_BUDGET = (Fraction(1),)
"""The shares of the tables that are measured: there is one."""
PRECISE_DEVIATIONS = 8.0
"""A count of so many standard deviations of its noise is more precise than the grid of ratios."""
MAX_SHIFT = 3.0
"""Standard deviations of the noise by which an estimate may exceed its noisy count (Efron and Morris 1972,
limited translation)."""
ROUNDS = 6
"""Passes that fit a table to the tables of its pairs; more of them change less than the noise."""

LOOKS_A_PASS = 0.2
"""The time of scaling a cell to one margin, as a part of what a forecast of time takes for looking at it."""


@dataclass(frozen=True, kw_only=True)
class ContingencyTableMechanism(Mechanism):
    """The contingency table of all columns together.

    Asks: one `measure` of all modelled attributes together, fixed beforehand (static). Privacy: discrete
    Laplace (always for delta 0) or discrete Gaussian noise on every cell, with the whole budget; for
        delta above 0 the noise shrinks to the least for which the privacy-loss distribution meets the target.
        Proofs: docs/proofs/contingency-table.md, docs/proofs/measure.md, docs/proofs/accounting.md.
    Public assumptions: the domain, its sizes and code order, the unit, the relation; the number of records
    only where
        it is a public invariant.
    """

    id: ClassVar[str] = "contingency-table"
    family: ClassVar[Family] = "special"
    counts_groups: ClassVar[bool] = True
    has_columns: ClassVar[bool] = False
    title: ClassVar[str] = "Contingency table"
    summary: ClassVar[str] = (
        "Measures one noisy table of all columns together. Every relation of any number of columns is in "
        "it; for few columns with few values, up to about as many combinations as records."
    )
    paper: ClassVar[str] = (
        "Dwork, McSherry, Nissim and Smith 2006 (histograms); Barak, Chaudhuri, Dwork, Kale, McSherry and "
        "Talwar 2007"
    )
    keeps: ClassVar[tuple[str, ...]] = (
        "relations of all columns together",
        "histograms of single columns",
        "number of records",
    )
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {
            "noise": {
                "type": "string",
                "enum": ["by-delta", "laplace", "gaussian"],
                "default": "by-delta",
                "title": "Noise",
                "x-labels": {
                    "by-delta": "As it suits: Laplace if delta is 0, else what fits the account",
                    "laplace": "Laplace",
                    "gaussian": "Gaussian",
                },
                "description": "Of a single table Laplace noise is more accurate at the same epsilon; "
                "Gaussian is much cheaper in an account that adds up rho, and is what is taken there.",
            },
        },
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "static"

    noise: str = "by-delta"

    @classmethod
    def suits(cls, domain: Domain) -> bool:
        """Returns whether the columns, undeclared ones as they may become, have no more cells than a table
        may have."""
        return _cells(domain_learning.expected_domain(domain)) <= MAX_TABLE_CELLS

    def resolve_defaults(self, spec: Spec, *, rule: Rule) -> ContingencyTableMechanism:
        """Where rho is paid for, Gaussian noise: Laplace noise of the same (epsilon, delta) costs several
        times more."""
        open_ = self.noise == "by-delta" and spec.delta > 0
        return replace(self, noise="gaussian") if open_ and rule == "zcdp" else self

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        resources.require_cells(domain.sizes, most=MAX_TABLE_CELLS)
        if self.noise == "gaussian" and spec.delta == 0:
            raise SpecError(
                "Gaussian noise needs a delta above 0",
                repair="give a delta such as 1e-9, or use laplace",
            )
        sensitivity = histogram_sensitivity(domain.unit, domain.relation)
        if within is not None:
            laplace = not isinstance(within, ZeroConcentrated) or self.noise == "laplace"
            noise = budget_allocation.noise(within, sensitivity, laplace=laplace)
            return ContingencyTablePlan(
                config=self, domain=domain, spec=spec, cap=within, noise=noise
            )
        calibrations = {
            law: static_calibration.noise(
                law,
                ALL_BUDGET,
                epsilon=spec.epsilon,
                delta=spec.delta,
                unit=domain.unit,
                relation=domain.relation,
            )
            for law in self._laws(spec)
        }
        noises = {
            law: Noise(law=law, scale=calibration.scales[0])
            for law, calibration in calibrations.items()
        }
        law = min(noises, key=lambda law: noises[law].mean_deviation)
        query = Query(verb="measure", clique=tuple(domain.sizes), cells=_cells(domain))
        return ContingencyTablePlan(
            config=self,
            domain=domain,
            spec=spec,
            calls=(Call(query=query, event=noises[law].event(sensitivity)),),
            noise=noises[law],
            found_by=calibrations[law].certificate,
        )

    def forecast(
        self, domain: Domain, spec: Spec, *, rows: int | None = None, rule: Rule = "basic"
    ) -> ErrorForecast:
        """With noise by formula; a certificate would take a little off it."""
        resources.require_cells(domain.sizes, most=MAX_TABLE_CELLS)
        config = self.resolve_defaults(spec, rule=rule)
        weights = {"": ALL_BUDGET[0]}
        noises = [
            by_formula(law, weights, domain=domain, spec=spec)[""] for law in config._laws(spec)
        ]
        least = min(noises, key=lambda noise: noise.mean_deviation)
        return _forecast(domain, least, rows=expected_rows(rows, domain=domain, spec=spec))

    def _laws(self, spec: Spec) -> tuple[NoiseLaw, ...]:
        """Returns the kinds of noise among which the more accurate one is taken."""
        if self.noise == "gaussian":
            return ("discrete-gaussian",)
        if self.noise == "laplace" or spec.delta == 0:
            return ("discrete-laplace",)
        return ("discrete-laplace", "discrete-gaussian")


def _cells(domain: Domain) -> int:
    return math.prod(domain.sizes.values())


def _forecast(domain: Domain, noise: Noise, *, rows: int) -> ErrorForecast:
    """The error of one table that contains all pairs: a cell of a smaller table is the sum of the same number
    of cells."""
    sizes = domain.sizes
    cells = _cells(domain)
    deviations = {name: _deviation(noise, summed=cells // size) for name, size in sizes.items()}
    pairs = [
        _deviation(noise, summed=cells // (first * second))
        for first, second in itertools.combinations(sizes.values(), 2)
    ]
    mean_pair = sum(pairs) / max(1, len(pairs))
    table = error_forecast.typical(sizes, rows=rows)
    return error_forecast.views(deviations, mean_pair, table, covered=1.0)


def _deviation(noise: Noise, *, summed: int) -> float:
    """The mean absolute noise of the sum of so many cells, about normal if there are several."""
    if summed == 1:
        return noise.mean_deviation
    return math.sqrt(2 / math.pi * summed * noise.variance)


def shrink_to_margins(measurement: Measurement, *, ordered: Sequence[int], rows: int) -> Floats:
    """Counts that are not negative and add up to `rows`, by empirical Bayes within one answer: most cells
    hold nothing, and cutting their noise at zero would favour rare values.

    Columns are estimated from their sums, whose noise is small beside their counts; pairs of columns are read
    against independence, and the whole table against the table of most entropy that has these pairs (Barak et
    al. 2007 publish lower-order margins that agree; here they are the expectation to which empty cells are
    shrunk). ordered: how many codes of each attribute stand in their public order. rows: 1 or more.
    """
    noisy = measurement.values.astype(np.float64)
    variance = measurement.noise.variance
    columns = [
        _column(
            _sums(noisy, (axis,)),
            variance=variance * noisy.size / length,
            ordered=first,
            rows=rows,
        )
        for axis, (length, first) in enumerate(zip(noisy.shape, ordered, strict=True))
    ]
    margins: list[Margin] = [((axis,), column) for axis, column in enumerate(columns)]
    expected = factors.product(columns, total=rows)
    if noisy.ndim > 2:
        margins = [
            (pair, _pair(noisy, pair, columns, variance=variance))
            for pair in itertools.combinations(range(noisy.ndim), 2)
        ]
        expected = fit_margins(expected, margins, rounds=ROUNDS)
    laplace = measurement.noise.law == "discrete-laplace"
    return _read(
        noisy, expected, margins, variance=variance, law="laplace" if laplace else "gaussian"
    )


def _sums(table: Floats, axes: tuple[int, ...]) -> Floats:
    others = tuple(axis for axis in range(table.ndim) if axis not in axes)
    sums: Floats = table.sum(axis=others)
    return sums


def _column(values: Floats, *, variance: float, ordered: int, rows: int) -> Floats:
    if ordered >= oneway.MIN_LENGTH_TO_SMOOTH:
        # What follows the ordered codes, "other" and missing, has no neighbours.
        smooth = oneway.shrink(values[:ordered], sigma=math.sqrt(variance))
        values = np.concatenate([smooth, values[ordered:]])
    return oneway.project_to_simplex(values, total=float(rows))


def _pair(
    noisy: Floats, pair: tuple[int, int], columns: Sequence[Floats], *, variance: float
) -> Floats:
    """Expected counts of two columns. variance: of the noise of a cell of the whole table."""
    values = _sums(noisy, pair)
    own = [columns[axis] for axis in pair]
    expected = factors.product(own, total=float(own[0].sum()))
    # A sum of many cells has nearly normal noise, whatever the noise of one.
    return _read(
        values,
        expected,
        [((0,), own[0]), ((1,), own[1])],
        variance=variance * noisy.size / values.size,
        law="gaussian",
    )


def _read(
    values: Floats,
    expected: Floats,
    margins: Sequence[Margin],
    *,
    variance: float,
    law: shrinkage.Law,
) -> Floats:
    """The posterior mean of each cell given its expectation, with the margins. Counts far above the noise
    stay as they are: the grid of ratios is coarser than their noise."""
    sigma = math.sqrt(variance)
    ratios = shrinkage.estimate_ratios(
        values, expected, variance=variance, law=law, grid=shrinkage.WIDE_GRID
    ).ratios
    posterior = np.minimum(expected * ratios, np.maximum(values, 0.0) + MAX_SHIFT * sigma)
    table: Floats = np.where(values > PRECISE_DEVIATIONS * sigma, values, posterior)
    return fit_margins(table, margins, rounds=ROUNDS)


@dataclass(frozen=True, kw_only=True)
class ContingencyTablePlan(Plan):
    """`contingency-table` with its noise set."""

    config: ContingencyTableMechanism
    noise: Noise

    def ask(self, session: Session) -> None:
        session.measure(tuple(self.domain.sizes), noise=self.noise)

    def fit_replay(self, given: Replay) -> Model:
        measurement = given.measurement(tuple(self.domain.sizes))
        public = self.domain.rows
        rows = public if public is not None else oneway.estimate_rows([measurement])
        table = Table(
            clique=measurement.clique, weights=whole_weights(self._counts(measurement, rows))
        )
        return Model(mechanism=self.mechanism, domain=self.domain, rows=rows, tables=(table,))

    def _counts(self, measurement: Measurement, rows: int) -> Floats:
        if rows <= 0:
            return np.zeros(measurement.values.shape)
        ordered = [self.domain.attribute(name).value_count for name in measurement.clique]
        return shrink_to_margins(measurement, ordered=ordered, rows=rows)

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        shape = tuple(self.domain.sizes.values())
        shapes = [*itertools.combinations(shape, 2), shape]
        passes = 2 * ROUNDS * len(shapes) * LOOKS_A_PASS
        fitting = resources.of_groups(0, [shape], in_memory_at_once=True, looks=passes)
        return super().needs(rows) + resources.of_reading(shapes) + fitting

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        return _forecast(self.domain, self.noise, rows=self._guess(rows))
