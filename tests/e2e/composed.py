"""The services of docker-compose.yml without containers: the same commands with the same environment, over a
real PostgreSQL and a real Redis on this machine. Addresses, folders and secrets are the only things put in
other places."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from synthweb.local import keys
from tests import services

ROOT = Path(__file__).resolve().parents[2]
FILE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
IMAGE = dict(
    re.findall(
        r"(SYNTHWEB_\w+|DJANGO_\w+)=(\S+)",
        (ROOT / "Dockerfile").read_text().split("WORKDIR /app")[0],
    )
)
STARTED = ("worker-confidential", "worker-default", "worker-notifications", "beat", "web")
OURS = ("PATH", "HOME", "LANG")
PATIENCE = 240.0  # seconds
NOTHING: Mapping[str, str] = MappingProxyType({})


_ALL = """
import contextlib, io, json, sys
from django.core.management import execute_from_command_line
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        execute_from_command_line(["manage.py", *arguments])
    print(json.dumps(said.getvalue()))
"""


@dataclass
class Installation:
    """What runs, and how to speak to it."""

    folder: Path
    port: int
    replaced: dict[str, str]
    variables: dict[str, str]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.manage(
            "collectstatic", "--no-input", "-v", "0", service="web"
        )  # the image's build does this
        self.manage("migrate", "--no-input", service="migrate")
        for name in STARTED:
            self.start_service(name)
        end = time.monotonic() + PATIENCE
        while not self._ready():
            if time.monotonic() > end:
                raise RuntimeError(f"the web server is not ready: {self.log('web')[-2000:]}")
            time.sleep(0.2)

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def manage(self, *arguments: str, service: str = "web") -> str:
        """`manage.py` as it would run in the container of a service; what it printed."""
        return self._python("manage.py", *arguments, service=service)

    def manage_all(self, commands: Sequence[Sequence[str]]) -> list[str]:
        """Several such commands in one process, which loads the application once; what each of them
        printed."""
        said = self._python("-c", _ALL, json.dumps(commands), service="web")
        return [json.loads(line) for line in said.splitlines()]

    def _python(self, *arguments: str, service: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.environment(service),
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)} failed: {done.stderr[-2000:]}")
        return done.stdout

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def environment(self, service: str) -> dict[str, str]:
        """The environment that the file gives a service, and nothing of ours but the way to Python."""
        given = environment_of(service, self.variables)
        return {
            name: value if name in OURS else self._replaced(value)
            for name, value in given.items()
        }

    def start_service(self, name: str) -> None:
        """Start a service, or start it again, as compose does with one that has ended."""
        command = [self._resolved(part) for part in FILE["services"][name]["command"]]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=ROOT,
                env=self.environment(name),
                stdout=log,
                stderr=log,
                preexec_fn=services.ends_with_us(),
            )

    def _resolved(self, text: str) -> str:
        """A text of the file, with this machine's places for the container's."""
        return self._replaced(resolved(text, self.variables))

    def _replaced(self, text: str) -> str:
        for there, here in self.replaced.items():
            text = text.replace(there, here)
        return text

    def _ready(self) -> bool:
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise RuntimeError(f"{name} has stopped: {self.log(name)[-2000:]}")
        try:
            with urllib.request.urlopen(f"{self.address}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def environment_of(service: str, variables: Mapping[str, str]) -> dict[str, str]:
    """The environment that the file gives a service, with these variables in `.env`, and nothing of ours but
    the way to Python."""
    kept = {name: os.environ[name] for name in OURS if name in os.environ}
    told = FILE["services"][service]
    given = IMAGE | told["environment"]
    whole = variables if told.get("env_file") else NOTHING
    return kept | {
        **whole,
        **{name: resolved(str(value), variables) for name, value in given.items()},
    }


def resolved(text: str, variables: Mapping[str, str]) -> str:
    """`${NAME:-default}` and `${NAME:+instead}` as Compose reads them."""

    def variable(found: re.Match[str]) -> str:
        value, default = variables.get(found[1], ""), found[3] or ""
        if found[2] == ":+":
            return default if value else ""
        return value or ("" if found[2] == ":?" else default)

    return re.sub(r"\$\{(\w+)(?:(:-|:\?|:\+)([^}]*))?\}", variable, text)


@contextlib.contextmanager
def running_installation(variables: Mapping[str, str] = NOTHING) -> Iterator[Installation]:
    """The whole of it, from empty folders to a web server that answers. variables: more of the file
    `.env`."""
    with (
        tempfile.TemporaryDirectory(prefix="swt-composed-") as name,
        services.start_postgres() as database,
        services.start_redis() as broker,
    ):
        folder = Path(name)
        keys.make(folder / "keys")
        port = services.free_port()
        installation = Installation(
            folder=folder,
            port=port,
            replaced=_places(folder, database, broker, port),
            variables=_VARIABLES | dict(variables),
        )
        try:
            installation.start()
            yield installation
        finally:
            installation.stop()


_VARIABLES = {
    "POSTGRES_PASSWORD": "unused",
    "APPLICATION_PASSWORD": "limited",
    "REDIS_PASSWORD": "queued",
    "SYNTHWEB_HOSTS": "127.0.0.1",
    "SYNTHWEB_HTTPS": "false",
}


def _places(folder: Path, database: str, broker: str, port: int) -> dict[str, str]:
    """What stands for the container's addresses and folders here."""
    secrets: dict[str, Any] = FILE["secrets"]
    kept = {
        f"/run/secrets/{name}": _secret(folder, entry["file"])
        for name, entry in secrets.items()
    }
    addresses = {
        "postgres://synthweb:unused@postgres:5432/synthweb": database,
        "postgres://synthweb_application:limited@postgres:5432/synthweb": re.sub(
            r"//[^@]*@", "//synthweb_application:limited@", database
        ),
        "redis://:queued@redis:6379/0": broker,
        "0.0.0.0:8000": f"127.0.0.1:{port}",
    }
    return (
        kept
        | addresses
        | {
            "/app/staticfiles": f"{folder}/static",
            "/data": str(folder),
            "/tmp/beat": f"{folder}/beat-schedule",
        }
    )


def _secret(folder: Path, file: str) -> str:
    """The file of a secret, in the folder that `make run` or an operator would have filled."""
    return str(folder / "keys" / file.split("}/", 1)[1])
