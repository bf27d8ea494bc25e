"""Figures of a classifier that is trained on a synthetic table: their values, their intervals, and what they
ask of the room."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from synth_engine.errors import SpecError
from synth_engine.evaluation import paid_figures
from synth_engine.measurement import AnsweredCall, Answers, Call, Measurement, Noise, Query
from synth_engine.models.model import Model, Table, whole_weights
from synth_engine.plans import release_check, release_classifier
from synth_engine.plans.release_check import CheckedFigure, CheckedRelease, CheckPlan
from synth_engine.room.session import open_session
from tests.privacy import exact
from tests.privacy.exact import domain_of

DOMAIN = domain_of(3, 12, 4)
CODES = ((1, 2),)
AUC = CheckedFigure(kind="auc", columns=("a", "b", "c"), codes=CODES)
ACCURACY = replace(AUC, kind="accuracy")
REAL_ROWS = 900


def table_of(seed: int, *, rows: int = REAL_ROWS) -> dict[str, np.ndarray]:
    """Codes in which b and c say something about a."""
    rng = np.random.default_rng(seed)
    b, c = rng.integers(0, 12, rows), rng.integers(0, 4, rows)
    a = np.clip((b + 3 * c + rng.integers(0, 8, rows)) // 10, 0, 2)
    return {"a": a, "b": b, "c": c}


def plan_for(*figures: CheckedFigure, epsilon: Fraction = Fraction(1)) -> CheckPlan:
    """A check of a release whose model is the table of another seed."""
    codes = table_of(5)
    counts = np.zeros((3, 12, 4))
    np.add.at(counts, (codes["a"], codes["b"], codes["c"]), 1)
    table = Table(clique=("a", "b", "c"), weights=whole_weights(counts))
    model = Model(mechanism="independent", domain=DOMAIN, rows=REAL_ROWS, tables=(table,))
    of = CheckedRelease(core="0" * 64, seed="public", rows=REAL_ROWS, model=model)
    return release_check.plan(of, figures, epsilon=epsilon, delta=Fraction(0))


def counted(plan: CheckPlan, real: dict[str, np.ndarray]) -> np.ndarray:
    """The counts of real records that the one classifier of a plan needs."""
    (one,) = plan.classifiers
    counts = np.zeros(one.shape, dtype=np.int64)
    np.add.at(counts, tuple(one.merged[name][real[name]] for name in one.clique), 1)
    return counts


def answers_of(plan: CheckPlan, counts: np.ndarray, *, noise: np.ndarray | int = 0) -> Answers:
    (one,), (law,) = plan.classifiers, plan.noises[2]
    query = Query(verb="measure", clique=one.clique, cells=counts.size, bins=one.shape)
    answer = Measurement(clique=one.clique, noise=law, values=counts + noise)
    event = law.event(exact_sensitivity(plan))
    return Answers((AnsweredCall(Call(query=query, event=event), answer),))


def exact_sensitivity(plan: CheckPlan):  # type: ignore[no-untyped-def]
    from synth_engine.privacy.unit import histogram_sensitivity

    return histogram_sensitivity(plan.domain.unit, plan.domain.relation)


def exact_figures(plan: CheckPlan, real: dict[str, np.ndarray]) -> tuple[float, float]:
    """Area under the curve and accuracy of the classifier on the real records, record by record."""
    (one,) = plan.classifiers
    predictors = [name for name in one.clique if name != "a"]
    shape = [size for name, size in zip(one.clique, one.shape, strict=True) if name != "a"]
    cell = np.ravel_multi_index([one.merged[name][real[name]] for name in predictors], shape)
    score = np.argsort(one.order)[cell]
    is_target = np.isin(real["a"], CODES[0])
    return roc_auc_score(is_target, score), float((one.says[cell] == is_target).mean())


def test_without_noise_the_figures_are_those_of_every_record() -> None:
    plan, real = plan_for(AUC, ACCURACY), table_of(1)
    answers = answers_of(plan, counted(plan, real))
    auc, accuracy = paid_figures.results(plan, answers)
    exact_auc, exact_accuracy = exact_figures(plan, real)
    assert auc.figure.value == pytest.approx(exact_auc)
    assert accuracy.figure.value == pytest.approx(exact_accuracy)
    assert exact_auc > 0.8
    for result in (auc, accuracy):
        assert 0 <= result.figure.low <= result.figure.value <= result.figure.high <= 1
        assert (result.unit, result.cells) == ("share", plan.classifiers[0].says.size * 2)
        assert paid_figures.CheckedResult.from_json(result.to_json()) == result


@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1, 2)])
def test_the_intervals_hold_the_exact_figures(epsilon: Fraction) -> None:
    plan, real = plan_for(AUC, ACCURACY, epsilon=epsilon), table_of(2)
    counts = counted(plan, real)
    exact_of = exact_figures(plan, real)
    law: Noise = plan.noises[2][0]
    tail = 1 - np.exp(-1 / float(law.scale))
    rng = np.random.default_rng(3)
    held = np.zeros(2)
    for _ in range(300):
        noise = rng.geometric(tail, counts.shape) - rng.geometric(tail, counts.shape)
        results = paid_figures.results(plan, answers_of(plan, counts, noise=noise))
        held += [
            each.figure.low <= value <= each.figure.high
            for each, value in zip(results, exact_of, strict=True)
        ]
    assert (held >= 0.95 * 300).all()


def test_a_rising_curve_is_no_farther_from_the_true_one() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        true = np.cumsum(rng.integers(0, 5, 30))
        off = rng.integers(0, 20)
        rising = paid_figures._rising(true + rng.integers(-off, off + 1, 30))
        assert (np.diff(rising) >= 0).all() and rising[0] >= 0
        assert np.abs(rising - true).max() <= off


def test_one_measurement_serves_both_figures_and_any_order_of_predictors() -> None:
    turned = replace(ACCURACY, columns=("a", "c", "b"))
    both, one = plan_for(AUC, turned), plan_for(AUC)
    assert both.noises == one.noises
    assert len(both.classifiers) == 1
    assert both.classifier_index(turned) == both.classifier_index(AUC) == 0


def test_the_room_answers_what_the_classifier_needs() -> None:
    plan, real = plan_for(AUC), table_of(6, rows=60)
    rows = exact.rows_of(
        list(zip(*(real[name].tolist() for name in "abc"), strict=True)), DOMAIN
    )
    answers = plan.run(open_session(rows, domain=DOMAIN, cap=plan.loss))
    (measured,) = answers.measurements
    off = paid_figures.radius(measured.noise, chance=1e-12)
    assert np.abs(measured.values - counted(plan, real)).max() <= off
    (result,) = paid_figures.results(plan, answers)
    assert result.figure.low <= exact_figures(plan, real)[0] <= result.figure.high


def test_codes_of_many_values_share_bins_of_about_as_many_records() -> None:
    codes = {"a": np.arange(1000) % 2, "b": np.arange(1000) % 100}
    one = release_classifier.trained(
        codes, sizes=[("a", 2), ("b", 100)], target="a", positive=[1]
    )
    bins = one.merged["b"]
    assert sorted(set(bins.tolist())) == list(range(8))
    # The codes of b alternate between never and always: no bin has both but the one in the middle.
    assert one.says.tolist() == [False] * 4 + [True] * 4


@pytest.mark.parametrize(
    ("figure", "word"),
    [
        (replace(AUC, columns=("a",)), "columns"),
        (replace(AUC, columns=("a", "a")), "twice"),
        (replace(AUC, codes=((0, 1, 2),)), "not all"),
        (replace(AUC, codes=((),)), "some"),
        (replace(AUC, codes=((3,),)), "some"),
        (replace(AUC, codes=((0,), (1,))), "some"),
    ],
)
def test_what_cannot_be_predicted_is_refused(figure: CheckedFigure, word: str) -> None:
    with pytest.raises(SpecError, match=word):
        plan_for(figure)


@pytest.mark.parametrize("figure", [AUC, ACCURACY])
def test_figures_are_read_as_they_are_written(figure: CheckedFigure) -> None:
    assert CheckedFigure.from_json(figure.to_json()) == figure
    with pytest.raises(SpecError):
        CheckedFigure.from_json({"kind": figure.kind, "columns": ["a", "b"]})
