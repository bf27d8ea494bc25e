"""Comparisons of fresh noise with its law. Noise of the room is never seeded, so they fail by chance as well:
how often is stated here, and a test that uses them says no more about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

LEVEL = 1e-4


def fits(p_value: Callable[[], float]) -> bool:
    """Whether draws keep to a law: not improbable at LEVEL twice in a row, each time with fresh draws. A
    sampler that is right fails with chance 1e-8 (4e-8 where chi-square has cells of which only ten or so are
    expected)."""
    return any(p_value() > LEVEL for _ in range(2))


def least(p_values: Sequence[float]) -> float:
    """One p-value for several of the same draws, by Bonferroni: however they hang together, it errs
    upwards."""
    return min(1.0, len(p_values) * min(p_values))
