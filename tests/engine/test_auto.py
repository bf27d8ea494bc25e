"""`auto`: any domain, any budget; what it learns, what it refuses, and what its parts do."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from synth_engine import mechanisms
from synth_engine.domain import Categorical, Domain, Integer
from synth_engine.errors import InputError, SpecError
from synth_engine.evaluation.expected_errors import SimulatedSession
from synth_engine.inference import allocation, bins, mixture, shrinkage
from synth_engine.inference.allocation import Side, TableOption
from synth_engine.measurement import Answers, Measurement, Noise, Scores
from synth_engine.mechanisms.auto import denoising, fitting, group_tables, pair_selection
from synth_engine.mechanisms.auto.auto import Auto, AutoPlan
from synth_engine.mechanisms.auto.denoising import Fine
from synth_engine.mechanisms.auto.group_tables import GroupTables
from synth_engine.mechanisms.auto.questions import Division
from synth_engine.mechanisms.auto.selection import Columns, PairCounts
from synth_engine.mechanisms.auto.triples import TripleSearch
from synth_engine.models.model import Model
from synth_engine.privacy.filter import Filter
from synth_engine.privacy.loss import ZeroConcentrated
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from tests.answers import replaced

DELTA = Fraction(1, 10**9)


def domain_of(*sizes: int, **changes: Any) -> Domain:
    attributes = tuple(
        Integer(name=f"c{place}", low=0, high=size - 1, width=1)
        for place, size in enumerate(sizes)
    )
    return Domain(attributes=attributes, **changes)


def planned(
    domain: Domain, *, epsilon: str = "4", delta: Fraction = DELTA, **parameters: Any
) -> Any:
    return mechanisms.plan(
        domain,
        Spec(mechanism="auto", epsilon=Fraction(epsilon), delta=delta, parameters=parameters),
    )


def answered(plan: Any, table: np.ndarray) -> Answers:
    domain = plan.domain
    codes = {name: table[:, place].astype(np.uint16) for place, name in enumerate(domain.names)}
    found: Answers = plan.run(
        open_session(Rows(codes, domain=domain), domain=domain, cap=plan.loss)
    )
    return found


def asked(answers: Answers, verb: str) -> list[int]:
    """The numbers of candidates of the questions with this verb about pairs and triples."""
    return [
        len(call.query.candidates)
        for call in answers.calls
        if call.query.verb == verb and all(len(clique) <= 3 for clique in call.query.candidates)
    ]


def chain(rows: int, *sizes: int, seed: int = 0) -> np.ndarray:
    """Records of which each column goes with the one before, now and then by chance."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(rows) ** 2
    columns = []
    for size in sizes:
        hidden = np.where(rng.random(rows) < 0.2, rng.random(rows) ** 2, hidden)
        columns.append((hidden * size).astype(np.int64))
    return np.stack(columns, axis=1)


def distance(table: np.ndarray, model: Model, first: int, second: int) -> float:
    codes, names = model.sample(len(table), seed="x"), model.domain.names
    size = model.domain.sizes[names[second]]
    places = [
        table[:, first] * size + table[:, second],
        codes[names[first]].astype(np.int64) * size + codes[names[second]],
    ]
    counts = [
        np.bincount(place, minlength=model.domain.sizes[names[first]] * size) / len(place)
        for place in places
    ]
    return float(0.5 * np.abs(counts[0] - counts[1]).sum())


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_all_pairs_are_learned_not_those_of_a_tree_alone(delta: Fraction) -> None:
    table = chain(8_000, 5, 4, 6, 2)
    plan = planned(domain_of(5, 4, 6, 2), delta=delta)
    model = plan.fit(answered(plan, table))
    for first, second in ((0, 1), (1, 2), (2, 3), (0, 2), (0, 3)):
        assert distance(table, model, first, second) < 0.06
    forecast = plan.expected_error(rows=8_000)
    assert 0 < forecast.mean < 0.05
    assert forecast.mean_pairs < 0.15


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_a_relation_of_three_columns_that_no_pair_shows_is_found(delta: Fraction) -> None:
    rng = np.random.default_rng(1)
    table = rng.integers(0, 2, (20_000, 6))
    table[:, 4] = table[:, 1] ^ table[:, 3]
    plan = planned(domain_of(2, 2, 2, 2, 2, 2), delta=delta)
    answers = answered(plan, table)
    assert ("c1", "c3", "c4") in [m.clique for m in answers.measurements]
    codes = plan.fit(answers).sample(20_000, seed="x")
    # Half of them by chance; which other tables are counted takes up to a fortieth of the records away.
    assert np.mean(codes["c4"] == codes["c1"] ^ codes["c3"]) > 0.85
    assert abs(np.mean(codes["c4"] == codes["c1"]) - 0.5) < 0.05


