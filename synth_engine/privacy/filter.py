"""An additive privacy filter: admits events, chosen adaptively, as long as their exact sum stays under a cap.

Pure losses add up under basic composition, and so does (epsilon, delta), each by itself; rho adds up under
zCDP, mu² under Gaussian differential privacy; with a cap fixed beforehand all these sums are valid filters
for adaptively chosen events (Rogers et al. 2016; Feldman and Zrnic 2021; Whitehouse et al. 2023; Smith and
Thakurta 2022). docs/proofs/accounting.md, docs/proofs/rounded-gaussian.md.
"""

from __future__ import annotations

from fractions import Fraction

from synth_engine.errors import BudgetExceeded, UnsupportedEvent
from synth_engine.privacy import conversion
from synth_engine.privacy.events import DirichletMultinomial, Event
from synth_engine.privacy.loss import (
    Approximate,
    Basic,
    Budget,
    GaussianDP,
    Loss,
    Pure,
    ZeroConcentrated,
)


class Filter:
    """Admit an event or refuse it; a refused event changes nothing."""

    def __init__(self, cap: Loss) -> None:
        self._cap = additive_cap(cap)
        self._sum = self._deltas = Fraction(0)

    @property
    def cap(self) -> Budget | Basic:
        return self._cap

    @property
    def spent(self) -> Budget | Basic:
        """The sum of what was admitted, in the unit of the cap."""
        if isinstance(self._cap, Basic):
            return Basic(epsilon=self._sum, delta=self._deltas)
        return self._cap.of(self._sum)

    @property
    def remaining(self) -> Fraction:
        return self._cap.amount - self._sum

    def price(self, event: Event) -> Fraction:
        """The cost of an event in the unit of the cap. Errors: UnsupportedEvent."""
        return price(event, self._cap)

    def admit(self, event: Event) -> None:
        """Add the event to the sum. Errors: BudgetExceeded, before anything is drawn."""
        cost, delta = self.price(event), delta_of(event)
        max_delta = self._cap.delta if isinstance(self._cap, Basic) else Fraction(0)
        # Equality is admitted: the sums are exact, so that the last unit can be spent.
        if self._sum + cost > self._cap.amount or self._deltas + delta > max_delta:
            raise BudgetExceeded(
                f"the next {event.law} event costs more than what is left under the cap"
            )
        self._sum += cost
        self._deltas += delta


def delta_of(event: Event) -> Fraction:
    """What an event adds to delta."""
    return event.delta if isinstance(event, DirichletMultinomial) else Fraction(0)


def price(event: Event, budget: Budget | Basic) -> Fraction:
    """What the event costs in the unit of the budget. Errors: UnsupportedEvent if it has no such cost."""
    if isinstance(budget, ZeroConcentrated):
        return event.rho()
    if isinstance(budget, GaussianDP):
        return event.mu_squared()
    # Its delta adds up by itself (delta_of), so the price is epsilon alone.
    if isinstance(budget, Basic) and isinstance(event, DirichletMultinomial):
        return event.epsilon
    epsilon = event.pure_epsilon()
    if epsilon is None:
        raise UnsupportedEvent(
            f"{event.law} noise has no pure guarantee; give a delta above 0 to use it"
        )
    return epsilon


def additive_cap(cap: Loss) -> Budget | Basic:
    """A cap that adds up: (epsilon, delta) becomes the rho that it buys, or pure epsilon where delta is 0."""
    if isinstance(cap, Basic) or not isinstance(cap, Approximate):
        return cap
    if cap.delta == 0:
        return Pure(epsilon=cap.epsilon)
    return ZeroConcentrated(rho=conversion.rho_for(cap.epsilon, cap.delta))
