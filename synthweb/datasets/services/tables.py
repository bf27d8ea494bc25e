"""The versions of a dataset's table: which file is in force, which are to be erased, which run was asked of
which.

The database comes first, always: a file is erased when the transaction that says so has been committed.
Whoever dies between the two leaves a file that no row needs, and `sweep` removes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from synthweb.accounts.models import User
from synthweb.datasets import preview_store, vault
from synthweb.datasets.models import Dataset, Preview, RunTable, TableVersion
from synthweb.datasets.services import records
from synthweb.lib.errors import Conflict


def locked(dataset: Dataset) -> Dataset:
    """The row as it is now, held until the end of the transaction. Runs are submitted, and files replaced or
    deleted, under this lock alone, so that a run in flight always has its file."""
    # FOR NO KEY UPDATE, where there is one: rows that refer to the dataset are not held up.
    no_key = connection.features.has_select_for_no_key_update
    rows = Dataset.objects.select_for_update(of=("self",), no_key=no_key).select_related(
        "organisation", "steward"
    )
    return rows.get(pk=dataset.pk)


def note(dataset: Dataset, *, uploaded_by: User) -> TableVersion:
    """Write down the file in force as a version of its own."""
    return TableVersion.objects.create(
        dataset=dataset,
        number=dataset.table_number,
        vault_name=dataset.vault_name,
        file_kind=dataset.file_kind,
        size_bytes=dataset.size_bytes,
        content_key=dataset.content_key,
        dialect=dataset.dialect,
        uploaded_by=uploaded_by,
        read_at=timezone.now() if dataset.status == Dataset.Status.READY else None,
    )


def in_force(dataset: Dataset) -> TableVersion:
    """The version in force."""
    return dataset.tables.get(number=dataset.table_number)


@transaction.atomic
def take(*, dataset: Dataset, run_code: str, number: int | None = None) -> TableVersion:
    """Note which version a run is submitted for, by default the one in force, and see that it is there:
    called in the submission's transaction, for each table of a database once. Errors: Conflict."""
    held = locked(dataset)
    if held.is_deleted:
        raise Conflict("this dataset was deleted", repair="submit the run for another one")
    if held.status != Dataset.Status.READY:
        raise Conflict(
            "the table of this dataset is being replaced", repair="wait until it is ready"
        )
    version = in_force(held) if number is None else held.tables.get(number=number)
    require_kept([version])
    rules = records.rules_of(held, file=version)
    # Losses of runs add up for the same records only.
    records.require_same(held, rules, file=version)
    return RunTable.objects.create(run_code=run_code, table=version, rules=rules).table


def require_kept(versions: Iterable[TableVersion]) -> None:
    """See that the files of these versions, of which a release was made, are still there. Errors:
    Conflict."""
    if any(version.erased_at is not None for version in versions):
        raise Conflict(
            "the version of the table that the release was made of was erased",
            repair="make a release of the table in force, and use that one",
        )


def settle(dataset: Dataset) -> None:
    """The version in force is sound: say so, and erase the files of others that nobody needs any more."""
    dataset.tables.filter(pk=in_force(dataset).pk).update(
        dialect=dataset.dialect, read_at=timezone.now()
    )
    erase_spare(dataset)


def erase_spare(dataset: Dataset) -> int:
    """Erase the files of earlier versions but for those of which there is a release, which is compared with
    its own version, and those that an open run reads. Returns how many there were."""
    of_runs = RunTable.objects.filter(table__dataset=dataset).values("run_code")
    releases, runs = dataset.releases.model.objects, dataset.runs.model.objects
    needed = {
        *releases.filter(run_code__in=of_runs, withdrawn_at=None).values_list(
            "run_code", flat=True
        ),
        *runs.filter(code__in=of_runs, state__in=runs.model.OPEN).values_list(
            "code", flat=True
        ),
    }
    # While the file in force is still being read, one may go back to the one before it.
    if dataset.status != Dataset.Status.READY:
        return 0
    earlier = dataset.tables.exclude(number=dataset.table_number)
    return erase(earlier.exclude(runs__run_code__in=needed))


def erase(versions: Iterable[TableVersion]) -> int:
    """Mark versions as erased, and erase their files once that is committed. Returns how many there were."""
    names = [version.vault_name for version in versions if version.erased_at is None]
    TableVersion.objects.filter(vault_name__in=names).update(erased_at=timezone.now())
    for name in names:
        transaction.on_commit(partial(vault.erase, name))
    return len(names)


def forget_reports(dataset: Dataset, *, of: Iterable[str] | None = None) -> None:
    """Erase comparisons with a table that is read otherwise now, or is gone. of: codes of releases; None: of
    all."""
    reports = dataset.previews.filter(kind=Preview.Kind.REPORT)
    for preview in reports if of is None else reports.filter(subject__in=list(of)):
        preview_store.erase(preview)


def needed_names(names: Iterable[str]) -> set[str]:
    """Which of these files a dataset still needs."""
    versions = TableVersion.objects.filter(vault_name__in=names, erased_at=None).exclude(
        dataset__status=Dataset.Status.DELETED
    )
    return set(versions.values_list("vault_name", flat=True))


def erased_names(names: Iterable[str]) -> set[str]:
    """Which of these files were erased, as far as the database is concerned."""
    gone = TableVersion.objects.filter(
        Q(dataset__status=Dataset.Status.DELETED) | ~Q(erased_at=None)
    )
    deleted = Dataset.objects.filter(status=Dataset.Status.DELETED, vault_name__in=names)
    wiped = gone.filter(vault_name__in=names).values_list("vault_name", flat=True)
    return {*wiped, *deleted.values_list("vault_name", flat=True)}
