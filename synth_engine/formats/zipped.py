"""Unpack the one file in a ZIP archive while the archive comes in, piece by piece.

An archive says twice what it holds: before each file, and in a directory at its end. Here the first is read,
because it comes first, and the second has to say the same. Folders and the notes that macOS adds are passed
over; a second file, a password, a path out of the archive and an archive that is cut short are refused
(PKWARE APPNOTE 6.3, 4.3).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from synth_engine.errors import TableError

_PIECE = 2**20
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL = struct.Struct("<4sHHHHHHIIIHHHHHII")
_LONG, _LONG64 = struct.Struct("<III"), struct.Struct("<IQQ")
_ENTRY, _DIRECTORY, _DESCRIPTOR = b"PK\x03\x04", b"PK\x01\x02", b"PK\x07\x08"
_ENDS = (b"PK\x05\x06", b"PK\x06\x06")
_STORED, _DEFLATED = 0, 8
_LOCKED, _SIZES_BEHIND = 0x1, 0x8
_UNKNOWN = 0xFFFFFFFF  # the size is in a field of its own
_MOST_BESIDE = 2**20  # bytes of the directory, and of notes that are passed over
_PACK_AGAIN = "pack the table again, alone and without a password"


class _Entry(NamedTuple):
    """The header before a file in an archive, with the values that stand behind the file where they
    differ."""

    name: bytes
    method: int
    check: int
    size: int
    is_behind: bool  # check and size come behind the content
    is_long: bool  # with eight bytes for a size

    @property
    def is_passed_over(self) -> bool:
        """Whether it is a folder or a note of macOS."""
        return self.name.endswith((b"/", b".DS_Store")) or self.name.startswith(b"__MACOSX/")


class Unzipper:
    """Takes the bytes of an archive: `feed` …, then `end`. `name` is the name of its file, once that has
    come. Every refusal is a TableError."""

    def __init__(self) -> None:
        self.name: str | None = None
        self._waiting = b""
        self._step = self._start
        self._entry: _Entry | None = None
        self._unpacker: zlib._Decompress | None = None
        self._check = self._size = self._trailing = 0
        self._seen: list[tuple[bytes, int, int]] = []

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The next bytes of the archive; yields what they unpack to, in pieces of bounded size."""
        self._waiting += data
        while (piece := self._step()) is not None:
            if piece:
                yield piece

    def end(self) -> None:
        """All bytes are in. Raises TableError if the archive is cut short, or its directory says something
        else."""
        # An archive whose directory differs from its entries shows one table to a scanner and
        # another to its reader.
        if self._step != self._directory or _listed(self._waiting) != self._seen:
            _refuse_damaged()
        if self.name is None:
            raise TableError("the archive holds no file", repair=_PACK_AGAIN)

    # Each step takes what it can from what is waiting: it returns what was unpacked, or None if it needs
    # more.
    def _start(self) -> bytes | None:
        if len(self._waiting) < 4:
            return None
        if self._waiting.startswith((_DIRECTORY, *_ENDS)):
            self._step = self._directory
            return b""
        if not self._waiting.startswith(_ENTRY):
            _refuse_damaged()
        if len(self._waiting) < _LOCAL.size:
            return None
        _, _, flags, method, _, _, check, _, size, name_length, extra_length = (
            _LOCAL.unpack_from(self._waiting)
        )
        end = _LOCAL.size + name_length + extra_length
        if len(self._waiting) < end:
            return None
        name = self._waiting[_LOCAL.size : _LOCAL.size + name_length]
        extra = self._waiting[_LOCAL.size + name_length : end]
        long = _long_size(extra)
        self._open(
            _Entry(
                name=name,
                method=method,
                check=check,
                size=long if size == _UNKNOWN and long is not None else size,
                is_behind=bool(flags & _SIZES_BEHIND),
                is_long=long is not None,
            ),
            is_locked=bool(flags & _LOCKED),
        )
        self._waiting = self._waiting[end:]
        return b""

    def _open(self, entry: _Entry, *, is_locked: bool) -> None:
        if is_locked:
            raise TableError("the archive has a password", repair=_PACK_AGAIN)
        has_end = entry.method == _DEFLATED or (entry.method == _STORED and not entry.is_behind)
        if not has_end:  # where the content ends cannot be known
            raise TableError(
                "the archive is packed in a way that is not read", repair=_PACK_AGAIN
            )
        if not entry.is_passed_over:
            if self.name is not None:
                raise TableError("the archive holds more than one file", repair=_PACK_AGAIN)
            self.name = _checked_name(entry.name)
        self._entry, self._check, self._size = entry, 0, 0
        self._unpacker = zlib.decompressobj(wbits=-15) if entry.method == _DEFLATED else None
        self._step = self._content

    def _content(self) -> bytes | None:
        piece, is_over = self._unpacked() if self._unpacker is not None else self._plain()
        if self._entry is None:
            raise TypeError("no file of the archive is open")
        self._check, self._size = zlib.crc32(piece, self._check), self._size + len(piece)
        if self._entry.is_passed_over:
            self._trailing += len(piece)
            if self._trailing > _MOST_BESIDE:
                raise TableError("the archive holds more than one file", repair=_PACK_AGAIN)
        if is_over:
            self._step = self._behind if self._entry.is_behind else self._close
        elif not piece:
            return None
        return b"" if self._entry.is_passed_over else piece

    def _unpacked(self) -> tuple[bytes, bool]:
        if self._unpacker is None:
            raise TypeError("the archive holds no compressed file")
        try:
            # The output of one step is bounded, so that the caller can stop an archive that
            # swells.
            piece = self._unpacker.decompress(self._waiting, _PIECE)
        except zlib.error:
            _refuse_damaged()
        is_over = self._unpacker.eof
        self._waiting = (
            self._unpacker.unused_data if is_over else self._unpacker.unconsumed_tail
        )
        return piece, is_over

    def _plain(self) -> tuple[bytes, bool]:
        if self._entry is None:
            raise TypeError("no file of the archive is open")
        piece = self._waiting[: min(_PIECE, self._entry.size - self._size)]
        self._waiting = self._waiting[len(piece) :]
        return piece, self._size + len(piece) == self._entry.size

    def _behind(self) -> bytes | None:
        """The checksum and the sizes that stand behind a file of which they were not known before."""
        if self._entry is None:
            raise TypeError("no file of the archive is open")
        form = _LONG64 if self._entry.is_long else _LONG
        start = len(_DESCRIPTOR) * self._waiting.startswith(_DESCRIPTOR)
        if len(self._waiting) < max(4, start + form.size):
            return None
        check, _, size = form.unpack_from(self._waiting, start)
        self._waiting = self._waiting[start + form.size :]
        self._entry = self._entry._replace(check=check, size=size)
        self._step = self._close
        return b""

    def _close(self) -> bytes | None:
        if self._entry is None:
            raise TypeError("no file of the archive is open")
        if (self._entry.check, self._entry.size) != (self._check, self._size):
            _refuse_damaged()
        self._seen.append((self._entry.name, self._check, self._size))
        self._step = self._start
        return b""

    def _directory(self) -> None:
        if len(self._waiting) > _MOST_BESIDE:
            raise TableError("the archive holds more than one file", repair=_PACK_AGAIN)


