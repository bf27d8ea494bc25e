"""A synthetic table that was made elsewhere is compared, and marked as of unknown privacy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from synth_engine import cli
from synth_engine.errors import InputError
from synth_engine.evaluation import outside
from tests import tiny_data


def compared(*more: str) -> int:
    asked = "compare people.csv theirs.csv --domain domain.json"
    return cli.main([*asked.split(), *more])


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny_data.people(Path())
    tiny_data.described_people(Path())
    Path("theirs.csv").write_bytes(Path("people.csv").read_bytes())


def test_a_table_that_was_made_elsewhere_is_marked_as_of_unknown_privacy() -> None:
    assert compared("--outside", "Their <program> 2", "--out", "report.json") == 0
    report = json.loads(Path("report.json").read_text())
    assert (report["outside"]["made_by"], report["outside"]["privacy"]) == (
        "Their <program> 2",
        "unknown",
    )
    assert report["private"] is False
    # The very same rows are as close as can be, and that is no praise.
    assert report["summary"]["tvd1"]["value"] == 0
    assert compared("--outside", "Their <program> 2", "--out", "report.html") == 0
    page = Path("report.html").read_text()
    assert 'id="outside"' in page
    assert "unknown privacy: Their &lt;program&gt; 2." in page


def test_a_table_of_ones_own_has_no_such_mark() -> None:
    assert compared("--out", "report.html") == 0
    assert 'id="outside"' not in Path("report.html").read_text()


def test_a_model_and_an_outside_table_do_not_go_together() -> None:
    assert compared("--outside", "Theirs", "--model", "m.json", "--out", "r.json") == 2
    assert not Path("r.json").exists()


@pytest.mark.parametrize("words", [" ", "two\nlines", "x" * 301])
def test_who_made_it_is_said_in_a_line(words: str) -> None:
    with pytest.raises(InputError, match="who made the table"):
        outside.statement(words)
