"""Receiving a table: chunks in, an encrypted file and its facts out, in constant memory.

On its way to the vault every byte is counted against the limit, the first ones are compared with what other
kinds of files begin with, and the table, unpacked, goes through an HMAC under this installation's content
key, so that the same table is recognised when it comes again, packed or not. Nothing is parsed: that is the
worker's business.
"""

from __future__ import annotations

import hashlib
import hmac
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

from django.conf import settings

from synth_engine import formats
from synth_engine.errors import TableError
from synth_engine.formats import Kind
from synth_engine.formats.zipped import Unzipper
from synthweb.datasets import files, vault

PIECE = 1 << 20
_INSIDE: dict[Kind, Kind] = {"csv.gz": "csv", "json.gz": "json", "baskets.gz": "baskets"}
"""The kind of table inside each kind of file that is packed with gzip."""


@dataclass(frozen=True, kw_only=True)
class Received:
    """Facts about a table that has been received; `keep` of its Intake moves it into the vault."""

    file_kind: Kind
    size_bytes: int
    content_key: str


class Intake:
    """Takes a table: `receive` …, `end`, then `keep`; `discard` at any time. A context manager that discards
    what was not kept. Every refusal is a TableError, and leaves nothing behind."""

    def __init__(self, file_kind: Kind) -> None:
        if file_kind not in formats.KINDS:
            raise TableError(
                "unknown kind of file", repair=f"use one of {', '.join(formats.KINDS)}"
            )
        self.file_kind = file_kind
        self._head, self._tail = bytearray(), b""
        self._looked = False
        self.size_bytes = 0
        # Keyed: by a plain hash, a reader of the database could test whether a table is here.
        self._key = hmac.new(content_secret(), digestmod=hashlib.sha256)
        self._unpacker = _Unpacker() if file_kind in _INSIDE else None
        self._unpacked = 0
        self._unpacked_head, self._looked_inside = bytearray(), False
        self._writer = vault.Writer()

    def receive(self, chunk: bytes) -> None:
        """The next bytes."""
        self.size_bytes += len(chunk)
        if self.size_bytes > settings.UPLOAD_MAX_BYTES:
            self._refuse(too_large())
        if self._looked:
            self._take(chunk)
            return
        self._head += chunk
        if len(self._head) >= formats.HEAD:
            self._look()

    def end(self) -> Received:
        """All bytes are in."""
        if not self._looked:
            self._look()
        # A table shorter than what is looked at has not been judged while it came.
        if not self._looked_inside and self._unpacked_head:
            self._judge_inside()
        if self._unpacker is not None and not self._unpacker.complete:
            self._refuse(
                TableError(
                    "the packed file ends too early", repair="pack it again and upload it again"
                )
            )
        if not self._unpacked:
            self._refuse(
                TableError(
                    "the file is empty", repair="export the table again, with its header"
                )
            )
        # A Parquet file ends with its schema and the bytes with which it began.
        if self.file_kind == "parquet" and self._tail != formats.PARQUET:
            self._refuse(
                TableError(
                    "the Parquet file is cut short", repair="write it again and upload it again"
                )
            )
        self._writer.end()
        return Received(
            file_kind=self.file_kind,
            size_bytes=self.size_bytes,
            content_key=self._key.hexdigest(),
        )

    def keep(self) -> str:
        """Move the table into the vault; returns its name there. For services that write its row."""
        return self._writer.keep()

    def discard(self) -> None:
        """Leave nothing behind, unless it was kept."""
        self._writer.discard()

    def _look(self) -> None:
        self._looked = True
        head = bytes(self._head)
        try:
            formats.check_kind(self.file_kind, head)
        except TableError as error:
            self._refuse(error)
        self._take(head)

    def _take(self, chunk: bytes) -> None:
        if self._unpacker is None:
            self._count(chunk)
            self._tail = (self._tail + chunk)[-len(formats.PARQUET) :]
        else:
            try:
                for piece in self._unpacker.feed(chunk):
                    self._count(piece)
                    self._look_inside(piece)
            except zlib.error:
                self._refuse(
                    TableError(
                        "the packed file is damaged", repair="pack it again and upload it again"
                    )
                )
        self._writer.write(chunk)

    def _count(self, piece: bytes) -> None:
        self._unpacked += len(piece)
        # A limit of its own: a few packed megabytes can unpack to terabytes.
        if self._unpacked > settings.UPLOAD_MAX_BYTES:
            self._refuse(too_large())
        self._key.update(piece)

    def _look_inside(self, piece: bytes) -> None:
        if not self._looked_inside:
            self._unpacked_head += piece[: formats.HEAD - len(self._unpacked_head)]
            if len(self._unpacked_head) >= formats.HEAD:
                self._judge_inside()

    def _judge_inside(self) -> None:
        """Looks at what is packed, once enough of it has come."""
        self._looked_inside = True
        head = bytes(self._unpacked_head)
        if head.startswith(formats.GZIP):
            self._refuse(TableError("the table is packed twice", repair="pack the CSV once"))
        try:
            formats.check_kind(_INSIDE[self.file_kind], head)
        except TableError as error:
            self._refuse(error)

    def _refuse(self, error: TableError) -> None:
        self.discard()
        raise error

    def __enter__(self) -> Intake:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.discard()


