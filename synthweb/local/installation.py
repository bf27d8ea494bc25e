"""What `make run`, `make stop`, `make reset` and `make demo-logins` do."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import sys
import time
import urllib.request
from collections.abc import Iterator

from synthweb.lib import installation_format, shipped
from synthweb.lib.env import flag
from synthweb.local import broker, keys, processes
from synthweb.local.paths import REPOSITORY, Places
from synthweb.local.processes import Process
from synthweb.local.supervisor import Stopped, Supervisor
from synthweb.pages import examples

HOST = "127.0.0.1"
FIRST_PORT = 8000
MORE_PORTS = 50
# Longer than the 120 s that the confidential worker gets to finish what has been paid for.
STOP_SECONDS = 150


class InstallationRefused(Exception):
    """Something cannot be done; the message is one line that says what to do instead."""


class Installation:
    """The local installation in one folder. The lock file is held as long as it runs, and holds its process
    id and address: a stale one is told from a live one by the lock, never by the number."""

    def __init__(self, here: Places) -> None:
        self._places = here
        self._stopping = False
        self._examples = contextlib.ExitStack()  # while they are being loaded

    def run(self) -> int:
        """Start everything, watch it, stop it at Ctrl-C."""
        # Nobody else on this machine reads what is written here, logs and database included.
        os.umask(0o077)
        self._require_format()
        self._places.make()
        with self._lock() as lock:
            if lock is None:
                _say(
                    f"synthweb is already running at {self._address()} "
                    f"(`{shipped.command('stop')}` stops it)."
                )
                return 0
            keys.make(self._places.keys)
            listener = _listener()
            address = f"http://{HOST}:{listener.getsockname()[1]}/"
            lock.write(f"{os.getpid()}\n{address}\n".encode())
            watching = Supervisor(
                logs=self._places.logs,
                folder=REPOSITORY,
                environment={"SYNTHWEB_SITE_URL": address, **self._environment()},
                say=_say,
            )
            # SIGHUP too: a closed terminal would end the supervisor before it has stopped the
            # rest in order.
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda *_signal: self._stop_soon(watching))
            try:
                self._start(watching, listener=listener, address=address)
                watching.watch(self._is_stopping)
            except Stopped:
                pass
            finally:
                _say("Stopping …")
                watching.stop()
                self._examples.close()
        folder = self._places.var if shipped.IS_INSTALLED else "var/"
        _say(
            f"Stopped. Everything is kept in {folder}; `{shipped.command('run')}` goes on from here."
        )
        return 0

    def stop(self) -> int:
        """Stop an installation that runs elsewhere."""
        with self._lock() as lock:
            if lock is not None:
                _say("synthweb is not running.")
                return 0
            os.kill(int(self._places.lock.read_text().splitlines()[0]), signal.SIGTERM)
        end = time.monotonic() + STOP_SECONDS
        while time.monotonic() < end:
            with self._lock() as lock:
                if lock is not None:
                    _say("Stopped.")
                    return 0
            time.sleep(0.1)
        raise InstallationRefused(
            f"It has not stopped within {STOP_SECONDS} seconds; see {self._places.logs}."
        )

    def reset(self, *, force: bool) -> int:
        """Delete everything this installation made, after saying what."""
        if not self._places.var.exists():
            _say("Nothing to delete: this installation has never run.")
            return 0
        with self._lock() as lock:
            if lock is None:
                raise InstallationRefused(
                    f"synthweb is running: `{shipped.command('stop')}` first."
                )
            _say(
                f"This deletes {self._places.var}: users, datasets, releases, the ledger of this "
                "installation, its logs and its keys. Uploaded tables can never be read again. Code and "
                ".venv stay."
            )
            if not force and input("Type “delete” to go on: ").strip() != "delete":
                _say("Nothing was deleted.")
                return 1
            # It may lie outside `var`, where the path of its socket would be too long.
            shutil.rmtree(self._places.redis, ignore_errors=True)
            shutil.rmtree(self._places.var)
        _say("Deleted.")
        return 0

    def demo_logins(self) -> int:
        """Print the names and passwords of the demo users."""
        try:
            sys.stdout.write(self._places.demo_logins.read_text())
        except FileNotFoundError:
            raise InstallationRefused(
                f"There are no demo users yet: `{shipped.command('run')}` makes them at its first start."
            ) from None
        return 0

    def _require_format(self) -> None:
        """Of a database elsewhere, `migrate` looks at it."""
        try:
            installation_format.require_file(self._places.database)
        except installation_format.OtherFormat as problem:
            raise InstallationRefused(str(problem)) from None

    def _start(self, watching: Supervisor, *, listener: socket.socket, address: str) -> None:
        first = not (self._places.run / "demo-loaded").exists()
        if first:
            _say("Making keys, the database and demo users (once; up to a minute) …")
        watching.start(processes.redis(self._places))
        watching.wait_until(
            lambda: broker.answers(folder=self._places.redis),
            name="redis",
            stopping=self._is_stopping,
        )
        self._once(
            watching,
            Process(
                "migrate", [sys.executable, "manage.py", "migrate", "--no-input", "-v", "0"]
            ),
        )
        demo = flag("SYNTHWEB_DEMO_USERS", default=True)
        if demo and not self._places.demo_logins.exists():
            command = [
                sys.executable,
                "manage.py",
                "demo_users",
                "make",
                "--logins",
                str(self._places.demo_logins),
            ]
            self._once(watching, Process("demo-users", command))
        if demo and first:
            # Before the first page can be seen, which says so.
            self._examples.enter_context(examples.loading(self._places.var))
        for process in processes.application(self._places, listener=listener.fileno()):
            watching.start(process)
        watching.wait_until(
            lambda: _is_alive(f"{address}livez"), name="web", stopping=self._is_stopping
        )
        _say(f"\n  synthweb is ready:  {address}\n")
        if demo:
            _say("  Names and passwords of the demo users:  make demo-logins")
            if first:
                _say(
                    "  Two examples (UCI Adult, commutes) are being released; the first is there within a "
                    "minute\n"
                    "  on a machine that has nothing else to do. What is waited for is said here."
                )
                watching.start(processes.demo(), at_end=self._demo_ended)
        _say(f"  Logs: {self._places.logs}    Ctrl-C stops everything.\n")

    def _once(self, watching: Supervisor, process: Process) -> None:
        if code := watching.run_once(process, stopping=self._is_stopping):
            raise InstallationRefused(
                f"{process.name} failed (exit code {code}). The end of its log:\n"
                f"{watching.tail(process.name)}"
            )

    def _demo_ended(self, code: int) -> None:
        self._examples.close()
        if code:
            _say(
                f"The examples could not be loaded (exit code {code}); see {self._places.logs / 'demo.log'}."
            )
            return
        # Written at the end alone: a load that was interrupted goes on at the next start.
        (self._places.run / "demo-loaded").touch(mode=0o600)
        _say("The examples are there: open Datasets, or Releases.")

    def _environment(self) -> dict[str, str]:
        return {
            # Small matrices: on a busy machine threads would wait for each other.
            "OPENBLAS_NUM_THREADS": "1",
            **os.environ,
            "SYNTHWEB_VAR": str(self._places.var),
            "SYNTHWEB_BROKER": os.environ.get("SYNTHWEB_BROKER") or self._places.broker,
            "DJANGO_SETTINGS_MODULE": "synthweb.settings",
            # The last lines before a death are the ones that are needed: none may wait in a
            # buffer.
            "PYTHONUNBUFFERED": "1",
        }

    def _is_stopping(self) -> bool:
        return self._stopping

    def _stop_soon(self, watching: Supervisor) -> None:
        if self._stopping:
            watching.hurry()
        self._stopping = True

    def _address(self) -> str:
        with contextlib.suppress(OSError, IndexError):
            return self._places.lock.read_text().splitlines()[1]
        return "an address it has not chosen yet"

    @contextlib.contextmanager
    def _lock(self) -> Iterator[Lock | None]:
        """The lock of this installation, or None if somebody else holds it."""
        self._places.run.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Not truncated: who fails to get the lock reads the address of its holder. O_CLOEXEC,
        # because a child with this descriptor would hold the lock after its parent has ended.
        handle = os.open(self._places.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield None
            else:
                yield Lock(handle)
        finally:
            os.close(handle)


class Lock:
    """The lock file while we hold it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def write(self, content: bytes) -> None:
        """Replace what it says."""
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, content, 0)


def _listener() -> socket.socket:
    """An open socket on the first free port: the web server inherits it, so nobody can take the port in
    between."""
    wanted = int(os.environ.get("SYNTHWEB_PORT") or FIRST_PORT)
    for port in range(wanted, wanted + MORE_PORTS):
        listener = socket.socket()
        # Otherwise the port of an installation that was just stopped is refused for a minute.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen(128)
        except OSError:
            listener.close()
        else:
            return listener
    raise InstallationRefused(
        f"No free port from {wanted} to {wanted + MORE_PORTS - 1}: set SYNTHWEB_PORT to another one."
    )


def _is_alive(address: str) -> bool:
    # our own
    with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310
        return bool(answer.status == 200)
    return False


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
