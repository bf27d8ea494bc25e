"""The verifier recomputes the delta of resampled groups, which are Dirichlet-multinomial, in whole-number
arithmetic alone.

Standard library only, and nothing shared with what writes receipts. One record of a group of n leaves an
origin of x records. With w / unit as the prior of each of k origins, M of the N = copies * n new records have
that origin, M of the beta-binomial law whose masses satisfy p(m+1) / p(m) = (N - m)(unit x + w + unit m) /
((m + 1)(rest + unit (N - m - 1))), rest = unit (n - x) + (k - 1) w. Delta is at most the largest, over x, of
the expectation of (1 - exp(epsilon) a / (M + a))+, a = x - 1 + w / unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from synth_engine.verifier.bounds import ceil_div, exp_bounds

_MASS_DIGITS = 128
"""The bits of a mass. Its exponent is stored separately, so that a small mass has as many."""
_DELTA_GRID = 160
"""Bits of a delta, which is rounded up."""
_MAX_GROUP_SIZE, _MAX_PARTS, _MAX_COPIES = 10**7, 2**80, 1_000
_MAX_STEPS = 40_000_000
_Mass = tuple[int, int]


def is_prior(noise: Mapping[str, object]) -> bool:
    """Whether the noise of a resampling is well formed: positive whole numbers, sizes in order. Groups of a
    size that have fewer origins than others state how many."""
    if set(noise) - {"copies"} != {
        "law",
        "epsilon",
        "delta",
        "origins",
        "unit",
        "priors",
    } or not isinstance(noise["priors"], list):
        return False
    copies = noise.get("copies", 2)
    # One copy is written by leaving it out, so that a receipt has one form.
    if type(copies) is not int or not 2 <= copies <= _MAX_COPIES:
        return False
    pairs = noise["priors"]
    if not pairs or not all(isinstance(pair, list) and len(pair) in (2, 3) for pair in pairs):
        return False
    numbers = [noise["origins"], noise["unit"], *(number for pair in pairs for number in pair)]
    if any(type(number) is not int or not 1 <= number <= _MAX_PARTS for number in numbers):
        return False
    if any(origins >= noise["origins"] for pair in pairs for origins in pair[2:]):
        return False
    sizes = [pair[0] for pair in pairs]
    return sizes == sorted(set(sizes)) and sizes[-1] <= _MAX_GROUP_SIZE


def group_delta(
    noise: Mapping[str, Any],
    epsilon: Fraction,
    *,
    progress: Callable[[float], None] = lambda _share: None,
) -> Fraction | None:
    """An upper bound of the delta of every group at epsilon; None if it would take too many steps to compute.
    progress: is given the share of the records whose groups are done."""
    width = _MASS_DIGITS + 2 * (epsilon.numerator // epsilon.denominator + 1)
    # Delta falls in exp(epsilon), so a power that is too small gives a delta that is too large.
    power = Fraction(
        1 << width, exp_bounds(epsilon, width)[1]
    )  # a little less than exp(epsilon)
    copies = noise.get("copies", 1)
    largest, steps_left = 0, _MAX_STEPS
    done, records = 0, sum(size for size, *_ in noise["priors"])
    for size, weight, *fewer in noise["priors"]:
        progress(done / records)
        done += size
        origins = fewer[0] if fewer else noise["origins"]
        if origins == 1:
            continue  # every record has the one origin
        prior = _Prior(weight=weight, unit=noise["unit"], origins=origins)
        group_bound, steps = _delta_of_group(
            size, size * copies, prior, power=power, max_steps=steps_left
        )
        largest, steps_left = max(largest, group_bound), steps_left - steps
        if steps_left < 0:
            return None
    return Fraction(largest, 1 << _DELTA_GRID)


@dataclass(frozen=True)
class _Prior:
    """weight: the prior of one origin, in parts of 1 / unit. origins: how many there are."""

    weight: int
    unit: int
    origins: int


def _delta_of_group(
    n: int, draws: int, prior: _Prior, *, power: Fraction, max_steps: int
) -> tuple[int, int]:
    """The delta of one group in 2^-160, and how many steps it took. Masses go from one m, or one x, to the
    next.

    n: records of the group. draws: new records. It stops after more than `max_steps` steps, and what it
    returns then is no bound.
    """
    weight, unit, origins = prior.weight, prior.unit, prior.origins
    # Machanavajjhala et al. 2008, Theorem 4.1: with alpha >= m / (exp(epsilon) - 1) delta is 0.
    if weight * (power - 1) >= unit * draws:
        return 0, 1
    # Refused before the work is done, so that a hostile receipt costs no more than the limit.
    if 2 * draws > max_steps:
        return 0, max_steps + 1
    grown = power - 1
    others, all_of_them = (origins - 1) * weight, unit * n + origins * weight
    m, largest, steps = 0, 0, 2 * draws
    mass = _none_drawn(draws, others + unit * (n - 1), all_of_them, unit)
    for x in range(1, n + 1):
        own, rest = unit * x + weight, unit * (n - x) + others
        group = _Group(draws=draws, own=own, rest=rest, unit=unit)
        first = (
            _whole_units(grown * (own - unit), unit) + 1
        )  # the least m at which the expectation has a part
        if first > draws:
            break
        while m < first:
            mass, m = _mass_times(mass, *_step(m, group)), m + 1
        excess, more = _expected_excess(mass, m, group, power)
        largest, steps = max(largest, excess), steps + more
        if steps > max_steps:
            return largest, steps
        if x < n:  # from x to x + 1 with the same m
            left = draws - m
            mass = (
                _mass_times(
                    mass, (own + unit * m) * (rest - unit), own * (rest + unit * (left - 1))
                )
                if left
                else _mass_times(mass, own + unit * m, own)
            )
    return largest, steps


@dataclass(frozen=True)
class _Group:
    """draws: new records. own, rest: the posterior of one origin and of the others, in parts of 1 / unit."""

    draws: int
    own: int
    rest: int
    unit: int


def _expected_excess(mass: _Mass, m: int, group: _Group, power: Fraction) -> tuple[int, int]:
    """The sum from m on, in 2^-160. Once the ratio of masses is below 1 it falls with m, so that a geometric
    series bounds what is cut off (docs/proofs/resample.md)."""
    total = steps = 0
    unit, a = group.unit, group.own - group.unit
    num, den = power.numerator * a, power.denominator
    while True:
        below = unit * m + a
        part = max(0, below * den - num)
        total += _mass_in_grid(_mass_times(mass, part, below * den)) if part else 0
        steps += 1
        if m == group.draws:
            return total, steps
        up, down = _step(m, group)
        mass, m = _mass_times(mass, up, down), m + 1
        if up < down:
            tail = _mass_in_grid(_mass_times(mass, down, down - up))
            if tail <= max(1, total >> 40):
                return total + tail, steps


def _none_drawn(draws: int, rest: int, everything: int, unit: int) -> _Mass:
    """The mass of M = 0."""
    mass = (1, 0)
    for i in range(draws):
        mass = _mass_times(mass, rest + unit * i, everything + unit * i)
    return mass


def _step(m: int, group: _Group) -> tuple[int, int]:
    """The ratio of the masses of M = m + 1 and M = m."""
    left = group.draws - m
    return left * (group.own + group.unit * m), (m + 1) * (group.rest + group.unit * (left - 1))


def _mass_times(mass: _Mass, up: int, down: int) -> _Mass:
    """A mass times a ratio, rounded up to 128 bits."""
    value, exponent = mass
    shift = max(0, _MASS_DIGITS + down.bit_length() - up.bit_length() - value.bit_length())
    value = ceil_div(value * up << shift, down)
    spare = max(0, value.bit_length() - _MASS_DIGITS)
    return ceil_div(value, 1 << spare), exponent - shift + spare


def _mass_in_grid(mass: _Mass) -> int:
    """The mass in 2^-160, rounded up."""
    value, exponent = mass
    shift = exponent + _DELTA_GRID
    return (
        value << shift
        if shift >= 0
        else ceil_div(value, 1 << -shift)
        if -shift < 2 * _DELTA_GRID + _MASS_DIGITS
        else 1
    )


def _whole_units(value: Fraction, unit: int) -> int:
    return value.numerator // (value.denominator * unit)
