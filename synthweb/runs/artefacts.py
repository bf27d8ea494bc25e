"""Noisy answers at rest: one file a measurement, written whole or not at all.

They are differentially private and paid for; keeping them is what makes everything after the measurement
repeatable. So their room on the disk is reserved before the charge, and the answers are written into the
blocks that were reserved. While a run asks, its answers so far are in a file of their own (`call_log`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from django.conf import settings

from synth_engine.errors import InputError, VerificationError
from synth_engine.measurement import Answers
from synth_engine.relational.answers import DatabaseAnswers

PART = ".part-"
ANSWERS, CALLS = ".npz", ".calls"
"""Suffixes of files with all answers of a run, and of those to which answers are added while it asks."""
AnyAnswers = TypeVar("AnyAnswers", Answers, DatabaseAnswers)
ORPHAN_SECONDS = 3600


class NoRoom(OSError):
    """The disk has no room for the answers of a run."""


class Reservation:
    """A file of the size that the answers may have. It is locked while its worker lives: `sweep` leaves it
    alone."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self.stored_as = ""

    def store(self, content: bytes, *, name: str) -> None:
        """Write the answers into what was reserved, force them to the disk, then rename: a crash leaves the
        old state or the new. After an OSError it may be called again."""
        self._put(content, at=0)
        # The reservation is an estimate. What lies behind the answers would damage the archive.
        os.ftruncate(self._descriptor, len(content))
        os.fsync(self._descriptor)
        self.name(name)

    def write(self, content: bytes, *, at: int) -> None:
        """Write into what was reserved, or behind it, and force it to the disk. After an OSError it may be
        called again."""
        self._put(content, at=at)
        os.fdatasync(self._descriptor)

    def note(self, content: bytes, *, at: int) -> None:
        """Write what has to outlast this process, and no more."""
        self._put(content, at=at)

    def _put(self, content: bytes, *, at: int) -> None:
        written = 0
        while written < len(content):
            written += os.pwrite(self._descriptor, content[written:], at + written)

    def name(self, name: str) -> None:
        """Give the file a name under which it stays."""
        # Atomic within a folder; without the sync of the folder
        # below, a crash could lose the name.
        self._path.rename(_folder() / name)
        self._path = _folder() / name
        self.stored_as = name
        _sync(_folder())


@contextlib.contextmanager
def reserved(size: int, *, suffix: str = ANSWERS) -> Iterator[Reservation]:
    """Room for `size` bytes of answers; what got no name in the end is given back. NoRoom if the disk lacks
    it."""
    try:
        path, descriptor = _locked_part(suffix)
        try:
            # Blocks, not a hole: a sparse file would meet the
            # full disk only when it is written.
            os.posix_fallocate(descriptor, 0, size)
            os.fsync(descriptor)
        except OSError:
            path.unlink(missing_ok=True)
            os.close(descriptor)
            raise
    except OSError as error:
        raise NoRoom(f"no room for {size:,} bytes") from error
    reservation = Reservation(path, descriptor)
    try:
        yield reservation
    finally:
        if not reservation.stored_as:
            path.unlink(missing_ok=True)
        os.close(descriptor)


def _locked_part(suffix: str) -> tuple[Path, int]:
    """A new file and its locked descriptor. A sweep may remove the file before it is locked; then another one
    is made."""
    while True:
        path = _folder() / f"{PART}{secrets.token_hex(8)}{suffix}"
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return path, descriptor
        os.close(descriptor)


def get(*, name: str, digest: str) -> Answers:
    """The answers about one table, read back. Errors: as `read`."""
    return read(Answers.load, name=name, digest=digest)


def read(load: Callable[[Path], AnyAnswers], *, name: str, digest: str) -> AnyAnswers:
    """Read back; VerificationError unless the content is what the database says was measured. load: reads
    answers of one kind."""
    if not name:
        raise VerificationError("the stored noisy answers were erased at the end of their time")
    try:
        answers = load(_folder() / name)
    except InputError:
        raise VerificationError("the stored noisy answers are missing or damaged") from None
    # The row got its digest under the fence, so another measurement's file does not pass here.
    if answers.digest != digest:
        raise VerificationError("the stored noisy answers are not those that were measured")
    return answers


def discard(*, name: str) -> None:
    """Remove the file of answers that were never recorded."""
    (_folder() / name).unlink(missing_ok=True)


def paths_of_calls(run_code: str) -> list[Path]:
    """The files of calls of a run, one for each worker that was at it."""
    return list(_folder().glob(f"{run_code}-*{CALLS}"))


def is_unlocked(path: Path) -> bool:
    """Whether the worker that wrote this file is dead."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def sweep(*, is_known: Callable[[str], bool]) -> int:
    """Remove what workers left that died before their answers were recorded. The lock says whether a worker
    lives, and `is_known`, asked under the lock, whether a row needs the file. Answers, unlike reservations,
    are left for an hour besides: another installation that was given the same folder by mistake must not lose
    what it has just paid for."""
    swept, old = 0, time.time() - ORPHAN_SECONDS
    for path in (*_folder().glob(f"*{ANSWERS}"), *_folder().glob(f"*{CALLS}")):
        with contextlib.suppress(FileNotFoundError, BlockingIOError), path.open("rb") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_young = not path.name.startswith(PART) and os.fstat(file.fileno()).st_mtime > old
            if not is_young and not is_known(path.name):
                path.unlink()
                swept += 1
    return swept


def _folder() -> Path:
    settings.ARTEFACT_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Path(settings.ARTEFACT_DIR)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
