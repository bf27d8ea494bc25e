"""The source of all randomness of the room."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from synth_engine.confidential import discovery, growth, noise, selection
from synth_engine.confidential.selection import SelectionLaw
from synth_engine.hierarchy import draw_distinct
from synth_engine.measurement import Counts, Noise


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
