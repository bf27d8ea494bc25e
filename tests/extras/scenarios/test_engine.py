"""Test data that are wrong on purpose: each step does what it says, the record names every change, and bad
scenarios are refused."""

from __future__ import annotations

import datetime
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import cli
from synth_engine.domain import Categorical, Date, Domain, Identifier, Integer, Number
from synth_engine.errors import InputError
from synth_engine.extras.scenarios import engine as scenarios
from synth_engine.extras.scenarios.scenario import SCHEMA
from synth_engine.models.model import Model, Table, whole_weights

ROWS = 4_000
_LAW = {
    "sex": [0.4, 0.6],
    "school": [0.2, 0.3, 0.3, 0.2],
    "hired": [0.5, 0.5],
}


def model() -> Model:
    """Independent columns: a key, two unordered and one ordered column of texts, numbers with missing cells,
    decimals and days."""
    domain = Domain(
        attributes=(
            Identifier(name="id", regenerate="sequence", pattern="P#####"),
            Categorical(name="sex", values=("woman", "man"), outside="clamp"),
            Categorical(
                name="school",
                values=("none", "primary", "secondary", "university"),
                ordered=True,
                outside="clamp",
            ),
            Integer(name="age", low=0, high=99, width=1, missing=("?",)),
            Number(name="wage", low=0, high=50),
            Date(name="since", low=datetime.date(2019, 1, 1), high=datetime.date(2020, 12, 31)),
            Categorical(name="hired", values=("no", "yes"), outside="clamp"),
        )
    )
    return Model(
        mechanism="independent",
        domain=domain,
        rows=ROWS,
        tables=tuple(
            Table(
                clique=(name,),
                weights=whole_weights(np.array(_LAW.get(name, [1.0] * size))),
            )
            for name, size in domain.sizes.items()
        ),
    )


def built(*steps: dict[str, Any], rows: int = ROWS, seed: str = "s") -> scenarios.Built:
    document = {"schema": SCHEMA, "steps": list(steps)}
    return scenarios.build(
        model(), scenarios.Scenario.from_json(document), rows=rows, seed=seed
    )


def untouched(rows: int = ROWS, seed: str = "s") -> pd.DataFrame:
    """The table before any step: one with a fault in no cell."""
    return built({"kind": "whitespace", "column": "sex", "rate": 0}, rows=rows, seed=seed).table


FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "missing-marker", "column": "age", "rate": 0.1},
    {"kind": "wrong-type", "column": "age", "rate": 0.1},
    {"kind": "wrong-type", "column": "sex", "rate": 0.1},
    {"kind": "wrong-type", "column": "since", "rate": 0.1},
    {"kind": "out-of-range", "column": "age", "rate": 0.1},
    {"kind": "out-of-range", "column": "age", "values": ["-2"], "rate": 0.1},
    {"kind": "out-of-range", "column": "wage", "rate": 0.1},
    {"kind": "out-of-range", "column": "since", "rate": 0.1},
    {"kind": "unit-change", "column": "wage", "factor": 0.4536, "rate": 0.1},
    {"kind": "heavy-tail", "column": "wage", "rate": 0.1},
    {"kind": "encoding", "column": "school", "rate": 0.1},
    {"kind": "whitespace", "column": "school", "rate": 0.1},
    {"kind": "letter-case", "column": "school", "rate": 0.1},
    {"kind": "typing-error", "column": "school", "rate": 0.1},
    {"kind": "duplicate-key", "column": "id", "rate": 0.1},
    {"kind": "date-order", "column": "since", "rate": 0.1},
)


@pytest.mark.parametrize(
    "fault", FAULTS, ids=lambda fault: f"{fault['kind']}-{fault['column']}"
)
def test_a_fault_alters_its_share_of_cells_and_the_record_names_each(
    fault: dict[str, Any],
) -> None:
    before = untouched()
    after = built(fault)
    differs = after.table.ne(before)
    assert differs.sum().sum() == differs[fault["column"]].sum() == len(after.changes)
    cells = after.changes.set_index("row")
    column = after.table[fault["column"]]
    assert (np.flatnonzero(differs[fault["column"]]) + 1).tolist() == cells.index.tolist()
    assert cells["before"].tolist() == before[fault["column"]].iloc[cells.index - 1].tolist()
    assert cells["after"].tolist() == column.iloc[cells.index - 1].tolist()
    # Of the cells that can have it, the number is exact; nearly all cells can.
    assert 0.05 * ROWS < len(cells) <= 0.1 * ROWS + 1


