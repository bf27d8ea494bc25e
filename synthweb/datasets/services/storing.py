"""Datasets come to be, become ready or are refused."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from synth_engine.errors import TableError
from synth_engine.formats import Kind
from synthweb.accounts.models import Organisation, User
from synthweb.audit import services as audit
from synthweb.datasets import preview_store, vault
from synthweb.datasets.models import Dataset
from synthweb.datasets.services.intake import Intake

ORPHAN_AGE = datetime.timedelta(hours=1)  # a table without a row is younger only while its upload is at work


def store_upload(
    *, steward: User, organisation: Organisation, name: str, upload: Intake, description: str = ""
) -> Dataset:
    """Keep a received table: its file moves into the vault and its row appears, both or neither.

    The caller has checked that `steward` is one of `organisation`'s. Raises ValidationError for a bad name.
    """
    received = upload.end()
    dataset = Dataset(
        steward=steward,
        organisation=organisation,
        name=name.strip(),
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
            audit.record(
                actor=steward,
                action="dataset.uploaded",
                target=("dataset", dataset.code),
                organisation=organisation,
                detail={"name": dataset.name, "kind": dataset.file_kind},  # no size: it depends on every row
            )
    except BaseException:
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
    expected_bytes: int | None = None,
) -> Dataset:
    """The same from a stream of bytes. `expected_bytes` is what was announced: a stream that ends early is refused.

    Raises TableError when the table is refused; then nothing was kept.
    """
    with Intake(file_kind) as intake:
        for chunk in chunks:
            intake.receive(chunk)
        if expected_bytes is not None and intake.size_bytes != expected_bytes:
            raise cut_short()
        return store_upload(
            steward=steward, organisation=organisation, name=name, description=description, upload=intake
        )


def cut_short() -> TableError:
    """The one text for an upload that ended before its time."""
    return TableError("the upload was cut short", repair="upload the table again")


@transaction.atomic
def mark_ready(*, dataset: Dataset) -> None:
    """The worker has read the table; its preview lies in the preview store."""
    Dataset.objects.filter(pk=dataset.pk).update(status=Dataset.Status.READY, refusal=None, updated_at=timezone.now())
    dataset.refresh_from_db(fields=["status", "refusal", "updated_at"])
    audit.record(
        actor="worker", action="dataset.read", target=("dataset", dataset.code), organisation=dataset.organisation
    )


@transaction.atomic
def mark_refused(*, dataset: Dataset, refusal: Mapping[str, Any]) -> None:
    """The worker cannot read the table. `refusal` is InputError.as_dict(): rule, repair, column, line; no value.

    A column's name is not kept: in a table without a header, often why it is refused, it is a cell of the first row.
    Rule and line say where to look."""
    kept = {field: refusal.get(field) for field in ("rule", "repair", "line")} | {"column": None}
    Dataset.objects.filter(pk=dataset.pk).update(status=Dataset.Status.REFUSED, refusal=kept, updated_at=timezone.now())
    dataset.refresh_from_db(fields=["status", "refusal", "updated_at"])
    audit.record(
        actor="worker",
        action="dataset.refused",
        target=("dataset", dataset.code),
        organisation=dataset.organisation,
        detail={"rule": kept["rule"] or "", "line": str(kept["line"] or "")},
    )


def sweep() -> int:
    """Remove what has expired or was left behind: previews past their time, parts of interrupted uploads, and files
    without a row. Run by the reconciler and by `manage.py purge_previews`. Returns how many objects went."""
    return preview_store.purge() + vault.sweep_parts() + _sweep_orphans()


def _sweep_orphans() -> int:
    folder = Path(settings.VAULT_DIR)
    latest = timezone.now() - ORPHAN_AGE
    old = {path.name for path in folder.glob("*") if _is_table(path) and path.stat().st_mtime < latest.timestamp()}
    orphans = old - set(Dataset.objects.filter(vault_name__in=old).values_list("vault_name", flat=True))
    for name in orphans:
        vault.erase(name)
    return len(orphans)


def _is_table(path: Path) -> bool:
    return vault.NAME.fullmatch(path.name) is not None
