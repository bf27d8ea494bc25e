"""The text of a CSV, by the line or by the piece of many lines, whatever its encoding."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from synth_engine.errors import TableError
from synth_engine.formats import Dialect
from synth_engine.readers.source import Limits, Meter, Mode

PIECE = 2**22  # bytes that are looked at together
_READ = 2**22
_LINE_END = re.compile(rb"\r\n|\n|\r")
_LONGEST_CHARACTER = 4  # bytes, of any encoding that is read
_FURTHEST = 4_096  # line ends inside quotation marks that a cut is moved across


class Feed:
    """Gives out a text from its beginning to its end. `lines` counts the lines given out, `taken` their
    bytes.

    In a total reading, bytes that are not of the encoding become U+FFFD. That concerns the record alone in
    which they stand: no encoding that is read takes a line end for a part of a damaged character."""

    def __init__(
        self,
        meter: Meter,
        dialect: Dialect,
        *,
        limits: Limits,
        errors: str = "strict",
        mode: Mode = "checked",
    ) -> None:
        errors = "replace" if mode == "total" else errors
        self._limits, self._errors, self._nul = limits, errors, mode == "total"
        self._quote = dialect.quote.encode()
        chunks = _in_utf8(meter, dialect.codec, errors=errors)
        self._chunks = _without_last(chunks, lines=dialect.footer) if dialect.footer else chunks
        self._data, self._at, self.ended = b"", 0, False
        self.lines = self.taken = 0

    @property
    def empty(self) -> bool:
        """Whether all is given out."""
        return self.ended and self._at == len(self._data)

    def line(self) -> str:
        """The next line with its end; nothing after the last. Raises TableError, UnicodeError."""
        longest = self._limits.line_characters
        end = self._line_end(most=4 * longest)
        text = self._data[self._at : end].decode("utf-8", self._errors)
        if not text:
            return text
        self.taken += end - self._at
        self._at, self.lines = end, self.lines + 1
        if len(text) >= longest:
            raise TableError(
                "the line is too long",
                repair="check quotation marks and line ends",
                line=self.lines,
            )
        if "\0" in text and not self._nul:
            raise TableError(
                "a NUL byte",
                repair="export the table again as plain text in UTF-8",
                line=self.lines,
            )
        return text

    def __iter__(self) -> Iterator[str]:
        """Lines, for a reader that stops where it likes."""
        while text := self.line():
            yield text

    def piece(self) -> bytes:
        """The next so many lines; as far as quotation marks tell, they end where a record does."""
        while len(self._data) - self._at < PIECE and self._more():
            pass
        rest = len(self._data) - self._at
        end = (
            self._at + rest
            if self.ended and rest <= PIECE
            else self._cut(self._at + min(rest, PIECE))
        )
        piece, self._at = self._data[self._at : end], end
        return piece

    def give_back(self, data: bytes, *, lines: int = 0) -> None:
        """Undo the giving out of what was given out last."""
        self._data, self._at = data + self._data[self._at :], 0
        self.lines -= lines

    def _more(self) -> bool:
        chunk = next(
            filter(None, self._chunks), b""
        )  # one may be empty before the end: all of it is held back
        self._data, self._at, self.ended = self._data[self._at :] + chunk, 0, not chunk
        return bool(chunk)

    def _line_end(self, *, most: int) -> int:
        """Return the position at which the line ends. A carriage return at the end of what was read may be
        half of a line end."""
        while True:
            match = _LINE_END.search(self._data, self._at)
            if match and (match.end() < len(self._data) or match[0] != b"\r" or self.ended):
                return match.end()
            if len(self._data) - self._at > most or not self._more():
                return len(self._data)

    def _cut(self, end: int) -> int:
        """The last line end before `end` that has an even number of quotation marks before it."""
        cut = self._data.rfind(b"\n", self._at, end) + 1
        if not self._quote or not cut:
            return cut or end
        odd = self._data.count(self._quote, self._at, cut) % 2
        # Going back over one line end changes the parity by the marks between the two.
        for _ in range(_FURTHEST):
            if not odd:
                return cut
            before = self._data.rfind(b"\n", self._at, cut - 1) + 1
            if not before:
                break
            odd ^= self._data.count(self._quote, before, cut) % 2
            cut = before
        return end


def _in_utf8(meter: Meter, codec: str, *, errors: str) -> Iterator[bytes]:
    """UTF-8 as it is, without its mark; everything else transcoded."""
    if codec == "utf-8-sig":
        first = meter.take(_READ)
        yield first.removeprefix(codecs.BOM_UTF8)
        while data := meter.take(_READ):
            yield data
        return
    decoder = codecs.getincrementaldecoder(codec)(errors)
    while data := meter.take(_READ):
        if text := decoder.decode(data):
            yield text.encode("utf-8", errors)
    yield _rest(decoder, codec, errors=errors).encode("utf-8", errors)


def _rest(decoder: codecs.IncrementalDecoder, codec: str, *, errors: str) -> str:
    """Return what the decoder still holds at the end of the file.

    The last line is decoded as if others followed. GB18030 has characters of four bytes, and a damaged one of
    which two bytes stand before the last line end would take that line end with it: how a record is read
    would depend on whether there is another one behind it."""
    if errors == "strict" or codec.startswith(("utf-16", "utf-32")):
        return decoder.decode(b"", final=True)
    text = decoder.decode(b"\n" * _LONGEST_CHARACTER, final=True)
    return text[:-_LONGEST_CHARACTER]


def _without_last(chunks: Iterator[bytes], *, lines: int) -> Iterator[bytes]:
    """Holds back so many lines, and leaves them out at the end; blank lines below them do not count."""
    held = b""
    for chunk in chunks:
        held += chunk
        keep = _start_of_last(held, lines=lines + 1)
        yield held[:keep]
        held = held[keep:]
    yield held[: _start_of_last(held.rstrip(b"\r\n"), lines=lines)]


def _start_of_last(data: bytes, *, lines: int) -> int:
    """Return the position at which the last `lines` lines begin, blank ones not counted."""
    at = len(data)
    while lines and at:
        end = len(data[:at].rstrip(b"\r\n"))
        at = max(data.rfind(b"\n", 0, end), data.rfind(b"\r", 0, end)) + 1
        lines -= 1
    return at
