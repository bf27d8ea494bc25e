"""Exact integer noise from a secure source of randomness: discrete Laplace noise (`privacy.laplace`) and Gaussian noise
rounded to whole numbers (`privacy.rounded`), fed here by the operating system, and OpenDP's discrete Gaussian.

Always type "i64": OpenDP's plain `int` is 32 bits. Nothing can be seeded. The scale reaches a sampler as the very number
that the event holds, for OpenDP as a float that is exactly it; the noise itself is never cut.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import opendp.prelude as dp
from numpy.typing import NDArray

from synth_engine.errors import PrivacyError
from synth_engine.measurement import Counts, Noise, NoiseLaw
from synth_engine.privacy import laplace, rounded

dp.enable_features("contrib")

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
    answer = np.asarray(
        _measurement(noise.law, exact_float(noise.scale), vector.size)(
            np.ascontiguousarray(vector)
        )
    )
    if answer.dtype != np.int64 or answer.shape != vector.shape:
        raise PrivacyError("the sampler returned another type than int64")
    return answer


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


def exact_float(scale: Fraction) -> float:
    """The float that is exactly this scale; anything else would not be what the event says."""
    value = float(scale)
    if value <= 0 or Fraction(value) != scale:
        raise PrivacyError("the scale is not exactly a float")
    return value


@functools.lru_cache(maxsize=256)
def _measurement(law: str, scale: float, size: int) -> Callable[[Counts], Any]:
    domain = dp.vector_domain(dp.atom_domain(T="i64"), size=size)
    if law == "discrete-gaussian":
        return (domain, dp.l2_distance(T="i64")) >> dp.m.then_gaussian(scale=scale)  # type: ignore[no-any-return]
    raise PrivacyError("no sampler for this law")
