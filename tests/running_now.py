"""While many tests run for long: which of them run now, and for how long already. A plugin of pytest for the
process that parallel workers report to."""

from __future__ import annotations

import threading
import time

import pytest

EVERY = 60.0  # seconds between two lines
LONG = 30.0  # seconds: a line is said when a test has run for longer
MOST = 8  # tests of a line


class RunningNow:
    """The tests that began and have not ended."""

    def __init__(self) -> None:
        self._begun: dict[str, float] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._begun[nodeid] = time.monotonic()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._begun.pop(nodeid, None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Of a worker that crashed nothing else comes.
        if report.when not in ("setup", "call", "teardown"):
            self._begun.pop(report.nodeid, None)

    def line(self, now: float) -> str:
        """What is said at a time of the monotonic clock; nothing where all tests are quick."""
        running = sorted(self._begun.copy().items(), key=lambda each: each[1])
        if not running or now - running[0][1] <= LONG:
            return ""
        said = ", ".join(f"{name} ({now - begun:.0f} s)" for name, begun in running[:MOST])
        return f"Running now: {said}{' …' if len(running) > MOST else ''}"


def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if (
        hasattr(config, "workerinput")
        or reporter is None
        or config.getoption("dist", "no") == "no"
    ):
        return
    running, ended = RunningNow(), threading.Event()
    config.pluginmanager.register(running)
    config.add_cleanup(ended.set)

    def say() -> None:
        while not ended.wait(EVERY):
            if line := running.line(time.monotonic()):
                reporter.ensure_newline()
                reporter.write_line(line)

    threading.Thread(target=say, daemon=True).start()
