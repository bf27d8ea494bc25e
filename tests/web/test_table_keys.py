"""Each table has a key of its own: it is destroyed with the table, wrapped again when the vault's key
changes, and stays gone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyrage
import pytest
from django.core.management import CommandError, call_command

from synth_engine.formats import Dialect
from synthweb.audit.models import AuditEntry
from synthweb.datasets import files, sealed_names, services, table_keys, tombstones, vault
from synthweb.datasets.models import Dataset
from synthweb.lib import signatures
from synthweb.local import keys
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web import doorbell, scene

pytestmark = pytest.mark.django_db(transaction=True)
TABLE = b"name,age\nAda,36\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Any) -> Path:
    """Keys and a vault of this test's own."""
    folder = tmp_path / "keys"
    keys.make(folder)
    settings.VAULT_DIR, settings.PREVIEW_DIR = tmp_path / "vault", tmp_path / "previews"
    settings.KEY_DIR = folder
    for name, file in (
        ("VAULT_PUBLIC", "vault.pub"), ("VAULT_PRIVATE", "worker/vault.key"),
        ("PREVIEW_PUBLIC", "preview.pub"),
        ("PREVIEW_PRIVATE", "web/preview.key"), ("SIGNING_PRIVATE", "web/signing.key"),
    ):  # fmt: skip
        setattr(settings, f"{name}_KEY_FILE", folder / file)
    return folder


def put(table: bytes = TABLE) -> str:
    with vault.Writer() as writer:
        writer.write(table)
        writer.end()
        return writer.keep()


def opened(name: str) -> bytes:
    with vault.open_table(name) as path:
        return path.read_bytes()


def uploaded(cast: Cast) -> Dataset:
    return services.store_stream(
        steward=cast.steward,
        organisation=cast.organisation,
        name="Ages",
        file_kind="csv",
        chunks=[TABLE],
    )


def wrapped(name: str) -> Path:
    return vault.path_of(name).parent / table_keys.FOLDER / name


def lines(folder: Path) -> list[str]:
    return files.read_keys(folder / "worker" / "vault.key")


# --- a key a table ------------------------------------------------------------------------------------------
def test_a_table_opens_by_its_own_key_alone(folder: Path) -> None:
    first, second = put(), put()
    assert opened(first) == TABLE
    master = pyrage.x25519.Identity.from_str(lines(folder)[0])
    with pytest.raises(pyrage.DecryptError):
        pyrage.decrypt(vault.path_of(first).read_bytes(), [master])
    wrapped(first).write_bytes(wrapped(second).read_bytes())
    with pytest.raises(vault.TamperedError):
        opened(first)
    wrapped(first).write_bytes(b"damaged")
    with pytest.raises(vault.TamperedError, match="the key of a stored table is damaged"):
        opened(first)


def test_without_its_key_no_copy_of_a_table_opens() -> None:
    name = put()
    copy = vault.path_of(name).read_bytes()
    vault.erase(name)
    assert not wrapped(name).exists()
    vault.path_of(name).write_bytes(copy)
    with pytest.raises(vault.TamperedError):
        opened(name)


def test_a_deleted_dataset_has_no_key_and_the_audit_log_says_so(cast: Cast) -> None:
    dataset = uploaded(cast)
    assert wrapped(dataset.vault_name).exists()
    services.delete(actor=cast.steward, dataset=dataset)
    assert not wrapped(dataset.vault_name).exists()
    assert AuditEntry.objects.get(action="dataset.deleted").detail["keys_destroyed"] == 1


def test_a_key_whose_table_never_came_is_swept(cast: Cast, settings: Any) -> None:
    kept = uploaded(cast)
    table_keys.put("0" * 64, pyrage.x25519.Identity.generate())
    assert services.sweep() == 0
    os.utime(wrapped("0" * 64), (0, 0))
    assert services.sweep() == 1
    assert not wrapped("0" * 64).exists()
    assert opened(kept.vault_name) == TABLE


# --- another key of the vault -------------------------------------------------------------------------------
def test_after_a_rotation_the_old_key_opens_nothing(folder: Path, cast: Cast) -> None:
    names = [uploaded(cast).vault_name for _ in range(2)]
    before, tables = lines(folder), [vault.path_of(name).read_bytes() for name in names]
    call_command("rotate_vault_key")
    assert len(lines(folder)) == 1
    assert lines(folder) != before
    assert [vault.path_of(name).read_bytes() for name in names] == tables
    assert [opened(name) for name in names] == [TABLE, TABLE]
    assert opened(put()) == TABLE
    old = pyrage.x25519.Identity.from_str(before[0])
    for name in names:
        with pytest.raises(pyrage.DecryptError):
            pyrage.decrypt(wrapped(name).read_bytes(), [old])
    call_command("check_keys")
    assert AuditEntry.objects.get(action="vault.key_rotated").detail == {"tables": 2}
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.rglob("*"))


def test_names_are_encrypted_to_the_new_key(cast: Cast, settings: Any, tmp_path: Path) -> None:
    dataset = uploaded(cast)
    form = Dialect(names=("a", "b"), sheet="One")
    dataset.dialect = sealed_names.stored(form.to_json())
    dataset.refusal = sealed_names.stored_refusal({"rule": "no"}, column="a")
    dataset.save()
    dataset.tables.update(dialect=dataset.dialect)
    call_command("rotate_vault_key")
    dataset.refresh_from_db()
    settings.PREVIEW_PRIVATE_KEY_FILE = tmp_path / "missing"
    assert sealed_names.form_of(dataset) == form
    assert sealed_names.opened(dataset.tables.get().dialect) == form.to_json()
    assert sealed_names.column_of(dataset.refusal) == "a"


