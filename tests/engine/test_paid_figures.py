"""Figures of a check: their intervals hold the figure of the real table as often as they say, whatever the
noise."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth_engine.errors import InputError, SpecError
from synth_engine.evaluation import paid_figures
from synth_engine.measurement import (
    AnsweredCall,
    Answers,
    Call,
    Measurement,
    Noise,
    Query,
    Scores,
)
from synth_engine.plans import release_check
from synth_engine.plans.release_check import CheckedFigure, CheckedRelease, CheckPlan
from synth_engine.privacy.unit import histogram_sensitivity
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from tests.privacy import exact
from tests.privacy.exact import domain_of
from tests.privacy.test_law_of_release_check import model_of

LAWS = ("discrete-laplace", "discrete-gaussian", "rounded-gaussian")
PAIR = CheckedFigure(kind="distance", columns=("a", "b"))
NEAR = CheckedFigure(kind="counts", columns=("a", "b"), least=5, within=Fraction(1, 5))


def masses(noise: Noise, *, reach: int) -> np.ndarray:
    """The chance of every number from -reach to reach."""
    tails = np.array([noise.reaches(k) for k in range(1, reach + 2)])
    positive = tails[:-1] - tails[1:]
    return np.concatenate([positive[::-1], [1 - 2 * tails[0]], positive])


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(25)])
@pytest.mark.parametrize("number", [1, 2, 10, 60])
def test_the_radius_of_a_mean_is_exceeded_no_more_often_than_it_says(
    law: str, scale: Fraction, number: int
) -> None:
    noise = Noise(law=law, scale=scale)  # type: ignore[arg-type]
    reach = int(30 * scale) + 3
    one = masses(noise, reach=reach)
    size = 2 * reach * number + 1
    length = 1 << size.bit_length()
    law_of_sum = np.fft.irfft(np.fft.rfft(one, length) ** number, length)[:size]
    values = np.abs(np.arange(size) - reach * number)
    for chance in (0.05, 0.01):
        radius = paid_figures.radius_of_mean(noise, number=number, chance=chance)
        assert law_of_sum[values > radius * number + 1e-9].sum() <= chance + 1e-9


def plan_for(*figures: CheckedFigure, rows: int, drawn: int) -> CheckPlan:
    domain = domain_of(2, 3)
    model = model_of(domain)
    of = CheckedRelease(
        core="0" * 64,
        seed="public",
        rows=drawn,
        model=type(model)(
            mechanism=model.mechanism, domain=domain, rows=rows, tables=model.tables
        ),
    )
    return release_check.plan(of, figures, epsilon=Fraction(1), delta=Fraction(0))


def answers_of(plan: CheckPlan, real: np.ndarray, *, noise: int = 0) -> Answers:
    """What the room answers of a real table of counts with this noise on each answer."""
    total, scores, counts = plan.noises
    sensitivity = histogram_sensitivity(plan.domain.unit, plan.domain.relation)
    answered = []

    def add(query: Query, answer: Measurement | Scores, one: Noise) -> None:
        answered.append(AnsweredCall(Call(query=query, event=one.event(sensitivity)), answer))

    if total is not None:
        number = Measurement(clique=(), noise=total, values=np.array(real.sum() + noise))
        add(Query(verb="measure", cells=1), number, total)
    if scores is not None:
        distances = [
            int(np.abs(real - plan.reference(clique)).sum()) + noise
            for clique in plan.distances
        ]
        add(
            Query(verb="score", candidates=plan.distances, cells=6),
            Scores(noise=scores, values=np.array(distances)),
            scores,
        )
    for clique, one in zip(plan.counted, counts, strict=True):
        add(
            Query(verb="measure", clique=clique, cells=6),
            Measurement(clique=clique, noise=one, values=np.asarray(real + noise)),
            one,
        )
    return Answers(tuple(answered))


@pytest.mark.parametrize(("rows", "drawn"), [(200, 200), (170, 200), (230, 60)])
@pytest.mark.parametrize("noise", [-8, 0, 8])
def test_an_interval_holds_the_distance_of_a_table_of_another_size(
    rows: int, drawn: int, noise: int
) -> None:
    real = np.array([[50, 20, 30], [10, 60, 30]])
    plan = plan_for(PAIR, rows=rows, drawn=drawn)
    (result,) = paid_figures.results(plan, answers_of(plan, real, noise=noise))
    synthetic = plan.synthetic(("a", "b")) / drawn
    exact = np.abs(real / real.sum() - synthetic).sum() / 2
    assert result.figure.low <= exact <= result.figure.high
    assert result.unit == "share"


@pytest.mark.parametrize("noise", [-8, 0, 8])
def test_an_interval_holds_the_number_of_counts_that_are_near(noise: int) -> None:
    plan = plan_for(NEAR, rows=600, drawn=600)
    synthetic = plan.synthetic(("a", "b"))
    real = synthetic + np.array([[0, 30, -50], [300, 4, 0]])
    (result,) = paid_figures.results(plan, answers_of(plan, real, noise=noise))
    large = synthetic >= 5
    near = (np.abs(synthetic - real) <= real / 5)[large].sum()
    assert result.figure.low <= near <= result.figure.high <= result.cells == large.sum()


def test_the_reference_is_rounded_alike_on_every_machine() -> None:
    plan = plan_for(PAIR, rows=7, drawn=3)
    counts = plan.synthetic(("a", "b"))
    exact = [
        (Fraction(int(count) * 7, 3) + Fraction(1, 2)).__floor__() for count in counts.ravel()
    ]
    assert plan.reference(("a", "b")).ravel().tolist() == exact


REAL = np.array([[50, 20, 30], [10, 60, 30]])
TABLE = CheckedFigure(kind="marginal", columns=("b", "a"))
SOME = CheckedFigure(kind="count", columns=("b", "a"), codes=((0, 2), (1,)))
ORDER = CheckedFigure(kind="ks", columns=("b",))


def ordered_plan(*figures: CheckedFigure, ordered: bool = True) -> CheckPlan:
    plan = plan_for(TABLE, rows=200, drawn=60)
    attributes = tuple(replace(each, ordered=ordered) for each in plan.domain.attributes)
    model = replace(plan.config.of.model, domain=replace(plan.domain, attributes=attributes))
    of = replace(plan.config.of, model=model)
    return release_check.plan(of, figures, epsilon=Fraction(1), delta=Fraction(0))


@pytest.mark.parametrize("noise", [-2, 0, 2])
def test_a_marginal_lists_every_count_in_the_order_that_was_asked_for(noise: int) -> None:
    plan = plan_for(TABLE, rows=200, drawn=200)
    (result,) = paid_figures.results(plan, answers_of(plan, REAL, noise=noise))
    exact = REAL.T.ravel()
    assert [each.value for each in result.table] == (exact + noise).tolist()
    for each, count in zip(result.table, exact, strict=True):
        assert each.low <= count <= each.high
    assert result.figure.low <= REAL.sum() <= result.figure.high
    assert (result.unit, result.cells) == ("records", 6)
    assert paid_figures.CheckedResult.from_json(result.to_json()) == result


@pytest.mark.parametrize("noise", [-2, 0, 2])
def test_a_count_adds_up_the_cells_that_it_names(noise: int) -> None:
    plan = plan_for(SOME, rows=200, drawn=200)
    (result,) = paid_figures.results(plan, answers_of(plan, REAL, noise=noise))
    exact = REAL[1, 0] + REAL[1, 2]
    assert result.figure.value == exact + 2 * noise
    assert result.figure.low <= exact <= result.figure.high
    assert result.cells == 2


def test_the_sum_of_noise_exceeds_its_radius_no_more_often_than_it_says() -> None:
    noise = Noise(law="discrete-laplace", scale=Fraction(2))
    draws = np.random.default_rng(1).geometric(1 - np.exp(-0.5), (2, 200_000, 7))
    sums = np.cumsum(draws[0] - draws[1], axis=1)
    off = paid_figures.radius_of_sum(noise, number=7, chance=0.05 / 4)
    assert (np.abs(sums[:, -1]) > off).mean() < 0.0125
    assert (np.abs(sums).max(axis=1) > off).mean() < 0.025


@pytest.mark.parametrize("noise", [-5, 0, 5])
def test_an_interval_holds_the_ks_distance(noise: int) -> None:
    plan = ordered_plan(ORDER)
    real = 30 * REAL.sum(axis=0)
    (result,) = paid_figures.results(plan, answers_of(plan, real, noise=noise))
    synthetic = np.cumsum(plan.synthetic(("b",))) / 60
    exact = np.abs(np.cumsum(real) / real.sum() - synthetic).max()
    assert result.figure.low <= exact <= result.figure.high < 1
    assert (result.unit, result.cells) == ("share", 3)


def test_every_kind_of_counts_asks_the_same_of_the_room() -> None:
    """So the law of checks is proved for all of them at once."""
    near = CheckedFigure(kind="counts", columns=("b",), least=1, within=Fraction(1, 10))
    some = CheckedFigure(kind="count", columns=("b",), codes=((1,),))
    table = CheckedFigure(kind="marginal", columns=("b",))
    plans = [ordered_plan(figure) for figure in (near, some, table, ORDER)]
    assert len({(plan.noises, plan.counted, plan.distances) for plan in plans}) == 1
    assert ordered_plan(near, some, table, ORDER).noises == plans[0].noises


@pytest.mark.parametrize(
    ("figure", "word"),
    [
        (CheckedFigure(kind="ks", columns=("a", "b")), "columns"),
        (CheckedFigure(kind="count", columns=("a",), codes=((0, 2),)), "values"),
        (CheckedFigure(kind="count", columns=("a",), codes=((),)), "values"),
        (CheckedFigure(kind="count", columns=("a",)), "values"),
        (CheckedFigure(kind="marginal", columns=("nowhere",)), "no column"),
    ],
)
def test_what_cannot_be_counted_is_refused(figure: CheckedFigure, word: str) -> None:
    with pytest.raises(SpecError, match=word):
        plan_for(figure, rows=20, drawn=20)


def test_the_ks_distance_of_values_without_an_order_is_refused() -> None:
    with pytest.raises(SpecError, match="order"):
        ordered_plan(ORDER, ordered=False)


@pytest.mark.parametrize(
    "written",
    [
        {"kind": "count", "columns": ["a"]},
        {"kind": "count", "columns": ["a"], "codes": [[1, 0]]},
        {"kind": "count", "columns": ["a"], "codes": [[True]]},
        {"kind": "count", "columns": ["a"], "codes": [["1"]]},
        {"kind": "count", "columns": ["a"], "codes": [0]},
        {"kind": "count", "columns": ["a"], "codes": [list(range(10_001))]},
        {"kind": "marginal", "columns": ["a"], "codes": [[1]]},
        {"kind": "ks", "columns": ["a"], "least": 3},
    ],
)
def test_what_is_no_figure_is_refused(written: dict[str, object]) -> None:
    with pytest.raises(SpecError):
        CheckedFigure.from_json(written)


@pytest.mark.parametrize("figure", [TABLE, SOME, ORDER, NEAR, PAIR])
def test_figures_are_read_as_they_are_written(figure: CheckedFigure) -> None:
    assert CheckedFigure.from_json(figure.to_json()) == figure


# --- worst groups -------------------------------------------------------------------------------------------
WORST = CheckedFigure(kind="worst-groups", columns=("a", "b", "c"), size=2, tables=1)


def worst_plan(*figures: CheckedFigure, delta: Fraction = Fraction(0)) -> CheckPlan:
    domain = domain_of(2, 3, 2)
    model = replace(model_of(domain), rows=6_000)
    of = CheckedRelease(core="0" * 64, seed="public", rows=6_000, model=model)
    return release_check.plan(of, figures or (WORST,), epsilon=Fraction(2), delta=delta)


def records_beside(plan: CheckPlan, *, moved: int) -> Rows:
    """Records as the synthetic table has them, but for so many of each value of `a` whose values of `c` are
    exchanged, so that only the table of `a` and `c` is another one."""
    counts = plan.synthetic(("a", "b", "c")) + moved // 3 * np.array([[[-1, 1]], [[1, -1]]])
    cells = np.repeat(np.arange(counts.size), counts.ravel())
    return exact.rows_of(
        tuple(zip(*np.unravel_index(cells, counts.shape), strict=True)), plan.domain
    )


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_worst_groups_are_found_and_their_intervals_hold_the_real_numbers(
    delta: Fraction,
) -> None:
    plan = worst_plan(delta=delta)
    rows = records_beside(plan, moved=300)
    answers = plan.run(open_session(rows, domain=plan.domain, cap=plan.loss))
    (result,) = paid_figures.results(plan, answers)
    # 300 of 6,000 records at epsilon = 2: another table is chosen less than once in 10^9 runs.
    assert {group.columns for group in result.groups} == {("a", "c")}
    assert result.cells == 4
    synthetic = plan.synthetic(("a", "c"))
    for group in result.groups:
        assert group.synthetic.value == synthetic[group.codes]
        assert group.real.low <= group.real.value <= group.real.high
    assert result.figure.high > 100
    assert paid_figures.CheckedResult.from_json(result.to_json()) == result


def test_intervals_of_worst_groups_hold_for_every_noise_within_their_radius() -> None:
    plan = worst_plan()
    rows = records_beside(plan, moved=300)
    answers = plan.run(open_session(rows, domain=plan.domain, cap=plan.loss))
    real = plan.synthetic(("a", "c")) + 300 * np.array([[-1, 1], [1, -1]])
    choice, measured = answers.answered
    noise = measured.answer.noise
    off = paid_figures.radius(noise, chance=0.05 / 4)
    for signs in itertools.product((-1, 0, 1), repeat=4):
        values = real + off * np.array(signs).reshape(2, 2)
        answer = replace(measured.answer, values=values)
        given = Answers((choice, replace(measured, answer=answer)))
        (result,) = paid_figures.results(plan, given)
        assert result.figure.low <= 300 <= result.figure.high
        for group in result.groups:
            assert group.real.low <= real[group.codes] <= group.real.high


@pytest.mark.parametrize(
    "figure",
    [
        replace(WORST, columns=("a", "b")),  # one table alone
        replace(WORST, tables=3),
        replace(WORST, columns=("a",), size=1),
        replace(WORST, columns=("a", "nowhere")),
        replace(WORST, columns=("a", "a", "b")),
    ],
)
def test_worst_groups_without_a_choice_are_refused(figure: CheckedFigure) -> None:
    with pytest.raises(SpecError):
        worst_plan(figure)


@pytest.mark.parametrize("change", [{"size": 3}, {"tables": 0}, {"tables": 6}, {"size": True}])
def test_a_request_for_worst_groups_with_other_numbers_is_refused(
    change: dict[str, object],
) -> None:
    assert CheckedFigure.from_json(WORST.to_json()) == WORST
    with pytest.raises(SpecError):
        CheckedFigure.from_json(WORST.to_json() | change)


def test_answers_of_another_choice_are_refused() -> None:
    plan = worst_plan()
    rows = records_beside(plan, moved=300)
    answers = plan.run(open_session(rows, domain=plan.domain, cap=plan.loss))
    other = worst_plan(replace(WORST, size=1))
    with pytest.raises(InputError):
        paid_figures.results(other, answers)
