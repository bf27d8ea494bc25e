"""Expected ranges: figures of shapes by hand, bands that follow the noise, and the same documents giving the
same bands."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth_engine.domain import Categorical, Domain, Integer, Scale
from synth_engine.evaluation import column_shapes, expected
from synth_engine.kinds.time_of_day import Time
from synth_engine.models.model import Model, Table, whole_weights

DOMAIN = Domain(
    attributes=(
        Integer(name="age", low=0, high=3, missing=("",)),
        Categorical(name="job", values=("cook", "smith"), outside="clamp"),
    )
)
AGE = np.array([100.0, 200.0, 500.0, 100.0, 100.0])
JOB = np.array([300.0, 700.0])


def model(age: np.ndarray = AGE, job: np.ndarray = JOB) -> Model:
    return Model(
        mechanism="independent",
        domain=DOMAIN,
        rows=1_000,
        tables=(
            Table(clique=("age",), weights=whole_weights(age)),
            Table(clique=("job",), weights=whole_weights(job)),
        ),
    )


def call(*clique: str, scale: int | Fraction, law: str = "discrete-laplace") -> Any:
    document = {"law": law, "scale": str(scale)}
    return {"query": {"verb": "measure", "clique": list(clique), "cells": 1}, "noise": document}


def ranges(name: str, *calls: Any) -> dict[str, expected.ExpectedRange]:
    columns = {each.name: each for each in expected.expected_columns(model(), calls)}
    return {f"{each.key} {each.value}".strip(): each.expected for each in columns[name].figures}


def test_figures_of_a_shape_by_hand() -> None:
    shape = column_shapes.of_attribute(DOMAIN.attribute("age"), AGE)
    # 100 zeros, 200 ones, 500 twos, 100 threes; 100 of 1,000 are missing.
    assert shape.missing == pytest.approx(0.1)
    assert shape.mean() == pytest.approx(1500 / 900)
    assert shape.standard_deviation() == pytest.approx(math.sqrt(3100 / 900 - (15 / 9) ** 2))
    assert [shape.quantile(level) for level in (0.05, 0.3, 0.5, 0.95)] == [0, 1, 2, 3]
    assert shape.share(2.0) == pytest.approx(0.5)
    assert [label for _, label in shape.top(2)] == ["2", "1"]


def test_values_within_a_wide_bin_lie_at_equal_steps() -> None:
    wide = Integer(name="n", low=0, high=9, edges=(0, 9))
    shape = column_shapes.of_attribute(wide, np.array([10.0, *[0.0] * (wide.size - 1)]))
    last = shape.lasts[0]
    assert shape.quantile(0.5) == pytest.approx((last + 1) / 2 - 1, abs=1)
    values = np.arange(0, last + 1)
    assert shape.standard_deviation() == pytest.approx(values.std())


SCALES = {
    "whole numbers": Scale(name="n", of="integer", low=-50, high=10_000),
    "decimals": Scale(name="n", of="number", low=-2.5, high=9_997.3, step=0.1),
    "days": Scale(
        name="n", of="date", low=datetime.date(2001, 2, 3), high=datetime.date(2031, 2, 3)
    ),
    "moments": Scale(
        name="n",
        of="datetime",
        low=datetime.datetime(2023, 6, 1, 8),  # noqa: DTZ001 - clocks have no zone
        high=datetime.datetime(2023, 6, 9, 8),  # noqa: DTZ001
        step=60,
    ),
}


@pytest.mark.parametrize("scale", SCALES)
@given(
    cuts=st.sets(st.integers(1, 5_000), min_size=1, max_size=6),
    weights=st.lists(st.integers(0, 1_000), min_size=8, max_size=8),
    count=st.integers(1, 10**6),
    level=st.sampled_from([0.05, 0.25, 0.5, 0.95]),
)
def test_a_median_within_a_leaf_is_that_of_its_values_at_equal_steps(
    scale: str, cuts: set[int], weights: list[int], count: int, level: float
) -> None:
    """Values at equal steps in each piece of one bin, their shares added up exactly."""
    lattice = SCALES[scale].lattice
    pieces = (0, *sorted(cuts), 5_001)
    shares = [weight or 1 for weight in weights[: len(pieces) - 1]]
    leaf = SCALES[scale].resolved(cuts=(0, 5_001), pieces=pieces, weights=tuple(shares))
    shape = column_shapes.of_attribute(leaf, np.array([float(count)]))
    before, wanted = Fraction(0), Fraction(str(level)) * sum(shares)
    for start, end, weight in zip(pieces, pieces[1:], shares, strict=False):
        if before + weight >= wanted:
            inside = math.ceil((wanted - before) * (end - start) / weight)
            position = start + max(inside, 1) - 1
            break
        before += weight
    exact, beyond = leaf.comparable(
        pd.Series(lattice.values(np.array([position, position + 1], dtype=np.uint64)))
    )
    # Floats may take a share that ends exactly at a value for one that ends a little beyond it.
    assert abs(shape.quantile(level) - exact) <= (beyond - exact) * 1.001


@given(
    width=st.integers(1, 200),
    bins=st.lists(st.integers(0, 1_000), min_size=200, max_size=200),
)
def test_a_median_of_times_is_that_of_its_values_at_equal_steps(
    width: int, bins: list[int]
) -> None:
    clock = Time(name="t", step=5, width=width)
    weights = [weight + 1 for weight in (bins * 2)[: clock.value_count]]
    shape = column_shapes.of_attribute(clock, np.array(weights, dtype=float))
    ends = [*range(0, 288, width), 288]
    # Each of the values of a bin gets as many records, once all are multiplied by the number of values.
    values = [
        (5 * place, Fraction(weight, end - start))
        for start, end, weight in zip(ends, ends[1:], weights, strict=False)
        for place in range(start, end)
    ]
    half, added = Fraction(sum(weights), 2), Fraction(0)
    for minute, records in values:  # noqa: B007 - the one that reaches the half
        added += records
        if added >= half:
            break
    assert abs(shape.quantile(0.5) - minute) <= 5.001


def test_a_band_holds_its_estimate_and_grows_with_the_noise() -> None:
    narrow, wide = (ranges("job", call("job", scale=scale)) for scale in (1, 50))
    for band in (narrow["share smith"], wide["share smith"]):
        assert band.low <= band.estimate.value <= band.high
        assert band.estimate.value == pytest.approx(0.7)
    widths = [band["share smith"].high - band["share smith"].low for band in (narrow, wide)]
    # Twice the 95 % quantile of the difference of two cells, which the total halves: about √2 · 1.64 · scale
    # · √2.
    assert 0.002 < widths[0] < 0.008 and 20 < widths[1] / widths[0] < 100


def test_shares_stay_between_nothing_and_all() -> None:
    band = ranges("job", call("job", scale=400))["share smith"]
    assert band.low >= 0.0 and band.high <= 1.0


def test_a_column_without_a_question_of_its_own_has_no_band() -> None:
    columns = expected.expected_columns(model(), [call("job", scale=1)])
    assert [bool(each.figures) for each in columns] == [False, True]
    assert columns[0].note == expected.NO_QUESTION


def test_a_table_of_two_columns_has_the_noise_of_all_cells_of_a_row() -> None:
    alone = ranges("job", call("job", scale=2))["share smith"]
    joint = ranges("job", call("age", "job", scale=2))["share smith"]
    ratio = (joint.high - joint.low) / (alone.high - alone.low)
    assert ratio == pytest.approx(math.sqrt(DOMAIN.attribute("age").size), rel=0.3)


def test_questions_without_noise_on_counts_are_passed_over() -> None:
    score = {
        "query": {"verb": "select", "clique": ["job"], "cells": 1},
        "noise": {"law": "gumbel"},
    }
    binned = call("job", scale=1)
    binned["query"]["bins"] = [2]
    unknown = call("job", scale=1, law="gumbel")
    assert not expected.expected_columns(model(), [score, binned, unknown])[1].figures


def test_the_same_documents_give_the_same_bands() -> None:
    calls = [call("age", scale=3), call("job", scale=3)]
    first = expected.to_json(expected.expected_columns(model(), calls))
    again = Model.from_json(model().to_json())
    assert expected.to_json(expected.expected_columns(again, calls)) == first


def test_bands_hold_the_truth_about_as_often_as_they_say() -> None:
    """Two hundred releases of a table of two cells by the independent law of this test, with a fixed seed."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(200):
        noisy = np.maximum(JOB + np.rint(rng.laplace(0, 20, 2)), 0)
        made = expected.expected_columns(model(job=noisy), [call("job", scale=20)])
        [figure] = [each for each in made[1].figures if each.value == "smith"]
        held += figure.expected.low <= 0.7 <= figure.expected.high
    assert 0.82 < held / 200 <= 1.0
