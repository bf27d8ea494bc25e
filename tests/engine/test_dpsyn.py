"""`dpsyn`: which views it measures and with how much noise, what it makes of the answers, and what it
refuses."""

from __future__ import annotations

import itertools
import json
import math
import tracemalloc
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import mechanisms, pipeline, verifier
from synth_engine.domain import Domain
from synth_engine.errors import InputError, SpecError, VerificationError
from synth_engine.inference import view_design
from synth_engine.measurement import AnsweredCall, Answers, Measurement
from synth_engine.mechanisms.dpsyn import BYTES, DPSynPlan
from synth_engine.models.model import Model
from synth_engine.privacy import receipt as receipts
from synth_engine.spec import Spec
from tests.answers import replaced
from tests.privacy.test_verifier import resealed

DELTA = Fraction(1, 10**9)
SIZES = {"a": 2, "b": 3, "c": 4, "d": 2, "e": 5, "f": 1}


def domain(**sizes: int) -> Domain:
    return Domain.from_json(sizes or SIZES)


def spec(
    *, epsilon: str = "1", delta: Fraction = DELTA, rows: int | None = None, **parameters: Any
) -> Spec:
    return Spec(
        mechanism="dpsyn",
        epsilon=Fraction(epsilon),
        delta=delta,
        rows=rows,
        parameters=parameters,
    )


def plan(asked: Spec | None = None, *, of: Domain | None = None) -> DPSynPlan:
    found = mechanisms.plan(of or domain(), asked or spec())
    assert isinstance(found, DPSynPlan)
    return found


def people(rows: int = 4_000) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    a, b = rng.integers(2, size=rows), rng.integers(3, size=rows)
    c = np.where(rng.random(rows) < 0.1, rng.integers(4, size=rows), a + b)
    d = (rng.random(rows) < np.where(c > 1, 0.8, 0.1)).astype(int)
    return {"a": a, "b": b, "c": c, "d": d, "e": (c + d) % 5, "f": np.zeros(rows, dtype=int)}


def true_answers(of: DPSynPlan, codes: Mapping[str, np.ndarray]) -> Answers:
    """What the room would say without noise: where least squares and synthesis have to lead then is known."""
    found = []
    for clique, noise in zip(of.cliques, of.noises, strict=True):
        shape = of.domain.shape(clique)
        cells = np.ravel_multi_index([codes[name] for name in clique], shape)
        counts = np.bincount(cells, minlength=math.prod(shape)).reshape(shape)
        found.append(Measurement(clique=clique, noise=noise, values=counts.astype(np.int64)))
    return Answers(tuple(map(AnsweredCall, of.calls, found)))


