"""A client's socket in a thread of the server: neither waits for a slow client without end.

In the server's loop a socket does not block, and the loop alone decides how long it lives. A thread that
needs bytes of a long body, or has more to send than may wait in memory, waits here: at most GRACE_SECONDS for
anything at all, and, once it has waited that long altogether, at no less than SLOWEST bytes a second. Only
time spent waiting for the client counts.
"""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import threading
import time

from synthweb.server import limits

PIECE = 256 * 1024


class Slow(BrokenPipeError):
    """The client reads too slowly. To gunicorn it is a client that has gone: it closes the connection and
    logs no error."""

    def __init__(self) -> None:
        super().__init__(errno.EPIPE, "the client reads too slowly")


class Room:
    """Bytes of answers that wait in memory, of all connections of a process together."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0
        self._lock = threading.Lock()

    def take(self, count: int, *, always: bool = False) -> bool:
        """Whether so many more may wait; if so they are counted. `always`: they are few, and may."""
        with self._lock:
            if self._taken + count > self._most and not always:
                return False
            self._taken += count
            return True

    def give_back(self, count: int) -> None:
        with self._lock:
            self._taken -= count


class Pace:
    """Waiting for one client in one direction."""

    def __init__(self) -> None:
        self.waited = 0.0
        self.moved = 0

    def is_too_slow(self) -> bool:
        late = self.waited - limits.GRACE_SECONDS
        return late > 0 and self.moved < late * limits.SLOWEST


class PacedSocket(socket.socket):
    """`unsent`: what the loop has still to send when the thread is done with the request."""

    def __init__(self, accepted: socket.socket, room: Room) -> None:
        super().__init__(fileno=accepted.detach())
        self.unsent = bytearray()
        self.cut = False  # the client was too slow: nothing more is read from it
        self._lost = False  # … to read: nothing more is sent to it
        self._room = room
        self._received = memoryview(b"")
        self._reading, self._writing = Pace(), Pace()

    def start_request(self, received: bytes) -> None:
        """A thread takes over; it reads what was received in the loop first. The time of an earlier request
        of the connection does not count."""
        self._received = memoryview(received)
        self._reading, self._writing = Pace(), Pace()

    def take_received(self) -> bytes:
        """What the thread has left: the beginning of the next request."""
        rest, self._received = bytes(self._received), memoryview(b"")
        return rest

    def setblocking(self, flag: bool) -> None:  # noqa: ARG002 - the library's signature
        """Never: waiting is done here, with an end. gunicorn asks for it before it gives a socket to a
        thread."""
        super().setblocking(False)

    def settimeout(self, value: float | None) -> None:  # noqa: ARG002 - the library's signature
        """The same."""
        super().setblocking(False)

    # --- in a thread ----------------------------------------------------------------------------------------
    def recv(self, size: int, flags: int = 0) -> bytes:
        """Bytes of a request; none where the client sends too slowly, which looks like a connection that
        broke off."""
        if self._received:
            data, self._received = bytes(self._received[:size]), self._received[size:]
            return data
        while not self.cut:
            try:
                data = super().recv(size, flags)
            except (BlockingIOError, InterruptedError):
                self.cut = not self._wait(self._reading, select.POLLIN)
                continue
            self._reading.moved += len(data)
            return data
        return b""

    def sendall(  # type: ignore[override]
        self,
        data: bytes | bytearray | memoryview,
        flags: int = 0,  # noqa: ARG002
    ) -> None:
        """Send, or leave it to the loop while little waits; wait for the client only beyond that."""
        rest = memoryview(bytes(data))
        while len(rest):
            if self._lost:
                raise Slow
            if self.unsent:
                self.flush()
            if not self.unsent:
                rest = rest[self._sent(rest[:PIECE]) :]
            if len(rest) and self._keep(rest):
                return
            if len(rest) and not self._wait(self._writing, select.POLLOUT):
                self.cut = self._lost = True

    def send(self, data: bytes | bytearray | memoryview, flags: int = 0) -> int:  # type: ignore[override]
        """All of it."""
        self.sendall(data, flags)
        return len(data)

    def _keep(self, rest: memoryview) -> bool:
        """Leave the rest to the loop, if there is room for it."""
        if len(self.unsent) + len(rest) > limits.UNSENT or not self._room.take(len(rest)):
            return False
        self.unsent += rest
        return True

    def _wait(self, pace: Pace, event: int) -> bool:
        """Whether the client is ready in time."""
        poll = select.poll()
        poll.register(self, event)
        begun = time.monotonic()
        ready = poll.poll(limits.GRACE_SECONDS * 1000)
        pace.waited += time.monotonic() - begun
        return bool(ready) and not pace.is_too_slow()

    def has_gone(self) -> bool:
        """Whether the client has closed the connection: nobody reads what a long answer is still made of."""
        poll = select.poll()
        poll.register(self, select.POLLRDHUP)
        return bool(poll.poll(0))

    # --- in the loop ----------------------------------------------------------------------------------------
    def post(self, data: bytes) -> None:
        """Leave a short answer of the server's own to the loop, whatever else waits."""
        self._room.take(len(data), always=True)
        self.unsent += data

    def receive(self) -> bytes | None:
        """What has come in: None for nothing yet, no bytes for the end."""
        try:
            return super().recv(64 * 1024)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            return b""

    # --- in the loop, and in a thread -----------------------------------------------------------------------
    def flush(self) -> int:
        """Send of what waits as much as the client takes at once; how much that was."""
        total = 0
        while self.unsent and (count := self._sent(memoryview(bytes(self.unsent[:PIECE])))):
            del self.unsent[:count]
            self._room.give_back(count)
            total += count
        return total

    def _sent(self, data: memoryview) -> int:
        try:
            count = super().send(data)
        except (BlockingIOError, InterruptedError):
            return 0
        self._writing.moved += count
        return count

    def close(self) -> None:
        """Nothing waits any longer."""
        self._room.give_back(len(self.unsent))
        self.unsent.clear()
        with contextlib.suppress(OSError):
            super().close()
