"""A release of a database in one archive: verified as a whole, by both verifiers, and refused where anything
in it was changed."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from synth_engine import cli, verifier
from synth_engine.errors import VerificationError
from synth_engine.verifier import standalone
from tests import databases

Contents = dict[str, bytes]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    described = databases.save(folder, databases.document(), databases.random_rows(homes=40))
    path = folder / "bundle.zip"
    words = [
        "database", "synthesize", described, "--epsilon", "1", "--delta", "1e-9", "--seed", "s",
        "--out", folder / "out", "--bundle", path,
    ]  # fmt: skip
    assert cli.main([str(word) for word in words]) == 0
    return path


def contents(path: Path) -> Contents:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path: Path, files: Contents, *, listed: bool) -> Path:
    """The files in an archive of their own. listed: with a list that fits them, as somebody would write who
    changes them."""
    if listed:
        document: Any = json.loads(files["bundle.json"])
        document["statement"]["files"] = [
            {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in files.items()
            if name != "bundle.json"
        ]
        files = files | {"bundle.json": json.dumps(document).encode()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.comment = b"0" * 64
    raw = path.read_bytes()[:-64]
    path.write_bytes(raw + hashlib.sha256(raw).hexdigest().encode())
    return path


def test_a_bundle_is_verified_as_a_whole(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["verify", str(bundle)]) == 0
    said = capsys.readouterr().out
    assert "The 3 tables are those that the receipt names." in said
    assert "The bundle is whole: 9 files" in said
    program = tmp_path / standalone.NAME
    program.write_text(standalone.text())
    run = subprocess.run(
        [sys.executable, str(program), str(bundle)], capture_output=True, text=True, check=True
    )
    assert run.stdout == said
    files = contents(bundle)
    report = json.loads(files["report.json"])
    assert [table["table"] for table in report["tables"]] == ["homes", "people", "trips"]
    assert all(table["file"] in files for table in report["tables"])
    assert packed(tmp_path / "again.zip", files, listed=True)
    verifier.verify_bundle(tmp_path / "again.zip")


def without_a_table(files: Contents) -> None:
    del files["tables/3.csv"]


def two_tables_exchanged(files: Contents) -> None:
    files["tables/1.csv"], files["tables/2.csv"] = files["tables/2.csv"], files["tables/1.csv"]


def a_changed_table(files: Contents) -> None:
    files["tables/2.csv"] += files["tables/2.csv"].splitlines(keepends=True)[-1]


def the_receipt_of_one_view(files: Contents) -> None:
    receipt = json.loads(files["receipt.json"])["views"][0]
    files["receipt.json"] = json.dumps(receipt).encode()


def no_receipt(files: Contents) -> None:
    del files["receipt.json"]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (without_a_table, "of 3 tables"),
        (two_tables_exchanged, "another order"),
        (a_changed_table, "not those of"),
        (the_receipt_of_one_view, "another release"),
        (no_receipt, "no receipt.json"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_bundle_with_another_content_is_refused(
    change: Callable[[Contents], None], rule: str, bundle: Path, tmp_path: Path
) -> None:
    files = contents(bundle)
    change(files)
    with pytest.raises(VerificationError, match=rule):
        verifier.verify_bundle(packed(tmp_path / "other.zip", files, listed=True))


def test_a_damaged_file_is_named(bundle: Path, tmp_path: Path) -> None:
    files = contents(bundle)
    a_changed_table(files)
    with pytest.raises(VerificationError, match=r"tables/2\.csv was changed"):
        verifier.verify_bundle(packed(tmp_path / "damaged.zip", files, listed=False))


def test_a_key_is_not_taken_for_proof(bundle: Path) -> None:
    with pytest.raises(VerificationError, match="not signed"):
        verifier.verify_bundle(bundle, key=bytes(32))
