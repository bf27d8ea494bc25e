"""One noisy histogram for each attribute; attributes are drawn independently of one another.

The simplest mechanism, and the file to copy for the next one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Attribute, Domain
from synth_engine.errors import SpecError
from synth_engine.marginals import oneway
from synth_engine.measurement import Answers, Call, Measurement, Noise, Query, Session
from synth_engine.mechanisms.model import Model, Table, whole_weights
from synth_engine.mechanisms.plan import Mechanism, Plan
from synth_engine.privacy import calibrate, conversion
from synth_engine.privacy.unit import Relation, histogram_sensitivity
from synth_engine.spec import Spec

_DIGITS = 10**9


@dataclass(frozen=True, kw_only=True)
class Independent(Mechanism):
    """A histogram of every attribute.

    Asks: one `measure` for each modelled attribute, all fixed beforehand (static).
    Privacy: discrete Laplace (always for delta 0): basic composition of epsilon_j in proportion to sqrt(K_j),
        K_j the number of codes. Discrete Gaussian (by default for delta > 0): rho_j in proportion to
        K_j^(2/3), converted by Canonne, Kamath and Steinke 2020. The shares add up to the whole target.
        Proof: docs/proofs/independent.md.
    Public assumptions: the domain, its sizes and code order, the unit, the relation; the number of records
        only where it is a public invariant.
    """

    id: ClassVar[str] = "independent"
    title: ClassVar[str] = "Independent columns"
    summary: ClassVar[str] = (
        "Measures one noisy histogram of each column and draws the columns independently. "
        "Fast and accurate column by column; no relation between columns survives."
    )
    paper: ClassVar[str] = "Ping, Stoyanovich and Howe 2017 (independent mode); Canonne, Kamath and Steinke 2020"
    keeps: ClassVar[tuple[str, ...]] = ("histograms of single columns", "number of records")
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "noise": {
                "type": "string",
                "enum": ["by-delta", "laplace", "gaussian"],
                "default": "by-delta",
                "title": "Noise",
                "x-labels": {
                    "by-delta": "By delta: Laplace if delta is 0, else Gaussian",
                    "laplace": "Laplace",
                    "gaussian": "Gaussian",
                },
                "description": (
                    "With few columns Laplace is more accurate at the same epsilon; Gaussian is much cheaper in an "
                    "account that adds up rho."
                ),
            }
        },
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "static"

    noise: str = "by-delta"

    def calibrate(self, domain: Domain, spec: Spec) -> Plan:
        attributes = domain.modelled
        if self.noise == "gaussian" and spec.delta == 0:
            raise SpecError("Gaussian noise needs a delta above 0", repair="give a delta such as 1e-9, or use laplace")
        pure = self.noise == "laplace" or spec.delta == 0
        noises = _laplace(attributes, domain, spec) if pure else _gaussian(attributes, domain, spec)
        sensitivity = histogram_sensitivity(domain.unit, domain.relation)
        calls = tuple(
            Call(query=Query(verb="measure", clique=(a.name,), cells=a.size), event=noise.event(sensitivity))
            for a, noise in zip(attributes, noises, strict=True)
        )
        return IndependentPlan(config=self, domain=domain, spec=spec, calls=calls, noises=tuple(noises))


def _laplace(attributes: tuple[Attribute, ...], domain: Domain, spec: Spec) -> list[Noise]:
    """Minimises the summed L1 error of the tables, sum of K_j / epsilon_j, for a given sum of epsilon_j."""
    l1 = histogram_sensitivity(domain.unit, domain.relation).l1
    weights = [Fraction(math.isqrt(a.size * _DIGITS**2), _DIGITS) for a in attributes]
    shares = calibrate.split(spec.epsilon, weights)
    return [Noise(law="discrete-laplace", scale=calibrate.laplace_scale(share, l1)) for share in shares]


def _gaussian(attributes: tuple[Attribute, ...], domain: Domain, spec: Spec) -> list[Noise]:
    """Minimises the sum of K_j sigma_j, with sigma_j proportional to rho_j^(-1/2), for a given sum of rho_j."""
    l2_squared = histogram_sensitivity(domain.unit, domain.relation).l2_squared
    weights = [Fraction(round(a.size ** (2 / 3) * _DIGITS), _DIGITS) for a in attributes]
    shares = calibrate.split(conversion.rho_for(spec.epsilon, spec.delta), weights)
    return [Noise(law="discrete-gaussian", scale=calibrate.gaussian_sigma(share, l2_squared)) for share in shares]


@dataclass(frozen=True, kw_only=True)
class IndependentPlan(Plan):
    """`independent` with its noise set; `noises` in the order of the attributes."""

    noises: tuple[Noise, ...]

    def run(self, session: Session) -> Answers:
        pairs = zip(self.domain.modelled, self.noises, strict=True)
        measurements = tuple(session.measure((a.name,), noise=noise) for a, noise in pairs)
        return Answers(measurements=measurements, calls=session.calls)

    def fit(self, answers: Answers) -> Model:
        rows = self._rows(answers)
        tables = tuple(
            Table(clique=m.clique, weights=whole_weights(self._histogram(m, rows=rows))) for m in answers.measurements
        )
        return Model(mechanism=self.mechanism, domain=self.domain, rows=rows, tables=tables)

    def _rows(self, answers: Answers) -> int:
        """The public number of records, else the mean of the noisy totals weighted by their precision."""
        return self.domain.rows if self.domain.rows is not None else oneway.total(answers.measurements)

    def _histogram(self, measurement: Measurement, *, rows: int) -> npt.NDArray[np.float64]:
        along = self.domain.attribute(measurement.clique[0]).value_count
        return oneway.denoise(measurement.values, noise=measurement.noise, total=rows, along=along)

    def expected_error(self, *, rows: int | None = None) -> dict[str, Any]:
        guess = rows or self.domain.rows or self.spec.rows or 10_000
        errors = {
            a.name: oneway.expected_distance(cells=a.size, noise=noise, rows=guess)
            for a, noise in zip(self.domain.modelled, self.noises, strict=True)
        }
        found = {"measure": "tvd1", "rows": guess, "attributes": errors, "mean": float(np.mean(list(errors.values())))}
        return found | {"mean_pairs": oneway.expected_pairs(errors)}
