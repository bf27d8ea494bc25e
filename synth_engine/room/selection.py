"""Choosing the index of a large score: permute-and-flip under pure loss, Gumbel noise under zCDP. OpenDP,
"i64".

With this meaning of scale the chance of index i under Gumbel is proportional to exp(score_i / scale), and
permute-and-flip keeps i, when its turn comes, with chance exp((score_i - largest) / scale).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

# Not opendp.prelude, which loads scikit-learn and all of scipy's statistics.
from opendp import domains, measurements, measures, metrics
from opendp.mod import enable_features

from synth_engine.errors import PrivacyError
from synth_engine.measurement import Counts
from synth_engine.room.noise import MAX_COUNT

enable_features("contrib")

SelectionLaw = Literal["permute-and-flip", "gumbel"]


def choose(scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
    """The index of a large score. `scores`: int64, one axis."""
    if scores.dtype != np.int64 or scores.ndim != 1 or scores.size == 0:
        raise PrivacyError("a selection needs int64 scores in one axis")
    if int(np.abs(scores).max()) > MAX_COUNT:
        raise PrivacyError("scores this large leave no room for an exact selection")
    return int(_measurement(law, _exact_float(scale))(scores.tolist()))


def prepare(scale: Fraction, law: SelectionLaw) -> None:
    """Make what chooses by this law and scale, and choose nothing."""
    _measurement(law, _exact_float(scale))


def warm_up() -> None:
    """Choose once by each law: the first choice of a process takes longer."""
    for law in get_args(SelectionLaw):
        choose(np.zeros(2, dtype=np.int64), scale=Fraction(1), law=law)


def _exact_float(scale: Fraction) -> float:
    """The float that is exactly this scale; anything else would not be what the event says."""
    value = float(scale)
    if value <= 0 or Fraction(value) != scale:
        raise PrivacyError("the scale is not exactly a float")
    return value


@functools.lru_cache(maxsize=64)
def _measurement(law: SelectionLaw, scale: float) -> Callable[[list[int]], Any]:
    pure = law == "permute-and-flip"
    measure = measures.max_divergence() if pure else measures.zero_concentrated_divergence()
    # Scores are whole numbers, so that their sensitivity is exact: differences of floats are
    # rounded.
    vectors = domains.vector_domain(domains.atom_domain(T="i64"))
    return measurements.make_noisy_max(vectors, metrics.linf_distance(T="i64"), measure, scale)