def test_faults_are_what_they_say() -> None:
    def after(number: int) -> pd.Series:
        return built(FAULTS[number]).changes["after"]

    def pairs(number: int) -> list[tuple[str, str]]:
        changes = built(FAULTS[number]).changes
        return list(zip(changes["before"], changes["after"], strict=True))

    assert "?" not in set(after(0))  # this marker is declared
    assert not any(text.isdigit() for text in after(1))
    assert all(text.isdigit() for text in after(2))
    assert all(not 0 <= int(text) <= 99 for text in after(4))
    assert set(after(5)) == {"-2"}
    assert all(not 0 <= float(text) <= 50 for text in after(6))
    assert all(not "2019" <= text[:4] <= "2020" for text in after(7))
    for before, text in pairs(8):
        decimals = len(before.partition(".")[2])
        assert float(text) == pytest.approx(0.4536 * float(before), abs=0.51 * 10.0**-decimals)
    wages = untouched()["wage"].astype(float)
    assert (after(9).astype(float) >= np.quantile(wages, 0.9) - 1).all()
    assert all(text.encode("cp1252").decode() != before for before, text in pairs(10))
    assert all(text.strip() == before and text != before for before, text in pairs(11))
    assert all(text.lower() == before and text != before for before, text in pairs(12))
    assert all(sorted(text) == sorted(before) and text != before for before, text in pairs(13))
    keys = set(untouched()["id"])
    assert all(text in keys for text in after(14))
    for before, text in pairs(15):
        year, month, day = before.split("-")
        assert text == f"{year}-{day}-{month}"


def test_a_cell_has_one_fault_at_most() -> None:
    steps = [{"kind": "whitespace", "column": "sex", "rate": 0.5}] * 3
    changes = built(*steps).changes
    assert not changes.duplicated(["row", "column"]).any()
    # Each step takes half of what the earlier ones left.
    assert changes.groupby("step").size().tolist() == [2000, 1000, 500]


def test_the_same_seed_gives_the_same_table_and_later_steps_leave_earlier_ones() -> None:
    first, *_ = FAULTS
    again = built(first)
    assert again.table.equals(built(first).table)
    assert not again.table.equals(built(first, seed="t").table)
    more = built(first, FAULTS[8])
    assert more.changes[more.changes["step"] == 1].reset_index(drop=True).equals(again.changes)


UNFAIR = {
    "kind": "individual-unfairness",
    "protected": "sex",
    "group": "woman",
    "outcome": "hired",
    "favourable": "yes",
    "clusters": 7,
    "size": 9,
}


def test_unfair_clusters_are_alike_but_for_one_member() -> None:
    after = built({**UNFAIR, "tightness": 1})
    assert len(after.table) == ROWS + 63
    assert after.table["id"].is_unique
    for _, rows in after.changes.groupby("group"):
        members = after.table.iloc[rows["row"] - 1]
        assert len(members) == 9
        assert (members[["school", "age", "wage", "since"]].nunique() == 1).all()
        is_single = (rows["after"] == "treated otherwise").to_numpy()
        assert is_single.sum() == 1
        assert members["sex"][is_single].tolist() == ["woman"]
        assert members["hired"][is_single].tolist() == ["no"]
        assert set(members["sex"][~is_single]) == {"man"}
        assert set(members["hired"][~is_single]) == {"yes"}


def test_loose_clusters_vary_near_their_centre() -> None:
    after = built({**UNFAIR, "tightness": 0, "clusters": 1, "size": 500})
    members = after.table.iloc[after.changes["row"] - 1]
    ages = pd.to_numeric(members["age"], errors="coerce").dropna()
    assert members["wage"].nunique() > 1
    # The nearest hundredth of 4,000 records with about 40 a year of age.
    assert np.ptp(ages) <= 4 or len(ages) < len(members) / 2


@pytest.mark.parametrize("ratio", [0, 0.5, 0.8, 1, 1.6])
def test_disparate_impact_has_the_ratio_asked_for(ratio: float) -> None:
    step = {**UNFAIR, "kind": "disparate-impact", "ratio": ratio}
    for name in ("clusters", "size"):
        del step[name]
    before, after = untouched(), built(step)
    rate = after.table["hired"].eq("yes").groupby(after.table["sex"]).mean()
    women = (after.table["sex"] == "woman").sum()
    assert rate["woman"] == pytest.approx(ratio * rate["man"], abs=0.5 / women + 1e-12)
    assert (after.table["hired"] != before["hired"]).sum() == len(after.changes)
    assert after.table.drop(columns="hired").equals(before.drop(columns="hired"))


