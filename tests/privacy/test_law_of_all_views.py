"""All views of a database together: what leaves the room of a whole run, its exact law, and mistakes that
must be noticed (docs/proofs/relational.md)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth_engine import pipeline
from synth_engine.domain import views as database_views
from synth_engine.domain.database import Database
from synth_engine.measurement import Counts, NoCallLog, Noise
from synth_engine.privacy import noise_scale
from synth_engine.privacy.loss import GaussianDP, Pure
from synth_engine.relational import plan as plans
from synth_engine.room import session as sessions
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from synth_engine.sources import database as room
from tests import databases
from tests.databases import HOMES, PEOPLE
from tests.privacy import coarse, exact
from tests.privacy import test_law_of_relational as views
from tests.privacy.coarse import ROUNDING, Coarse, Compared, Ranges
from tests.privacy.planted import plant

EPSILON, DELTA = Fraction(2), Fraction(1, 1000)
EPSILONS = (0.0, 0.5, 1.0, 2.0, 3.0)
MOST = 6
MANY: dict[str, Any] = {
    **{key: value for key, value in PEOPLE.items() if key != "order"},
    "domain": {"age": 2},
    "most": MOST,
}
"""So many people of a home that their number is looked at first, and fewer may be kept."""
Home = tuple[int, tuple[int, ...]]
OTHERS: tuple[Home, ...] = ((0, (1,)),)
UNITS: list[Home] = [(1, (0,) * MOST), (1, (0, 1, 1)), (0, ())]
ALL = UNITS[:1]
"""The unit of most rows alone."""


def told(number: int, _: Noise) -> Ranges:
    """Of homes of one person, and of those of most, whether there are many, and of homes in one area; so that
    in some branches fewer rows of a unit are kept. Of other counts nothing."""
    if number in (1, 5, 6):
        return Ranges(told=(0, 5_000), bounds=(10,))
    return Ranges((0,) if number < 6 else (20,))


def rows_of(homes: Sequence[Home]) -> databases.Rows:
    found: dict[str, list[tuple[Any, ...]]] = {"homes": [], "people": [], "trips": []}
    for number, (area, ages) in enumerate(homes):
        found["homes"].append((f"h{number}", area))
        found["people"] += [
            (f"h{number}p{place}", f"h{number}", age) for place, age in enumerate(ages)
        ]
    return found


def database() -> Database:
    return Database.from_json(databases.document(HOMES, MANY))


class WholeRun:
    """`measure_database` on two databases that were opened before, with one sampler for all of their
    views."""

    def __init__(
        self, patch: pytest.MonkeyPatch, plan: plans.DatabasePlan, folder: Path
    ) -> None:
        self.plan, self.folder = plan, folder
        self.asked: set[Hashable] = set()
        self._patch, self._open_session = patch, sessions.open_session

    def opened(self, homes: Sequence[Home]) -> room.DatabaseRows:
        """The unit that differs stands last, so that all others have the same words."""
        written = databases.write(self.folder, rows_of(homes))
        return room.open_database(self.plan.database, folder=written, random_bytes=views.words)

    def compared(
        self, x: Sequence[Home], y: Sequence[Home], *, sampler: type[Coarse] = Coarse
    ) -> list[Compared]:
        """Either way round."""
        pair: Any = (self.opened(x), self.opened(y))

        def run(sampler: Coarse, rows: Rows) -> Hashable:
            self._patch.setattr(
                sessions,
                "open_session",
                lambda view, **given: self._open_session(view, sampler=sampler, **given),
            )
            self._patch.setattr(room, "open_database", lambda *_, **__: rows)
            secret = pipeline.Continuation(log=NoCallLog(), secret=bytes(32))
            answers = pipeline.measure_database(
                self.folder, plan=self.plan, continuation=secret
            )
            said = tuple(view.calls for view in answers.views)
            self.asked.add(said)
            return said

        with self._patch.context():
            return [Compared(run, both, told, sampler=sampler) for both in (pair, pair[::-1])]


def largest(
    run: WholeRun, *, units: Sequence[Home] = ALL, sampler: type[Coarse] = Coarse
) -> float:
    """The largest loss of everything that leaves the room about any of these units, added or removed."""
    return max(
        found.largest()
        for unit in units
        for found in run.compared(OTHERS, (*OTHERS, unit), sampler=sampler)
    )


def planned(delta: Fraction = Fraction(0)) -> plans.DatabasePlan:
    return plans.plan(database(), epsilon=EPSILON, delta=delta)


def test_all_views_together_lose_the_target_and_little_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = WholeRun(monkeypatch, planned(), tmp_path)
    assert 0.98 * EPSILON <= largest(run, units=UNITS) <= float(EPSILON) * (1 + 1e-9)
    # What is asked of later views, and for how many rows of a unit, follows from what was answered about
    # units.
    bounds = {calls[2][0].event for calls in run.asked}  # type: ignore[index]
    assert len(bounds) > 1


def test_all_views_together_keep_to_the_cap_on_mu_and_use_most_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(DELTA)
    assert isinstance(plan.cap, GaussianDP)
    run = WholeRun(monkeypatch, plan, tmp_path)
    strongest = 0.0
    for unit in ALL:
        for found in run.compared(OTHERS, (*OTHERS, unit)):
            losses = found.losses()
            for epsilon in EPSILONS:
                curve = coarse.delta_of_gaussian(math.sqrt(plan.cap.mu_squared), epsilon)
                assert losses.delta(epsilon) <= curve + ROUNDING
            assert losses.delta(float(EPSILON)) <= DELTA
            assert found.renyi(2.0) <= plan.cap.mu_squared
            strongest = max(strongest, found.renyi(2.0))
    assert strongest >= 0.95 * plan.cap.mu_squared


class ReusedNoise(Coarse):
    """A table that is as large as one before it has its noise again: what they differ by leaves the room
    exactly."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.before: dict[int, list[int]] = {}

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        earlier = self.before.get(vector.size)
        if earlier is not None:
            for old, new in zip(earlier, vector.tolist(), strict=True):
                super().number(new - old, Noise(law=noise.law, scale=Fraction(1, 64)))
        self.before[vector.size] = vector.tolist()
        return super().counts(vector, noise)


