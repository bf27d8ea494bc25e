"""Tables at rest. The web writes by the worker's public key and can never open what it wrote; the worker
opens.

A table lies in VAULT_DIR as one age file (https://age-encryption.org/v1) whose name is the SHA-256 of its
bytes. Age draws a fresh file key for every file, so the name is unpredictable, says nothing about the
content, and binds the row in the database to these very bytes: a file that was swapped for another valid one
is refused like a damaged one. It is encrypted to a key pair of its own, whose private half is wrapped by the
key of the vault (`table_keys`).

    bytes in    `Writer`       datasets.services      constant memory; no plaintext touches the disk
    bytes out   `open_table`   runs.opened            a path, only after the whole file has been authenticated

The private key is read inside `open_table` alone: importing this module, as the web does, reads no key.
"""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import os
import queue
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import pyrage
from django.conf import settings

from synthweb.datasets import files, opened_tables, table_keys
from synthweb.lib import dumps
from synthweb.lib.hashed_files import HashedFile

NAME = table_keys.NAME
PART = ".part"  # what is still being received; swept when its writer is gone
NO_ROOM = "there is no room to open the table: free memory, or space below TMPDIR"
QUEUED_CHUNKS = 8  # how far a fast client may run ahead of the disk


class VaultError(files.StorageError):
    """A table cannot be stored or opened. The message names no content."""


class TamperedError(VaultError):
    """The file is not, byte for byte, what was stored."""


def path_of(name: str) -> Path:
    """Where a stored table lies; refuses anything that is not a name this module made."""
    if not NAME.fullmatch(name):
        raise VaultError("not the name of a stored table")
    return Path(settings.VAULT_DIR) / name


