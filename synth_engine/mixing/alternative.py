"""The private alternative to filled counts: a noisy table of the same groups by the contingency table's
mechanism, its error and its price."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.mechanisms import Plan
from synth_engine.mixing.policy import FillPlan
from synth_engine.plans.plan import Rule
from synth_engine.privacy.loss import plain
from synth_engine.spec import Spec

MECHANISM = "contingency-table"


@dataclass(frozen=True, kw_only=True)
class PrivateAlternative:
    """A noisy count of each group with a guarantee. deviation: records by which the count of a group is off,
    a standard deviation of its noise before anything is estimated from it."""

    plan: Plan
    deviation: float

    @property
    def sentence(self) -> str:
        """What it offers, in words."""
        return (
            f"with differential privacy: a {MECHANISM} of the same groups at epsilon = "
            f"{plain(self.plan.epsilon)}, whose noise has a standard deviation of {self.deviation:,.1f} "
            "records a group"
        )


def alternative(
    plan: FillPlan, *, epsilon: Fraction, delta: Fraction = Fraction(0), rule: Rule = "basic"
) -> PrivateAlternative:
    """The plan of a private table of the same groups. No row is read. Errors: SpecError for a loss that is
    none."""
    grouped = Domain(
        attributes=plan.attributes,
        unit=plan.domain.unit,
        relation=plan.domain.relation,
        bought=plan.domain.bought,
    )
    spec = Spec(mechanism=MECHANISM, parameters={}, epsilon=epsilon, delta=delta)
    planned = mechanisms.plan(grouped, spec, rule=rule)
    noise = planned.noise  # type: ignore[attr-defined]  # of its one table
    return PrivateAlternative(plan=planned, deviation=float(noise.variance) ** 0.5)
