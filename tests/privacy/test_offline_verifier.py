"""The one file that an auditor runs: in an empty folder, with Python alone, isolated from everything
installed."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from synth_engine import cli, verifier
from synth_engine.verifier import standalone
from tests.privacy.test_verifier import (
    DELTA,
    FOLDER,
    adaptive,
    changed,
    honest,
    resealed,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the verifier in it, as the command line writes it, and nothing else."""
    empty = tmp_path_factory.mktemp("auditor")
    assert cli.main(["verifier", "--out", str(empty / standalone.NAME)]) == 0
    assert [path.name for path in empty.iterdir()] == [standalone.NAME]
    return empty


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", standalone.NAME, *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={}, timeout=300
    )


def judge(folder: Path, content: Any) -> subprocess.CompletedProcess[str]:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    (folder / "receipt.json").write_bytes(text)
    return run(folder, "receipt.json")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["basic", "pld", "zcdp"])
def test_a_good_receipt_is_proved_with_python_alone(folder: Path, kind: str) -> None:
    document = {
        "basic": honest,
        "pld": lambda: honest(DELTA, noise="gaussian"),
        "zcdp": adaptive,
    }[kind]()
    assert document["guarantee"]["certificate"] == kind
    found = judge(folder, document)
    assert (found.returncode, found.stderr) == (0, "")
    here = verifier.verify(document)
    assert found.stdout.startswith(
        f"epsilon = {float(here.epsilon):.12g}\ndelta = {float(here.delta):.12g}\n"
    )
    assert all(sentence in found.stdout for sentence in here.sentences)
    assert document["plan"]["sha256"] in found.stdout


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_stored_receipt_is_proved_too(folder: Path, path: Path) -> None:
    assert judge(folder, path.read_bytes()).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("guarantee.epsilon", "1/2", "below what the calls add up to"),
        ("calls.0.noise.sigma_squared", "4/1", "cost of call 1"),
        ("mechanism.id", "more magic", "mechanism is malformed"),
        ("schema", "synthweb/receipt/9", "unknown version"),
    ],
)
def test_a_forged_receipt_is_refused(
    folder: Path, path: str, value: object, reason: str
) -> None:
    found = judge(folder, resealed(changed(honest(DELTA, noise="gaussian"), path, value)))
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("REFUSED: ")
    assert reason in found.stderr


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b'{"schema": 1, "schema": 2}',
        b'{"a": NaN}',
        b"[" * 100_000,
    ],
)
def test_garbage_is_refused_without_a_traceback(folder: Path, content: bytes) -> None:
    found = judge(folder, content)
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("REFUSED: ")
    assert len(found.stderr.splitlines()) == 1


def test_a_wrong_call_says_how_to_call_it(folder: Path) -> None:
    for arguments in ((), ("a", "b"), ("--help",)):
        found = run(folder, *arguments)
        assert found.returncode == 1
        assert "usage: python verify_receipt.py RECEIPT.json" in found.stderr
    assert "cannot be read" in run(folder, "nothing.json").stderr


def test_the_file_is_the_text_of_its_modules_and_no_name_means_two_things() -> None:
    text = standalone.text()
    assert text == standalone.text()
    tree = ast.parse(text)
    names = [
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [
                leaf.id
                for target in targets
                for leaf in ast.walk(target)
                if isinstance(leaf, ast.Name)
            ]
        if (
            isinstance(node, ast.Import | ast.ImportFrom)
            and getattr(node, "module", "") != "__future__"
        ):
            names += [alias.asname or alias.name for alias in node.names]
    assert len(names) == len(set(names)), "two modules use the same name"
    assert "synth_engine.privacy" not in "".join(
        line for line in text.splitlines() if "import" in line
    )
    for module in standalone.MODULES:
        source = Path(verifier.__file__).with_name(f"{module}.py").read_text()
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                assert ast.get_source_segment(source, node) in text
