"""Keys copied, lost and restored: what comes back, what does not, and that it is said."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyrage
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from synthweb.datasets import files, vault
from synthweb.datasets import selectors as datasets
from synthweb.ledger import chain
from synthweb.local import key_backup, keys
from synthweb.local.paths import REPOSITORY
from synthweb.releases import tables
from synthweb.runs import services as runs
from synthweb.runs import worker
from tests.cast import Cast
from tests.web import doorbell, scene
from tests.web.scene import Scene

PASSPHRASE = "five green boats at noon"
pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    """Keys of this test's own, which the application uses, with a vault and previews of their own."""
    folder = tmp_path / "keys"
    keys.make(folder)
    settings.VAULT_DIR, settings.PREVIEW_DIR = tmp_path / "vault", tmp_path / "previews"
    for name, file in (
        ("VAULT_PUBLIC", "vault.pub"), ("VAULT_PRIVATE", "worker/vault.key"),
        ("PREVIEW_PUBLIC", "preview.pub"),
        ("PREVIEW_PRIVATE", "web/preview.key"), ("CONTENT", "web/content.key"),
        ("SIGNING_PRIVATE", "web/signing.key"),
    ):  # fmt: skip
        setattr(settings, f"{name}_KEY_FILE", folder / file)
    return folder


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "keys.age"
    assert key_backup.backup(folder, copy, PASSPHRASE) == []
    return copy


@pytest.fixture
def played(cast: Cast, folder: Path) -> Iterator[Scene]:
    with doorbell.queue_at(doorbell.IN_MEMORY):
        yield scene.play(
            steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
        )


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def change(folder: Path, public: str, private: str) -> None:
    """The pair is lost, and another is made in its place."""
    (folder / public).unlink()
    (folder / private).unlink()
    keys.make(folder)


def checked(capsys: pytest.CaptureFixture[str], **options: str) -> tuple[bool, str]:
    capsys.readouterr()
    try:
        call_command("check_keys", **options)
    except CommandError as problem:
        assert problem.returncode == 1
        return False, capsys.readouterr().out
    return True, capsys.readouterr().out


# --- copies -------------------------------------------------------------------------------------------------
def test_every_key_comes_back_and_is_its_owners_alone(folder: Path, copied: Path) -> None:
    before = contents(folder)
    shutil.rmtree(folder)
    assert sorted(key_backup.restore(folder, copied, PASSPHRASE)) == sorted(keys.FILES)
    assert contents(folder) == before
    assert all(
        path.stat().st_mode & 0o077 == 0 for path in [folder, copied, *folder.rglob("*")]
    )


def test_a_restored_key_opens_the_tables_of_before(folder: Path, copied: Path) -> None:
    with vault.Writer() as writer:
        writer.write(b"a,b\n1,2\n")
        writer.end()
        name = writer.keep()
    (folder / "worker" / "vault.key").unlink()
    with pytest.raises(files.StorageError), vault.open_table(name):
        pass
    assert key_backup.restore(folder, copied, PASSPHRASE) == ["worker/vault.key"]
    with vault.open_table(name) as path:
        assert path.read_bytes() == b"a,b\n1,2\n"


def test_retired_public_keys_are_copied_too(folder: Path, tmp_path: Path) -> None:
    retired = keys.change_signing_key(folder)
    key_backup.backup(folder, tmp_path / "later.age", PASSPHRASE)
    before = retired.read_bytes()
    retired.unlink()
    key_backup.restore(folder, tmp_path / "later.age", PASSPHRASE)
    assert retired.read_bytes() == before


def test_a_key_that_differs_stops_the_restoring_before_anything_is_written(
    folder: Path, copied: Path
) -> None:
    change(folder, "preview.pub", "web/preview.key")
    (folder / "worker" / "vault.key").unlink()
    before = contents(folder)
    with pytest.raises(
        key_backup.BackupRefused, match=r"preview\.pub.*differ.*Nothing was restored"
    ):
        key_backup.restore(folder, copied, PASSPHRASE)
    assert contents(folder) == before