class Writer:
    """Encrypts what is pushed into it: `write` …, `end`, then `keep` (returns the name) or `discard`.

    As a context manager it discards on the way out unless it was kept. Age pulls its input, the web pushes,
    so a thread stands between them behind a short queue; memory stays constant whatever the size.
    """

    def __init__(self) -> None:
        dumps.forbid()
        folder = files.private_directory(Path(settings.VAULT_DIR))
        # Now rather than when everything has arrived: without the key of the vault nothing can be kept.
        table_keys.recipient()
        self._key = pyrage.x25519.Identity.generate()
        # In the same folder as its final name, so that `keep` is one atomic rename.
        self._part = folder / (secrets.token_hex(16) + PART)
        self._file = HashedFile(
            os.fdopen(os.open(self._part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")
        )
        # Held as long as this writer lives: `sweep_parts` removes only parts that it can lock.
        fcntl.flock(self._file.raw.fileno(), fcntl.LOCK_EX)
        self._pipe = _Pipe()
        self._failure: Exception | None = None
        self._is_stored = False
        self._thread = threading.Thread(target=self._encrypt, name="vault-writer", daemon=True)
        self._thread.start()

    def _encrypt(self) -> None:
        try:
            pyrage.encrypt_io(self._pipe, self._file, [self._key.to_public()])
            self._file.raw.flush()
            os.fsync(self._file.raw.fileno())
        except Exception as failure:  # noqa: BLE001 - handed to the pushing thread, which raises it
            self._failure = failure
        finally:
            self._pipe.closed.set()

    def write(self, chunk: bytes) -> None:
        """Take the next bytes of the table."""
        if not self._pipe.push(chunk):
            self._raise()

    def end(self) -> None:
        """All bytes are in: finish the file and make it durable."""
        self._pipe.push(b"")
        self._thread.join()
        if self._failure is not None:
            self._raise()

    def keep(self) -> str:
        """Move the ended file into the vault; returns its name."""
        if self._thread.is_alive() or self._failure is not None or self._file.raw.closed:
            raise VaultError("this table was not received to its end")
        name = self._file.digest.hexdigest()
        # The key first: one without a table is swept, a table without its key would be lost.
        table_keys.put(name, self._key)
        # Before it is closed, which gives up the lock: a sweep in between would remove it.
        self._part.rename(path_of(name))
        self._file.raw.close()
        files.sync_directory(self._part.parent)
        self._is_stored = True
        return name

    def discard(self) -> None:
        """Stop and leave nothing behind; harmless when called again or after `keep`."""
        self._pipe.broken.set()
        self._thread.join()
        if not self._file.raw.closed:
            # A full disk refuses the last bytes once more; the file is closed all the same.
            with contextlib.suppress(OSError):
                self._file.raw.close()
        if not self._is_stored:
            self._part.unlink(missing_ok=True)

    def _raise(self) -> None:
        failure = self._failure
        self.discard()
        raise VaultError("the table could not be stored; is the disk full?") from failure

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.discard()


class _Pipe:
    """A short queue with the `read` that age pulls from. Ends by an empty chunk; broken, it fails the
    reader."""

    def __init__(self) -> None:
        self._chunks: queue.Queue[bytes] = queue.Queue(maxsize=QUEUED_CHUNKS)
        self._rest = memoryview(b"")
        self._ended = False
        self.broken = threading.Event()  # the pushing side gave up
        self.closed = threading.Event()  # the pulling side has ended

    def push(self, chunk: bytes) -> bool:
        """False when nobody reads any more; waits while the queue is full."""
        while not self.closed.is_set():
            # With a timeout: once the reader has failed nobody empties the queue, and the web
            # would wait for ever.
            with contextlib.suppress(queue.Full):
                self._chunks.put(chunk, timeout=0.2)
                return True
        return False

    def read(self, size: int) -> bytes:
        while not self._rest and not self._ended:
            if self.broken.is_set():
                # Not an InterruptedError, which readers retry.
                raise BrokenPipeError("the upload was given up")
            with contextlib.suppress(queue.Empty):
                self._rest = memoryview(self._chunks.get(timeout=0.2))
                self._ended = not self._rest
        taken, self._rest = bytes(self._rest[:size]), self._rest[size:]
        return taken


@contextlib.contextmanager
def open_table(name: str) -> Iterator[Path]:
    """Decrypt a stored table for the time of the block; yields its path only after all of it was
    authenticated.

    The plaintext lies in a file without a name (`rooms`), in memory where there is room: the kernel frees it
    when this process ends, even by SIGKILL. Its path means something to this process alone, and to a child
    that inherits the descriptor. Worker only: it needs the private key. Raises TamperedError before anything
    was yielded when a single byte differs from what was stored.
    """
    dumps.forbid()
    source = path_of(name)
    try:
        # Before its key, which was erased with it.
        stored = source.open("rb")
    except FileNotFoundError:
        raise VaultError("the table is not in the vault any more") from None
    try:
        identity = table_keys.opening(name)
    except table_keys.NoSuchKey as error:
        stored.close()
        raise TamperedError(str(error)) from None
    with stored, _room(source.stat().st_size) as plain:
        cipher, filled = HashedFile(stored), _Filled(plain)
        try:
            pyrage.decrypt_io(cipher, filled, [identity])
        except (OSError, pyrage.DecryptError) as error:
            # A lack of room ends decryption like damage does, and must not raise an alarm about
            # tampering.
            if filled.is_full:
                raise VaultError(NO_ROOM) from None
            raise TamperedError(
                "a stored table is damaged or was not written for this worker's key"
            ) from error
        # Age stops at its own end. The rest is hashed as well, so that nothing can be appended.
        while cipher.read(1 << 20):
            pass
        # Age proves integrity, not origin: whoever has the public key can write a valid file.
        if not hmac.compare_digest(cipher.digest.hexdigest(), name):
            raise TamperedError("a stored table is not the one that was put there")
        opened_tables.seal(plain)
        yield opened_tables.path_of(plain)


def derived_secret(purpose: str) -> bytes:
    """32 bytes that follow from the worker's private key and a purpose, the same each time. Worker only:
    nobody else can know them."""
    return hmac.digest(
        table_keys.master_text().encode(), f"synthweb/{purpose}".encode(), "sha256"
    )


def _room(size: int) -> BinaryIO:
    try:
        return opened_tables.nameless_file(size)
    except OSError:
        raise VaultError(NO_ROOM) from None


class _Filled:
    """An opened table while it is written, which remembers that there was no room for it."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.is_full = False

    def write(self, data: bytes) -> int:
        written = 0
        try:
            # A file without a buffer may take fewer bytes than it is given.
            while written < len(data):
                written += self._raw.write(data[written:])
        except OSError:
            self.is_full = True
            raise
        return written

    def flush(self) -> None:
        """Nothing is buffered."""


def erase(name: str) -> None:
    """Remove a stored table for good: first its key, without which no copy of it opens."""
    table_keys.destroy(name)
    path_of(name).unlink(missing_ok=True)
    if Path(settings.VAULT_DIR).is_dir():
        files.sync_directory(Path(settings.VAULT_DIR))


def sweep_parts() -> int:
    """Remove what interrupted uploads left in the vault. A part whose writer lives is locked, and left
    alone."""
    swept = 0
    for part in Path(settings.VAULT_DIR).glob(f"*{PART}"):
        with contextlib.suppress(FileNotFoundError, BlockingIOError), part.open("r+b") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()
            swept += 1
    return swept
