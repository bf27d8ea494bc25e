"""Random data: every value of every column is equally likely. Only the number of records comes from the
table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from synth_engine.domain import MAX_PLACED_CODES, Domain
from synth_engine.errors import SpecError
from synth_engine.inference import error_forecast, oneway
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.measurement import Call, Noise, Query, Session
from synth_engine.measurement.replay import Replay
from synth_engine.models.model import Model, Table, whole_weights
from synth_engine.plans import budget_allocation
from synth_engine.plans.parameters import ParameterSchema
from synth_engine.plans.plan import Budget, Family, Mechanism, Plan, Rule, expected_rows
from synth_engine.privacy import static_calibration
from synth_engine.privacy.unit import Relation, histogram_sensitivity
from synth_engine.spec import Spec


@dataclass(frozen=True, kw_only=True)
class Random(Mechanism):
    """Values drawn uniformly from the declared domain.

    Asks: one `measure` of the empty clique, the number of records (static). Privacy: discrete Laplace for
    delta 0, else discrete Gaussian (the least that its privacy-loss distribution
        allows, and much cheaper than Laplace where rho is paid for), with the whole target.
        Where the number of records is public there is nothing to ask and nothing to pay: no release is
            needed, and
        none is made. Proof: docs/proofs/random.md.
    Public assumptions: the domain, the unit, the relation.
    """

    id: ClassVar[str] = "random"
    family: ClassVar[Family] = "special"
    title: ClassVar[str] = "Random values"
    summary: ClassVar[str] = (
        "Measures the noisy number of records and nothing else; every value of every column is equally "
        "likely. For trying out software on a table of the right shape and size, at a tiny epsilon."
    )
    paper: ClassVar[str] = "Ping, Stoyanovich and Howe 2017 (random mode)"
    keeps: ClassVar[tuple[str, ...]] = ("number of records",)
    parameters: ClassVar[ParameterSchema] = {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)
    most_codes: ClassVar[int] = MAX_PLACED_CODES
    losses: ClassVar[tuple[str, ...]] = ("pure", "approximate")
    kind: ClassVar[Literal["static", "adaptive"]] = "static"

    def calibrate(self, domain: Domain, spec: Spec, *, within: Budget | None = None) -> Plan:
        _require_something_to_measure(domain)
        if within is not None:
            (noise,) = budget_allocation.noises(within, (Fraction(1),), domain=domain)
            return RandomPlan(config=self, domain=domain, spec=spec, cap=within, noise=noise)
        law: static_calibration.NoiseLaw = (
            "discrete-laplace" if spec.delta == 0 else "discrete-gaussian"
        )
        calibration = static_calibration.noise(
            law,
            (Fraction(1),),
            epsilon=spec.epsilon,
            delta=spec.delta,
            unit=domain.unit,
            relation=domain.relation,
        )
        noise = Noise(law=law, scale=calibration.scales[0])
        sensitivity = histogram_sensitivity(domain.unit, domain.relation)
        call = Call(
            query=Query(verb="measure", clique=(), cells=1), event=noise.event(sensitivity)
        )
        return RandomPlan(
            config=self,
            domain=domain,
            spec=spec,
            calls=(call,),
            noise=noise,
            found_by=calibration.certificate,
        )

    def forecast(
        self,
        domain: Domain,
        spec: Spec,
        *,
        rows: int | None = None,
        rule: Rule = "basic",  # noqa: ARG002
    ) -> ErrorForecast:
        """No noise makes it better or worse."""
        _require_something_to_measure(domain)
        return error_forecast.uniform(
            sizes=domain.sizes, rows=expected_rows(rows, domain=domain, spec=spec)
        )


def _require_something_to_measure(domain: Domain) -> None:
    if domain.rows is not None:
        raise SpecError(
            "mechanism random has nothing to measure where the number of records is public",
            repair="take random values from the domain alone with synth_engine.mechanisms.uniform.model, for "
            "nothing; or choose another method",
        )


@dataclass(frozen=True, kw_only=True)
class RandomPlan(Plan):
    """`random` with its noise set."""

    noise: Noise

    def ask(self, session: Session) -> None:
        session.measure((), noise=self.noise)

    def fit_replay(self, given: Replay) -> Model:
        return model(self.domain, rows=oneway.clip_rows(int(given.measurement(()).values)))

    def expected_error(self, *, rows: int | None = None) -> ErrorForecast:
        return error_forecast.uniform(sizes=self.domain.sizes, rows=self._guess(rows))


def model(domain: Domain, *, rows: int) -> Model:
    """Uniform values for a number of records that is public or was paid for. It needs no data."""
    tables = tuple(
        Table(clique=(name,), weights=whole_weights(np.ones(size)))
        for name, size in domain.sizes.items()
    )
    return Model(mechanism=Random.id, domain=domain, rows=rows, tables=tables)
