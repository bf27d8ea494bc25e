"""Starting, watching and stopping the processes. Each has a process group and a log of its own; whichever
dies is started again, more and more slowly, and the others are left alone. One that fails by itself at every
start, and was never up, ends the whole with the tail of its log: this installation does not work."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from synthweb.local.processes import Process
from synthweb.local.status_line import StatusLine

STEADY_SECONDS = 60  # up for so long, a process counts as well
UP_SECONDS = 15  # up for so long, a process can start
LONGEST_WAIT = 60  # seconds until a process that dies again and again is started once more
MOST_FAILED_STARTS = 5
STOP_SECONDS = 10
LONGEST_LOG = 10_000_000
UNSAID_SECONDS = 10  # of a wait that need not be explained
PAUSE = 0.1  # seconds between two looks at what is waited for
PR_SET_PDEATHSIG = 1


@dataclass
class Child:
    """A process that runs, or waits to be started again."""

    process: Process
    running: subprocess.Popen[bytes]
    started: float
    deaths: int = 0
    can_start: bool = False
    failed_starts: int = 0  # ends of its own making before it was ever up
    again_at: float | None = None
    at_end: Callable[[int], None] | None = None
    passed_on: int = 0  # bytes of the log of one with `at_end` that were passed on


class GaveUp(Exception):
    """A process cannot start at all; the message ends with its log."""


class Stopped(Exception):
    """Somebody asked to stop while something was waited for."""


class Supervisor:
    """The children of one `make run`."""

    def __init__(
        self,
        *,
        logs: Path,
        folder: Path,
        environment: Mapping[str, str],
        say: Callable[[str], None],
        first_wait: float = 1,
        up_after: float = UP_SECONDS,
    ) -> None:
        """`first_wait`: seconds until a process is started again after its first death; `up_after`: how long
        it has run when it counts as one that can start."""
        self._logs = logs
        self._folder = folder
        self._environment = environment
        self._say = say
        self._children: list[Child] = []
        self._first_wait = first_wait
        self._up_after = up_after

    def start(self, process: Process, *, at_end: Callable[[int], None] | None = None) -> None:
        """Start a process and keep it running; one with `at_end` runs once, what it writes is said, and its
        exit code is given to `at_end`."""
        path = self._log(process.name)
        passed_on = path.stat().st_size if path.exists() else 0
        self._children.append(
            Child(
                process,
                self._launch(process),
                time.monotonic(),
                at_end=at_end,
                passed_on=passed_on,
            )
        )

    def run_once(self, process: Process, *, stopping: Callable[[], bool]) -> int:
        """Run a process to its end, however long that takes, and return its exit code. Raises Stopped."""
        running = self._launch(process)
        try:
            with StatusLine(after=UNSAID_SECONDS) as status:
                while (code := running.poll()) is None:
                    if stopping():
                        running.terminate()
                        with contextlib.suppress(subprocess.TimeoutExpired):
                            running.wait(STOP_SECONDS)
                        raise Stopped
                    status.show(f"Waiting for {process.name}")
                    time.sleep(PAUSE)
            return code
        finally:
            _end_group(running, signal.SIGKILL)

    def wait_until(
        self, answers: Callable[[], bool], *, name: str, stopping: Callable[[], bool]
    ) -> None:
        """Wait until a process that was started answers, for as long as it lives: a busy machine may be slow.
        Raises GaveUp when the process ends instead, Stopped when `stopping` says so."""
        child = next(child for child in self._children if child.process.name == name)
        with StatusLine(after=UNSAID_SECONDS) as status:
            while not answers():
                if stopping():
                    raise Stopped
                if (code := child.running.poll()) is not None:
                    raise GaveUp(
                        f"{name} ended before it answered (exit code {code}). The end of its log:\n"
                        f"{self.tail(name)}"
                    )
                status.show(f"Waiting until {name} answers; it writes to {self._log(name)}")
                time.sleep(PAUSE)

    def watch(self, stopping: Callable[[], bool]) -> None:
        """Keep everything running until `stopping` says otherwise."""
        while not stopping():
            for child in list(self._children):
                self._look_after(child)
            time.sleep(2 * PAUSE)

    def stop(self) -> None:
        """Ask every process to end and wait for it, the broker last; then make sure that nothing of them is
        left.

        A worker between charge and measurements is given time: what it would leave undone has been paid
        for."""
        for last in (False, True):
            children = [child for child in self._children if child.process.last is last]
            for child in children:
                # The leader alone: the pool processes of Celery would end at once, in the
                # middle of a run.
                with contextlib.suppress(ProcessLookupError):
                    child.running.terminate()
            for child in children:
                self._wait(child)
        self._children.clear()

    def hurry(self) -> None:
        """Somebody does not want to wait: end everything now."""
        for child in self._children:
            _end_group(child.running, signal.SIGKILL)

    def tail(self, name: str, lines: int = 15) -> str:
        """The end of a process's log."""
        try:
            written = self._log(name).read_text(errors="replace")
            return "\n".join(written.splitlines()[-lines:])
        except OSError:
            return ""

    def _wait(self, child: Child) -> None:
        try:
            # Most processes end within this time; only a longer wait needs an explanation.
            child.running.wait(timeout=2)
        except subprocess.TimeoutExpired:
            if child.process.patience > STOP_SECONDS:
                self._say(
                    f"Waiting for {child.process.name} to finish what it is at; Ctrl-C again stops it at "
                    "once."
                )
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.running.wait(timeout=child.process.patience)
        _end_group(child.running, signal.SIGKILL)
        child.running.wait()

    def _look_after(self, child: Child) -> None:
        now = time.monotonic()
        if child.again_at is not None:
            if now >= child.again_at:
                child.running, child.started, child.again_at = (
                    self._launch(child.process),
                    now,
                    None,
                )
            return
        code = child.running.poll()
        if child.at_end is not None:
            self._tell(child)
        if code is None:
            child.can_start = child.can_start or now - child.started > self._up_after
            return
        _end_group(child.running, signal.SIGKILL)  # whatever it left behind
        if child.at_end is not None:
            self._children.remove(child)
            child.at_end(code)
            return
        name, lasted = child.process.name, now - child.started
        self._count_start(child, code=code)
        child.deaths = 1 if lasted > STEADY_SECONDS else child.deaths + 1
        wait = min(LONGEST_WAIT, self._first_wait * 2 ** min(child.deaths - 1, 16))
        child.again_at = now + wait
        how = f"was ended by signal {-code}" if code < 0 else f"stopped (exit code {code})"
        times = f", for the {child.deaths}th time in a row" if child.deaths > 3 else ""
        self._say(
            f"{name} {how}{times} and is started again in {wait:g} s; see {self._log(name)}"
        )

    def _tell(self, child: Child) -> None:
        """Pass on what a process wrote since the last time, in whole lines."""
        with contextlib.suppress(OSError), self._log(child.process.name).open("rb") as log:
            log.seek(child.passed_on)
            whole = log.read().rpartition(b"\n")
            child.passed_on += len(whole[0]) + len(whole[1])
            for line in whole[0].decode(errors="replace").splitlines():
                self._say(f"{child.process.name}: {line}")

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def _count_start(self, child: Child, *, code: int) -> None:
        """Whether a process can start at all: one that was up once can, and one that somebody killed may."""
        if child.can_start or code < 0:
            return
        child.failed_starts += 1
        if child.failed_starts >= MOST_FAILED_STARTS:
            name = child.process.name
            raise GaveUp(
                f"{name} does not start (exit code {code}). The end of {name}.log:\n{self.tail(name)}"
            )

    def _launch(self, process: Process) -> subprocess.Popen[bytes]:
        path = self._log(process.name)
        # Between two lives of a process: one that runs would go on writing to the renamed file.
        if path.exists() and path.stat().st_size > LONGEST_LOG:
            path.replace(path.with_suffix(".log.1"))
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            return subprocess.Popen(  # noqa: S603 - our own list of programs
                process.command,
                cwd=self._folder,
                env=process.environment(self._environment),
                stdin=subprocess.DEVNULL,
                stdout=handle,
                stderr=handle,
                pass_fds=process.pass_fds,
                # Ctrl-C reaches the supervisor alone, which then stops the rest in order
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        finally:
            os.close(handle)


def _die_with_parent() -> None:
    """Linux: a supervisor that is killed takes its children with it."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _end_group(running: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(running.pid, number)
