"""docs/python.md: its examples run, one after the other, in a folder that has the example data and nothing
else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from synth_engine.tables import Drawing
from synth_engine.verifier import Verified

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_examples_of_the_page_run_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((ROOT / "docs" / "python.md").read_text())
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"docs/python.md, example {number + 1}", "exec"), names)
    # What the page says of them.
    assert (
        len(pd.read_csv("synthetic.csv")) == len(pd.read_parquet("synthetic.parquet")) == 1_000
    )
    assert isinstance(names["verified"], Verified)
    assert names["verified"].epsilon <= names["spec"].epsilon
    assert names["model"].to_json() == json.loads(Path("model.json").read_text())
    drawn = names["drawing"]
    assert isinstance(drawn, Drawing)
    assert sum(len(block) for block in drawn.blocks()) == drawn.rows
    shown = capsys.readouterr().out
    assert "of the synthetic records are 65 or older" in shown
    assert "age mean" in shown
    assert "→" in shown
