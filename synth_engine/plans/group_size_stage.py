"""A static mechanism for a table in which persons have several rows: one more question, fixed like all the
others, so that what certifies a static plan certifies this one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from synth_engine.domain import Domain
from synth_engine.measurement import Call, Noise, Query, Session
from synth_engine.measurement.replay import Replay
from synth_engine.plans import budget_allocation
from synth_engine.plans.multi_stage import MultiStagePlan
from synth_engine.plans.plan import Budget, Mechanism, Plan
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import group_sizes_sensitivity
from synth_engine.spec import Spec

SHARE = Fraction(1, 20)
"""Share of the budget for the numbers of rows a person: one person moves them by one, however
many rows that person has, so that little noise is enough."""


def noise(cap: Budget, domain: Domain) -> Noise:
    """Returns the noise that costs this share of a budget."""
    return budget_allocation.noise(
        cap.of(cap.amount * SHARE), group_sizes_sensitivity(domain.relation)
    )


def plan(config: Mechanism, spec: Spec, *, domain: Domain) -> Plan | None:
    """The share of epsilon for group sizes, under Laplace noise, and the rest for the mechanism, whose calls
    have to be certified by sums of epsilon or by their distributions; None where they are not. Sums of rho or
    mu² know no such shares."""
    if config.kind != "static":
        return None
    inner = config.calibrate(domain, replace(spec, epsilon=spec.epsilon * (1 - SHARE)))
    # Sums of rho or mu² convert to (epsilon, delta) as a whole: a share of epsilon cannot be split off.
    if inner.certificate in ("zcdp", "gdp"):
        return None
    sizes = noise(Pure(epsilon=spec.epsilon), domain)
    query = Query(verb="group-sizes", cells=domain.unit.max_records)
    first = Call(query=query, event=sizes.event(group_sizes_sensitivity(domain.relation)))
    # Group sizes come first in the list of calls; the room answers the planned calls in this
    # order only.
    return GroupedPlan(
        config=config,
        domain=domain,
        spec=spec,
        calls=(first, *inner.calls),
        found_by=inner.certificate,
        inner=inner,
        sizes=sizes,
    )


@dataclass(frozen=True, kw_only=True)
class GroupedPlan(MultiStagePlan):
    """A static plan, `inner`, after group sizes."""

    inner: Plan
    sizes: Noise

    @property
    def outlook(self) -> Plan:
        return self.inner

    def ask(self, session: Session) -> None:
        session.group_sizes(noise=self.sizes)
        self.inner.ask(session)

    def second_stage(self, given: Replay) -> Plan:
        del given  # nothing else is asked before
        return self.inner
