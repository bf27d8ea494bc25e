"""Steward objects: sealed, short-lived, for stewards alone, and every reading on record."""

from __future__ import annotations

import contextlib
import datetime
import os
import time
from pathlib import Path

import pytest
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from synthweb.accounts.models import Role
from synthweb.accounts.services import NewPerson, create_user
from synthweb.audit.models import AuditEntry
from synthweb.datasets import preview_store, selectors, services
from synthweb.datasets.models import Dataset, Preview
from tests.cast import Cast

pytestmark = pytest.mark.usefixtures("places")

CANARY = "CANARY-51c0ffee"
PAYLOAD = {
    "columns": ["name"],
    "suggestions": [],
    "preview": [[CANARY]],
    "rows": 1,
    "notes": [],
}
TABLE, REPORT = Preview.Kind.TABLE, Preview.Kind.REPORT


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    return services.store_stream(
        steward=cast.steward,
        organisation=cast.organisation,
        name="People",
        file_kind="csv",
        chunks=[b"name\nA\n"],
    )


def files_in(settings: Settings) -> list[Path]:
    return sorted(Path(settings.PREVIEW_DIR).iterdir())


def openings() -> list[tuple[str, str, str]]:
    found = AuditEntry.objects.filter(action__in=["preview.opened", "report.opened"]).order_by(
        "sequence"
    )
    return [(entry.actor, entry.action, entry.object_code) for entry in found]


def test_the_content_is_neither_in_the_file_nor_in_the_row(
    dataset: Dataset, settings: Settings
) -> None:
    preview = preview_store.put(dataset, TABLE, "", PAYLOAD)
    assert all(CANARY.encode() not in path.read_bytes() for path in files_in(settings))
    assert CANARY not in str(Preview.objects.filter(pk=preview.pk).values())
    assert preview_store.read(preview) == PAYLOAD
    assert files_in(settings)[0].stat().st_mode & 0o777 == 0o600


def test_every_sitting_is_on_record_with_who_and_what(dataset: Dataset, cast: Cast) -> None:
    preview_store.put(dataset, TABLE, "", PAYLOAD)
    preview_store.put(dataset, REPORT, "abc", {"figures": []})
    assert selectors.preview_for(cast.steward, dataset, TABLE) == PAYLOAD
    assert selectors.preview_for(cast.steward, dataset, TABLE) == PAYLOAD
    assert selectors.preview_for(cast.steward, dataset, REPORT, "abc") == {"figures": []}
    assert selectors.preview_for(cast.steward, dataset, REPORT, "abc") == {"figures": []}
    assert openings() == [
        ("steward", "preview.opened", dataset.code),
        ("steward", "report.opened", dataset.code),
        ("steward", "report.opened", dataset.code),
    ]
    assert CANARY not in str(list(AuditEntry.objects.values()))


