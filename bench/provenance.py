"""Which code and which machine figures are of."""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
from collections.abc import Iterable
from pathlib import Path

ENGINE = Path(__file__).resolve().parents[1] / "synth_engine"


def digest(files: Iterable[Path]) -> str:
    """A digest of the contents of files, in this order."""
    hashed = hashlib.sha256()
    for file in files:
        hashed.update(file.read_bytes())
    return hashed.hexdigest()[:12]


def engine_version() -> str:
    """A digest of the engine's code."""
    return digest(sorted(ENGINE.rglob("*.py")))


def machine() -> str:
    """The machine and the day, as a sentence."""
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {today}."