def test_an_imbalance_has_the_share_asked_for() -> None:
    for share in (0, 0.037, 0.9, 1):
        table = built(
            {"kind": "imbalance", "column": "school", "value": "primary", "share": share}
        ).table
        assert (table["school"] == "primary").sum() == round(share * ROWS)
        assert table["id"].is_unique


SCHOOLS = {
    "kind": "shares",
    "column": "school",
    "values": ["none", "university"],
    "shares": [0.5, 0.1],
}


def test_shares_are_met_to_the_record_and_others_keep_their_ratio() -> None:
    before = untouched()["school"].value_counts()
    after = built(SCHOOLS).table["school"].value_counts()
    assert (after["none"], after["university"]) == (ROWS / 2, ROWS / 10)
    kept = before["primary"] / (before["primary"] + before["secondary"])
    assert after["primary"] / (0.4 * ROWS) == pytest.approx(kept, abs=0.03)


def test_conditional_shares_leave_all_other_records_as_they_are() -> None:
    before = untouched()
    after = built(SCHOOLS | {"given": "sex", "when": "woman"}).table
    women = before["sex"] == "woman"
    assert (after["sex"] == before["sex"]).all()
    assert after[~women].equals(before[~women])
    shares = after[women]["school"].value_counts(normalize=True)
    assert shares["none"] == pytest.approx(0.5, abs=1 / women.sum())
    assert shares["university"] == pytest.approx(0.1, abs=1 / women.sum())


def test_shares_of_ranges_and_of_values_that_a_part_lacks() -> None:
    ages = {
        "kind": "shares",
        "column": "age",
        "values": ["0..9", "9..40"],
        "shares": [0.9, 0.1],
    }
    after = built(ages).table["age"].astype(int)
    # 9 lies in both ranges and counts for the first.
    assert (after <= 9).sum() == 0.9 * ROWS
    assert after.between(10, 40).sum() == 0.1 * ROWS
    no_men = SCHOOLS | {"column": "sex", "values": ["woman"], "shares": [1]}
    men = SCHOOLS | {"column": "sex", "values": ["man"], "shares": [0.25]}
    both = built(no_men, men)
    assert (both.table["sex"] == "man").sum() == ROWS / 4
    assert both.changes["after"].tolist() == ["man"] * (ROWS // 4)
    rows = both.changes["row"].to_numpy() - 1
    assert (both.table["sex"].iloc[rows] == "man").all()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"shares": [-0.1, 0.1]}, "entry 1 of parameter 'shares' must lie between 0"),
        ({"shares": [0.9, 0.2]}, "add up to more than 1; normalise"),
        ({"shares": [0.9]}, "not as many shares as values"),
        ({"values": ["none", "nowhere"]}, "'values' names"),
        ({"column": "nothing"}, "'column' names no column"),
        ({"given": "sex", "when": "child"}, "'when' names"),
        ({"given": "school", "when": "none"}, "two parameters name one column"),
        (
            {
                "values": ["none", "primary", "secondary", "university"],
                "shares": [0.2, 0.2, 0.2, 0.2],
            },
            "less than 1, and no record has another value",
        ),
    ],
)
def test_shares_that_no_table_has_are_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as refusal:
        built(SCHOOLS | changed)
    assert words in str(refusal.value)


def test_an_archive_holds_all_files_and_is_the_same_each_time() -> None:
    packed = [io.BytesIO(), io.BytesIO()]
    for file in packed:
        scenarios.archive(built(SCHOOLS), file)
    assert packed[0].getvalue() == packed[1].getvalue()
    with zipfile.ZipFile(packed[0]) as files:
        assert files.namelist() == [
            "STATEMENT.txt",
            "table.csv",
            "changes.csv",
            "record.json",
            "scenario.json",
        ]
        again = scenarios.Scenario.from_json(json.loads(files.read("scenario.json")))
        table = pd.read_csv(files.open("table.csv"), dtype="str", keep_default_na=False)
    assert (
        again.to_json()
        == scenarios.Scenario.from_json({"schema": SCHEMA, "steps": [SCHOOLS]}).to_json()
    )
    assert table.equals(built(SCHOOLS).table.astype("str"))


