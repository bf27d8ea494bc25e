"""The web server over real sockets: slow clients hold no thread, what is too large is refused unread, nobody
but a declared proxy says that a connection is secure."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import selectors
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger

from synthweb.server import limits, refusals
from synthweb.server.incoming import Incoming, State
from synthweb.server.pacing import Pace, PacedSocket, Room, Slow
from synthweb.server.worker import BufferedWorker
from tests.web import served
from tests.web.served import ask, connect, parts, running, to_the_end

LIVE = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
ECHO = b"GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
MANY = 64  # slow clients: eight times the threads of the server
SHORT = (
    "from synthweb.server import limits\nlimits.HEAD_SECONDS = limits.GRACE_SECONDS = limits.IDLE_SECONDS = "
    "1.0"
)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with running(tmp_path_factory.mktemp("server")) as found:
        yield found


def _post(path: str, body: bytes, *, headers: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


def _alive(port: int) -> bool:
    return parts(ask(port, LIVE))[0] == 200 and parts(ask(port, ECHO))[0] == 200


# --- slow clients -------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"POST /account/login/ HTTP/1.1\r\nHost: lo",
        _post("/account/login/", b"x" * 50)[:-20],
    ],
    ids=["nothing", "head", "body"],
)
def test_clients_that_send_slowly_hold_no_thread(port: int, beginning: bytes) -> None:
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connect(port)) for _ in range(MANY)]
        for client in clients:
            client.sendall(beginning)
        assert _alive(port)
        for client in clients:
            client.sendall(beginning[:0])  # none was cut off meanwhile
        assert _alive(port)


@pytest.mark.slow
def test_clients_that_read_slowly_hold_no_thread(tmp_path: Path) -> None:
    """Each answer here is larger than a socket takes, and fits in what may wait in memory."""
    smaller = "import tests.web.served as s\ns.LARGE = 3 * 1024**2"
    with running(tmp_path, configuration=smaller) as port, contextlib.ExitStack() as stack:
        for _ in range(2 * limits.THREADS):
            stack.enter_context(connect(port)).sendall(
                b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"
            )
        assert _alive(port)


@pytest.mark.slow
def test_health_answers_while_every_thread_is_held(port: int) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(2 * limits.THREADS):
            stack.enter_context(connect(port)).sendall(
                b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"
            )
        assert parts(ask(port, LIVE))[0] == 200


@pytest.mark.slow
def test_who_is_too_slow_is_cut_off(tmp_path: Path) -> None:
    with running(tmp_path, configuration=SHORT) as port:
        with connect(port) as idle:
            assert to_the_end(idle) == b""
        for beginning in (b"GET /echo HTTP/1.1\r\nHo", _post("/api/x", b"x" * 50)[:-20]):
            status, headers, body = parts(ask(port, beginning))
            assert status == 408
            assert headers["connection"] == "close"
            assert b"too slowly" in body
        long = _post("/echo", b"x" * (limits.BUFFERED_BODY + 1))[: limits.BUFFERED_BODY // 2]
        with connect(port) as client:
            client.sendall(long)
            answer = json.loads(parts(to_the_end(client))[2])
            assert answer["length"] < limits.BUFFERED_BODY // 2
        with connect(
            port
        ) as reader:  # of an answer that cannot wait in memory, held by a thread
            reader.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert parts(ask(port, ECHO))[0] == 200
        for _ in range(2 * limits.THREADS):
            connect(port).sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert _alive(port)  # when they have been cut


def test_a_request_that_came_since_the_loop_looked_is_answered() -> None:
    """On a busy machine the loop comes back late: the time of an idle connection is over, and its next
    request is here."""
    config = Config()
    config.set("worker_connections", 8)
    worker = BufferedWorker(1, 0, [], None, 30, config, Logger(config))
    worker.wsgi, worker.poller = served.application, selectors.DefaultSelector()
    worker.tpool = ThreadPoolExecutor(1)
    worker.method_queue.init()
    worker.poller.register(
        worker.method_queue.fileno(), selectors.EVENT_READ, worker.method_queue.run_callbacks
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with connect(port) as quiet, connect(port) as asking:
            worker.accept(listener)
            worker.accept(listener)
            asking.sendall(ECHO)
            for connection in worker._in_loop:
                connection.deadline = 0.0
            worker.murder_pending()
            assert quiet.recv(1) == b""
            asking.setblocking(False)
            received, open_still = b"", True
            while open_still:
                worker.wait_for_and_dispatch_events(timeout=0.1)
                with contextlib.suppress(BlockingIOError):
                    data = asking.recv(65_536)
                    received, open_still = received + data, bool(data)
            assert parts(received)[0] == 200
    worker.tpool.shutdown()


@pytest.mark.slow
def test_one_address_has_so_many_connections_and_no_more(tmp_path: Path) -> None:
    with running(tmp_path) as port, contextlib.ExitStack() as stack:
        for _ in range(limits.PER_ADDRESS):
            stack.enter_context(connect(port))
        status, headers, _body = parts(ask(port, LIVE))
        assert status == 503
        assert headers["retry-after"]
        stack.close()
        while parts(ask(port, LIVE))[0] != 200:
            pass


@pytest.mark.slow
def test_few_uploads_are_received_at_once(port: int) -> None:
    body = b"x" * (limits.BUFFERED_BODY + 1)
    with contextlib.ExitStack() as stack:
        uploads = [stack.enter_context(connect(port)) for _ in range(limits.LONG_BODIES)]
        for upload in uploads:
            upload.sendall(_post("/echo", body)[:-1])
        assert _alive(port)
        status, headers, _body = parts(ask(port, _post("/echo", body)[:1000]))
        assert status == 503
        assert headers["retry-after"]
        for upload in uploads:
            upload.sendall(b"x")
            assert json.loads(parts(to_the_end(upload))[2])["length"] == len(body)
    assert parts(ask(port, _post("/echo", body)))[0] == 200


# --- what comes is what is read -----------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize(
    "length", [0, 1, 65_537, limits.BUFFERED_BODY, limits.BUFFERED_BODY + 1, 20 * 1024**2]
)
@pytest.mark.parametrize("expects", ["", "Expect: 100-continue\r\n"])
def test_a_body_arrives_whole(port: int, length: int, expects: str) -> None:
    body = random.Random(length).randbytes(length)
    head = _post("/echo", body, headers=f"Connection: close\r\n{expects}")[: -length or None]
    with connect(port) as client:
        client.sendall(head)
        if expects and length:
            assert client.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(body)
        answer = to_the_end(client).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    said = json.loads(parts(answer)[2])
    assert (said["length"], said["sha256"]) == (length, hashlib.sha256(body).hexdigest())


@pytest.mark.slow
def test_requests_on_one_connection_are_answered_in_turn_however_they_are_cut(
    port: int,
) -> None:
    stream = b"".join(_post(f"/{number}", b"b" * number) for number in range(20)) + ECHO
    for piece in (1, 7, 97, len(stream)):
        with connect(port) as client:
            for start in range(0, len(stream), piece):
                client.sendall(stream[start : start + piece])
            answers = to_the_end(client).split(b"HTTP/1.1 200 OK")[1:]
        said = [json.loads(answer.partition(b"\r\n\r\n")[2]) for answer in answers]
        assert [each["path"] for each in said] == [
            *(f"/{number}" for number in range(20)),
            "/echo",
        ]
        assert [each["length"] for each in said] == [*range(20), 0]


@pytest.mark.slow
def test_a_body_in_chunks_is_not_waited_for(port: int) -> None:
    with connect(port) as client:
        client.sendall(
            b"POST /unread HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"
        )
        status, headers, _body = parts(to_the_end(client))
        # The client has to know: it would send its next request into a connection that ends.
        assert (status, headers["connection"]) == (403, "close")


@pytest.mark.slow
def test_a_large_answer_arrives_whole(port: int) -> None:
    with connect(port) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert parts(to_the_end(client))[2] == b"x" * served.LARGE


# --- what is refused ----------------------------------------------------------------------------------------
LINE = b"GET /api/v1/%b HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (
            b"POST /api/v1/datasets/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
            413,
        ),
        (LINE % (b"x" * limits.LONGEST_LINE), 414),
        ((LINE % b"")[:-2] + b"X: " + b"x" * limits.LONGEST_HEAD + b"\r\n\r\n", 431),
        (b"GET /api/v1/ HTTP/1.1\r\nHost: localhost\r\n" + b"X: 1\r\n" * 200 + b"\r\n", 431),
        (b"GET /api/v1/ HTTP/1.1\r\nHost: localhost\r\nno header\r\n\r\n", 400),
        (b"POST /api/v1/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: odd\r\n\r\n", 501),
        (b"GET /api/v1/ HTTP/1.1\r\nHost: localhost\r\nExpect: more\r\n\r\n", 417),
    ],
    ids=["413", "414", "431", "431 fields", "400", "501", "417"],
)
def test_what_the_server_refuses_is_a_problem_document_below_api(
    port: int, request_: bytes, status: int
) -> None:
    said, headers, body = parts(ask(port, request_))
    assert said == status
    assert headers["content-type"] == "application/problem+json"
    assert headers["connection"] == "close"
    assert json.loads(body)["status"] == status
    said, headers, body = parts(ask(port, request_.replace(b"/api/v1/", b"/pages/")))
    assert said == status
    assert headers["content-type"].startswith("text/html")


@pytest.mark.slow
@pytest.mark.parametrize(
    "believed", ["X-Forwarded-Proto: https", "X-Forwarded-Protocol: ssl", "X-Forwarded-Ssl: on"]
)
def test_nobody_says_that_a_connection_is_secure(port: int, believed: str) -> None:
    request = ECHO.replace(b"\r\n\r\n", f"\r\n{believed}\r\n\r\n".encode())
    assert json.loads(parts(ask(port, request))[2])["scheme"] == "http"


# --- its parts ----------------------------------------------------------------------------------------------
def test_a_request_is_complete_with_its_last_byte() -> None:
    request = _post("/a?b=c", b"12345")
    for cut in range(1, len(request)):
        incoming = Incoming(largest_body=100)
        assert incoming.feed(request[:cut]) is State.RECEIVING
        assert incoming.feed(request[cut:]) is State.COMPLETE
        assert (incoming.path, incoming.body_length) == (b"/a", 5)
        assert bytes(incoming.buffer) == request


@pytest.mark.parametrize("length", [limits.BUFFERED_BODY, limits.BUFFERED_BODY + 1])
def test_a_long_body_is_not_waited_for(length: int) -> None:
    incoming = Incoming(largest_body=length)
    state = incoming.feed(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % length)
    assert state is (State.COMPLETE if length > limits.BUFFERED_BODY else State.RECEIVING)
    assert Incoming(largest_body=length - 1).feed(bytes(incoming.buffer)) is State.REFUSED


def test_a_client_that_waits_to_send_its_body_is_told_once() -> None:
    incoming = Incoming(largest_body=100)
    incoming.feed(_post("/", b"12345", headers="Expect: 100-continue\r\nX: y\r\n")[:-5])
    assert incoming.continues
    assert b"xpect" not in incoming.buffer
    assert incoming.feed(b"12345") is State.COMPLETE
    assert bytes(incoming.buffer).endswith(b"X: y\r\n\r\n12345")


def test_a_pace_is_the_mean_of_the_time_waited() -> None:
    pace = Pace()
    pace.waited = limits.GRACE_SECONDS
    assert not pace.is_too_slow()
    pace.waited += 10
    pace.moved = 10 * limits.SLOWEST
    assert not pace.is_too_slow()
    pace.moved -= 1
    assert pace.is_too_slow()


def test_what_cannot_wait_in_memory_waits_for_the_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "GRACE_SECONDS", 0.01)
    ours, client = socket.socketpair()
    room = Room(limits.UNSENT)
    with PacedSocket(ours, room) as paced, client:
        paced.setblocking(True)
        paced.sendall(b"x" * limits.UNSENT)
        assert 0 < len(paced.unsent) <= limits.UNSENT
        with pytest.raises(Slow):
            paced.sendall(b"x" * limits.UNSENT)
        assert paced.cut
        assert paced.recv(1) == b""
        assert not room.take(limits.UNSENT)
    assert room.take(limits.UNSENT)


def test_every_refusal_says_why() -> None:
    for status in refusals.DETAILS:
        for path in (b"/api/v1/", b"/datasets/"):
            said, headers, body = parts(refusals.answer(status, path=path))
            assert said == status
            assert int(headers["content-length"]) == len(body)
            assert refusals.DETAILS[HTTPStatus(status)].encode() in body.replace(
                b"\\u00a0", b" "
            )
