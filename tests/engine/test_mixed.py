"""`adaptive` for places with further columns beside them: areas, tables within areas, columns that go
together."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from synth_engine import mechanisms, verifier
from synth_engine.domain import Categorical, Domain, Integer, Place
from synth_engine.errors import InputError, SpecError
from synth_engine.hierarchy import Growth, Rule, SpatialHierarchy, divide_into_areas, estimate
from synth_engine.measurement import Answers
from synth_engine.models.model import Model
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec

SIZES = {"x": 64, "y": 64, "age": 4, "trade": 5, "shift": 2}


def commuters(*further: Categorical) -> Domain:
    own = (
        Categorical(name="age", values=tuple("abcd"), outside="clamp"),
        Categorical(name="trade", values=tuple("klmno"), outside="clamp"),
        Categorical(name="shift", values=("day", "night"), outside="clamp"),
    )
    plane = tuple(Integer(name=name, low=0, high=63, width=1) for name in ("x", "y"))
    return Domain(
        attributes=(*plane, *(further or own)),
        places=(Place(name="home", latitude="y", longitude="x"),),
    )


def people(rows: int, *, seed: int = 0) -> dict[str, np.ndarray]:
    """Where one lives says which trade one has, the trade says which shift; ages are alike everywhere."""
    rng = np.random.default_rng(seed)
    town = rng.choice(3, rows, p=[0.6, 0.3, 0.1])
    at = np.clip(np.rint(rng.normal(np.array([[10, 50], [45, 20], [50, 55]])[town], 3)), 0, 63)
    trade = np.where(rng.random(rows) < 0.7, town, rng.integers(0, 5, rows))
    shift = (rng.random(rows) < np.where(trade % 2, 0.9, 0.2)).astype(int)
    columns = {
        "x": at[:, 0],
        "y": at[:, 1],
        "age": rng.integers(0, 4, rows),
        "trade": trade,
        "shift": shift,
    }
    return {name: column.astype(np.uint16) for name, column in columns.items()}


def released(
    domain: Domain,
    *,
    rows: int = 20_000,
    epsilon: str = "1",
    delta: Fraction = Fraction(0),
    **parameters: Any,
) -> tuple[Any, Answers, Model]:
    plan = mechanisms.plan(
        domain,
        Spec(
            mechanism="adaptive", epsilon=Fraction(epsilon), delta=delta, parameters=parameters
        ),
    )
    codes = {name: column for name, column in people(rows).items() if name in domain.names}
    answers = plan.run(open_session(Rows(codes, domain=domain), domain=domain, cap=plan.loss))
    return plan, answers, plan.fit(answers)


def joint(codes: dict[str, np.ndarray], *names: str) -> np.ndarray:
    """Shares of a table; of a coordinate by eighths."""
    found = np.zeros([8 if name in "xy" else SIZES[name] for name in names])
    np.add.at(
        found, tuple(codes[name] // 8 if name in "xy" else codes[name] for name in names), 1
    )
    return found / max(1, found.sum())


def apart(one: dict[str, np.ndarray], other: dict[str, np.ndarray], *names: str) -> float:
    return float(np.abs(joint(one, *names) - joint(other, *names)).sum() / 2)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_places_and_columns_go_together_as_they_did(delta: Fraction) -> None:
    plan, answers, model = released(commuters(), epsilon="4", delta=delta)
    truth, drawn = people(20_000), model.sample(20_000, seed="s")
    assert set(drawn) == set(SIZES)
    for names in (
        ("x", "trade"),
        ("y", "trade"),
        ("trade", "shift"),
        ("x", "shift"),
        ("x", "age"),
    ):
        assert apart(drawn, truth, *names) < 0.06, names
    shuffled = truth | {"trade": np.random.default_rng(1).permutation(truth["trade"])}
    assert (
        apart(shuffled, truth, "x", "trade") > 0.25
    )  # what a release without areas would have
    verifier.verify(plan.receipt(answers))


def test_three_columns_agree_about_as_well_as_their_pairs() -> None:
    _, _, model = released(commuters(), epsilon="4")
    assert apart(model.sample(20_000, seed="s"), people(20_000), "x", "trade", "shift") < 0.06


def test_models_are_kept_as_they_are_and_broken_ones_are_refused() -> None:
    _, _, model = released(commuters(), epsilon="4")
    document = json.loads(json.dumps(model.to_json()))
    again = Model.from_json(document)
    one, other = model.sample(500, seed="a"), again.sample(500, seed="a")
    assert again.to_json() == model.to_json() and all(
        (one[name] == other[name]).all() for name in one
    )
    beside = document["tree"]["attached"]
    for broken in (
        {"areas": [10**6] * len(beside["areas"])},
        {"areas": beside["areas"][:-1]},
        {"columns": beside["columns"][:1]},
        {"columns": [beside["columns"][0] | {"given": "age"}, *beside["columns"][1:]]},
    ):
        with pytest.raises(InputError):
            Model.from_json(
                document | {"tree": document["tree"] | {"attached": beside | broken}}
            )


def test_one_column_beside_points_needs_no_choice() -> None:
    plan, answers, model = released(
        commuters(Categorical(name="trade", values=tuple("klmno"), outside="clamp"))
    )
    assert not answers.selections and [one.by for one in answers.leaves if one.by] == [
        ("trade",)
    ]
    assert apart(model.sample(20_000, seed="s"), people(20_000), "x", "trade") < 0.06
    verifier.verify(plan.receipt(answers))


def test_hardly_any_budget_and_no_records_give_a_release() -> None:
    for epsilon, rows in (("1/1000", 300), ("1", 0)):
        plan, answers, model = released(commuters(), epsilon=epsilon, rows=rows)
        assert (
            0.99 * Fraction(epsilon)
            < verifier.verify(plan.receipt(answers)).epsilon
            <= Fraction(epsilon)
        )
        drawn, sizes = model.sample(50, seed="s"), commuters().sizes
        assert list(drawn) == list(sizes)
        assert all(
            column.shape == (50,) and column.max() < sizes[name]
            for name, column in drawn.items()
        )


def test_answers_of_another_plan_are_refused() -> None:
    plan, _, _ = released(commuters())
    _, other, _ = released(commuters(), epsilon="2")
    _, fewer, _ = released(
        commuters(Categorical(name="trade", values=tuple("klmno"), outside="clamp"))
    )
    for answers in (other, fewer):
        with pytest.raises(InputError):
            plan.fit(answers)


def test_what_cannot_stand_beside_points_is_refused_by_name() -> None:
    wide = Categorical(name="job", values=tuple(f"j{n}" for n in range(900)), outside="clamp")
    with pytest.raises(SpecError, match="job"):
        released(commuters(wide))
    with pytest.raises(SpecError, match="halved"):
        released(commuters(), halving="one")


def test_the_forecast_and_the_needs_count_all_columns() -> None:
    plan, _, _ = released(commuters())
    found = plan.expected_error(rows=20_000)
    assert set(found.attributes) == set(SIZES) and 0 < found.mean_pairs < 1
    assert plan.needs(200_000).seconds > plan.needs(20_000).seconds


def test_areas_divide_full_nodes_first_and_cover_everything() -> None:
    """A line of four parts: of its halves the full one alone is divided, and none where records are too few
    or parts too many."""
    line = SpatialHierarchy(columns=("x",), low=(0,), high=(1,), resolution=2)
    counts = (np.array([90, 30]), np.array([60, 30, 20, 10]))
    grown = Growth(
        columns=("x",),
        rule=Rule(name="basic", depth=2, threshold=1),
        opened=(np.array([0, 1]), np.array([], dtype=np.int64)),
        counts=counts,
    )
    leaves = estimate.leaves(grown, line, variance=1.0, total=120.0)

    def levels(least: float, most: int) -> list[int]:
        found = divide_into_areas(grown, line, leaves, least=least, most=most)
        found.check(line)
        assert found.places(
            line, line.encode(np.array([[0.1], [0.4], [0.6], [0.9]]))
        ).max() < len(found)
        return list(found.levels)

    assert levels(50, 9) == [2, 2, 1]
    assert levels(20, 9) == [2, 2, 2, 2]
    assert levels(20, 3) == [2, 2, 1]
    assert levels(200, 9) == [0]
    assert levels(50, 1) == [0] or len(levels(50, 1)) == 2
