"""The mean of two estimates of a noisy table, and the two readings of a pair that `auto` averages."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from synth_engine.inference import stein
from synth_engine.inference.tables import fit_margins
from synth_engine.mechanisms.auto import denoising
from synth_engine.mechanisms.auto.denoising import Fine
from synth_engine.mechanisms.auto.selection import PairCounts, interaction_part

Floats = npt.NDArray[np.float64]
SHAPE = (30, 20)


def _weight(truth: Floats, *, shrunk_by: float) -> float:
    """The weight of zero beside the values times a factor, for a table with noise of standard deviation 1."""
    rng = np.random.default_rng(2)
    values = truth + rng.standard_normal(SHAPE)
    return stein.weight_of_second(
        values,
        (shrunk_by * values, np.zeros(SHAPE)),
        difference=lambda of: -shrunk_by * of,
        deviation=1.0,
        directions=[rng.standard_normal(SHAPE) for _ in range(4)],
    )


def test_an_estimate_that_follows_its_own_noise_gets_no_credit_for_it() -> None:
    # Of a table that is all noise the values agree with themselves, and zero is right.
    assert _weight(np.zeros(SHAPE), shrunk_by=1.0) > 0.9


def test_an_estimate_that_is_right_keeps_its_weight() -> None:
    truth = np.random.default_rng(1).normal(0, 10, SHAPE)
    assert _weight(truth, shrunk_by=1.0) < 0.1


def test_the_weight_is_that_of_the_least_error() -> None:
    # A signal as large as the noise: half of the values has the least error.
    truth = np.random.default_rng(1).standard_normal(SHAPE)
    assert _weight(truth, shrunk_by=1.0) == pytest.approx(0.5, abs=0.15)


def test_equal_estimates_need_no_weight() -> None:
    def never(values: Floats) -> Floats:
        raise AssertionError

    table = np.ones(SHAPE)
    weight = stein.weight_of_second(
        table, (table, table), difference=never, deviation=1.0, directions=[table]
    )
    assert weight == 0


def test_tables_that_are_alike_share_what_their_weights_are_like() -> None:
    clear = stein.WeightEstimate(best=1.0, precision=1000.0)
    doubtful = stein.WeightEstimate(best=0.0, precision=1.0)
    alone = stein.weights_alike([doubtful])[0]
    beside, _, same = stein.weights_alike([doubtful, clear, None])
    assert alone < 0.5
    assert beside > 0.9
    assert same == 0


def test_a_small_table_of_few_ratios_is_read_by_itself() -> None:
    # A prediction that is off in every cell, and a table that has two ratios to independence.
    truth = 500 * (0.4 + 3.0 * np.eye(5))
    fine, observed = _noisy_pair(truth, deviation=150.0)
    blurred = truth + interaction_part(np.random.default_rng(7).normal(0, 200, truth.shape))
    wrong = fit_margins(np.maximum(blurred, 20.0), fine.margins((0, 1)))

    def error(*, distance: float) -> float:
        estimate = denoising.estimates(
            fine, {(0, 1): wrong}, {(0, 1): observed}, {(0, 1): distance}
        )[0, 1]
        return float(np.abs(estimate - truth).sum())

    # Tables that are said to be nearly independent are read around the prediction alone.
    assert error(distance=0.9) < 0.9 * error(distance=0.19)


def _places() -> Floats:
    """Return the counts of sixty places, each of which lies in one of seven districts."""
    places = np.zeros((60, 7))
    places[np.arange(60), np.random.default_rng(5).integers(0, 7, 60)] = 10_000 / np.arange(
        1, 61
    )
    return places


def test_a_column_that_determines_another_is_read_with_empty_cells() -> None:
    truth = _places()
    fine, observed = _noisy_pair(truth, deviation=50.0)
    # A mixture of few products blurs which place lies where.
    blurred = fit_margins((truth + fine.independent((0, 1))) / 2, fine.margins((0, 1)))
    distances = {(0, 1): 1.3}
    estimate = denoising.estimates(fine, {(0, 1): blurred}, {(0, 1): observed}, distances)[0, 1]
    table = denoising._PairTable.of(fine, (0, 1), observed, distance=1.3)
    around, _ = denoising._read(fine, (0, 1), table, blurred, known=None)
    assert np.abs(estimate - truth).sum() < 0.6 * np.abs(around - truth).sum()


@pytest.mark.parametrize(
    ("distance", "merged", "by_itself"), [(1.3, 1, True), (1.3, 2, False), (0.4, 1, False)]
)
def test_tables_by_codes_that_are_far_from_independence_are_read_with_empty_cells(
    distance: float, merged: int, by_itself: bool
) -> None:
    fine, observed = _noisy_pair(_places(), deviation=100.0)
    coarse = observed.values.reshape(60 // merged, merged, 7).sum(axis=1)
    bins = np.arange(60) // merged
    table = denoising._PairTable(
        values=coarse,
        variance=observed.variance * merged,
        law="gaussian",
        bins=(bins, np.arange(7)),
        levels=(0, 0),
        distance=distance,
    )
    product = fine.independent((0, 1))
    alone = denoising._ReadingsAlone.of(
        fine, {(0, 1): table}, {(0, 1): product}, around={(0, 1): product}
    )
    assert ((0, 1) in alone.tables) == by_itself


def _noisy_pair(truth: Floats, *, deviation: float) -> tuple[Fine, PairCounts]:
    """A measured pair, counted by codes, with the histograms of its columns known."""
    rng = np.random.default_rng(4)
    product = np.multiply.outer(truth.sum(axis=1), truth.sum(axis=0)) / truth.sum()
    noise = interaction_part(rng.normal(0, deviation, truth.shape))
    values = product + interaction_part(truth - product) + noise
    fine = Fine(
        rows=round(float(truth.sum())),
        histograms=(truth.sum(axis=1), truth.sum(axis=0)),
        levels=tuple((np.arange(size),) for size in truth.shape),
    )
    variance = deviation**2 * (1 - 1 / truth.shape[0]) * (1 - 1 / truth.shape[1])
    return fine, PairCounts(values=values, variance=variance, law="gaussian", levels=(0, 0))


def test_patterns_of_rows_and_columns_are_found_where_single_cells_are_too_noisy() -> None:
    # One trend of rows against columns, half as large as the noise of a cell.
    trend = np.multiply.outer(np.linspace(-1, 1, 40), np.linspace(-1, 1, 30))
    truth = 100 * (1 + 0.5 * trend)
    fine, observed = _noisy_pair(truth, deviation=50.0)
    product = np.multiply.outer(*fine.histograms) / fine.rows
    estimate = denoising.estimates(fine, {(0, 1): product}, {(0, 1): observed}, {(0, 1): 0.12})[
        0, 1
    ]
    table = denoising._PairTable.of(fine, (0, 1), observed, distance=0.12)
    by_cells, _ = denoising._read(fine, (0, 1), table, product, known=None)
    assert np.abs(estimate - truth).sum() < 0.75 * np.abs(by_cells - truth).sum()


def test_single_cells_are_read_as_before_where_there_are_no_patterns() -> None:
    rng = np.random.default_rng(3)
    truth = np.full((40, 30), 100.0) * np.where(rng.random((40, 30)) < 0.05, 4.0, 1.0)
    fine, observed = _noisy_pair(truth, deviation=40.0)
    product = np.multiply.outer(*fine.histograms) / fine.rows
    estimate = denoising.estimates(fine, {(0, 1): product}, {(0, 1): observed}, {(0, 1): 0.25})[
        0, 1
    ]
    table = denoising._PairTable.of(fine, (0, 1), observed, distance=0.25)
    by_cells, _ = denoising._read(fine, (0, 1), table, product, known=None)
    assert np.abs(estimate - truth).sum() < 1.05 * np.abs(by_cells - truth).sum()
