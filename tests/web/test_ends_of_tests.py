"""What `make test` starts ends with it, whatever ends it; and meanwhile it says which tests run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests import environment, running_now, services

PATIENCE = 300.0  # seconds until a state that does not come is a failure

HOLDS = """
import os, pathlib, time
from tests import services

def test_that_holds_what_it_started():
    with services.start_redis(), services.start_postgres(), services.chromium() as browser:
        browser.get("data:text/html,<title>held</title>")
        pathlib.Path(os.environ["HELD"]).write_text(str(os.getpid()))
        time.sleep(3600)
"""

SPEAKS = """
import pathlib, time
def test_that_waits_until_it_was_seen():
    while not pathlib.Path({seen!r}).exists():
        time.sleep(0.05)
"""


def all_tests(file: Path, **more: str) -> subprocess.Popen[str]:
    """`python -m tests.all` with a file of tests, as a person starts it."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "SYNTHWEB_"))
    }
    return subprocess.Popen(
        [sys.executable, "-m", "tests.all", "-c", "pyproject.toml", "-n", "1", str(file)],
        cwd=environment.ROOT,
        env=kept | more,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def wait(happened: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)


def is_there(process: psutil.Process) -> bool:
    """Whether it runs: one that has ended and of which nobody took note does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def name_of(process: psutil.Process) -> str:
    """The name of its program; empty of one that has ended meanwhile, as short ones do."""
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


@pytest.mark.slow
@pytest.mark.services
@pytest.mark.same_on_every_database
@pytest.mark.parametrize(
    ("number", "whom"),
    [
        (signal.SIGINT, "all"),
        pytest.param(signal.SIGTERM, "all", marks=pytest.mark.nightly),
        pytest.param(signal.SIGKILL, "all", marks=pytest.mark.nightly),
        (signal.SIGKILL, "pytest"),
        (signal.SIGKILL, "worker"),
    ],
)
def test_nothing_is_left_of_what_a_test_started(
    tmp_path: Path, number: signal.Signals, whom: str
) -> None:
    """Failed before: SIGINT ended nothing, and the others left Redis, PostgreSQL, the driver and the browser
    behind."""
    for find in (services.find_chromium, services._postgres_programs):
        services.require(find)
    held, file = tmp_path / "held", tmp_path / "test_holding.py"
    file.write_text(HOLDS)
    running = all_tests(file, HELD=str(held))
    try:
        wait(lambda: (held.exists() and held.read_text()) or running.poll() is not None)
        assert running.poll() is None
        worker = int(held.read_text())
        family = psutil.Process(running.pid).children(recursive=True)
        names = " ".join(map(name_of, family))
        assert all(name in names for name in ("redis", "postgres", "chromedriver")), names
        ended = {"all": running.pid, "worker": worker, "pytest": psutil.Process(worker).ppid()}
        os.kill(ended[whom], number)
        if whom == "worker":
            # What it started itself; the driver's browser ends with the run, for which another worker is
            # started.
            own = [
                process
                for process in family
                if name_of(process).startswith(("redis", "postgres", "chromedriver"))
            ]
            wait(lambda: not any(map(is_there, own)))
            os.kill(running.pid, signal.SIGTERM)
        wait(lambda: not any(map(is_there, family)))
        running.wait(PATIENCE)
    finally:
        running.kill()
        running.wait()


def test_what_runs_for_long_is_said_the_longest_first() -> None:
    running = running_now.RunningNow()
    begun = time.monotonic()
    running.pytest_runtest_logstart("one")
    assert running.line(begun) == ""
    running.pytest_runtest_logstart("two")
    assert running.line(time.monotonic() + 95).startswith("Running now: one (95 s), two (95 s)")
    running.pytest_runtest_logfinish("one")
    assert running.line(time.monotonic() + 95) == "Running now: two (95 s)"
    crashed = pytest.TestReport("two", ("", None, ""), {}, "failed", "worker crashed", "???")
    running.pytest_runtest_logreport(crashed)
    assert running.line(time.monotonic() + 95) == ""


@pytest.mark.slow
def test_a_run_says_what_runs_while_it_runs(tmp_path: Path) -> None:
    """The test ends when the line about it has been read."""
    seen, file = tmp_path / "seen", tmp_path / "test_waiting.py"
    file.write_text(SPEAKS.format(seen=str(seen)))
    arguments = ["-c", "pyproject.toml", "-n", "1", str(file)]
    quick = (
        "from tests import running_now as n; n.EVERY = n.LONG = 0.1; import pytest, sys; "
        f"sys.exit(pytest.main({arguments!r}, plugins=[n]))"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    running = subprocess.Popen(
        [sys.executable, "-c", quick],
        cwd=environment.ROOT,
        env=kept,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=services.ends_with_us(),
    )
    assert running.stdout is not None
    said = []
    for line in running.stdout:
        said.append(line)
        if line.startswith("Running now:") and "test_that_waits_until_it_was_seen" in line:
            seen.touch()
    running.stdout.close()
    assert running.wait(PATIENCE) == 0, "".join(said)
    assert seen.exists()
