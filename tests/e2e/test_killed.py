"""After a kill of any process no byte of a table can be read: real workers are killed while they have a table
open, and every place to which anybody could have written is searched for a cell of it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import services
from tests.e2e.plant import CANARY, Plant, Worker, running_plant
from tests.e2e.spoken import ROOT
from tests.nightly import by_day

pytestmark = [pytest.mark.services, pytest.mark.slow]
SHARED_MEMORY = Path("/dev/shm")
SPELLINGS = [CANARY.encode(coding) for coding in ("utf-8", "utf-16-le", "utf-16-be")]
OVER = ("finished", "failed", "cancelled")


@pytest.fixture(scope="module")
def the_plant() -> Iterator[Plant]:
    with contextlib.ExitStack() as stack:
        yield services.require(lambda: stack.enter_context(running_plant()))


@pytest.fixture
def plant(the_plant: Plant) -> Iterator[Plant]:
    """The plant, with nothing of a table to be read afterwards either."""
    yield the_plant
    for worker in the_plant.workers[1:]:
        worker.kill()
    assert readable(the_plant) == []


def readable(plant: Plant) -> list[Path]:
    """Files with a cell of the table: in shared memory, in TMPDIR, in var, in logs, and core dumps."""
    places = [path for place in (SHARED_MEMORY, plant.folder) for path in place.rglob("*")]
    return [path for path in [*places, *ROOT.glob("core*")] if _holds_canary(path)]


def _holds_canary(path: Path) -> bool:
    try:
        content = path.read_bytes() if path.is_file() else b""
    except OSError:  # its owner has taken it away meanwhile, or it is a socket
        return False
    return any(spelling in content for spelling in SPELLINGS)


def open_tables(worker: Worker) -> list[str]:
    """What the worker's processes hold open without a name. The test has to see it, else it would prove
    nothing."""
    links = []
    for pid in worker.processes():
        with contextlib.suppress(OSError):
            links += [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
    return [link for link in links if link.startswith("/memfd:table")]


def at(plant: Plant, point: str, begin: Callable[[], object]) -> tuple[Worker, int]:
    """A worker that stands still at a place after `begin`, and its pool child."""
    worker = plant.worker(failpoints=f"{point}:stop")
    begin()
    return worker, int(plant.wait_for(lambda: worker.child_at(point)))


RUN_POINTS = ["before-charge", "after-charge", "stage-read", "stage-measure"]
"""test_faults kills pool children at each place."""
BY_POINT = pytest.mark.parametrize(
    "point", by_day(("before-charge", "stage-measure"), RUN_POINTS)
)


@BY_POINT
def test_a_pool_child_killed_in_a_run_leaves_nothing(plant: Plant, point: str) -> None:
    codes: list[str] = []
    worker, child = at(plant, point, lambda: codes.append(plant.ask("submit")))
    assert open_tables(worker)
    os.kill(child, signal.SIGKILL)
    plant.wait_for(lambda: child not in worker.processes())
    assert readable(plant) == []
    plant.ask("let_lapse")
    found = plant.until(codes[0], *OVER)
    assert found["state"] == "finished"
    assert readable(plant) == []


@BY_POINT
def test_a_whole_worker_killed_in_a_run_leaves_nothing(plant: Plant, point: str) -> None:
    codes: list[str] = []
    worker, _ = at(plant, point, lambda: codes.append(plant.ask("submit")))
    assert open_tables(worker)
    worker.kill()
    plant.wait_for(lambda: worker.processes() == [])
    assert readable(plant) == []
    plant.ask("cancel", codes[0])


def test_a_pool_child_killed_by_a_fault_of_its_own_leaves_no_core_dump(plant: Plant) -> None:
    codes: list[str] = []
    worker, child = at(plant, "stage-measure", lambda: codes.append(plant.ask("submit")))
    os.kill(child, signal.SIGSEGV)
    os.kill(child, signal.SIGCONT)
    plant.wait_for(lambda: child not in worker.processes())
    assert readable(plant) == []
    plant.ask("let_lapse")
    plant.until(codes[0], *OVER)


def test_a_pool_child_whose_worker_was_killed_finishes_and_ends(plant: Plant) -> None:
    """What it is at has been paid for, so it is not ended; it must not live on with the table afterwards. If
    it did not get to the end, the next worker goes on."""
    codes: list[str] = []
    worker, child = at(plant, "stage-measure", lambda: codes.append(plant.ask("submit")))
    worker.kill_parent()
    assert readable(plant) == []
    # The kernel hangs up a stopped process whose group has lost its last parent: it may be gone already.
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGCONT)
    plant.wait_for(lambda: worker.processes() == [])
    assert readable(plant) == []
    plant.ask("let_lapse")
    plant.worker()
    found = plant.until(codes[0], *OVER)
    assert (found["state"], found["entries"]) == ("finished", ["HOLD", "CHARGE"])


@pytest.mark.parametrize("point", by_day(("stage-suggest",), ("stage-read", "stage-suggest")))
def test_a_pool_child_killed_in_the_check_of_an_upload_leaves_nothing(
    plant: Plant, point: str
) -> None:
    codes: list[str] = []
    worker, child = at(plant, point, lambda: codes.append(plant.ask("upload", CANARY)))
    assert open_tables(worker)
    os.kill(child, signal.SIGKILL)
    plant.wait_for(lambda: child not in worker.processes())
    assert readable(plant) == []
    plant.ask("let_lapse")
    plant.wait_for(lambda: plant.ask("jobs")[-1] == "finished")
    plant.ask("delete", codes[0])
    assert readable(plant) == []


@pytest.mark.parametrize("point", by_day(("stage-count",), ("stage-read", "stage-count")))
def test_a_pool_child_killed_in_a_comparison_leaves_nothing(plant: Plant, point: str) -> None:
    plant.worker()
    plant.until(plant.ask("submit"), "finished")
    for worker in plant.workers[1:]:
        worker.kill()
    worker, child = at(plant, point, lambda: plant.ask("report"))
    assert open_tables(worker)
    os.kill(child, signal.SIGKILL)
    plant.wait_for(lambda: child not in worker.processes())
    assert readable(plant) == []
    plant.ask("let_lapse")
    plant.wait_for(lambda: plant.ask("jobs")[-1] == "finished")


def test_the_reconciler_and_beat_killed_leave_nothing(plant: Plant) -> None:
    plant.workers[0].kill()
    assert readable(plant) == []
    plant.workers[0] = plant.reconciler()
