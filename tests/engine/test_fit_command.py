"""Regressions on the command line: from the noisy answers of one run alone."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from synth_engine import cli

DOMAIN = {
    "relation": "add-remove",
    "attributes": [
        {"name": "job", "kind": "categorical", "values": ["cook", "smith"], "missing": ["?"]},
        {"name": "hours", "kind": "integer", "low": 0, "high": 9, "width": 1},
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of 600 records, and what a run wrote of it."""
    lines = [f"{('cook', 'smith')[i % 2]},{i % 2 * 4 + i % 3}" for i in range(600)]
    (tmp_path / "people.csv").write_text("job,hours\n" + "\n".join(lines) + "\n")
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    assert not cli.main(
        [
            "synthesize", str(tmp_path / "people.csv"), "--domain", str(tmp_path / "domain.json"),
            "--mechanism", "contingency-table", "--epsilon", "8", "--delta", "1e-9",
            "--out", str(tmp_path / "out.csv"), "--receipt", str(tmp_path / "receipt.json"),
            "--answers", str(tmp_path / "answers.npz"),
        ]
    )  # fmt: skip
    return tmp_path


def fit(folder: Path, *asked: str) -> int:
    return cli.main(
        [
            "fit", *asked, "--domain", str(folder / "domain.json"),
            "--receipt", str(folder / "receipt.json"), "--answers", str(folder / "answers.npz"),
        ]
    )  # fmt: skip


def test_coefficients_are_lines_of_a_csv(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert fit(folder, "hours", "job") == 0
    printed = capsys.readouterr()
    constant, job = csv.DictReader(io.StringIO(printed.out))
    assert (constant["column"], job["column"]) == ("", "job")
    # Which of the two is the base follows from the noise.
    sign = 1 if job["value"].startswith("smith") else -1
    assert abs(sign * float(job["estimate"]) - 4) < 1
    for one in (constant, job):
        assert float(one["population_lower"]) <= float(one["lower"])
        assert float(one["lower"]) <= float(one["estimate"]) <= float(one["upper"])
    assert "is the base" in printed.err
    assert "hours 0 counts as 0" in printed.err


def test_what_is_not_offered_is_bad_input(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert fit(folder, "hours", "wage") == 2
    assert "no such column" in capsys.readouterr().err
    assert fit(folder, "hours", "job", "--kind", "logit") == 2
    assert "a logit is of two" in capsys.readouterr().err
