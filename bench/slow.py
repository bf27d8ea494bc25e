"""Whether health and pages answer behind the proxy that docs/nginx.conf describes, while many clients are slow.

    python bench/slow.py [--sockets 8 64 512] [--seconds 15]

Starts the server as it is deployed (gunicorn with the configuration of synthweb/server, two processes, SQLite) and nginx in
front of it, with docs/nginx.conf as it stands but for ports and files. The slow sockets send half a byte a second of a head,
of a body, or read nothing of an answer, over TLS; they come from one address for every 20 of them, so that the limit of
connections of an address lets all of them in. Meanwhile health is asked for inside, and the page to sign in through the
proxy. A probe fails if it takes a second or more, or is not answered with 200. The last line is

    failed 0 of 180 probes

with exit code 1 if a probe failed. nginx (Debian: nginx-light) and the loopback addresses of Linux are needed.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import ssl
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import denial  # bench/denial.py, whose server and slow clients these are
import pages  # bench/pages.py, which builds the installation

NAME = "localhost"
FROM_ONE_ADDRESS = 20  # connections; the proxy takes 30
CONNECTIONS = 2048  # of nginx: a slow body holds one, and another to the application
WITHIN = 1.0  # seconds


@dataclass
class Proxy:
    """nginx, as clients of many addresses reach it."""

    port: int
    made: int = field(default=0, init=False)

    def connect(self, *, reads: int | None = None) -> socket.socket:
        """The next slow client."""
        address = 1 + self.made // FROM_ONE_ADDRESS
        self.made += 1
        return self._connect(f"127.0.1.{address}", reads=reads)

    def get(self, path: str) -> tuple[int, float]:
        """Status and seconds of somebody else's request."""
        begun = time.monotonic()
        with self._connect("127.0.0.1") as client:
            client.sendall(
                f"GET {path} HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n".encode()
            )
            answer = b"".join(iter(lambda: client.recv(65_536), b""))
        return int(answer.split()[1]), time.monotonic() - begun

    def _connect(self, address: str, *, reads: int | None = None) -> socket.socket:
        context = ssl.create_default_context()
        # The certificate is made for this run; what is measured is time.
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        client = socket.socket()
        if reads:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, reads)
        client.settimeout(60)
        client.bind((address, 0))
        client.connect(("127.0.0.1", self.port))
        return context.wrap_socket(client, server_hostname=NAME)


@contextlib.contextmanager
def proxy(server: denial.Server, folder: Path) -> Iterator[Proxy]:
    """nginx in front of a server, with the configuration that is shipped."""
    from tests import shipped_proxy  # sets the keys of tests, which the server must not have

    with shipped_proxy.running(
        folder, port=server.port, name=NAME, connections=CONNECTIONS
    ) as started:
        yield Proxy(started.secure)


def probed(
    server: denial.Server, way: Proxy, seconds: float
) -> tuple[list[float], list[float]]:
    """The seconds of every probe of health and of the page; endless where one was not answered with 200."""
    health, page = [], []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for times, (status, took) in (
            (health, server.get(denial.LIVE)[:2]),
            (page, way.get(denial.SIGN_IN)),
        ):
            times.append(took if status == 200 else float("inf"))
        time.sleep(0.2)
    return health, page


def main() -> int:
    """Every number of sockets and every kind; 1 if a probe failed."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--sockets", type=int, nargs="+", default=[8, 64, 512])
    options.add_argument("--seconds", type=float, default=15)
    given = options.parse_args()
    failed = probes = 0
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        pages.begin(folder)
        server = denial.Server(folder)
        stack.callback(server.stop)
        way = stack.enter_context(proxy(server, folder))
        for count in given.sockets:
            for kind in ("head", "body", "reading"):
                with denial.dripping(way, count, kind):
                    health, page = probed(server, way, given.seconds)
                probes += len(health) + len(page)
                failed += sum(took >= WITHIN for took in (*health, *page))
                print(
                    f"{count:3} sockets slow at {kind}: {denial.LIVE} {max(health):.3f} s, "
                    f"{denial.SIGN_IN} {max(page):.3f} s at most of {len(page)}",
                    flush=True,
                )
    print(f"failed {failed} of {probes} probes")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
