"""Another key of the vault: each key of a table is wrapped again, and the old key of the vault is forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import transaction

from synthweb.audit import services as audit
from synthweb.datasets import files, sealed_names, table_keys, vault
from synthweb.datasets.models import Dataset, TableVersion
from synthweb.datasets.services import tables
from synthweb.lib.errors import Conflict

_PIECE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Rotation:
    """How many keys of tables there are, and how many tables got one because they were older than such keys."""

    keys: int
    encrypted_again: int


def rotate_vault_key(*, is_measuring: Callable[[], bool]) -> Rotation:
    """Give the vault another key. A call that was interrupted at any place is completed by the next one.

    is_measuring: whether a run has been charged, or may be at this moment, whose answers are not all stored. Its secret choices
    follow from the key of the vault, and another worker must make the same.

    Errors: Conflict while a run is measuring, StorageError if the private key is not there or a key of a table is damaged, OSError if
    a file of a key cannot be written. Every table can be opened all the while, by whoever reads the two files of keys again.
    """
    _refuse(is_measuring)
    table_keys.begin_change()
    older = [name for name in _stored() if not table_keys.has_own(name)]
    for name in older:
        _encrypt_again(name)
    count = table_keys.wrap_again()
    for code in Dataset.objects.values_list("code", flat=True):
        _seal_again(code)
    with table_keys.held():
        # Asked while nobody can read the old key: whoever has read it is seen here.
        _refuse(is_measuring)
        table_keys.end_change()
    audit.record(actor="system", action="vault.key_rotated", detail={"tables": count})
    return Rotation(keys=count, encrypted_again=len(older))


@transaction.atomic
def _seal_again(code: str) -> None:
    """Encrypt the names of a dataset's tables to the key of now. Whoever writes names holds this lock: none is left to the key of
    then by somebody who read it before."""
    dataset = tables.locked(Dataset.objects.get(code=code))
    for row in (dataset, *dataset.tables.all()):
        for field in ("dialect", "refusal"):
            again = sealed_names.sealed_again(getattr(row, field, None))
            if again is not None:
                row._meta.model._base_manager.filter(pk=row.pk).update(**{field: again})


def _refuse(is_measuring: Callable[[], bool]) -> None:
    if is_measuring():
        raise Conflict(
            "a run is measuring, and what it has begun depends on the key of the vault",
            repair="run the command again when that run is over",
        )


def _stored() -> set[str]:
    names = files.modification_times(Path(settings.VAULT_DIR))
    return tables.needed_names(name for name in names if vault.NAME.fullmatch(name))


def _encrypt_again(name: str) -> None:
    """Put a table from before tables had keys in the vault once more, under a key of its own and so under another name."""
    with (
        vault.open_table(name) as path,
        path.open("rb") as plain,
        vault.Writer() as writer,
    ):
        while piece := plain.read(_PIECE):
            writer.write(piece)
        writer.end()
        fresh = writer.keep()
    try:
        with transaction.atomic():
            Dataset.objects.filter(vault_name=name).update(vault_name=fresh)
            TableVersion.objects.filter(vault_name=name).update(vault_name=fresh)
    except BaseException:
        vault.erase(fresh)
        raise
    vault.erase(name)