def test_nothing_of_a_key_stands_in_the_copy_and_no_other_passphrase_opens_it(
    folder: Path, copied: Path
) -> None:
    sealed = copied.read_bytes()
    assert not any(
        line in sealed
        for key in contents(folder).values()
        for line in key.splitlines()
        if len(line) > 20
    )
    with pytest.raises(key_backup.BackupRefused, match="passphrase is another"):
        key_backup.read(copied, PASSPHRASE + "!")
    copied.write_bytes(sealed[:-1] + bytes([sealed[-1] ^ 1]))
    with pytest.raises(key_backup.BackupRefused, match="damaged"):
        key_backup.read(copied, PASSPHRASE)


def test_a_copy_that_takes_too_much_work_is_not_called_damaged(copied: Path) -> None:
    # The last number of the first stanza is the logarithm of the work.
    much = re.sub(rb"(-> scrypt \S+ )\d+", rb"\g<1>30", copied.read_bytes(), count=1)
    copied.write_bytes(much)
    with pytest.raises(key_backup.BackupRefused, match="faster machine"):
        key_backup.read(copied, PASSPHRASE)


def test_a_copy_is_never_overwritten_and_a_short_passphrase_refused(
    folder: Path, copied: Path, tmp_path: Path
) -> None:
    with pytest.raises(key_backup.BackupRefused, match="never overwritten"):
        key_backup.backup(folder, copied, PASSPHRASE)
    with pytest.raises(key_backup.BackupRefused, match="shorter than 12"):
        key_backup.backup(folder, tmp_path / "other.age", "short")
    with pytest.raises(key_backup.BackupRefused, match="no keys"):
        key_backup.backup(tmp_path / "nowhere", tmp_path / "other.age", PASSPHRASE)
    assert not (tmp_path / "other.age").exists()


@pytest.mark.parametrize(
    "name",
    ["../outside", "/tmp/outside", "worker/../../outside", "web/other.key", "retired/x.pub"],
)
def test_a_copy_that_holds_anything_else_writes_nothing(tmp_path: Path, name: str) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    (tmp_path / "copy.age").write_bytes(pyrage.passphrase.encrypt(out.getvalue(), PASSPHRASE))
    with pytest.raises(key_backup.BackupRefused, match="no key of synthweb"):
        key_backup.restore(tmp_path / "keys", tmp_path / "copy.age", PASSPHRASE)
    assert [path.name for path in tmp_path.iterdir()] == ["copy.age"]


def test_the_program_does_it_from_a_shell(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "passphrase").write_text(PASSPHRASE + "\n")

    def run(verb: str, to: Path) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "synthweb.local.key_backup",
            verb,
            str(tmp_path / "copy.age"),
        ]
        options = ["--keys", str(to), "--passphrase-file", str(tmp_path / "passphrase")]
        return subprocess.run(
            [*command, *options], cwd=REPOSITORY, capture_output=True, text=True, check=False
        )

    assert run("backup", folder).returncode == 0
    assert run("backup", folder).returncode == 1
    listed = run("list", folder)
    assert listed.stdout.split() == sorted(keys.FILES)
    assert run("restore", tmp_path / "elsewhere").returncode == 0
    assert contents(tmp_path / "elsewhere") == contents(folder)


