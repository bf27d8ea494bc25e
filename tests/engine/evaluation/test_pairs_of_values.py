"""Rank correlations and means within groups: exact by hand, judged beyond chance, drawn with real and
synthetic side by side."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from synth_engine.codec import RawPairs, count_generated
from synth_engine.codec.raw_pairs import rank_correlation as correlate
from synth_engine.domain import Categorical, Domain, Integer
from synth_engine.evaluation import page, report, tallies, view
from synth_engine.evaluation.figures import conditional_means, rank_correlation
from synth_engine.evaluation.plots import Report

DOMAIN = Domain(
    attributes=(
        Integer(name="age", low=0, high=99),
        Integer(name="pay", low=0, high=999),
        Categorical(name="job", values=("cook", "smith"), outside="clamp"),
    )
)


def table(age: list[int], pay: list[int], job: list[int], *, private: bool) -> tallies.Tallies:
    values = DOMAIN.attribute("job").value_labels
    frame = pd.DataFrame(
        {
            "age": pd.array(age, dtype="Int64"),
            "pay": pd.array(pay, dtype="Int64"),
            "job": pd.Series([values[code] for code in job], dtype="str"),
        }
    )
    made = count_generated(DOMAIN, [frame]).pairs
    pairs = RawPairs(
        private=private,
        records=made.records,
        retained=made.retained,
        ranks=made.ranks,
        means=made.means,
    )
    # Codes of bins play no part here.
    nothing = np.zeros(len(age), dtype=np.int64)
    codes = {"age": nothing, "pay": nothing, "job": np.array(job)}
    return report.tally(
        tallies.CodedTable(codes=codes, domain=DOMAIN, private=private, of_pairs=pairs)
    )


AGES = list(range(100)) * 2
JOBS = [0] * 100 + [1] * 100


def compared(real: list[int], synthetic: list[int]) -> Report:
    return report.compare(
        table(AGES, real, JOBS, private=False),
        table(AGES, synthetic, JOBS, private=True),
        DOMAIN,
    )


RISING = [*range(100), *range(200, 300)]


def test_a_kept_relation_has_no_difference() -> None:
    made = compared(RISING, RISING)
    [pair] = made["rank_correlation"]["pairs"]
    # Within either job age and pay rise together; the midranks of age are those of two equal values.
    assert pair["real"] == pair["synthetic"] and 0 < pair["real"] < 1
    assert made["rank_correlation"]["mean_difference"] == 0.0
    assert made["rank_correlation"]["verdict"]["level"] == "same"
    assert all(entry["gap"] == 0.0 for entry in made["conditional_means"]["pairs"])
    assert {entry["verdict"]["level"] for entry in made["conditional_means"]["pairs"]} == {
        "same"
    }


def test_means_within_groups_are_in_the_unit_of_the_column() -> None:
    made = compared(RISING, [*range(100), *range(250, 350)])
    entry = next(
        entry
        for entry in made["conditional_means"]["pairs"]
        if (entry["by"], entry["of"]) == ("job", "pay")
    )
    cook, smith = entry["groups"]
    assert (cook["real"], cook["synthetic"], cook["difference"]) == (49.5, 49.5, 0.0)
    assert (smith["real"], smith["synthetic"], smith["difference"]) == (249.5, 299.5, 50.0)
    # Half of the records are off by 50.
    assert entry["gap"] == pytest.approx(25 / np.std(RISING))
    worst = made["conditional_means"]["worst"][0]
    assert (worst["by"], worst["of"], worst["label"]) == ("job", "pay", "smith")


def test_tenths_end_at_real_quantiles_on_both_sides() -> None:
    real = table(AGES * 2, RISING * 2, JOBS * 2, private=False)
    made = report.compare(real, table(AGES, RISING[::-1], JOBS, private=True), DOMAIN)
    entry = next(
        entry
        for entry in made["conditional_means"]["pairs"]
        if (entry["by"], entry["of"]) == ("age", "pay")
    )
    assert [group["label"] for group in entry["groups"]][:2] == ["up to 9", "over 9 to 19"]
    assert all(group["records"] == {"real": 40, "synthetic": 20} for group in entry["groups"])


def test_a_lost_order_is_clear_and_a_turned_one_is_said() -> None:
    [pair] = compared(RISING, RISING[::-1])["rank_correlation"]["pairs"]
    assert pair["difference"] == pair["synthetic"] - pair["real"] < -0.5
    assert pair["verdict"]["level"] == "large" and "sign" in pair["verdict"]["words"]


def test_groups_of_few_real_records_are_not_judged() -> None:
    real = table([1] * 40, [1] * 10 + [5] * 30, [0] * 10 + [1] * 30, private=False)
    synthetic = table([1] * 40, [9] * 40, [0] * 10 + [1] * 30, private=True)
    made = report.compare(real, synthetic, DOMAIN)
    [entry] = [each for each in made["conditional_means"]["pairs"] if each["by"] == "job"]
    assert [group["judged"] for group in entry["groups"]] == [False, True]
    assert all(group["judged"] for group in made["conditional_means"]["worst"])


def test_a_group_that_the_synthetic_table_lacks_counts_as_a_standard_deviation() -> None:
    real = table(AGES, RISING, JOBS, private=False)
    synthetic = table(AGES, RISING, [0] * 200, private=True)
    made = report.compare(real, synthetic, DOMAIN)
    entry = next(
        each
        for each in made["conditional_means"]["pairs"]
        if (each["by"], each["of"]) == ("job", "pay")
    )
    assert entry["groups"][1]["synthetic"] is None
    assert entry["gap"] == pytest.approx(0.5 + 0.5 * 100 / np.std(RISING))


def test_the_chance_difference_is_that_of_two_samples() -> None:
    rng = np.random.default_rng(3)
    differences = []
    for _ in range(400):
        rhos = [correlate(rng.random(60), rng.random(60)).spearman or 0.0 for _ in range(2)]
        differences.append(abs(rhos[0] - rhos[1]))
    # The seed is fixed, so the mean of 400 is as well.
    assert np.mean(differences) == pytest.approx(
        rank_correlation.chance_difference(60, 60), rel=0.1
    )


def test_cards_draw_both_sides_and_reports_without_the_fields_are_shown() -> None:
    made = compared(RISING, [*range(100), *range(250, 350)])
    shown = view.lay_out(made)
    assert [card.key for card in shown.cards("ranks")] == [
        "rank-real",
        "rank-synthetic",
        "rank-difference",
    ]
    table_card, first, *_ = shown.cards("within-groups")
    assert table_card.figure is None and table_card.red and first.figure is not None
    assert [trace["name"] for trace in first.figure["data"]] == ["real", "synthetic"]
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert "Means that differ most" in page.html(made)
    earlier = {
        key: value
        for key, value in made.items()
        if key not in ("rank_correlation", "conditional_means")
    }
    assert not view.lay_out(earlier).cards("ranks")


def test_pairs_of_real_cells_do_not_become_private() -> None:
    source = tallies.CodedTable(
        codes={"age": np.zeros(1, int), "pay": np.zeros(1, int), "job": np.zeros(1, int)},
        domain=DOMAIN,
        of_pairs=RawPairs(private=False, records=1, retained=1, ranks={}, means={}),
    )
    with pytest.raises(ValueError, match="real cells"):
        report.tally(source)


def test_a_private_comparison_has_neither_figure() -> None:
    codes = {"age": np.array([1]), "pay": np.array([1]), "job": np.array([0])}
    private = report.tally(tallies.CodedTable(codes=codes, domain=DOMAIN))
    made = report.compare(private, private, DOMAIN)
    assert made["rank_correlation"] is None and made["conditional_means"] is None
    assert conditional_means.FIGURE.cards(made) == rank_correlation.FIGURE.cards(made) == []
