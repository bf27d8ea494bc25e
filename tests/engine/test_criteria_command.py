"""Criteria on the command line: refused before a run, and told after it by the noisy answers of that run
alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from synth_engine import cli

COUNTS = {"kind": "counts", "columns": ["job"], "least": 50, "within": "0.5"}
NEAR = {"kind": "distance", "columns": ["job", "member"], "most": "0.2"}
IMPOSSIBLE = {"kind": "distance", "columns": ["job"], "most": "0.0001"}
PAIRS = {"kind": "mean-distance", "columns": ["job", "member"], "most": "0.5"}
DOMAIN = {
    "relation": "add-remove",
    "attributes": [
        {"name": "job", "kind": "categorical", "values": ["cook", "smith"], "missing": ["?"]},
        {"name": "member", "kind": "boolean", "true": "yes", "false": "no", "missing": ["?"]},
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of 600 records and its description."""
    lines = [f"{('cook', 'smith')[i % 2]},{('yes', 'no', 'no')[i % 3]}" for i in range(600)]
    (tmp_path / "people.csv").write_text("job,member\n" + "\n".join(lines) + "\n")
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    return tmp_path


def state(folder: Path, *criteria: dict[str, Any]) -> Path:
    path = folder / "criteria.json"
    path.write_text(json.dumps({"criteria": list(criteria)}))
    return path


def synthesize(folder: Path, mechanism: str = "auto", name: str = "out") -> int:
    return cli.main(
        [
            "synthesize", str(folder / "people.csv"), "--domain", str(folder / "domain.json"),
            "--mechanism", mechanism, "--epsilon", "8", "--delta", "1e-9",
            "--out", str(folder / f"{name}.csv"), "--receipt", str(folder / f"{name}.receipt.json"),
            "--model", str(folder / f"{name}.model.json"), "--answers", str(folder / f"{name}.npz"),
            "--criteria", str(folder / "criteria.json"),
        ]
    )  # fmt: skip


def check(folder: Path, *more: str, name: str = "out") -> int:
    return cli.main(
        [
            "check", str(folder / "criteria.json"), "--domain", str(folder / "domain.json"),
            "--model", str(folder / f"{name}.model.json"),
            "--receipt", str(folder / f"{name}.receipt.json"), *more,
        ]
    )  # fmt: skip


def test_each_criterion_has_a_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state(folder, COUNTS, NEAR, PAIRS)
    assert synthesize(folder) == 0
    capsys.readouterr()
    assert check(folder, "--answers", str(folder / "out.npz")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "met: every count of job of at least 50 is within 50 %: 2 to 2 of 2 counts"
    )
    assert lines[1].startswith("met: the distance of job × member is at most 0.2: 0 to 0.")
    assert lines[2].startswith(
        "met: the mean distance of all pairs of columns is at most 0.5: 0."
    )


def test_what_cannot_be_told_is_no_success(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state(folder, IMPOSSIBLE)
    assert synthesize(folder) == 0
    assert check(folder, "--answers", str(folder / "out.npz")) == 1
    told = capsys.readouterr()
    assert told.out.startswith("cannot be told: the distance of job is at most 0.0001: 0 to ")
    assert told.err == "error: 1 of 1 criteria are not met or cannot be told\n"


def test_without_answers_only_the_mean_distance_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state(folder, COUNTS, PAIRS)
    assert synthesize(folder) == 0
    capsys.readouterr()
    assert check(folder) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["cannot be told", "met"]


@pytest.mark.parametrize(
    ("criteria", "words"),
    [
        ({"criteria": []}, "a file of criteria has no list of them"),
        ({"criteria": [{**NEAR, "columns": ["income"]}]}, "has no column 'income'"),
        ({"criteria": [{**NEAR, "kind": "f1"}]}, "of an unknown kind"),
        ({"criteria": [{**NEAR, "kind": "auc"}]}, "add what is missing"),
        ({"criteria": [{**NEAR, "most": 0.2}]}, "is a share between 0 and 1, as text"),
        ({"criteria": [NEAR, NEAR]}, "one is listed twice"),
    ],
)
def test_criteria_that_cannot_be_computed_are_refused_before_the_run(
    folder: Path, criteria: Any, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "criteria.json").write_text(json.dumps(criteria))
    assert synthesize(folder) == 2
    assert words in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == [
        "criteria.json",
        "domain.json",
        "people.csv",
    ]


def test_a_method_that_does_not_look_at_pairs_says_nothing_of_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state(folder, PAIRS)
    assert synthesize(folder, "mst") == 2
    assert "choose auto" in capsys.readouterr().err


def test_documents_of_two_runs_are_not_mixed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state(folder, NEAR)
    assert synthesize(folder, "mst") == 0
    assert synthesize(folder, "mst", name="other") == 0
    assert check(folder, "--answers", str(folder / "other.npz")) == 2
    assert "the noisy answers are of another run" in capsys.readouterr().err
    (folder / "out.model.json").write_bytes((folder / "other.model.json").read_bytes())
    assert check(folder) == 2
    assert "the receipt is of another model" in capsys.readouterr().err
    described = {**DOMAIN, "attributes": DOMAIN["attributes"][:1]}
    (folder / "domain.json").write_text(json.dumps(described))
    assert check(folder, name="other") == 2
    assert "the receipt is of another description" in capsys.readouterr().err
