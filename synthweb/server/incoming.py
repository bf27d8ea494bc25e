"""How much of a request has come in, and whether it may go on: looked at before gunicorn parses it.

Only three facts are read from the head: its end, the length of the body, and whether the client waits to be
told to send it. gunicorn's parser, which is strict, reads everything again; where the two disagreed, a thread
would wait for bytes that do not come, and the limits on waiting in a thread hold for it.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from http import HTTPStatus

from synthweb.server import limits

END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,18})[ \t]*(?=\r\n)", re.IGNORECASE)
_ENCODED = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)
_EXPECTS = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*(?=\r\n)", re.IGNORECASE)


class State(Enum):
    """Of a request that comes in."""

    RECEIVING = auto()
    COMPLETE = auto()  # all of it, or all of its head where the body is long
    REFUSED = auto()


class Incoming:
    """The bytes of one request as they come in. `largest_body`: above it a request is refused by its
    Content-Length."""

    def __init__(self, *, largest_body: int) -> None:
        self.state = State.RECEIVING
        self.refusal: HTTPStatus | None = None
        self.buffer = bytearray()
        self.path = b""  # what was asked for, as far as it has come in, without the query
        self.body_length = 0
        self.long_body = False
        self.streamed = False  # a thread takes the request before its body is in
        self.continues = (
            False  # the client has to be told to send its body; whoever tells it sets this back
        )
        self._largest_body = largest_body
        self._searched = 0
        self._needed: int | None = None

    @property
    def head_is_in(self) -> bool:
        """Whether the headers have come to their end."""
        return self._needed is not None

    def feed(self, data: bytes) -> State:
        """Take bytes that came in; what the request is now."""
        self.buffer += data
        if len(self.path) < limits.LONGEST_LINE and not self.head_is_in:
            words = (
                bytes(self.buffer[: limits.LONGEST_LINE])
                .lstrip(b"\r\n")
                .split(b"\r\n", 1)[0]
                .split(b" ")
            )
            self.path = words[1].split(b"?", 1)[0] if len(words) > 1 else b""
        if self._needed is None and self.state is State.RECEIVING:
            self._look_for_head()
        if (
            self.state is State.RECEIVING
            and self._needed is not None
            and len(self.buffer) >= self._needed
        ):
            self.state = State.COMPLETE
        return self.state

    def _look_for_head(self) -> None:
        if self.buffer.startswith(b"\r\n"):
            del self.buffer[
                :2
            ]  # an empty line before a request is passed over (RFC 9112, section 2.2)
        end = self.buffer.find(END, max(0, self._searched - len(END)))
        self._searched = len(self.buffer)
        line = self.buffer.find(b"\r\n", 0, limits.LONGEST_LINE + 2)
        if line < 0 and len(self.buffer) > limits.LONGEST_LINE:
            self._refuse(HTTPStatus.REQUEST_URI_TOO_LONG)
        elif end > limits.LONGEST_HEAD or (end < 0 and len(self.buffer) > limits.LONGEST_HEAD):
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif end >= 0:
            self._read_head(end + len(END))

    def _read_head(self, end: int) -> None:
        head = bytes(self.buffer[:end])
        length = _LENGTH.search(head)
        self._needed = end
        self.streamed = bool(_ENCODED.search(head))
        if length is None or self.streamed:
            return  # no body, or one in chunks, which no page of ours reads
        self.body_length = int(length[1])
        if self.body_length > self._largest_body:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        elif self.body_length > limits.BUFFERED_BODY:
            self.long_body = self.streamed = True
        elif self.body_length:
            self._wait_for_body(head)

    def _wait_for_body(self, head: bytes) -> None:
        """All of the body is needed. gunicorn must not tell the client once more to send it."""
        expects = _EXPECTS.search(head)
        if expects:
            del self.buffer[expects.start() : expects.end()]
            head = bytes(self.buffer[: len(head) - (expects.end() - expects.start())])
        self._needed = len(head) + self.body_length
        self.continues = bool(expects) and len(self.buffer) < self._needed

    def _refuse(self, status: HTTPStatus) -> None:
        self.state, self.refusal = State.REFUSED, status
