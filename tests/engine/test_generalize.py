"""`generalize`: groups that are put together, columns chosen, rows, refusals."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import mechanisms, verifier
from synth_engine.domain import Domain, Integer
from synth_engine.errors import InputError, SpecError
from synth_engine.inference.suppression import suppress_small_groups
from synth_engine.measurement import Answers, Measurement, Selection
from synth_engine.mechanisms.generalize.generalize import GeneralizePlan
from synth_engine.models import description
from synth_engine.models.model import Model
from synth_engine.privacy.loss import GaussianDP, Pure
from synth_engine.privacy.unit import PrivacyUnit
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from tests.answers import replaced
from tests.plans import plan_of

SIZES = {"rare": 2, "skewed": 5, "even": 8, "wide": 500}
TABLE = Domain(
    attributes=tuple(
        Integer(name=name, low=0, high=size - 1, width=1) for name, size in SIZES.items()
    )
)


def people(rows: int, *, seed: int = 0) -> dict[str, np.ndarray]:
    """Rare: one in fifty, and then mostly the last value of the skewed column."""
    rng = np.random.default_rng(seed)
    rare = rng.random(rows) < 0.02
    skewed = np.where(rare, 4, rng.choice(5, rows, p=[0.7, 0.15, 0.1, 0.05, 0.0]))
    drawn = {
        "rare": rare,
        "skewed": skewed,
        "even": rng.integers(8, size=rows),
        "wide": rng.integers(500, size=rows),
    }
    return {name: column.astype(np.uint16) for name, column in drawn.items()}


def released(
    domain: Domain = TABLE,
    *,
    rows: int = 20_000,
    epsilon: str = "1",
    delta: Fraction = Fraction(0),
    **parameters: Any,
) -> tuple[Any, Answers, Model]:
    spec = Spec(
        mechanism="generalize", epsilon=Fraction(epsilon), delta=delta, parameters=parameters
    )
    plan = mechanisms.plan(domain, spec)
    answers = plan.run(
        open_session(Rows(people(rows), domain=domain), domain=domain, cap=plan.loss)
    )
    return plan, answers, plan.fit(answers)


# ---- groups
# -------------------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(
    st.integers(0, 2**32),
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.floats(0.5, 40),
)
def test_groups_are_a_table_without_small_ones(
    seed: int, shape: list[int], least: float
) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.gamma(0.3, 30, shape) * (rng.random(shape) < 0.6)
    found, groups = suppress_small_groups(counts, least=least)
    assert found.shape == counts.shape and (found >= 0).all()
    assert (
        found.sum()
        == pytest.approx(counts.sum())
        == pytest.approx(sum(group.count for group in groups))
    )
    assert len(groups) == 1 or all(group.count >= least - 1e-9 for group in groups)
    for group in groups:  # no other group has any of these records
        place = (*group.values, list(group.among)) if group.among else group.values
        assert found[place].sum() == pytest.approx(group.count)


def test_small_values_are_put_together_where_they_are_enough_and_else_left_out() -> None:
    counts = np.array([[60.0, 4, 6, 0], [0, 3, 0, 2]])
    found, groups = suppress_small_groups(counts, least=8)
    assert [(g.values, g.among) for g in groups] == [
        ((0,), (1, 2, 3)),
        ((0, 0), ()),
    ]  # the 5 of the second row are few
    assert sum(g.count for g in groups) == pytest.approx(75)
    assert groups[0].count == pytest.approx(75 / 7) and found[1].sum() == 0
    own = counts.sum(axis=0)[1:]
    assert found[0, 1:] == pytest.approx(75 / 7 * own / own.sum())


def test_what_is_put_together_is_not_divided_further() -> None:
    counts = np.zeros((3, 2))
    counts[0], counts[1], counts[2] = (50, 50), (9, 0), (0, 9)
    found, groups = suppress_small_groups(counts, least=10)
    assert [(g.values, g.among) for g in groups] == [((), (1, 2)), ((0, 0), ()), ((0, 1), ())]
    assert found[1:] == pytest.approx(np.full((2, 2), 4.5))


# ---- releases
# -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delta", "kind"), [(Fraction(0), Pure), (Fraction(1, 10**9), GaussianDP)]
)
def test_columns_that_cut_few_records_off_are_chosen_first(delta: Fraction, kind: type) -> None:
    plan, answers, model = released(delta=delta)
    assert isinstance(plan.loss, kind)
    chosen, groups = plan.groups(answers)
    assert chosen == [
        "rare",
        "skewed",
        "even",
    ]  # 500 values would leave less than 10 records to a group
    published = plan.published(answers)
    assert published is not None and published["columns"] == chosen
    assert [tuple(map(tuple, group[:2])) for group in published["groups"]] == [
        (g.values, g.among) for g in groups
    ]
    assert [group[2] for group in published["groups"]] == pytest.approx(
        [g.count for g in groups], abs=0.001
    )
    assert abs(model.rows - 20_000) < 1_000
    assert (
        sum(group.count for group in groups) == pytest.approx(model.rows)
        and min(g.count for g in groups) >= 10
    )
    drawn, truth = model.sample(20_000, seed="s"), people(20_000)
    joint = [
        np.bincount(codes["rare"].astype(int) * 5 + codes["skewed"], minlength=10)
        for codes in (drawn, truth)
    ]
    assert np.abs(joint[0] - joint[1]).sum() / 40_000 < 0.03
    assert np.ptp(np.bincount(drawn["wide"], minlength=500)) < 200
    assert verifier.verify(plan.receipt(answers)).epsilon <= 1


def test_columns_that_are_not_chosen_may_have_any_value() -> None:
    plan, answers, model = released(columns=1, rest="any")
    assert [m.clique for m in answers.measurements] == [(), ("rare",)] and len(
        answers.selections
    ) == 1
    drawn = model.sample(
        model.rows, seed="s"
    )  # the whole: a smaller table is a random part of it
    assert np.ptp(np.bincount(drawn["skewed"], minlength=5)) <= 1
    assert plan.expected_error().mean > released()[0].expected_error().mean


def test_where_there_are_few_records_no_column_is_chosen() -> None:
    plan, answers, model = released(
        rows=3, epsilon="40"
    )  # 20 records or more are measured once in 10⁹ runs
    chosen, groups = plan.groups(answers)
    assert (
        chosen == []
        and len(groups) <= 1
        and sorted(model.sample(10, seed="s")) == sorted(SIZES)
    )


def test_as_many_columns_are_chosen_as_the_measured_number_of_records_bears() -> None:
    plan, answers, _ = released(
        rows=3, epsilon="1/10"
    )  # at this budget 3 records are often measured as hundreds
    most, _ = plan.choices(max(int(answers.measurements[0].values), 0))
    assert len(answers.selections) == len(plan.groups(answers)[0]) <= most


def test_models_are_kept_described_and_drawn_from_alike() -> None:
    plan, answers, model = released(epsilon="4")
    again = Model.from_json(json.loads(json.dumps(model.to_json())))
    assert again.to_json() == model.to_json() == plan.fit(answers).to_json()
    one, other, another = (
        each.sample(500, seed=seed) for each, seed in ((model, "a"), (again, "a"), (again, "b"))
    )
    assert all((one[name] == other[name]).all() for name in one)
    assert any((one[name] != another[name]).any() for name in one)
    assert description.read(description.write(model)).to_json() == model.to_json()


def test_answers_of_another_plan_are_refused() -> None:
    plan, answers, _ = released()
    for wrong in (
        replaced(answers, Measurement, answers.measurements[1:]),
        replaced(answers, Selection, (*answers.selections, 7)),
        replaced(answers, Selection, answers.selections[:1]),
        replaced(answers, Measurement, ()),
    ):
        with pytest.raises(InputError):
            plan.fit(wrong)
    assert plan.needs().seconds > 0


@pytest.mark.parametrize("delta", ["0", "1e-9"])
@pytest.mark.parametrize("power", range(7))
def test_noise_that_cannot_be_drawn_is_refused_before_columns_are_chosen(
    power: int, delta: str
) -> None:
    """Which tables are asked about follows from noisy answers, which are paid for."""
    table = Domain(attributes=TABLE.attributes, unit=PrivacyUnit(max_records=10**power))
    try:
        plan = plan_of("generalize", table, epsilon="0.0001", delta=delta)
    except SpecError:
        assert power > 2
        return
    assert isinstance(plan, GeneralizePlan)
    for records in (0, 10**3, 10**15):
        plan.choices(records)
    for number in range(len(SIZES) + 1):
        for chosen in itertools.combinations(SIZES, number):
            plan.noises(chosen)
