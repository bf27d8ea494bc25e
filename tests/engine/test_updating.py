"""A release is aged by a public rule: post-processing of its rows, with a receipt of its own."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import cli
from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.mixing import updating
from synth_engine.privacy import receipt as receipts
from tests import tiny_data

DOMAIN = Domain.from_json(
    {
        "attributes": [
            {
                "name": "state",
                "kind": "categorical",
                "values": ["pupil", "student", "works"],
                "other": True,
            },
            {
                "name": "age",
                "kind": "integer",
                "low": 0,
                "high": 29,
                "width": 10,
                "missing": ["?"],
            },
            {"name": "pay", "kind": "number", "low": 0, "high": 100},
            {"name": "years", "kind": "integer", "low": 0, "high": 30},
            {"name": "born", "kind": "integer", "low": 0, "high": 30},
            {"name": "sum", "kind": "derived", "rule": "sum", "of": ["born", "years"]},
        ],
    }
)


def rule_of(*steps: dict[str, Any]) -> updating.UpdateRule:
    schema = updating.RULE_SCHEMA
    return updating.rule_of({"schema": schema, "published": "A year.", "steps": list(steps)})


def frame() -> pd.DataFrame:
    ages = pd.array([17, 18, 29, None], dtype="Int64")
    return pd.DataFrame(
        {
            "state": pd.array(["pupil", "pupil", "works", "works"], dtype="str"),
            "age": ages,
            "pay": np.array([0.0, 1.5, 99.5, 3.0]),
            "years": [1, 2, 3, 4],
            "born": [1, 1, 1, 1],
            "sum": [2, 3, 4, 5],
        }
    )


def test_everybody_is_a_year_older_and_some_change_their_state() -> None:
    rule = rule_of(
        {"column": "age", "add": 1},
        {"column": "state", "replace": {"pupil": "student"}, "when": {"age": ["19", "20"]}},
        {"column": "pay", "add": "0.5"},
    )
    made = updating.update(DOMAIN, frame(), rule)
    # At its bound a number stays, and what is missing stays missing.
    assert made.texts["age"].tolist() == ["18", "19", "29", "?"]
    assert made.texts["state"].tolist() == ["pupil", "student", "works", "works"]
    assert [float(text) for text in made.texts["pay"]] == [0.5, 2.0, 100.0, 3.5]
    assert (made.changed, made.left_out) == ((2, 1, 4), 0)
    assert updating.rule_of(rule.to_json()) == rule


def test_rows_beyond_a_bound_are_left_out_where_that_is_asked_for() -> None:
    rule = rule_of(
        {"column": "age", "add": 2, "beyond": "leave-out"}, {"column": "pay", "add": 1}
    )
    made = updating.update(DOMAIN, frame(), rule)
    assert made.texts["age"].tolist() == ["19", "20", "?"]
    assert made.left_out == 1
    assert len(made.texts) == 3


@pytest.mark.parametrize(
    ("step", "rule"),
    [
        ({"column": "colour", "add": 1}, "the release has not"),
        ({"column": "state", "add": 1}, "can be added to"),
        ({"column": "age", "add": "0.5"}, "a whole number stays one"),
        ({"column": "state", "replace": {"pupil": "retired"}}, "does not list"),
        ({"column": "years", "add": 1}, "connects this column with others"),
        ({"column": "age", "add": 1, "when": {"colour": ["red"]}}, "the release has not"),
    ],
)
def test_a_rule_that_does_not_fit_the_release_is_refused(
    step: dict[str, Any], rule: str
) -> None:
    with pytest.raises(SpecError, match=rule):
        updating.update(DOMAIN, frame(), rule_of(step))


@pytest.mark.parametrize(
    "step",
    [
        {"column": "age"},
        {"column": "age", "add": 1, "replace": {"1": "2"}},
        {"column": "age", "add": True},
        {"column": "age", "add": "one"},
        {"column": "age", "add": 1, "beyond": "away"},
        {"column": "state", "replace": {}},
        {"column": "state", "replace": {"pupil": "works"}, "beyond": "hold"},
        {"column": "age", "add": 1, "when": {"state": "pupil"}},
        {"add": 1},
    ],
)
def test_a_step_that_is_none_is_refused(step: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        rule_of(step)


def test_a_document_that_is_no_rule_is_refused() -> None:
    for document in ([], {"schema": updating.RULE_SCHEMA, "published": " ", "steps": []}):
        with pytest.raises(SpecError):
            updating.rule_of(document)


def test_the_command_line_writes_rows_and_a_receipt_that_names_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny_data.people(Path())
    tiny_data.described_people(Path())
    made = "synthesize people.csv --domain domain.json --mechanism independent --epsilon 1"
    kept = "--out first.csv --model model.json --receipt receipt.json"
    assert cli.main([*made.split(), *kept.split()]) == 0
    rule = {
        "schema": updating.RULE_SCHEMA,
        "published": "Everybody is a year older.",
        "steps": [{"column": "age", "add": 1}],
    }
    Path("rule.json").write_text(json.dumps(rule))
    aged = "mix update model.json --receipt receipt.json --rule rule.json --rows 200 --seed 7"
    assert cli.main([*aged.split(), "--out", "aged.csv", "--record", "update.json"]) == 0
    assert cli.main([*aged.split(), "--out", "again.csv", "--record", "again.json"]) == 0
    assert Path("aged.csv").read_bytes() == Path("again.csv").read_bytes()
    sampled = "sample model.json --rows 200 --seed 7 --out before.csv"
    assert cli.main(sampled.split()) == 0
    before, after = pd.read_csv("before.csv"), pd.read_csv("aged.csv")
    high = next(
        each["high"]
        for each in json.loads(Path("domain.json").read_text())["attributes"]
        if each["name"] == "age"
    )
    assert after["age"].tolist() == (before["age"] + 1).clip(upper=high).tolist()
    record = json.loads(Path("update.json").read_text())
    digest = record.pop("digest")
    assert digest == receipts.digest(record)
    assert (
        record["release"]["receipt"] == json.loads(Path("receipt.json").read_text())["digest"]
    )
    assert record["rows"] == {"generated": 200, "written": 200, "left_out": 0}
    assert record["table_sha256"] == hashlib.sha256(Path("aged.csv").read_bytes()).hexdigest()
    # Of the receipt of another release nothing is written.
    other = "--out b.csv --model b.json --receipt b.receipt.json"
    assert cli.main([*made.split(), *other.split()]) == 0
    refused = aged.replace("receipt.json", "b.receipt.json").split()
    assert cli.main([*refused, "--out", "no.csv", "--record", "no.json"]) == 2
    assert not Path("no.csv").exists()