class HalvedScale(Coarse):
    def number(self, value: int, noise: Noise) -> int:
        return super().number(value, Noise(law=noise.law, scale=noise.scale / 2))


@pytest.mark.parametrize("sampler", [ReusedNoise, HalvedScale])
def test_too_little_noise_is_noticed(
    sampler: type[Coarse], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = WholeRun(monkeypatch, planned(), tmp_path)
    assert largest(run, sampler=sampler) > 1.5 * EPSILON


def units_are_counted_beside_the_cap(patch: pytest.MonkeyPatch) -> None:
    plant(patch, plans._without, "cap.amount - units.loss.amount", "cap.amount")


def joins_are_paid_beside_the_cap(patch: pytest.MonkeyPatch) -> None:
    plant(
        patch,
        plans._plans,
        "(1 - all_columns) * join / sum(joins)",
        "Fraction(join, sum(joins))",
    )


def every_view_gets_the_cap(patch: pytest.MonkeyPatch) -> None:
    plant(patch, plans._plans, "part=cap.of(left * share)", "part=cap")


@pytest.mark.parametrize(
    "mutant",
    [
        units_are_counted_beside_the_cap,
        joins_are_paid_beside_the_cap,
        every_view_gets_the_cap,
        views.views_are_not_bounded,
        views.a_bound_above_what_is_stated,
    ],
    ids=lambda mutant: mutant.__name__,
)
def test_a_view_that_moves_farther_or_costs_more_than_its_part_is_noticed(
    mutant: Callable[[pytest.MonkeyPatch], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutant(monkeypatch)
    assert largest(WholeRun(monkeypatch, planned(), tmp_path)) > 1.01 * EPSILON


# ---- rows that are left out by chance, the same ones in all views
# ------------------------------------------------

KEPT: dict[str, Any] = {**MANY, "key": None, "domain": {"age": 3}, "most": 2}
PARTS = {"homes": ("#people",), "people": ("age",), "people:pairs": ()}
HOUSES: list[tuple[int, ...]] = [(), (0,), (0, 1), (0, 1, 2), (2, 2, 1)]


def joint_law(folder: Path, ages: tuple[int, ...] | None, *, strength: int = 1) -> exact.Law:
    """The law of one table of each view together, over all orders of the words of a home of three people or
    fewer. ages: None for no home. strength: so many times the loss of each view."""
    described = Database.from_json(databases.document(HOMES, KEPT))
    homes = [] if ages is None else [(0, ages)]
    written = databases.write(folder, rows_of(homes))
    orders = list(itertools.permutations(range(len(ages or ()))))
    law: exact.Law = {}
    for order in orders:
        keys = np.array(order, dtype=np.uint64).tobytes()
        opened = room.open_database(
            described, folder=written, random_bytes=lambda _, keys=keys: keys
        )
        seen = [
            (view, opened.view(view, random_bytes=views.words))
            for view in database_views.views(described)
        ]

        def joint(replay: exact.Replay, seen: Any = seen) -> Hashable:
            found: list[Hashable] = []
            for view, rows in seen:
                most = view.domain.unit.max_records
                scale = noise_scale.laplace_scale(strength * EPSILON / len(PARTS), most)
                session: RoomSession = sessions.open_session(
                    rows, domain=view.domain, cap=Pure(epsilon=9 * EPSILON), sampler=replay
                )
                answer = session.measure(
                    PARTS[view.name], noise=Noise(law="discrete-laplace", scale=scale)
                )
                found.append(tuple(answer.values.ravel().tolist()))
            return tuple(found)

        chance = exact.enclose(exact.iv.mpf(1) / len(orders))
        for outcome, each in exact.law_of_branches(joint, high=1).items():
            law[outcome] = law.get(outcome, exact.ZERO) + chance * each
    return law


def worst_of_homes(folder: Path, *, strength: int = 1) -> Fraction | float:
    laws: dict[Any, exact.Law] = {
        ages: joint_law(folder, ages, strength=strength) for ages in (None, *HOUSES)
    }
    pairs = [pair for ages in HOUSES for pair in ((None, ages), (ages, None))]
    return exact.worst_ratio(laws, iter(pairs))[0]  # type: ignore[arg-type]


def test_views_of_rows_that_chance_retains_lose_the_sum_together(tmp_path: Path) -> None:
    ratio = worst_of_homes(tmp_path)
    assert exact.proves(ratio, epsilon=EPSILON + exact.SLACK)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON
    assert not exact.proves(worst_of_homes(tmp_path, strength=2), epsilon=EPSILON)
