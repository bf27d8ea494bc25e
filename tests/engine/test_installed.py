"""`pip install .` gives the engine with its command line: in an environment of its own, away from the
checkout."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import sysconfig
import tomllib
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DECLARED = {line.name: line for line in map(Requirement, PROJECT["dependencies"])}
EXTRAS = {
    Requirement(line).name
    for lines in PROJECT["optional-dependencies"].values()
    for line in lines
}
READ_BY_PYTHON = {"tzdata"}  # zoneinfo finds it by itself


def _imported() -> set[str]:
    """The first names of everything that some module of the engine imports."""
    found: set[str] = set()
    for path in (ROOT / "synth_engine").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add((node.module or "").split(".")[0])
    return found - set(sys.stdlib_module_names) - {"synth_engine"}


def test_every_library_that_the_engine_imports_is_declared_and_no_other() -> None:
    owners = metadata.packages_distributions()
    needed = {owners[name][0].lower().replace("_", "-") for name in _imported()}
    assert needed | READ_BY_PYTHON == set(DECLARED) | EXTRAS


def test_the_pinned_versions_are_among_the_declared_ones() -> None:
    lines = [
        line.split(" #")[0] for line in (ROOT / "requirements.txt").read_text().splitlines()
    ]
    pins = [Requirement(line) for line in lines if "==" in line and not line.startswith("#")]
    pinned = {pin.name: next(iter(pin.specifier)).version for pin in pins}
    refused = [
        name for name, each in DECLARED.items() if not each.specifier.contains(pinned[name])
    ]
    assert not refused


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment with the engine installed from the checkout. Its libraries are
    those of the tests, so that nothing is downloaded."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv", with_pip=False)
    interpreter = folder / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    offline = ["--no-deps", "--no-index"]
    subprocess.run(
        [*pip, "wheel", *offline, "--no-build-isolation", "-w", str(folder), str(ROOT)],
        check=True,
        timeout=300,
    )
    (wheel,) = folder.glob("synth_engine-*.whl")
    subprocess.run(
        [*pip, "--python", str(interpreter), "install", *offline, str(wheel)],
        check=True,
        timeout=300,
    )
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return interpreter


def _run(program: Path, *arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [str(program), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_installed_command_line_goes_from_a_table_to_a_verified_receipt(
    python: Path, tmp_path: Path
) -> None:
    place = _run(
        python, "-c", "import synth_engine; print(synth_engine.__file__)", cwd=tmp_path
    )
    assert Path(place.strip()).is_relative_to(python.parents[1])
    command = python.with_name("synth-engine")
    assert len(json.loads(_run(command, "mechanisms", cwd=tmp_path))) > 5
    (tmp_path / "domain.json").write_text('{"a": 3, "b": 2}')
    (tmp_path / "table.csv").write_text("a,b\n" + "0,1\n2,0\n" * 100)
    _run(
        command,
        *("synthesize", "table.csv", "--domain", "domain.json", "--mechanism", "independent"),
        *("--epsilon", "1", "--rows", "50", "--seed", "7", "--out", "out.csv"),
        *("--receipt", "receipt.json", "--model", "model.json"),
        cwd=tmp_path,
    )
    assert "epsilon = 1 differential privacy" in _run(
        command, "verify", "receipt.json", cwd=tmp_path
    )
    _run(
        command,
        *("sample", "model.json", "--rows", "50", "--seed", "7", "--out", "again.csv"),
        cwd=tmp_path,
    )
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()
    # The verifier in one file is put together from the sources of the package.
    _run(command, "verifier", "--out", "verify_receipt.py", cwd=tmp_path)
    assert "epsilon = 1 differential privacy" in _run(
        Path(sys.executable), "-I", "-S", "verify_receipt.py", "receipt.json", cwd=tmp_path
    )