def intake_of(file_kind: Kind) -> Intake:
    """What takes a file of this kind."""
    return ZippedIntake() if file_kind == "zip" else Intake(file_kind)


class ZippedIntake(Intake):
    """Takes a ZIP archive of one table: the table itself is kept, as if it had come without its wrapping, and
    looked at and counted in the same way."""

    def __init__(self) -> None:
        # Without `super().__init__`, which opens a file in the vault: the archive is not
        # stored.
        self._unzipper = Unzipper()
        self._inner: Intake | None = None
        self._looked = False
        self._head = bytearray()
        self.size_bytes = 0

    def receive(self, chunk: bytes) -> None:
        """The next bytes of the archive."""
        self.size_bytes += len(chunk)
        if self.size_bytes > settings.UPLOAD_MAX_BYTES:
            self._refuse(too_large())
        if not self._looked:
            self._head += chunk
            if len(self._head) < formats.HEAD:
                return
            self._look()
            return
        self._take(chunk)

    def end(self) -> Received:
        """All bytes are in."""
        if not self._looked:
            self._look()
        try:
            self._unzipper.end()
        except TableError as error:
            self._refuse(error)
        if self._inner is None:
            raise TypeError("the archive holds no file")
        return self._inner.end()

    def keep(self) -> str:
        """Move the table into the vault; returns its name there. For services that write its row."""
        if self._inner is None:
            raise TypeError("the archive was not read to its end")
        return self._inner.keep()

    def discard(self) -> None:
        """Leave nothing behind, unless it was kept."""
        if self._inner is not None:
            self._inner.discard()

    def _look(self) -> None:
        self._looked = True
        head = bytes(self._head)
        try:
            formats.check_kind("zip", head)
        except TableError as error:
            self._refuse(error)
        self._take(head)

    def _take(self, chunk: bytes) -> None:
        try:
            for piece in self._unzipper.feed(chunk):
                self._open().receive(piece)
            if self._unzipper.name is not None:  # an empty file has no piece
                self._open()
        except TableError as error:
            self._refuse(error)

    def _open(self) -> Intake:
        """The intake of the file inside, whose kind its name says."""
        if self._inner is None:
            kind = formats.kind_of(self._unzipper.name or "")
            if kind == "zip":
                raise TableError("an archive in an archive", repair="pack the table once")
            self._inner = Intake(kind)
        return self._inner


class _Unpacker:
    """Unpacks gzip, one member after another, in pieces of bounded size."""

    def __init__(self) -> None:
        self._member: zlib._Decompress | None = None
        self._members = 0

    @property
    def complete(self) -> bool:
        """Whether the last member that began has also ended, checksum and all."""
        return self._member is None and self._members > 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The next packed bytes; yields what they unpack to."""
        while data:
            if self._member is None:
                # Zeros behind a member are padding, which gzip ignores as well.
                data = data.lstrip(b"\0") if self._members else data
                if not data:
                    return
                self._member, self._members = zlib.decompressobj(wbits=31), self._members + 1
            # In pieces: memory must not grow with the ratio of compression.
            piece = self._member.decompress(data, PIECE)
            yield piece
            # More output than fitted may be waiting.
            while len(piece) == PIECE and not self._member.eof:
                piece = self._member.decompress(self._member.unconsumed_tail, PIECE)
                yield piece
            data = b""
            if self._member.eof:
                data, self._member = self._member.unused_data, None


def content_secret() -> bytes:
    """The key of `content_key`: at least 32 bytes, made once, never changed (docs/keys.md)."""
    secret = files.read_key(settings.CONTENT_KEY_FILE).encode()
    if len(secret) < 32:
        raise files.StorageError("the content key is shorter than 32 characters")
    return secret


def too_large() -> TableError:
    """The one text for a table over the limit."""
    limit = settings.UPLOAD_MAX_BYTES
    size = f"{limit / 1e9:.3g} GB" if limit >= 10**9 else f"{limit / 1e6:.3g} MB"
    return TableError(
        f"the table is larger than {size}, unpacked",
        repair="leave out columns that are not needed",
    )
