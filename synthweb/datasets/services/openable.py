"""What the keys of this process still open. Nothing is decrypted beyond the first piece, and nothing of it is
kept.

For operators after a key was lost or restored; `manage.py check_keys` prints it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from synthweb.datasets import files, preview_store, table_keys, vault
from synthweb.datasets.models import Dataset, Preview


@dataclass(frozen=True, kw_only=True)
class StoredTable:
    """A table in the vault: whether it can be opened, and if not, why."""

    dataset: Dataset
    problem: str = ""


def tables() -> Iterator[StoredTable]:
    """Every dataset that has a table, with what stands in the way of opening it. StorageError without a
    key."""
    files.read_keys(settings.VAULT_PRIVATE_KEY_FILE)
    stored = Dataset.objects.exclude(vault_name="").exclude(status=Dataset.Status.DELETED)
    for dataset in stored.select_related("organisation").order_by("pk"):
        yield StoredTable(dataset=dataset, problem=_problem(dataset.vault_name))


def previews() -> tuple[int, list[Preview]]:
    """How many unexpired steward objects there are, and which of them cannot be opened. StorageError without
    a key."""
    files.read_key(settings.PREVIEW_PRIVATE_KEY_FILE)
    stored = list(
        Preview.objects.filter(expires_at__gt=timezone.now()).select_related("dataset")
    )
    return len(stored), [preview for preview in stored if not preview_store.opens(preview)]


def _problem(name: str) -> str:
    try:
        with vault.path_of(name).open("rb") as stored:
            if files.fits(stored, table_keys.opening(name)):
                return ""
            return "it is damaged, or was encrypted to another key"
    except table_keys.NoSuchKey as problem:
        return str(problem)
    except OSError:
        return "its file is not in the vault"
