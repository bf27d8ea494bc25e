"""An age file (https://age-encryption.org/v1) with a tar inside, written and read as a stream.

`age -d -i KEY FILE | tar x` gives the same files without this software. The last member, `manifest.json`, has
the SHA-256 of every other one and is signed by the installation: the key that a backup is encrypted to is
public, so encryption does not say who made it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, cast

import pyrage
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from synthweb.backups.errors import BackupError
from synthweb.lib import signatures
from synthweb.lib.hashed_files import HashedFile
from synthweb.lib.installation_format import FORMAT

MANIFEST = "manifest.json"
SCHEMA = f"synthweb/backup/{FORMAT}"
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

    def finish(self, facts: dict[str, Any], *, key: Ed25519PrivateKey) -> None:
        """Add the manifest, signed by `key`."""
        manifest = signatures.sign({**facts, "sha256": self._hashes}, schema=SCHEMA, key=key)
        self.add(MANIFEST, json.dumps(manifest, indent=1).encode())


def write(
    out: BinaryIO, *, recipient: pyrage.x25519.Recipient, fill: Callable[[ArchiveWriter], None]
) -> None:
    """Encrypt to `out` what `fill` adds. What is added reaches `out` encrypted, and memory does not depend on
    the size."""
    reading, writing = _pipe()
    with (
        _concurrently(lambda: pyrage.encrypt_io(reading, out, [recipient]), closes=reading),
        writing,
        tarfile.open(fileobj=writing, mode="w|", bufsize=_BLOCK) as archive,
    ):
        fill(ArchiveWriter(archive))


def read(
    file: BinaryIO, *, identity: pyrage.x25519.Identity, folder: Path, signers: Collection[str]
) -> dict[str, Any]:
    """Put the members of an archive into an empty folder.

    signers: names of the keys of which one must have signed the manifest.

    Returns the manifest. Errors: BackupError for another key, a damaged file, members that do not fit the
    manifest, and a manifest that none of the signers signed.
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
    return _checked(members, folder, signers)


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
            if not _is_plain(member) or not _is_inside(name) or str(name) in members:
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


def _is_plain(member: tarfile.TarInfo) -> bool:
    """Whether a member is a file of exactly the bytes that follow its header: a sparse one grows to any size
    as it is read."""
    return member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.issparse()


def _is_inside(name: PurePosixPath) -> bool:
    return (
        bool(name.parts)
        and not name.is_absolute()
        and not {"..", "\0"} & {*name.parts, *str(name)}
    )


def _checked(members: dict[str, str], folder: Path, signers: Collection[str]) -> dict[str, Any]:
    members.pop(MANIFEST, None)
    try:
        document: Any = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError, RecursionError):
        raise BackupError("the file is incomplete: it has no list of its contents") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise BackupError(
            f"the backup is not of format {FORMAT}, which alone this version restores: restore it with the "
            "version that made it"
        )
    try:
        manifest = signatures.check(document)
    except (signatures.BadSignature, RecursionError):
        raise BackupError(
            "the file is damaged: the signature of its list of contents does not fit"
        ) from None
    # Before anything that the manifest says is believed.
    if manifest["key"] not in signers:
        raise BackupError(
            f"the backup is signed by the key {manifest['key']}, and nothing says that this is your key. "
            "Compare it with the line “# signed by …” that each backup printed. If it is the same, put "
            f"that line into the file of the private key, or give --signed-by {manifest['key']}. Whoever "
            "has the other half of this key decided what is in the backup: people, passwords, roles, keys "
            "and the ledger"
        )
    if manifest["sha256"] != members:
        raise BackupError("the file is damaged: its contents do not fit their list")
    return manifest


@contextmanager
def _concurrently(work: Callable[[], None], *, closes: BinaryIO) -> Iterator[None]:
    """Does `work` in a thread beside the body, and closes its end of a pipe afterwards, so that the body does
    not wait for it.

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
