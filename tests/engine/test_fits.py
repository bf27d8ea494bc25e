"""Regressions from noisy answers: without noise they are those of the binned table; with noise their
intervals hold these."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from synth_engine.domain import Domain
from synth_engine.errors import InputError
from synth_engine.evaluation import fits
from synth_engine.evaluation.fits import FitRequest, Regression
from synth_engine.evaluation.marginals import PublishedCounts
from synth_engine.measurement.paid_counts import PaidCounts

ROWS = 3_000
DOMAIN = Domain.from_json(
    {
        "attributes": [
            {"name": "age", "kind": "integer", "low": 20, "high": 69, "width": 5},
            {"name": "town", "kind": "categorical", "values": list("abcdef"), "missing": ["?"]},
            {
                "name": "hours",
                "kind": "integer",
                "low": 0,
                "high": 9,
                "width": 1,
                "missing": [""],
            },
            {"name": "works", "kind": "boolean"},
            {"name": "pay", "kind": "integer", "low": 0, "high": 39, "width": 1},
        ]
    }
)
NAMES = tuple(DOMAIN.sizes)
Codes = Mapping[str, npt.NDArray[np.int64]]


def records() -> Codes:
    rng = np.random.default_rng(5)
    age = rng.integers(0, 10, ROWS)
    town = rng.choice(7, ROWS, p=[0.3, 0.3, 0.2, 0.1, 0.003, 0.002, 0.095])
    hours = np.where(rng.random(ROWS) < 0.2, 10, np.minimum(rng.poisson(2 + age / 3), 9))
    works = (rng.random(ROWS) < 1 / (1 + np.exp(2 - age / 3 - (town == 1)))).astype(np.int64)
    pay = np.clip(2 * age + 6 * works + (town == 2) * 5 + rng.normal(5, 4, ROWS), 0, 39)
    return {
        "age": age,
        "town": town,
        "hours": hours,
        "works": works,
        "pay": pay.astype(np.int64),
    }


RECORDS = records()


def counted(
    *clique: str,
    deviation: float = 0.0,
    interaction: bool = False,
    merged: Mapping[str, Sequence[int]] | None = None,
    rng: np.random.Generator | None = None,
) -> PaidCounts:
    """What a noisy table of these columns holds. deviation: of its noise, which is drawn from rng."""
    bins = [
        np.array((merged or {}).get(name, range(DOMAIN.sizes[name])), dtype=np.int64)
        for name in clique
    ]
    values = np.zeros([int(each.max()) + 1 for each in bins], dtype=np.int64)
    np.add.at(
        values, tuple(by[RECORDS[name]] for name, by in zip(clique, bins, strict=True)), 1
    )
    if interaction:
        for axis, size in enumerate(values.shape):
            values = size * values - values.sum(axis=axis, keepdims=True)
    if rng is not None:
        values = values + np.rint(rng.normal(0, deviation, values.shape)).astype(np.int64)
    return PaidCounts(
        clique=clique,
        values=values,
        bins=tuple(bins),
        variance=max(deviation, 1e-6) ** 2,
        law="discrete-gaussian",
        interaction=interaction,
    )


def published(*tables: PaidCounts) -> PublishedCounts:
    return PublishedCounts(domain=DOMAIN, rows=ROWS, tables=tables, records={})


def features(found: Regression) -> npt.NDArray[np.float64]:
    """Real records as the numbers of their groups, the outcome last."""
    return np.column_stack(
        [np.ones(ROWS)]
        + [each.numbers[each.groups[RECORDS[each.name]]] for each in found.columns]
    )


def estimates(found: Regression) -> npt.NDArray[np.float64]:
    return np.array([each.estimate for each in found.coefficients])


ONE_WAY = tuple(counted(name) for name in NAMES)
PAIRS = (
    # Halves of ages lie within the bins of both tables that count them; a contrast says what a pair adds to
    # its columns.
    counted("pay", "age", merged={"age": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]}),
    counted("age", "town", interaction=True, merged={"age": [0, 0, 0, 0, 1, 1, 2, 2, 2, 2]}),
    counted("town", "pay", interaction=True, merged={"pay": [code // 4 for code in range(40)]}),
    counted("hours", "pay"),
    counted("hours", "age"),
    counted("works", "hours", "town"),
)


def test_least_squares_without_noise_is_that_of_the_binned_table() -> None:
    found = fits.fit(
        published(*ONE_WAY, *PAIRS),
        FitRequest(outcome="pay", regressors=("age", "town", "hours")),
    )
    table = features(found)
    wanted, residual, *_ = np.linalg.lstsq(table[:, :-1], table[:, -1])
    np.testing.assert_allclose(estimates(found), wanted, rtol=1e-7, atol=1e-9)
    variance = (
        residual[0] / (ROWS - len(wanted)) * np.linalg.inv(table[:, :-1].T @ table[:, :-1])
    )
    errors = [each.of_population.standard_error for each in found.coefficients]
    np.testing.assert_allclose(errors, np.sqrt(np.diag(variance)), rtol=1e-5)
    names = [(each.column, each.value) for each in found.coefficients]
    # Town a is the base or b is, whichever is larger; e and f are too rare, and count as the base.
    assert names[:2] == [("", ""), ("age", "")]
    assert names[-2:] == [("hours", ""), ("hours", "(missing)")]
    assert len(names) == 8
    assert found.columns[0].size == 3
    assert found.records == pytest.approx(ROWS)


def test_a_logit_without_noise_is_that_of_the_binned_table() -> None:
    found = fits.fit(
        published(*ONE_WAY, counted("town", "works", "age")),
        FitRequest(outcome="works", regressors=("age", "town"), kind="logit"),
    )
    table = features(found)
    regressors, outcome = table[:, :-1], table[:, -1]
    share = 1 / (1 + np.exp(-regressors @ estimates(found)))
    # The likelihood of a logit has one maximum, where its slope is zero.
    np.testing.assert_allclose(regressors.T @ (outcome - share), 0, atol=1e-4)
    information = (regressors * (share * (1 - share))[:, None]).T @ regressors
    errors = [each.of_population.standard_error for each in found.coefficients]
    np.testing.assert_allclose(errors, np.sqrt(np.diag(np.linalg.inv(information))), rtol=1e-4)


EXACT = (
    counted("age", deviation=15),
    counted("works", deviation=15),
    counted("pay", deviation=15),
    counted(
        "pay", "age", "works", deviation=5, merged={"pay": [code // 8 for code in range(40)]}
    ),
    counted("age", "works", deviation=150, interaction=True),
)
DRAWS = 1_000


def noisy(number: int) -> PublishedCounts:
    """Answers with noise from a public seed."""
    rng = np.random.default_rng(number)
    return published(
        *(
            dataclasses.replace(
                table,
                values=table.values
                + np.rint(rng.normal(0, table.variance**0.5, table.values.shape)).astype(int),
            )
            for table in EXACT
        )
    )


def exact(found: Regression) -> npt.NDArray[np.float64]:
    """The coefficients of the real binned table."""
    counts = real_counts(tuple(column.name for column in found.columns))
    cells = np.indices(counts.shape).reshape(counts.ndim, -1)
    table = np.column_stack(
        [np.ones(counts.size)]
        + [
            column.numbers[column.groups[codes]]
            for column, codes in zip(found.columns, cells, strict=True)
        ]
    )
    regressors, outcome, weights = table[:, :-1], table[:, -1], counts.ravel()[:, None]
    solution = estimates(found)
    share, slope = regressors @ solution, np.ones(counts.size)
    # Newton's method; least squares need one step.
    for _ in range(4):
        if found.request.kind == "logit":
            share = 1 / (1 + np.exp(-regressors @ solution))
            slope = share * (1 - share)
        information = (regressors * weights * slope[:, None]).T @ regressors
        score = (regressors * weights).T @ (outcome - share)
        solution = solution + np.linalg.solve(information, score)
        share = regressors @ solution
    return solution


@cache
def real_counts(names: tuple[str, ...]) -> npt.NDArray[np.int64]:
    return counted(*names).values


@pytest.mark.slow
@pytest.mark.parametrize(
    ("request_", "place"),
    [
        (FitRequest(outcome="pay", regressors=("works",)), 1),
        (FitRequest(outcome="works", regressors=("age",), kind="logit"), 1),
    ],
)
def test_intervals_hold_the_coefficient_of_the_binned_table(
    request_: FitRequest, place: int
) -> None:
    """The law of the noise is simulated from 1,000 public seeds: a share of .95 has a standard error of
    .0069, of which the bounds are 5.3 away. Half of the variance would hold 834 of 1,000, from which the
    lower bound is as far."""
    held = narrow = 0
    for number in range(DRAWS):
        found = fits.fit(noisy(number), request_)
        truth, one = exact(found)[place], found.coefficients[place]
        held += one.of_table.low <= truth <= one.of_table.high
        # A mutant with half of the variance.
        narrow += abs(one.estimate - truth) <= 1.96 * one.of_table.standard_error / 2**0.5
    assert 0.913 < held / DRAWS < 0.987
    assert narrow / DRAWS < 0.913


def test_a_fit_of_what_no_answer_counts_is_not_offered() -> None:
    refused = fits.refusal(
        published(*ONE_WAY, *PAIRS), FitRequest(outcome="pay", regressors=("age", "works"))
    )
    assert refused is not None
    assert "'age' with 'works', 'works' with 'pay'" in refused.rule
    # Pairs are not the joint table.
    pairs = (counted("age", "works"), counted("town", "works"), counted("age", "town"))
    for kind, offered in (("ols", True), ("logit", False)):
        request_ = FitRequest(outcome="works", regressors=("age", "town"), kind=kind)
        assert (fits.refusal(published(*ONE_WAY, *pairs), request_) is None) == offered
    contrast = counted("age", "town", "works", interaction=True)
    assert fits.refusal(published(*ONE_WAY, *pairs, contrast), request_) is None
    assert fits.refusal(published(*ONE_WAY, contrast), request_) is not None


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (FitRequest(outcome="hours", regressors=("age",)), "missing"),
        (FitRequest(outcome="town", regressors=("age",)), "without order"),
        (FitRequest(outcome="pay", regressors=("age",), kind="logit"), "two"),
        (FitRequest(outcome="pay", regressors=()), "no regressor"),
        (FitRequest(outcome="pay", regressors=("pay",)), "twice"),
        (FitRequest(outcome="pay", regressors=("income",)), "no such column"),
    ],
)
def test_a_fit_that_cannot_be_says_why(request_: FitRequest, words: str) -> None:
    with pytest.raises(InputError, match=words):
        fits.fit(published(*ONE_WAY, *PAIRS), request_)


def test_noise_that_could_be_all_there_is_refuses_the_fit() -> None:
    rng = np.random.default_rng(2)
    tables = [counted(*names, deviation=400, rng=rng) for names in (("age",), ("pay",))]
    refused = fits.refusal(
        published(*tables, counted("age", "pay", deviation=400, rng=rng)),
        FitRequest(outcome="pay", regressors=("age",)),
    )
    assert refused is not None
    assert "noise" in refused.rule


def test_of_each_part_every_table_that_tells_of_it_is_used() -> None:
    """Two tables with independent noise have half of the variance of one."""
    request_ = FitRequest(outcome="works", regressors=("age",))
    one = counted("age", "works", deviation=20)
    alone, twice = (
        fits.fit(published(*tables), request_).coefficients[1].of_table.standard_error
        for tables in ((one,), (one, one))
    )
    assert twice == pytest.approx(alone / 2**0.5, rel=1e-6)
