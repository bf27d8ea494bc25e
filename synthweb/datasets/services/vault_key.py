"""Another key of the vault: each key of a table is wrapped again, and the old key of the vault is
forgotten."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

from synthweb.audit import services as audit
from synthweb.datasets import sealed_names, table_keys
from synthweb.datasets.models import Dataset
from synthweb.datasets.services import tables
from synthweb.lib.errors import Conflict


def rotate_vault_key(*, is_measuring: Callable[[], bool]) -> int:
    """Give the vault another key. A call that was interrupted at any place is completed by the next one.
    Returns how many keys of tables it wraps.

    is_measuring: whether a run has been charged, or may be at this moment, whose answers are not all stored.
    Its secret choices follow from the key of the vault, and another worker must make the same.

    Errors: Conflict while a run is measuring, StorageError if the private key is not there or a key of a
    table is damaged, OSError if a file of a key cannot be written. Every table can be opened all the while,
    by whoever reads the two files of keys again.
    """
    _refuse(is_measuring)
    table_keys.begin_change()
    count = table_keys.wrap_again()
    for code in Dataset.objects.values_list("code", flat=True):
        _seal_again(code)
    with table_keys.held():
        # Asked while nobody can read the old key: whoever has read it is seen here.
        _refuse(is_measuring)
        table_keys.end_change()
    audit.record(actor="system", action="vault.key_rotated", detail={"tables": count})
    return count


@transaction.atomic
def _seal_again(code: str) -> None:
    """Encrypt the names of a dataset's tables to the key of now. Whoever writes names holds this lock: none
    is left to the key of then by somebody who read it before."""
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
