"""Whatever ends the tests, what they started ends with them: a run of pytest within a process that all its
descendants come back to.

`run` starts a keeper, which starts the command. Linux gives the keeper each descendant whose parent has ended
(PR_SET_CHILD_SUBREAPER), so none gets lost. When the command has ended, or the process that called `run` has,
the keeper ends all that is left. Elsewhere than on Linux the command is run as it is.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

PATIENCE = 60.0  # seconds until a process that was killed counts as one that does not end
GRACE = 10.0  # seconds for what was found out so far to be said, after Ctrl-C
MOMENT = 1.0  # … before which pytest has to know that it was not its workers who failed
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
ASKED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ROOT = Path(__file__).parents[1]


def run(command: list[str], environment: Mapping[str, str]) -> int:
    """Run a command to its end and return its exit code. Ctrl-C, SIGTERM and SIGHUP interrupt it, a second
    one ends it at once."""
    if not sys.platform.startswith("linux"):
        return subprocess.run(command, env=environment, check=False).returncode
    # It is open for as long as this process lives, and each byte in it asks to stop.
    ours, theirs = os.pipe()
    keeper = subprocess.Popen(
        [sys.executable, "-m", "tests.keeper", str(ours), *command],
        cwd=ROOT,
        env=environment,
        pass_fds=(ours,),
        start_new_session=True,  # Ctrl-C at the terminal reaches this process alone
    )
    os.close(ours)
    with _asked_to_stop(lambda: os.write(theirs, b"x")):
        try:
            return keeper.wait()
        finally:
            os.close(theirs)


@contextlib.contextmanager
def _asked_to_stop(ask: Callable[[], object]) -> Iterator[None]:
    """Pass on what asks this process to stop."""

    def tell(_number: int, _frame: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            ask()

    before = {number: signal.signal(number, tell) for number in ASKED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# --- the keeper ---------------------------------------------------------------------------------------------
def keep(pipe: int, command: list[str]) -> int:
    """Run the command, and end what is left of it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1):
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")
    os.set_inheritable(pipe, False)
    running = subprocess.Popen(
        command,
        # Should somebody kill the keeper itself.
        preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL),
    )
    asked = threading.Thread(target=_wait_to_be_asked, args=(pipe, running.pid), daemon=True)
    asked.start()
    code = _reap_until(running.pid)
    end = time.monotonic() + PATIENCE
    while left := _kill_all():
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if time.monotonic() > end:
            sys.stderr.write(f"Processes that do not end: {left}\n")
            break
        time.sleep(0.05)
    return code


def _reap_until(pid: int) -> int:
    """Take note of each descendant that ends, as `init` would, until one of them does; its exit code."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _wait_to_be_asked(pipe: int, pid: int) -> None:
    """Interrupt the command when a byte comes, and end it when another one does, when GRACE has gone by, or
    when the process that would send it has ended."""
    if os.read(pipe, 1):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)
        threading.Thread(target=_end_workers, args=(pid,), daemon=True).start()
        late = threading.Timer(GRACE, _kill, args=(pid,))
        late.daemon = True
        late.start()
        os.read(pipe, 1)
    _kill(pid)


def _end_workers(pid: int) -> None:
    """They are in the middle of tests, which nobody waits for any more."""
    time.sleep(MOMENT)
    while _kill_all(but=pid):
        time.sleep(0.05)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _kill_all(but: int | None = None) -> list[int]:
    """Kill what this process has as descendants now, and return their ids. Who started one meanwhile is
    killed as well, and what it started comes back to this process."""
    parents = dict(_parents())
    found, looked_at = [], [os.getpid()]
    while looked_at:
        parent = looked_at.pop()
        children = [pid for pid, its_parent in parents.items() if its_parent == parent]
        looked_at += children
        found += [pid for pid in children if pid != but]
    for pid in found:
        _kill(pid)
    return found


def _parents() -> Iterator[tuple[int, int]]:
    """The processes of this machine with their parents."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            # The name, in parentheses, may hold anything; the state and the parent follow.
            yield int(file.parent.name), int(file.read_text().rpartition(")")[2].split()[1])


if __name__ == "__main__":
    sys.exit(keep(int(sys.argv[1]), sys.argv[2:]))
