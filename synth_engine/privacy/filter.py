"""An additive privacy filter: admits events, chosen adaptively, as long as their exact sum stays under a cap.

Pure losses add up under basic composition, rho under zCDP; with a cap fixed beforehand both sums are
valid filters for adaptively chosen events (Rogers et al. 2016; Feldman and Zrnic 2021; Whitehouse et al.
2023). docs/proofs/accounting.md.
"""

from __future__ import annotations

from fractions import Fraction

from synth_engine.errors import BudgetExceeded, UnsupportedEvent
from synth_engine.privacy import conversion
from synth_engine.privacy.events import Event
from synth_engine.privacy.loss import Approximate, Loss, Pure, ZeroConcentrated


class Filter:
    """Admit an event or refuse it; a refused event changes nothing."""

    def __init__(self, cap: Loss) -> None:
        self._cap = additive_cap(cap)
        self._limit = self._cap.epsilon if isinstance(self._cap, Pure) else self._cap.rho
        self._sum = Fraction(0)

    @property
    def cap(self) -> Pure | ZeroConcentrated:
        return self._cap

    @property
    def spent(self) -> Pure | ZeroConcentrated:
        """The sum of what was admitted, in the unit of the cap."""
        if isinstance(self._cap, Pure):
            return Pure(epsilon=self._sum)
        return ZeroConcentrated(rho=self._sum)

    @property
    def remaining(self) -> Fraction:
        return self._limit - self._sum

    def price(self, event: Event) -> Fraction:
        """What the event costs in the unit of the cap. Errors: UnsupportedEvent if it has no such cost."""
        if not isinstance(self._cap, Pure):
            return event.rho()
        epsilon = event.pure_epsilon()
        if epsilon is None:
            raise UnsupportedEvent(f"{event.law} noise has no pure guarantee; give a delta above 0 to use it")
        return epsilon

    def admit(self, event: Event) -> None:
        """Errors: BudgetExceeded, before anything is drawn."""
        price = self.price(event)
        if self._sum + price > self._limit:
            raise BudgetExceeded(f"the next {event.law} event costs more than what is left under the cap")
        self._sum += price


def additive_cap(cap: Loss) -> Pure | ZeroConcentrated:
    """A cap that adds up: (epsilon, delta) becomes the rho that it buys, or pure epsilon where delta is 0."""
    if not isinstance(cap, Approximate):
        return cap
    if cap.delta == 0:
        return Pure(epsilon=cap.epsilon)
    return ZeroConcentrated(rho=conversion.rho_for(cap.epsilon, cap.delta))