def table(codes: Mapping[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    shape = [SIZES[name] for name in names]
    cells = np.ravel_multi_index([codes[name].astype(np.int64) for name in names], shape)
    return np.bincount(cells, minlength=math.prod(shape)) / len(cells)


# ---- what is asked
# ---------------------------------------------------------------------------------------------


def test_views_follow_from_public_facts_alone_and_are_the_same_every_time() -> None:
    assert plan().calls == plan().calls
    assert plan().digest == plan().digest
    assert {name for clique in plan().cliques for name in clique} == set(SIZES)
    assert all(
        call.query.cells == math.prod(SIZES[name] for name in clique)
        for call, clique in zip(plan().calls, plan().cliques, strict=True)
    )


def test_a_covering_has_every_pair_that_fits_and_a_bound_on_cells_is_kept() -> None:
    found = plan(spec(views="covering", cells=12))
    together = {pair for clique in found.cliques for pair in itertools.combinations(clique, 2)}
    assert ("a", "b") in together
    assert ("c", "e") not in together, "4 × 5 cells do not fit"
    assert max(call.query.cells for call in found.calls) <= 12


def test_views_can_hold_every_three_columns() -> None:
    of = domain(**{f"c{place}": 2 + place % 3 for place in range(9)})
    found = plan(spec(views="triples"), of=of)
    together = {
        three for clique in found.cliques for three in itertools.combinations(clique, 3)
    }
    assert len(together) == math.comb(9, 3)


def test_views_of_triples_cost_no_more_than_the_target() -> None:
    found = verifier.verify(receipts_of(plan(spec(views="triples", cells=40))))
    assert found.epsilon <= 1


def test_too_many_groups_for_every_three_columns_are_refused() -> None:
    of = domain(**{f"c{place}": 2 for place in range(20)})
    with pytest.raises(SpecError, match="every three columns"):
        plan(spec(views="triples", number=10, cells=64), of=of)
    with pytest.raises(SpecError, match="every three columns"):
        plan(spec(views="triples", cells=8), of=of)


def test_how_negative_counts_are_filled_can_be_chosen() -> None:
    rng = np.random.default_rng(3)
    exact = true_answers(plan(spec(cells=12)), people(60))
    noisy = [
        replace(
            m, values=m.values + np.rint(rng.normal(scale=4, size=m.values.shape)).astype(int)
        )
        for m in (call.answer for call in exact.answered)
    ]
    targets = [
        [
            table.weights.tobytes()
            for table in made.fit(Answers(tuple(map(AnsweredCall, made.calls, noisy)))).targets
        ]
        for own in ({}, {"ripple_threshold": 5.0}, {"ripple_neighbours": 1})
        for made in [plan(spec(cells=12, **own))]
    ]
    assert targets[0] != targets[1] != targets[2] != targets[0]


def test_the_number_of_random_views_can_be_given() -> None:
    of = domain(**{f"c{place}": 2 for place in range(8)})
    assert len(plan(spec(views="random", number=12, cells=16), of=of).cliques) == 12


def test_more_records_or_a_larger_epsilon_make_larger_views() -> None:
    of = domain(**{f"c{place}": 4 for place in range(12)})
    largest = [
        max(
            call.query.cells
            for call in plan(spec(epsilon=epsilon, records=records), of=of).calls
        )
        for epsilon, records in (("0.1", 1_000), ("1", 10_000), ("10", 1_000_000))
    ]
    assert largest == sorted(largest)
    assert largest[0] < largest[-1]


def test_the_design_chosen_has_the_least_expected_error() -> None:
    """The parts of the error against a reckoning by hand: three binary attributes, two views of two."""
    sizes = [2, 2, 2]
    design = view_design.Design(kind="covering", cells=4, groups=((0, 1), (1, 2)))
    found = view_design.assess(design, sizes=sizes, variances=np.array([3.0, 5.0]))
    e = view_design.error_forecast.effective_size(2)
    one, other = e * e * 3.0, e * e * 5.0  # the variance of a total
    both = 1 / (1 / one + 1 / other)
    by_hand = both + (e - 1) * (one + both + other) + (e - 1) ** 2 * (one + other)
    assert found.noise == pytest.approx(by_hand)
    assert found.lost == pytest.approx(
        view_design.PAIR_CONTINGENCY * (1 + view_design.INTERACTION_DECAY)
    )
    assert found.error(rows=100, scale=2.0) == pytest.approx(2 * by_hand / 10**4 + found.lost)


def test_views_of_more_cells_get_less_noise_a_cell() -> None:
    for delta in (Fraction(0), DELTA):
        found = plan(spec(views="covering", cells=24, delta=delta))
        noisy = sorted(
            (call.query.cells, float(noise.scale))
            for call, noise in zip(found.calls, found.noises, strict=True)
        )
        assert noisy[0][1] > noisy[-1][1]


@pytest.mark.parametrize("delta", [Fraction(0), DELTA], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("records", [1, 3])
def test_the_calls_cost_no_more_than_the_target_and_the_verifier_agrees(
    tmp_path: Any, delta: Fraction, relation: str, records: int
) -> None:
    document = domain().to_json() | {
        "relation": relation,
        "unit": {"max_records": records, "column": None},
    }
    of = Domain.from_json(document)
    made = plan(spec(delta=delta, cells=12), of=of)
    found = verifier.verify(receipts_of(made))
    assert found.epsilon <= 1
    if delta == 0:
        assert found.epsilon > Fraction(99, 100)


def receipts_of(made: DPSynPlan, **changes: Any) -> dict[str, Any]:
    document = made.receipt(true_answers(made, people(50)))
    if changes:
        document |= changes
        document["digest"] = receipts.digest(
            {key: value for key, value in document.items() if key != "digest"}
        )
    return document


def test_the_verifier_refuses_calls_that_are_no_views() -> None:
    honest = receipts_of(plan(spec(delta=Fraction(0), cells=12)))
    calls = honest["calls"]
    twice = [*calls[:-1], calls[0]]
    part = json.loads(json.dumps(calls))
    part[0]["query"] |= {"clique": calls[1]["query"]["clique"][:1], "cells": 2}
    nothing = json.loads(json.dumps(calls))
    nothing[0]["query"] |= {"clique": [], "cells": 1}
    for wrong in (twice, part, nothing):
        changed = honest | {
            "calls": wrong,
            "plan": honest["plan"] | {"calls_sha256": receipts.digest(wrong)},
        }
        with pytest.raises(VerificationError, match="not the ones that this mechanism makes"):
            verifier.verify(resealed(changed))


# ---- what is made of the answers
# -------------------------------------------------------------------------------


@pytest.mark.parametrize(("synthesis", "within"), [("mcf", 0.01), ("sts", 0.12)])
def test_without_noise_records_have_the_tables_that_were_measured(
    synthesis: str, within: float
) -> None:
    made, codes = plan(spec(cells=24, views="covering", synthesis=synthesis)), people()
    drawn = made.fit(true_answers(made, codes)).sample(4_000, seed="s")
    apart = [
        np.abs(table(drawn, pair) - table(codes, pair)).sum() / 2
        for pair in itertools.combinations(SIZES, 2)
    ]
    assert float(np.mean(apart)) < within


def test_the_same_answers_and_seed_give_the_same_rows_and_the_model_survives_json() -> None:
    made = plan(spec(cells=12))
    answers = true_answers(made, people())
    model = made.fit(answers)
    again = Model.from_json(json.loads(json.dumps(made.fit(answers).to_json())))
    assert again.to_json() == model.to_json()
    for rows in (0, 1, 700, 5_000):
        one, other = model.sample(rows, seed="x"), again.sample(rows, seed="x")
        assert all(
            (one[name] == other[name]).all() and len(one[name]) == rows for name in SIZES
        )
    assert any(
        (model.sample(700, seed="y")[name] != model.sample(700, seed="x")[name]).any()
        for name in SIZES
    )


def test_a_public_number_of_records_is_kept() -> None:
    of = Domain.from_json(domain().to_json() | {"relation": "replace-one", "rows": 4_000})
    made = plan(spec(cells=12), of=of)
    assert made.fit(true_answers(made, people(3_000))).rows == 4_000


def test_a_table_without_records_gives_a_model_that_can_be_drawn_from() -> None:
    made = plan(spec(cells=12))
    empty = true_answers(made, {name: np.zeros(0, dtype=int) for name in SIZES})
    fewer = [replace(m, values=m.values - 3) for m in empty.measurements]
    minus = replaced(empty, Measurement, fewer)
    for answers in (empty, minus):
        model = made.fit(answers)
        assert model.rows == 0
        assert len(model.sample(10, seed="s")["a"]) == 10


def test_answers_of_another_plan_are_refused() -> None:
    other = true_answers(plan(spec(cells=24)), people(100))
    with pytest.raises(InputError, match="not of this plan"):
        plan(spec(cells=12)).fit(other)


@pytest.mark.parametrize(
    "sizes", [{"only": 7}, {"only": 1}, {"a": 1, "b": 1}, {"a": 9_999, "b": 2}], ids=str
)
def test_tables_of_one_column_or_of_trivial_or_huge_ones(
    tmp_path: Any, sizes: dict[str, int]
) -> None:
    rows = pd.DataFrame({name: np.arange(40) % size for name, size in sizes.items()})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    asked = spec(delta=Fraction(0), cells=1_000)
    release = pipeline.synthesize(
        tmp_path / "rows.csv", domain=Domain.from_json(sizes), spec=asked
    )
    codes = release.model.sample(30, seed="s")
    assert list(codes) == list(sizes)
    assert all(column.max() < sizes[name] for name, column in codes.items())


# ---- what is refused, and what is forecast
# -----------------------------------------------------------------------


def test_views_that_are_too_large_together_are_refused_before_anything_is_spent() -> None:
    of = domain(**{f"c{place}": 30 for place in range(40)})
    with pytest.raises(SpecError, match=r"memory_mb.*'c0' \(30 values\)"):
        plan(spec(cells=900_000, number=300, views="random"), of=of)


def test_a_bound_on_memory_makes_views_smaller_and_is_kept() -> None:
    of = domain(**{f"c{place}": 8 for place in range(9)})
    free, bound = (
        plan(spec(epsilon="10", records=10**6, memory_mb=most), of=of) for most in (0, 1)
    )
    cells = [sum(call.query.cells for call in one.calls) for one in (free, bound)]
    assert cells[1] * BYTES <= 10**6 < cells[0] * BYTES


def test_views_take_no_more_memory_than_is_reckoned_with() -> None:
    of = domain(**{f"c{place}": 8 for place in range(9)})
    made = plan(spec(cells=8**4, views="covering"), of=of)
    answers = true_answers(made, {name: np.arange(9_000) % 8 for name in of.sizes})
    made.fit(answers)  # compiles
    tracemalloc.start()
    made.fit(answers)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= BYTES * sum(call.query.cells for call in made.calls)


@pytest.mark.parametrize(
    "wrong",
    [
        {"views": "all"},
        {"cells": -1},
        {"number": 10**6},
        {"synthesis": "copy"},
        {"ripple_threshold": 0},
        {"ripple_neighbours": -1},
    ],
    ids=str,
)
def test_parameters_beyond_their_bounds_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=next(iter(wrong))):
        plan(spec(**wrong))


def test_a_forecast_falls_with_epsilon_and_is_near_what_happens() -> None:
    found = [
        plan(spec(epsilon=epsilon)).expected_error(rows=4_000) for epsilon in ("0.1", "1", "10")
    ]
    for measure in ("mean", "mean_pairs"):
        values = [getattr(one, measure) for one in found]
        assert values == sorted(values, reverse=True)
    assert all(0 <= one.mean_pairs <= 1 and set(one.attributes) == set(SIZES) for one in found)
