"""Threads that cannot be waited for in vain.

A thread that gets no memory may end before it runs, or between a computation and the notice of its end.
`threading` and `concurrent.futures` then wait for it for ever, and a worker keeps its run while its
heartbeats go on. Here whoever waits looks now and then whether the threads still run, and raises MemoryError
if one does not.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")

LOOK_SECONDS = 1.0
"""Between two looks of a waiting thread at those that it waits for."""
START_LOOKS = 60
"""A thread that has not begun by then has ended. Looks and not seconds: a process that is frozen for hours
loses one."""


class Thread:
    """A thread that has begun. Unlike `threading.Thread.start`, which waits without end for one that has no
    memory."""

    def __init__(self, function: Callable[[], object]) -> None:
        """Begin. Raises RuntimeError if the system starts no thread, MemoryError if it ends before it
        runs."""
        self._function = function
        self._began, self._ended = threading.Event(), threading.Event()
        self._is_over = False
        _thread.start_new_thread(self._run, ())
        if not any(self._began.wait(LOOK_SECONDS) for _ in range(START_LOOKS)):
            raise MemoryError

    def _run(self) -> None:
        try:
            self._began.set()
            self._function()
        finally:
            # First what needs no memory; an event's lock may need some.
            self._is_over = True
            self._ended.set()

    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self._is_over

    def join(self, *, seconds: float) -> None:
        """Wait for its end, for as long as this at most."""
        if not self._is_over:
            self._ended.wait(seconds)


class Job(Generic[Result]):
    """One call that a thread of a pool makes."""

    def __init__(self, pool: Pool, call: Callable[[], Result]) -> None:
        self._pool, self._call = pool, call
        self._done = threading.Event()
        self._value: Result
        self._error: BaseException | None = None

    def run(self) -> None:
        """Make the call, in this thread."""
        try:
            self._value = self._call()
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            self._error = error
        self._done.set()

    def result(self) -> Result:
        """Wait for it. Raises what the call raised, and MemoryError if a thread of its pool has ended."""
        while not self._done.wait(LOOK_SECONDS):
            self._pool.require_life()
        if self._error is not None:
            raise self._error
        return self._value


class Pool:
    """Some threads of one computation. They begin with its first job, and end with its `with` block."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._closed = False

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        for thread in self._threads:
            while not thread.is_over():
                thread.join(seconds=LOOK_SECONDS)

    def close(self) -> None:
        """Begin no more jobs, and wait for none: what is being computed ends by itself."""
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)

    def submit(
        self, function: Callable[..., Result], *arguments: Any, **named: Any
    ) -> Job[Result]:
        """Have a thread call the function."""
        job: Job[Result] = Job(self, lambda: function(*arguments, **named))
        self._jobs.put(job)
        if len(self._threads) < self._size:
            self._threads.append(Thread(self._work))
        return job

    def map(
        self, function: Callable[..., Result], *arguments: Iterable[Any]
    ) -> Iterator[Result]:
        """The results for each list of arguments, in order. All calls are handed out at once."""
        jobs = [self.submit(function, *each) for each in zip(*arguments, strict=True)]
        return (job.result() for job in jobs)

    def require_life(self) -> None:
        """Raises MemoryError if a thread has ended: its job may never be done."""
        if any(thread.is_over() for thread in self._threads):
            raise MemoryError

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not self._closed:
                job.run()
