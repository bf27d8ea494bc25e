"""Numerical composition of privacy-loss distributions, fast enough to set noise while somebody moves a
slider.

In floats, so it searches and does not certify: what it finds is confirmed before anything is drawn
(`certificate`), and proved by the verifier, which shares no code with it. docs/proofs/accounting.md has the
losses and the pairs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synth_engine.errors import UnsupportedEvent
from synth_engine.privacy import accountant
from synth_engine.privacy.events import DiscreteGaussian, DiscreteLaplace, Event
from synth_engine.privacy.unit import PrivacyUnit, Relation

Floats = npt.NDArray[np.float64]
Atoms = tuple[Floats, Floats]
"""Losses, and the logarithms of their probabilities."""

_WINDOW = 40.0
_ATOMS = 48
_REACH = 10.0


@dataclass(frozen=True)
class RandomizedResponsePLD:
    """Randomised response with this epsilon, the worst of all that are epsilon-DP."""

    epsilon: float


@dataclass(frozen=True)
class DiscreteGaussianPLD:
    """Discrete Gaussian noise on a count that moves by exactly one."""

    sigma: float


ONE_CELL_A_RECORD = frozenset(
    ("measure", "discover", "group-sizes", "intervals", "leaves", "boxes")
)
"""The verbs that answer with a table in which a record has one cell."""
PLD = RandomizedResponsePLD | DiscreteGaussianPLD


def cells_that_move(unit: PrivacyUnit, relation: Relation) -> int | None:
    """How many cells of a table of counts move between neighbours, each by exactly one; None where that is
    not so."""
    if unit.max_records > 1:
        return None
    return 1 if relation is Relation.ADD_REMOVE else 2


def losses(calls: Iterable[tuple[str, Event]], *, cells: int | None) -> Counter[PLD]:
    """The losses that dominate the calls, and how often each occurs.

    calls: the verb and the event of each. cells: how many cells of a table move, each by one; None where that
    is not so. Errors: UnsupportedEvent for Gaussian noise on anything else than a table of which at most one
    of a unit's records may fall into a cell: no pair is proved to be the worst one there.
    """
    counts: Counter[PLD] = Counter()
    for verb, event in calls:
        # What is no table of counts, such as scores, which all move at once, has the loss of all that moves.
        moving = cells if verb in ONE_CELL_A_RECORD else None
        if isinstance(event, DiscreteGaussian):
            if moving is None:
                raise UnsupportedEvent(
                    "Gaussian noise has a privacy-loss distribution on tables of counts alone, for units "
                    "of one record"
                )
            counts[DiscreteGaussianPLD(math.sqrt(event.sigma_squared))] += moving
        elif isinstance(event, DiscreteLaplace) and moving is not None:
            counts[RandomizedResponsePLD(float(1 / event.scale))] += moving
        else:
            counts[RandomizedResponsePLD(float(accountant.pure_epsilon((event,))))] += 1
    return counts


def log_delta(parts: Counter[PLD], epsilon: float) -> float:
    """The logarithm of the delta at which the composition is (epsilon, delta)-DP, a little too large.

    The total is tilted by exp(tilt · loss) until its mean is epsilon, so that what delta depends on stands in
    the middle of the Fourier transform and keeps its digits, however small delta is.
    """
    if epsilon >= sum(_largest(part) * times for part, times in parts.items()):
        return -math.inf
    tilt = _tilt(parts, epsilon)  # zero where most of the distribution lies above epsilon
    spread = deviation(parts, tilt=tilt)
    if sum(_mean(part, 0.0) * times for part, times in parts.items()) > epsilon + spread:
        return 0.0  # nearly all of it does, and would pass the window; nobody asks for a delta of that size
    points = 1 << max(12, math.ceil(math.log2(800 * math.sqrt(parts.total()))))
    step = max(_WINDOW * spread / points, epsilon * 1e-7)
    spectrum: npt.NDArray[np.complex128] = np.ones(points // 2 + 1, dtype=np.complex128)
    log_total = 0.0
    for part, times in parts.items():
        mass, log_mass = _on_grid(_atoms(part, tilt), tilt=tilt, step=step, points=points)
        spectrum *= np.fft.rfft(mass) ** times
        log_total += times * log_mass
    # A product of transforms is a convolution on a circle: it is _WINDOW deviations wide, so
    # that little wraps round.
    tilted = np.fft.irfft(spectrum, n=points)
    start = math.ceil(
        epsilon / step
    )  # the window that the indices are taken to lie in is centred on epsilon
    index = np.arange(start, start + points // 2)
    beyond = index * step - epsilon
    # 1 - exp(epsilon - L) at L = epsilon + beyond, with the tilt taken back.
    weights = np.exp(-tilt * beyond) * -np.expm1(-beyond)
    share = float(np.clip(tilted[index % points], 0, None) @ weights)
    return log_total - tilt * epsilon + math.log(share) if share > 0 else -math.inf


def deviation(parts: Counter[PLD], *, tilt: float = 0.0) -> float:
    """The standard deviation of the total."""
    return math.sqrt(sum(_variance(part, tilt) * times for part, times in parts.items()))


def _on_grid(atoms: Atoms, *, tilt: float, step: float, points: int) -> tuple[Floats, float]:
    """Tilted masses on a circle of points, summing to one, and the logarithm of what they summed to. Mass is
    split between two points such that the mean of exp(-loss) stays: that can only raise delta."""
    values, logs = atoms
    index = np.floor(values / step)
    beyond = values - index * step
    share = np.expm1(-beyond) / math.expm1(-step)
    logs = logs + tilt * values
    top = float(logs.max())
    weights = np.exp(logs - top)
    lower, upper = (
        weights * (1 - share) * np.exp(-tilt * beyond),
        weights * share * np.exp(tilt * (step - beyond)),
    )
    at = index.astype(np.int64) % points
    mass = np.bincount(at, weights=lower, minlength=points)
    mass += np.roll(np.bincount(at, weights=upper, minlength=points), 1)
    total = float(mass.sum())
    return mass / total, top + math.log(total)


def _atoms(part: PLD, tilt: float) -> Atoms:
    if isinstance(part, RandomizedResponsePLD):
        low = -math.log1p(math.exp(part.epsilon)) if part.epsilon < 700 else -part.epsilon
        return np.array([part.epsilon, -part.epsilon]), np.array([low + part.epsilon, low])
    # Wide noise is looked at on every so many whole numbers, which for a bell that wide makes no difference.
    stride = max(1, int(part.sigma / _ATOMS))
    reach = math.ceil(_REACH * part.sigma / stride) + 1
    centre = -round(tilt / stride)
    x: Floats = np.arange(centre - reach, centre + reach + 1, dtype=np.float64) * stride
    variance = part.sigma**2
    around: Floats = np.arange(-reach, reach + 1, dtype=np.float64) * stride
    log_all = math.log(np.exp(-(around**2) / (2 * variance)).sum())
    return (1 - 2 * x) / (2 * variance), -(x**2) / (2 * variance) - log_all


def _largest(part: PLD) -> float:
    return part.epsilon if isinstance(part, RandomizedResponsePLD) else math.inf


def _tilt(parts: Counter[PLD], epsilon: float) -> float:
    """The tilt at which the mean of the total is epsilon. Any tilt is valid; this one preserves the digits of
    delta."""
    low, high = 0.0, 1e5 / epsilon
    for _ in range(50):
        middle = (low + high) / 2
        mean = sum(_mean(part, middle) * times for part, times in parts.items())
        low, high = (middle, high) if mean < epsilon else (low, middle)
    return low


def _mean(part: PLD, tilt: float) -> float:
    if isinstance(part, DiscreteGaussianPLD):
        return (tilt + 0.5) / part.sigma**2
    return part.epsilon * math.tanh((tilt + 0.5) * part.epsilon)


def _variance(part: PLD, tilt: float) -> float:
    if isinstance(part, DiscreteGaussianPLD):
        return float(1 / part.sigma**2)
    return (part.epsilon / math.cosh(min((tilt + 0.5) * part.epsilon, 300))) ** 2
