"""The source of all randomness of the room."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from synth_engine.hierarchy import draw_distinct
from synth_engine.measurement import Counts, Noise
from synth_engine.privacy import discrete_gaussian, laplace
from synth_engine.privacy.events import (
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gumbel,
    PermuteAndFlip,
    ThresholdTree,
)
from synth_engine.room import discovery, growth, noise, selection
from synth_engine.room.selection import SelectionLaw


class Sampler(growth.TreeSampler, Protocol):
    """The source of all noise. Tests replace it by one that enumerates every outcome."""

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int: ...

    def discover(
        self, tally: dict[int, int], *, size: int, threshold: int, noise: Noise
    ) -> list[tuple[int, int]]: ...

    def below(self, bounds: Counts) -> Counts: ...


class SecureSampler:
    """The exact samplers of `noise`, `selection`, `discovery` and `growth`."""

    below = staticmethod(growth.uniform)

    def prepare(self, event: Event) -> None:
        """Compute the tables by which this event is drawn. They follow from its public numbers alone, and
        nothing is drawn; so that a draw, during which a run must not be interrupted, is short."""
        match event:
            case DiscreteLaplace() | ThresholdTree():
                laplace.prepare(event.scale)
            case DiscreteGaussian():
                discrete_gaussian.prepare(_root(event.sigma_squared))
            case PermuteAndFlip():
                selection.prepare(event.scale, "permute-and-flip")
            case Gumbel():
                selection.prepare(event.scale, "gumbel")
            case _:
                pass  # the other laws have no tables of their own

    def counts(self, vector: Counts, noise_: Noise) -> Counts:
        return noise.noisy(vector, noise_)

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
        return selection.choose(scores, scale=scale, law=law)

    def discover(
        self, tally: dict[int, int], *, size: int, threshold: int, noise: Noise
    ) -> list[tuple[int, int]]:
        def noisy(values: list[int]) -> list[int]:
            noisy_counts: list[int] = self.counts(
                np.array(values, dtype=np.int64), noise
            ).tolist()
            return noisy_counts

        return discovery.discover_values(
            tally, size=size, threshold=threshold, scale=noise.scale, noisy=noisy
        )

    def passing(self, scores: Counts, *, threshold: int, noise: Noise) -> NDArray[np.bool_]:
        return growth.passing(scores, threshold=threshold, noise=noise, noisy=self.counts)

    def above_threshold(self, vector: Counts, *, threshold: int, noise: Noise) -> Counts:
        return growth.threshold_counts(
            vector, threshold=threshold, noise=noise, noisy=self.counts
        )

    def part(self, sizes: Counts, number: int) -> Counts:
        return draw_distinct(sizes, number, uniform=growth.uniform)


def _root(square: Fraction) -> Fraction:
    """The number whose square this is."""
    return Fraction(isqrt(square.numerator), isqrt(square.denominator))
