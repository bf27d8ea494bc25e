"""Tables that come in several requests, as far as they have come: encrypted pieces, and their key (ADR 125).

Each upload has a folder of its own, with a key pair of its own. The private half is wrapped by the web's key,
which previews are encrypted to as well: the web alone can put the pieces together. A piece is one age file,
written whole, forced to the disk and renamed to the place in the table where it begins. So the pieces that
are there say how far the table has come, after a crash as well.

    VAULT_DIR/uploads/<code>/key                       the key, wrapped
    VAULT_DIR/uploads/<code>/<offset>-<length>         a piece; both numbers in bytes of the table

Whoever writes, puts together or erases holds a lock on the folder, which the kernel gives back when the
process ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyrage
from django.conf import settings

from synthweb.datasets import files
from synthweb.lib import dumps
from synthweb.lib.errors import InUse

FOLDER = "uploads"
PIECE = 4 << 20
"""Bytes of the table in a piece, at most: as many are in memory, and are lost when the process is killed."""
_KEY = "key"
_PIECE = re.compile(r"([0-9]{20})-([0-9]{1,20})")
_CODE = re.compile(r"[0-9a-z]{1,16}")


class DamagedError(files.StorageError):
    """A piece is not what was stored, or its key does not open it. The message names no content."""


class Pieces:
    """What has come of one table. For the time of `locked`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places = _places(folder)
        self._identity: pyrage.x25519.Identity | None = None

    @property
    def offset(self) -> int:
        """How many bytes of the table are here."""
        return sum(length for _, length in self._places)

    @property
    def count(self) -> int:
        """How many pieces there are."""
        return len(self._places)

    def add(self, data: bytes) -> None:
        """Store the next bytes. When this returns, no crash loses them. Errors: DamagedError; OSError where
        there is no room."""
        dumps.forbid()
        offset = self.offset
        # With its place: pieces that somebody renames do not make another table.
        sealed = pyrage.encrypt(_head(offset) + data, [self._key().to_public()])
        files.replace(self._folder / _name(offset, len(data)), sealed)
        self._places.append((offset, len(data)))

    def read(self) -> Iterator[bytes]:
        """The bytes of the table, in order. Errors: DamagedError."""
        dumps.forbid()
        for offset, length in self._places:
            try:
                sealed = (self._folder / _name(offset, length)).read_bytes()
                plain = pyrage.decrypt(sealed, [self._key()])
            except (OSError, pyrage.DecryptError):
                raise DamagedError("a piece of an upload cannot be opened") from None
            head = _head(offset)
            if not plain.startswith(head) or len(plain) != len(head) + length:
                raise DamagedError("a piece of an upload is not in its place")
            yield plain[len(head) :]

    def erase(self) -> None:
        """Remove everything, the key first."""
        files.shred(self._folder / _KEY)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._places = []

    def _key(self) -> pyrage.x25519.Identity:
        if self._identity is None:
            self._identity = _key_in(self._folder)
        return self._identity


@contextlib.contextmanager
def locked(code: str) -> Iterator[Pieces]:
    """The pieces of an upload, for nobody else meanwhile. Errors: InUse; OSError where there is no room for a
    folder."""
    folder = _folder(code)
    files.private_directory(Path(settings.VAULT_DIR))
    files.private_directory(folder.parent)
    descriptor = os.open(files.private_directory(folder), os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUse(
                "another request is at work on this upload",
                repair="ask for the offset again in a moment, and go on from there",
            ) from None
        # What a process that was killed had not renamed yet.
        for part in folder.glob(".*"):
            part.unlink(missing_ok=True)
        yield Pieces(folder)
    finally:
        os.close(descriptor)


def offset_of(code: str) -> int:
    """How many bytes of a table are here, without waiting for who writes to it."""
    return sum(length for _, length in _places(_folder(code)))


def codes() -> set[str]:
    """The uploads of which anything is here."""
    folder = Path(settings.VAULT_DIR) / FOLDER
    return {path.name for path in folder.glob("*") if _CODE.fullmatch(path.name)}


def _places(folder: Path) -> list[tuple[int, int]]:
    """Offset and length of each piece, from the beginning of the table as far as none is missing."""
    names = sorted(path.name for path in folder.glob("*"))
    numbers = [
        (int(match[1]), int(match[2])) for match in map(_PIECE.fullmatch, names) if match
    ]
    places, end = [], 0
    for offset, length in numbers:
        if offset == end:
            places.append((offset, length))
            end += length
    return places


def _key_in(folder: Path) -> pyrage.x25519.Identity:
    """The key of an upload; made with its first piece."""
    web = pyrage.x25519.Identity.from_str(files.read_key(settings.PREVIEW_PRIVATE_KEY_FILE))
    try:
        return pyrage.x25519.Identity.from_str(
            pyrage.decrypt((folder / _KEY).read_bytes(), [web]).decode()
        )
    except FileNotFoundError:
        made = pyrage.x25519.Identity.generate()
        files.replace(folder / _KEY, pyrage.encrypt(str(made).encode(), [web.to_public()]))
        return made
    except (pyrage.DecryptError, pyrage.IdentityError, UnicodeError):
        raise DamagedError(
            "the key of an upload is damaged, or was wrapped by another key"
        ) from None


def _head(offset: int) -> bytes:
    return offset.to_bytes(8, "big")


def _name(offset: int, length: int) -> str:
    return f"{offset:020d}-{length}"


def _folder(code: str) -> Path:
    if not _CODE.fullmatch(code):
        raise files.StorageError("not the code of an upload")
    return Path(settings.VAULT_DIR) / FOLDER / code