@pytest.mark.parametrize("by", [-1.5, 0, 0.7])
def test_a_shift_moves_the_mean(by: float) -> None:
    before, after = (
        untouched()["wage"].astype(float),
        built({"kind": "shift", "column": "wage", "by": by}).table["wage"].astype(float),
    )
    moved = (after.mean() - before.mean()) / before.std(ddof=0)
    # Systematic sampling moves the mean by at most one record of 4,000 for each step of the cumulated
    # weights.
    assert moved == pytest.approx(by, abs=0.01)


@pytest.mark.parametrize(("direction", "sign"), [("same", 1), ("opposite", -1)])
def test_a_correlation_keeps_both_columns(direction: str, sign: int) -> None:
    before = untouched()
    after = built(
        {"kind": "correlation", "first": "wage", "second": "school", "direction": direction}
    ).table
    for name in before:
        assert sorted(after[name]) == sorted(before[name])
    place = after["school"].map({"none": 0, "primary": 1, "secondary": 2, "university": 3})
    wages = after["wage"].astype(float).rank(method="first")
    assert sign * np.corrcoef(wages, place)[0, 1] > 0.9
    half = built({"kind": "correlation", "first": "sex", "second": "hired", "share": 0.5}).table
    assert sorted(half["hired"]) == sorted(before["hired"])


def test_near_duplicates_differ_in_a_few_cells_and_have_their_own_keys() -> None:
    after = built({"kind": "near-duplicates", "copies": 300, "cells": 2})
    assert len(after.table) == ROWS + 300
    assert after.table["id"].is_unique
    originals = after.changes["group"].str.removeprefix("copy of row ").astype(int)
    copies = after.table.drop(columns="id")
    differ = (
        copies.iloc[after.changes["row"] - 1].to_numpy()
        != copies.iloc[originals - 1].to_numpy()
    ).sum(axis=1)
    assert differ.max() == 2
    # Added rows are no block at one end.
    assert after.changes["row"].min() < ROWS / 4
    assert after.changes["row"].max() > ROWS * 3 / 4


BAD: tuple[tuple[list[dict[str, Any]], str], ...] = (
    ([], "no step"),
    ([{"kind": "flood"}], "step 1 has an unknown kind"),
    ([{"column": "sex"}], "step 1 has no kind"),
    ([{"kind": "whitespace"}], "parameter 'column' is missing"),
    ([{"kind": "whitespace", "column": "sex", "rate": 1.5}], "rate"),
    ([{"kind": "whitespace", "column": "sex", "speed": 2}], "no parameter 'speed'"),
    ([{"kind": "whitespace", "column": "colour"}], "names no column"),
    (
        [{"kind": "unit-change", "column": "sex"}],
        "'sex': step 1, unit-change: the column has no",
    ),
    ([{"kind": "heavy-tail", "column": "since"}], "the column has no numbers"),
    ([{"kind": "out-of-range", "column": "sex"}], "the column has no numbers"),
    ([{"kind": "date-order", "column": "age"}], "no dates"),
    ([{"kind": "duplicate-key", "column": "sex"}], "no key"),
    ([{"kind": "duplicate-key", "column": "id", "rate": 1}], "no key is left"),
    ([{"kind": "encoding", "column": "age"}], "no cell"),
    ([{"kind": "missing-marker", "column": "age", "markers": ["?"]}], "declared as missing"),
    ([{"kind": "shift", "column": "sex"}], "no order"),
    ([{"kind": "shift", "column": "wage", "by": 10}], "no weights"),
    ([{"kind": "imbalance", "column": "sex", "value": "x", "share": 1}], "no drawn record"),
    ([{"kind": "correlation", "first": "sex", "second": "sex"}], "name one column"),
    ([FAULTS[0], {"kind": "near-duplicates"}], "step 2, near-duplicates, comes after a fault"),
    ([{"kind": "near-duplicates", "copies": 1_000_000}] * 3, "add more than 2,000,000 rows"),
    (
        [{k: v for k, v in UNFAIR.items() if k != "group"}],
        "step 1, individual-unfairness: parameter 'group' is missing",
    ),
)


