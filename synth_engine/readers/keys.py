"""The keys of encrypted Parquet files that this process has made, for the time in which it reads them.

Readers are given paths, on a way through all of the engine on which nobody else needs a key. A key is never
written anywhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

_keys: dict[Path, bytes] = {}


@contextlib.contextmanager
def keyed(path: Path, key: bytes) -> Iterator[None]:
    """Let this process read an encrypted file for the time of the block. key: 32 bytes."""
    _keys[path] = key
    try:
        yield
    finally:
        del _keys[path]


def key_of(path: Path) -> bytes | None:
    """The key of a file; None for one that is not encrypted."""
    return _keys.get(path)
