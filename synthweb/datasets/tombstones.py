"""Which keys of tables were destroyed, as a signed list that is kept outside the backups.

A backup from before a deletion holds the key of the deleted table. Whoever restores it gives the list, so
that what was destroyed stays destroyed. Versions are named by dataset and number besides, because a table
that is encrypted again has another name in the vault.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from synth_engine.privacy.signing import SignedDocument
from synthweb.datasets.models import Dataset, TableVersion
from synthweb.lib import signatures

SCHEMA = "synthweb/tombstones/1"
FILE = "tombstones.signed"


class BadTombstones(Exception):
    """The list cannot be used; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Tombstone:
    """One key that was destroyed.

    name: of the table in the vault; is_deleted: whether the whole dataset was deleted, not one version
    replaced.
    """

    dataset: str
    version: int
    name: str
    is_deleted: bool
    at: str


@dataclass(frozen=True, kw_only=True)
class Tombstones:
    """A list whose signature was checked; `at` is when it was signed."""

    at: str
    stones: tuple[Tombstone, ...]

    @property
    def names(self) -> frozenset[str]:
        """Of the tables in the vault."""
        return frozenset(stone.name for stone in self.stones)


def signed() -> SignedDocument:
    """The list of every key that was destroyed until now. Errors: NoSigningKey."""
    versions = TableVersion.objects.filter(
        Q(dataset__status=Dataset.Status.DELETED) | Q(erased_at__isnull=False)
    ).select_related("dataset")
    key = signatures.load(Path(settings.SIGNING_PRIVATE_KEY_FILE))
    statement = {
        "at": timezone.now(),
        "destroyed": [_facts(version) for version in versions.order_by("pk")],
    }
    return signatures.sign(statement, schema=SCHEMA, key=key)


def _facts(version: TableVersion) -> dict[str, object]:
    destroyed_at = version.erased_at or version.dataset.deleted_at or timezone.now()
    return {
        "dataset": version.dataset.code,
        "version": version.number,
        "name": version.vault_name,
        "is_deleted": version.dataset.is_deleted,
        "at": destroyed_at,
    }


def read(path: Path, *, signers: Collection[str]) -> Tombstones:
    """A list from its file. signers: names of the keys of which one must have signed it.

    Errors: BadTombstones for a file that cannot be read, was changed, or was signed by another key.
    """
    try:
        document = json.loads(path.read_bytes())
        statement = signatures.check(document)
        if document["schema"] != SCHEMA:
            raise BadTombstones(f"{path} is no list of destroyed keys")
        if statement["key"] not in signers:
            raise BadTombstones(
                f"{path} was signed by the key {statement['key'][:16]}, which the backup does not hold"
            )
        stones = tuple(Tombstone(**facts) for facts in statement["destroyed"])
        at = str(statement["at"])
    except OSError:
        raise BadTombstones(f"{path} cannot be read") from None
    except (ValueError, TypeError, KeyError, signatures.BadSignature):
        raise BadTombstones(f"{path} is damaged: its signature does not fit it") from None
    return Tombstones(at=at, stones=stones)