@pytest.mark.parametrize("writes", range(5))
def test_a_rotation_that_was_interrupted_at_any_write_is_completed(
    folder: Path, cast: Cast, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    names = [uploaded(cast).vault_name for _ in range(2)]
    replace, done = files.replace, 0

    def stopping(path: Path, content: bytes) -> None:
        nonlocal done
        if done == writes:
            raise KeyboardInterrupt
        done += 1
        replace(path, content)

    monkeypatch.setattr(files, "replace", stopping)
    # The private half, the public one, two keys of tables, the private half: five writes.
    with pytest.raises(KeyboardInterrupt):
        call_command("rotate_vault_key")
    assert [opened(name) for name in names] == [TABLE, TABLE]
    monkeypatch.setattr(files, "replace", replace)
    late = uploaded(cast).vault_name
    call_command("rotate_vault_key")
    assert len(lines(folder)) == 1
    assert [opened(name) for name in (*names, late)] == [TABLE] * 3


def test_the_key_is_not_changed_under_a_run_that_is_measuring(
    folder: Path, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = scene.funded(cast)
    with doorbell.queue_at(doorbell.IN_MEMORY):
        run = scene.submit(steward=cast.steward, dataset=dataset)
    before, secret = lines(folder), vault.derived_secret("truncation")
    SynthesisRun.objects.filter(pk=run.pk).update(lease_held=True)
    with pytest.raises(CommandError, match="a run is measuring"):
        call_command("rotate_vault_key")
    assert lines(folder) == before
    # One that begins meanwhile: both keys are kept, and its secret choices stay those of the old one.
    SynthesisRun.objects.filter(pk=run.pk).update(lease_held=False)

    def begins() -> int:
        SynthesisRun.objects.filter(pk=run.pk).update(lease_held=True)
        return 0

    with monkeypatch.context() as patch:
        patch.setattr(table_keys, "wrap_again", begins)
        with pytest.raises(CommandError, match="a run is measuring"):
            call_command("rotate_vault_key")
    assert len(lines(folder)) == 2
    assert vault.derived_secret("truncation") == secret
    SynthesisRun.objects.filter(pk=run.pk).update(lease_held=False)
    call_command("rotate_vault_key")
    assert vault.derived_secret("truncation") != secret


def test_a_folder_of_keys_that_cannot_be_written_is_told(
    folder: Path, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploaded(cast)

    def refused(path: Path, content: bytes) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    before = lines(folder)
    monkeypatch.setattr(files, "replace", refused)
    with pytest.raises(CommandError, match="Permission denied"):
        call_command("rotate_vault_key")
    assert lines(folder) == before


# --- the list of destroyed keys -----------------------------------------------------------------------------
def test_the_list_names_what_was_destroyed_and_is_signed(
    folder: Path, tmp_path: Path, cast: Cast
) -> None:
    gone, kept = uploaded(cast), uploaded(cast)
    services.delete(actor=cast.steward, dataset=gone)
    call_command("sign_heads", str(tmp_path))
    path = tmp_path / tombstones.FILE
    signer = signatures.key_id((folder / "signing.pub").read_bytes())
    [stone] = tombstones.read(path, signers=[signer]).stones
    assert (stone.dataset, stone.version, stone.name) == (gone.code, 1, gone.vault_name)
    assert stone.is_deleted
    assert kept.code not in path.read_text()
    with pytest.raises(tombstones.BadTombstones, match="which the backup does not hold"):
        tombstones.read(path, signers=[])
    document = json.loads(path.read_text())
    document["statement"]["destroyed"] = []
    path.write_text(json.dumps(document))
    with pytest.raises(tombstones.BadTombstones, match="its signature does not fit"):
        tombstones.read(path, signers=[signer])
    path.write_text("{}")
    with pytest.raises(tombstones.BadTombstones, match="is damaged"):
        tombstones.read(path, signers=[signer])
    with pytest.raises(tombstones.BadTombstones, match="cannot be read"):
        tombstones.read(tmp_path / "none", signers=[signer])


def test_what_a_backup_brings_back_is_destroyed_once_more(cast: Cast) -> None:
    deleted, replaced = uploaded(cast), uploaded(cast)
    stones = [
        tombstones.Tombstone(
            dataset=dataset.code,
            version=1,
            # Of the table as it was encrypted again after the backup.
            name="0" * 64,
            is_deleted=dataset == deleted,
            at="2026-01-01T00:00:00.000000Z",
        )
        for dataset in (deleted, replaced)
    ]
    assert services.bury(stones) == 2
    assert not wrapped(deleted.vault_name).exists()
    assert not wrapped(replaced.vault_name).exists()
    deleted.refresh_from_db()
    replaced.refresh_from_db()
    assert deleted.is_deleted
    # It may get a corrected file; the one of then is gone.
    assert not replaced.is_deleted
    assert replaced.tables.get().erased_at is not None
    assert services.bury(stones) == 0
