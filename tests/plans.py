"""Plans of mechanisms, as the tests ask for them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.plans.plan import Plan
from synth_engine.spec import Spec


def plan_of(
    mechanism: str,
    domain: Domain,
    *,
    epsilon: Fraction | str = "1",
    delta: Fraction | str = "0",
    **parameters: Any,
) -> Plan:
    """The plan of a mechanism, by its id, for a description. parameters: of the mechanism."""
    spec = Spec(
        mechanism=mechanism,
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        parameters=parameters,
    )
    return mechanisms.plan(domain, spec)
