"""Noisy answers at rest: one file a measurement, written whole or not at all.

They are differentially private and paid for; keeping them is what makes everything after the measurement repeatable.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from django.conf import settings

from synth_engine.errors import InputError, VerificationError
from synth_engine.measurement import Answers

ORPHAN_SECONDS = 3600


def put(answers: Answers, *, name: str) -> None:
    """Write under a temporary name, force it to the disk, then rename: a crash leaves the old state or the new."""
    folder = _folder()
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".part-", suffix=".npz")
    os.close(descriptor)
    path = Path(temporary)
    try:
        answers.save(path)
        _sync(path)
        path.rename(folder / name)
        _sync(folder)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def get(*, name: str, digest: str) -> Answers:
    """Read back; VerificationError unless the content is what the database says was measured."""
    try:
        answers = Answers.load(_folder() / name)
    except InputError:
        raise VerificationError("the stored noisy answers are missing or damaged") from None
    if answers.digest != digest:
        raise VerificationError("the stored noisy answers are not those that were measured")
    return answers


def discard(*, name: str) -> None:
    """Remove the file of answers that were never recorded."""
    (_folder() / name).unlink(missing_ok=True)


def sweep(*, known: set[str]) -> int:
    """Remove what workers left that died between writing and recording: not `known`, and too old to be recorded yet."""
    old = time.time() - ORPHAN_SECONDS
    orphans = [path for path in _folder().glob("*.npz") if path.name not in known and path.stat().st_mtime < old]
    for path in orphans:
        path.unlink(missing_ok=True)
    return len(orphans)


def _folder() -> Path:
    settings.ARTEFACT_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Path(settings.ARTEFACT_DIR)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
