"""One estimate with an interval from several plausible tables (implicates) of a release.

Each implicate is a whole table that could have given the noisy answers, so the table that was measured is
what was imputed, and Rubin's rules for multiple imputation hold (Rubin 1987, chapter 3). With the estimates
q₁ … q_m of m implicates, their mean q̄ and their variance b (divided by m - 1), and the mean v̄ of the
sampling variances that are estimated within each:

    about the table that was measured:   q̄, variance (1 + 1/m) b, and m - 1 degrees of freedom;
    about the population behind it:      q̄, variance v̄ + (1 + 1/m) b, and (m - 1) (1 + v̄ / ((1 + 1/m) b))²
                                         degrees.

The rule for fully synthetic data, (1 + 1/m) b - v̄ (Raghunathan, Reiter and Rubin 2003; with noise: Räisä,
Jälkö, Kaski and Honkela 2023), is for tables whose rows are new draws from a population, whose estimates
therefore vary by v̄ more. Rows of an implicate are counted out to match their model, so nothing is subtracted
here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

LEVEL = 0.95
FEWEST = 2


@dataclass(frozen=True, kw_only=True)
class CombinedEstimate:
    """An estimate from several implicates. low, high: its interval; variance: of the estimate; between: the
    variance of the implicates' estimates, which is what the privacy noise adds; degrees: of Student's t (inf
    where nothing varies)."""

    value: float
    low: float
    high: float
    level: float
    variance: float
    between: float
    degrees: float


def combine(
    estimates: Sequence[float],
    variances: Sequence[float] | None = None,
    *,
    level: float = LEVEL,
) -> CombinedEstimate:
    """One estimate with its interval from the estimates of two or more implicates.

    variances: the sampling variance of each estimate, as for a real table of so many rows, for what is said
    about the population; without them the interval is about the table that was measured. Errors: ValueError.
    """
    number = len(estimates)
    if number < FEWEST:
        raise ValueError("an interval needs the estimates of at least two implicates")
    if variances is not None and len(variances) != number:
        raise ValueError("there is one variance for each estimate")
    if not 0 < level < 1:
        raise ValueError("the level lies between 0 and 1, as 0.95")
    if not all(math.isfinite(each) for each in (*estimates, *(variances or ()))):
        raise ValueError("estimates and variances are finite numbers")
    between = variance(estimates)
    spread = (1 + 1 / number) * between
    within = fmean(variances) if variances else 0.0
    degrees = math.inf if spread == 0 else (number - 1) * (1 + within / spread) ** 2
    total, value = within + spread, fmean(estimates)
    half = _quantile((1 + level) / 2, degrees) * math.sqrt(total)
    return CombinedEstimate(
        value=value,
        low=value - half,
        high=value + half,
        level=level,
        variance=total,
        between=between,
        degrees=degrees,
    )


def _quantile(chance: float, degrees: float) -> float:
    """The quantile of Student's t above 1/2, by bisection of its distribution function."""
    low, high = 0.0, 1.0
    while _below(high, degrees) < chance and high < 1e12:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _below(middle, degrees) < chance else (low, middle)
    return (low + high) / 2


def _below(value: float, degrees: float) -> float:
    """The chance that Student's t with these degrees of freedom is below a positive value."""
    if degrees > 1e6:
        return (1 + math.erf(value / math.sqrt(2))) / 2
    return 1 - _incomplete_beta(degrees / (degrees + value * value), degrees / 2) / 2


def _incomplete_beta(x: float, a: float) -> float:
    """The regularised incomplete beta function I_x(a, 1/2), by its continued fraction (Lentz)."""
    b = 0.5
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _fraction(1 - x, b, a)
    return _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    front = math.exp(
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        + a * math.log(x)
        + b * math.log1p(-x)
    )
    tiny, c = 1e-300, 1.0
    d = 1 / _away(1 - (a + b) * x / (a + 1), tiny)
    result = d
    for step in range(1, 500):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for part in (even, odd):
            d = 1 / _away(1 + part * d, tiny)
            c = _away(1 + part / c, tiny)
            result *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return front * result / a


def _away(value: float, tiny: float) -> float:
    """A divisor that is not zero."""
    return value if abs(value) > tiny else tiny
