"""The walls of ARCHITECTURE.md stand, and each of them bites: a deliberate violation breaks the contract
meant for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]

VIOLATIONS = [
    ("engine-layers", "synth_engine/domain/facts.py", "from synth_engine import codec"),
    ("engine-layers", "synth_engine/errors.py", "from synth_engine import domain"),
    ("engine-layers", "synth_engine/privacy/unit.py", "from synth_engine import spec"),
    (
        "engine-layers",
        "synth_engine/evaluation/report.py",
        "from synth_engine.room import counts",
    ),
    (
        "engine-layers",
        "synth_engine/new_module.py",
        "import math",
    ),  # nobody has said where it belongs
    (
        "cities",
        "synth_engine/extras/cities/specification.py",
        "from synth_engine.extras.cities import building",
    ),
    (
        "pairwise",
        "synth_engine/mechanisms/pairwise/mst.py",
        "from synth_engine.mechanisms.pairwise import aim",
    ),
    (
        "trees",
        "synth_engine/mechanisms/trees/adaptive.py",
        "from synth_engine.mechanisms.trees import privtree",
    ),
    (
        "mechanisms",
        "synth_engine/mechanisms/a_new_one.py",
        "from synth_engine.mechanisms.auto import selection",
    ),
    (
        "mechanisms",
        "synth_engine/mechanisms/trees/covariates.py",
        "from synth_engine.mechanisms.pairwise import rounds",
    ),
    (
        "mechanisms",
        "synth_engine/mechanisms/dpsyn.py",
        "from synth_engine.mechanisms.auto import auto",
    ),
    (
        "engine-layers",
        "synth_engine/models/trees/spatial.py",
        "from synth_engine.plans import plan",
    ),
    (
        "auto",
        "synth_engine/mechanisms/auto/selection.py",
        "from synth_engine.mechanisms.auto import fitting",
    ),
    (
        "on-the-map",
        "synth_engine/mechanisms/on_the_map/resolution.py",
        "from synth_engine.mechanisms.on_the_map import disaggregation",
    ),
    ("room", "synth_engine/commands/releases.py", "from synth_engine.room import rows"),
    (
        "room",
        "synth_engine/mechanisms/independent.py",
        "import synth_engine.room.counts",
    ),
    ("steward", "synthweb/runs/worker.py", "from synth_engine.steward import ingest"),
    (
        "sources",
        "synth_engine/commands/releases.py",
        "from synth_engine.sources import opening",
    ),
    (
        "room-alone",
        "synth_engine/room/session.py",
        "def late():\n    from synth_engine import readers",
    ),
    (
        "room-alone",
        "synth_engine/room/counts.py",
        "from synth_engine.steward import exact_counts",
    ),
    ("readers", "synth_engine/commands/releases.py", "from synth_engine import readers"),
    ("pipeline", "synthweb/runs/services.py", "from synth_engine import pipeline"),
    (
        "pipeline",
        "synthweb/datasets/selectors.py",
        "def late():\n    from synth_engine import pipeline",
    ),
    ("web-without-room", "synthweb/pages/views.py", "from synthweb.runs import worker"),
    (
        "ranges-without-room",
        "synthweb/releases/expected.py",
        "from synth_engine.evaluation import raw_values",
    ),
    ("ranges-without-room", "synthweb/runs/ranges.py", "from synthweb.runs import worker"),
    ("exact-noise", "synth_engine/room/counts.py", "import opendp.prelude"),
    ("exact-noise", "synth_engine/inference/oneway.py", "from opendp import measurements"),
    ("engine-alone", "synth_engine/pipeline/measuring.py", "from django.conf import settings"),
    ("engine-alone", "synth_engine/readers/source.py", "import urllib.request"),
    ("engine-alone", "synth_engine/spec.py", "def late():\n    import socket"),
    ("web-layers", "synthweb/ledger/services.py", "from synthweb.runs import models"),
    ("web-layers", "synthweb/audit/services.py", "from synthweb.accounts import selectors"),
    ("inside-an-app", "synthweb/runs/models.py", "from synthweb.runs import services"),
    ("inside-an-app", "synthweb/ledger/selectors.py", "from synthweb.ledger import services"),
    ("vault", "synthweb/releases/services.py", "from synthweb.datasets import vault"),
    (
        "preview-store",
        "synthweb/api/serializers/datasets.py",
        "from synthweb.datasets import preview_store",
    ),
    (
        "engine-layers",
        "synth_engine/commands/releases.py",
        "from synth_engine.extras import cities",
    ),
    ("web-layers", "synthweb/urls.py", "from synthweb.extras.cities import urls"),
    ("extras", "synthweb/runs/screens.py", "from synth_engine.extras.cities import city"),
    ("extras-apart", "synthweb/extras/another.py", "from synthweb.extras.cities import models"),
    (
        "engine-extras-apart",
        "synth_engine/extras/another.py",
        "from synth_engine.extras.cities import city",
    ),
    ("verifier", "synth_engine/verifier/receipt.py", "from synth_engine.privacy import loss"),
    (
        "verifier",
        "synth_engine/verifier/losses.py",
        "from synth_engine.privacy import pld",
    ),
    ("no-cycles", "synth_engine/privacy/unit.py", "from synth_engine.privacy import receipt"),
]


def lint(folder: Path, *, contract: str | None = None) -> subprocess.CompletedProcess[str]:
    """lint-imports in a folder, on one contract or on all."""
    command = [str(Path(sys.executable).with_name("lint-imports"))]
    command += [] if contract is None else ["--contract", contract]
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(folder)},
    )


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, to be spoilt."""
    folder = tmp_path_factory.mktemp("tree")
    for package in ("synth_engine", "synthweb"):
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.fixture
def spoilt(tree: Path, path: str, line: str) -> Iterator[Path]:
    """The copy with one more import at the end of a file."""
    file = tree / path
    before = file.read_text() if file.exists() else None
    file.write_text(f"{before or ''}\n\n{line}\n")
    yield tree
    file.unlink() if before is None else file.write_text(before)


def test_every_contract_is_kept() -> None:
    outcome = lint(ROOT)
    assert outcome.returncode == 0, outcome.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("contract", "path", "line"), VIOLATIONS)
def test_a_deliberate_violation_is_caught(
    spoilt: Path, contract: str, path: str, line: str
) -> None:
    outcome = lint(spoilt, contract=contract)
    assert outcome.returncode == 1, outcome.stdout + outcome.stderr
    assert "1 broken" in outcome.stdout


@pytest.mark.slow
def test_the_copy_without_violations_is_kept(tree: Path) -> None:
    assert lint(tree).returncode == 0


def test_every_contract_has_a_violation_that_it_catches() -> None:
    assert {contract["id"] for contract in CONTRACTS} == {
        contract for contract, _, _ in VIOLATIONS
    }
