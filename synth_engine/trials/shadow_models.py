"""Membership inference with shadow models, at small scale: a lower bound of what a method gives away, never a
guarantee.

An attacker knows the method and its parameters, and records like those of the table. He releases many tables
himself, with and without a target record, and learns to tell from a release whether the target was in it
(Stadler, Oprisanu and Troncoso 2022, *Synthetic data: anonymisation groundhog day*). As by Carlini and others
2022 (*Membership inference attacks from first principles*) one set of shadow releases serves all targets,
each of which is in a table by the toss of a coin.

The release itself has all records, so that it cannot be told what it would be without one. What is attacked
is therefore its method with its parameters on small tables of real records: results are about the method.
Everything here is *not private*.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.errors import InputError, PrivacyError
from synth_engine.kinds.reading import code_dtype
from synth_engine.plans.plan import Plan
from synth_engine.privacy.unit import Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from synth_engine.trials.gower import Codes, column_distance
from synth_engine.trials.record_samples import RecordSample

RECORDS = 1_000  # of a shadow table
TARGETS = 20  # records that are attacked
SHADOWS = 64  # tables at most, half of them to learn from
FEWEST = 16  # with which anything is said
SECONDS = 90.0  # after which no further table is made
NEAREST = 5  # records of a shadow release around a target
CANDIDATES = 500  # records among which the most unusual ones become targets

Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShadowTrials:
    """How often it was told whether a target was in a table. hits: right answers, of so many trials; bound:
    the largest share of right answers that epsilon and delta allow; tables: shadow tables made."""

    hits: int
    trials: int
    bound: float
    tables: int


def attack(
    pool: RecordSample,
    spec: Spec,
    *,
    progress: Progress,
    seconds: float = SECONDS,
    seed: int = 0,
) -> ShadowTrials | str:
    """Tries it, or says in words why not. pool: real records in random order; spec: the request of the
    release; seconds: after which no further table is made. Raises nothing for a method that cannot be run on
    codes alone."""
    domain = pool.domain
    if domain.unit.column is not None or domain.unit.max_records > 1:
        return "persons may have several records"
    if domain.undeclared:
        return "some columns have no declared values"
    size = min(RECORDS, len(pool) // 2)
    if size < 2 * TARGETS:
        return "the table is too small"
    rng = np.random.default_rng(seed)
    matrix = pool.matrix()
    targets = _unusual(matrix, domain)
    try:
        tables = _Shadows.of(matrix, targets, domain=domain, spec=spec, size=size)
        made = tables.make(rng, seconds=seconds, progress=progress)
    except (InputError, PrivacyError):
        return "its method cannot be run on a small part of the table"
    if len(made) < FEWEST:
        return f"fewer than {FEWEST} small tables were made in {seconds:.0f} seconds"
    return _judge(made, _bound(spec))


def _bound(spec: Spec) -> float:
    """The largest chance of a right answer about a toss of a fair coin under (epsilon, delta) (Kairouz, Oh
    and Viswanath 2015)."""
    epsilon, delta = min(float(spec.epsilon), 50.0), float(spec.delta)
    return min(1.0, (exp(epsilon) + delta) / (1 + exp(epsilon)))


def _unusual(matrix: Codes, domain: Domain) -> NDArray[np.intp]:
    """Places of the records that lie farthest from their nearest neighbour: what is rare is given away
    first."""
    some = matrix[:CANDIDATES]
    distances = _distances(some, matrix[: 4 * CANDIDATES], domain)
    distances[np.arange(len(some)), np.arange(len(some))] = np.inf
    return np.argsort(-distances.min(axis=1), kind="stable")[:TARGETS]


def _distances(first: Codes, second: Codes, domain: Domain) -> NDArray[np.float32]:
    """Shape (first, second)."""
    total = np.zeros((len(first), len(second)), dtype=np.float32)
    for place, name in enumerate(domain.names):
        attribute = domain.attribute(name)
        total += column_distance(attribute, first[:, place][:, None], second[:, place][None, :])
    return total


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class _Shadow:
    """One shadow release. present: of each target, whether it was in the table; features: of each target,
    shape (targets, features)."""

    present: NDArray[np.bool_]
    features: Floats


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class _Shadows:
    """What shadow tables are made of: targets, other records, and a plan for tables of this size."""

    targets: Codes
    others: Codes
    domain: Domain
    plan: Plan
    size: int

    @classmethod
    def of(
        cls, matrix: Codes, targets: NDArray[np.intp], *, domain: Domain, spec: Spec, size: int
    ) -> _Shadows:
        small = domain if domain.rows is None else dataclasses.replace(domain, rows=size)
        return cls(
            targets=matrix[targets],
            others=np.delete(matrix, targets, axis=0),
            domain=small,
            plan=mechanisms.plan(small, dataclasses.replace(spec, rows=None, seed=None)),
            size=size,
        )

    def make(
        self, rng: np.random.Generator, *, seconds: float, progress: Progress
    ) -> list[_Shadow]:
        """As many as there is time for, an even number of them."""
        made: list[_Shadow] = []
        started = time.monotonic()
        while len(made) < SHADOWS:
            passed = time.monotonic() - started
            if passed > seconds:
                break
            progress("shadow", max(len(made) / SHADOWS, passed / seconds))
            made.append(self._one(rng, number=len(made)))
        return made[: len(made) // 2 * 2]

    def _one(self, rng: np.random.Generator, *, number: int) -> _Shadow:
        present = rng.random(len(self.targets)) < 0.5
        # Under add-remove a target is missing, under replace-one another record stands for it.
        fixed = self.domain.relation is Relation.REPLACE_ONE
        more = self.size - (int(present.sum()) if fixed else len(self.targets))
        chosen = self.others[rng.choice(len(self.others), more, replace=False)]
        table = np.concatenate([self.targets[present], chosen])
        rows = Rows(
            {
                name: table[:, place].astype(code_dtype(self.domain.sizes[name]))
                for place, name in enumerate(self.domain.names)
            },
            domain=self.domain,
        )
        session = open_session(
            rows, domain=self.domain, cap=self.plan.loss, planned=self.plan.calls
        )
        model = self.plan.fit(self.plan.run(session))
        codes = model.sample(self.size, seed=f"shadow/{number}")
        generated = np.column_stack(
            [codes[name].astype(np.int64) for name in self.domain.names]
        )
        return _Shadow(present=present, features=self._features(generated))

    def _features(self, generated: Codes) -> Floats:
        """Of each target: the distances of the nearest records, and how many records have its value in each
        column."""
        nearest = np.sort(_distances(self.targets, generated, self.domain), axis=1)[:, :NEAREST]
        same = np.array(
            [
                [(generated[:, place] == value).mean() for place, value in enumerate(target)]
                for target in self.targets
            ]
        )
        return np.concatenate([nearest, nearest.mean(axis=1, keepdims=True), same], axis=1)


def _judge(made: list[_Shadow], bound: float) -> ShadowTrials:
    """Learn on one half of the tables, a model for each target, and count the right answers on the other
    half."""
    half = len(made) // 2
    features = np.stack([each.features for each in made])
    present = np.stack([each.present for each in made])
    hits = 0
    for target in range(present.shape[1]):
        guess = _guess(features[:half, target], present[:half, target], features[half:, target])
        hits += int((guess == present[half:, target]).sum())
    return ShadowTrials(hits=hits, trials=present[half:].size, bound=bound, tables=len(made))


def _guess(known: Floats, labels: NDArray[np.bool_], asked: Floats) -> NDArray[Any]:
    """Whether the target was in each table that is asked about."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if labels.all() or not labels.any():
        return np.full(len(asked), labels[0])
    # Far more features than tables: a strong penalty.
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1_000))
    return np.asarray(model.fit(known, labels).predict(asked))
