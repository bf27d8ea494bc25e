"""Workers of Celery that start at once: each is forked from a process that has loaded the application and its
compiled loops.

A worker that was started as a program would load both anew, for seconds, and tests of faults start a hundred
of them. `Workers` is this side of it; run as a program, the file is the other.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests import services
from tests.e2e.spoken import Spoken, answer

# What the tasks of workers import when they are called.
LOADED = (
    "notifications.tasks",
    "runs.tasks",
    "runs.worker",
    "runs.paid_first",
    "runs.reconcile",
)


class Forked:
    """A worker in a session of its own, spoken to as `subprocess.Popen` is."""

    def __init__(self, workers: Workers, pid: int) -> None:
        self._workers = workers
        self.pid = pid

    def poll(self) -> int | None:
        """With which code it ended, or of which signal if that is negative; None as long as it lives."""
        code: int | None = self._workers.ask("poll", self.pid)
        return code

    def wait(self) -> None:
        self._workers.ask("wait", self.pid)

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        # Until its end was asked for, its number is nobody else's.
        if self.poll() is None:
            os.kill(self.pid, number)


class Workers(Spoken):
    """The process from which workers are forked. They end with it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """environment: that of an installation, whose keys are made."""
        super().__init__("tests.e2e.workers", environment)

    def start(self, *arguments: str, settings: Mapping[str, object], log: Path) -> Forked:
        """`celery worker` with these arguments. settings: what it has of its own. log: gets all that it
        writes."""
        return Forked(self, self.ask("start", arguments, settings, str(log)))


# --- the other side -----------------------------------------------------------------------------------------
_ENDED: dict[int, int] = {}


def _load() -> None:
    """All that a worker loads before its first message, and its children with their first one."""
    import django

    django.setup()
    from synth_engine import jit

    for name in ("celery", *LOADED):
        importlib.import_module(f"synthweb.{name}")
    jit.warm_up()


def start(arguments: list[str], changed: dict[str, Any], log: str) -> int:
    """The process id of a worker that was begun."""
    if pid := os.fork():
        return pid
    services.ends_with_us()()
    os.setsid()
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for ours, standard in ((nothing, 0), (written, 1), (written, 2)):
        os.dup2(ours, standard)
    from django.conf import settings

    for name, value in changed.items():
        setattr(settings, name, value)
    sys.argv = ["celery", "-A", "synthweb.celery", "worker", *arguments]
    from celery.__main__ import main as celery

    sys.exit(celery())  # it ends by itself, with its own code


def poll(pid: int) -> int | None:
    if pid not in _ENDED:
        found, status = os.waitpid(pid, os.WNOHANG)
        if not found:
            return None
        _ENDED[pid] = os.waitstatus_to_exitcode(status)
    return _ENDED[pid]


def wait(pid: int) -> int:
    if pid not in _ENDED:
        _ENDED[pid] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return _ENDED[pid]


if __name__ == "__main__":
    _load()
    answer({"start": start, "poll": poll, "wait": wait})
