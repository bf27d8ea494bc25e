"""What whole runs lose whose noise is Gaussian, or whose answers are too many to walk through: runs that are
told little of their answers.

A run is told of each noisy number only in which of a few ranges it lies; so it has few branches, and each of
them is walked. The numbers themselves leave the room as well: within a branch they are independent, each by
its own law cut to its range. What has left the room is therefore an adaptive sequence of the very questions
that ship, under the very cap, and the losses of all of it are added up here, whatever the rules by which the
room adds up. Numbers that a range tells apart are public: any ranges will do.

Losses are kept on a grid. A loss between two points of it is divided over both so that neither of the two
laws changes its sum, which makes no delta smaller (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022);
`least` rounds them down instead, which makes none larger. Sums are floats: off by less than ROUNDING, which
no comparison here comes near.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from synth_engine.measurement import Counts, Noise
from synth_engine.room.rows import Rows
from synth_engine.room.selection import SelectionLaw
from tests.privacy import exact

Floats = NDArray[np.float64]
ROUNDING = 1e-11
REACH, _POINTS = 48.0, 1 << 15
STEP = 2 * REACH / _POINTS
"""The grid: losses up to so large, in steps of less than three thousandths."""
_LAPLACE_REACH, _GAUSSIAN_REACH = 40, 9
"""Scales and standard deviations beyond which there is less than 10⁻¹⁷ of a law."""


@dataclass(frozen=True)
class Ranges:
    """What is told of a number: told[i] where it is at most bounds[i] and above all bounds before, the last
    where it is above all."""

    told: tuple[int, ...]
    bounds: tuple[int, ...] = ()


Telling = Callable[[int, Noise], Ranges]
"""What is told of the n-th noisy number of a run."""


@dataclass(frozen=True)
class Told:
    """Of these numbers whether they are few or many, and nothing of the others."""

    forks: tuple[int, ...]
    few: int = 5
    between: int = 10
    many: int = 60
    otherwise: int = 20

    def __call__(self, number: int, _: Noise) -> Ranges:
        if number not in self.forks:
            return Ranges((self.otherwise,))
        return Ranges((self.few, self.many), (self.between,))


@dataclass(frozen=True)
class Number:
    """A noisy number that left the room: its exact value, its noise, what was told of it, and which of its
    ranges it lies in."""

    exact: int
    noise: Noise
    ranges: Ranges
    place: int


@dataclass(frozen=True)
class Choice:
    """A number from a list of chances that were compared: those of all indices, and which one was taken."""

    chances: tuple[float, ...]
    place: int


class Coarse:
    """A sampler that follows a script of ranges and choices, takes the first one after its end, and notes the
    others."""

    def __init__(self, script: tuple[int, ...], telling: Telling) -> None:
        self.script, self.telling = script, telling
        self.taken: tuple[int, ...] = ()
        self.open: list[tuple[int, ...]] = []
        self.steps: list[Number | Choice] = []
        self.numbers = 0

    def _branch(self, possible: list[int]) -> int:
        place = len(self.taken)
        index = self.script[place] if place < len(self.script) else possible[0]
        if place >= len(self.script):
            self.open += [(*self.taken, other) for other in possible[1:]]
        self.taken = (*self.taken, index)
        return index

    def number(self, value: int, noise: Noise) -> int:
        ranges = self.telling(self.numbers, noise)
        self.numbers += 1
        place = self._branch(list(range(len(ranges.told)))) if ranges.bounds else 0
        self.steps.append(Number(value, noise, ranges, place))
        return ranges.told[place]

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        return np.array([self.number(int(value), noise) for value in vector], dtype=np.int64)

    def _choice(self, chances: tuple[float, ...]) -> int:
        place = self._branch([index for index, chance in enumerate(chances) if chance > 0])
        self.steps.append(Choice(chances, place))
        return place

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
        chances = exact.selection_law(tuple(int(score) for score in scores), scale, law)
        return self._choice(tuple(chance.low / exact.ONE for chance in chances))

    def discover(
        self, tally: dict[int, int], *, size: int, threshold: int, noise: Noise
    ) -> list[tuple[int, int]]:
        """Of each value whether it reaches the threshold; then its count, which is told as the threshold."""
        found = []
        for rank in range(size):
            bounds = Ranges(told=(threshold - 1, threshold), bounds=(threshold - 1,))
            place = self._branch([0, 1])
            if place:
                self.steps.append(Number(tally.get(rank, 0), noise, bounds, place))
                found.append((rank, threshold))
            else:
                passes = _mass(tally.get(rank, 0), noise, threshold - 1)
                self.steps.append(Choice((1 - passes, passes), place))
        return found


Run = Callable[[Coarse, Rows], Hashable]
"""A run of the shipped code with this sampler; returns all that has left the room beside noisy numbers and
choices."""


# ---- laws of one number
# -----------------------------------------------------------------------------------------


def _mass(value: int, noise: Noise, above: int) -> float:
    """The chance of a number above a bound."""
    low, masses = _law(value, noise)
    return float(masses[max(0, above + 1 - low) :].sum())


@cache
def _law(value: int, noise: Noise) -> tuple[int, Floats]:
    """The smallest number that is listed, and the chances of it and of those that follow."""
    scale = float(noise.scale)
    reach = _LAPLACE_REACH if noise.law == "discrete-laplace" else _GAUSSIAN_REACH
    width = math.ceil(reach * scale) + 2
    away = np.arange(-width, width + 1, dtype=np.float64)
    if noise.law == "discrete-laplace":
        masses = np.exp(-np.abs(away) / scale) * math.tanh(1 / (2 * scale))
    elif noise.law == "discrete-gaussian":
        masses = np.exp(-((away / scale) ** 2) / 2)
        masses /= masses.sum()
    else:  # from the nearer end, where the differences keep their digits
        size = np.abs(away)
        masses = special.ndtr((0.5 - size) / scale) - special.ndtr((-0.5 - size) / scale)
    return value - width, masses


@cache
def _pair(x: int, y: int, noise: Noise, ranges: Ranges, place: int) -> tuple[Floats, Floats]:
    """The chances of the numbers of one range by both laws. Those of a number that only one of them lists are
    0 in the other."""
    (low, p), (other, q) = _law(x, noise), _law(y, noise)
    first, size = min(low, other), max(low + p.size, other + q.size) - min(low, other)
    both = np.zeros((2, size))
    both[0, low - first : low - first + p.size] = p
    both[1, other - first : other - first + q.size] = q
    start = ranges.bounds[place - 1] + 1 - first if place else 0
    stop = ranges.bounds[place] + 1 - first if place < len(ranges.bounds) else size
    within = slice(min(max(0, start), size), min(max(0, stop), size))
    return both[0, within], both[1, within]


# ---- adding up
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Losses:
    """The privacy loss of a run, for one ordered pair of tables: masses[k] of the first law where it is
    `STEP` times k less half of the grid; certain: the chance of what is possible for the first table
    alone."""

    masses: Floats
    certain: float

    def delta(self, epsilon: float) -> float:
        losses = (np.arange(_POINTS) - _POINTS // 2) * STEP
        gained = np.where(losses > epsilon, -np.expm1(np.minimum(0.0, epsilon - losses)), 0.0)
        return float(self.masses @ gained) + self.certain

    def mu(self, epsilon: float) -> float:
        """The mu of Gaussian privacy with this delta at this epsilon."""
        delta = self.delta(epsilon)
        if delta >= 1:
            return math.inf
        found: float = optimize.brentq(
            lambda mu: delta_of_gaussian(mu, epsilon) - delta, 1e-4, 60
        )
        return found


def delta_of_gaussian(mu: float, epsilon: float) -> float:
    """Dong, Roth and Su 2022, Corollary 2.13."""
    return float(
        special.ndtr(-epsilon / mu + mu / 2)
        - math.exp(epsilon) * special.ndtr(-epsilon / mu - mu / 2)
    )


@dataclass(frozen=True)
class _OnGrid:
    """The losses of one number. spectrum: of their chances, transformed; certain: the chance of what only the
    first law has, or of a loss that the grid does not reach; squared: the mean of exp(loss)."""

    spectrum: NDArray[np.complex128]
    certain: float
    squared: float


def _on_grid(p: Floats, q: Floats, *, least: bool) -> _OnGrid:
    loss = np.full(p.size, math.inf)
    possible = (p > 0) & (q > 0)
    loss[possible] = np.log(p[possible] / q[possible])
    # What is very likely by the second law alone is taken for less unlikely.
    loss = np.maximum(loss, -REACH / 2)
    reached = (loss < REACH / 2) & (p > 0)
    loss, kept = loss[reached], p[reached]
    below = np.floor(loss / STEP)
    share = np.zeros(loss.size)
    if not least:
        # Of the mass at the upper end: then the sum of the second law, of mass / exp(loss), is what it was.
        share = np.expm1(below * STEP - loss) / math.expm1(-STEP)
    masses, places = np.zeros(_POINTS), below.astype(np.int64)
    np.add.at(masses, places % _POINTS, kept * (1 - share))
    np.add.at(masses, (places + 1) % _POINTS, kept * share)
    return _OnGrid(
        spectrum=np.fft.rfft(masses),
        certain=float(p.sum() - kept.sum()),
        squared=float(kept @ np.exp(loss)),
    )


@dataclass(frozen=True)
class Branch:
    """One way through a run on two tables: the steps of both, and whether they were asked and told the
    same."""

    steps: tuple[tuple[Number | Choice, Number | Choice], ...]
    alike: bool


def branches(
    run: Run, pair: tuple[Rows, Rows], telling: Telling, *, sampler: type[Coarse] = Coarse
) -> Iterator[Branch]:
    """All ways through the run that the first table allows."""
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        one = sampler(scripts.pop(), telling)
        left = run(one, pair[0])
        scripts += one.open
        other = sampler(one.taken, telling)
        same = run(other, pair[1]) == left
        asked = [[_asked(step) for step in each.steps] for each in (one, other)]
        steps = tuple(zip(one.steps, other.steps, strict=False))
        yield Branch(steps, same and asked[0] == asked[1])


def _asked(step: Number | Choice) -> Hashable:
    if isinstance(step, Choice):
        return len(step.chances), step.place
    return step.noise, step.ranges, step.place


Chances = tuple[Floats, Floats]


class Compared:
    """All branches of a run on two tables, of which the first one is told from the second."""

    def __init__(
        self,
        run: Run,
        pair: tuple[Rows, Rows],
        telling: Telling,
        *,
        sampler: type[Coarse] = Coarse,
    ) -> None:
        self.certain = 0.0
        self.number = 0
        # Branches whose moving numbers have the same laws differ by their chances alone.
        self._grouped: dict[tuple[Hashable, ...], tuple[float, list[Chances]]] = {}
        for branch in branches(run, pair, telling, sampler=sampler):
            self.number += 1
            mass, moving = 1.0, []
            for x, y in branch.steps:
                p, q = _chances(x, y)
                if np.array_equal(p, q):
                    mass *= float(p.sum())
                else:
                    moving.append((repr((x, y)), (p, q)))
            if not branch.alike:
                # What was asked, or is said besides, tells the tables apart.
                self.certain += mass * math.prod(float(p.sum()) for _, (p, _) in moving)
                continue
            moving.sort(key=lambda one: one[0])
            key = tuple(text for text, _ in moving)
            before, _ = self._grouped.get(key, (0.0, []))
            self._grouped[key] = before + mass, [chances for _, chances in moving]

    def losses(self, *, least: bool = False) -> Losses:
        """The privacy loss; least: rounded down, and without what only the first table allows."""
        total = np.zeros(_POINTS // 2 + 1, dtype=np.complex128)
        certain, squared = self.certain, 0.0
        for mass, moving in self._grouped.values():
            numbers = [_on_grid(p, q, least=least) for p, q in moving]
            certain += 0.0 if least else mass * sum(number.certain for number in numbers)
            squared += mass * math.prod(number.squared for number in numbers)
            total += mass * np.prod([number.spectrum for number in numbers], axis=0)
        # Losses of which a sum passes the grid come in again at its other end: so little of them (Markov).
        assert squared < ROUNDING * math.exp(REACH)
        masses = np.fft.fftshift(np.fft.irfft(total, _POINTS))
        return Losses(masses=np.maximum(masses, 0.0), certain=certain)

    def renyi(self, alpha: float) -> float:
        """The Rényi divergence of this order."""
        if self.certain > ROUNDING:
            return math.inf
        total = 0.0
        for mass, moving in self._grouped.values():
            for p, q in moving:
                both = (p > 0) & (q > 0)
                mass *= float(
                    np.sum(np.exp(alpha * np.log(p[both]) - (alpha - 1) * np.log(q[both])))
                )
            total += mass
        return math.log(total) / (alpha - 1)

    def largest(self) -> float:
        """The largest loss of anything that may leave the room."""
        if self.certain > ROUNDING:
            return math.inf
        return max(
            sum(_largest(p, q) for p, q in moving) for _, moving in self._grouped.values()
        )


def _largest(p: Floats, q: Floats) -> float:
    both = (p > 0) & (q > 0)
    return float(np.log(p[both] / q[both]).max()) if both.any() else -math.inf


def _chances(x: Number | Choice, y: Number | Choice) -> Chances:
    if isinstance(x, Choice) or isinstance(y, Choice):
        return _chance(x), _chance(y)
    return _pair(x.exact, y.exact, x.noise, x.ranges, x.place)


def _chance(step: Number | Choice) -> Floats:
    assert isinstance(step, Choice)
    return np.array([step.chances[step.place]])
