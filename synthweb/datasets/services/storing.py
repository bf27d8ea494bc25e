"""Datasets come to be, become ready or are refused."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from synth_engine.errors import TableError
from synth_engine.formats import WITH_SCHEMA, WORKBOOKS, Kind
from synthweb.accounts.models import Organisation, User
from synthweb.audit import services as audit
from synthweb.datasets import files, preview_store, sealed_names, table_keys, vault
from synthweb.datasets.models import Dataset
from synthweb.datasets.services import resuming, tables
from synthweb.datasets.services.intake import Intake, intake_of
from synthweb.datasets.signals import arriving
from synthweb.lib import names

# A file without a row may belong to an upload that has not committed yet; not after an hour.
ORPHAN_AGE = datetime.timedelta(hours=1)


def store_upload(
    *,
    steward: User,
    organisation: Organisation,
    name: str,
    upload: Intake,
    description: str = "",
) -> Dataset:
    """Keep a received table: its file moves into the vault and its row appears, both or neither.

    The caller has checked that `steward` is one of `organisation`'s. Errors: Refused for a name of several
    lines, ValidationError for one that is empty or too long, TableError for a table that this organisation
    says is public.
    """
    received = upload.end()
    # Receivers refuse by an exception: nothing is in the vault or the database yet.
    arriving.send(sender=Dataset, organisation=organisation, content_key=received.content_key)
    dataset = Dataset(
        steward=steward,
        organisation=organisation,
        name=names.one_line(name),
        description=description.strip(),
        file_kind=received.file_kind,
        size_bytes=received.size_bytes,
        content_key=received.content_key,
    )
    dataset.clean_fields(exclude=["vault_name"])
    dataset.vault_name = upload.keep()
    try:
        with transaction.atomic():
            dataset.save()
            tables.note(dataset, uploaded_by=steward)
            audit.record(
                actor=steward,
                action="dataset.uploaded",
                target=("dataset", dataset.code),
                organisation=organisation,
                # No size: it depends on every row, and more people read the log than may see the
                # table.
                detail={
                    "name": dataset.name,
                    "kind": dataset.file_kind,
                },
            )
    except BaseException:
        # Also for an interrupt: otherwise the file would lie there until a sweep, an hour later.
        vault.erase(dataset.vault_name)
        raise
    return dataset


def store_stream(
    *,
    steward: User,
    organisation: Organisation,
    name: str,
    file_kind: Kind,
    chunks: Iterable[bytes],
    description: str = "",
) -> Dataset:
    """The same from a stream of bytes.

    Raises TableError when the table is refused; then nothing was kept.
    """
    with intake_of(file_kind) as intake:
        for chunk in chunks:
            intake.receive(chunk)
        return store_upload(
            steward=steward,
            organisation=organisation,
            name=name,
            description=description,
            upload=intake,
        )


def cut_short() -> TableError:
    """The one text for an upload that ended before its time."""
    return TableError("the upload was cut short", repair="upload the table again")


@transaction.atomic
def mark_ready(*, dataset: Dataset, dialect: Mapping[str, object] | None = None) -> None:
    """The worker has read the table, in this form; its preview lies in the preview store. What it replaced is
    erased. Nothing happens if the dataset was deleted, or has another table by now."""
    locked = tables.locked(dataset)
    if locked.is_deleted or locked.table_number != dataset.table_number:
        return
    locked.status, locked.dialect, locked.refusal, locked.refusal_line = (
        Dataset.Status.READY,
        sealed_names.stored(dialect),
        None,
        None,
    )
    locked.save(update_fields=["status", "dialect", "refusal", "refusal_line", "updated_at"])
    tables.settle(locked)
    audit.record(
        actor="worker",
        action="dataset.read",
        target=("dataset", dataset.code),
        organisation=locked.organisation,
    )
    dataset.refresh_from_db(
        fields=["status", "dialect", "refusal", "refusal_line", "updated_at"]
    )


@transaction.atomic
def mark_refused(
    *,
    dataset: Dataset,
    refusal: Mapping[str, str | int | None],
    dialect: Mapping[str, object] | None = None,
) -> None:
    """The worker cannot read the table. `refusal` is InputError.as_dict(): rule, repair, column, line; no
    value.

    Of a CSV no column's name is kept: in a table without a header, often why it is refused, it is a cell of
    the first row. The line is kept apart, for stewards, and not logged; so is the name of a column in a file
    with a schema, encrypted."""
    locked = tables.locked(dataset)
    if locked.is_deleted or locked.table_number != dataset.table_number:
        return
    names_told = (*WITH_SCHEMA, *WORKBOOKS)  # of the columns with formulas, too
    column = refusal.get("column") if locked.file_kind in names_told else None
    locked.status, locked.refusal_line = Dataset.Status.REFUSED, refusal.get("line")
    locked.refusal = sealed_names.stored_refusal(refusal, column=column)
    locked.dialect = sealed_names.stored(dialect) if dialect is not None else locked.dialect
    locked.save(update_fields=["status", "dialect", "refusal", "refusal_line", "updated_at"])
    audit.record(
        actor="worker",
        action="dataset.refused",
        target=("dataset", dataset.code),
        organisation=locked.organisation,
        detail={"rule": locked.refusal["rule"] or ""},
    )
    dataset.refresh_from_db(
        fields=["status", "dialect", "refusal", "refusal_line", "updated_at"]
    )


def sweep() -> int:
    """Remove what has expired or was left behind: previews past their time, parts of interrupted uploads,
    uploads that nobody continues, and files without a row. Run by the reconciler and by
    `manage.py purge_previews`. Returns how many objects went."""
    return (
        preview_store.purge()
        + vault.sweep_parts()
        + resuming.sweep_uploads()
        + _sweep_orphans()
    )


def _sweep_orphans() -> int:
    """Files that no version of a table needs. Of one without any row it is not known whether its upload is
    still at work, so it is left for an hour; an erased one goes at once: its erasure was cut short."""
    latest = timezone.now() - ORPHAN_AGE
    # Files are listed before rows are read: a row written in between can only spare one.
    stored = files.modification_times(Path(settings.VAULT_DIR))
    # A key whose table is gone, or never came, is an orphan as well.
    candidates = table_keys.modification_times() | {
        name: modified for name, modified in stored.items() if vault.NAME.fullmatch(name)
    }
    needed, erased = tables.needed_names(candidates), tables.erased_names(candidates)
    orphans = {
        name for name, at in candidates.items() if name in erased or at < latest.timestamp()
    } - needed
    for name in orphans:
        vault.erase(name)
    return len(orphans)
