"""What the keys of this process still open. Nothing is decrypted beyond the first piece, and nothing of it is kept.

For operators after a key was lost or restored; `manage.py check_keys` prints it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyrage
from django.conf import settings
from django.utils import timezone

from synthweb.datasets import files, preview_store, vault
from synthweb.datasets.models import Dataset, Preview


@dataclass(frozen=True, kw_only=True)
class StoredTable:
    """A table in the vault: whether it can be opened, and if not, why."""

    dataset: Dataset
    problem: str = ""


def tables() -> Iterator[StoredTable]:
    """Every dataset that has a table, with what stands in the way of opening it. StorageError without a key."""
    identity = pyrage.x25519.Identity.from_str(files.read_key(settings.VAULT_PRIVATE_KEY_FILE))
    for dataset in (
        Dataset.objects.exclude(vault_name="").select_related("organisation").order_by("pk")
    ):
        yield StoredTable(
            dataset=dataset, problem=_problem(vault.path_of(dataset.vault_name), identity)
        )


def previews() -> tuple[int, list[Preview]]:
    """How many unexpired steward objects there are, and which of them cannot be opened. StorageError without a key."""
    files.read_key(settings.PREVIEW_PRIVATE_KEY_FILE)
    stored = list(
        Preview.objects.filter(expires_at__gt=timezone.now()).select_related("dataset")
    )
    return len(stored), [preview for preview in stored if not preview_store.opens(preview)]


def _problem(path: Path, identity: pyrage.x25519.Identity) -> str:
    try:
        with path.open("rb") as stored:
            return (
                ""
                if files.fits(stored, identity)
                else "it is damaged, or was encrypted to another key"
            )
    except OSError:
        return "its file is not in the vault"
