"""A zip archive that is written while it is sent, and never held in memory. Its comment is the SHA-256 of all
bytes before it."""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

COMMENT_BYTES = 64
_DENSEST = 50
"""Times that a file may shrink; one that would shrink more is stored as it is, since readers take it for a
zip bomb."""
_REGULAR_FILE = 0o100644 << 16


@dataclass(frozen=True, kw_only=True)
class ArchivedFile:
    """Facts about a file in the archive."""

    name: str
    size: int
    sha256: str


class ZipStream:
    """An archive in the making. Every method that writes gives the bytes to send, in order; `files` has what
    is in it so far."""

    def __init__(self, *, at: datetime) -> None:
        self.files: list[ArchivedFile] = []
        self._at = at
        self._out = _Out()
        # zipfile notices that the stream cannot be sought in, and puts sizes and checksums behind each file.
        self._archive = zipfile.ZipFile(self._out, "w")
        self._sha = hashlib.sha256()

    def write(self, name: str, content: bytes | Iterator[bytes]) -> Iterator[bytes]:
        """Add a file, piece by piece."""
        pieces = iter([content]) if isinstance(content, bytes) else content
        first = next(pieces, b"")
        entry = zipfile.ZipInfo(name, date_time=self._at.timetuple()[:6])
        entry.external_attr = _REGULAR_FILE
        dense = len(zlib.compress(first)) * _DENSEST < len(first)
        entry.compress_type = zipfile.ZIP_STORED if dense else zipfile.ZIP_DEFLATED
        sha, size = hashlib.sha256(), 0
        # Nobody knows how large a table becomes: room for sizes beyond 4 GiB.
        with self._archive.open(entry, "w", force_zip64=True) as file:
            while first:
                sha.update(first)
                size += len(first)
                file.write(first)
                yield from self._taken()
                first = next(pieces, b"")
        self.files.append(ArchivedFile(name=name, size=size, sha256=sha.hexdigest()))
        yield from self._taken()

    def close(self) -> Iterator[bytes]:
        """The directory of the archive, and its comment."""
        self._archive.comment = b"0" * COMMENT_BYTES
        self._archive.close()
        yield from self._taken(keep=COMMENT_BYTES)
        yield self._sha.hexdigest().encode("ascii")

    def _taken(self, *, keep: int = 0) -> Iterator[bytes]:
        piece = self._out.take()
        piece = piece[: len(piece) - keep]
        if piece:
            self._sha.update(piece)
            yield piece


class _Out(io.RawIOBase):
    """Where zipfile writes to: what was written is taken away and forgotten."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        """Keep what zipfile wrote, as bytes; how many they are."""
        self._pieces.append(bytes(piece))
        return len(self._pieces[-1])

    def take(self) -> bytes:
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken
