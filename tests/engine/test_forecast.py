"""What is expected of a release beforehand: from public facts alone, in step with what denoising then
leaves."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth_engine import mechanisms
from synth_engine.domain import Domain, Integer
from synth_engine.inference import error_forecast, oneway
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.measurement import Noise
from synth_engine.privacy.unit import Relation
from synth_engine.spec import Spec

DELTA = Fraction(1, 10**9)
EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(10)]
SIZES = (2, 5, 40, 100)


def domain_of(*sizes: int, rows: int | None = None) -> Domain:
    attributes = tuple(
        Integer(name=f"c{i}", low=0, high=size - 1, width=1) for i, size in enumerate(sizes)
    )
    relation = Relation.ADD_REMOVE if rows is None else Relation.REPLACE_ONE
    return Domain(attributes=attributes, relation=relation, rows=rows)


FOR_KNOWN = [
    name
    for name, mechanism in mechanisms.REGISTRY.items()
    if not mechanism.takes_open and mechanism.suits(domain_of(*SIZES))
]
"""Those that a chart of an ordinary table has. A tree of places is looked at in `test_adaptive`."""


def spec_of(
    mechanism: str = "independent", *, epsilon: str = "1", delta: Fraction = DELTA
) -> Spec:
    return Spec(mechanism=mechanism, epsilon=Fraction(epsilon), delta=delta)


@pytest.mark.parametrize("cells", [2, 9, 33, 100, 1000])
@pytest.mark.parametrize("scale", [2, 40, 400, 4000])
def test_the_error_of_a_column_is_what_denoising_leaves_of_typical_columns_within_a_factor_of_two(
    cells: int, scale: int
) -> None:
    rows, rng = 30_000, np.random.default_rng(cells + scale)
    noise = Noise(law="discrete-gaussian", scale=Fraction(scale))
    found = []
    for exponent in error_forecast.EXPONENTS:
        shares = np.arange(1.0, cells + 1) ** -exponent
        truth = rng.permutation(np.rint(shares / shares.sum() * rows))
        for _ in range(12):
            noisy = np.rint(truth + scale * rng.standard_normal(cells)).astype(np.int64)
            table = oneway.denoise(noisy, noise=noise, total=rows, along=0)
            found.append(0.5 * np.abs(table / rows - truth / truth.sum()).sum())
    forecast = error_forecast.column_error(cells, deviation=noise.mean_deviation / rows)
    assert 0.5 < forecast / np.mean(found) < 2


def test_noise_that_drowns_everything_leaves_the_distance_of_a_guess_and_no_more() -> None:
    assert error_forecast.column_error(2, deviation=100.0) == 0.5
    assert error_forecast.column_error(1, deviation=100.0) == 0
    assert 0.9 < error_forecast.column_error(100, deviation=100.0) < 1


def test_chance_is_the_distance_of_independent_records_from_their_expectation() -> None:
    rng, rows, found = np.random.default_rng(3), 2_000, []
    shapes = [np.arange(1.0, 31) ** -exponent for exponent in error_forecast.EXPONENTS]
    for one in shapes:
        for other in shapes:
            shares = np.outer(one, other).ravel() / (one.sum() * other.sum())
            found.append(0.5 * np.abs(rng.multinomial(rows, shares) / rows - shares).sum())
    assert error_forecast.chance_error({"a": 30, "b": 30}, rows=rows) == pytest.approx(
        np.mean(found), rel=0.15
    )


def test_nothing_asked_of_pairs_leaves_what_columns_leave_and_what_mending_does_not_reach() -> (
    None
):
    sizes, rows = {"a": 30, "b": 30, "c": 30}, 5_000
    noises = {name: Noise(law="rounded-gaussian", scale=Fraction(10)) for name in sizes}
    alone = error_forecast.independent(
        noises, error_forecast.typical(sizes, rows=rows)
    ).mean_pairs
    mended = error_forecast.REFINED_FROM_TREE * error_forecast.refinement_error(
        error_forecast.typical(sizes, rows=rows)
    )
    nothing = [
        error_forecast.pairs(
            noises, tables, error_forecast.typical(sizes, rows=rows)
        ).mean_pairs
        for tables in (
            [],
            [(0.0, None)],
            [(1.0, Noise(law="rounded-gaussian", scale=Fraction(10**6)))],
        )
    ]
    assert nothing == pytest.approx([nothing[0]] * 3, rel=0.01)
    assert alone < nothing[0] < 1.3 * (alone + mended)
    sharp = error_forecast.pairs(
        noises,
        [(1.0, Noise(law="rounded-gaussian", scale=Fraction(1, 2**20)))],
        error_forecast.typical(sizes, rows=rows),
    )
    expected = math.hypot(math.sqrt(2) * sharp.mean, mended)
    assert sharp.mean_pairs == pytest.approx(expected, rel=1e-3)


def test_what_mending_leaves_grows_with_the_cells_for_a_code_up_to_what_chance_makes() -> None:
    few, many = {"a": 2, "b": 2, "c": 2}, {"a": 90, "b": 90, "c": 90}
    assert error_forecast.refinement_error(
        error_forecast.typical(few, rows=10_000)
    ) < 0.01 * error_forecast.chance_error(few, rows=10_000)
    assert error_forecast.refinement_error(
        error_forecast.typical(many, rows=100)
    ) == error_forecast.chance_error(many, rows=100)
    assert error_forecast.refinement_error(
        error_forecast.typical(many, rows=10_000)
    ) < error_forecast.refinement_error(error_forecast.typical(many, rows=1_000))


ADULT = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
SURVEY = (20, 96, 2, 7, 5, 9, 10, 12, 3, 3, 20, 264, 20, 13, 85, 11, 61, 7, 3, 3, 2, 2, 100, 92)
CALLS = (2, 101, 11, 100, 15, 32, 5, 9, 100, 100, 2, 11, 101, 100, 100, 42, 100, 101, 8, 8, 100, 101, 46, 12,
    101, 742,
         10, 100, 100, 28)  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "rows", "epsilon", "found"),
    [
        (ADULT, 39_074, "0.1", 0.0845),
        (ADULT, 39_074, "1", 0.0320),
        (ADULT, 39_074, "10", 0.0136),
        (SURVEY, 27_253, "0.1", 0.167),
        (SURVEY, 27_253, "1", 0.0755),
        (SURVEY, 27_253, "10", 0.0394),
        (CALLS, 305_119, "0.1", 0.117),
        (CALLS, 305_119, "1", 0.0683),
        (CALLS, 305_119, "10", 0.0296),
    ],
)
def test_pairs_of_auto_come_out_within_a_factor_of_two_of_what_was_found(
    sizes: tuple[int, ...], rows: int, epsilon: str, found: float
) -> None:
    """What `bench/auto.py` found on the discretised Adult, a survey of households and calls to a fire
    brigade."""
    plan = mechanisms.plan(domain_of(*sizes), spec_of("auto", epsilon=epsilon))
    assert 0.5 < plan.expected_error(rows=rows).mean_pairs / found < 2


def by_formula(mechanism: str, domain: Domain, *, spec: Spec, rows: int) -> ErrorForecast:
    config = mechanisms.REGISTRY[mechanism].from_parameters({})
    return config.forecast(domain, replace(spec, mechanism=mechanism), rows=rows)


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
@pytest.mark.parametrize("mechanism", FOR_KNOWN)
def test_a_forecast_by_formula_agrees_with_the_plan(mechanism: str, delta: Fraction) -> None:
    domain = domain_of(*SIZES)
    for epsilon in EPSILONS:
        spec = replace(spec_of(mechanism, delta=delta), epsilon=epsilon)
        quick = by_formula(mechanism, domain, spec=spec, rows=20_000)
        found = mechanisms.plan(domain, spec).expected_error(rows=20_000)
        assert quick.mean == pytest.approx(found.mean, rel=0.15)
        assert quick.mean_pairs == pytest.approx(found.mean_pairs, rel=0.15)


@pytest.mark.parametrize(
    "mechanism",
    [
        "independent",
        "bayesian-network",
        "mst",
        "auto",
        "aim",
        "privsyn",
        "contingency-table",
    ],
)
@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_more_epsilon_and_more_records_never_make_the_forecast_worse(
    mechanism: str, delta: Fraction
) -> None:
    domain = domain_of(*SIZES)
    epsilons = [Fraction(k, 20) for k in (1, 2, 4, 10, 20, 60, 200)]
    mine = [
        by_formula(
            mechanism, domain, spec=replace(spec_of(delta=delta), epsilon=epsilon), rows=5_000
        )
        for epsilon in epsilons
    ]
    for figure in ("mean", "mean_pairs"):
        values = [getattr(one, figure) for one in mine]
        assert values == sorted(values, reverse=True)
        assert 0 < values[-1] < values[0] <= 1
    plan = mechanisms.plan(domain, spec_of(mechanism, delta=delta))
    means = [plan.expected_error(rows=rows) for rows in (1, 100, 10_000, 1_000_000)]
    for figure in ("mean", "mean_pairs"):
        assert [getattr(one, figure) for one in means] == sorted(
            (getattr(one, figure) for one in means), reverse=True
        )


def test_a_network_is_expected_to_keep_relations_where_noise_is_small_and_not_where_it_is_large() -> (
    None
):
    domain = domain_of(8, 8, 8, 8)

    def pairs(mechanism: str, epsilon: int) -> float:
        spec = replace(spec_of(), epsilon=Fraction(epsilon))
        return by_formula(mechanism, domain, spec=spec, rows=30_000).mean_pairs

    assert pairs("bayesian-network", 10) < 0.7 * pairs("independent", 10)
    assert pairs("random", 1) > 3 * pairs("independent", 1)


def test_pairs_too_large_to_be_counted_are_expected_to_come_out_as_of_independent_columns() -> (
    None
):
    domain = domain_of(5_000, 5_000, rows=100_000)
    [mst, alone] = [
        mechanisms.plan(domain, spec_of(name)).expected_error()
        for name in ("mst", "independent")
    ]
    assert mst.mean_pairs > mst.mean + error_forecast.DEPENDENCE / 2
    of_pairs = [one.mean_pairs**2 - 4 * one.mean**2 for one in (mst, alone)]
    assert of_pairs[0] == pytest.approx(of_pairs[1], rel=0.02)


@pytest.mark.parametrize("mechanism", FOR_KNOWN)
def test_the_bands_hold_the_forecast_and_become_no_worse_with_records(mechanism: str) -> None:
    plan = mechanisms.plan(domain_of(*SIZES), spec_of(mechanism))
    forecasts = [plan.expected_error(rows=rows) for rows in (1_000, 10_000, 100_000)]
    for forecast in forecasts:
        low, high = forecast.columns_band
        assert 0 <= low <= forecast.mean <= high <= 1
        if forecast.pairs_band is not None:
            low, high = forecast.pairs_band
            assert 0 <= low <= forecast.mean_pairs <= high <= 1
    highs = [one.pairs_band[1] for one in forecasts if one.pairs_band is not None]
    assert highs == sorted(highs, reverse=True)


def test_columns_of_two_values_are_expected_to_depend_less_on_one_another() -> None:
    found = [
        mechanisms.plan(domain_of(size, size), spec_of()).expected_error(rows=10**9)
        for size in (2, 4, 100)
    ]
    pairs = [one.mean_pairs for one in found]
    assert pairs == sorted(pairs)
    assert pairs[0] == pytest.approx(error_forecast.DEPENDENCE / 4, rel=0.01)


@pytest.mark.parametrize(
    ("sizes", "rows", "method", "epsilon", "found"),
    [
        (ADULT, 39_074, "independent", "1", 0.0792),
        (ADULT, 39_074, "mst", "1", 0.0483),
        (ADULT, 39_074, "dpsyn", "1", 0.0545),
        (ADULT, 39_074, "aim", "1", 0.0371),
        (SURVEY, 27_253, "independent", "0.1", 0.1765),
        (SURVEY, 27_253, "mst", "10", 0.0748),
        (SURVEY, 27_253, "auto", "10", 0.0358),
        (CALLS, 305_119, "auto", "1", 0.0633),
        (CALLS, 305_119, "mst", "0.1", 0.132),
        # Columns that hardly depend on one another, and such that nearly follow from one another.
        ((2, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 2, 2), 40_000, "independent", "1", 0.0108),
        ((4,) * 12 + (2,), 40_000, "independent", "1", 0.2134),
    ],
)
def test_bands_hold_what_was_found(
    sizes: tuple[int, ...], rows: int, method: str, epsilon: str, found: float
) -> None:
    """As above, by `bench/auto.py --against-all`."""
    plan = mechanisms.plan(domain_of(*sizes), spec_of(method, epsilon=epsilon))
    band = plan.expected_error(rows=rows).pairs_band
    assert band is not None
    assert band[0] < found < band[1]


def test_a_forecast_says_what_it_takes_for_granted_and_for_how_many_records() -> None:
    for mechanism in FOR_KNOWN:
        found = mechanisms.plan(domain_of(*SIZES), spec_of(mechanism)).expected_error(rows=700)
        assert found.rows == 700
        assert "Nothing was read from the table" in found.assumes
        assert list(found.attributes) == ["c0", "c1", "c2", "c3"]
        assert math.isclose(found.mean, np.mean(list(found.attributes.values())))


def test_a_single_column_has_no_pairs() -> None:
    for mechanism in FOR_KNOWN:
        assert (
            mechanisms.plan(domain_of(7), spec_of(mechanism)).expected_error().mean_pairs == 0
        )
