"""An additive privacy filter: admits events, chosen adaptively, as long as their exact sum stays under a cap.

Pure losses add up under basic composition, rho under zCDP, mu² under Gaussian differential privacy; with a cap fixed
beforehand all three sums are valid filters for adaptively chosen events (Rogers et al. 2016; Feldman and Zrnic 2021;
Whitehouse et al. 2023; Smith and Thakurta 2022). docs/proofs/accounting.md, docs/proofs/rounded-gaussian.md.
"""

from __future__ import annotations

from fractions import Fraction

from synth_engine.errors import BudgetExceeded, UnsupportedEvent
from synth_engine.privacy import conversion
from synth_engine.privacy.events import Event
from synth_engine.privacy.loss import Approximate, Budget, GaussianDP, Loss, Pure, ZeroConcentrated


class Filter:
    """Admit an event or refuse it; a refused event changes nothing."""

    def __init__(self, cap: Loss) -> None:
        self._cap = additive_cap(cap)
        self._sum = Fraction(0)

    @property
    def cap(self) -> Budget:
        return self._cap

    @property
    def spent(self) -> Budget:
        """The sum of what was admitted, in the unit of the cap."""
        return self._cap.of(self._sum)

    @property
    def remaining(self) -> Fraction:
        return self._cap.amount - self._sum

    def price(self, event: Event) -> Fraction:
        """As `price`, of the cap."""
        return price(event, self._cap)

    def admit(self, event: Event) -> None:
        """Errors: BudgetExceeded, before anything is drawn."""
        cost = self.price(event)
        if self._sum + cost > self._cap.amount:
            raise BudgetExceeded(f"the next {event.law} event costs more than what is left under the cap")
        self._sum += cost


def price(event: Event, budget: Budget) -> Fraction:
    """What the event costs in the unit of the budget. Errors: UnsupportedEvent if it has no such cost."""
    if isinstance(budget, ZeroConcentrated):
        return event.rho()
    if isinstance(budget, GaussianDP):
        return event.mu_squared()
    epsilon = event.pure_epsilon()
    if epsilon is None:
        raise UnsupportedEvent(f"{event.law} noise has no pure guarantee; give a delta above 0 to use it")
    return epsilon


def additive_cap(cap: Loss) -> Budget:
    """A cap that adds up: (epsilon, delta) becomes the rho that it buys, or pure epsilon where delta is 0."""
    if not isinstance(cap, Approximate):
        return cap
    if cap.delta == 0:
        return Pure(epsilon=cap.epsilon)
    return ZeroConcentrated(rho=conversion.rho_for(cap.epsilon, cap.delta))
