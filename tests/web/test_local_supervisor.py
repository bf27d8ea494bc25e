"""The supervisor of `make run`, with real processes: one that is killed is started again for as long as it
takes, and the others go on; one that cannot start at all is said, with the end of its log."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from synthweb.local import supervisor
from synthweb.local.processes import Process
from synthweb.local.supervisor import GaveUp, Stopped, Supervisor

KILLS = 8
SLEEPER = [
    sys.executable,
    "-c",
    "import os, sys, time; open(sys.argv[1], 'a').write(f'{os.getpid()}\\n'); time.sleep(600)",
]


class Stage:
    """A supervisor whose pauses are short, and what it said."""

    def __init__(self, folder: Path, *, up_after: float) -> None:
        self.folder = folder
        self.said: list[str] = []
        self.watching = Supervisor(
            logs=folder,
            folder=folder,
            environment=os.environ,
            say=self.said.append,
            first_wait=0.001,
            up_after=up_after,
        )

    def start(self, name: str, command: list[str] | None = None) -> None:
        self.watching.start(
            Process(name, command or [*SLEEPER, str(self.folder / f"{name}.pids")])
        )

    def pids(self, name: str) -> list[int]:
        """The process ids that a sleeper has had, oldest first."""
        path = self.folder / f"{name}.pids"
        return [int(line) for line in path.read_text().splitlines()] if path.exists() else []

    def until(self, happened: Callable[[], object]) -> None:
        end = time.monotonic() + 120
        self.watching.watch(lambda: bool(happened()) or time.monotonic() > end)
        assert happened(), self.said


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "PAUSE", 0.001)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path, up_after=3600)
    yield made
    made.watching.hurry()
    made.watching.stop()


@pytest.mark.slow
def test_a_process_that_is_killed_again_and_again_is_started_again_and_the_others_go_on(
    stage: Stage,
) -> None:
    """Failed before: the fifth kill ended all of them."""
    stage.start("other")
    stage.start("killed")
    for killed in range(1, KILLS + 1):
        stage.until(lambda killed=killed: len(stage.pids("killed")) == killed)  # type: ignore[misc]
        os.kill(stage.pids("killed")[-1], signal.SIGKILL)
    stage.until(lambda: len(stage.pids("killed")) == KILLS + 1)
    stage.until(lambda: stage.pids("other"))
    assert len(stage.pids("other")) == 1
    os.kill(stage.pids("other")[0], 0)
    assert len(stage.said) == KILLS
    assert stage.said[0].startswith(
        "killed was ended by signal 9 and is started again in 0.001 s"
    )
    assert f"for the {KILLS}th time in a row" in stage.said[-1]


def test_the_pause_grows_to_a_minute_and_no_further(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "LONGEST_WAIT", 0.004)
    stage.start("killed")
    for killed in range(1, 6):
        stage.until(lambda killed=killed: len(stage.pids("killed")) == killed)  # type: ignore[misc]
        os.kill(stage.pids("killed")[-1], signal.SIGKILL)
    stage.until(lambda: len(stage.said) == 5)
    assert [line.split(" again in ")[1].split(" s;")[0] for line in stage.said] == [
        "0.001",
        "0.002",
        "0.004",
        "0.004",
        "0.004",
    ]


def test_a_process_that_cannot_start_at_all_is_said_with_the_end_of_its_log(
    stage: Stage,
) -> None:
    stage.start("broken", [sys.executable, "-c", "import sys; sys.exit('there is no key')"])
    with pytest.raises(
        GaveUp, match=r"broken does not start \(exit code 1\)(.|\n)*there is no key"
    ):
        stage.until(lambda: False)
    assert len(stage.said) == supervisor.MOST_FAILED_STARTS - 1


def test_a_process_that_was_up_once_is_never_given_up(tmp_path: Path) -> None:
    stage = Stage(tmp_path, up_after=-1)  # whatever is seen running can start
    go, looks = (
        tmp_path / "go",
        iter(range(3)),
    )  # the first one runs until it has been looked at
    once = (
        "import pathlib, sys, time\nwhile not pathlib.Path(sys.argv[1]).exists():\n    time.sleep(0.05)\n"
        "sys.exit(1)"
    )
    stage.start("failing", [sys.executable, "-c", once, str(go)])
    try:
        stage.until(lambda: next(looks, None) is None)
        go.touch()
        stage.until(lambda: len(stage.said) > supervisor.MOST_FAILED_STARTS)
    finally:
        stage.watching.hurry()
        stage.watching.stop()


# --- what the first start waits for -------------------------------------------------------------------------
def never() -> bool:
    return False


def test_a_process_is_waited_for_as_long_as_it_lives(stage: Stage) -> None:
    """However long it takes: here until it has been asked a thousand times."""
    asked = iter(range(1000))
    stage.start("slow")
    stage.watching.wait_until(
        lambda: next(asked, None) is None and bool(stage.pids("slow")),
        name="slow",
        stopping=never,
    )


def test_what_is_waited_for_is_said(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(supervisor, "UNSAID_SECONDS", 0)
    asked = iter(range(3))
    stage.start("slow")
    stage.watching.wait_until(lambda: next(asked, None) is None, name="slow", stopping=never)
    assert f"until slow answers; it writes to {stage.folder / 'slow.log'} (0 s)" in " ".join(
        capsys.readouterr().out.split()
    )


def test_one_that_ends_before_it_answers_is_said_with_the_end_of_its_log(stage: Stage) -> None:
    stage.start("broken", [sys.executable, "-c", "import sys; sys.exit('there is no key')"])
    with pytest.raises(GaveUp, match=r"broken ended (.|\n)*code 1(.|\n)*there is no key"):
        stage.watching.wait_until(never, name="broken", stopping=never)


def test_ctrl_c_ends_a_wait(stage: Stage) -> None:
    """Failed before: the first start went on to its end, and stopped after it."""
    stage.start("slow")
    with pytest.raises(Stopped):
        stage.watching.wait_until(never, name="slow", stopping=lambda: bool(stage.pids("slow")))
    once = Process("once", [*SLEEPER, str(stage.folder / "once.pids")])
    with pytest.raises(Stopped):
        stage.watching.run_once(once, stopping=lambda: bool(stage.pids("once")))
    with pytest.raises(ProcessLookupError):
        os.kill(stage.pids("once")[0], 0)


def test_what_a_process_that_runs_once_writes_is_said(stage: Stage) -> None:
    ended: list[int] = []
    (stage.folder / "demo.log").write_text("of an earlier start\n")
    speaker = [sys.executable, "-c", "import sys; print('one\\ntwo'); sys.exit(3)"]
    stage.watching.start(Process("demo", speaker), at_end=ended.append)
    stage.until(lambda: ended)
    assert ended == [3]
    assert stage.said == ["demo: one", "demo: two"]
