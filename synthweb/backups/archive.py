"""An age file (https://age-encryption.org/v1) with a tar inside, written and read as a stream.

`age -d -i KEY FILE | tar x` gives the same files without this software. The last member, `manifest.json`, has the SHA-256 of
every other one, so that a file that was cut off or put together from two others is noticed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, cast

import pyrage

from synthweb.backups.errors import BackupError
from synthweb.lib.hashed_files import HashedFile

MANIFEST = "manifest.json"
SCHEMA = "synthweb/backup/1"
_BLOCK = 1 << 20


class ArchiveWriter:
    """The members of an archive that is being written, with their hashes."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive
        self._hashes: dict[str, str] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._hashes

    def add(self, name: str, content: bytes) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode = len(content), 0o600
        self._archive.addfile(member, io.BytesIO(content))
        self._hashes[name] = hashlib.sha256(content).hexdigest()

    def add_file(self, name: str, path: Path) -> None:
        """Errors: FileNotFoundError, before anything is written, if the file is gone."""
        with path.open("rb") as file:
            member = tarfile.TarInfo(name)
            member.size, member.mode = os.fstat(file.fileno()).st_size, 0o600
            hashed = HashedFile(file)
            self._archive.addfile(member, hashed)
        self._hashes[name] = hashed.digest.hexdigest()

    def finish(self, facts: dict[str, Any]) -> None:
        manifest = {"schema": SCHEMA, **facts, "sha256": self._hashes}
        self.add(MANIFEST, json.dumps(manifest, indent=1).encode())


def write(
    out: BinaryIO, *, recipient: pyrage.x25519.Recipient, fill: Callable[[ArchiveWriter], None]
) -> None:
    """Encrypt to `out` what `fill` adds. What is added reaches `out` encrypted, and memory does not depend on the size."""
    reading, writing = _pipe()
    with (
        _concurrently(lambda: pyrage.encrypt_io(reading, out, [recipient]), closes=reading),
        writing,
        tarfile.open(fileobj=writing, mode="w|", bufsize=_BLOCK) as archive,
    ):
        fill(ArchiveWriter(archive))


def read(file: BinaryIO, *, identity: pyrage.x25519.Identity, folder: Path) -> dict[str, Any]:
    """Put the members of an archive into an empty folder.

    Returns the manifest. Errors: BackupError for another key, a damaged file, and members that do not fit the manifest.
    """
    reading, writing = _pipe()

    def decrypt() -> None:
        try:
            pyrage.decrypt_io(file, writing, [identity])
        except OSError as problem:  # a block that does not fit its tag
            raise EOFError from problem

    try:
        with _concurrently(decrypt, closes=writing), reading:
            members = _unpack(reading, folder)
            # What follows is padding: the other thread must not wait for a reader of it.
            while reading.read(_BLOCK):
                pass
    except (pyrage.DecryptError, tarfile.TarError, EOFError) as problem:
        raise BackupError(
            "the file cannot be opened: it is damaged or incomplete, or was made for another key"
        ) from problem
    return _checked(members, folder)


def _pipe() -> tuple[BinaryIO, BinaryIO]:
    """The end to read from, and the end to write to."""
    reading, writing = os.pipe()
    return os.fdopen(reading, "rb"), os.fdopen(writing, "wb")


def _unpack(stream: BinaryIO, folder: Path) -> dict[str, str]:
    """The SHA-256 of each member."""
    members: dict[str, str] = {}
    with tarfile.open(fileobj=stream, mode="r|", bufsize=_BLOCK) as archive:
        for member in archive:
            name = PurePosixPath(member.name)
            # Whoever made the file had a public key alone, which is no reason to trust its names.
            if not member.isreg() or name.is_absolute() or ".." in name.parts:
                raise BackupError("the file holds something that is no part of a backup")
            place = folder / name
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            content = cast("IO[bytes]", archive.extractfile(member))  # None of no regular file
            hashed = HashedFile(content)
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as out:
                while piece := hashed.read(_BLOCK):
                    out.write(piece)
            members[str(name)] = hashed.digest.hexdigest()
    return members


def _checked(members: dict[str, str], folder: Path) -> dict[str, Any]:
    members.pop(MANIFEST, None)
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        raise BackupError("the file is incomplete: it has no list of its contents") from None
    if manifest.get("schema") != SCHEMA:
        raise BackupError("the file was made by another version; restore it with that version")
    if manifest["sha256"] != members:
        raise BackupError("the file is damaged: its contents do not fit their list")
    return manifest


@contextmanager
def _concurrently(work: Callable[[], None], *, closes: BinaryIO) -> Iterator[None]:
    """Does `work` in a thread beside the body, and closes its end of a pipe afterwards, so that the body does not wait for it.

    Where the body fails at its own end, the failure of the work is the cause, and is raised.
    """
    failures: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as failure:  # noqa: BLE001 - raised in the other thread
            failures.append(failure)
        finally:
            with suppress(OSError):
                closes.close()

    thread = threading.Thread(target=run, name="backup")
    thread.start()
    try:
        yield
    except (BrokenPipeError, EOFError, tarfile.TarError) as problem:
        thread.join()
        raise (failures[0] if failures else problem) from None
    except BaseException:
        thread.join()
        raise
    thread.join()
    if failures:
        raise failures[0]
