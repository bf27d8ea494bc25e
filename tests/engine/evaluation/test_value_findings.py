"""What a verdict on one column judges: what people compute from its values, and values that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from synth_engine import pipeline
from synth_engine.codec import RawColumn
from synth_engine.codec.value_counts import NumberCounter, TextCounter
from synth_engine.domain import Attribute, Domain
from synth_engine.evaluation import raw_values, value_findings, wording
from synth_engine.evaluation.summaries import KEPT_LEVELS
from synth_engine.evaluation.wording import FigureVerdict, Json

KINDS: dict[str, Json] = {
    "units": {"kind": "integer", "low": 0, "high": 1_000},
    "year": {"kind": "integer", "low": 1_800, "high": 2_050},
    "severity": {"kind": "integer", "low": 1, "high": 5},
    "weight": {"kind": "number", "low": 0, "high": 1_000_000},
    "balance": {"kind": "number", "low": -1_000_000, "high": 1_000_000},
    "day": {"kind": "date", "low": "2020-01-01", "high": "2023-12-31"},
    "ward": {"kind": "categorical", "values": ["north", "south"], "other": True},
}
DOMAIN = Domain.from_json(
    {
        "attributes": [
            {"name": name, "provenance": "declared"} | kind for name, kind in KINDS.items()
        ]
    }
)
Values = NDArray[Any]


def of(name: str) -> Attribute:
    return DOMAIN.attribute(name)


def column(values: Values, *, missing: int = 0) -> RawColumn:
    counter = NumberCounter()
    counter.add(np.asarray(values, dtype=np.float64), np.ones(len(values), dtype=np.int64))
    return RawColumn(
        private=False,
        records=len(values) + missing,
        missing=missing,
        numbers=counter.finish(),
    )


def texts(cells: list[str], *, missing: int = 0) -> RawColumn:
    counter = TextCounter()
    counter.add(cells, np.ones(len(cells), dtype=np.int64))
    return RawColumn(
        private=False,
        records=len(cells) + missing,
        missing=missing,
        texts=counter.finish(),
    )


def verdict(name: str, real: Values, synthetic: Values) -> FigureVerdict:
    entry = raw_values.compare_column(of(name), column(real), column(synthetic))
    made: FigureVerdict = entry["verdict"]
    return made


def units(rng: np.random.Generator, rows: int, *, largest: float) -> Values:
    """Units of houses: 57 of 100 have none, most others one to four, a few of them hundreds."""
    many = np.minimum(np.rint(rng.pareto(0.95, rows) + 0.6), largest)
    return np.where(rng.random(rows) < 0.57, 0, many)


def test_a_lost_total_is_seen_where_the_values_are_close() -> None:
    """One of fifty values, in the tail: hardly a gap, and a quarter of the total."""
    rng = np.random.default_rng(1)
    real, synthetic = (units(rng, 26_000, largest=largest) for largest in (490, 31))
    found = verdict("units", real, synthetic)
    entry = raw_values.compare_column(of("units"), column(real), column(synthetic))
    assert entry["ks"] < 0.02
    change = synthetic.mean() / real.mean() - 1
    assert -0.6 < change < -0.2
    assert found["level"] == "large"
    assert f"the total of as many values {change:+.0%}" in found["words"]


def test_a_lost_tail_is_seen_where_the_median_is_kept() -> None:
    rng = np.random.default_rng(2)
    real = rng.lognormal(3, 1.2, 30_000)
    top = np.quantile(real, 0.985)
    synthetic = np.minimum(rng.lognormal(3, 1.2, 30_000), top)
    found = verdict("weight", real, synthetic)
    assert found["level"] not in KEPT_LEVELS
    assert "the highest hundredth begins at" in found["words"]


STRANGE = {
    # values of the real table, of which a share is replaced by a value that it does not have
    "severity": (np.array([1, 2, 3, 4]), 5, 0.004),
    "year": (np.arange(1_880, 2_022), 2_047, 0.0056),
    "units": (np.arange(18, 90), 125, 0.003),
}


@pytest.mark.parametrize("name", STRANGE)
def test_values_that_cannot_be_are_a_difference(name: str) -> None:
    values, strange, share = STRANGE[name]
    rng = np.random.default_rng(3)
    real, synthetic = rng.choice(values, 20_000), rng.choice(values, 20_000)
    assert verdict(name, real, synthetic)["level"] == "same"
    changed = np.where(rng.random(20_000) < share, strange, synthetic)
    found = verdict(name, real, changed)
    assert found["level"] != "same"
    where = (
        "occur nowhere in the real table" if name == "severity" else "lie beyond all real ones"
    )
    assert where in found["words"]


@pytest.mark.parametrize(
    ("share", "level"), [(0.005, "small"), (0.03, "clear"), (0.2, "large")]
)
def test_the_level_follows_the_share_of_strange_values(share: float, level: str) -> None:
    rng = np.random.default_rng(4)
    real, synthetic = rng.integers(1, 5, 20_000), rng.integers(1, 5, 20_000)
    changed = np.where(np.arange(20_000) < share * 20_000, 5, synthetic)
    made = value_findings.findings(
        of("severity"),
        *(side.numbers for side in (column(real), column(changed)) if side.numbers),
    )
    assert [each.level for each in made if "nowhere" in each.words] == [level]


def test_a_mean_of_values_with_signs_is_judged_by_its_spread() -> None:
    rng = np.random.default_rng(5)
    real = rng.normal(0, 1_000, 40_000)
    near, far = rng.normal(0, 1_000, 40_000), rng.normal(0, 1_000, 40_000) + 150
    assert value_findings.findings(of("balance"), *_numbers(real, near)) == []
    means = [
        each
        for each in value_findings.findings(of("balance"), *_numbers(real, far))
        if each.words.startswith("mean ")
    ]
    assert [each.level for each in means] == ["clear"]
    assert "total" not in means[0].words


def test_days_have_a_mean_and_no_total() -> None:
    rng = np.random.default_rng(6)
    first = np.datetime64("2020-06-01").astype(int) + 719_163
    real, later = (
        first + rng.integers(0, 300, 10_000),
        first + 60 + rng.integers(0, 300, 10_000),
    )
    made = value_findings.findings(of("day"), *_numbers(real, later))
    assert made and all("total" not in each.words for each in made)
    assert any(each.words.startswith("mean 2020-10-") for each in made)


def _numbers(*sides: Values) -> list[Any]:
    return [column(side).numbers for side in sides]


LAWS = {
    "units": lambda rng, rows: units(rng, rows, largest=490),
    "weight": lambda rng, rows: rng.lognormal(2, 2, rows),
    "balance": lambda rng, rows: rng.standard_t(3, rows) * 100,
    "severity": lambda rng, rows: rng.choice([1, 2, 3, 4], rows, p=[0.9, 0.07, 0.02, 0.01]),
    "year": lambda rng, rows: 1_880 + rng.binomial(141, 0.8, rows),
}


@pytest.mark.parametrize("rows", [400, 20_000])
@pytest.mark.parametrize("name", LAWS)
def test_two_samples_of_one_population_have_no_finding(name: str, rows: int) -> None:
    rng = np.random.default_rng(7)
    levels = []
    for _ in range(40):
        sides = _numbers(*(LAWS[name](rng, rows) for _ in range(2)))
        levels += [each.level for each in value_findings.findings(of(name), *sides)]
    assert len(levels) <= 1
    assert "large" not in levels


def test_other_is_a_difference_where_the_real_table_has_values() -> None:
    """What was not declared is one code on both sides, and a value in the real table alone."""
    real = texts([f"ward {place % 50}" for place in range(840)] + ["north"] * 160)
    synthetic = texts(["(other)"] * 840 + ["north"] * 160)
    entry = raw_values.compare_column(of("ward"), real, synthetic)
    assert entry["other"] == pytest.approx(0.84)
    assert entry["verdict"]["level"] in ("large", "damaged")
    few = texts(["(other)"] * 30 + ["north"] * 970)
    assert raw_values.compare_column(of("ward"), real, few)["verdict"]["level"] == "small"
    # A table that was written with this text has it on both sides.
    same = raw_values.compare_column(of("ward"), synthetic, synthetic)
    assert same["other"] == 0 and same["verdict"] is None


def test_a_column_that_is_empty_on_one_side_is_damaged() -> None:
    none, some = column(np.empty(0), missing=500), column(np.arange(500) % 7)
    for name, empty, full in (
        ("units", none, some),
        ("ward", texts([], missing=500), texts(["north"] * 500)),
    ):
        lost = raw_values.compare_column(of(name), full, empty)["verdict"]
        made_up = raw_values.compare_column(of(name), empty, full)["verdict"]
        assert (lost, made_up) == (wording.LOST, wording.MADE_UP)
        assert raw_values.compare_column(of(name), empty, empty)["verdict"] is None


SAME: FigureVerdict = {"level": "same", "words": ""}
FAR: FigureVerdict = {"level": "large", "words": "84 of 100 records would have to change"}


def test_equality_of_many_different_values_is_not_asked_for() -> None:
    """Two samples of a continuous column have hardly a value in common."""
    rng = np.random.default_rng(8)
    entry = raw_values.compare_column(
        of("weight"), column(rng.lognormal(3, 1, 5_000)), column(rng.lognormal(3, 1, 5_000))
    )
    assert raw_values.column_verdict(FAR, entry, few_codes=False)["level"] in KEPT_LEVELS
    assert raw_values.column_verdict(FAR, entry, few_codes=True)["level"] == "large"
    few = raw_values.compare_column(
        of("severity"), column(np.arange(900) % 4), column(np.arange(900) % 4)
    )
    assert raw_values.column_verdict(FAR, few, few_codes=False)["level"] == "large"


@pytest.mark.parametrize(("missing", "level"), [(0, "same"), (100, "small"), (900, "large")])
def test_missing_values_that_the_real_table_does_not_have_are_a_difference(
    missing: int, level: str
) -> None:
    rng = np.random.default_rng(9)
    real, made = rng.lognormal(3, 1, 3_000), rng.lognormal(3, 1, 3_000)
    entry = raw_values.compare_column(of("weight"), column(real), column(made, missing=missing))
    found = raw_values.column_verdict(SAME, entry, few_codes=False)
    assert found["level"] == max((level, entry["verdict"]["level"]), key=_severity)


def _severity(level: str) -> int:
    return ("same", "small", "clear", "large").index(level)


def test_a_report_of_dates_that_were_not_listed_does_not_call_them_kept(tmp_path: Path) -> None:
    """Each value is written in its own way, so that few of them are listed."""
    rng = np.random.default_rng(10)
    days = [f"{day}/{month}/2022" for day in range(1, 28) for month in range(1, 13)]
    cells = rng.choice(days, 2_000)
    listed = sorted(set(days[:20]))
    synthetic = [cell if cell in listed else "(other)" for cell in rng.choice(days, 2_000)]
    sex = rng.choice(["f", "m"], 2_000)
    paths = []
    for name, column_cells in (("real", cells), ("synthetic", synthetic)):
        path = tmp_path / f"{name}.csv"
        rows = zip(column_cells, sex, strict=True)
        path.write_text("day,sex\n" + "\n".join(",".join(row) for row in rows) + "\n")
        paths.append(path)
    described = Domain.from_json(
        {
            "attributes": [
                {"name": "day", "kind": "categorical", "values": listed, "other": True},
                {"name": "sex", "kind": "categorical", "values": ["f", "m"], "missing": [""]},
            ]
        }
    )
    made: Json = dict(pipeline.compare(*paths, domain=described))
    levels = {entry["name"]: entry["verdict"]["level"] for entry in made["attributes"]}
    assert levels == {"day": "large", "sex": "same"} or levels["day"] == "damaged"
    assert made["pairs"][0]["verdict"]["level"] not in KEPT_LEVELS
    assert made["summary"]["overall"]["verdict"]["level"] in ("large", "damaged")
