"""Where an opened table lies: in a file without a name, which the kernel frees when the last process that has
it open ends, however it ends.

The file is in memory (`memfd_create`) where there is room for twice the table, else a file below TMPDIR that
is unlinked before its first byte is written. Libraries that want a path get /proc/self/fd/N, which means
nothing outside the process.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path
from typing import BinaryIO, cast

DESCRIPTORS = Path("/proc/self/fd")
CGROUP = Path("/sys/fs/cgroup")
SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def nameless_file(size: int) -> BinaryIO:
    """An empty file for a table of about `size` bytes. OSError where there is no room for it."""
    if available_memory() > 2 * size:
        memory = os.memfd_create("table", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        return cast(BinaryIO, os.fdopen(memory, "w+b", buffering=0))
    file = cast(BinaryIO, tempfile.TemporaryFile(buffering=0))  # noqa: SIM115 - the caller closes it
    try:
        # A probe: a disk without room is noticed now, and not at the end of a long decryption.
        os.posix_fallocate(file.fileno(), 0, max(1, size))
        os.ftruncate(file.fileno(), 0)
    except OSError:
        file.close()
        raise
    return file


def path_of(file: BinaryIO) -> Path:
    """A path that opens `file` for reading, in this process and in a child that inherits its descriptor."""
    return DESCRIPTORS / str(file.fileno())


def seal(file: BinaryIO) -> None:
    """The file is complete: nobody changes it any more."""
    file.flush()
    os.fchmod(file.fileno(), 0o400)
    with contextlib.suppress(OSError):  # files on a disk know no seals
        fcntl.fcntl(file.fileno(), fcntl.F_ADD_SEALS, SEALS)


def available_memory() -> int:
    """Bytes that can be used without swapping, within the limit of this container; 0 where nobody knows."""
    free = _entry(Path("/proc/meminfo"), "MemAvailable:")
    if free is None:
        return 0
    limit = _number(CGROUP / "memory.max")
    if limit is None:
        return free * 1024
    # Cached pages of files count as used, and are given back as soon as memory is needed.
    used = (_number(CGROUP / "memory.current") or 0) - (
        _entry(CGROUP / "memory.stat", "inactive_file") or 0
    )
    return min(free * 1024, max(0, limit - used))


def _number(path: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):  # "max" is no limit
        return int(path.read_text())
    return None


def _entry(path: Path, name: str) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        for line in path.read_text().splitlines():
            first, *rest = line.split()
            if first == name and rest:
                return int(rest[0])
    return None
