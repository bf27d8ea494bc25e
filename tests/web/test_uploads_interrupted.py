"""Uploads that resume, over real sockets and the web server as it is deployed: connections are cut in the
middle of a piece, two requests write at once, the web process is killed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from django.conf import settings
from django.db import connection

from synthweb.accounts.services import create_token
from synthweb.datasets import partial_tables, vault
from synthweb.datasets.models import Dataset
from synthweb.server import limits
from tests.cast import Cast
from tests.web.served import PATIENCE, ask, connect, parts, running
from tests.web.tus import BYTES, VERSION, metadata

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("places"),
]
CANARY = b"canary-5e1f"
PIECE = partial_tables.PIECE
_NUMBERS = random.Random(0)
ROWS = b"".join(b"%s,%d\n" % (CANARY, _NUMBERS.getrandbits(60)) for _ in range(450_000))
TABLE = b"name,number\n" + ROWS[: 3 * PIECE]
SENT = 2 * PIECE + 1_000_000
"""What comes in before an interruption: two pieces, and something of a third."""


@dataclass(frozen=True)
class Served:
    """The server, and a token of somebody who may upload."""

    port: int
    token: str

    def head(self, method: str, path: str, length: int = 0, **headers: str) -> bytes:
        lines = {
            "Host": "localhost",
            "Connection": "close",
            "Authorization": f"Bearer {self.token}",
            "Content-Length": str(length),
            **VERSION,
            **headers,
        }
        text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"{method} {path} HTTP/1.1\r\n{text}\r\n".encode()

    def ask(
        self, method: str, path: str, body: bytes = b"", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        return parts(ask(self.port, self.head(method, path, len(body), **headers) + body))

    def begin(self) -> str:
        status, headers, _ = self.ask(
            "POST",
            "/api/v1/uploads/",
            **{"Upload-Length": str(len(TABLE)), "Upload-Metadata": metadata("people.csv")},
        )
        assert status == 201
        return headers["location"].partition("localhost")[2]

    def offset(self, upload: str) -> int:
        status, headers, _ = self.ask("HEAD", upload)
        assert status == 200
        return int(headers["upload-offset"])

    def patch_head(self, offset: int, upload: str, length: int) -> bytes:
        return self.head(
            "PATCH", upload, length, **{"Content-Type": BYTES, "Upload-Offset": str(offset)}
        )

    def send(self, upload: str, offset: int, body: bytes) -> int:
        return self.ask(
            "PATCH", upload, body, **{"Content-Type": BYTES, "Upload-Offset": str(offset)}
        )[0]

    def begun(self, upload: str, *, sent: int = SENT) -> socket.socket:
        """A request for all of the table, of which so much was sent."""
        client = connect(self.port)
        client.sendall(self.patch_head(0, upload, len(TABLE)) + TABLE[:sent])
        return client

    def until(self, upload: str, offset: int) -> None:
        end = time.monotonic() + PATIENCE
        while self.offset(upload) < offset:
            assert time.monotonic() < end
            time.sleep(0.05)

    def free(self, upload: str) -> None:
        """Wait until no request writes any more."""
        code = upload.rstrip("/").rpartition("/")[2]
        end = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(partial_tables.InUse), partial_tables.locked(code):
                return
            assert time.monotonic() < end
            time.sleep(0.05)

    def finish(self, upload: str) -> Dataset:
        status, _, body = self.ask(
            "POST",
            f"{upload}dataset/",
            b'{"name": "People"}',
            **{"Content-Type": "application/json"},
        )
        assert status == 202, body
        return Dataset.objects.get(code=json.loads(body)["code"])


@pytest.fixture
def served(cast: Cast, tmp_path: Path) -> Iterator[Served]:
    _, token = create_token(user=cast.steward, name="t", scopes=["read", "spend"], days=1)
    name = connection.settings_dict["NAME"]
    address = (
        f"sqlite:///{name}"
        if connection.vendor == "sqlite"
        else os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"
    )
    folder = tmp_path / "server"
    folder.mkdir()
    # Files where the fixtures of this folder have put them, keys where all tests have them.
    assert Path(settings.VAULT_DIR).parent == Path(settings.PREVIEW_DIR).parent == tmp_path
    (tmp_path / "keys").symlink_to(settings.KEY_DIR)
    environment = {"DATABASE_URL": address, "SYNTHWEB_VAR": str(tmp_path)}
    with running(folder, app="synthweb.wsgi:application", environment=environment) as port:
        yield Served(port, token)


def stored(dataset: Dataset) -> bytes:
    with vault.open_table(dataset.vault_name) as path:
        return path.read_bytes()


def nothing_is_in_the_clear() -> bool:
    files = [path for path in Path(settings.VAULT_DIR).rglob("*") if path.is_file()]
    assert files
    return not any(CANARY in path.read_bytes() for path in files)


def web_processes() -> list[psutil.Process]:
    """Those that answer requests: the children of gunicorn's first process."""
    return [each for each in psutil.Process().children(recursive=True) if _answers(each)]


