"""Directories and key files of the vault and the preview store."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import BinaryIO

import pyrage


class StorageError(Exception):
    """A directory or key of this installation cannot be used; an operator has to look."""


def private_directory(path: Path) -> Path:
    """`path` as a directory that is ours and nobody else's; refuses one that somebody else prepared."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Not `stat`, which follows a link into a folder of somebody else.
    status = path.lstat()
    if path.is_symlink() or status.st_uid != os.geteuid():
        raise StorageError(f"{path} belongs to somebody else")
    if status.st_mode & 0o077:
        path.chmod(0o700)
    return path


def modification_times(folder: Path) -> dict[str, float]:
    """The files of a folder by name, with the time of their last change in seconds since 1970; empty without
    the folder. A file that somebody removes meanwhile is left out."""
    times = {}
    for path in folder.glob("*"):
        with contextlib.suppress(FileNotFoundError):
            times[path.name] = path.stat().st_mtime
    return times


def sync_directory(path: Path) -> None:
    """Make a rename or removal in `path` survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def shred(path: Path) -> None:
    """Overwrite a small file and remove it, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        with path.open("r+b") as file:
            file.write(os.urandom(os.fstat(file.fileno()).st_size))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()
        sync_directory(path.parent)


def replace(path: Path, content: bytes) -> None:
    """Give a file another content, of which nobody ever sees a part, readable by its owner alone."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(
            os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb"
        ) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    sync_directory(path.parent)


def read_keys(path: Path) -> list[str]:
    """The keys in a key file: its lines that are neither empty nor a comment. At least one."""
    try:
        lines = Path(path).read_text(encoding="ascii").splitlines()
    except OSError:
        raise StorageError(f"the key file {path} cannot be read") from None
    # `age-keygen` writes comments above its keys.
    keys = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not keys:
        raise StorageError(f"the key file {path} is empty")
    return keys


def read_key(path: Path) -> str:
    """The first key in a key file."""
    return read_keys(path)[0]


def fits(stored: BinaryIO, *identities: pyrage.x25519.Identity) -> bool:
    """Whether one of these keys opens an age file. Its first piece is decrypted, dropped, and nothing else
    is."""
    try:
        pyrage.decrypt_io(stored, _FirstPiece(), identities)
    except _EnoughError:
        return True
    except pyrage.DecryptError:
        return False
    return True


class _EnoughError(Exception):
    """The first piece has come: the key fits."""


class _FirstPiece:
    def write(self, _data: bytes) -> int:
        raise _EnoughError

    def flush(self) -> None:
        """Nothing is kept."""
