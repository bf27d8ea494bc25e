"""The strongest audit of a mechanism whose answers are stored: by the ratio of their likelihoods in two
neighbouring tables.

A mechanism runs through the real room with its real noise on one table. Beside it a second room, of the
neighbour, is asked the same questions and "answers" what the first one said. What leaves a run is thus known
with the exact counts that it came from in both worlds, and the logarithm of the ratio of its likelihoods
follows from the noise that the plan states. By Neyman and Pearson no other statistic tells the two worlds
apart better, if the noise is what is stated; if it is not, the statistic is still a function of what left the
room, and the bounds below hold all the same.

An event of it is fixed before the runs that test it; the chances of the event in both worlds are bounded by
Clopper and Pearson. What is proved depends on what is claimed:

- epsilon (`Pure`): the logarithm of the ratio of the two bounds. The event is a ratio above a cut that is
  fixed beforehand, or chosen on the first fifth of the runs.
- mu (`GaussianDP`): the mu of two normal laws whose best test has these two errors (Nasr et al. 2023). The
  event is that the run is likelier in the first world.
- rho (`ZeroConcentrated`): the largest over alpha of the Rényi divergence of the event and its complement,
  over alpha.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from synth_engine.measurement import Counts, Noise
from synth_engine.mechanisms import Plan
from synth_engine.privacy import conversion
from synth_engine.privacy.loss import Budget, GaussianDP, Pure, ZeroConcentrated
from synth_engine.room import noise as room_noise
from synth_engine.room.samplers import SecureSampler
from synth_engine.room.selection import SelectionLaw
from synth_engine.room.session import RoomSession, open_session
from tests.privacy import clopper_pearson
from tests.privacy.audit import Change, Floats, as_claimed
from tests.privacy.exact import Table, rows_of

ALPHA = 1e-9
"""Of a bound: how often it may lie above the truth. Half of it for each of its two chances."""
PILOT = 5
"""One run in so many chooses the event where the claim is pure."""
THRESHOLDS = 80
ALPHAS = 1 + np.logspace(-3, 4, 400)
"""Orders of the Rényi divergence."""


# ---- the ratio of likelihoods of a run
# -----------------------------------------------------------------------------


class Answering(SecureSampler):
    """Answers as the room does, under noise that is changed; remembers the last question and answer."""

    def __init__(self, change: Change) -> None:
        self.change = change
        self.asked = self.answer = np.zeros(0, dtype=np.int64)
        self.chosen = 0

    def counts(self, vector: Counts, noise_: Noise) -> Counts:
        self.asked = vector
        self.answer = room_noise.noisy(vector, replace(noise_, scale=self.change(noise_.scale)))
        return self.answer

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
        self.asked = scores
        self.chosen = super().choose(scores, scale=self.change(scale), law=law)
        return self.chosen


class Echoing:
    """Says in the second room what the first one answered, and adds up the logarithms of the ratios."""

    def __init__(self, first: Answering) -> None:
        self.first, self.ratio = first, 0.0

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        self.ratio += float(log_ratio(self.first.answer, self.first.asked, vector, noise).sum())
        return self.first.answer

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
        chances = [
            chances_of(tuple(s.tolist()), float(scale), law) for s in (self.first.asked, scores)
        ]
        self.ratio += math.log(chances[0][self.first.chosen] / chances[1][self.first.chosen])
        return self.first.chosen


def log_ratio(answer: Counts, here: Counts, there: Counts, noise: Noise) -> Floats:
    """Of each cell. Rounded Gaussian noise has the ratio of the discrete one nearly; any statistic is
    valid."""
    near, far, scale = (
        (answer - here).astype(float),
        (answer - there).astype(float),
        float(noise.scale),
    )
    if noise.law == "discrete-laplace":
        return (np.abs(far) - np.abs(near)) / scale
    return (far**2 - near**2) / (2 * scale**2)


@cache
def chances_of(scores: tuple[int, ...], scale: float, law: SelectionLaw) -> tuple[float, ...]:
    """Of each index, in floats; the exact ones are in `exact.selection_law`."""
    keep = [math.exp((score - max(scores)) / scale) for score in scores]
    if law == "gumbel":
        return tuple(one / sum(keep) for one in keep)
    found = []
    for i, own in enumerate(keep):
        others = [j for j in range(len(keep)) if j != i]
        total = sum(
            (-1) ** size / (size + 1) * math.prod(keep[j] for j in few)
            for size in range(len(others) + 1)
            for few in combinations(others, size)
        )
        found.append(own * total)
    return tuple(found)


class TwoRooms:
    """A session that asks both rooms the same. Answers are those of the first."""

    def __init__(self, here: RoomSession, there: RoomSession) -> None:
        self._here, self._there = here, there

    def __getattr__(self, name: str) -> Any:
        asked = getattr(self._here, name)
        if not callable(asked):
            return asked

        def both(*args: Any, **named: Any) -> Any:
            answer = asked(*args, **named)
            getattr(self._there, name)(*args, **named)
            return answer

        return both


def ratios(
    plan: Plan, here: Table, there: Table, *, size: int, change: Change = as_claimed
) -> Floats:
    """Of so many runs on `here`: ln of the likelihood of what left the room under `here`, over that under
    `there`."""
    rows = [rows_of(table, plan.domain) for table in (here, there)]
    found = np.empty(size)
    for run in range(size):
        answering = Answering(change)
        echoing = Echoing(answering)
        rooms = [
            open_session(each, domain=plan.domain, cap=plan.loss, sampler=sampler)  # type: ignore[arg-type]
            for each, sampler in zip(rows, (answering, echoing), strict=True)
        ]
        plan.run(TwoRooms(*rooms))  # type: ignore[arg-type]
        found[run] = echoing.ratio
    return np.round(found, 9)


class ManyAtOnce:
    """For plans whose questions never depend on answers: one call of the sampler for all runs."""

    def __init__(self, size: int, change: Change) -> None:
        self.size, self.change = size, change
        self.asked: list[tuple[Counts, Noise]] = []
        self.answers: list[Counts] = []

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        real = replace(noise, scale=self.change(noise.scale))
        drawn = room_noise.noisy(np.tile(vector, self.size), real).reshape(self.size, -1)
        self.asked.append((vector, noise))
        self.answers.append(drawn)
        first: Counts = drawn[0]
        return first


def static_ratios(
    plan: Plan, here: Table, there: Table, *, size: int, change: Change = as_claimed
) -> Floats:
    """The same as `ratios` for a static plan, at once."""
    samplers = [ManyAtOnce(size, change), ManyAtOnce(1, as_claimed)]
    for table, sampler in zip((here, there), samplers, strict=True):
        rows = rows_of(table, plan.domain)
        plan.run(open_session(rows, domain=plan.domain, cap=plan.loss, sampler=sampler))
    total = np.zeros(size)
    for answers, (vector, noise), (other, _) in zip(
        samplers[0].answers, samplers[0].asked, samplers[1].asked, strict=True
    ):
        total += log_ratio(answers, vector, other, noise).sum(axis=1)
    return np.round(total, 9)


# ---- what the runs prove
# -------------------------------------------------------------------------------------------


def at_least(seen: int, runs: int) -> float:
    """A chance is at least that, wrong with chance ALPHA / 2 at most."""
    return float(clopper_pearson.lower(seen, runs, alpha=ALPHA / 2))


def at_most(seen: int, runs: int) -> float:
    return float(clopper_pearson.upper(seen, runs, alpha=ALPHA / 2))


def epsilon_shown(low: float, high: float) -> float:
    return math.log(low / high) if low > 0 else -math.inf


def mu_shown(low: float, high: float) -> float:
    """The mu of the two normal laws of which an event has the chances low and high."""
    return float(stats.norm.ppf(low) - stats.norm.ppf(high))


def rho_shown(low: float, high: float) -> float:
    """The largest D_alpha / alpha of an event and its complement, either way round; 0 unless low is above
    high."""
    if not 0 < high < low < 1:
        return 0.0
    found = 0.0
    for p, q in ((low, high), (1 - high, 1 - low)):
        logs = np.logaddexp(
            ALPHAS * math.log(p) + (1 - ALPHAS) * math.log(q),
            ALPHAS * math.log1p(-p) + (1 - ALPHAS) * math.log1p(-q),
        )
        found = max(found, float((logs / (ALPHAS - 1) / ALPHAS).max()))
    return found


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the runs prove of a claim, both as epsilon at the delta of the plan, by an event that was seen
    `first` times in so many runs of the world in which it is likelier, and `second` times in as many of the
    other one."""

    claimed: float
    proved: float
    first: int
    second: int
    runs: int

    @property
    def share(self) -> float:
        return self.proved / self.claimed