@pytest.mark.parametrize(("steps", "rule"), BAD, ids=[rule for _, rule in BAD])
def test_bad_scenarios_are_refused_with_the_step(
    steps: list[dict[str, Any]], rule: str
) -> None:
    with pytest.raises(InputError, match=rule.replace("(", r"\(")) as refused:
        built(*steps)
    assert refused.value.repair


def test_a_ratio_that_no_rate_has_is_refused() -> None:
    step = {
        "kind": "disparate-impact",
        "protected": "sex",
        "group": "woman",
        "outcome": "hired",
        "favourable": "yes",
        "ratio": 3,
    }
    with pytest.raises(InputError, match="above 1"):
        built(step)


def test_the_command_writes_table_changes_and_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.json").write_text(json.dumps(model().to_json()))
    (tmp_path / "scenario.json").write_text(
        json.dumps({"schema": SCHEMA, "steps": [UNFAIR, *FAULTS[:4]]})
    )
    words = [
        "scenario",
        str(tmp_path / "model.json"),
        f"--scenario={tmp_path / 'scenario.json'}",
        "--rows=500",
        "--seed=7",
        f"--out={tmp_path / 'table.csv'}",
        f"--changes={tmp_path / 'changes.parquet'}",
        f"--record={tmp_path / 'record.json'}",
    ]
    assert cli.main(words) == 0
    assert "altered on purpose" in capsys.readouterr().err
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["seed"] == "7"
    assert record["rows"] == 563
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 564
    assert cli.main(words) == 2  # the files exist
    # A pipeline that finds every changed age and flags two innocent cells.
    changes = pd.read_parquet(tmp_path / "changes.parquet")
    findings = changes.loc[changes["column"] == "age", ["row", "column"]]
    innocent = pd.DataFrame({"row": [1, 2], "column": ["wage", "wage"]})
    pd.concat([findings, innocent]).to_csv(tmp_path / "found.csv", index=False)
    score = [
        "scenario-score",
        str(tmp_path / "changes.parquet"),
        str(tmp_path / "found.csv"),
        f"--out={tmp_path / 'score.json'}",
    ]
    assert cli.main(score) == 0
    scored = json.loads((tmp_path / "score.json").read_text())
    recall = {entry["step"]: entry["recall"] for entry in scored["steps"]}
    assert recall[2] == recall[3] == 1
    assert recall[4] == recall[5] == 0
    assert scored["right"] == len(findings)
    assert scored["precision"] == pytest.approx(len(findings) / (len(findings) + 2), abs=1e-6)


def test_the_command_takes_a_description_without_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    domain = model().domain
    (tmp_path / "DOMAIN.json").write_text(json.dumps(domain.to_json()))
    (tmp_path / "scenario.json").write_text(json.dumps({"schema": SCHEMA, "steps": [UNFAIR]}))
    words = [
        "scenario",
        str(tmp_path / "DOMAIN.json"),
        f"--scenario={tmp_path / 'scenario.json'}",
        "--rows=400",
        "--seed=7",
        f"--out={tmp_path / 'table.csv'}",
        f"--changes={tmp_path / 'changes.csv'}",
        f"--record={tmp_path / 'record.json'}",
    ]
    assert cli.main(words) == 0
    assert "without data" in capsys.readouterr().err
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["statement"] == scenarios.DESCRIBED_STATEMENT
    assert record["description_sha256"] == domain.digest


def test_a_description_says_how_many_rows_or_the_usual_number_is_drawn() -> None:
    document = {"attributes": [{"name": "n", "kind": "integer", "low": 0, "high": 9}]}
    assert scenarios.read_description(document).model.rows == 10_000
    public = document | {"relation": "replace-one", "rows": 77}
    assert scenarios.read_description(public).model.rows == 77
    assert scenarios.is_description(document)
    assert not scenarios.is_description(model().to_json())


def test_the_catalogue_lists_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["scenarios"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {entry["group"] for entry in listed} == {"situation", "fault"}
    assert {fault["kind"] for fault in FAULTS} <= {entry["id"] for entry in listed}


def test_a_description_of_very_many_values_is_refused_before_a_table_is_made() -> None:
    columns = [
        {"name": f"c{number}", "kind": "integer", "low": 1, "high": 10_000, "width": 1}
        for number in range(105)
    ]
    with pytest.raises(InputError, match="more than 1,048,576 values together"):
        scenarios.read_description({"attributes": columns})
