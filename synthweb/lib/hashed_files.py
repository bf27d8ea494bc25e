"""Hashing a file while it is read or written."""

from __future__ import annotations

import hashlib
from typing import IO


class HashedFile:
    """A binary file that hashes what passes through it, either way."""

    def __init__(self, raw: IO[bytes]) -> None:
        self.raw = raw
        self.digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self.raw.write(data)

    def read(self, size: int = -1) -> bytes:
        data = self.raw.read(size)
        self.digest.update(data)
        return data

    def flush(self) -> None:
        self.raw.flush()