def test_what_triples_are_not_worth_goes_to_the_pairs_once_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nothing = Division(price=Fraction(0), choices=[])
    monkeypatch.setattr(AutoPlan, "_division", lambda *_, **__: nothing)
    table = chain(8_000, 5, 4, 6, 2)
    plan = planned(domain_of(5, 4, 6, 2))
    answers = answered(plan, table)
    cliques = [m.clique for m in answers.measurements if len(m.clique) == 2]
    assert {cliques.count(clique) for clique in cliques} == {2}
    spent = Filter(plan.loss)
    for call in answers.calls:
        spent.admit(call.event)
    assert spent.remaining <= plan.loss.amount / 10**5


def test_with_a_large_budget_all_triples_are_scored_and_many_are_measured() -> None:
    rng = np.random.default_rng(0)
    profile = rng.integers(0, 8, 20_000)
    codes = rng.integers(0, 4, (8, 6))
    table = np.where(
        rng.random((20_000, 6)) < 0.8, codes[profile], rng.integers(0, 4, (20_000, 6))
    )
    plan = planned(domain_of(*[4] * 6), epsilon="20")
    answers = answered(plan, table)
    assert asked(answers, "select") == []
    assert asked(answers, "score") == [15, 20]
    measured = {m.clique for m in answers.measurements if len(m.clique) == 3}
    targets = plan.fit(answers).targets
    assert measured <= {target.clique for target in targets}
    # Eight profiles show in most of the 20 triples, far above the noise.
    assert len(measured) >= 10


def test_a_small_budget_selects_triples_one_by_one() -> None:
    plan = planned(domain_of(2, 3, 4, 2), epsilon="0.5")
    answers = answered(plan, chain(2_000, 2, 3, 4, 2))
    assert asked(answers, "select") == [4, 3, 2, 1]
    assert asked(answers, "score") == [6, 4]


def test_with_a_column_to_predict_only_triples_that_hold_it_are_selected() -> None:
    table = chain(2_000, 2, 3, 4, 2, 2)
    plan = planned(domain_of(2, 3, 4, 2, 2), epsilon="0.5", target="c3")
    answers = answered(plan, table)
    selects = [call.query for call in answers.calls if call.query.verb == "select"]
    # Of ten triples of five columns six hold the fourth one; each selection leaves one less.
    assert asked(answers, "select") == [6, 5, 4, 3, 2, 1]
    assert all("c3" in clique for query in selects for clique in query.candidates)
    assert sorted(m.clique for m in plan.fit(answers).targets if len(m.clique) == 3) == sorted(
        m.clique for m in answers.measurements if len(m.clique) == 3
    )


def test_a_large_budget_scores_triples_without_the_column_to_predict_as_well() -> None:
    plan = planned(domain_of(2, 3, 4, 2), epsilon="20", target="c3")
    answers = answered(plan, chain(20_000, 2, 3, 4, 2))
    assert asked(answers, "select") == []
    assert asked(answers, "score") == [6, 4]


@pytest.mark.parametrize(
    ("counts", "factor"), [((500, 500), 2.0), ((900, 100), 1 / 0.18), ((999, 1), 10.0)]
)
def test_relations_with_a_rare_class_weigh_as_much_as_with_even_classes(
    counts: tuple[int, int], factor: float
) -> None:
    """An L1 distance from independence is at most twice the chance that two records differ in the target."""
    plan = planned(domain_of(2, 2, 2), target="c1")
    noise = Noise(law="rounded-gaussian", scale=Fraction(1))
    oneways = [
        Measurement(clique=(name,), noise=noise, values=np.array(held))
        for name, held in (("c0", (500, 500)), ("c1", counts), ("c2", (500, 500)))
    ]
    columns = plan._columns(oneways)
    pairs = plan._pairs(columns)
    weights = dict(zip(pairs, plan._weights(columns, pairs), strict=True))
    assert weights[0, 2] == 1.0
    assert weights[0, 1] == weights[1, 2] == pytest.approx(4 * factor, rel=0.01)


def columns_of(plan: Any, *held: Any) -> Columns:
    noise = Noise(law="rounded-gaussian", scale=Fraction(1))
    found: Columns = plan._columns(
        [
            Measurement(clique=(name,), noise=noise, values=np.array(counts))
            for name, counts in zip(plan.domain.names, held, strict=True)
        ]
    )
    return found


def test_without_a_workload_pairs_with_a_column_of_two_codes_matter_more() -> None:
    domain = domain_of(2, 3, 4)
    held = (500, 500), (300, 300, 400), (250, 250, 250, 250)

    def weights(**parameters: Any) -> list[float]:
        plan = planned(domain, **parameters)
        columns = columns_of(plan, *held)
        found: list[float] = plan._weights(columns, plan._pairs(columns))
        return found

    assert weights() == [2.3, 2.3, 1.0]
    # The statement about the workload is followed to the letter.
    assert weights(weights={"c2": 2.0}) == [1.0, 2.0, 2.0]
    assert weights(marginals=[["c0", "c1"], ["c1", "c2"]]) == [1.0, 1.0]


