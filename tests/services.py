"""Real services for the tests, started by the tests: Redis, PostgreSQL, Chromium, each in a folder of its
own.

What a machine does not have raises `Missing` with what to install; `require` turns that into a skip that
names it, or into a failure where CI=true, because there nothing may be left out.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import pwd
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest.mock
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from synthweb.local import broker
from tests.environment import WORKER, WORKERS

WINDOW = (1440, 1000)  # of a browser, in pixels
OLDEST_POSTGRES = 15
PATIENCE = 240.0  # seconds until a service that was started counts as one that does not answer
PORTS = range(12_000, 32_000)  # Linux gives connections those from 32 768 on by itself
UNPRIVILEGED = ("postgres", "nobody")  # PostgreSQL refuses to run as root
SHORT_LIVED = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""The environment of a Java that answers a few questions: it does not optimise for hours to come, which costs
it more than its work."""
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)  # loaded before a fork needs it
Started = TypeVar("Started")


class Missing(Exception):
    """A service that this machine does not have; the message names it and what to install."""


def require(what: Callable[[], Started]) -> Started:
    """The result of `what`, or a skip that names the missing service; on the CI machine a failure."""
    try:
        return what()
    except Missing as missing:
        if os.environ.get("CI") == "true":
            pytest.fail(str(missing))
        pytest.skip(str(missing))


@contextlib.contextmanager
def require_started(
    start: Callable[[], contextlib.AbstractContextManager[Started]],
) -> Iterator[Started]:
    """What `start` starts, with the rule of `require`."""
    with contextlib.ExitStack() as stack:
        yield require(lambda: stack.enter_context(start()))


@contextlib.contextmanager
def start_redis() -> Iterator[str]:
    """A Redis on a Unix socket; yields Celery's address of it."""
    try:
        broker.find()
    except broker.NoRedis as missing:
        raise Missing(f"Redis: {missing}") from None
    with (
        _folder("redis") as folder,
        _running(broker.command(folder=folder), log=folder / "log"),
    ):
        if not broker.wait(folder=folder, seconds=PATIENCE):
            raise RuntimeError(f"Redis does not answer: {(folder / 'log').read_text()[-2000:]}")
        yield f"redis+socket://{folder / 'redis.sock'}"