# --- losses -------------------------------------------------------------------------------------------------
def test_with_every_key_in_place_nothing_is_lost(
    played: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    fine, said = checked(capsys)
    assert fine and "LOST" not in said
    assert f"ok   table of {played.dataset.code}" in said
    assert all(checked(capsys, role=role)[0] for role in ("web", "worker"))


@pytest.mark.parametrize("how", ["gone", "changed"])
def test_the_loss_of_the_vaults_key_names_the_tables_and_costs_no_release(
    cast: Cast,
    played: Scene,
    folder: Path,
    browser: Callable[..., Client],
    capsys: pytest.CaptureFixture[str],
    how: str,
) -> None:
    if how == "gone":
        (folder / "worker" / "vault.key").unlink()
    else:
        change(folder, "vault.pub", "worker/vault.key")
    fine, said = checked(capsys)
    assert not fine
    for dataset in (played.dataset, played.fresh):
        assert f"LOST table of {dataset.code} {dataset.name}: LOST" in said
    assert "2 of 2 tables cannot be opened. Their 1 releases" in said
    assert not checked(capsys, role="worker")[0] and checked(capsys, role="web")[0]
    release = played.release
    reader = browser(played.reader)
    assert reader.get(reverse("releases:release", args=[release.code])).status_code == 200
    assert reader.get(reverse("releases:receipt-json", args=[release.code])).status_code == 200
    assert "".join(tables.stream_csv(played.sample)).count("\n") == 51
    assert chain.verify(played.account).intact


def test_a_run_without_the_vaults_key_ends_before_the_charge_and_gives_its_budget_back(
    played: Scene, folder: Path
) -> None:
    change(folder, "vault.pub", "worker/vault.key")
    charged = played.account.entries.filter(kind="CHARGE").count()
    worker.synthesize(code=played.waiting.code)
    played.waiting.refresh_from_db()
    assert played.waiting.failure and played.waiting.failure["code"] == "vault"
    assert "key" in played.waiting.failure["text"]
    assert played.account.entries.filter(kind="CHARGE").count() == charged
    assert (
        played.account.entries.filter(kind="RELEASE", run_code=played.waiting.code).count() == 1
    )


@pytest.mark.parametrize("how", ["gone", "changed"])
def test_the_loss_of_the_previews_key_costs_previews_alone(
    cast: Cast,
    played: Scene,
    folder: Path,
    browser: Callable[..., Client],
    capsys: pytest.CaptureFixture[str],
    how: str,
) -> None:
    steward = browser(cast.steward)
    if how == "gone":
        (folder / "web" / "preview.key").unlink()
    else:
        change(folder, "preview.pub", "web/preview.key")
    fine, said = checked(capsys)
    assert not fine and "LOST table" not in said and "nothing but them is lost" in said
    assert datasets.preview_for(cast.steward, played.dataset, "table") is None
    pages = [
        reverse("datasets:describe", args=[played.dataset.code]),
        reverse("pages:dataset", args=[played.dataset.code]),
        reverse("releases:compare", args=[played.release.code]),
        reverse("releases:release", args=[played.release.code]),
        reverse("runs:new", args=[played.dataset.code]),
    ]
    assert [steward.get(page, follow=True).status_code for page in pages] == [200] * len(pages)
    if (
        how == "gone"
    ):  # the pair is made anew once what is left of the old one is out of the way
        (folder / "preview.pub").unlink()
        keys.make(folder)
    worker.table_job(code=runs.request_report(release=played.release, actor=cast.steward).code)
    worker.table_job(code=runs.request_ingest(dataset=played.dataset, actor=cast.steward).code)
    assert datasets.preview_for(cast.steward, played.dataset, "table") is not None
    again = steward.get(reverse("releases:compare", args=[played.release.code]))
    assert again.status_code == 200 and again.context["comparison"]
    worker.synthesize(code=played.waiting.code)
    played.waiting.refresh_from_db()
    assert played.waiting.release is not None


@pytest.mark.django_db
def test_halves_that_do_not_belong_together_and_a_signing_key_that_is_none_are_said(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys.make(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "vault.pub", folder / "vault.pub")
    (folder / "web" / "signing.key").write_text("nothing\n")
    fine, said = checked(capsys)
    assert not fine
    assert "vault.key is not its other half" in said and "holds no private key" in said
    assert "preview.key is not" not in said
