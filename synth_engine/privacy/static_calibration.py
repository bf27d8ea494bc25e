"""The least noise for a list of tables that is fixed before any of them is measured.

Noise is first set by a rule with a formula: shares of epsilon that add up, or shares of the rho that
(epsilon, delta) buys. Where the composition of privacy-loss distributions shows that less is enough, all of
it shrinks by one factor.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from synth_engine.privacy import conversion, noise_scale, pld
from synth_engine.privacy.unit import PrivacyUnit, Relation, histogram_sensitivity

Certificate = Literal["basic", "zcdp", "pld", "gdp"]
NoiseLaw = Literal["discrete-laplace", "discrete-gaussian"]

MIN_DELTA = Fraction(1, 10**12)
"""The smallest delta for which noise is shrunk: below it accountants in floats cannot confirm the result."""
MAX_EPSILON = 50
"""The largest epsilon for which noise is shrunk: above it the losses of single answers lie too far apart for
floats."""
MAX_SIGMA = 60_000
"""The largest sum of all different sigmas: the verifier adds up the masses of each term by term."""
_MARGIN = 1e-4
"""The part of epsilon that is left to a verifier with another grid. It is larger where single answers lose
much, because delta then falls in steps, which a grid resolves less sharply."""
_MARGIN_IN_STEPS = 1e-3
_WORTH = 1e-3
_PRECISION = 1e-5
FARTHEST = -3.2
"""The logarithm of the smallest factor: noise shrinks to a twenty-fourth and no further. Losses of single
calls that are larger still, beside an epsilon that is small, would need longer grids than the verifier takes.
It binds where delta is above epsilon (for a dozen tables; above half of it for a hundred, a thirtieth for a
thousand), which promises next to nothing."""


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """Scales (of Laplace noise) or sigmas, and the certificate that (epsilon, delta) rests on with them."""

    scales: tuple[Fraction, ...]
    certificate: Certificate


@functools.lru_cache(maxsize=512)
def noise(
    law: NoiseLaw,
    weights: tuple[Fraction, ...],
    *,
    epsilon: Fraction,
    delta: Fraction,
    unit: PrivacyUnit,
    relation: Relation,
) -> Fixed:
    """The least noise for one table of counts per weight.

    weights: the shares of epsilon under Laplace noise, of rho under Gaussian noise.
    """
    sensitivity = histogram_sensitivity(unit, relation)
    shares = list(weights)
    if law == "discrete-laplace":
        parts = noise_scale.split(epsilon, shares)
        first = Fixed(
            scales=tuple(noise_scale.laplace_scale(p, sensitivity.l1) for p in parts),
            certificate="basic",
        )
        cells = pld.cells_that_move(unit, relation)
        # A cell that moves by one loses 1 / scale. For units of several records only the pure
        # loss l1 / scale of the whole table is proved.
        largest_loss = 1.0 if cells is not None else float(sensitivity.l1)
        return _shrunk(
            first,
            lambda scale: pld.RandomizedResponsePLD(largest_loss / scale),
            cells or 1,
            epsilon=epsilon,
            delta=delta,
        )
    parts = noise_scale.split(conversion.rho_for(epsilon, delta), shares)
    sigmas = tuple(noise_scale.gaussian_sigma(p, sensitivity.l2_squared) for p in parts)
    first = Fixed(scales=sigmas, certificate="zcdp")
    moving = pld.cells_that_move(unit, relation)
    # No worst pair is proved for several records, and the verifier sums up no wider noise.
    if moving is None or sum(set(sigmas)) > MAX_SIGMA:
        return first
    return _shrunk(first, pld.DiscreteGaussianPLD, moving, epsilon=epsilon, delta=delta)


def _shrunk(
    first: Fixed,
    loss: Callable[[float], pld.PLD],
    times: int,
    *,
    epsilon: Fraction,
    delta: Fraction,
) -> Fixed:
    """The same noise smaller by one factor, if that is worth another certificate."""
    if delta < MIN_DELTA or epsilon > MAX_EPSILON:
        return first
    scales = Counter(float(scale) for scale in first.scales)
    calls = len(first.scales) * times
    target = float(epsilon) * (1 - (_MARGIN if epsilon < calls else _MARGIN_IN_STEPS))

    def excess(log_factor: float) -> float:
        parts: Counter[pld.PLD] = Counter()
        for scale, number in scales.items():
            parts[loss(scale * math.exp(log_factor))] += number * times
        return pld.log_delta(parts, target) - math.log(delta)

    factor = math.exp(_smallest_root(excess))
    # A gain below a thousandth is no reason for a certificate that is harder to check.
    if factor > 1 - _WORTH:
        return first
    # Rounded up: more noise than the search found cannot raise delta.
    shrunk = tuple(noise_scale.round_up(Fraction(factor) * scale) for scale in first.scales)
    return Fixed(scales=shrunk, certificate="pld")


def _smallest_root(excess: Callable[[float], float]) -> float:
    """The least number from FARTHEST to zero at which a falling function is not positive; zero if there is
    none.

    Between two points the function is nearly straight, so its zero is guessed and enclosed from both sides.
    """
    high, at_high = 0.0, excess(0.0)
    if at_high > 0:
        return high
    low = -0.1
    while (at_low := excess(low)) <= 0:
        if low <= FARTHEST:
            return low
        high, at_high, low = low, at_low, max(2 * low, FARTHEST)
    nudge = _PRECISION / 3
    while high - low > _PRECISION:
        straight = math.isfinite(at_high) and math.isfinite(at_low)
        guess = (
            low + (high - low) * (at_low / (at_low - at_high)) if straight else (low + high) / 2
        )
        guess = min(max(guess + nudge, low + nudge), high - nudge)
        at = excess(guess)
        low, at_low, high, at_high = (
            (guess, at, high, at_high) if at > 0 else (low, at_low, guess, at)
        )
        nudge = math.copysign(nudge, 1 if at > 0 else -1)
    return high
