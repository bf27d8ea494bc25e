"""`make run` as a person meets it: started for real in a folder of its own, stopped, started again."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyrage
import pytest

from synthweb.local import broker, installation, keys, processes
from synthweb.local.paths import LONGEST_SOCKET, REPOSITORY, Places
from tests import services

START_SECONDS = 120
ADDRESS = re.compile(r"synthweb is ready:\s+(http://\S+)")


# --- keys ---------------------------------------------------------------------------------------------------
def test_keys_are_made_once_and_are_their_owners_alone(tmp_path: Path) -> None:
    keys.make(tmp_path / "keys")
    files = {
        path: path.read_text() for path in (tmp_path / "keys").rglob("*") if path.is_file()
    }
    assert sorted(path.relative_to(tmp_path / "keys").as_posix() for path in files) == sorted(
        keys.FILES
    )
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "keys").rglob("*"))
    keys.make(tmp_path / "keys")
    assert {path: path.read_text() for path in files} == files


def test_the_halves_of_a_key_fit(tmp_path: Path) -> None:
    keys.make(tmp_path)
    for public, private in (
        ("vault.pub", "worker/vault.key"),
        ("preview.pub", "web/preview.key"),
    ):
        recipient = pyrage.x25519.Recipient.from_str((tmp_path / public).read_text().strip())
        identity = pyrage.x25519.Identity.from_str((tmp_path / private).read_text().strip())
        assert pyrage.decrypt(pyrage.encrypt(b"table", [recipient]), [identity]) == b"table"


@pytest.mark.parametrize(
    "lost", ["vault.pub", "worker/vault.key", "signing.pub", "web/signing.key"]
)
def test_a_lost_half_of_a_key_is_said_and_never_made_anew(tmp_path: Path, lost: str) -> None:
    keys.make(tmp_path)
    (tmp_path / lost).unlink()
    with pytest.raises(FileNotFoundError, match="restore it"):
        keys.make(tmp_path)
    assert not (tmp_path / lost).exists()


# --- who knows what -----------------------------------------------------------------------------------------
def test_only_the_confidential_worker_is_told_where_the_key_to_tables_lies(
    tmp_path: Path,
) -> None:
    base = {"SYNTHWEB_VAULT_PRIVATE_KEY_FILE": "/real/key", "PATH": "/bin"}
    told = {
        process.name
        for process in [*processes.application(Places(tmp_path), listener=3), processes.demo()]
        if process.environment(base)["SYNTHWEB_VAULT_PRIVATE_KEY_FILE"] == "/real/key"
    }
    assert told == {"worker-confidential"}


def test_only_the_web_is_told_where_the_key_to_previews_lies(tmp_path: Path) -> None:
    base = {"SYNTHWEB_PREVIEW_PRIVATE_KEY_FILE": "/real/key"}
    told = {
        process.name
        for process in processes.application(Places(tmp_path), listener=3)
        if process.environment(base)["SYNTHWEB_PREVIEW_PRIVATE_KEY_FILE"] == "/real/key"
    }
    assert told == {"web"}


def test_a_checkout_deep_in_the_file_system_has_its_socket_elsewhere(tmp_path: Path) -> None:
    deep = Places(tmp_path / ("d" * 120))
    assert len(str(deep.redis / "redis.sock")) <= LONGEST_SOCKET
    assert deep.redis == Places(deep.var).redis
    assert deep.redis != Places(tmp_path / ("e" * 120)).redis


def test_a_taken_port_leads_to_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with installation._listener() as first:
        taken = first.getsockname()[1]
        monkeypatch.setenv("SYNTHWEB_PORT", str(taken))
        with installation._listener() as second:
            assert taken < second.getsockname()[1] < taken + installation.MORE_PORTS


# --- the whole of it ----------------------------------------------------------------------------------------
class Running:
    """`python -m synthweb.local run` in a folder of its own."""

    def __init__(self, var: Path) -> None:
        self.var = var
        self.environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith("SYNTHWEB_")
            },
            "SYNTHWEB_VAR": str(var),
            "SYNTHWEB_PORT": str(services.free_port()),
        }
        self.environment.pop("DATABASE_URL", None)
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> str:
        """Start it and give its address."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "synthweb.local", "run"],
            cwd=REPOSITORY,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=services.ends_with_us(),
        )
        assert self.process.stdout is not None
        said = ""
        for line in self.process.stdout:
            said += line
            if found := ADDRESS.search(line):
                return found[1]
        raise AssertionError(f"it did not start:\n{said}")

    def verb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Another verb, from another shell."""
        command = [sys.executable, "-m", "synthweb.local", *arguments]
        return subprocess.run(
            command,
            cwd=REPOSITORY,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )

    def family(self) -> list[psutil.Process]:
        assert self.process is not None
        return psutil.Process(self.process.pid).children(recursive=True)

    def web_servers(self) -> list[psutil.Process]:
        """Gunicorn's processes, the master first."""
        return [child for child in self.family() if "gunicorn" in " ".join(_command(child))]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # gone, or dead and not yet taken notice of
        return []


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    services.require(_redis)
    here = Running(tmp_path / "var")
    yield here
    if here.process is not None and here.process.poll() is None:
        here.process.send_signal(signal.SIGINT)
        here.process.wait(timeout=START_SECONDS)


