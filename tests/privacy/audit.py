"""A statistical audit: run something many times on two neighbouring tables, and bound from below what tells
them apart.

Nothing here looks inside a mechanism. A run is a row of whole numbers, everything that left the room. On the
first half of the runs an event is chosen (a score on the first quarter, a threshold on the second); on the
second half, which had no part in that, Clopper and Pearson (1934) bound its two chances. With chance 1 -
ALPHA at least the bound on epsilon lies below the true one, so a mechanism that keeps its claim is flagged
with chance ALPHA at most, and twice in a row on fresh runs with ALPHA² = 1e-8. Randomness is that of the room
and never seeded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.measurement import Counts, Noise
from synth_engine.privacy.loss import Loss
from synth_engine.room import noise as room_noise
from synth_engine.room import selection
from synth_engine.room.selection import SelectionLaw
from synth_engine.room.session import RoomSession, open_session
from tests.privacy import clopper_pearson
from tests.privacy.exact import Table, rows_of

ALPHA = 1e-4
THRESHOLDS = 400
Floats = npt.NDArray[np.float64]
Runs = Callable[[Table, int], Counts]
"""What leaves the room in so many independent runs on a table: int64, a row a run."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """P(event | x) <= exp(epsilon) P(event | y) + delta, for all events and neighbours."""

    epsilon: float
    delta: float = 0.0


def epsilon_bound(
    runs: Runs, pair: tuple[Table, Table], *, size: int, delta: float = 0.0
) -> float:
    """A lower bound on epsilon at this delta, wrong with chance ALPHA at most. Minus infinity: nothing was
    shown."""
    samples = [runs(table, size) for table in pair]
    quarter, half = size // 4, size // 2
    x, y = _scores([sample[:quarter] for sample in samples], samples)
    choosing, testing = slice(quarter, half), slice(half, size)
    best, way, threshold = -math.inf, 1, math.inf
    for sign in (1, -1):  # events that are likelier on x, then on y
        first, second = (x, y) if sign == 1 else (-y, -x)
        first, second = first[choosing], second[choosing]
        cuts = np.unique(
            np.quantile(
                np.concatenate((first, second)), np.linspace(0, 1, THRESHOLDS), method="higher"
            )
        )
        bounds = _bound(_reached(first, cuts), _reached(second, cuts), half - quarter, delta)
        if bounds.max() > best:
            best, way, threshold = float(bounds.max()), sign, float(cuts[bounds.argmax()])
    first, second = (x, y) if way == 1 else (-y, -x)
    return float(
        _bound(
            _reached(first[testing], threshold),
            _reached(second[testing], threshold),
            size - half,
            delta,
        )
    )


def flagged(runs: Runs, pair: tuple[Table, Table], claim: Claim, *, size: int) -> bool:
    """Whether the runs disprove the claim."""
    return epsilon_bound(runs, pair, size=size, delta=claim.delta) > claim.epsilon


def _scores(early: list[Counts], samples: list[Counts]) -> list[Floats]:
    """How much more likely a run is on x than on y, judged by its numbers one by one: the sum of log ratios
    of how often each was seen in the early runs. Rare numbers are merged with their neighbours, and a ratio
    that may be chance says nothing."""
    totals: list[Floats] = [np.zeros(len(sample)) for sample in samples]
    rare = min(0.2, max(0.1, 4 / math.sqrt(len(early[0]))))
    for column in range(samples[0].shape[1]):
        low, high = np.quantile(
            np.concatenate([one[:, column] for one in early]),
            [rare, 1 - rare],
            method="nearest",
        )
        seen = [np.clip(sample[:, column], low, high) - low for sample in samples]
        often = [
            np.bincount(one[: len(first)], minlength=high - low + 1) + 1.0
            for one, first in zip(seen, early, strict=True)
        ]
        ratio = np.log(often[0] / often[1])
        ratio[np.abs(ratio) < 3 * np.sqrt(1 / often[0] + 1 / often[1])] = 0.0
        totals = [total + ratio[one] for total, one in zip(totals, seen, strict=True)]
    return [np.round(total, 9) for total in totals]


def _reached(scores: Floats, cuts: Floats | float) -> Floats:
    """How many scores reach each threshold."""
    ordered = np.sort(scores)
    found: Floats = (len(ordered) - np.searchsorted(ordered, cuts, side="left")).astype(
        np.float64
    )
    return found


def _bound(x: Floats, y: Floats, runs: int, delta: float) -> Floats:
    """log((low - delta) / high), each chance bounded at ALPHA / 2."""
    low = clopper_pearson.lower(x, runs, alpha=ALPHA / 2)
    high = clopper_pearson.upper(y, runs, alpha=ALPHA / 2)
    sure = low > delta
    found: Floats = np.where(sure, np.log(np.where(sure, low - delta, 1.0) / high), -math.inf)
    return found


# ---- runs, through the room and its noise
# -------------------------------------------------------------------------

Program = Callable[[RoomSession], object]
Change = Callable[[Fraction], Fraction]


class AllAtOnce:
    """For programs whose questions do not depend on answers: every question is answered for all runs in one
    call of the sampler; the program sees the answers of the first run."""

    def __init__(self, size: int, *, change: Change) -> None:
        self.size, self.change = size, change
        self.columns: list[Counts] = []

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        real = replace(noise, scale=self.change(noise.scale))
        answers = room_noise.noisy(np.tile(vector, self.size), real).reshape(self.size, -1)
        self.columns.append(answers)
        first: Counts = answers[0]
        return first

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
        raise AssertionError("what follows a choice depends on it")


class InBatches:
    """For the others: one run after the other. Counts that are asked for again and again are answered in
    batches, of which every answer is used once."""

    batch = 256

    def __init__(self, *, change: Change) -> None:
        self.change = change
        self._stock: dict[tuple[bytes, Noise], list[Counts]] = {}

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        real = replace(noise, scale=self.change(noise.scale))
        stock = self._stock.setdefault((vector.tobytes(), real), [])
        if not stock:
            stock += list(
                room_noise.noisy(np.tile(vector, self.batch), real).reshape(self.batch, -1)
            )
        return stock.pop()

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
        return selection.choose(scores, scale=self.change(scale), law=law)


def as_claimed(scale: Fraction) -> Fraction:
    return scale


def smaller_by(factor: str) -> Change:
    """The planted defect: noise that is too small by a factor."""
    return lambda scale: Fraction(float(scale / Fraction(factor)))


def static_runs(
    program: Program, *, domain: Domain, cap: Loss, change: Change = as_claimed
) -> Runs:
    def runs(table: Table, size: int) -> Counts:
        sampler = AllAtOnce(size, change=change)
        program(open_session(rows_of(table, domain), domain=domain, cap=cap, sampler=sampler))
        return np.concatenate(sampler.columns, axis=1)

    return runs


def adaptive_runs(
    program: Callable[[RoomSession], list[int]],
    *,
    domain: Domain,
    cap: Loss,
    change: Change = as_claimed,
) -> Runs:
    """The program says what left the room, always as many numbers."""

    def runs(table: Table, size: int) -> Counts:
        sampler, rows = InBatches(change=change), rows_of(table, domain)
        found = [
            program(open_session(rows, domain=domain, cap=cap, sampler=sampler))
            for _ in range(size)
        ]
        return np.array(found, dtype=np.int64)

    return runs
