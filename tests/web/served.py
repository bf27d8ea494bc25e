"""The web server as it is deployed, in a process of its own, for tests over real sockets."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tests import services

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120  # seconds until a test gives up; nothing is asserted of how long anything takes
LARGE = 24 * 1024**2  # bytes of an answer that no socket takes at once


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """A small application behind the real server: says what it was asked, or answers with much."""
    if environ["PATH_INFO"] == "/large":
        start_response(
            "200 OK",
            [("Content-Type", "application/octet-stream"), ("Content-Length", str(LARGE))],
        )
        return (b"x" * 65_536 for _ in range(LARGE // 65_536))
    if environ["PATH_INFO"] == "/unread":
        start_response(
            "403 Forbidden", [("Content-Type", "text/plain"), ("Content-Length", "2")]
        )
        return [b"no"]
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body = environ["wsgi.input"].read(length)
    said = {
        "path": environ["PATH_INFO"],
        "scheme": environ["wsgi.url_scheme"],
        "forwarded": {name: value for name, value in environ.items() if "FORWARDED" in name},
        "request": environ.get("HTTP_X_REQUEST_ID"),
        "length": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    text = json.dumps(said).encode()
    start_response(
        "200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(text)))]
    )
    return [text]


@contextlib.contextmanager
def running(
    folder: Path,
    *,
    app: str = "tests.web.served",
    configuration: str = "",
    workers: int = 1,
    environment: dict[str, str] | None = None,
) -> Iterator[int]:
    """The server with its real configuration, to which lines may be added; yields its port."""
    port = services.free_port()
    config = folder / "configuration.py"
    config.write_text(
        f"{configuration}\nfrom synthweb.server.configuration import *\nworkers = {workers}\n"
    )
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "--config",
        str(config),
        "--bind",
        f"127.0.0.1:{port}",
        app,
    ]
    everything = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "synthweb.settings",
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**everything, **(environment or {})},
            stdout=log,
            stderr=log,
            preexec_fn=services.ends_with_us(),
        )
    try:
        _wait(port, process, log=folder / "log")
        yield port
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(port: int, process: subprocess.Popen[bytes], *, log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            if ask(
                port, b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            ):
                return
        time.sleep(0.1)
    raise RuntimeError(f"the server does not answer: {log.read_text()[-2000:]}")


def connect(port: int) -> socket.socket:
    """A connection with a small buffer to read into."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.settimeout(PATIENCE)
    client.connect(("127.0.0.1", port))
    return client


def ask(port: int, request: bytes) -> bytes:
    """All that the server answers until it closes the connection."""
    with connect(port) as client:
        client.sendall(request)
        return to_the_end(client)


def to_the_end(client: socket.socket) -> bytes:
    """What comes until the server closes the connection."""
    answer = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while data := client.recv(65_536):
            answer += data
    return bytes(answer)


def parts(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the first answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value for name, _, value in (line.partition(": ") for line in lines)
    }
    return int(first.split()[1]), headers, body
