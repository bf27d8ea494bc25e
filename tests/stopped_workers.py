"""Workers of a Dask cluster that stop in the middle of a question, so that a test kills them there and nowhere else."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 240.0  # seconds until a worker counts as one that never came so far
INSIDE = "inside-"
GO_ON = "go-on"


@contextlib.contextmanager
def killed_inside(address: str, folder: Path, *, number: int) -> Iterator[list[int]]:
    """While the block asks a cluster of two processes, `number` of them die of SIGKILL, each while it counts a part that it
    has not answered. Yields the ids of those that were killed, complete after the block. Processes that the cluster starts in their
    place count as ever. folder: an empty one, which the workers see.
    """
    import distributed

    with distributed.Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        client.run(_stop_inside, str(folder))
    killed: list[int] = []
    over = threading.Event()
    killer = threading.Thread(target=_kill, args=(folder, number, killed, over))
    killer.start()
    try:
        yield killed
    finally:
        over.set()
        killer.join()
    assert len(killed) == number, "no question came so far"


@contextlib.contextmanager
def giving_up(address: str, *, after: int) -> Iterator[None]:
    """A scheduler that gives a task up once it lost so many workers with it."""
    import distributed

    def allow(failures: int, dask_scheduler: distributed.Scheduler) -> int:
        before: int = dask_scheduler.allowed_failures
        dask_scheduler.allowed_failures = failures
        return before

    with distributed.Client(address, set_as_default=False) as client:
        before = client.run_on_scheduler(allow, after - 1)
        try:
            yield
        finally:
            client.run_on_scheduler(allow, before)


def _kill(folder: Path, number: int, killed: list[int], over: threading.Event) -> None:
    """Kill so many processes that say that they are inside, then let the others go on."""
    end = time.monotonic() + PATIENCE
    while len(killed) < number and not over.is_set() and time.monotonic() < end:
        for path in folder.glob(f"{INSIDE}*"):
            process = int(path.name.removeprefix(INSIDE))
            if process not in killed and len(killed) < number:
                os.kill(process, signal.SIGKILL)
                killed.append(process)
        time.sleep(0.01)
    (folder / GO_ON).touch()


def _stop_inside(folder: str) -> None:
    """Runs on a worker: the next part that it counts waits until the test lets it go on."""
    from synth_engine.confidential import parts

    count_part = parts.count_part

    def waiting(*arguments: object) -> object:
        Path(folder, f"{INSIDE}{os.getpid()}").touch()
        while not Path(folder, GO_ON).exists():
            time.sleep(0.01)
        return count_part(*arguments)  # type: ignore[arg-type]

    parts.count_part = waiting  # type: ignore[assignment]