def shown(
    loss: Budget, delta: Fraction, first: Floats, second: Floats, *, cut: float | None = None
) -> Shown:
    """first: `ratios` of runs in the first world; second: of runs in the second world, the other way round.
    cut: of a pure claim, from which ratio on a run is in the event, fixed beforehand; by default it is chosen
    on runs of its own."""
    if isinstance(loss, Pure) and cut is not None:
        seen = int((first >= cut).sum()), int((-second >= cut).sum())
    elif isinstance(loss, Pure):
        pilot = len(first) // PILOT
        threshold, swapped = _best_event(first[:pilot], second[:pilot])
        first, second = (
            (second[pilot:], first[pilot:]) if swapped else (first[pilot:], second[pilot:])
        )
        seen = int((first >= threshold).sum()), int((-second >= threshold).sum())
    else:
        seen = int((first > 0).sum()), int((second < 0).sum())
    return Shown(
        claimed=float(conversion.epsilon_of(loss, delta)),
        proved=proved(loss, delta, *seen, runs=len(first)),
        first=seen[0],
        second=seen[1],
        runs=len(first),
    )


def proved(loss: Budget, delta: Fraction, first: int, second: int, *, runs: int) -> float:
    """As epsilon at delta: what an event proves that was seen so often in the runs of each world."""
    low, high = at_least(first, runs), at_most(second, runs)
    if isinstance(loss, Pure):
        return epsilon_shown(low, high)
    if isinstance(loss, GaussianDP):
        mu = max(0.0, mu_shown(low, high))
        return float(conversion.epsilon_for_mu(Fraction(mu) ** 2, delta))
    assert isinstance(loss, ZeroConcentrated)
    return float(conversion.epsilon_for(Fraction(rho_shown(low, high)), delta))


