"""One noisy histogram for each attribute; attributes are drawn independently of one another.

The simplest mechanism, and the file to copy for the next one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from synth_engine.domain import MAX_PLACED_CODES, Domain
from synth_engine.errors import SpecError
from synth_engine.inference import error_forecast, oneway
from synth_engine.inference.error_forecast import ErrorForecast, StandIn
from synth_engine.measurement import Call, Measurement, Noise, Query, Session
from synth_engine.measurement.replay import Replay
from synth_engine.models.model import Model, Table, whole_weights
from synth_engine.plans import budget_allocation, resources
from synth_engine.plans.formula_noise import by_formula
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Family, Mechanism, Plan, Rule, expected_rows
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.privacy import static_calibration
from synth_engine.privacy.loss import ZeroConcentrated
from synth_engine.privacy.static_calibration import Certificate, NoiseLaw
from synth_engine.privacy.unit import Relation, histogram_sensitivity
from synth_engine.spec import Spec

_DIGITS = 10**9
_COMPARED = 40
"""Columns of different sizes up to which both kinds of noise are worked out in full."""


@dataclass(frozen=True, kw_only=True)
class Independent(Mechanism):
    """A histogram of every attribute.

    Asks: one `measure` for each modelled attribute, all fixed beforehand (static). Privacy: discrete Laplace
    (always for delta 0) with shares of epsilon in proportion to sqrt(K_j), K_j the number
        of codes; or discrete Gaussian with shares of rho in proportion to K_j^(2/3). For delta > 0 all noise
            then
        shrinks by one factor, to the least for which the composition of privacy-loss distributions meets the
            target.
        Proofs: docs/proofs/independent.md, docs/proofs/accounting.md.
    Public assumptions: the domain, its sizes and code order, the unit, the relation; the number of records
        only where it is a public invariant.
    """

    id: ClassVar[str] = "independent"
    family: ClassVar[Family] = "special"
    title: ClassVar[str] = "Independent columns"
    summary: ClassVar[str] = (
        "Measures one noisy histogram of each column and draws the columns independently. "
        "Fast and accurate column by column; no relation between columns survives."
    )
    paper: ClassVar[str] = (
        "Ping, Stoyanovich and Howe 2017 (independent mode); Canonne, Kamath and Steinke 2020"
    )
    keeps: ClassVar[tuple[str, ...]] = ("histograms of single columns", "number of records")
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
                "description": (
                    "With few columns Laplace is more accurate at the same epsilon; Gaussian is much "
                    "cheaper in an account that adds up rho, and is what is taken there. Elsewhere the "
                    "more accurate of the two is."
                ),
            }
        },
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    most_codes: ClassVar[int] = MAX_PLACED_CODES
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "static"

    noise: str = "by-delta"

    def resolve_defaults(self, spec: Spec, *, rule: Rule) -> Independent:
        """Where rho is paid for, Gaussian noise: Laplace noise of the same (epsilon, delta) costs several
        times more."""
        return replace(self, noise="gaussian") if self._open(spec) and rule == "zcdp" else self

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        if self.noise == "gaussian" and spec.delta == 0:
            raise SpecError(
                "Gaussian noise needs a delta above 0",
                repair="give a delta such as 1e-9, or use laplace",
            )
        if within is not None:
            return self._after_another_stage(domain, spec, within)
        if self._open(spec):
            calibration = _more_accurate(domain, spec)
        else:
            calibration = (
                _gaussian(domain, spec) if self.noise == "gaussian" else _laplace(domain, spec)
            )
        sensitivity = histogram_sensitivity(domain.unit, domain.relation)
        calls = tuple(
            Call(
                query=Query(verb="measure", clique=(a.name,), cells=a.size),
                event=noise.event(sensitivity),
            )
            for a, noise in zip(domain.modelled, calibration.noises, strict=True)
        )
        return IndependentPlan(
            config=self,
            domain=domain,
            spec=spec,
            calls=calls,
            noises=calibration.noises,
            found_by=calibration.certificate,
        )

    def _after_another_stage(self, domain: Domain, spec: Spec, within: Budget) -> Plan:
        """Shares of what is left; Gaussian noise where rho is, unless the other one was asked for."""
        gaussian = isinstance(within, ZeroConcentrated) and self.noise != "laplace"
        weights = tuple(
            _weights(domain, "discrete-gaussian" if gaussian else "discrete-laplace").values()
        )
        noises = budget_allocation.noises(within, weights, domain=domain, laplace=not gaussian)
        return IndependentPlan(config=self, domain=domain, spec=spec, cap=within, noises=noises)

    def forecast(
        self, domain: Domain, spec: Spec, *, rows: int | None = None, rule: Rule = "basic"
    ) -> ErrorForecast:
        """With noise by formula; a certificate would take a little off it."""
        laws: tuple[NoiseLaw, ...] = ("discrete-laplace", "discrete-gaussian")
        config = self.resolve_defaults(spec, rule=rule)
        chosen = laws if config._open(spec) else laws[config.noise == "gaussian" :][:1]
        table = error_forecast.typical(
            domain.sizes, rows=expected_rows(rows, domain=domain, spec=spec)
        )
        errors = [
            error_forecast.independent(
                by_formula(law, _weights(domain, law), domain=domain, spec=spec), table
            )
            for law in chosen
        ]
        return min(errors, key=lambda error: error.mean)

    def _open(self, spec: Spec) -> bool:
        return self.noise == "by-delta" and spec.delta > 0


@dataclass(frozen=True, kw_only=True)
class _Calibration:
    noises: tuple[Noise, ...]
    certificate: Certificate

    def error(self, sizes: Sequence[int]) -> float:
        """The expected sum of all deviations, which is what a forecast of one-way marginals goes by."""
        return sum(
            size * noise.mean_deviation for size, noise in zip(sizes, self.noises, strict=True)
        )


def _more_accurate(domain: Domain, spec: Spec) -> _Calibration:
    """Of many columns Gaussian noise is the better one unless epsilon is so large that plain shares of it do;
    then how far Laplace noise could shrink is not looked into."""
    sizes = [a.size for a in domain.modelled]
    # Each size is one more distribution to compose, which takes seconds for many.
    few = len(set(sizes)) <= _COMPARED
    laplace = _laplace(domain, spec if few else replace(spec, delta=Fraction(0)))
    return min(_gaussian(domain, spec), laplace, key=lambda plan: plan.error(sizes))


def _laplace(domain: Domain, spec: Spec) -> _Calibration:
    return _fixed("discrete-laplace", domain=domain, spec=spec)


def _gaussian(domain: Domain, spec: Spec) -> _Calibration:
    return _fixed("discrete-gaussian", domain=domain, spec=spec)


def _weights(domain: Domain, law: NoiseLaw) -> dict[str, Fraction]:
    """Laplace: shares that minimise the summed L1 error of the tables, sum of K_j / epsilon_j, for a given
    sum of epsilon_j. Gaussian: sum of K_j sigma_j, with sigma_j proportional to rho_j^(-1/2), for a given sum
    of rho_j."""
    if law == "discrete-laplace":
        return {
            name: Fraction(math.isqrt(size * _DIGITS**2), _DIGITS)
            for name, size in domain.sizes.items()
        }
    return {
        name: Fraction(round(size ** (2 / 3) * _DIGITS), _DIGITS)
        for name, size in domain.sizes.items()
    }


def _fixed(law: NoiseLaw, *, domain: Domain, spec: Spec) -> _Calibration:
    weights = tuple(_weights(domain, law).values())
    calibration = static_calibration.noise(
        law,
        weights,
        epsilon=spec.epsilon,
        delta=spec.delta,
        unit=domain.unit,
        relation=domain.relation,
    )
    return _Calibration(
        noises=tuple(Noise(law=law, scale=scale) for scale in calibration.scales),
        certificate=calibration.certificate,
    )


@dataclass(frozen=True, kw_only=True)
class IndependentPlan(Plan):
    """`independent` with its noise set; `noises` in the order of the attributes."""

    noises: tuple[Noise, ...]

    def ask(self, session: Session) -> None:
        for attribute, noise in zip(self.domain.modelled, self.noises, strict=True):
            session.measure((attribute.name,), noise=noise)

    def fit_replay(self, given: Replay) -> Model:
        measurements = [given.measurement((name,)) for name in self.domain.names]
        rows = self._rows(measurements)
        tables = tuple(
            Table(clique=m.clique, weights=whole_weights(self._histogram(m, rows=rows)))
            for m in measurements
        )
        return Model(mechanism=self.mechanism, domain=self.domain, rows=rows, tables=tables)

    def _rows(self, measurements: Sequence[Measurement]) -> int:
        """The public number of records, else the mean of the noisy totals weighted by their precision."""
        return (
            self.domain.rows
            if self.domain.rows is not None
            else oneway.estimate_rows(measurements)
        )

    def _histogram(self, measurement: Measurement, *, rows: int) -> npt.NDArray[np.float64]:
        along = self.domain.attribute(measurement.clique[0]).value_count
        return oneway.denoise(
            measurement.values, noise=measurement.noise, total=rows, along=along
        )

    def needs(self, rows: int | None = None) -> ResourceEstimate:
        """The table of each column, and reading its noisy counts."""
        return super().needs(rows) + resources.of_smoothing(self.domain.sizes)

    def expected_error_on(self, table: StandIn) -> ErrorForecast:
        noises = {
            a.name: noise for a, noise in zip(self.domain.modelled, self.noises, strict=True)
        }
        return error_forecast.independent(noises, table)