def _redis() -> str:
    try:
        return broker.find()
    except broker.NoRedis as missing:
        raise services.Missing(f"Redis: {missing}") from None


def _ready(address: str) -> bool:
    with urllib.request.urlopen(f"{address}readyz", timeout=START_SECONDS) as answer:
        return bool(answer.status == 200)


def _wait(what: object, *, seconds: float = START_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not what():  # type: ignore[operator]
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.2)


def _rows(var: Path, query: str) -> list[tuple[object, ...]]:
    database = sqlite3.connect(f"file:{var / 'synthweb.sqlite3'}?mode=ro", uri=True)
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


@pytest.mark.slow
@pytest.mark.services
@pytest.mark.timeout(
    4 * START_SECONDS + 300
)  # two starts and the demo, each with its own patience
def test_the_first_start_shows_a_compared_release_and_the_second_keeps_everything(
    running: Running,
) -> None:
    address = running.start()
    assert _ready(address)
    logins = running.verb("demo-logins").stdout
    assert all(
        f"demo-{role} " in logins for role in ("steward", "custodian", "analyst", "auditor")
    )
    assert (running.var / "demo-logins").stat().st_mode & 0o777 == 0o600

    again = running.verb("run")
    assert again.returncode == 0
    assert f"already running at {address}" in again.stdout
    assert "running" in running.verb("reset", "--force").stderr

    _wait(lambda: (running.var / "run" / "demo-loaded").exists(), seconds=2 * START_SECONDS)
    assert _rows(running.var, "select state from runs_synthesisrun") == [("finished",)] * 3
    assert _rows(
        running.var, "select count(*) from datasets_preview where kind = 'report'"
    ) == [(3,)]
    assert [path for path in running.var.rglob("*") if _open_to_others(path)] == []

    family = running.family()
    assert running.verb("stop").returncode == 0
    _, alive = psutil.wait_procs(family, timeout=START_SECONDS)
    assert alive == []

    secrets = {
        path: path.read_bytes() for path in (running.var / "keys").rglob("*") if path.is_file()
    }
    assert _ready(running.start())
    assert {path: path.read_bytes() for path in secrets} == secrets
    assert running.verb("demo-logins").stdout == logins
    assert _rows(running.var, "select count(*) from runs_synthesisrun") == [(3,)]


@pytest.mark.slow
@pytest.mark.services
def test_a_process_that_dies_is_started_again_and_a_killed_supervisor_takes_all_with_it(
    running: Running,
) -> None:
    running.environment["SYNTHWEB_DEMO_USERS"] = "false"
    address = running.start()
    assert not (running.var / "demo-logins").exists()
    before = {server.pid for server in running.web_servers()}
    running.web_servers()[0].kill()
    _wait(lambda: {server.pid for server in running.web_servers()} - before)
    _wait(lambda: _answers(address))

    family = running.family()
    assert running.process is not None
    running.process.kill()
    _, alive = psutil.wait_procs(family, timeout=START_SECONDS)
    assert alive == []
    assert "not running" in running.verb("stop").stdout
    assert running.verb("reset", "--force").returncode == 0
    assert not running.var.exists()


def _open_to_others(path: Path) -> bool:
    """Whether others may do anything with it; what its process has taken away meanwhile is nobody's."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return bool(mode & 0o077) and not stat.S_ISSOCK(mode)


def _answers(address: str) -> bool:
    try:
        return _ready(address)
    except OSError:
        return False


@pytest.mark.slow
def test_reset_asks_and_deletes_nothing_without_an_answer(tmp_path: Path) -> None:
    running = Running(tmp_path / "var")
    keys.make(running.var / "keys")
    done = subprocess.run(
        [sys.executable, "-m", "synthweb.local", "reset"],
        cwd=REPOSITORY,
        env=running.environment,
        input="no\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert str(running.var) in done.stdout
    assert (running.var / "keys" / "secret.key").exists()


@pytest.mark.slow
def test_without_demo_users_their_logins_are_explained_in_one_line(tmp_path: Path) -> None:
    done = Running(tmp_path / "var").verb("demo-logins")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "make run" in done.stderr