def _listed(directory: bytes) -> list[tuple[bytes, int, int]]:
    """Name, checksum and size of each file in a directory, in the order of the archive."""
    entries, at = [], 0
    while directory.startswith(_DIRECTORY, at) and len(directory) >= at + _CENTRAL.size:
        fields = _CENTRAL.unpack_from(directory, at)
        # Fields 10 to 12 are the lengths of name, extra field and comment; field 16 is the
        # offset of the entry, because a directory may list entries in another order.
        check, size = fields[7], fields[9]
        lengths = fields[10:13]
        name = directory[at + _CENTRAL.size : at + _CENTRAL.size + lengths[0]]
        extra = directory[at + _CENTRAL.size + lengths[0] :][: lengths[1]]
        long = _long_size(extra)
        entries.append(
            (fields[16], (name, check, long if size == _UNKNOWN and long is not None else size))
        )
        at += _CENTRAL.size + sum(lengths)
    if not directory.startswith(_ENDS, at):
        _refuse_damaged()
    return [entry for _, entry in sorted(entries)]


def _long_size(extra: bytes) -> int | None:
    """The unpacked size in the field for sizes of eight bytes, if it is there."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            return int.from_bytes(extra[at + 4 : at + 12], "little") if length >= 8 else 0
        at += 4 + length
    return None


def _checked_name(name: bytes) -> str:
    """The name of the file without its folders. It is used for its ending alone; one that leads out of the
    archive was made to do harm elsewhere."""
    text = name.decode("utf-8", "replace")
    parts = text.replace("\\", "/").split("/")
    if not text or text.startswith(("/", "\\")) or ".." in parts or ":" in text or "\0" in text:
        raise TableError("the archive holds a path that leads out of it", repair=_PACK_AGAIN)
    return parts[-1]


def _refuse_damaged() -> NoReturn:
    raise TableError("the archive is damaged or cut short", repair=_PACK_AGAIN) from None