class Postgres:
    """A PostgreSQL server with an empty database, which can be killed and started again. address: its
    DATABASE_URL."""

    def __init__(self, command: list[str], *, address: str, port: int, place: _Place) -> None:
        """port: the one of the address. place: where it runs, and as whom."""
        self._command, self._port, self._place = command, port, place
        self.address = address
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers. It dies of a port that somebody else's connection has taken
        while it was down, and is then started again."""
        end = time.monotonic() + PATIENCE
        log = self._place.folder / "log"
        while not self._has_started(log, until=end):
            if time.monotonic() > end:
                raise RuntimeError(f"no answer on port {self._port}: {log.read_text()[-2000:]}")
            time.sleep(0.5)

    def _has_started(self, log: Path, *, until: float) -> bool:
        """Start a process. Returns whether it answered before it died, or before `until`."""
        log.write_bytes(b"")
        with log.open("ab") as output:
            self._process = process = subprocess.Popen(
                self._command,
                stdout=output,
                stderr=output,
                cwd=self._place.folder,
                env=os.environ | self._place.environment,
                preexec_fn=ends_with_us(),
                **_as(self._place.user),
            )
        while process.poll() is None and time.monotonic() < until:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self._port), timeout=1),
            ):
                if b"ready to accept connections" in log.read_bytes():
                    return True
            time.sleep(0.05)
        return False

    def kill(self) -> None:
        """End it at once and without a checkpoint, as if its machine lost power: connections and what was not
        committed are gone."""
        self._end(signal.SIGQUIT)

    def stop(self) -> None:
        self._end(signal.SIGINT)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


@dataclass(frozen=True)
class _Place:
    """Where a server runs, as whom (None: as whoever runs the tests), and what its environment has
    besides."""

    folder: Path
    user: str | None
    environment: dict[str, str]


@contextlib.contextmanager
def start_postgres() -> Iterator[str]:
    """A PostgreSQL server with an empty database; yields its DATABASE_URL. Nothing of it outlives the
    block."""
    with postgres_server(is_killed=False) as server:
        yield server.address


@contextlib.contextmanager
def postgres_server(*, clock: Path | None = None, is_killed: bool = True) -> Iterator[Postgres]:
    """The same as a server that can be killed and started again. clock: a file that says how far its clock is
    off, as libfaketime reads it (`+3600` for an hour forward); it is read each time that the server looks at
    its clock. None for the clock as it is. is_killed: whether it may be, and then has to have what it
    confirmed; else it confirms sooner."""
    programs = _postgres_programs()
    environment = {} if clock is None else _false_clock(clock)
    with _folder("postgres") as folder:
        user = _unprivileged()
        if user is not None:
            programs = _readable(programs, folder=folder)
            shutil.chown(folder, user, pwd.getpwnam(user).pw_gid)
        data, password = folder / "data", secrets.token_urlsafe(16)
        secret = folder / "password"
        secret.write_text(password)
        if user is not None:
            shutil.chown(secret, user)
        initdb = [
            programs / "initdb",
            "-D",
            data,
            "-U",
            "synthweb",
            "--auth",
            "scram-sha-256",
            "--pwfile",
            secret,
        ]
        _run(
            [*map(str, initdb), "-E", "UTF8", "--locale", "C", "--no-sync"],
            user=user,
            folder=folder,
        )
        port = free_port()
        command = [
            *(str(programs / "postgres"), "-D", str(data), "-k", str(folder), "-p", str(port)),
            *(
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                "fsync=off",
                "-c",
                f"synchronous_commit={'on' if is_killed else 'off'}",
            ),
            *("-c", "max_connections=200"),
        ]
        server = Postgres(
            command,
            address=f"postgres://synthweb:{password}@127.0.0.1:{port}/postgres",
            port=port,
            place=_Place(folder, user, environment),
        )
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _false_clock(file: Path) -> dict[str, str]:
    """The environment in which a process has the clock of a file. Its monotonic clock goes on as it does."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    if not found:
        raise Missing("libfaketime: install it (Debian: apt-get install libfaketime)")
    return {
        "LD_PRELOAD": str(found[0]),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


@contextlib.contextmanager
def chromium(
    *, width: int = WINDOW[0], height: int = WINDOW[1], downloads: Path | None = None
) -> Iterator[webdriver.Chrome]:
    """A headless Chromium that keeps its console, so that a test can ask for policy violations."""
    program, driver = find_chromium()
    with _folder("chromium") as folder:
        options = webdriver.ChromeOptions()
        options.binary_location = program
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--force-device-scale-factor=1",
            "--force-prefers-reduced-motion",  # nothing scrolls away under a click
            f"--window-size={width},{height}",
            f"--user-data-dir={folder / 'profile'}",
        ):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        if downloads is not None:
            options.add_experimental_option(
                "prefs", {"download.default_directory": str(downloads)}
            )
        service = Service(executable_path=driver, popen_kw={"preexec_fn": ends_with_us()})
        browser = webdriver.Chrome(options=options, service=service)
        browser.set_script_timeout(
            120
        )  # the judge of pages takes seconds, and a busy machine many more
        try:
            yield browser
        finally:
            browser.quit()


def find_chromium() -> tuple[str, str]:
    """Chromium and its driver; both have to come from the same place, so nothing is ever downloaded here."""
    program = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        raise Missing(
            "Chromium: install chromium and chromium-driver (Debian: apt-get install chromium "
            "chromium-driver)"
        )
    return program, driver


@contextlib.contextmanager
def start_nginx(
    configuration: str, *, ports: Sequence[int], connections: int = 512
) -> Iterator[Path]:
    """nginx with one file of `conf.d`, in a folder of its own, as root or as somebody; yields the folder.
    connections: what its process holds at once, those to the application included."""
    program = find_nginx()
    with _folder("nginx") as folder:
        for name in ("body", "proxy", "fastcgi", "uwsgi", "scgi"):
            (folder / name).mkdir()
        (folder / "site.conf").write_text(configuration)
        temporary = "".join(
            f"    {name}_temp_path {folder / place};\n"
            for name, place in (
                ("client_body", "body"),
                *((x, x) for x in ("proxy", "fastcgi", "uwsgi", "scgi")),
            )
        )
        user = f"user {pwd.getpwuid(os.getuid()).pw_name};\n" if os.getuid() == 0 else ""
        (folder / "nginx.conf").write_text(
            f"{user}daemon off;\npid {folder / 'pid'};\nerror_log stderr;\nworker_processes 1;\n"
            f"events {{ worker_connections {connections}; }}\nhttp {{\n    access_log off;\n{temporary}    "
            f"include {folder / 'site.conf'};\n}}\n"
        )
        command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf")]
        _run([*command, "-t"], user=None, folder=folder)
        with _running(command, log=folder / "log") as process:
            for port in ports:
                _wait_for_connection(port, process, log=folder / "log")
            yield folder


