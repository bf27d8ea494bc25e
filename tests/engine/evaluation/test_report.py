"""The report: what it asks for, what it says, and that it agrees with the benchmark's own score."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from itertools import combinations
from math import comb
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from synth_engine.domain import Domain
from synth_engine.evaluation import report, summaries, tallies
from tests.engine.evaluation.tables import DOMAIN, codes, compared, shuffled, tally
from tests.shared import needs

RED = "Computed on real data: not differentially private"


def test_a_report_asks_for_all_columns_and_pairs_and_at_most_two_hundred_triples() -> None:
    wide = Domain.from_json({f"c{number}": 2 for number in range(15)})
    asked = report.cliques(wide)
    sizes = [len(clique) for clique in asked]
    assert [sizes.count(size) for size in (1, 2, 3)] == [15, comb(15, 2), 200]
    assert len(set(asked)) == len(asked)
    assert asked == report.cliques(wide)
    assert all(
        clique == tuple(name for name in wide.names if name in clique) for clique in asked
    )


def test_tables_beyond_the_bound_are_left_out_and_named() -> None:
    large = Domain.from_json({"a": 9_000, "b": 9_000, "c": 2})
    assert report.cliques(large) == [("a",), ("b",), ("c",), ("a", "c"), ("b", "c")]
    drawn = codes(50, seed=1, domain=large)
    left_out = compared(drawn, drawn, domain=large)["left_out"]
    assert [(entry["attributes"], entry["cells"]) for entry in left_out] == [
        (["a", "b"], 81_000_000),
        (["a", "b", "c"], 162_000_000),
    ]
    assert {entry["reason"] for entry in left_out} == {"more cells than the bound"}


def test_a_report_is_json_and_says_that_it_is_not_private() -> None:
    made = compared(codes(300, seed=1), codes(200, seed=2))
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert made["schema"] == "synth_engine/report/1"
    assert made["private"] is False and made["notice"] == RED
    assert made["domain_sha256"] == DOMAIN.digest
    assert made["rows"] == {"real": 300, "synthetic": 200}
    assert "key" not in made["columns"]


def test_a_table_is_at_no_distance_from_itself() -> None:
    drawn = codes(300, seed=1)
    made = compared(drawn, drawn)
    assert all(
        made["summary"][name]["value"] == 0.0 for name in ("tvd1", "tvd2", "tvd3", "mi_err")
    )
    assert made["summary"]["tvd2"]["verdict"]["level"] == "same"


def test_lost_dependence_shows_in_pairs_and_not_in_columns() -> None:
    real = codes(3_000, seed=1)
    made = compared(real, shuffled(real, seed=2))
    assert made["summary"]["tvd1"]["value"] == 0.0
    worst = max(made["pairs"], key=lambda pair: abs(pair["nmi_difference"]))
    assert worst["attributes"] == ["colour", "age"]
    assert worst["nmi_difference"] == worst["nmi_synthetic"] - worst["nmi_real"] < -0.5
    assert worst["tvd"] > 3 * worst["tvd_by_chance"] > 0
    assert worst["dependence"]["words"].startswith("Lost")


def test_two_samples_of_one_population_are_said_to_be_the_same() -> None:
    made = compared(codes(5_000, seed=1), codes(5_000, seed=2))
    assert made["summary"]["tvd3"]["value"] > 0.05
    assert {made["summary"][name]["verdict"]["level"] for name in ("tvd1", "tvd2", "tvd3")} == {
        "same"
    }


def test_everything_is_listed_worst_first() -> None:
    made = compared(codes(200, seed=1), codes(200, seed=2))
    for name in ("attributes", "pairs", "triples"):
        order = [
            (summaries.SEVERITY.index(entry["verdict"]["level"]), entry["tvd"])
            for entry in made[name]
        ]
        assert order == sorted(order, reverse=True) and len(order) > 5


def test_an_attribute_comes_with_its_labels_cuts_counts_and_missing_share() -> None:
    real = codes(200, seed=1)
    entries = {
        entry["name"]: entry for entry in compared(real, codes(100, seed=2))["attributes"]
    }
    gain, colour = entries["gain"], entries["colour"]
    assert gain["cuts"] == [0, 1, 100, 10_001] and len(gain["labels"]) == 3
    assert gain["counts"]["real"] == np.bincount(real["gain"], minlength=3).tolist()
    assert sum(gain["shares"]["synthetic"]) == pytest.approx(1.0)
    assert colour["cuts"] is None and gain["missing"] is None
    assert colour["missing"]["real"] == pytest.approx((real["colour"] == 4).mean())


def test_an_empty_synthetic_table_is_as_far_as_can_be() -> None:
    nothing = {name: np.array([], dtype=np.int64) for name in DOMAIN.names}
    made = compared(codes(50, seed=1), nothing)
    assert made["summary"]["tvd1"]["value"] == 1.0
    json.dumps(made, allow_nan=False)


@pytest.mark.parametrize(
    ("columns", "absent"), [(1, {"tvd2", "tvd3", "mi_err"}), (2, {"tvd3"})]
)
def test_tables_of_one_or_two_columns_have_a_report(columns: int, absent: set[str]) -> None:
    few = Domain.from_json({f"c{number}": 3 for number in range(columns)})
    drawn = {name: np.array([0, 1, 2]) for name in few.names}
    summary = compared(drawn, drawn, domain=few)["summary"]
    assert {name for name, value in summary.items() if value is None} == absent


def test_noisy_answers_on_both_sides_make_a_private_report_of_what_was_measured() -> None:
    noisy = tallies.Tallies(
        private=True,
        n=40,
        counts={("member",): np.array([25, -3]), ("gain",): np.array([9, 9, 0])},
    )
    made = report.compare(noisy, tally(codes(50, seed=1), private=True), DOMAIN)
    assert made["private"] is True and RED not in made["notice"]
    assert {entry["name"] for entry in made["attributes"]} == {"member", "gain"}
    assert {entry["reason"] for entry in made["left_out"]} == {"not measured"}
    assert made["summary"]["tvd2"] is None


def test_one_side_on_real_data_is_enough_to_make_a_report_not_private() -> None:
    real, synthetic = (
        tally(codes(50, seed=1), private=False),
        tally(codes(50, seed=2), private=True),
    )
    assert report.compare(synthetic, real, DOMAIN)["private"] is False


def test_rows_are_shown_in_the_order_of_the_domain_twenty_a_side() -> None:
    rows = [{"age": 5, "colour": "red", "key": "secret", "member": None}] * 30
    made = compared(
        codes(30, seed=1),
        codes(30, seed=2),
        rows=report.SampleRows(real=rows, synthetic=rows[:1]),
    )
    assert made["side_by_side"]["columns"] == list(DOMAIN.names)
    assert len(made["side_by_side"]["real"]) == 20
    assert made["side_by_side"]["synthetic"] == [["red", "5", "", "", "", "", ""]]


def test_real_rows_are_refused_in_a_private_report() -> None:
    noisy = tally(codes(30, seed=1), private=True)
    with pytest.raises(ValueError, match="real rows"):
        report.compare(noisy, noisy, DOMAIN, rows=report.SampleRows(real=[{"age": 5}]))


@pytest.mark.slow
@pytest.mark.shared_data
def test_the_report_agrees_with_the_benchmark_score_on_adult(tmp_path: Path) -> None:
    needs("tools/score.py")
    subprocess.run([sys.executable, needs("tools/split.py"), tmp_path], check=True)
    train, test = pd.read_csv(tmp_path / "train.csv"), pd.read_csv(tmp_path / "test.csv")
    rng = np.random.default_rng(3)
    drawn = {
        name: rng.permutation(test[name].to_numpy()) for name in test
    }  # columns without dependence
    drawn["education-num"] = test["education-num"].to_numpy()
    pd.DataFrame(drawn).to_csv(tmp_path / "synthetic.csv", index=False)
    expected = _score_module().score(
        tmp_path / "train.csv",
        tmp_path / "synthetic.csv",
        tmp_path / "test.csv",
        tmp_path / "domain.json",
        do_ml=False,
    )
    domain = Domain.from_json(json.loads((tmp_path / "domain.json").read_text()))
    made = compared(
        {name: train[name].to_numpy() for name in domain.names}, drawn, domain=domain
    )
    for name in ("tvd1", "tvd2", "tvd3", "mi_err"):
        assert made["summary"][name]["value"] == pytest.approx(expected[name], abs=1e-9), name
    assert (made["summary"]["tvd2"]["of"], made["summary"]["tvd3"]["of"]) == (91, 200)


def _score_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_score", needs("tools/score.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_pair_of_columns_is_in_the_report_once() -> None:
    made = compared(codes(60, seed=1), codes(60, seed=2))
    assert sorted(tuple(pair["attributes"]) for pair in made["pairs"]) == sorted(
        combinations(DOMAIN.names, 2)
    )
