"""A real web server that has answered at every address still has nothing in memory that reads rows or draws
noise.

The server is gunicorn in a process of its own; when it ends, it writes down the names of all modules it had
loaded."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from synthweb.accounts.models import User
from synthweb.accounts.services import create_token
from tests import services
from tests.cast import Cast
from tests.web import addresses
from tests.web.scene import Scene

FORBIDDEN = (
    "synth_engine.room",
    "synth_engine.sources",
    "synth_engine.steward",
    "synth_engine.trials",
    "synth_engine.pipeline",
    "synth_engine.cli",
    "synth_engine.commands",
    "opendp",
    "dp_accounting",
    "synthweb.runs.job_kinds",
    "synthweb.runs.paid_job",
    "synthweb.runs.worker",
    "synthweb.runs.tasks",
)
NEEDED = {
    "synthweb.pages.views",
    "synthweb.api.views.runs",
    "synthweb.runs.services",
    "synth_engine.mechanisms",
}
HOOK = """
import json, sys

def worker_exit(server, worker):
    with open({path!r}, "w") as file:
        json.dump(sorted(sys.modules), file)
"""

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@dataclass
class Server:
    """A running web server and what it was asked."""

    port: int
    process: subprocess.Popen[bytes]
    statuses: dict[str, set[int]] = field(default_factory=dict)

    def ask(
        self,
        method: str,
        address: str,
        *,
        headers: dict[str, str],
        body: bytes = b"",
        route: str,
    ) -> int:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        line.request(method, address, body=body, headers=headers)
        answer = line.getresponse()
        answer.read()
        line.close()
        self.statuses.setdefault(route, set()).add(answer.status)
        return answer.status

    def answered(self, route: str) -> bool:
        """Whether somebody was let in."""
        return bool(self.statuses.get(route, set()) & {200, 201, 202, 302})

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0


@pytest.fixture
def modules_file(tmp_path: Path) -> Path:
    return tmp_path / "modules.json"


@pytest.fixture
def server(played: Scene, modules_file: Path, tmp_path: Path) -> Iterator[Server]:
    hook = tmp_path / "gunicorn.py"
    hook.write_text(HOOK.format(path=str(modules_file)))
    port = services.free_port()
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "synthweb.wsgi",
        "--bind",
        f"127.0.0.1:{port}",
        "--config",
        str(hook),
    ]
    environment = {
        **os.environ,
        "DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}",
    }
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--workers", "1", "--timeout", "120"],
            cwd=settings.BASE_DIR,
            env=environment,
            stdout=log,
            stderr=log,
            preexec_fn=services.ends_with_us(),
        )
        try:
            _wait(port, process, tmp_path / "log")
            yield Server(port=port, process=process)
        finally:
            process.kill()
            process.wait(30)


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + services.PATIENCE
    while time.monotonic() < end:
        try:
            line = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            line.request("GET", "/livez")
            line.getresponse()
            return
        except OSError:
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
    pytest.fail(log.read_text())


def _cookie(person: User) -> dict[str, str]:
    client = Client()
    client.force_login(person)
    csrf = "x" * 32
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    cookies = f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={csrf}"
    return {"Cookie": cookies, "X-CSRFToken": csrf}


def test_the_web_process_never_loads_what_reads_rows(
    server: Server, modules_file: Path, cast: Cast, played: Scene
) -> None:
    _look_everywhere(server, cast, played)
    _do_things(server, cast, played)
    failed = {
        route
        for route, statuses in server.statuses.items()
        if any(status >= 500 for status in statuses)
    }
    assert failed <= {"readyz"}  # there is no broker here, and it says so
    assert sum(map(server.answered, server.statuses)) > 80

    server.stop()
    loaded = set(json.loads(modules_file.read_text()))
    assert loaded >= NEEDED
    assert {name for name in loaded if name.startswith(FORBIDDEN)} == set()
    # the same names are in this process, which played the worker: the test would see them
    assert {"synth_engine.pipeline", "synthweb.runs.worker", "opendp"} <= set(sys.modules)


def _look_everywhere(server: Server, cast: Cast, played: Scene) -> None:
    """As steward and custodian at every address; as others where nobody before them was let in."""
    for person in (cast.steward, cast.custodian, cast.staff, played.reader):
        headers = _cookie(person)
        for route in addresses.routes():
            if "logout" in route or (route == "readyz" and person is not cast.steward):
                continue
            if person in (cast.steward, cast.custodian) or not server.answered(route):
                server.ask("GET", _address(route, played, cast), headers=headers, route=route)


def _address(route: str, played: Scene, cast: Cast) -> str:
    if route.startswith(addresses.ADMIN):
        return "/admin/" if "<" in route or "(?P" in route else f"/{route}"
    return addresses.fill(route, scene=played, cast=cast)


def _do_things(server: Server, cast: Cast, played: Scene) -> None:
    _, token = create_token(
        user=cast.steward, name="t", scopes=["read", "spend", "share"], days=1
    )
    bearer = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    wanted = {
        "dataset": played.dataset.code,
        "mechanism": "independent",
        "epsilon": "0.1",
        "delta": "1e-9",
    }
    posts = {
        "/api/v1/runs/": wanted,
        f"/api/v1/runs/{played.waiting.code}/cancel/": {},
        f"/api/v1/releases/{played.release.code}/samples/": {"rows": 5},
        f"/api/v1/releases/{played.release.code}/grants/": {"analyst": "analyst"},
    }
    for address, body in posts.items():
        status = server.ask(
            "POST",
            address,
            headers=bearer,
            body=json.dumps(body).encode(),
            route=f"POST {address}",
        )
        assert status in (200, 201, 202), address
    table = {**bearer, "Content-Type": "text/csv"}
    uploaded = server.ask(
        "POST", "/api/v1/datasets/?name=New", headers=table, body=b"a\n1\n", route="POST upload"
    )
    assert uploaded == 202
    form = {**_cookie(cast.steward), "Content-Type": "application/x-www-form-urlencoded"}
    for address in (
        f"/datasets/{played.dataset.code}/releases/new/estimate/",
        f"/datasets/{played.dataset.code}/describe/",
        f"/releases/{played.release.code}/report/",
    ):
        body = b"mechanism=independent&epsilon=0.5&delta=1e-9"
        assert (
            server.ask("POST", address, headers=form, body=body, route=f"POST {address}") < 400
        ), address
