"""Notebooks and pages: what they show runs against the real application and the engine."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient

from tests.client import INSTALLED, ROOT
from tests.client.conftest import token_of
from tests.web.scene import Scene

NOTEBOOKS = ("steward", "analyst")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _notebook(name: str) -> Any:
    return nbformat.read(ROOT / "examples" / f"{name}.ipynb", as_version=4)


def _ran(name: str, folder: Path) -> str:
    """Everything that a notebook shows when it runs in a folder with a copy of the example data."""
    for file in ("adult.csv.gz", "adult.domain.json"):
        shutil.copy(ROOT / "examples" / file, folder)
    notebook = _notebook(name)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return "\n".join(
        output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs
    )


@pytest.fixture(autouse=True)
def _own_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The kernel finds the packages of this checkout, and leaves nothing in anybody's home."""
    monkeypatch.setenv("PYTHONPATH", f"{INSTALLED}:{ROOT}")
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_kept_without_what_it_shows(name: str) -> None:
    notebook = _notebook(name)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(cells) >= 5
    assert not [cell for cell in cells if cell.outputs or cell.execution_count is not None]


def test_the_stewards_notebook_goes_from_a_file_to_a_receipt(tmp_path: Path) -> None:
    shown = _ran("steward", tmp_path)
    assert "records, a noisy number" in shown
    assert re.search(r"^epsilon = 0\.99999\d+, delta = 1e-09$", shown, re.MULTILINE)
    assert len(pd.read_csv(tmp_path / "adult-synthetic.csv")) == 5_000
    # The columns that are farthest off: which ones is a matter of noise.
    assert re.search(r"^[a-z-]+ +0\.\d{4}$", shown, re.MULTILINE)


def test_the_analysts_notebook_goes_from_a_release_to_an_estimate_with_its_interval(
    server: str, scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNTHWEB", server)
    monkeypatch.setenv("TOKEN", token_of(scene.reader)[1])
    shown = _ran("analyst", tmp_path)
    assert scene.release.receipt["digest"] in shown
    found = re.search(
        r"mean of age: ([\d.]+), interval ([\d.]+) to ([\d.]+); in the table drawn here [\d.]+",
        shown,
    )
    assert found is not None
    estimate, low, high = map(float, found.groups())
    assert low < estimate < high


@pytest.mark.parametrize("page", ["docs/client.md", "client/README.md"])
def test_the_examples_of_a_page_run_in_their_order(
    page: str,
    server: str,
    scene: Scene,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SYNTHWEB", server)
    monkeypatch.setenv("TOKEN", token_of(scene.reader)[1])
    names: dict[str, Any] = {}
    for number, block in enumerate(BLOCK.findall((ROOT / page).read_text())):
        exec(compile(block, f"{page}, example {number + 1}", "exec"), names)
    names["client"].close()
    assert len(names["table"]) == 1_000
    shown = capsys.readouterr().out
    assert scene.release.code in shown
    assert "0.99999" in shown
    assert re.search(r"^age:? mean ", shown, re.MULTILINE)
