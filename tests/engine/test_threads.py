"""Threads that cannot be waited for in vain: what a process without memory does, and what whoever waits is
told."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable

import pytest

from synth_engine import threads
from synth_engine.threads import Pool, Thread

# Each child has used threads before, so that the stacks of new ones need no memory, and then gets none but a
# few objects. How it ends is its libraries' matter; that it ends is ours.
WITHOUT_MEMORY = textwrap.dedent(
    """
    import os, psutil, resource, sys, time
    from synth_engine import threads

    threads.LOOK_SECONDS = 0.02

    def work():
        with threads.Pool(2) as pool:
            return [job.result() for job in [pool.submit(len, "a" * size) for size in range(8)]]

    def starve(spare):
        size = psutil.Process().memory_info().vms
        resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
        taken = []
        try:
            while True:
                taken.append(bytes(400))
        except MemoryError:
            del taken[-spare:]
        return taken

    children = set()
    for spare in range(1, 41, 2):
        child = os.fork()
        if not child:
            try:
                work()
                taken = starve(spare)
                work()
            finally:
                os._exit(0)
        children.add(child)
    end = time.monotonic() + 240
    while children:
        children -= {child for child in children if os.waitpid(child, os.WNOHANG)[0]}
        if children and time.monotonic() > end:
            for child in children:
                os.kill(child, 9)
                os.waitpid(child, 0)
            sys.exit("a child without memory went on")
        time.sleep(0.01)
    """
)


def test_a_process_without_memory_ends() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_MEMORY], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]


def test_results_come_in_order_and_errors_where_they_are_asked_for() -> None:
    def inverse(number: int) -> float:
        return 1 / number

    with Pool(3) as pool:
        assert list(pool.map(pow, range(50), [2] * 50)) == [number**2 for number in range(50)]
        job = pool.submit(inverse, 0)
        with pytest.raises(ZeroDivisionError):
            job.result()
        assert pool.submit(inverse, 2).result() == 0.5


def test_the_block_ends_when_all_that_was_begun_has_ended() -> None:
    go_on, ended = threading.Event(), []

    def work() -> None:
        go_on.wait()
        ended.append(True)

    with Pool(1) as pool:
        pool.submit(work)
        go_on.set()
    assert ended == [True]


def test_a_pool_that_is_closed_begins_nothing_more() -> None:
    go_on, begun, ran = threading.Event(), threading.Event(), []
    with Pool(1) as pool:
        first = pool.submit(lambda: (begun.set(), go_on.wait()))
        pool.submit(ran.append, True)
        begun.wait()
        pool.close()
        go_on.set()
        first.result()
    assert ran == []


def test_a_thread_that_ends_without_an_answer_is_noticed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def die(_: object) -> None:
        raise SystemExit

    monkeypatch.setattr(threads, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(threads.Job, "run", die)
    with Pool(1) as pool:
        job = pool.submit(len, "")
        with pytest.raises(MemoryError):
            job.result()


def test_a_thread_that_never_begins_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(_function: Callable[[], None], _arguments: tuple[()]) -> int:
        return 0

    monkeypatch.setattr(threads, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr("_thread.start_new_thread", no_thread)
    with pytest.raises(MemoryError):
        Thread(lambda: None)
    with Pool(1) as pool, pytest.raises(MemoryError):
        pool.submit(len, "")


def test_a_thread_says_when_it_is_over() -> None:
    go_on = threading.Event()
    thread = Thread(go_on.wait)
    assert not thread.is_over()
    go_on.set()
    thread.join(seconds=60)
    assert thread.is_over()
