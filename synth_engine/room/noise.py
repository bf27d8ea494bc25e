"""Exact integer noise from a secure source of randomness: discrete Laplace noise (`privacy.laplace`),
discrete Gaussian noise (`privacy.discrete_gaussian`), and Gaussian noise rounded to whole numbers
(`privacy.rounded`), fed here by the operating system.

Nothing can be seeded. The scale reaches a sampler as the very number that the event holds; the noise itself
is never cut.
"""

from __future__ import annotations

import os
from fractions import Fraction
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from synth_engine.errors import PrivacyError
from synth_engine.measurement import Counts, Noise, NoiseLaw
from synth_engine.privacy import discrete_gaussian, laplace, rounded

MAX_COUNT = 2**53


def noisy(vector: Counts, noise: Noise) -> Counts:
    """The counts plus independent noise on each. `vector`: int64, one axis."""
    if vector.dtype != np.int64 or vector.ndim != 1:
        raise PrivacyError("noise is drawn for int64 counts in one axis")
    if vector.size == 0:
        return vector.copy()
    if int(np.abs(vector).max()) > MAX_COUNT:
        raise PrivacyError("counts this large leave no room for exact noise")
    if noise.law == "rounded-gaussian":
        return vector + rounded.draws(vector.size, sigma=noise.scale, source=_uniform)
    if noise.law == "discrete-laplace":
        return vector + laplace.draws(vector.size, scale=noise.scale, source=_uniform)
    return vector + discrete_gaussian.draws(vector.size, sigma=noise.scale, source=_uniform)


def reaching(size: int, *, threshold: int, noise: Noise) -> NDArray[np.bool_]:
    """Draws which of so many independent discrete Laplace noises reach a threshold of 1 or
    more."""
    return laplace.reaching(size, scale=noise.scale, threshold=threshold, source=_uniform)


def warm_up() -> None:
    """Load the sampler of each law, or compile it where no earlier process left it on disk."""
    for law in get_args(NoiseLaw):
        noisy(np.zeros(1, dtype=np.int64), Noise(law=law, scale=Fraction(1)))


def _uniform(number: int, width: int) -> NDArray[np.uint64]:
    """Independent whole numbers below 2^width, each as likely as another, from the operating system."""
    # Each bit of a word is uniform, so the top bits are too, and no number has to be rejected.
    return np.frombuffer(os.urandom(8 * number), dtype=np.uint64) >> np.uint64(64 - width)
