"""The one file in a ZIP archive, unpacked into a file of memory that ends with its process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from synth_engine import formats
from synth_engine.errors import TableError
from synth_engine.formats import Kind
from synth_engine.formats.zipped import Unzipper
from synth_engine.readers.source import Limits, Meter

_PIECE = 2**18
_FREE = 2**26  # bytes that may be unpacked whatever the size of the archive


@contextmanager
def opened(path: Path, *, limits: Limits) -> Iterator[tuple[Path, Kind]]:
    """Yield the path of the unpacked file and its kind, which follows from its name. Raises TableError for an
    archive that is damaged, unpacks to too much, or holds anything but one table."""
    if not hasattr(os, "memfd_create"):
        raise TableError(
            "archives are not read on this system", repair="unpack the archive first"
        )
    # A file of memory has no name in any folder: the unpacked table never reaches the disk, and
    # is gone when the process ends, however it ends.
    descriptor = os.memfd_create("table", os.MFD_CLOEXEC)
    try:
        name = _unpack(path, descriptor, limits=limits)
        kind = formats.kind_of(name)
        if kind == "zip":
            raise TableError("an archive in an archive", repair="pack the table once")
        yield Path(f"/proc/self/fd/{descriptor}"), kind
    finally:
        os.close(descriptor)


def _unpack(path: Path, descriptor: int, *, limits: Limits) -> str:
    """Writes what is inside; returns its name."""
    unzipper, packed, unpacked = Unzipper(), 0, 0
    with (
        Meter(path, packed=False, limits=limits) as meter,
        os.fdopen(os.dup(descriptor), "wb") as inside,
    ):
        first = meter.take(_PIECE)
        formats.check_kind("zip", first[: formats.HEAD])
        data = first
        while data:
            packed += len(data)
            for piece in unzipper.feed(data):
                unpacked += len(piece)
                if unpacked > min(limits.plain_bytes, _FREE + limits.gzip_ratio * packed):
                    raise TableError(
                        "the file unpacks to more than is allowed",
                        repair="upload a smaller table",
                    )
                inside.write(piece)
            data = meter.take(_PIECE)
        unzipper.end()
    return unzipper.name or ""
