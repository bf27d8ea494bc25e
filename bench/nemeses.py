"""What `bench/storm.py` breaks while a run is between its charge and its stored answers.

Each takes a run of which nobody knows yet, lets a child of this process take it, breaks something so many
seconds after the charge, mends it, and lets others go on until the run is over. It says whether the run was
still at its charged stage then.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE = 120.0  # seconds until something that should happen counts as not happening
# Seconds for which a frozen worker may hold a row: `idle_in_transaction_session_timeout` of the settings, and
# one that waits for the row.
LOCKED = 200.0
LOOKS = 0.25  # seconds between two looks of the reconciler
LEASE = 12  # seconds; far more than a living worker is silent on a busy machine
AWAY = 2.0  # seconds for which the database or the disk is away, at most
HOUR = 3600
DISK = "128m"


class Stopwatch:
    """How many seconds one run takes from charge to stored answers, and in how many of them noise is drawn
    and not yet written. A child of the process that asks notes them."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path, self.clock = path, clock
        self._charged = self._begun = self._drawing = 0.0

    @property
    def is_over(self) -> bool:
        return self._path.exists()

    @property
    def times(self) -> tuple[float, float]:
        charged, drawing = map(float, self._path.read_text().split())
        return charged, drawing

    def note(self, point: str) -> None:
        from synthweb.runs import failpoints

        now = self.clock()
        if point == failpoints.AFTER_CHARGE:
            self._charged = now
        elif point.startswith(failpoints.CALL_BEGUN):
            self._begun = now
        elif point.startswith(failpoints.CALL_DRAWN):
            self._drawing += now - self._begun
        elif point == failpoints.AFTER_MEASURE:
            self._path.write_text(f"{now - self._charged} {self._drawing}")


