"""Short-lived objects for stewards' eyes: previews, suggestions, comparisons with real data.

The worker writes them to the web's second key pair; one file each below PREVIEW_DIR, and a Preview row that
says where it lies and when it ends, and holds none of it. `put` is for runs.job_kinds; `read` for the
selectors that write the audit log at every reading; nobody else imports this module.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyrage
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from synthweb.datasets import files
from synthweb.datasets.models import Dataset, Preview

NAME = re.compile(r"[0-9a-f]{32}")
FORM = "form"  # subject of what is shown beside a question about a file's form
LASTING = datetime.timedelta(days=36_500)  # names of columns: wanted as long as the table is
# A file without a row may belong to a `put` that has not committed yet; not after an hour.
ORPHAN_AGE = datetime.timedelta(hours=1)


class PreviewError(files.StorageError):
    """A stored object cannot be opened. The message names no content."""


def put(dataset: Dataset, kind: str, subject: str, payload: Mapping[str, object]) -> Preview:
    """Encrypt `payload` (anything JSON can hold) and replace what was stored for this dataset, kind and
    subject."""
    name = secrets.token_hex(16)
    recipient = pyrage.x25519.Recipient.from_str(
        files.read_key(settings.PREVIEW_PUBLIC_KEY_FILE)
    )
    sealed = pyrage.encrypt(json.dumps(payload, ensure_ascii=False).encode(), [recipient])
    folder = files.private_directory(Path(settings.PREVIEW_DIR))
    # File first, row second: a stop in between leaves a file that `purge` finds, and never a
    # row whose file is missing.
    with os.fdopen(
        os.open(folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb"
    ) as file:
        file.write(sealed)
        file.flush()
        os.fsync(file.fileno())
    files.sync_directory(folder)
    with transaction.atomic():
        no_key = connection.features.has_select_for_no_key_update
        # The dataset may have been deleted while the worker had it open: nothing outlives that.
        if Dataset.objects.select_for_update(no_key=no_key).get(pk=dataset.pk).is_deleted:
            (folder / name).unlink()
            raise PreviewError("the dataset was deleted")
        older = list(
            Preview.objects.select_for_update().filter(
                dataset=dataset, kind=kind, subject=subject
            )
        )
        preview = Preview.objects.create(
            dataset=dataset,
            kind=kind,
            subject=subject,
            store_name=name,
            expires_at=timezone.now() + _life(kind),
        )
        for one in older:
            erase(one)
    return preview


def _life(kind: str) -> datetime.timedelta:
    return (
        LASTING
        if kind == Preview.Kind.COLUMNS
        else datetime.timedelta(hours=settings.PREVIEW_HOURS)
    )


def latest(dataset: Dataset, kind: str, subject: str) -> Preview | None:
    """The stored object, unless it has expired."""
    previews = Preview.objects.filter(
        dataset=dataset, kind=kind, subject=subject, expires_at__gt=timezone.now()
    )
    return previews.order_by("-created_at", "-pk").first()


def read(preview: Preview) -> dict[str, Any]:
    """Decrypt a stored object. Web only: it needs the web's private key. Callers write the audit log
    first."""
    identity = pyrage.x25519.Identity.from_str(
        files.read_key(settings.PREVIEW_PRIVATE_KEY_FILE)
    )
    try:
        plain = pyrage.decrypt(_path(preview.store_name).read_bytes(), [identity])
    except FileNotFoundError:
        raise PreviewError("the stored object is gone") from None
    except pyrage.DecryptError:
        raise PreviewError(
            "the stored object is damaged or was not written for this key"
        ) from None
    payload: dict[str, Any] = json.loads(plain)
    return payload


def opens(preview: Preview) -> bool:
    """Whether the web's key of today opens a stored object; it does not, after that key was lost."""
    try:
        identity = pyrage.x25519.Identity.from_str(
            files.read_key(settings.PREVIEW_PRIVATE_KEY_FILE)
        )
        with _path(preview.store_name).open("rb") as stored:
            return files.fits(stored, identity)
    except (OSError, files.StorageError):
        return False


def erase(preview: Preview) -> None:
    """Remove the row, and the file once that is committed."""
    path = _path(preview.store_name)
    preview.delete()
    transaction.on_commit(lambda: path.unlink(missing_ok=True))


def purge() -> int:
    """Remove what has expired, and files whose row is gone. Returns how many rows and files went."""
    moment = timezone.now()
    expired = list(Preview.objects.filter(expires_at__lte=moment))
    for preview in expired:
        with transaction.atomic():
            erase(preview)
    return len(expired) + _purge_orphans(moment)


def _purge_orphans(moment: datetime.datetime) -> int:
    folder = Path(settings.PREVIEW_DIR)
    known = set(Preview.objects.values_list("store_name", flat=True))
    removed = 0
    for name, modified in files.modification_times(folder).items():
        age = moment.timestamp() - modified
        if NAME.fullmatch(name) and name not in known and age > ORPHAN_AGE.total_seconds():
            (folder / name).unlink(missing_ok=True)
            removed += 1
    return removed


def _path(name: str) -> Path:
    if not NAME.fullmatch(name):
        raise PreviewError("not the name of a stored object")
    return Path(settings.PREVIEW_DIR) / name