@dataclass(frozen=True)
class Dask:
    """A Dask scheduler with two worker processes. workers: the ids of their processes."""

    address: str
    workers: Callable[[], list[int]]


def find_dask() -> None:
    if importlib.util.find_spec("distributed") is None:
        raise Missing("Dask: install it (pip install distributed)")


@contextlib.contextmanager
def start_dask(*, is_repaired: bool = True) -> Iterator[Dask]:
    """A Dask LocalCluster of two processes on loopback, which takes a port that is free. is_repaired: whether
    it starts another process for one that was killed."""
    find_dask()
    import dask
    import distributed

    from synth_engine.sources import cluster

    settings = {
        "distributed.worker.daemon": False,
        "distributed.scheduler.worker-saturation": 1.0,
        # A process that was killed is started again, however long that takes here; by default it is given up
        # after seconds.
        "distributed.deploy.lost-worker-timeout": "1 hour",
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs=40,
        ) as started,
        unittest.mock.patch.object(cluster, "FIRST_ANSWER", PATIENCE),
    ):
        if not is_repaired:
            for nanny in started.workers.values():
                nanny.instantiate = _nothing  # which starts the next process
        yield Dask(
            started.scheduler_address,
            lambda: [nanny.pid for nanny in started.workers.values() if nanny.pid],
        )


async def _nothing() -> None: ...


def find_spark() -> None:
    """Spark, which runs on Java."""
    if importlib.util.find_spec("pyspark") is None:
        raise Missing("Spark: install it (pip install pyspark)")
    find_java()


@dataclass(frozen=True)
class Spark:
    """A Spark cluster of this machine. worker: the process that starts executors, where there is one."""

    address: str
    worker: subprocess.Popen[bytes] | None


@contextlib.contextmanager
def start_spark(folder: Path, *, executors: int = 2) -> Iterator[Spark]:
    """A master of Spark and a worker with so many executors, or no worker, in processes of their own. folder:
    for what they write. Raises Missing."""
    find_spark()
    from synth_engine.sources import cluster

    changed = {
        # Executors run in folders of their own.
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[1]),
        "spark.executor.cores": "1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(folder),
    }
    where = {"SPARK_LOCAL_DIRS": str(folder), "SPARK_DAEMON_MEMORY": "256m"}
    port, log = free_port(), folder / "log"
    end_spark()
    with contextlib.ExitStack() as stack:
        stack.enter_context(unittest.mock.patch.dict(os.environ, where))
        stack.enter_context(unittest.mock.patch.dict(cluster._SPARK, changed))
        # However long it takes to start here.
        stack.enter_context(unittest.mock.patch.object(cluster, "FIRST_ANSWER", PATIENCE))
        master = stack.enter_context(_running(_spark("Master", "--port", str(port)), log=log))
        _wait_for_connection(port, master, log=log)
        address, worker = f"spark://127.0.0.1:{port}", None
        if executors:
            room = ["--cores", str(executors), "--memory", f"{executors}G"]
            command = _spark("Worker", *room, "--work-dir", str(folder / "work"), address)
            worker = stack.enter_context(_running(command, log=log))
        stack.callback(end_spark)
        yield Spark(address, worker)


def _spark(what: str, *arguments: str) -> list[str]:
    """The command line of a process of Spark's."""
    import pyspark

    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    address = ["--host", "127.0.0.1", "--webui-port", str(free_port())]
    return [
        str(program),
        f"org.apache.spark.deploy.{what.lower()}.{what}",
        *address,
        *arguments,
    ]


def end_spark_session() -> None:
    """The next question begins another one, which takes the settings of then."""
    from pyspark import SparkContext

    if (context := SparkContext._active_spark_context) is not None:
        context.stop()