def _best_event(first: Floats, second: Floats) -> tuple[float, bool]:
    """From which ratio on, by which the pilot runs would prove most if they were as many as the others; and
    whether it is the ratio of the second world to the first."""
    runs, times = len(first), PILOT - 1
    best, chosen = -math.inf, (math.inf, False)
    for swapped in (False, True):
        x, y = (second, -first) if swapped else (first, -second)
        for threshold in np.unique(np.quantile(x, np.linspace(0, 1, THRESHOLDS))):
            seen = int((x >= threshold).sum()), int((y >= threshold).sum())
            found = epsilon_shown(
                at_least(times * seen[0], times * runs), at_most(times * seen[1], times * runs)
            )
            if found > best:
                best, chosen = found, (float(threshold), swapped)
    return chosen


def surely_proved(
    loss: Budget,
    delta: Fraction,
    chances: tuple[float, float],
    *,
    runs: int,
    missing: float = 5e-8,
) -> float:
    """As epsilon: what so many runs prove of an event with these chances, but for a chance of `missing`."""
    first = int(stats.binom.ppf(missing / 2, runs, chances[0])) - 1
    second = int(stats.binom.isf(missing / 2, runs, chances[1])) + 1
    return proved(loss, delta, max(0, first), min(runs, second), runs=runs)


# ---- what can be proved at all
# ----------------------------------------------------------------------------------------


def limit(loss: Budget, delta: Fraction, *, runs: int) -> float:
    """As epsilon: what so many runs would show on average of the worst mechanism with that claim. Of a pure
    one that is randomised response; of mu the two normal laws; of rho these too, whose event of one side
    carries about 2 / pi of rho."""
    if isinstance(loss, Pure):
        chance = 1 / (1 + math.exp(-loss.epsilon))
    else:
        mu = math.sqrt(loss.mu_squared if isinstance(loss, GaussianDP) else 2 * loss.rho)
        chance = float(stats.norm.cdf(mu / 2))
    return proved(loss, delta, round(chance * runs), round((1 - chance) * runs), runs=runs)


def limit_of_plain_events(loss: Budget, delta: Fraction, *, runs: int) -> float:
    """The same by events alone, as ln((low - delta) / high), whatever the threshold."""
    if isinstance(loss, Pure):
        return limit(loss, delta, runs=runs)
    mu = math.sqrt(loss.mu_squared if isinstance(loss, GaussianDP) else 2 * loss.rho)
    best = 0.0
    for cut in np.linspace(-3, 6, 181):
        seen = [round(runs * float(stats.norm.sf(cut - shift))) for shift in (mu, 0.0)]
        low, high = at_least(seen[0], runs) - float(delta), at_most(seen[1], runs)
        best = max(best, epsilon_shown(low, high))
    return best
