"""What hostile and careless clients cost the web server, and whether health answers meanwhile.

    python bench/denial.py [--rows 10000000] [--seconds 20]

Starts the server as it is deployed (gunicorn with the configuration of synthweb/server, two processes, SQLite) on an
installation like that of bench/pages.py in a temporary folder, and prints of each attack how long /livez and the page to
sign in took, the slowest of several, and how much more memory the server's processes had at their peak. Exit code 1 if
health takes a second or more, or one of the two bodies of JSON 20 MB or 0.3 s.

The bodies: a key of 30,000 letters over a list of 30,000 items, and 16,000 names of which one comes twice. The slow
sockets: 8 and 64, that send half a byte a second of a head, of a body, or read nothing of an answer. The downloads: 8 of
10 million rows, by one person and by two; each in a process of its own, whose memory is printed beside.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pages  # bench/pages.py, which builds the installation

ROOT = Path(__file__).resolve().parents[1]
HEALTH_WITHIN, BODY_WITHIN, BODY_MEMORY = 1.0, 0.3, 20.0
LIVE, SIGN_IN = "/livez", "/account/login/"
BODIES = {
    "long key over a list": '{"' + "k" * 30_000 + '":[' + ",".join("1" * 30_000) + "]}",
    "one name twice": "{"
    + ",".join(f'"k{number:06}":1' for number in range(16_000))
    + ',"zz":1,"zz":2}',
}


class Server:
    """The server in a process of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "gunicorn",
            "--config",
            "python:synthweb.server.configuration",
        ]
        environment = {
            **os.environ,
            "SYNTHWEB_VAR": str(folder),
            "SYNTHWEB_HOSTS": "localhost,testserver",
        }
        for limit in (
            "PER_TOKEN",
            "PER_USER",
            "WRITES_PER_USER",
            "TABLES_PER_USER",
            "PER_ADDRESS",
        ):
            environment[f"SYNTHWEB_REST_{limit}"] = (
                "0"  # here it is about what a request costs, not how many there are
            )
        self._log = (folder / "web.log").open("wb")
        self.process = subprocess.Popen(
            [*command, "--bind", f"127.0.0.1:{self.port}", "synthweb.wsgi"],
            cwd=ROOT,
            env=environment,
            stdout=self._log,
            stderr=self._log,
        )
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                if self.get(LIVE)[0] == 200:
                    break
            time.sleep(0.2)
        for _ in range(8):  # both processes have loaded what they need
            self.get(SIGN_IN)

    def connect(self, *, reads: int | None = None) -> socket.socket:
        client = socket.socket()
        if reads:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, reads)
        client.settimeout(60)
        client.connect(("127.0.0.1", self.port))
        return client

    def ask(self, request: bytes) -> tuple[int, float, bytes]:
        """Status, seconds and body."""
        begun = time.monotonic()
        with self.connect() as client:
            client.sendall(request)
            answer = b"".join(iter(lambda: client.recv(65_536), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), time.monotonic() - begun, body

    def get(self, path: str) -> tuple[int, float, bytes]:
        return self.ask(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )

    def workers(self) -> list[int]:
        return _children(self.process.pid)

    def drawing(self) -> list[int]:
        return [child for worker in self.workers() for child in _children(worker)]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)
        self._log.close()


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in task.read_text().split()]
    return found