def _answers(process: psutil.Process) -> bool:
    try:
        command, parent = " ".join(process.cmdline()), process.ppid()
    except psutil.NoSuchProcess:  # ended, or a zombie that nobody has waited for yet
        return False
    return "gunicorn" in command and parent != os.getpid()


def test_a_cut_connection_keeps_what_came_and_the_rest_follows(served: Served) -> None:
    upload = served.begin()
    served.begun(upload).close()
    served.until(upload, SENT)
    served.free(upload)
    assert served.offset(upload) == SENT
    assert nothing_is_in_the_clear()
    assert served.send(upload, 0, TABLE[:100]) == 409
    middle = SENT + limits.BUFFERED_BODY // 8
    assert served.send(upload, SENT, TABLE[SENT:middle]) == 204
    assert served.send(upload, middle, TABLE[middle:]) == 204
    assert stored(served.finish(upload)) == TABLE


def test_of_a_short_request_that_is_cut_nothing_is_taken(served: Served) -> None:
    upload = served.begin()
    with connect(served.port) as client:
        client.sendall(served.patch_head(0, upload, 1_000) + TABLE[:999])
    assert served.offset(upload) == 0
    assert served.send(upload, 0, TABLE) == 204


def test_a_refusal_reaches_who_sends_a_large_file(served: Served) -> None:
    """The rest of the request is read: else the connection would break off in the middle, and the client
    would try again."""
    upload = served.begin()
    assert served.send(upload, 0, b"%PDF-1.7\n" + TABLE[100:]) == 422
    assert served.ask("HEAD", upload)[0] == 410


def test_of_two_requests_at_once_one_writes(served: Served) -> None:
    upload = served.begin()
    with served.begun(upload) as first:
        served.until(upload, 2 * PIECE)
        assert served.send(upload, 2 * PIECE, TABLE[2 * PIECE :]) == 423
        assert served.ask("DELETE", upload)[0] == 423
        assert (
            served.ask(
                "POST",
                f"{upload}dataset/",
                b'{"name": "P"}',
                **{"Content-Type": "application/json"},
            )[0]
            == 423
        )
        first.sendall(TABLE[SENT:])
        answer = b"".join(iter(lambda: first.recv(65_536), b""))
    assert parts(answer)[0] == 204
    assert served.offset(upload) == len(TABLE)
    assert stored(served.finish(upload)) == TABLE


def test_a_killed_server_leaves_an_offset_from_which_the_upload_goes_on(
    served: Served,
) -> None:
    upload = served.begin()
    with served.begun(upload):
        served.until(upload, 2 * PIECE)
        [process] = web_processes()
        process.send_signal(signal.SIGKILL)
        process.wait()
    end = time.monotonic() + PATIENCE
    offset = None
    while offset is None:  # until gunicorn has started another one
        assert time.monotonic() < end
        with contextlib.suppress(OSError, ValueError, IndexError):
            offset = served.offset(upload)
    assert offset == 2 * PIECE
    assert nothing_is_in_the_clear()
    assert served.send(upload, offset, TABLE[offset:]) == 204
    assert stored(served.finish(upload)) == TABLE
