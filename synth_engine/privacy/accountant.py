"""The loss of a list of events that was fixed before any of them ran."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from synth_engine.errors import UnsupportedEvent
from synth_engine.privacy.events import Event


def pure_epsilon(events: Iterable[Event]) -> Fraction:
    """Basic composition. Errors: UnsupportedEvent if one of them has no pure guarantee."""
    total = Fraction(0)
    for event in events:
        epsilon = event.pure_epsilon()
        if epsilon is None:
            raise UnsupportedEvent(f"{event.law} noise has no pure guarantee")
        total += epsilon
    return total


def mu_squared(events: Iterable[Event]) -> Fraction:
    """Composition of Gaussian differential privacy. Errors: UnsupportedEvent if one of them has no mu."""
    return sum((event.mu_squared() for event in events), Fraction(0))


def rho(events: Iterable[Event]) -> Fraction:
    """zCDP composition; a pure event enters with half its squared epsilon."""
    return sum((event.rho() for event in events), Fraction(0))
