"""The key of each table, wrapped by the key of the vault (ADR 4).

A table is encrypted to a key pair of its own, whose private half lies beside it, encrypted to the public key
of the vault. Whoever destroys that small file destroys the table, wherever the encrypted table was copied to;
and the key of the vault is changed by wrapping small files again, without touching a table.

    VAULT_DIR/<name>          the table (`vault`)
    VAULT_DIR/keys/<name>     its key

While the key of the vault is changed, the file of its private half has two lines: the old key, then the new
one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pyrage
from django.conf import settings

from synthweb.datasets import files

FOLDER = "keys"
NAME = re.compile(r"[0-9a-f]{64}")  # of a table, and of its key


class NoSuchKey(files.StorageError):
    """The key of a table is not there, or is wrapped by another key than those of this process."""


def recipient() -> pyrage.x25519.Recipient:
    """The public key of the vault."""
    return pyrage.x25519.Recipient.from_str(files.read_key(settings.VAULT_PUBLIC_KEY_FILE))


def put(name: str, key: pyrage.x25519.Identity) -> None:
    """Wrap and store the key of a table that is about to be stored under this name."""
    with _locked(fcntl.LOCK_SH):
        files.replace(_path(name), pyrage.encrypt(str(key).encode(), [recipient()]))


def opening(name: str) -> pyrage.x25519.Identity:
    """The key that opens a table.

    Worker only: it needs the private key of the vault. Errors: StorageError without it; NoSuchKey if it does
    not open the key of the table, or that is not there.
    """
    # A change of the vault's key exchanges both files one after the other: never one of then and one of now.
    with _locked(fcntl.LOCK_SH):
        masters = _masters()
        try:
            wrapped = _path(name).read_bytes()
        except FileNotFoundError:
            raise NoSuchKey("the key of a stored table is not there") from None
    return _unwrapped(wrapped, masters)


def destroy(name: str) -> None:
    """Overwrite and remove the key of a table: from here on nobody opens it."""
    path = _path(name)
    if not path.exists():
        return
    with _locked(fcntl.LOCK_SH):
        files.shred(path)


def modification_times() -> dict[str, float]:
    """The keys of tables by their names, as `files.modification_times`."""
    times = files.modification_times(_folder())
    return {name: at for name, at in times.items() if NAME.fullmatch(name)}


# --- another key of the vault -------------------------------------------------------------------------------
def begin_change() -> None:
    """Make the next key of the vault, and have everything from here on wrapped by it. Goes on where a change
    was interrupted.

    Errors: StorageError if the private key cannot be read, OSError if one of the two files cannot be written.
    """
    private = Path(settings.VAULT_PRIVATE_KEY_FILE)
    with _locked(fcntl.LOCK_EX):
        lines = files.read_keys(private)
        if len(lines) == 1:
            lines.append(str(pyrage.x25519.Identity.generate()))
            # Before its public half: nothing may be wrapped by a key that could be lost.
            files.replace(private, _text(lines))
        new = pyrage.x25519.Identity.from_str(lines[-1])
        files.replace(Path(settings.VAULT_PUBLIC_KEY_FILE), f"{new.to_public()}\n".encode())


def wrap_again() -> int:
    """Wrap each key of a table by the next key of the vault. Returns how many there are; those that have it
    are left."""
    masters = _masters()
    names = sorted(modification_times())
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            _wrap_one(_path(name), masters)
    return len(names)


def _wrap_one(path: Path, masters: list[pyrage.x25519.Identity]) -> None:
    new = masters[-1]
    wrapped = path.read_bytes()
    with contextlib.suppress(pyrage.DecryptError):
        pyrage.decrypt(wrapped, [new])
        return
    key = _unwrapped(wrapped, masters)
    # A key that is destroyed meanwhile must not come back.
    with _locked(fcntl.LOCK_EX):
        if path.exists():
            files.replace(path, pyrage.encrypt(str(key).encode(), [new.to_public()]))


def end_change() -> None:
    """Forget the old key of the vault. Errors: NoSuchKey if a key of a table still needs it."""
    private = Path(settings.VAULT_PRIVATE_KEY_FILE)
    new = pyrage.x25519.Identity.from_str(files.read_keys(private)[-1])
    for name in modification_times():
        with contextlib.suppress(FileNotFoundError):
            _unwrapped(_path(name).read_bytes(), [new])
    files.replace(private, _text([str(new)]))


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Nobody reads a private key or wraps one meanwhile."""
    with _locked(fcntl.LOCK_EX):
        yield


def master_text() -> str:
    """The private key of the vault as text: while it is changed, the old one. Worker only."""
    with _locked(fcntl.LOCK_SH):
        return files.read_key(settings.VAULT_PRIVATE_KEY_FILE)


def _masters() -> list[pyrage.x25519.Identity]:
    return [
        pyrage.x25519.Identity.from_str(line)
        for line in files.read_keys(settings.VAULT_PRIVATE_KEY_FILE)
    ]


def _unwrapped(wrapped: bytes, masters: list[pyrage.x25519.Identity]) -> pyrage.x25519.Identity:
    try:
        return pyrage.x25519.Identity.from_str(pyrage.decrypt(wrapped, masters).decode())
    except (pyrage.DecryptError, pyrage.IdentityError, UnicodeError):
        raise NoSuchKey(
            "the key of a stored table is damaged, or wrapped by another key"
        ) from None


def _text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _folder() -> Path:
    return Path(settings.VAULT_DIR) / FOLDER


def _path(name: str) -> Path:
    return _folder() / name


@contextlib.contextmanager
def _locked(how: int) -> Iterator[None]:
    """Hold the folder of the keys, of all processes that see it."""
    files.private_directory(Path(settings.VAULT_DIR))
    descriptor = os.open(files.private_directory(_folder()), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)
