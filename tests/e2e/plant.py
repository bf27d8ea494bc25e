"""A plant: the processes of a real installation over a real PostgreSQL and Redis, with short leases, to
break."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from synthweb.local import broker, keys
from tests import services
from tests.e2e.spoken import Spoken
from tests.e2e.workers import Workers

# Seconds: a busy machine may keep a living worker from saying that it lives for several of them.
LEASE, RECONCILE = 6, 1
# Stands in the table, and must stand nowhere else. Of this process alone: shared memory is everybody's.
CANARY = os.environ.get("PLANT_CANARY") or f"canary-{secrets.token_hex(8)}"
PATIENCE = 240.0  # seconds until something that should happen counts as not happening


class Worker:
    """One Celery worker with its pool child, in a process group of its own."""

    def __init__(
        self, plant: Plant, *arguments: str, failpoints: str = "", lease: int = LEASE
    ) -> None:
        self._folder = Path(tempfile.mkdtemp(dir=plant.folder, prefix="marks-"))
        self.log = self._folder / "log"
        quiet = ["--without-gossip", "--without-mingle", "-n", f"{self._folder.name}@plant"]
        self._process = plant.forks.start(
            *("-c", "1", "-l", "INFO"),
            *quiet,
            *arguments,
            settings={
                "FAIL_AT": failpoints,
                "RUN_LEASE_SECONDS": lease,
                "DEBUG_FAILPOINTS": str(self._folder) if failpoints else "",
            },
            log=self.log,
        )

    def child_at(self, point: str) -> int | None:
        """The process that has reached a failpoint, if one has."""
        mark = self._folder / point
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int(mark.read_text())
        return None

    def processes(self) -> list[int]:
        """All that live of it, whoever their parent is: it has a session of its own."""
        return [pid for pid in psutil.pids() if _session(pid) == self._process.pid]

    def limit_files(self, child: int, size: int) -> None:
        """Let no file of the pool child grow beyond `size` bytes, as on a full disk; -1 for no limit any
        more."""
        psutil.Process(child).rlimit(psutil.RLIMIT_FSIZE, (size, psutil.RLIM_INFINITY))

    def limit_memory(self, child: int, spare: int) -> None:
        """Let the pool child have `spare` more bytes of memory than it has now."""
        process = psutil.Process(child)
        limit = process.memory_info().vms + spare
        process.rlimit(psutil.RLIMIT_AS, (limit, psutil.RLIM_INFINITY))

    def ask_to_stop(self) -> None:
        """SIGTERM to the parent alone, as compose and the units of systemd stop it: it takes no more runs,
        and lets its child finish."""
        self._process.terminate()

    def code(self) -> int | None:
        """With which code it ended; None as long as it lives."""
        return self._process.poll()

    def kill_parent(self) -> None:
        """The parent alone; the pool child is left to itself."""
        self._process.kill()
        self._process.wait()

    def kill(self) -> None:
        """Parent and child at once, as when the machine goes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _session(pid: int) -> int | None:
    try:
        return None if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE else os.getsid(pid)
    except (psutil.Error, ProcessLookupError, PermissionError):
        return None


@dataclass
class Plant:
    """Database, broker, reconciler, and a driver that does what the web does."""

    folder: Path
    environment: dict[str, str]
    database: services.Postgres
    forks: Workers
    workers: list[Worker] = field(default_factory=list)
    redis: subprocess.Popen[bytes] | None = None
    driver: Spoken | None = None

    def start(self) -> None:
        self.start_redis()
        self.driver = Spoken("tests.e2e.driver", self.environment)
        self.ask("setup")
        self.workers.append(self.reconciler())

    def stop(self) -> None:
        for worker in self.workers:
            worker.kill()
        if self.redis is not None:
            self.kill_redis()
        for process in (self.driver, self.forks):
            if process is not None:
                process.stop()

    def worker(
        self,
        *arguments: str,
        failpoints: str = "",
        queue: str = "confidential",
        lease: int = LEASE,
    ) -> Worker:
        started = Worker(
            self,
            *(("-Q", queue) if queue else ()),
            *arguments,
            failpoints=failpoints,
            lease=lease,
        )
        self.workers.append(started)
        return started

    def reconciler(self) -> Worker:
        """The worker of the default queue, with beat in it."""
        return Worker(self, "-Q", "default", "-B", "-s", str(self.folder / "beat"))

    def start_redis(self) -> None:
        place = self.folder / "redis"
        place.mkdir(mode=0o700, exist_ok=True)
        with (self.folder / "redis.log").open("ab") as log:
            self.redis = subprocess.Popen(
                broker.command(folder=place),
                stdout=log,
                stderr=log,
                preexec_fn=services.ends_with_us(),
            )
        if not broker.wait(folder=place, seconds=PATIENCE):
            raise RuntimeError("Redis does not answer")

    def kill_redis(self) -> None:
        """Without warning and without persistence: every queue is gone."""
        assert self.redis is not None
        self.redis.kill()
        self.redis.wait()

    def ask(self, verb: str, *arguments: object) -> Any:
        """Have the driver do something."""
        assert self.driver is not None
        return self.driver.ask(verb, *arguments)

    def until(self, code: str, *states: str) -> dict[str, Any]:
        """Wait until a run is in one of `states`."""
        return self.wait_for(
            lambda: found if (found := self.ask("look", code))["state"] in states else None
        )

    def wait_for(self, happened: Callable[[], Any]) -> Any:
        """The first thing that is not nothing; a failure with what the workers said after PATIENCE."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if found := happened():
                return found
            time.sleep(0.1)
        said = "\n".join(
            f"--- {worker.log}\n{worker.log.read_text()[-2000:]}"
            for worker in self.workers[:1] + self.workers[-2:]
        )
        raise AssertionError(f"it did not happen in time; the workers said:\n{said}")

    def logs(self) -> str:
        """Everything that any worker wrote."""
        return "\n".join(worker.log.read_text(errors="replace") for worker in self.workers)


@contextlib.contextmanager
def running_plant() -> Iterator[Plant]:
    """A plant from its foundations to its end."""
    with (
        tempfile.TemporaryDirectory(prefix="swt-plant-") as name,
        services.postgres_server() as database,
    ):
        folder = Path(name)
        # Neither the settings of these tests nor their place among parallel ones is the plant's.
        foreign = ("SYNTHWEB_", "PYTEST_XDIST_")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        environment = kept | {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "DATABASE_URL": database.address,
            "SYNTHWEB_VAR": str(folder / "var"),
            "SYNTHWEB_BROKER": f"redis+socket://{folder / 'redis' / 'redis.sock'}",
            "TESTS_RUN_LEASE_SECONDS": str(LEASE),
            "TESTS_RECONCILE_SECONDS": str(RECONCILE),
            "TMPDIR": str(folder / "tmp"),
            "PLANT_CANARY": CANARY,
        }
        (folder / "tmp").mkdir()
        keys.make(folder / "var" / "keys")
        plant = Plant(
            folder=folder,
            environment=environment,
            database=database,
            forks=Workers(environment),
        )
        try:
            plant.start()
            yield plant
        finally:
            plant.stop()
