"""Workers of a Dask or Spark cluster that stop in the middle of a question, so that a test kills them there
and nowhere else."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

PATIENCE = 240.0  # seconds until a worker counts as one that never came so far
INSIDE = "inside-"
GO_ON = "go-on"


@contextlib.contextmanager
def killed_inside(address: str, folder: Path, *, number: int) -> Iterator[list[int]]:
    """While the block asks a cluster of two processes, `number` of them die of SIGKILL, each while it counts
    a part that it has not answered. Yields the ids of those that were killed, complete after the block.
    Processes that the cluster starts in their place count as ever. folder: an empty one, which the workers
    see.
    """
    import distributed

    with distributed.Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        client.run(_stop_inside, str(folder))
    with _killing(folder, number, victim=lambda process: process) as killed:
        yield killed


@contextlib.contextmanager
def killed_inside_spark(folder: Path, *, number: int, executors: bool) -> Iterator[list[int]]:
    """The same of a Spark cluster on this machine. executors: the process of Java that Spark started dies,
    and with it its process of Python; else that of Python alone."""
    victim = _executor_of if executors else lambda process: process
    with _stopped_in_spark(folder), _killing(folder, number, victim=victim) as killed:
        yield killed


@contextlib.contextmanager
def lost_inside_spark(
    folder: Path, worker: int, *, then: Callable[[], object]
) -> Iterator[None]:
    """While the block asks a Spark cluster on this machine, the process that starts its executors dies of
    SIGKILL as soon as one of them counts a part. Nothing starts them again, and no part is answered. then:
    called once it is dead."""
    over = threading.Event()

    def kill() -> None:
        while not any(folder.glob(f"{INSIDE}*")):
            if over.wait(0.01):
                return
        os.kill(worker, signal.SIGKILL)
        then()

    killer = threading.Thread(target=kill)
    with _stopped_in_spark(folder):
        killer.start()
        try:
            yield
        finally:
            over.set()
            killer.join()
            (folder / GO_ON).touch()


@contextlib.contextmanager
def _stopped_in_spark(folder: Path) -> Iterator[None]:
    """Parts that are asked of Spark wait until the test lets them go on."""
    from synth_engine.sources import cluster

    in_arrow = cluster._in_arrow
    cluster._in_arrow = _stopping(str(folder))
    try:
        yield
    finally:
        cluster._in_arrow = in_arrow


@contextlib.contextmanager
def _killing(folder: Path, number: int, *, victim: Callable[[int], int]) -> Iterator[list[int]]:
    killed: list[int] = []
    over = threading.Event()
    killer = threading.Thread(target=_kill, args=(folder, number, killed, over, victim))
    killer.start()
    try:
        yield killed
    finally:
        over.set()
        killer.join()
    assert len(killed) == number, "no question came so far"


def _executor_of(process: int) -> int:
    """The executor of Spark to which a process of Python belongs."""
    above = psutil.Process(process).parents()
    return next(each.pid for each in above if each.name() == "java")


def _stopping(folder: str) -> Callable[[str], Callable[[Iterator[Any]], Iterator[Any]]]:
    """In place of `cluster._in_arrow`: workers count as ever, but each part waits until the test lets it go
    on."""

    def in_arrow(key_file: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
        # Spark takes this function along as it is, with what it imports itself.
        def answers(batches: Iterator[Any]) -> Iterator[Any]:
            import os
            import time
            from pathlib import Path

            from synth_engine.sources import cluster, parts

            count_part = parts.count_part

            def waiting(*arguments: Any) -> Any:
                Path(folder, f"inside-{os.getpid()}").touch()
                while not Path(folder, "go-on").exists():
                    time.sleep(0.01)
                return count_part(*arguments)

            parts.count_part = waiting
            try:
                yield from cluster._in_arrow(key_file)(batches)
            finally:
                parts.count_part = count_part

        return answers

    return in_arrow


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


def _kill(
    folder: Path,
    number: int,
    killed: list[int],
    over: threading.Event,
    victim: Callable[[int], int],
) -> None:
    """Kill so many processes that say that they are inside, then let the others go on."""
    end = time.monotonic() + PATIENCE
    while len(killed) < number and not over.is_set() and time.monotonic() < end:
        for path in folder.glob(f"{INSIDE}*"):
            process = int(path.name.removeprefix(INSIDE))
            if process not in killed and len(killed) < number:
                os.kill(victim(process), signal.SIGKILL)
                killed.append(process)
        time.sleep(0.01)
    (folder / GO_ON).touch()


def _stop_inside(folder: str) -> None:
    """Runs on a worker: the next part that it counts waits until the test lets it go on."""
    from synth_engine.sources import parts

    count_part = parts.count_part

    def waiting(*arguments: object) -> object:
        Path(folder, f"{INSIDE}{os.getpid()}").touch()
        while not Path(folder, GO_ON).exists():
            time.sleep(0.01)
        return count_part(*arguments)  # type: ignore[arg-type]

    parts.count_part = waiting  # type: ignore[assignment]
