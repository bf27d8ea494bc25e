"""Several plausible tables of one release: from answers and a public seed alone, with fresh noise of the same
law."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.evaluation.expected_errors import SimulatedSession
from synth_engine.hierarchy import Growth
from synth_engine.measurement import Answers, Measurement
from synth_engine.measurement.answers import AnsweredCall
from synth_engine.measurement.noise import Noise
from synth_engine.plans import implicates
from synth_engine.plans.plan import Plan
from synth_engine.spec import Spec

ROWS = 2_000
DOMAIN = Domain.from_json(
    {
        "attributes": [
            {"name": "sex", "kind": "categorical", "values": ["f"], "other": True},
            {"name": "age", "kind": "integer", "low": 0, "high": 39, "width": 1},
            {"name": "town", "kind": "categorical", "values": list("abcdefg"), "other": True},
        ]
    }
)


def measured(method: str) -> tuple[Plan, Answers]:
    rng = np.random.default_rng(3)
    table = {
        "sex": rng.integers(0, 2, ROWS),
        "age": np.minimum(rng.gamma(3, 6, ROWS).astype(np.int64), 39),
        "town": np.minimum(rng.geometric(0.3, ROWS) - 1, 7),
    }
    spec = Spec(mechanism=method, epsilon=Fraction(1), delta=Fraction("1e-9"), parameters={})
    plan = mechanisms.plan(DOMAIN, spec)
    session = SimulatedSession(domain=DOMAIN, table=table, rng=np.random.default_rng(1))
    return plan, plan.run(session)  # type: ignore[arg-type]  # it has the questions of these plans


@pytest.mark.parametrize("method", ["independent", "mst", "auto"])
def test_implicates_differ_by_their_seed_alone(method: str) -> None:
    plan, answers = measured(method)
    seeds = [implicates.seed_of("0" * 64, number) for number in (1, 2)]
    first, second = (implicates.fit(plan, answers, seed=seed) for seed in seeds)
    again = implicates.fit(plan, answers, seed=seeds[0])
    assert json.dumps(first.to_json()) == json.dumps(again.to_json())
    assert json.dumps(first.to_json()) != json.dumps(second.to_json())
    ages = [
        np.bincount(each.sample(ROWS, seed="s")["age"], minlength=40)
        for each in (first, second)
    ]
    assert (ages[0] != ages[1]).any()
    assert first.rows != 0


@pytest.mark.parametrize("number", range(1, 4))
def test_tables_of_merged_codes_are_read_by_the_bins_of_the_run(number: int) -> None:
    domain = Domain.from_json(
        {
            "attributes": [
                {"name": "income", "kind": "integer", "low": 0, "high": 299, "width": 1},
                {
                    "name": "town",
                    "kind": "categorical",
                    "values": list("abcdefg"),
                    "other": True,
                },
            ]
        }
    )
    rng = np.random.default_rng(11)
    income = np.minimum(rng.gamma(2, 40, ROWS).astype(np.int64), 299)
    table = {"income": income, "town": np.minimum(income // 40, 7)}
    spec = Spec(mechanism="auto", epsilon=Fraction(1), delta=Fraction("1e-9"), parameters={})
    plan = mechanisms.plan(domain, spec)
    session = SimulatedSession(domain=domain, table=table, rng=np.random.default_rng(2))
    answers = plan.run(session)  # type: ignore[arg-type]  # it has the questions of this plan
    pairs = [answer for answer in answers.measurements if len(answer.clique) == 2]
    assert pairs and any(answer.values.size < 300 * 8 for answer in pairs)
    # Bins of a histogram with more noise have other widths: read by them, the tables of the run would be
    # those of another plan.
    model = implicates.fit(plan, answers, seed=implicates.seed_of("1" * 64, number))
    assert model.rows > 0


def test_interactions_have_wider_noise_and_answers_remember_what_the_run_had() -> None:
    noise = Noise(law="rounded-gaussian", scale=Fraction(100))
    values = np.zeros((200, 200), dtype=np.int64)
    for interaction, wider in (
        (False, implicates.WIDER),
        (True, implicates.WIDER_FOR_INTERACTIONS),
    ):
        answer = Measurement(
            clique=("a", "b"), noise=noise, values=values, interaction=interaction
        )
        changed = implicates._with_noise(answer, np.random.default_rng(3))
        assert isinstance(changed, Measurement)
        assert changed.as_answered is answer and answer.as_answered is answer
        # Fixed seed; six standard deviations of the deviation of 40,000 values.
        assert changed.values.std() == pytest.approx(100 * wider, rel=6 / math.sqrt(80_000))


def test_what_was_selected_stays_and_every_count_is_perturbed() -> None:
    plan, answers = measured("mst")
    places = implicates.require(plan, answers)
    changed = implicates.perturbed(answers, places=places, seed="s")
    assert changed.calls == answers.calls
    assert changed.selections == answers.selections
    assert len(places) == len(answers.measurements)
    assert any(
        (old.values != new.values).any()
        for old, new in zip(answers.measurements, changed.measurements, strict=True)
    )


def test_intervals_of_counts_of_a_pair_hold_where_most_cells_are_empty() -> None:
    domain = Domain.from_json(
        {
            "attributes": [
                {"name": name, "kind": "integer", "low": 0, "high": 15, "width": 1}
                for name in ("grade", "years")
            ]
        }
    )
    rng = np.random.default_rng(7)
    grades = np.minimum(rng.geometric(0.15, 8_000) - 1, 15)
    # Each grade has two numbers of years, so that 224 of 256 cells are empty.
    table = {"grade": grades, "years": (5 * grades + rng.integers(0, 2, grades.size)) % 16}
    true = np.bincount(16 * table["grade"] + table["years"], minlength=256)
    spec = Spec(mechanism="mst", epsilon=Fraction(1), delta=Fraction("1e-9"), parameters={})
    plan = mechanisms.plan(domain, spec)
    held, ratios = [], []
    for run in range(3):
        session = SimulatedSession(domain=domain, table=table, rng=np.random.default_rng(run))
        answers = plan.run(session)  # type: ignore[arg-type]  # it has the questions of this plan
        counts = []
        for number in range(1, 11):
            model = implicates.fit(plan, answers, seed=f"{run}/{number}")
            codes = model.sample(model.rows, seed="s")
            pairs = 16 * codes["grade"].astype(np.int64) + codes["years"]
            counts.append(np.bincount(pairs, minlength=256))
        drawn = np.array(counts)
        (pair,) = (m for m in answers.measurements if len(m.clique) == 2)
        deviation = math.sqrt(pair.noise.variance)
        half = 2.262 * np.sqrt(1.1 * drawn.var(axis=0, ddof=1))
        asked = true >= 3 * deviation
        held += (np.abs(drawn.mean(axis=0) - true) <= half)[asked].tolist()
        ratios += (half[asked] / (1.96 * deviation)).tolist()
    # All seeds are fixed. A fit that scales cut-off cells to their columns holds fewer than half of them.
    assert len(held) > 30
    assert np.mean(held) >= 0.85
    assert np.mean(ratios) <= 1.5


@pytest.mark.parametrize(
    ("law", "scale"),
    [("discrete-laplace", "3"), ("discrete-laplace", "1/2"), ("rounded-gaussian", "4")],
)
def test_fresh_noise_has_the_variance_of_the_law(law: str, scale: str) -> None:
    noise = Noise(law=law, scale=Fraction(scale))  # type: ignore[arg-type]  # one of the laws
    number = 40_000
    values = implicates._noise(noise, (number,), np.random.default_rng(5), wider=1.0)
    assert values.dtype == np.int64
    # Fixed seed; the excess kurtosis of these laws is below 6.
    assert abs(values.var() / noise.variance - 1) < 6 * math.sqrt(8 / number)
    assert abs(values.mean()) < 6 * math.sqrt(noise.variance / number)


def test_a_method_without_counts_of_fixed_tables_is_refused() -> None:
    plan, answers = measured("independent")
    tree = object.__new__(AnsweredCall)
    object.__setattr__(tree, "call", answers.calls[0])
    object.__setattr__(tree, "answer", object.__new__(Growth))
    with pytest.raises(SpecError, match="no plausible tables"):
        implicates.fit(plan, Answers((*answers.answered, tree)), seed="s")
