"""Free space of every disk that this installation writes to. Each process sees its own folders: the
confidential worker tells how much room noisy answers and its scratch space have, a backup how much was left
where it lies."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from django.conf import settings
from django.db import connection

from synthweb.lib import occurrences

ROOM_OF_WORKER = "room-of-worker"
FORGOTTEN = 600  # seconds after which a worker that says nothing more is not believed
PAUSE = 60.0  # seconds between two looks of a worker


def free(place: Path) -> int:
    """Bytes that are free there; a folder that was not made yet lies where its parent does."""
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free


def of_web() -> dict[str, Path]:
    """What the web writes to, by name; a database of PostgreSQL is on a disk that it does not see."""
    folders = {
        "vault": Path(settings.VAULT_DIR),
        "previews": Path(settings.PREVIEW_DIR),
        "spool": Path(settings.SPOOL_DIR),
        "tmp": Path(tempfile.gettempdir()),
    }
    if connection.vendor == "sqlite":
        folders["database"] = Path(str(connection.settings_dict["NAME"])).parent
    return folders


class RoomOfWorker:
    """Called at each heartbeat of the confidential worker; tells once a minute how much room it has."""

    def __init__(self) -> None:
        self._again_at = 0.0

    def __call__(self, **_about: object) -> None:
        now = time.monotonic()
        if now < self._again_at:
            return
        self._again_at = now + PAUSE
        occurrences.note(
            ROOM_OF_WORKER,
            seconds=FORGOTTEN,
            artefacts=free(Path(settings.ARTEFACT_DIR)),
            scratch=free(Path(tempfile.gettempdir())),
        )
