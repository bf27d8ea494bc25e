"""Whether the examples of a local installation are being loaded: the first page says so while it is true. A
lock on a file says it, which is held by the process that loads them, and ends with it however it ends. It
needs no Django."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


def _file(var: Path) -> Path:
    return var / "run" / "loading-examples"


@contextlib.contextmanager
def loading(var: Path) -> Iterator[None]:
    """Say so for as long as the block lasts. var: the folder of the installation, with `run` in it."""
    handle = os.open(_file(var), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def are_loading(var: Path) -> bool:
    """Whether a process says so now."""
    try:
        handle = os.open(_file(var), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # there never were any
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