def _memory(pids: list[int], field: str) -> float:
    """MB of all of them together; of VmHWM the peak since `_reset`."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, StopIteration):
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            total += int(next(line for line in lines if line.startswith(field)).split()[1])
    return total / 1e3


def _reset(pids: list[int]) -> float:
    """Forget the peaks; what they have now."""
    for pid in pids:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    return _memory(pids, "VmRSS")


def bodies(server: Server, token: str) -> bool:
    """The two bodies of JSON, and how they are answered."""
    well = True
    for name, body in BODIES.items():
        head = "POST /api/v1/releases/zzzzzzzzzz/samples/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        head += f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        server.ask((head + body).encode())
        before = _reset(server.workers())
        times = []
        for _ in range(5):
            status, seconds, _body = server.ask((head + body).encode())
            times.append(seconds)
        more = _memory(server.workers(), "VmHWM") - before
        well &= max(times) < BODY_WITHIN and more < BODY_MEMORY
        print(
            f"{name}, {len(body) / 1e3:.0f} kB: {status}, {max(times):.3f} s at most of 5, {more:.1f} MB more at the peak"
        )
    return well


class Way(Protocol):
    """How clients reach a server."""

    def connect(self, *, reads: int | None = None) -> socket.socket: ...


def slow_clients(way: Way, kind: str) -> Iterator[tuple[socket.socket, bytes]]:
    """Sockets of one kind, each with what it has still to send. kind: what is slow: head, body or reading."""
    static = "/static/vendor/plotly-figures.min.js"
    while True:
        if kind == "reading":
            client = way.connect(reads=4096)
            client.sendall(f"GET {static} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            yield client, b""
        else:
            client = way.connect()
            whole = b"POST /account/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
            sent = whole[:20] if kind == "head" else whole
            client.sendall(sent)
            yield client, whole[len(sent) :] if kind == "head" else b"x" * 1000


@contextlib.contextmanager
def dripping(way: Way, count: int, kind: str) -> Iterator[None]:
    """So many slow sockets, that send half a byte a second."""
    made = slow_clients(way, kind)
    open_ones = [next(made) for _ in range(count)]
    stop = threading.Event()

    def drip() -> None:
        place = 0
        while not stop.wait(2):
            for client, rest in open_ones:
                with contextlib.suppress(OSError):
                    client.send(rest[place : place + 1])
            place += 1

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        for client, _ in open_ones:
            client.close()


def slow_sockets(server: Server, count: int, kind: str, seconds: float) -> bool:
    """Health and the page to sign in, while so many sockets are slow."""
    with dripping(server, count, kind):
        slowest = probe(server, seconds)
    print(
        f"{count:2} sockets slow at {kind}: /livez {slowest[0]:.3f} s, {SIGN_IN} {slowest[1]:.3f} s at most"
    )
    return slowest[0] < HEALTH_WITHIN


def probe(
    server: Server, seconds: float, also: Callable[[], None] = lambda: None
) -> tuple[float, float]:
    """The slowest answers of health and of a page for so long."""
    slowest = [0.0, 0.0]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for place, path in enumerate((LIVE, SIGN_IN)):
            status, took, _body = server.get(path)
            slowest[place] = max(slowest[place], took if status == 200 else float("inf"))
        also()
        time.sleep(0.2)
    return slowest[0], slowest[1]


def downloads(server: Server, asked: list[tuple[str, str]], *, by: int, seconds: float) -> bool:
    """Eight large tables at once: what each got, and health meanwhile. `asked`: token and code of a sample."""
    answers: list[tuple[int, float]] = []
    stop = threading.Event()

    def download(token: str, code: str) -> None:
        begun = time.monotonic()
        with server.connect() as client:
            head = f"GET /api/v1/samples/{code}/table.csv HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
            client.sendall(head.encode())
            data = b""
            while b"\r\n\r\n" not in data or data.endswith(b"\r\n\r\n"):
                data += client.recv(4096)
            answers.append((int(data.split()[1]), time.monotonic() - begun))
            client.settimeout(1)
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    if not client.recv(65_536):
                        break

    before, peak = _reset(server.workers()), [0.0]
    threads = [threading.Thread(target=download, args=one, daemon=True) for one in asked]
    for thread in threads:
        thread.start()
    slowest = probe(server, seconds, lambda: peak.append(_memory(server.drawing(), "VmRSS")))
    more = _memory(server.workers(), "VmHWM") - before
    stop.set()
    for thread in threads:
        thread.join(30)
    given = [took for status, took in answers if status == 200]
    refused = sum(status == 429 for status, _ in answers)
    print(
        f"{len(asked)} downloads by {by}: {len(given)} given, first line after {max(given, default=0):.2f} s at most; "
        f"{refused} answered 429; /livez {slowest[0]:.3f} s, {SIGN_IN} {slowest[1]:.3f} s at most; "
        f"{more:.0f} MB more in the server, at most {max(peak):.0f} MB in the processes that draw"
    )
    return slowest[0] < HEALTH_WITHIN and len(answers) == len(asked)


def too_large(server: Server) -> None:
    """A length above every limit, and nothing of the body."""
    status, seconds, body = server.ask(
        b"POST /api/v1/datasets/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"
    )
    print(f"Content-Length of 100 GB: {status} after {seconds:.3f} s, {body[:40].decode()} …")


def main() -> int:
    """Run all of them."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--seconds", type=float, default=20)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pages.begin(folder)
        office = pages.Office(datasets=1, releases=2)
        from synthweb.accounts import services as accounts
        from synthweb.releases import services as releases

        release = office.real[1].release
        tickets = []
        for role in ("analyst", "steward", "custodian", "auditor"):
            person = office.people[role]
            token = accounts.create_token(user=person, name="bench", scopes=["read"], days=1)[1]
            if role in ("analyst", "steward"):
                sample = releases.draw_sample(user=person, release=release, rows=asked.rows)
                tickets.append((token, sample.code))
        server = Server(folder)
        try:
            well = bodies(server, tickets[0][0])
            for count in (8, 64):
                for kind in ("head", "body", "reading"):
                    well &= slow_sockets(server, count, kind, asked.seconds / 2)
            too_large(server)
            well &= downloads(server, tickets[:1] * 8, by=1, seconds=asked.seconds)
            time.sleep(2)  # until the server has noticed that the first eight have left
            well &= downloads(server, tickets * 4, by=len(tickets), seconds=asked.seconds)
        finally:
            server.stop()
    print("All is well." if well else "NOT WELL")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
