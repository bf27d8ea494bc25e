"""gunicorn's threaded worker, with a loop that receives requests before a thread is taken for them.

A connection lives in the loop: its head, and a body that fits in memory, are received there, however slowly
they come; then a thread answers; what the client has not read by then is sent by the loop again. So a slow
client costs memory and a file descriptor, and no thread. Two things hold a thread and are therefore few and
paced (`pacing.PacedSocket`): the body of an upload, which is encrypted while it comes in, and an answer
larger than may wait in memory.

`/livez` and `/readyz` have threads of their own. Who may have how much is in `limits`.
"""

from __future__ import annotations

import contextlib
import errno
import selectors
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from typing import Any

from django.conf import settings
from gunicorn import http
from gunicorn.http import errors
from gunicorn.workers.gthread import TConn, ThreadWorker

from synthweb.lib import log_context, request_ids, request_log
from synthweb.lib.bodies import FORM_SLACK
from synthweb.server import limits, refusals
from synthweb.server.incoming import Incoming, State
from synthweb.server.pacing import PacedSocket, Room

HEALTH = {b"/livez": 1, b"/readyz": 2}  # threads: the second one waits for database and broker
OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)
STATUS_OF = {
    errors.LimitRequestLine: HTTPStatus.REQUEST_URI_TOO_LONG,
    errors.LimitRequestHeaders: HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    errors.UnsupportedTransferCoding: HTTPStatus.NOT_IMPLEMENTED,
    errors.ExpectationFailed: HTTPStatus.EXPECTATION_FAILED,
    errors.ForbiddenProxyRequest: HTTPStatus.FORBIDDEN,
    errors.ConfigurationProblem: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.InvalidResponseHeader: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.InvalidResponseHeaderName: HTTPStatus.INTERNAL_SERVER_ERROR,
}


class Connection(TConn):  # type: ignore[misc]  # gunicorn has no types
    """A connection: what comes in, until when it may go on as it is, and what to do then."""

    sock: PacedSocket

    def __init__(self, cfg: Any, sock: PacedSocket, client: Any, server: Any) -> None:
        super().__init__(cfg, sock, client, server)
        self.initialized = self.data_ready = (
            True  # gunicorn would wait for the first byte in a thread
        )
        self.parser = http.get_parser(cfg, sock, client)
        self.address = client[0] if isinstance(client, tuple) else ""
        self.incoming = Incoming(largest_body=0)
        self.deadline = 0.0
        self.expired: Callable[[Connection], None] | None = None
        self.discarded = 0


class BufferedWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """The worker class of `configuration`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_loop: set[Connection] = set()
        self._from: Counter[str] = Counter()
        self._long_bodies = 0
        self._unsent = Room(limits.UNSENT_TOGETHER)
        self._swept = 0.0
        self._health: dict[bytes, ThreadPoolExecutor] = {}
        self._thread = threading.local()  # which connection a thread answers

    def init_process(self) -> None:
        self._health = {path: ThreadPoolExecutor(threads) for path, threads in HEALTH.items()}
        super().init_process()

    # --- a connection opens ---------------------------------------------------------------------------------
    def accept(self, listener: socket.socket) -> None:
        try:
            accepted, client = listener.accept()
        except OSError as error:
            if error.errno in OUT_OF_FILES:
                self._close_oldest()
            elif error.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return
        connection = Connection(
            self.cfg, PacedSocket(accepted, self._unsent), client, listener.getsockname()
        )
        self.nr_conns += 1
        self._from[connection.address] += 1
        self._await_request(connection, b"", seconds=limits.HEAD_SECONDS)
        counted = (
            connection.address and not settings.PROXIES
        )  # over a socket of Unix, and by a proxy, all come from one
        if counted and self._from[connection.address] > limits.PER_ADDRESS:
            self._refuse(connection, HTTPStatus.SERVICE_UNAVAILABLE)

    def _await_request(self, connection: Connection, already: bytes, *, seconds: float) -> None:
        connection.incoming = Incoming(largest_body=settings.UPLOAD_MAX_BYTES + FORM_SLACK)
        connection.sock.setblocking(False)
        if already:
            connection.incoming.feed(already)
            seconds = limits.HEAD_SECONDS
        self._watch(
            connection,
            selectors.EVENT_READ,
            self._receive,
            seconds=seconds,
            expired=self._too_slow,
        )
        self._look(connection)

    # --- a request comes in ---------------------------------------------------------------------------------
    def _receive(self, connection: Connection) -> bool:
        """Go on with what has come; False where nothing has."""
        data = connection.sock.receive()
        if data is None:
            return False
        if not data:
            self._drop(connection)
            return True
        if not connection.incoming.buffer:
            connection.deadline = time.monotonic() + limits.HEAD_SECONDS
        headless = not connection.incoming.head_is_in
        connection.incoming.feed(data)
        if headless and connection.incoming.head_is_in:
            connection.deadline = (
                time.monotonic()
                + limits.GRACE_SECONDS
                + connection.incoming.body_length / limits.SLOWEST
            )
        self._look(connection)
        return True

    def _look(self, connection: Connection) -> None:
        """Go on with a connection as far as what has come in allows."""
        incoming = connection.incoming
        if incoming.state is State.REFUSED:
            self._refuse(connection, incoming.refusal or HTTPStatus.BAD_REQUEST)
        elif incoming.state is State.COMPLETE:
            self._hand_over(connection)
        elif incoming.continues:
            incoming.continues = False
            connection.sock.post(b"HTTP/1.1 100 Continue\r\n\r\n")
            with contextlib.suppress(
                OSError
            ):  # a client that is gone is noticed when it is read from
                connection.sock.flush()
        elif len(incoming.buffer) > limits.BUFFERED_TOGETHER // limits.CONNECTIONS:
            self._bound_memory()

    def _bound_memory(self) -> None:
        """Where all requests together take too much, the one that takes most has to come back."""
        receiving = [each for each in self._in_loop if each.incoming.state is State.RECEIVING]
        if sum(len(each.incoming.buffer) for each in receiving) > limits.BUFFERED_TOGETHER:
            self._refuse(
                max(receiving, key=lambda each: len(each.incoming.buffer)),
                HTTPStatus.SERVICE_UNAVAILABLE,
            )

    def _hand_over(self, connection: Connection) -> None:
        """A thread answers from here on."""
        incoming = connection.incoming
        if incoming.long_body:
            if self._long_bodies >= limits.LONG_BODIES:
                self._refuse(connection, HTTPStatus.SERVICE_UNAVAILABLE)
                return
            self._long_bodies += 1
        self._unwatch(connection)
        connection.sock.start_request(bytes(incoming.buffer))
        incoming.buffer.clear()
        pool: ThreadPoolExecutor = self._health.get(incoming.path) or self.tpool
        answered = pool.submit(self.handle, connection)
        answered.add_done_callback(
            lambda done: self.method_queue.defer(self.finish_request, connection, done)
        )

    # --- in a thread ----------------------------------------------------------------------------------------
    def handle(self, conn: Connection) -> Any:
        self._thread.connection = conn
        try:
            return super().handle(conn)
        finally:
            self._thread.connection = None

    def handle_request(self, req: Any, conn: Connection) -> Any:
        """The answer says so where the connection ends with it (`_keepalive_after`): a client would send its
        next request into it, and get no answer."""
        if conn.incoming.streamed:
            req.force_close()
        return super().handle_request(req, conn)

    def _keepalive_after(self, conn: Connection, keepalive: bool) -> bool:
        """A body that was in memory is passed over; one that was not is not waited for, and the connection
        ends."""
        if conn.incoming.streamed or conn.sock.cut:
            return False
        return bool(super()._keepalive_after(conn, keepalive))

    def handle_error(self, req: Any, client: PacedSocket, addr: Any, exc: Exception) -> None:  # noqa: ARG002
        """gunicorn cannot read a request, or the application raised what Django should have caught."""
        status = next(
            (status for kind, status in STATUS_OF.items() if isinstance(exc, kind)), None
        )
        if status is None:
            broken = isinstance(exc, errors.ParseException)
            status = HTTPStatus.BAD_REQUEST if broken else HTTPStatus.INTERNAL_SERVER_ERROR
        if status is HTTPStatus.INTERNAL_SERVER_ERROR:
            self.log.error(
                "a request failed outside of the application: %s", type(exc).__name__
            )
        connection = getattr(self._thread, "connection", None)
        path = connection.incoming.path if connection else b""
        self._note(status, addr)
        with contextlib.suppress(OSError):
            client.sendall(refusals.answer(status, path=path))

    # --- a request is answered ------------------------------------------------------------------------------
    def finish_request(self, conn: Connection, fs: Future[Any]) -> None:
        if conn.incoming.long_body:
            self._long_bodies -= 1
        again = (
            not fs.cancelled()
            and fs.exception() is None
            and bool(fs.result())
            and not conn.sock.cut
        )
        conn.sock.setblocking(False)
        self._send_rest(conn, partial(self._next_request if again else self._linger, conn))

    def _next_request(self, connection: Connection) -> None:
        if not self.alive:
            self._linger(connection)
            return
        already = connection.parser.unreader.take_buffered() + connection.sock.take_received()
        self._await_request(connection, already, seconds=limits.IDLE_SECONDS)

    def _send_rest(self, connection: Connection, then: Callable[[], None]) -> None:
        """Send what the client has not taken yet, then go on."""
        try:
            connection.sock.flush()
        except OSError:
            self._drop(connection)
            return
        if not connection.sock.unsent:
            then()
            return
        seconds = limits.GRACE_SECONDS + len(connection.sock.unsent) / limits.SLOWEST
        self._watch(
            connection,
            selectors.EVENT_WRITE,
            partial(self._send_more, then=then),
            seconds=seconds,
            expired=self._drop,
        )

    def _send_more(self, connection: Connection, *, then: Callable[[], None]) -> None:
        try:
            connection.sock.flush()
        except OSError:
            self._drop(connection)
            return
        if not connection.sock.unsent:
            self._unwatch(connection)
            then()

    # --- a connection ends ----------------------------------------------------------------------------------
    def _too_slow(self, connection: Connection) -> None:
        """408 where a request had begun; an idle connection just ends."""
        if connection.incoming.buffer:
            self._refuse(connection, HTTPStatus.REQUEST_TIMEOUT)
        else:
            # On a busy machine the loop comes back late, and a request may lie here since it looked last:
            # closed now, the connection would take it along unanswered. Where nothing has come, it is
            # dropped.
            connection.deadline = time.monotonic() + limits.HEAD_SECONDS
            if not self._receive(connection):
                self._drop(connection)

    def _refuse(self, connection: Connection, status: HTTPStatus) -> None:
        self._unwatch(connection)
        path = connection.incoming.path
        connection.incoming.state = State.REFUSED
        connection.incoming.buffer.clear()
        self._note(status, connection.client)
        connection.sock.post(refusals.answer(status, path=path))
        self._send_rest(connection, partial(self._linger, connection))

    def _note(self, status: HTTPStatus, client: Any) -> None:
        address = client[0] if isinstance(client, tuple) else ""
        with log_context.within(request=request_ids.new()):
            request_log.write(self.log.error_log, status=status.value, address=address)

    def _linger(self, connection: Connection) -> None:
        """Say that nothing more comes and read on a little: closed at once, with bytes unread, the kernel
        would take the answer back (RFC 9112, section 9.6)."""
        try:
            connection.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._drop(connection)
            return
        self._watch(
            connection,
            selectors.EVENT_READ,
            self._discard,
            seconds=limits.LINGER_SECONDS,
            expired=self._drop,
        )

    def _discard(self, connection: Connection) -> None:
        data = connection.sock.receive()
        connection.discarded += len(data or b"")
        if data == b"" or connection.discarded > limits.LINGER_BYTES:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        self._unwatch(connection)
        self.nr_conns -= 1
        self._from[connection.address] -= 1
        if not self._from[connection.address]:
            del self._from[connection.address]
        connection.sock.close()

    def _close_oldest(self) -> None:
        """No file can be opened any more: the connection that has least time left makes room."""
        if self._in_loop:
            self._drop(min(self._in_loop, key=lambda each: each.deadline))

    # --- the loop -------------------------------------------------------------------------------------------
    def _watch(
        self,
        connection: Connection,
        event: int,
        ready: Callable[[Connection], object],
        *,
        seconds: float,
        expired: Callable[[Connection], None],
    ) -> None:
        """Call `ready` whenever the connection is, and `expired` when its time is over."""
        connection.deadline, connection.expired = time.monotonic() + seconds, expired
        self._in_loop.add(connection)
        self.poller.register(
            connection.sock, event, lambda _socket: self._act(connection, ready)
        )

    def _act(self, connection: Connection, ready: Callable[[Connection], object]) -> None:
        if connection in self._in_loop:  # else an earlier event of the same round ended it
            ready(connection)

    def _unwatch(self, connection: Connection) -> None:
        if connection in self._in_loop:
            self._in_loop.discard(connection)
            self.poller.unregister(connection.sock)

    def murder_pending(self) -> None:
        """Called by gunicorn's loop after each round: end what has run out of time, once a second."""
        super().murder_pending()
        now = time.monotonic()
        if now - self._swept < 1 and self.alive:
            return
        self._swept = now
        for connection in list(self._in_loop):
            idle = (
                not self.alive
                and connection.incoming.state is State.RECEIVING
                and not connection.incoming.buffer
            )
            if idle or (connection.deadline < now and connection in self._in_loop):
                (connection.expired or self._drop)(connection)
