"""`compare --model`: recovered texts are counted for two files as the web counts them for a release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from synth_engine import cli

TEXTS = {"abba": 900, "cafe": 600, "dead": 400, "fade": 90, "jade": 7, "ABBA": 3, "no-text": 5}
DOMAIN = {
    "attributes": [
        {
            "name": "query",
            "kind": "weak",
            "values": {
                "set": "strings",
                "alphabet": "abcdefghij",
                "min_length": 1,
                "max_length": 6,
                "case": "lower",
            },
        }
    ]
}


def run(*arguments: object) -> int:
    return cli.main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("compared")
    lines = [text for text, times in TEXTS.items() for _ in range(times)]
    (tmp_path / "real.csv").write_text("\n".join(["query", *lines]) + "\n")
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    code = run(
        "synthesize", tmp_path / "real.csv", "--domain", tmp_path / "domain.json",
        "--mechanism", "adaptive", "--epsilon", "8", "--seed", "s",
        "--out", tmp_path / "made.csv", "--model", tmp_path / "model.json",
    )  # fmt: skip
    assert code == 0
    return tmp_path


def report(folder: Path, *further: object) -> dict[str, Any]:
    out = folder / "report.json"
    code = run(
        "compare", folder / "real.csv", folder / "made.csv",
        "--domain", folder / "domain.json", *further, "--out", out, "--overwrite",
    )  # fmt: skip
    assert code == 0
    document: dict[str, Any] = json.loads(out.read_text())
    return document


def test_texts_are_counted_where_a_model_is_given(folder: Path) -> None:
    (texts,) = report(folder, "--model", folder / "model.json")["texts"]
    read = texts["read"]
    assert read == {"as written": 1997, "changed": 3, "outside": 5, "missing": 0}
    assert 0.8 < texts["found"] <= 1


def test_without_a_model_there_is_nothing_to_count_texts_by(folder: Path) -> None:
    assert report(folder)["texts"] == []


def test_a_model_of_another_table_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = DOMAIN["attributes"][0] | {"name": "word"}
    (folder / "other.json").write_text(json.dumps({"attributes": [other]}))
    code = run(
        "compare", folder / "real.csv", folder / "made.csv", "--domain", folder / "other.json",
        "--model", folder / "model.json", "--out", folder / "refused.json",
    )  # fmt: skip
    assert code == 2
    assert "other columns" in capsys.readouterr().err