def start_java() -> None:
    """The process of Java that the sessions of this process have begins; no session does."""
    from pyspark import SparkContext

    SparkContext._ensure_initialized()


def end_spark() -> None:
    """End the session of this process, or one that is about to begin, and Java with it, which keeps the
    environment that it was started with."""
    from pyspark import SparkContext

    from synth_engine.sources import cluster

    if (gateway := SparkContext._gateway) is not None and cluster._BEGINNING.locked():
        gateway.proc.kill()  # it would look for its master for long
    with cluster._BEGINNING:
        end_spark_session()
        if (gateway := SparkContext._gateway) is not None:
            gateway.shutdown()
            gateway.proc.stdin.close()  # at the end of its input it ends
            gateway.proc.wait(PATIENCE)
        SparkContext._gateway = SparkContext._jvm = None


def find_java() -> str:
    """The program on which Spark runs."""
    program = shutil.which("java")
    if program is None:
        raise Missing("Java: install it (Debian: apt-get install default-jre-headless)")
    return program


def find_nginx() -> str:
    """The proxy whose configuration docs/nginx.conf is."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        raise Missing("nginx: install it (Debian: apt-get install nginx-light)")
    return program


def _wait_for_connection(
    port: int, process: subprocess.Popen[bytes], *, log: Path, seconds: float = PATIENCE
) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", port), timeout=1),
        ):
            return
        time.sleep(0.05)
    raise RuntimeError(f"no answer on port {port}: {log.read_text()[-2000:]}")


def ends_with_us(number: signal.Signals = signal.SIGKILL) -> Callable[[], None]:
    """What a process that a test starts does before its program begins (`preexec_fn`): on Linux it gets a
    signal when the thread that started it ends, however that ends."""

    def ask() -> None:
        with contextlib.suppress(OSError, AttributeError):
            _LIBC.prctl(PR_SET_PDEATHSIG, number)

    return ask


def free_port() -> int:
    """A TCP port that nobody uses, nor takes before whoever asked for it does: none that connections are
    given by the system meanwhile, and none of another worker's."""
    own = PORTS[int(WORKER.removeprefix("gw")) :: WORKERS]
    for port in random.SystemRandom().sample(own, 50):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no port is free")


def _postgres_programs() -> Path:
    """The folder of a PostgreSQL that is new enough: from the PATH, from where Debian puts it, or from
    pgserver."""
    places = [
        Path(found).resolve().parent
        for name in ("postgres", "initdb")
        if (found := shutil.which(name))
    ]
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    spec = importlib.util.find_spec("pgserver")
    places += [
        Path(folder) / "pginstall" / "bin"
        for folder in (spec.submodule_search_locations or [])
        if spec
    ]
    for place in places:
        if (place / "initdb").exists() and _postgres_version(place) >= OLDEST_POSTGRES:
            return place
    raise Missing(
        f"PostgreSQL {OLDEST_POSTGRES} or newer: install it (Debian: apt-get install postgresql)"
    )


def _postgres_version(place: Path) -> int:
    try:
        said = subprocess.run(
            [place / "postgres", "--version"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0
    found = re.search(r"(\d+)", said)
    return int(found[1]) if found else 0


def _readable(programs: Path, *, folder: Path) -> Path:
    """A copy that the unprivileged user can run, if the original lies below a folder that is closed to it."""
    closed = any(not parent.stat().st_mode & 0o001 for parent in programs.parents)
    if not closed:
        return programs
    shutil.copytree(programs.parent, folder / "programs", symlinks=True)
    return folder / "programs" / programs.name


def _unprivileged() -> str | None:
    if os.getuid() != 0:
        return None
    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise Missing(
        "PostgreSQL: it does not run as root, and there is no user postgres or nobody"
    )


@contextlib.contextmanager
def _folder(name: str) -> Iterator[Path]:
    """A short path below the system's temporary folder: Unix sockets have little room for theirs."""
    folder = Path(tempfile.mkdtemp(prefix=f"swt-{name}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: list[str], *, user: str | None, folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, **_as(user)
    )
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name} failed: {done.stderr[-2000:]}")


@contextlib.contextmanager
def _running(
    command: list[str], *, log: Path, user: str | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            cwd=log.parent,
            preexec_fn=ends_with_us(),
            **_as(user),
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _as(user: str | None) -> dict[str, object]:
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