@pytest.mark.parametrize(("codes", "alone"), [(2, True), (3, False)])
def test_rare_codes_are_counted_one_by_one_beside_a_column_of_two_codes(
    codes: int, alone: bool
) -> None:
    """Nearly all records have the first code, so all other codes are one bin at most resolutions."""
    plan = planned(domain_of(41, codes), epsilon="1")
    columns = columns_of(plan, [36_000, *[100] * 40], [40_000 // codes] * codes)
    (choice,) = columns.choices(
        [(0, 1)], np.array([0.14]), [1.0], deviation=lambda shape: 8.0, power=0.5
    )
    assert (columns.shape((0, 1), choice.levels) == (41, codes)) == alone


@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
def test_columns_get_their_usual_share_where_one_is_to_be_predicted(epsilon: str) -> None:
    domain = domain_of(5, 4, 6, 2)
    alone, predicting = (
        planned(domain, epsilon=epsilon),
        planned(domain, epsilon=epsilon, target="c3"),
    )
    assert predicting.column_noises() == alone.column_noises()


def test_triples_of_which_noise_hides_nearly_all_are_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches: list[TripleSearch] = []

    def remember(_: AutoPlan, search: TripleSearch, *__: Any, **___: Any) -> list[Any]:
        searches.append(search)
        return []

    monkeypatch.setattr(AutoPlan, "last_stage", remember)
    answered(planned(domain_of(6, 5, 4)), chain(20_000, 6, 5, 4))
    (search,) = searches

    def counted(deviation: float) -> int:
        choices = search.tables.choices(
            [(0, 1, 2)], np.array([0.3]), deviation=lambda _: deviation, power=0.5
        )
        return len(choices)

    assert [counted(deviation) for deviation in (10.0, 100.0, 2_500.0)] == [1, 1, 0]
    monkeypatch.setattr(group_tables, "_LEAST_REMOVED", 0.0)
    assert counted(2_500.0) == 1


def test_measured_triples_find_room_among_the_targets() -> None:
    """Any two of four columns determine the others, and four tables of 64,000 cells are more than a quarter
    of the room."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 40, (20_000, 4))
    table[:, 2] = (table[:, 0] + table[:, 1]) % 40
    table[:, 3] = (table[:, 0] + 3 * table[:, 1]) % 40
    plan = planned(domain_of(*[40] * 4), epsilon="50", memory_mb=200)
    room = fitting.target_cells(200)
    model = plan.fit(answered(plan, table))
    cells = [t.weights.size for t in model.targets if len(t.clique) == 3]
    assert cells == [64_000] * 3
    assert sum(target.weights.size for target in model.targets) <= room < 4 * 4 * 64_000


@pytest.mark.parametrize(
    ("sizes", "changes"),
    [
        ((1,), {}),
        ((7,), {}),
        ((2, 2), {}),
        ((1, 1, 5), {}),
        (
            (1, 3, 4),
            {"relation": Relation.REPLACE_ONE, "rows": 300, "rows_provenance": "declared"},
        ),
        ((3, 4), {"unit": PrivacyUnit(max_records=3)}),
        ((2_000, 3), {}),
    ],
)
@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_any_domain_gives_a_model(
    sizes: tuple[int, ...], changes: dict[str, Any], delta: Fraction
) -> None:
    changes = {key: value for key, value in changes.items() if key != "rows_provenance"}
    plan = planned(domain_of(*sizes, **changes), epsilon="1", delta=delta)
    answers = answered(plan, chain(300, *sizes))
    model = plan.fit(answers)
    codes = model.sample(200, seed="y")
    assert all(int(codes[name].max()) < size for name, size in plan.domain.sizes.items())
    assert plan.fit(answers).to_json() == model.to_json()
    assert Model.from_json(model.to_json()).sample(200, seed="y").keys() == codes.keys()


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_a_budget_too_small_for_anything_is_a_valid_release(delta: Fraction) -> None:
    plan = planned(domain_of(5, 30, 4), epsilon="0.0001", delta=delta)
    model = plan.fit(answered(plan, chain(50, 5, 30, 4)))
    assert len(model.sample(40, seed="z")["c0"]) == 40
    assert plan.expected_error(rows=50).mean > 0.2


@pytest.mark.parametrize("seed", [3, 5, 10])
def test_noise_of_a_unit_of_a_million_records_ends_no_run(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Squares of such noisy scores pass the largest whole number of 64 bits."""
    # Triples are looked for where all pairs were scored.
    monkeypatch.setattr(pair_selection, "MAX_SCORE_NOISE", math.inf)
    domain = domain_of(2, 2, 2, 2, 2, unit=PrivacyUnit(max_records=10**6))
    plan = planned(domain, epsilon="1/10")
    rng = np.random.default_rng(seed)
    table = {name: rng.integers(0, 2, 200) for name in domain.names}
    answers = plan.run(SimulatedSession(domain=domain, table=table, rng=rng))
    assert max(int(np.abs(scores.values).max()) for scores in answers.scores) > 3.04e9
    model = plan.fit(answers)
    assert len(model.sample(40, seed="z")["c0"]) == 40


def test_after_a_stage_that_was_budgeted_in_rho_it_keeps_to_that() -> None:
    spec = Spec(mechanism="auto", epsilon=Fraction(1), delta=DELTA, parameters={})
    plan = Auto().calibrate(domain_of(4, 5), spec, within=ZeroConcentrated(rho=Fraction(1, 50)))
    answers = answered(plan, chain(200, 4, 5))
    assert {m.noise.law for m in answers.measurements} == {"discrete-gaussian"}
    assert sum(call.event.rho() for call in answers.calls) <= Fraction(1, 50)


def test_answers_of_another_plan_are_refused() -> None:
    plan = planned(domain_of(3, 4, 5))
    answers = answered(plan, chain(500, 3, 4, 5))
    twice = (*answers.measurements, answers.measurements[-1])
    for other in (
        replaced(answers, Measurement, answers.measurements[::-1]),
        replaced(answers, Scores, ()),
        replaced(answers, Scores, answers.scores * 2),
        replaced(answers, Measurement, twice),
        answered(planned(domain_of(3, 4)), chain(100, 3, 4)),
    ):
        with pytest.raises(InputError, match="not of this plan"):
            plan.fit(other)


def test_columns_of_weight_zero_are_not_measured_together_with_others() -> None:
    plan = planned(domain_of(3, 4, 5), weights={"c1": 0})
    answers = answered(plan, chain(500, 3, 4, 5))
    assert {m.clique for m in answers.measurements} <= {("c0",), ("c1",), ("c2",), ("c0", "c2")}
    assert plan.fit(answers).rows > 0


def test_a_table_that_does_not_fit_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(SpecError, match=r"more than the 200 MB of memory_mb.*'c2', 'c0', 'c1'"):
        planned(domain_of(*[9_000] * 2, 10_000, *[8_000] * 57), memory_mb=200)


def test_a_hundred_columns_are_planned_and_forecast_at_once() -> None:
    plan = planned(domain_of(*[20] * 100))
    assert 0 < plan.expected_error(rows=100_000).mean_pairs < 1


@pytest.mark.slow
def test_columns_of_ten_thousand_values_go_through_in_bins_and_keep_their_own_histogram() -> (
    None
):
    table = chain(4_000, 10_000, 6, 3)
    plan = planned(domain_of(10_000, 6, 3), epsilon="40")
    answers = answered(plan, table)
    model = plan.fit(answers)
    (cut,) = model.merged
    assert (cut.attribute, cut.bins.size, cut.within.size) == ("c0", 10_000, 10_000)
    assert 100 < cut.size <= 512, "its tables with others are by bins"
    codes = {name: one.astype(np.int64) for name, one in model.sample(4_000, seed="x").items()}
    assert codes["c0"].max() < 10_000
    halves = [
        np.bincount(one // 500, minlength=20) / 4_000 for one in (table[:, 0], codes["c0"])
    ]
    assert np.abs(halves[0] - halves[1]).sum() / 2 < 0.15
    low = [
        float(np.mean(one[1][one[0] < 2_000] == 0))
        for one in ((table[:, 0], table[:, 1]), (codes["c0"], codes["c1"]))
    ]
    assert low[0] == pytest.approx(low[1], abs=0.1), (
        "what a wide column has to do with others is kept by its bins"
    )


@pytest.mark.nightly
def test_a_hundred_columns_go_through() -> None:
    sizes = [2, 3, 2, 4] * 25
    table = chain(2_000, *sizes)
    plan = planned(domain_of(*sizes), epsilon="10")
    assert plan.needs(2_000).memory_bytes < 2_000_000_000
    model = plan.fit(answered(plan, table))
    assert len(model.targets) == 4950
    codes = model.sample(2_000, seed="x")
    for place in range(99):
        first, second = (table[:, at] for at in (place, place + 1))
        real = np.bincount(first * 4 + second, minlength=16)
        drawn = np.bincount(
            codes[f"c{place}"].astype(np.int64) * 4 + codes[f"c{place + 1}"], minlength=16
        )
        assert np.abs(real - drawn).sum() / 4_000 < 0.15


# ---- parts
# ------------------------------------------------------------------------------------------------------


def test_bins_are_nested_keep_common_codes_apart_and_merge_no_more_than_a_quarter() -> None:
    rng = np.random.default_rng(2)
    histogram = rng.random(200) ** 8 * 1000
    histogram[17] = histogram.sum()
    for ordered, rare in itertools.product((True, False), (True, False)):
        levels = bins.nested_bins(histogram, ordered=ordered, rare=rare, levels=(100, 32, 8))
        for fine, coarse in itertools.pairwise(levels):
            assert np.array_equal(bins.coarse_of_fine(fine, coarse)[fine], coarse)
        for level in levels:
            held = np.bincount(level, weights=histogram)
            assert np.array_equal(np.unique(level), np.arange(level.max() + 1))
            assert (level == level[17]).sum() == 1
            assert rare or held[np.bincount(level) > 1].max() <= histogram.sum() / 4 + 1
    table = rng.random((200, 3))
    assert np.allclose(
        bins.sum_into_bins(table, [levels[-1], np.arange(3)]).sum(axis=0), table.sum(axis=0)
    )


SHARES = [0.16, 0.16, 0.16, 0.12, 0.11, 0.10, 0.09, 0.06, 0.04]
"""Of codes of which two resolutions make the same bins."""


def test_the_same_bins_have_the_same_numbers() -> None:
    """How finely a table was counted is told by how many bins it has, and by nothing else."""
    levels = bins.nested_bins(np.array(SHARES) * 1000, ordered=False)
    assert levels[-1].max() == levels[-2].max() < len(SHARES) - 1
    assert levels[-1].tolist() == levels[-2].tolist()
    for level in bins.nested_bins(np.array([18.0, 19, 20, 21, 22]), ordered=False):
        assert level.tolist() == [0, 1, 2, 3, 4]


def test_a_pair_counted_most_coarsely_is_read_as_it_was_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(4)
    first, chance = (rng.choice(9, 20_000, p=SHARES) for _ in range(2))
    table = np.stack([first, np.where(rng.random(20_000) < 0.8, first, chance)], axis=1)
    coarsest = len(bins.LEVELS) - 1
    monkeypatch.setattr(Columns, "_resolutions", lambda *_: ((coarsest, coarsest),))
    columns = (
        Categorical(name=name, values=tuple("abcdefghi"), outside="clamp")
        for name in ("c0", "c1")
    )
    plan = planned(Domain(attributes=tuple(columns)))
    model = plan.fit(answered(plan, table))
    codes = model.sample(20_000, seed="x")
    assert np.mean((codes["c0"] == 0) & (codes["c1"] == 0)) == pytest.approx(
        0.8 * 0.16, abs=0.04
    )


def test_where_no_pair_is_worth_a_table_all_that_is_left_goes_to_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Columns, "choices", lambda *_, **__: [])
    rng = np.random.default_rng(6)
    attributes = tuple(Integer(name=f"c{i}", low=0, high=1) for i in range(12))
    plan = planned(Domain(attributes=attributes), epsilon="0.02")
    answers = answered(plan, rng.integers(0, 2, (3_000, 12)))
    assert [m.clique for m in answers.measurements] == [(a.name,) for a in attributes] * 2
    spent = Filter(plan.loss)
    for call in answers.calls:
        spent.admit(call.event)
    assert spent.remaining <= plan.loss.amount / 10**5
    model = plan.fit(answers)
    again = replaced(answers, Measurement, answers.measurements[:12])
    assert model.to_json() != plan.fit(again).to_json(), "the second answers count"
    with pytest.raises(InputError):
        plan.fit(replaced(answers, Measurement, answers.measurements[:-1]))


def test_more_is_spent_where_more_is_to_be_learned_and_never_more_than_there_is() -> None:
    side = Side(sizes=(allocation.cells_by_octave(np.full(10, 100.0)),), lost=(0.0,))
    wishes = [
        TableOption(
            number=n,
            distance=far,
            weight=1.0,
            sides=(side, side),
            levels=((0, 0),),
            deviations=(0.5,),
        )
        for n, far in enumerate((0.5, 0.02, 0.5, 0.003))
    ]
    found = allocation.allocate(wishes, rows=1000, power=0.5)
    parts = {choice.number: choice.part for choice in found}
    assert sum(parts.values()) <= 1
    assert parts[0] == parts[2] > parts.get(1, 0.0) >= parts.get(3, 0.0)
    known = [replace(wish, distance=0.0) for wish in wishes]
    assert allocation.allocate(known, rows=1000, power=0.5) == []


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_shrinkage_finds_ratios_and_leaves_expectations_that_noise_hides(
    law: shrinkage.Law,
) -> None:
    rng = np.random.default_rng(4)
    expected = np.full((30, 30), 200.0)
    true = expected.copy()
    true[:5] *= 3
    noise = (
        rng.normal(0, 40, true.shape)
        if law == "gaussian"
        else rng.laplace(0, 40 / 2**0.5, true.shape)
    )
    ratios = shrinkage.estimate_ratios(true + noise, expected, variance=1600.0, law=law).ratios
    assert np.abs(ratios * expected - true).mean() < 0.5 * np.abs(noise).mean()
    drowned = shrinkage.estimate_ratios(
        expected + rng.normal(0, 1e5, true.shape), expected, variance=1e10, law=law
    ).ratios
    assert np.ptp(drowned) < 0.2


def test_a_mixture_learns_from_tables_what_a_pair_without_one_looks_like() -> None:
    rng = np.random.default_rng(5)
    hidden = rng.integers(0, 2, 20_000)
    codes = [
        np.where(rng.random(20_000) < 0.9, hidden, 1 - hidden) * 3 + rng.integers(0, 3, 20_000)
        for _ in range(3)
    ]
    columns = [np.bincount(one, minlength=6).astype(np.float64) for one in codes]
    levels = [bins.nested_bins(one, ordered=False) for one in columns]

    def counted(a: int, b: int) -> np.ndarray:
        return (
            np.bincount(codes[a] * 6 + codes[b], minlength=36).reshape(6, 6).astype(np.float64)
        )

    pairs = [
        mixture.Pair(
            axes=pair, levels=(0, 0), values=counted(*pair), variance=100.0, distance=0.6
        )
        for pair in ((0, 1), (1, 2))
    ]
    (found,) = mixture.fits(
        columns, levels, pairs, rows=20_000, rngs=[np.random.default_rng(0)]
    )
    left = 0.5 * np.abs(found.table((0, 2)) - counted(0, 2) / 20_000).sum()
    product = (
        0.5
        * np.abs(np.outer(columns[0], columns[2]) / 20_000**2 - counted(0, 2) / 20_000).sum()
    )
    assert left < product / 3
    assert found.table((0, 1, 2)).sum() == pytest.approx(1)


@pytest.mark.parametrize(("deviation", "read"), [(14_000.0, False), (400.0, True)])
def test_a_table_whose_noise_hides_every_dependence_leaves_what_is_predicted(
    deviation: float, read: bool
) -> None:
    """One cell of a thousand is off by more than three standard deviations; it must not look like a
    dependence of the columns."""
    rows, sizes = 40_000, (4, 3)
    fine = Fine(
        rows=rows,
        histograms=tuple(np.full(size, rows / size) for size in sizes),
        levels=tuple((np.arange(size),) for size in sizes),
    )
    predicted = np.full(sizes, rows / 12)
    noisy = predicted.copy()
    noisy[1, 2] += 3.5 * deviation
    answer = PairCounts(values=noisy, variance=deviation**2, law="gaussian", levels=(0, 0))
    estimated = denoising.estimates(
        fine, {(0, 1): predicted}, {(0, 1): answer}, {(0, 1): 0.014}
    )[0, 1]
    assert np.allclose(estimated, predicted) is not read


def test_noise_of_a_part_costs_no_more_than_the_part() -> None:
    plan = planned(domain_of(6, 7, 8))
    noise = plan.noise_of_tables(0.4)
    assert isinstance(noise, Noise)
    assert noise.law == "rounded-gaussian"


def test_of_two_expectations_the_likelier_is_the_one_that_foresaw_the_table() -> None:
    rng = np.random.default_rng(2)
    right = rng.integers(50, 2_000, (12, 9)).astype(np.float64)
    wrong = np.full(right.shape, right.mean())
    noisy = right + rng.normal(0, 30, right.shape)
    near = shrinkage.initial_prior(shrinkage.GRID)
    likely = [
        shrinkage.evidence(noisy, one, variance=900.0, prior=near) for one in (right, wrong)
    ]
    assert likely[0] > likely[1]


def test_what_is_known_of_other_tables_steadies_a_small_one() -> None:
    """Four noisy cells do not tell that ratios hardly ever differ from 1; a hundred other tables do."""
    rng = np.random.default_rng(3)
    expected = np.full((2, 2), 300.0)
    certain = shrinkage.ratios_of_others([np.where(np.isclose(shrinkage.GRID, 1.0), 1.0, 0.0)])
    alone, told = [], []
    for _ in range(50):
        noisy = expected + rng.normal(0, 100, expected.shape)
        for errors, known in ((alone, None), (told, certain)):
            read = shrinkage.estimate_ratios(noisy, expected, variance=10_000.0, known=known)
            errors.append(np.abs(read.ratios - 1).mean())
    assert np.mean(told) < 0.5 * np.mean(alone)


def test_a_predicted_pair_is_no_farther_from_independence_than_its_score() -> None:
    """A pair that was not read is what others say of it, which may be wrong; its score was paid for, and says
    so."""
    rows, sizes = 40_000, (4, 4)
    histograms = tuple(np.full(size, rows / size) for size in sizes)
    fine = Fine(
        rows=rows, histograms=histograms, levels=tuple((np.arange(size),) for size in sizes)
    )
    dependent = np.diag(np.full(4, rows / 4))
    independent = np.full(sizes, rows / 16)
    farthest = float(np.abs(dependent - independent).sum())
    for score in (0.0, 8_000.0, farthest):
        scores = denoising.PairScores(values={(0, 1): score}, variance=100.0**2, level=0)
        estimated = denoising.estimates(
            fine, {(0, 1): dependent}, {}, {(0, 1): 0.1}, scores=scores
        )[0, 1]
        distance = float(np.abs(estimated - independent).sum())
        assert distance == pytest.approx(min(score + 300, farthest))
        assert np.allclose(estimated.sum(axis=0), histograms[1])


def test_few_columns_leave_more_to_their_pairs() -> None:
    shares = [planned(domain_of(*[5] * number)).columns_share() for number in range(2, 10)]
    assert shares == sorted(shares)
    assert shares[0] < 0.6 * shares[-1]
    assert shares[-2] == shares[-1], "from eight columns on it makes no difference"


def test_a_triple_whose_noise_is_next_to_nothing_is_taken_as_it_is() -> None:
    """A reading by a grid of ratios may be off by a hundred records in cells of a thousand."""
    rows, sizes = 40_000, (5, 4, 2)
    plan = planned(domain_of(*sizes), epsilon="10")
    columns = columns_of(plan, *([rows // size] * size for size in sizes))
    fine = Fine.of(columns, rows=columns.rows, histograms=columns.histograms)
    pairs = {
        (a, b): np.multiply.outer(fine.histograms[a], fine.histograms[b]) / fine.rows
        for a, b in columns.pairs
    }
    tables = GroupTables(columns=columns, fine=fine, counts=pairs, weights={})
    # No pair shows anything of the pattern.
    first, second, third = (np.resize([1.0, -1.0], size) for size in sizes)
    first[-1] = 0
    pattern = np.multiply.outer(np.multiply.outer(first, second), third)
    true = rows / 40 * (1 + 0.317 * pattern)
    noise = np.random.default_rng(3).normal(0, 0.8, sizes)
    answer = PairCounts(values=true + noise, variance=0.64, law="gaussian", levels=(0, 0, 0))
    estimated = tables.estimate((0, 1, 2), answer)
    assert np.abs(estimated - true).sum() < 40
