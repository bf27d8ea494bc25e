"""What becomes of a dataset after its upload: another name, another file, another form of the file, an end.

None of these asks a worker for anything: who replaces a file or says its form asks for it to be read in the
same transaction (`runs.services.request_ingest`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from django.db import transaction
from django.utils import timezone

from synth_engine.errors import TableError
from synth_engine.formats import BASKETS, WITH_SCHEMA, WORKBOOKS, Dialect
from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.datasets import preview_store, sealed_names, selectors, vault
from synthweb.datasets.models import Dataset, DraftFacts, RunTable, TableVersion
from synthweb.datasets.services import records, tables
from synthweb.datasets.services.intake import Intake
from synthweb.datasets.signals import arriving
from synthweb.datasets.tombstones import Tombstone
from synthweb.lib import names
from synthweb.lib.errors import Conflict, Refused, sentence

Status = Dataset.Status


@transaction.atomic
def rename(*, actor: User, dataset: Dataset, name: str, description: str) -> Dataset:
    """Give a dataset another name and description. Errors: Refused for a name of several lines,
    ValidationError for one that is empty or too long."""
    locked = tables.locked(dataset)
    _refuse_deleted(locked)
    locked.name, locked.description = names.one_line(name), description.strip()
    locked.clean_fields(exclude=["vault_name"])
    locked.save(update_fields=["name", "description", "updated_at"])
    _record(actor, "dataset.renamed", locked, name=locked.name)
    return locked


@transaction.atomic
def state_records(*, actor: User, dataset: Dataset, records: int) -> Dataset:
    """Keep what the steward states in public of the number of records: the low end of a band, or a number."""
    locked = tables.locked(dataset)
    if locked.stated_records != records:
        locked.stated_records = records
        locked.save(update_fields=["stated_records", "updated_at"])
        _record(actor, "dataset.records_stated", locked, records=records)
    dataset.stated_records = records
    return dataset


def replace_file(*, actor: User, dataset: Dataset, upload: Intake) -> Dataset:
    """Put a received table in the place of the one in force, as its next version: same budget, same
    description.

    The file before it is kept until the new one has been read, so that one can go back. Raises Conflict while
    a run or a job is open: they keep the file that they were asked for; and for content that spends from
    another account already. Raises TableError for the very same content, and for a table that this
    organisation says is public.
    """
    received = upload.end()
    with transaction.atomic():
        # Before the file moves into the vault. Checked again below, where the lock is held
        # until the new version is committed.
        _check_free(tables.locked(dataset))
    arriving.send(
        sender=Dataset, organisation=dataset.organisation, content_key=received.content_key
    )
    vault_name = upload.keep()
    try:
        with transaction.atomic():
            locked = tables.locked(dataset)
            _check_free(locked)
            if received.content_key == locked.content_key:
                raise TableError(
                    "this is the very table that is there already",
                    repair="choose the corrected file",
                )
            _refuse_paid_elsewhere(locked, received.content_key)
            # Not `table_number` + 1: after a return to an earlier file, a later number is
            # taken.
            newest = locked.tables.order_by("-number").values_list("number", flat=True)[0]
            locked.table_number, locked.vault_name, locked.file_kind = (
                newest + 1,
                vault_name,
                received.file_kind,
            )
            locked.size_bytes, locked.content_key = received.size_bytes, received.content_key
            _await_reading(locked, dialect=None)
            tables.note(locked, uploaded_by=actor)
            _record(
                actor,
                "dataset.replaced",
                locked,
                version=locked.table_number,
                kind=locked.file_kind,
            )
    except BaseException:
        vault.erase(vault_name)
        raise
    return locked


@transaction.atomic
def go_back(*, actor: User, dataset: Dataset) -> Dataset:
    """Give up a version that was refused, and return to the one before it, whose file is still there."""
    locked = tables.locked(dataset)
    _check_free(locked)
    refused = tables.in_force(locked)
    before = locked.tables.filter(
        number__lt=locked.table_number, erased_at=None, read_at__isnull=False
    ).first()
    if locked.status != Status.REFUSED or before is None:
        raise Conflict(
            "there is no earlier file to go back to", repair="upload a corrected one"
        )
    locked.table_number, locked.vault_name, locked.file_kind = (
        before.number,
        before.vault_name,
        before.file_kind,
    )
    locked.size_bytes, locked.content_key, locked.dialect = (
        before.size_bytes,
        before.content_key,
        before.dialect,
    )
    locked.status, locked.refusal, locked.refusal_line = Status.READY, None, None
    locked.save()
    tables.erase([refused])
    _record(actor, "dataset.returned", locked, version=before.number)
    return locked


@transaction.atomic
def erase_earlier(*, actor: User, dataset: Dataset) -> Dataset:
    """Erase the files of earlier versions that are kept for releases, with their keys and the comparisons
    that were made with them. The releases stay. Errors: Conflict while a worker may read one, and where there
    is none."""
    locked = tables.locked(dataset)
    _check_free(locked)
    versions = list(selectors.earlier_files(locked))
    if not versions:
        raise Conflict(
            "no earlier file is kept", repair="delete the dataset to erase the one in force"
        )
    runs = RunTable.objects.filter(table__in=versions).values("run_code")
    made = locked.releases.model.objects.filter(run_code__in=runs)
    tables.forget_reports(locked, of=made.values_list("code", flat=True))
    _record(actor, "dataset.earlier_erased", locked, keys_destroyed=tables.erase(versions))
    return locked


@transaction.atomic
def set_dialect(*, actor: User, dataset: Dataset, dialect: Dialect) -> Dataset:
    """Say how the CSV is written. It has to be read again; every later reading goes by this."""
    locked = tables.locked(dataset)
    _check_free(locked)
    if locked.file_kind in (*WITH_SCHEMA, *BASKETS):
        raise Conflict(
            "a file of this kind says itself how it is written",
            repair="upload a CSV to say how to read it",
        )
    if dialect.vouched_by and locked.file_kind not in WORKBOOKS:
        raise Conflict(
            "this file has no formulas to vouch for", repair="leave out who vouches for them"
        )
    records.require_same(locked, records.rules_of(locked, dialect))
    _await_reading(locked, dialect=dialect)
    tables.forget_reports(locked)
    # No name: more people read the log than may see the table, and its entries outlive the table.
    options = {
        key: str(value)
        for key, value in dialect.to_json().items()
        if key not in ("columns", "names", "sheet")
    }
    _record(actor, "dataset.form_said", locked, **options)
    return locked


@transaction.atomic
def delete(*, actor: User | None, dataset: Dataset) -> Dataset:
    """Erase the table with its key, everything made of it for its steward, and what was typed and never
    confirmed. actor: None where nobody did it, but a date that had come.

    What others rely on stays: ledger, receipts, releases with their samples, confirmed descriptions, the
    audit log, and the mark by which the same table is recognised if it comes again. Budget is not given back:
    what was learned stays learned. Raises Conflict while a run is open.
    """
    locked = tables.locked(dataset)
    _refuse_deleted(locked)
    # Not `_check_free`: a reading or comparison that is under way finds the dataset deleted,
    # and stores nothing.
    _refuse_open_runs(locked)
    _erase(locked, actor=actor)
    return locked


@transaction.atomic
def set_retention(
    *,
    actor: User,
    dataset: Dataset,
    table: date | None,
    answers: date | None,
    releases: date | None,
) -> Dataset:
    """Say on which day the table, the noisy answers of its runs, and its releases are kept for the last time;
    None: no end.

    Errors: Refused for a day that is over, because what goes on it would go at once.
    """
    locked = tables.locked(dataset)
    chosen = {"table_until": table, "answers_until": answers, "releases_until": releases}
    for name, day in chosen.items():
        if day is not None and day != getattr(locked, name) and day < timezone.now().date():
            raise Refused("the day is over", repair="choose today or a later day", field=name)
        setattr(locked, name, day)
    locked.save(update_fields=[*chosen, "updated_at"])
    _record(
        actor,
        "dataset.retention_set",
        locked,
        **{name: f"{day:%Y-%m-%d}" if day else "" for name, day in chosen.items()},
    )
    return locked


@transaction.atomic
def bury(stones: Iterable[Tombstone]) -> int:
    """Destroy once more what a restored backup has brought back: keys and tables that were destroyed after it
    was made, and whole datasets that were deleted. Returns how many tables it had brought back."""
    buried = 0
    for stone in stones:
        version = TableVersion.objects.filter(
            dataset__code=stone.dataset, number=stone.version
        ).first()
        if version is None or version.dataset.is_deleted:
            continue
        buried += version.erased_at is None
        if stone.is_deleted:
            _erase(tables.locked(version.dataset), actor=None)
        else:
            tables.erase([version])
    return buried


def _erase(locked: Dataset, *, actor: User | None) -> None:
    destroyed = locked.tables.filter(erased_at=None).count()
    locked.status, locked.deleted_at, locked.deleted_by = Status.DELETED, timezone.now(), actor
    locked.draft, locked.refusal, locked.refusal_line = {}, None, None
    locked.dialect = sealed_names.without_names(locked.dialect)
    locked.save()
    for version in locked.tables.exclude(dialect=None):
        version.dialect = sealed_names.without_names(version.dialect)
        version.save(update_fields=["dialect"])
    DraftFacts.objects.filter(dataset=locked).delete()
    for preview in locked.previews.all():
        preview_store.erase(preview)
    tables.erase(locked.tables.all())
    _record(actor, "dataset.deleted", locked, name=locked.name, keys_destroyed=destroyed)


def blocked(dataset: Dataset, *, deleting: bool = False) -> str:
    """Why its file cannot be replaced or read in another form just now, or the dataset not be deleted, in
    words; empty when it can."""
    try:
        _refuse_open_runs(dataset) if deleting else _check_free(dataset)
    except Conflict as conflict:
        return sentence(conflict)
    return ""


def _await_reading(dataset: Dataset, *, dialect: Dialect | None) -> None:
    dataset.dialect = sealed_names.stored(dialect.to_json()) if dialect else None
    dataset.status, dataset.refusal, dataset.refusal_line = Status.UPLOADED, None, None
    dataset.save()


def _check_free(dataset: Dataset) -> None:
    _refuse_deleted(dataset)
    _refuse_open_runs(dataset)
    if dataset.table_jobs.filter(state__in=dataset.table_jobs.model.OPEN).exists():
        raise Conflict(
            "a worker has this table open, or is about to", repair="wait until it is done"
        )


def _refuse_open_runs(dataset: Dataset) -> None:
    # A run of a database reads the files of all of its tables.
    paying = selectors.root_above(dataset) or dataset
    if paying.runs.filter(state__in=paying.runs.model.OPEN).exists():
        raise Conflict(
            "a run of this dataset is not over", repair="wait for it or cancel it first"
        )
    if dataset.filled_counts.filter(state__in=dataset.filled_counts.model.OPEN).exists():
        raise Conflict("counts of this dataset are being taken", repair="wait for them")


def _refuse_paid_elsewhere(dataset: Dataset, content_key: str) -> None:
    """Two budgets on the same rows add up for the people in them. A custodian decides about that when a
    dataset asks for budget; a dataset that has one asks nobody any more."""
    # The root's budget pays for a table below it.
    own = getattr(selectors.root_above(dataset) or dataset, "coverage", None)
    if own is None:
        return
    holding = selectors.holding({content_key}, organisation_id=dataset.organisation_id)
    same = list(holding.exclude(pk=dataset.pk))
    paid = [
        one.coverage
        for one in (*same, *selectors.roots_that_had(same))
        if hasattr(one, "coverage")
    ]
    if any(coverage.account_id != own.account_id for coverage in paid):
        raise Conflict(
            "this very table spends from another budget already",
            repair="make releases of the dataset that has it, from its budget",
        )


def _refuse_deleted(dataset: Dataset) -> None:
    if dataset.is_deleted:
        raise Conflict("this dataset was deleted", repair="upload the table again as a new one")


def _record(actor: User | None, action: str, dataset: Dataset, **detail: str | int) -> None:
    audit.record(
        actor=actor,
        action=action,
        target=("dataset", dataset.code),
        organisation=dataset.organisation,
        detail=detail,
    )
