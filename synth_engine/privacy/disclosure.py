"""Probabilistic differential privacy of Dirichlet-multinomial resampling: the probability that an output lies
in the disclosure set, bounded in three ways. For comparison with what was published; ledgers count in
(epsilon, delta)-differential privacy (`resampling`), because this notion does not survive post-processing and
adds up over groups.

An output m of a group is no disclosure if m_i <= c (n_i + alpha - 1) wherever n_i >= 1 and m_i <= c (n_i +
alpha) wherever n_i = 0, with c = exp(epsilon) - 1 (Machanavajjhala and others 2008, Theorem 4.3).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from synth_engine.errors import SpecError
from synth_engine.jit import compiled
from synth_engine.privacy.resampling import log_mass

_GRID = 1 << 24
_HALVINGS = 60
_TINY = 1e-12


def zero_sample(size: int, *, alpha: float, rest: float, epsilon: float) -> float:
    """The reference 0-sample of Theorem 4.4: the largest beta-binomial mass, over x < n, at the edge of
    disclosure f(x); taken at real numbers by gamma functions. alpha: of the origin; rest: of all others
    together. x at which f(x) reaches the size are left out: nothing can be disclosed there."""
    x = np.arange(size, dtype=np.float64)
    edge = math.expm1(epsilon) * (alpha + np.maximum(x - 1, 0))
    x, edge = x[edge < size], edge[edge < size]
    if not x.size:
        return 0.0
    first, second = x + alpha, size - x + rest
    return float(np.exp(_log_masses(edge, size, first, second).max()))


def zero_sample_limit(epsilon: float, delta: float, *, origins: int) -> float:
    """The limit of the 0-sample. Errors: SpecError for epsilon up to ln 3, which the theorem does not
    cover."""
    if epsilon <= math.log(3):
        raise SpecError(
            "Theorem 4.4 needs epsilon above ln 3 = 1.0986",
            repair="use Theorem 4.1, or the bound on delta",
        )
    return delta * (math.exp(epsilon) - 2) / (2 * origins * math.exp(epsilon))


def zero_sample_prior(epsilon: float, delta: float, *, size: int, origins: int) -> float:
    """The least uniform alpha that Theorem 4.4 allows for a group, up to the bisection; it is one that the
    theorem allows."""
    limit = zero_sample_limit(epsilon, delta, origins=origins)

    def allowed(alpha: float) -> bool:
        return (
            zero_sample(size, alpha=alpha, rest=alpha * (origins - 1), epsilon=epsilon) <= limit
        )

    low, high = 0.0, size / math.expm1(epsilon)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if allowed(middle) else (middle, high)
    return high


def programme(size: int, *, alpha: float, origins: int, epsilon: float) -> float:
    """An upper bound of the probability of disclosure.

    It is the largest sum of t(n_i) over counts that are k in number and n in sum, where t(x) is the chance
    that an origin of x records passes its edge: a linear programme with two constraints. It is solved
    exactly, because one of its solutions has at most two different counts, so that all pairs are tried.
    """
    tails = _tails(size, alpha, alpha * origins, epsilon)
    return float(origins * _envelope(tails, size / origins, size))


def programme_prior(epsilon: float, delta: float, *, size: int, origins: int) -> float:
    """The least uniform alpha, up to 2^-24, at which the programme is at most delta. The probability is a
    sawtooth in alpha: it falls at the steps j / (exp(epsilon) - 1) and can rise or fall in between, so step
    after step is looked at, and what is returned is one at which it was computed."""
    c = math.expm1(epsilon)

    def allowed(alpha: float) -> bool:
        return programme(size, alpha=alpha, origins=origins, epsilon=epsilon) <= delta

    for step in range(size):
        low, high = _up(step / c), _up((step + 1) / c) - 1 / _GRID
        # The probability falls at each step: it may be allowed where the last end was not.
        if step and allowed(low):
            return low
        if high <= low or not allowed(high):
            continue
        for _ in range(_HALVINGS):
            if high - low <= 1 / _GRID:
                break
            middle = _up((low + high) / 2)
            low, high = (low, middle) if allowed(middle) else (middle, high)
        return high
    return _up(size / c)


def _up(alpha: float) -> float:
    return math.ceil(alpha * _GRID * (1 + _TINY)) / _GRID


def _log_masses(
    m: npt.NDArray[np.float64],
    n: int,
    first: npt.NDArray[np.float64],
    second: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """The same as `log_mass`, for arrays."""
    from scipy.special import gammaln  # slow to import

    chosen = gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1)
    weights = gammaln(m + first) + gammaln(n - m + second) - gammaln(n + first + second)
    log_masses: npt.NDArray[np.float64] = (
        chosen + weights + gammaln(first + second) - gammaln(first) - gammaln(second)
    )
    return log_masses


@compiled
def _tails(n: int, alpha: float, total: float, epsilon: float) -> npt.NDArray[np.float64]:
    """t(x) for x = 0, 1, … up to the last at which it is not 0."""
    c = math.expm1(epsilon)
    tails = np.zeros(n + 1)
    last = 0
    for x in range(n + 1):
        # The tolerance counts an m at the very edge as disclosure, which errs upwards.
        m = math.floor(c * (alpha + max(x - 1, 0)) - _TINY) + 1
        if m > n:
            break
        last = x
        first, second = x + alpha, n - x + total - alpha
        mass = math.exp(log_mass(m, n, first, second))
        while m <= n:
            tails[x] += mass
            ratio = (n - m) * (first + m) / ((m + 1) * (second + n - m - 1)) if m < n else 0.0
            mass *= ratio
            m += 1
            if ratio < 1 and mass <= 1e-16 * (1 - ratio) * tails[x]:
                break
    return tails[: last + 1]


@compiled
def _envelope(tails: npt.NDArray[np.float64], mean: float, n: int) -> float:
    """The largest value at `mean` of a line between two of the points (x, t(x)); t is 0 where it is not
    given."""
    highest = 0.0
    for i in range(min(len(tails), math.floor(mean) + 1)):
        if i == mean:
            highest = max(highest, tails[i])
        if n > mean:
            highest = max(highest, tails[i] * (n - mean) / (n - i))
    for j in range(math.floor(mean) + 1, len(tails)):
        for i in range(math.floor(mean) + 1):
            low = tails[i] if i < len(tails) else 0.0
            highest = max(highest, low + (tails[j] - low) * (mean - i) / (j - i))
    return highest
