"""`contingency-table`: what it asks and refuses, what it makes of its one answer, and what is expected of
it."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import mechanisms, pipeline, verifier
from synth_engine.constraints import tables as possible_tables
from synth_engine.domain import Domain, Weak
from synth_engine.domain.constraints import Impossible, Order
from synth_engine.errors import InputError, SpecError, VerificationError
from synth_engine.inference import oneway
from synth_engine.measurement import (
    MAX_TABLE_CELLS,
    AnsweredCall,
    Answers,
    Measurement,
    Noise,
)
from synth_engine.mechanisms import contingency_table
from synth_engine.mechanisms.contingency_table import ContingencyTablePlan
from synth_engine.models.model import Model
from synth_engine.plans.two_stage import StagedPlan
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.spec import Spec
from synth_engine.values import Listed
from tests import plans
from tests.domains import domain_of
from tests.privacy.test_verifier import resealed

DELTA = Fraction(1, 10**9)


plan_of = partial(plans.plan_of, "contingency-table")


def skewed(*sizes: int, rows: int, seed: int = 0) -> np.ndarray:
    """A table of counts in which columns depend on each other and most cells are empty."""
    rng = np.random.default_rng(seed)
    first = rng.choice(sizes[0], p=shares(sizes[0]), size=rows)
    codes = [first]
    for size in sizes[1:]:
        own = rng.choice(size, p=shares(size), size=rows)
        codes.append(np.where(rng.random(rows) < 0.4, first * size // sizes[0], own))
    table = np.zeros(sizes, dtype=np.int64)
    np.add.at(table, tuple(codes), 1)
    return table


def shares(size: int) -> np.ndarray:
    weights = np.arange(1.0, size + 1) ** -1.5
    return np.asarray(weights / weights.sum())


def laplace(shape: Sequence[int], scale: float, seed: int) -> np.ndarray:
    rng, stop = np.random.default_rng(seed), 1 - math.exp(-1 / scale)
    return rng.geometric(stop, shape) - rng.geometric(stop, shape)


def answers_of(plan: ContingencyTablePlan, values: np.ndarray) -> Answers:
    (call,) = plan.calls
    measurement = Measurement(
        clique=call.query.clique, noise=plan.noise, values=values.astype(np.int64)
    )
    return Answers((AnsweredCall(call, measurement),))


def fitted(plan: ContingencyTablePlan, truth: np.ndarray, *, seed: int = 1) -> np.ndarray:
    noisy = truth + laplace(truth.shape, float(plan.noise.scale), seed)
    (table,) = plan.fit(answers_of(plan, noisy)).tables
    return np.asarray(table.weights / table.weights.sum())


def distance(estimate: np.ndarray, truth: np.ndarray, *, columns: int) -> float:
    """The mean total variation distance of all tables of so many columns."""
    errors = []
    for axes in itertools.combinations(range(truth.ndim), columns):
        others = tuple(axis for axis in range(truth.ndim) if axis not in axes)
        real = truth.sum(axis=others) / truth.sum()
        errors.append(0.5 * np.abs(estimate.sum(axis=others) - real).sum())
    return float(np.mean(errors))


# ---- what is asked
# ---------------------------------------------------------------------------------------------


def test_it_asks_once_for_all_columns_with_the_whole_budget() -> None:
    plan = plan_of(domain_of(2, 3, 4))
    (call,) = plan.calls
    assert (call.query.verb, call.query.clique, call.query.cells) == (
        "measure",
        ("c0", "c1", "c2"),
        24,
    )
    assert plan.noise == Noise(law="discrete-laplace", scale=Fraction(1))
    assert plan.kind == "static" and plan.loss.amount == 1


@pytest.mark.parametrize(
    ("facts", "scale"),
    [
        ({}, 1),
        ({"relation": Relation.REPLACE_ONE}, 2),
        ({"unit": PrivacyUnit(max_records=3)}, 3),
    ],
    ids=["add or remove", "replace one", "three records a person"],
)
def test_the_noise_follows_the_relation_and_the_unit(facts: dict[str, Any], scale: int) -> None:
    assert plan_of(domain_of(2, 3, **facts)).noise.scale == scale


def test_left_open_the_noise_is_laplace_and_gaussian_where_rho_is_paid_for() -> None:
    domain = domain_of(4, 5)
    spec = Spec(mechanism="contingency-table", epsilon=Fraction(1), delta=DELTA)
    assert {event.law for event in mechanisms.plan(domain, spec).events} == {"discrete-laplace"}
    dear, cheap = mechanisms.plan(domain, spec), mechanisms.plan(domain, spec, rule="zcdp")
    assert {event.law for event in cheap.events} == {"discrete-gaussian"}
    assert cheap.rho < dear.rho / 5
    assert plan_of(domain, delta=DELTA, noise="laplace").certificate == "basic"
    with pytest.raises(SpecError, match="delta above 0"):
        plan_of(domain, noise="gaussian")


def test_too_many_cells_are_refused_at_calibration_with_a_repair() -> None:
    assert plan_of(domain_of(100, 100, 100)).calls[0].query.cells == MAX_TABLE_CELLS
    large = domain_of(100, 100, 101)
    with pytest.raises(SpecError, match="1,010,000 cells") as refused:
        plan_of(large)
    assert "'c2'" in str(refused.value.repair)
    mechanism = mechanisms.REGISTRY["contingency-table"]
    assert mechanism.suits(domain_of(100, 100, 100)) and not mechanism.suits(large)


# ---- what is made of the answer
# --------------------------------------------------------------------------------


def test_without_noise_to_speak_of_the_table_comes_back() -> None:
    plan, truth = plan_of(domain_of(3, 4, 5), epsilon="40"), skewed(3, 4, 5, rows=5_000)
    assert distance(fitted(plan, truth), truth, columns=3) < 1e-3


@pytest.mark.parametrize(("sizes", "epsilon"), [((20, 20, 20), "1/2"), ((12, 16, 7, 15), "1")])
def test_empty_cells_are_not_filled_with_noise(sizes: tuple[int, ...], epsilon: str) -> None:
    """Where the cells are many, cutting at zero alone moves far more records to rare values."""
    plan, truth = plan_of(domain_of(*sizes), epsilon=epsilon), skewed(*sizes, rows=20_000)
    noisy = truth + laplace(sizes, float(plan.noise.scale), 1)
    cut = oneway.project_to_simplex(noisy.astype(np.float64), total=float(noisy.sum()))
    estimate = fitted(plan, truth)
    for columns in (1, 2, 3):
        assert distance(estimate, truth, columns=columns) < 0.8 * distance(
            cut / cut.sum(), truth, columns=columns
        )


def test_an_interaction_of_three_columns_is_kept() -> None:
    """Parity: every pair is independent, and the third column follows from two."""
    plan, rows = plan_of(domain_of(2, 2, 2)), 4_000
    truth = np.zeros((2, 2, 2), dtype=np.int64)
    for first, second in itertools.product(range(2), repeat=2):
        truth[first, second, first ^ second] = rows // 4
    assert distance(fitted(plan, truth), truth, columns=3) < 0.01


def test_the_total_is_the_public_one_or_that_of_the_noisy_cells() -> None:
    truth = skewed(3, 4, rows=1_000)
    noisy = truth + laplace((3, 4), 1.0, 3)
    assert plan_of(domain_of(3, 4)).fit(answers_of(plan_of(domain_of(3, 4)), noisy)).rows == (
        noisy.sum()
    )
    public = plan_of(domain_of(3, 4, rows=1_000, relation=Relation.REPLACE_ONE))
    assert public.fit(answers_of(public, noisy)).rows == 1_000


@pytest.mark.parametrize("values", [np.zeros((3, 4)), np.full((3, 4), -5), np.eye(3, 4) - 7])
def test_an_answer_without_records_gives_a_model_without_records(values: np.ndarray) -> None:
    plan = plan_of(domain_of(3, 4))
    model = plan.fit(answers_of(plan, values))
    assert model.rows == 0
    assert len(model.sample(50, seed="s")["c0"]) == 50


@pytest.mark.parametrize("sizes", [(5,), (1,), (1, 1), (12, 1), (2,) * 8])
def test_tables_of_any_shape_are_fitted(sizes: tuple[int, ...]) -> None:
    plan, truth = plan_of(domain_of(*sizes)), skewed(*sizes, rows=300)
    estimate = fitted(plan, truth)
    assert estimate.shape == sizes and estimate.min() >= 0


def test_the_same_answer_gives_the_same_model_and_survives_json() -> None:
    plan = plan_of(domain_of(3, 4, 5))
    answers = answers_of(plan, skewed(3, 4, 5, rows=900))
    first, second = plan.fit(answers), plan.fit(answers)
    assert json.dumps(first.to_json()) == json.dumps(second.to_json())
    again = Model.from_json(json.loads(json.dumps(first.to_json())))
    assert np.array_equal(again.sample(200, seed="x")["c2"], first.sample(200, seed="x")["c2"])


def test_answers_of_another_plan_are_refused() -> None:
    answers = answers_of(plan_of(domain_of(4, 3)), np.ones((4, 3)))
    with pytest.raises(InputError):
        plan_of(domain_of(4, 3, 2)).fit(answers)


def test_a_cell_far_above_the_noise_keeps_its_count() -> None:
    measurement = Measurement(
        clique=("c0", "c1"),
        noise=Noise(law="discrete-laplace", scale=Fraction(1)),
        values=np.array([[900, 0], [0, 40]]),
    )
    counts = contingency_table.shrink_to_margins(measurement, ordered=(2, 2), rows=940)
    assert np.abs(counts - measurement.values).max() < 1


# ---- what is expected of it
# ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "rows", "epsilon"),
    [
        ((2, 5, 7, 2), 40_000, "1/10"),
        ((2, 5, 7, 2), 40_000, "1"),
        ((9, 16, 7, 2), 40_000, "1/10"),
        ((9, 16, 7, 2), 40_000, "1"),
        ((9, 16, 7, 15), 40_000, "1"),
        ((40, 60), 10_000, "1"),
    ],
)
def test_the_forecast_is_within_a_factor_of_two(
    sizes: tuple[int, ...], rows: int, epsilon: str
) -> None:
    plan, truth = plan_of(domain_of(*sizes), epsilon=epsilon), skewed(*sizes, rows=rows)
    estimates = [fitted(plan, truth, seed=seed) for seed in range(3)]
    forecast = plan.expected_error(rows=rows)
    for columns, expected in ((1, forecast.mean), (2, forecast.mean_pairs)):
        found = np.mean([distance(one, truth, columns=columns) for one in estimates])
        assert 0.5 < expected / found < 2


def test_a_forecast_by_formula_is_that_of_the_plan() -> None:
    domain, epsilon = domain_of(9, 16, 7), Fraction(1, 2)
    spec = Spec(mechanism="contingency-table", epsilon=epsilon)
    config = mechanisms.REGISTRY["contingency-table"].from_parameters({})
    found = config.forecast(domain, spec, rows=700)
    plan = plan_of(domain, epsilon="1/2").expected_error(rows=700)
    assert found.mean == pytest.approx(plan.mean)
    assert found.mean_pairs == pytest.approx(plan.mean_pairs)


def test_more_cells_need_more_memory_and_time() -> None:
    needs = [plan_of(domain_of(*sizes)).needs(1_000) for sizes in ((5, 5), (50, 50), (2,) * 18)]
    assert [need.memory_bytes for need in needs] == sorted(need.memory_bytes for need in needs)
    assert needs[0].seconds < needs[1].seconds < needs[2].seconds


# ---- whole runs
# ------------------------------------------------------------------------------------------------


def run(frame: pd.DataFrame, domain: Domain, tmp_path: Any, **spec: Any) -> Any:
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return pipeline.synthesize(
        path, domain=domain, spec=Spec(mechanism="contingency-table", **spec)
    )


def records(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    low = rng.integers(4, size=rows)
    return pd.DataFrame({"c0": low, "c1": low + rng.integers(2, size=rows)})


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
@pytest.mark.parametrize("relation", list(Relation))
def test_a_run_gives_a_receipt_that_verifies(
    tmp_path: Any, relation: Relation, delta: Fraction
) -> None:
    result = run(
        records(),
        domain_of(4, 5, relation=relation),
        tmp_path,
        epsilon=Fraction(1),
        delta=delta,
    )
    document = json.loads(json.dumps(result.plan.receipt(result.answers)))
    assert document["mechanism"]["kind"] == "static"
    verified = verifier.verify(document)
    assert 0.99 < verified.epsilon <= 1 and verified.delta == delta
    document["calls"].append(document["calls"][0])
    with pytest.raises(VerificationError):
        verifier.verify(resealed(document))


def test_constraints_are_kept(tmp_path: Any) -> None:
    domain = domain_of(
        4,
        5,
        constraints=(
            Order(first="c0", second="c1"),
            Impossible(combination={"c0": ("2",), "c1": ("3",)}),
        ),
    )
    result = run(records(), domain, tmp_path, epsilon=Fraction(1, 10))
    codes = result.model.sample(5_000, seed="s")
    allowed = possible_tables.possible(domain, ("c0", "c1"))
    assert allowed[codes["c0"], codes["c1"]].all() and not allowed.all()


def test_undeclared_columns_are_learned_first_and_counted_with_the_others(
    tmp_path: Any,
) -> None:
    frame = records(4_000).assign(word=lambda f: np.where(f["c0"] > 1, "yes", "no"))
    words = Listed(["yes", "no", *(f"word{i}" for i in range(50))])
    domain = Domain(attributes=(*domain_of(4, 5).attributes, Weak(name="word", values=words)))
    spec = Spec(mechanism="contingency-table", epsilon=Fraction(2))
    assert isinstance(mechanisms.plan(domain, spec), StagedPlan)
    result = run(frame, domain, tmp_path, epsilon=Fraction(2))
    (table,) = result.model.tables
    assert table.clique == ("c0", "c1", "word")
    drawn = mechanisms.draw_table(result.model, 4_000, "s")
    agree = ((drawn["c0"].astype(int) > 1) == (drawn["word"] == "yes")).mean()
    assert agree > 0.9
    document = json.loads(json.dumps(result.plan.receipt(result.answers)))
    assert document["mechanism"]["kind"] == "adaptive"
    assert verifier.verify(document).epsilon <= 2