@dataclass
class Site:
    """What there is to break. folder: of vault and answers; database: a server that can be killed
    (`tests.services.Postgres`); clock: the file of its clock; submit: another run; faults: what happened and
    must not have."""

    folder: Path
    submit: Callable[[], Any] = lambda: None
    database: Any = None
    clock: Path | None = None
    redis: subprocess.Popen[bytes] | None = None
    faults: list[str] = field(default_factory=list)

    def start_redis(self) -> None:
        from synthweb.local import broker

        place = self.folder / "redis"
        place.mkdir(mode=0o700, exist_ok=True)
        self.redis = subprocess.Popen(
            broker.command(folder=place), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if not broker.wait(folder=place, seconds=PATIENCE):
            raise RuntimeError("Redis does not answer")

    def kill_redis(self) -> None:
        """Without warning and without persistence: every queue is gone."""
        if self.redis is not None:
            self.redis.kill()
            self.redis.wait()
            self.redis = None

    def step_clock(self) -> None:
        """Set the database's clock by an hour from what it was, forward or back."""
        if self.clock is None:
            raise RuntimeError("the clock of this database cannot be set")
        offset = int(self.clock.read_text()) + random.choice((HOUR, -HOUR))
        self.clock.write_text(f"{offset:+d}\n")

    @contextlib.contextmanager
    def full_disk(self) -> Iterator[None]:
        """Not one byte is left where vault and answers lie."""
        filler = self.folder / "filler"
        with filler.open("wb") as file:
            state = os.statvfs(self.folder)
            with contextlib.suppress(OSError):
                os.posix_fallocate(file.fileno(), 0, state.f_bavail * state.f_frsize)
            with contextlib.suppress(OSError):
                while True:
                    os.pwrite(file.fileno(), bytes(4096), os.fstat(file.fileno()).st_size)
        try:
            yield
        finally:
            filler.unlink()


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system in memory, of its own, at a folder. Only root may do that."""
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=700", "storm", str(folder)],
        check=True,
    )
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


# --- children -----------------------------------------------------------------------------------------------
def started_child(code: str, reach: Callable[[str], None]) -> int:
    """The process id of a child that takes the run."""
    from django.db import connections

    connections.close_all()
    child = os.fork()
    if child == 0:
        from synthweb.runs import failpoints, worker

        failpoints.reach = reach  # type: ignore[assignment]
        try:
            worker.synthesize(code=code)
        finally:
            os._exit(0)
    return child


def in_child(code: str, reach: Callable[[str], None]) -> None:
    """A child that takes the run, until it ends."""
    os.waitpid(started_child(code, reach), 0)


def charged_child(run: Any, watch: Stopwatch) -> int:
    """The process id of a child that has just charged the run."""
    from synthweb.runs import failpoints

    reading, writing = os.pipe()

    def report(point: str) -> None:
        watch.note(point)
        if point == failpoints.AFTER_CHARGE:
            os.write(writing, b".")

    child = started_child(run.code, report)
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
    return child


def is_charged(run: Any) -> bool:
    run.refresh_from_db()
    return bool(run.state == run.State.CHARGED)


def taken_over(run: Any) -> None:
    """Free the run as if its worker had been silent for a lease, and have another one take it; until it is
    over."""
    run.refresh_from_db()
    while run.is_open and run.attempts < 20:
        freed(run)
        in_child(run.code, _nothing)
        run.refresh_from_db()


def freed(run: Any) -> None:
    """Let others take a run. A worker that was frozen in the middle of a transaction holds its row until the
    database ends that."""
    from django.db import OperationalError

    ends = time.monotonic() + LOCKED
    while True:
        try:
            type(run).objects.filter(pk=run.pk).update(lease_held=False)
        except OperationalError:
            if time.monotonic() > ends:
                raise
        else:
            return


def _nothing(_point: str) -> None:
    pass


# --- what breaks --------------------------------------------------------------------------------------------
def killed(_site: Site, run: Any, seconds: float, watch: Stopwatch) -> bool:
    """Kill the worker."""
    from synthweb.runs import failpoints

    def alarm(point: str) -> None:
        watch.note(point)
        if point == failpoints.AFTER_CHARGE:
            # The default action of the signal ends the process at once, as SIGKILL does.
            timer = (
                signal.ITIMER_PROF if watch.clock is time.process_time else signal.ITIMER_REAL
            )
            signal.setitimer(timer, max(seconds, 1e-6))

    in_child(run.code, alarm)
    is_counted = is_charged(run)
    taken_over(run)
    return is_counted


def frozen(_site: Site, run: Any, seconds: float, watch: Stopwatch) -> bool:
    """Freeze the worker, which wakes up when another one has been at the run."""
    child = charged_child(run, watch)
    time.sleep(seconds)
    os.kill(child, signal.SIGSTOP)
    is_counted = is_charged(run)
    taken_over(run)
    os.kill(child, signal.SIGCONT)
    os.waitpid(child, 0)
    return is_counted


def cut_off(_site: Site, run: Any, seconds: float, watch: Stopwatch) -> bool:
    """Cut the worker's connections to PostgreSQL; another one goes on if it gave up."""
    from django.db import connection

    child = charged_child(run, watch)
    time.sleep(seconds)
    is_counted = is_charged(run)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    os.waitpid(child, 0)
    taken_over(run)
    return is_counted


def restarted(site: Site, run: Any, seconds: float, watch: Stopwatch) -> bool:
    """Kill PostgreSQL and start it again after a while; another worker goes on if this one gave up."""
    from django.db import connections

    child = charged_child(run, watch)
    time.sleep(seconds)
    is_counted = is_charged(run)
    connections.close_all()
    site.database.kill()
    time.sleep(random.uniform(0, AWAY))
    site.database.start()
    os.waitpid(child, 0)
    taken_over(run)
    return is_counted


def out_of_room(site: Site, run: Any, seconds: float, watch: Stopwatch) -> bool:
    """Fill the disk for a while; every other worker is killed meanwhile, and the next one goes on while it is
    full. A table that is uploaded into the full vault leaves nothing."""
    from synthweb.datasets.models import Dataset
    from synthweb.datasets.vault import VaultError

    child = charged_child(run, watch)
    time.sleep(seconds)
    is_counted = is_charged(run)
    with site.full_disk():
        before = Dataset.objects.count(), _files(site.folder)
        with contextlib.suppress(VaultError):
            upload(run)
            site.faults.append("a table was taken by a full vault")
        if (Dataset.objects.count(), _files(site.folder)) != before:
            site.faults.append("an upload into a full vault left something")
        if random.random() < 0.5:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            type(run).objects.filter(pk=run.pk).update(lease_held=False)
            child = started_child(run.code, _nothing)
        time.sleep(random.uniform(0, AWAY))
    os.waitpid(child, 0)
    taken_over(run)
    return is_counted


def upload(run: Any) -> None:
    """Another table of the steward of a run."""
    from synthweb.datasets import services

    services.store_stream(
        steward=run.created_by,
        organisation=run.dataset.organisation,
        name="Another",
        file_kind="csv",
        chunks=[os.urandom(1 << 20).hex().encode()],
    )


def _files(folder: Path) -> set[Path]:
    """All of the vault."""
    return set((folder / "vault").rglob("*"))


def out_of_time(site: Site, run: Any, seconds: float, watch: Stopwatch) -> bool:
    """Set the clock of the database by an hour; every other worker is killed then. A reconciler looks on: it
    has to free the run of the dead one after a lease, and never that of a living one."""
    from synthweb.runs import leases

    child = charged_child(run, watch)
    time.sleep(seconds)
    is_counted = is_charged(run)
    site.step_clock()
    is_dead = random.random() < 0.5
    if is_dead:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    of_reconciler, ends = leases.Watch(), time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        if run.code in leases.expire(of_reconciler):
            if not is_dead:
                site.faults.append(f"run {run.code} was freed under its living worker")
            break
        if not is_dead and os.waitpid(child, os.WNOHANG)[0]:
            break
        if not run.is_open:
            break
        time.sleep(LOOKS)
        run.refresh_from_db()
    else:
        site.faults.append(f"run {run.code} was stranded by a step of the clock")
    taken_over(run)
    return is_counted


def without_broker(site: Site, run: Any, seconds: float, watch: Stopwatch) -> bool:
    """Kill Redis with its queues, submit another run meanwhile, and start it again: the reconciler sends for
    that run again, and its message comes twice."""
    from synthweb.runs import leases, reconcile

    child = charged_child(run, watch)
    time.sleep(seconds)
    is_counted = is_charged(run)
    site.kill_redis()
    another = site.submit()
    os.waitpid(child, 0)
    taken_over(run)
    site.start_redis()
    reconcile.resend(leases.Watch())
    codes = messages()
    if another.code not in codes:
        site.faults.append(
            f"nobody sent a message for run {another.code}, which was submitted without a broker"
        )
    for code in codes * 2:
        in_child(code, _nothing)
    another.refresh_from_db()
    if another.state != another.State.FINISHED:
        site.faults.append(f"run {another.code} did not finish after its message")
    return is_counted


def messages() -> list[str]:
    """The codes of the runs for which the broker has messages, taken out of its queue."""
    from queue import Empty

    from synthweb.celery import app
    from synthweb.runs import queue

    codes = []
    with app.connection_for_read() as connection:
        of_worker = connection.SimpleQueue(queue.CONFIDENTIAL)
        with contextlib.suppress(Empty):
            while True:
                message = of_worker.get(block=False)
                message.ack()
                task, arguments = message.headers["task"], message.payload[0]
                if task == queue.SYNTHESIZE:
                    codes.append(arguments[0])
        of_worker.close()
    return codes


NEMESES: dict[str, Callable[[Site, Any, float, Stopwatch], bool]] = {
    "kill": killed,
    "freeze": frozen,
    "cut": cut_off,
    "restart": restarted,
    "disk": out_of_room,
    "clock": out_of_time,
    "redis": without_broker,
}