def test_a_sitting_ends_and_is_of_one_person_and_of_one_reading(
    dataset: Dataset, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    preview_store.put(dataset, TABLE, "", PAYLOAD)
    selectors.preview_for(cast.steward, dataset, TABLE)
    second = create_user(
        actor="system",
        organisation=cast.organisation,
        person=NewPerson(username="second"),
        roles=[Role.STEWARD],
        password="correct horse battery staple",
        must_change_password=False,
    )
    selectors.preview_for(second, dataset, TABLE)
    preview_store.put(dataset, TABLE, "", PAYLOAD)  # the table was read again
    selectors.preview_for(cast.steward, dataset, TABLE)
    selectors.preview_for(cast.steward, dataset, TABLE)
    assert [who for who, *_ in openings()] == ["steward", "second", "steward"]
    monkeypatch.setattr(
        selectors, "SITTING", datetime.timedelta(0)
    )  # as if the half hour were over
    selectors.preview_for(cast.steward, dataset, TABLE)
    assert [who for who, *_ in openings()] == ["steward", "second", "steward", "steward"]


def test_a_look_whose_entry_was_undone_is_written_by_the_next_one(
    dataset: Dataset, cast: Cast
) -> None:
    preview_store.put(dataset, TABLE, "", PAYLOAD)
    with contextlib.suppress(RuntimeError), transaction.atomic():
        selectors.preview_for(cast.steward, dataset, TABLE)
        raise RuntimeError
    assert openings() == []
    selectors.preview_for(cast.steward, dataset, TABLE)
    assert len(openings()) == 1


@pytest.mark.parametrize("who", ["custodian", "analyst", "auditor", "staff", "stranger"])
def test_nobody_else_reads_it(dataset: Dataset, cast: Cast, who: str) -> None:
    preview_store.put(dataset, TABLE, "", PAYLOAD)
    with pytest.raises(PermissionDenied):
        selectors.preview_for(cast.by_name()[who], dataset, TABLE)
    assert openings() == []


def test_a_steward_who_was_switched_off_reads_nothing(dataset: Dataset, cast: Cast) -> None:
    preview_store.put(dataset, TABLE, "", PAYLOAD)
    cast.steward.is_active = False
    cast.steward.save()
    with pytest.raises(PermissionDenied):
        selectors.preview_for(cast.steward, dataset, TABLE)


def test_a_newer_one_replaces_the_older_and_its_file(
    dataset: Dataset,
    settings: Settings,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        preview_store.put(dataset, TABLE, "", PAYLOAD)
        preview_store.put(dataset, REPORT, "abc", PAYLOAD)
        newest = preview_store.put(dataset, TABLE, "", PAYLOAD | {"rows": 2})
    assert Preview.objects.filter(kind=TABLE).get() == newest
    assert len(files_in(settings)) == 2


def test_what_has_expired_is_not_opened_any_more(
    dataset: Dataset, cast: Cast, settings: Settings
) -> None:
    settings.PREVIEW_HOURS = 1
    preview = preview_store.put(dataset, TABLE, "", PAYLOAD)
    hours = preview.expires_at - preview.created_at
    assert datetime.timedelta(minutes=59) < hours < datetime.timedelta(minutes=61)
    Preview.objects.update(expires_at=timezone.now())
    assert selectors.preview_for(cast.steward, dataset, TABLE) is None
    assert selectors.preview_exists(dataset) is None
    assert openings() == []


def test_the_purge_removes_rows_and_files_of_what_has_expired_and_nothing_else(
    dataset: Dataset,
    settings: Settings,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    old = preview_store.put(dataset, TABLE, "", PAYLOAD)
    young = preview_store.put(dataset, REPORT, "abc", PAYLOAD)
    Preview.objects.filter(pk=old.pk).update(expires_at=timezone.now())
    with django_capture_on_commit_callbacks(execute=True):
        call_command("purge_previews")
    assert list(Preview.objects.all()) == [young]
    assert [path.name for path in files_in(settings)] == [young.store_name]


def test_the_purge_removes_files_without_a_row_once_they_are_old(
    dataset: Dataset, settings: Settings
) -> None:
    preview_store.put(dataset, TABLE, "", PAYLOAD)
    Preview.objects.all().delete()
    assert preview_store.purge() == 0
    two_hours_ago = time.time() - 7200
    os.utime(files_in(settings)[0], (two_hours_ago, two_hours_ago))
    assert preview_store.purge() == 1
    assert files_in(settings) == []


@pytest.mark.parametrize("change", ["flipped", "gone"])
def test_a_damaged_or_lost_file_is_told_without_its_content(
    dataset: Dataset, settings: Settings, change: str
) -> None:
    preview = preview_store.put(dataset, TABLE, "", PAYLOAD)
    path = files_in(settings)[0]
    if change == "gone":
        path.unlink()
    else:
        sealed = path.read_bytes()
        path.write_bytes(sealed[:-1] + bytes([sealed[-1] ^ 1]))
    with pytest.raises(preview_store.PreviewError) as caught:
        preview_store.read(preview)
    assert CANARY not in str(caught.value)


def test_the_worker_writes_without_the_key_that_opens(
    dataset: Dataset, settings: Settings, tmp_path: Path
) -> None:
    settings.PREVIEW_PRIVATE_KEY_FILE = tmp_path / "nowhere"
    preview = preview_store.put(dataset, TABLE, "", PAYLOAD)
    with pytest.raises(preview_store.files.StorageError):
        preview_store.read(preview)
