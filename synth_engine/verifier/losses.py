"""Composition of privacy-loss distributions for the verifier, in whole numbers alone: what it returns is a
bound.

Standard library only, and nothing shared with the accountant, which works in floats.

The loss of one call is a random number L. The losses of calls that were fixed beforehand add up, and the
delta of a run is the mean of max(0, 1 - exp(epsilon - L)) over the total. That is a rising function of L and
a convex one of exp(-L), which gives three steps that can only raise it (docs/proofs/accounting.md):

- mass moves to a larger loss, at the far end to an infinite one; every count of 2^-k of mass is rounded up;
- mass between two points of the grid is split among them so that the mean of exp(-L) stays;
- the products of the composition are exact: whole numbers, multiplied as one long number, then rounded up.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Inexact, Rounded
from fractions import Fraction
from itertools import count
from typing import NoReturn

from synth_engine.errors import VerificationError
from synth_engine.verifier.bounds import ceil_div, exp_bounds, log_bounds
from synth_engine.verifier.discrete_gaussian import GaussianMasses
from synth_engine.verifier.limits import MIN_DELTA

_SPARE = 56
"""Bits of mass below delta; what is rounded up is far less than a millionth of it."""
_TRIM = 24
_STEEP = 30
_FINENESS, _POINTS, _STEEPEST = 2e-4, 30_000, 1e5
_MAX_OUTCOMES = 2_000_000
"""Outcomes of all noise laws together that are worth summing up; a claim on wider noise has to rest on
rho."""
_MAX_GRID_POINTS, _REFINEMENT = 200_000, 16
"""Points of the grid that one distribution may take."""
_MAX_DIGITS = 10**9
"""Decimal digits of the long numbers that one composition may multiply: about half a minute of work, and tens
of times what receipts with hundreds of calls need."""
_MIN_NEAR = Fraction(1, 10**12)
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, Rounded])


@dataclass(frozen=True)
class PureLoss:
    """The loss of randomised response, epsilon or -epsilon. It dominates the loss of anything that is
    epsilon-DP, and discrete Laplace noise of sensitivity one has exactly this loss."""

    epsilon: Fraction


@dataclass(frozen=True)
class GaussianLoss:
    """The loss of discrete Gaussian noise on a count that moves by exactly one."""

    sigma_squared: Fraction


@dataclass
class _LossMasses:
    """masses[i] of 2^-k at the loss (first + i) · step, and `infinite` at an infinite one."""

    first: int
    masses: list[int]
    infinite: int


@dataclass(frozen=True)
class _Grid:
    """Losses in whole multiples of the step, masses in 2^-bits; as much as `trim` may be moved at either end.
    digits_left: one number, of the digits that may still be multiplied."""

    step: Fraction
    bits: int
    trim: int
    digits_left: list[int] = field(default_factory=lambda: [_MAX_DIGITS])


def composed_epsilon(
    calls: Mapping[PureLoss | GaussianLoss, int], delta: Fraction, *, near: Fraction
) -> Fraction:
    """An epsilon at which the calls, so many of each, are (epsilon, delta)-DP. `near`, the epsilon that is to
    be shown, decides about the fineness of the grid and not about the truth of the bound: the grid is refined
    while it is too coarse to show it. That happens where few calls have few possible losses."""
    if not (_MIN_NEAR <= near <= 1 / _MIN_NEAR and MIN_DELTA <= delta < 1):
        _refuse()
    grid = _grid(calls, delta, near)
    epsilon = _on_grid(calls, delta, grid)
    # Refined only while the distribution still fits on the largest grid.
    span = sum(min(_largest(call, grid) * number, 4 * near) for call, number in calls.items())
    while epsilon > near and _REFINEMENT * span < _MAX_GRID_POINTS // 2 * grid.step:
        grid = replace(grid, step=grid.step / _REFINEMENT)
        epsilon = min(epsilon, _on_grid(calls, delta, grid))
    return epsilon


def _on_grid(
    calls: Mapping[PureLoss | GaussianLoss, int], delta: Fraction, grid: _Grid
) -> Fraction:
    widths = [
        _radius(call.sigma_squared, grid) for call in calls if isinstance(call, GaussianLoss)
    ]
    if (
        2 * sum(widths) > _MAX_OUTCOMES
        or max(_largest(call, grid) for call in calls) > _MAX_GRID_POINTS * grid.step
    ):
        _refuse()
    parts = [
        _self_convolve(_call_losses(call, grid), number, grid) for call, number in calls.items()
    ]
    return _least_epsilon(_convolve_all(parts, grid), delta, grid)


def _refuse() -> NoReturn:
    raise VerificationError(
        "the claim is not what privacy-loss distributions of this noise can show"
    )


def _largest(call: PureLoss | GaussianLoss, grid: _Grid) -> Fraction:
    if isinstance(call, PureLoss):
        return call.epsilon
    return (2 * _radius(call.sigma_squared, grid) + 1) / (2 * call.sigma_squared)


def _grid(
    calls: Mapping[PureLoss | GaussianLoss, int], delta: Fraction, near: Fraction
) -> _Grid:
    """Splitting mass between points raises epsilon by about number · (1 + tilt) · step² / 8, the tilt being
    -d ln(delta) / d epsilon: the step is chosen for a few parts in a hundred thousand."""
    number, target = sum(calls.values()), float(near)
    step = math.sqrt(_FINENESS * target / (number * (1 + _tilt(calls, target))))
    step = max(step, target / _POINTS)
    bits = delta.denominator.bit_length() - delta.numerator.bit_length() + _SPARE
    return _Grid(
        step=Fraction(2) ** math.floor(math.log2(step)),
        bits=bits,
        trim=(1 << _SPARE - _TRIM) // number,
    )


def _tilt(calls: Mapping[PureLoss | GaussianLoss, int], target: float) -> float:
    """How far the distribution has to be tilted for its mean to be the target, or a large number."""
    low, high = 0.0, _STEEPEST / target
    for _ in range(60):
        middle = (low + high) / 2
        mean = sum(_tilted_mean(call, middle) * number for call, number in calls.items())
        low, high = (middle, high) if mean < target else (low, middle)
    return high


def _tilted_mean(call: PureLoss | GaussianLoss, tilt: float) -> float:
    if isinstance(call, GaussianLoss):
        return (tilt + 0.5) / float(call.sigma_squared)
    return float(call.epsilon) * math.tanh((tilt + 0.5) * float(call.epsilon))


# --- one call -----------------------------------------------------------------------------------------------


def _call_losses(call: PureLoss | GaussianLoss, grid: _Grid) -> _LossMasses:
    return (
        _pure(call.epsilon, grid)
        if isinstance(call, PureLoss)
        else _gaussian(call.sigma_squared, grid)
    )


def _pure(epsilon: Fraction, grid: _Grid) -> _LossMasses:
    """The losses of randomised response: epsilon with probability 1 / (1 + exp(-epsilon)), else -epsilon."""
    width = grid.bits + 64
    low, high = exp_bounds(epsilon, width)
    unit = 1 << width
    masses: dict[int, int] = {}
    for loss, weight in ((epsilon, unit), (-epsilon, high)):
        mass = ceil_div(weight << grid.bits, unit + low)
        index = math.floor(loss / grid.step)
        beyond = loss - index * grid.step
        # Mass between two points is split so that the mean of exp(-loss) stays: Jensen, as
        # delta is the mean of a convex function of it (docs/proofs/accounting.md).
        share = ceil_div(
            (unit - exp_bounds(beyond, width)[0]) << width,
            unit - exp_bounds(grid.step, width)[1],
        )
        upper = min(mass, -(-mass * share >> width))
        masses[index] = masses.get(index, 0) + mass - upper
        masses[index + 1] = masses.get(index + 1, 0) + upper
    return _dense(masses, 0)


def _radius(sigma_squared: Fraction, grid: _Grid) -> int:
    """The radius beyond which noise has less than about 2^-bits of mass; more mass there only makes the bound
    larger."""
    return math.isqrt(math.ceil(2 * sigma_squared * grid.bits * Fraction(7, 10))) + 2


def _gaussian(sigma_squared: Fraction, grid: _Grid) -> _LossMasses:
    """Noise x has the loss (1 - 2x) / (2 sigma²), which is (1 - 2x) · up / down points of the grid.
    Probability and shifted probability of all x between two points are summed up, and their masses set so
    that both sums stay."""
    noise = GaussianMasses.of(sigma_squared, _radius(sigma_squared, grid), grid.bits)
    growth = _GridExponential(grid, noise.width)
    falls = (1 << noise.width) - exp_bounds(grid.step, noise.width)[1]
    up, down = (1 / (2 * sigma_squared * grid.step)).as_integer_ratio()
    cut = noise.width - grid.bits
    masses: dict[int, int] = {}
    x = -noise.radius
    while x <= noise.radius:
        index = (1 - 2 * x) * up // down
        last = min(noise.radius, (up - down * index) // (2 * up))
        # p, the chance of these x, and q, that of the same x on the neighbour: q is the sum of
        # p exp(-loss), so a split that preserves both sums preserves the mean of exp(-loss).
        total, shifted = noise.mass(x, last)
        left = shifted * growth.at(index) >> noise.width
        upper = min(total, ceil_div(max(0, total - left) << noise.width, falls))
        mass = -(-total >> cut)
        moved = min(mass, -(-upper >> cut))
        masses[index] = masses.get(index, 0) + mass - moved
        masses[index + 1] = masses.get(index + 1, 0) + moved
        x = last + 1
    tail = -(-noise.tail >> cut)
    masses[min(masses) + 1] += (
        tail  # at a point above its losses; the other tail has an infinite one
    )
    return _dense(masses, tail)


class _GridExponential:
    """exp(point of the grid) from below, asked for from the highest point down; 0 where it is too large to
    matter, so that all mass there is rounded up."""

    def __init__(self, grid: _Grid, width: int) -> None:
        self._step, self._width = grid.step, width
        self._falls: dict[int, int] = {}
        self._index, self._value = 0, 0

    def at(self, index: int) -> int:
        if index * self._step >= _STEEP:
            return 0
        if self._value == 0 and index >= 0:
            self._value = (1 << 2 * self._width) // exp_bounds(index * self._step, self._width)[
                1
            ]
        elif self._value == 0:
            self._value = exp_bounds(-index * self._step, self._width)[0]
        else:
            self._value = self._value * self._fall(self._index - index) >> self._width
        self._index = index
        return self._value

    def _fall(self, points: int) -> int:
        if points not in self._falls:
            self._falls[points] = exp_bounds(points * self._step, self._width)[0]
        return self._falls[points]


def _dense(by_index: dict[int, int], infinite: int) -> _LossMasses:
    first = min(by_index)
    masses = [0] * (max(by_index) - first + 1)
    for index, mass in by_index.items():
        masses[index - first] = mass
    return _LossMasses(first=first, masses=masses, infinite=infinite)


# --- composition --------------------------------------------------------------------------------------------


def _self_convolve(losses: _LossMasses, number: int, grid: _Grid) -> _LossMasses:
    """The sum of `number` independent losses, at least one, by repeated squaring."""
    while number % 2 == 0:
        losses = _convolve(losses, losses, grid)
        number //= 2
    total = losses
    while number := number // 2:
        losses = _convolve(losses, losses, grid)
        if number % 2:
            total = _convolve(total, losses, grid)
    return total


def _convolve_all(parts: list[_LossMasses], grid: _Grid) -> _LossMasses:
    """The sum of all losses. Short distributions are convolved first, so that few products are long."""
    order = count()
    waiting = [(len(part.masses), next(order), part) for part in parts]
    heapq.heapify(waiting)
    while len(waiting) > 1:
        left, right = heapq.heappop(waiting)[2], heapq.heappop(waiting)[2]
        total = _convolve(left, right, grid)
        heapq.heappush(waiting, (len(total.masses), next(order), total))
    return waiting[0][2]


def _convolve(left: _LossMasses, right: _LossMasses, grid: _Grid) -> _LossMasses:
    """The sum of two independent losses."""
    if len(left.masses) + len(right.masses) > 2 * _MAX_GRID_POINTS:
        _refuse()
    masses = [-(-mass >> grid.bits) for mass in _product(left.masses, right.masses, grid)]
    # The total is infinite where either of the losses is.
    totals = sum(left.masses) + left.infinite, sum(right.masses)
    infinite = -(
        -(left.infinite * (totals[1] + right.infinite) + sum(left.masses) * right.infinite)
        >> grid.bits
    )
    return _trim(
        _LossMasses(first=left.first + right.first, masses=masses, infinite=infinite), grid.trim
    )


def _product(left: list[int], right: list[int], grid: _Grid) -> list[int]:
    """The coefficients of the product of two polynomials, by one product of long numbers with room in each
    slot. Decimal numbers, because Python multiplies long ones fast; a context that raises if a digit were
    rounded."""
    # The largest coefficient fits into a slot, so that no slot carries into the next.
    slot = len(str(max(left) * max(right) * min(len(left), len(right)))) + 1
    grid.digits_left[0] -= (len(left) + len(right)) * slot
    if grid.digits_left[0] < 0:
        _refuse()
    packed = [
        _EXACT.create_decimal("".join(f"{mass:0{slot}d}" for mass in reversed(masses)))
        for masses in (left, right)
    ]
    length = len(left) + len(right) - 1
    digits = f"{_EXACT.multiply(*packed):f}".zfill(length * slot)
    return [int(digits[at : at + slot]) for at in range((length - 1) * slot, -1, -slot)]


def _trim(losses: _LossMasses, limit: int) -> _LossMasses:
    """Shorten a distribution: at most `limit` of mass at the low end moves up to the first remaining point,
    as much at the high end to infinity."""
    masses = losses.masses
    low, moved = 0, 0
    while low < len(masses) - 1 and moved + masses[low] <= limit:
        moved += masses[low]
        low += 1
    high, lost = len(masses), 0
    while high > low + 1 and lost + masses[high - 1] <= limit:
        high -= 1
        lost += masses[high]
    remaining = masses[low:high]
    remaining[0] += moved
    return _LossMasses(
        first=losses.first + low, masses=remaining, infinite=losses.infinite + lost
    )


def _least_epsilon(losses: _LossMasses, delta: Fraction, grid: _Grid) -> Fraction:
    """The least epsilon with sum of m_j max(0, 1 - exp(epsilon - loss_j)) + infinite <= delta, rounded up.

    From the largest loss down: `above` is the mass above a point, `discounted` the sum of m_j exp(point -
    loss_j), rounded down.
    """
    width = grid.bits + 64
    # Rounded down, so that epsilon can only come out larger.
    allowed = math.floor(delta * (1 << grid.bits))
    fall = exp_bounds(grid.step, width)[0]
    above, discounted = losses.infinite << width - grid.bits, 0
    if losses.infinite > allowed:
        _refuse()
    allowed <<= width - grid.bits
    for index in range(len(losses.masses) - 1, -1, -1):
        mass = losses.masses[index] << width - grid.bits
        next_above, next_discounted = above + mass, mass + (discounted * fall >> width)
        if next_above - next_discounted > allowed:
            point = (losses.first + index + 1) * grid.step
            below = discounted * fall >> width
            if not below:
                return max(Fraction(0), point)
            at = Fraction(above - allowed, below)  # exp(epsilon - point below)
            return max(Fraction(0), min(point, point - grid.step + log_bounds(at)[1]))
        above, discounted = next_above, next_discounted
    return max(Fraction(0), losses.first * grid.step)
