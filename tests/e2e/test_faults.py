"""Faults, with real processes: workers killed and frozen at every place that matters, messages doubled and
lost.

After each, whatever happened: the ledger adds up and its chain verifies, a run has at most one charge, it is
over or can go on, and no release exists that was not paid for and measured.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests import services
from tests.e2e.plant import CANARY, LEASE, Plant, Worker, running_plant

pytestmark = [pytest.mark.services, pytest.mark.slow]
OVER = ("finished", "failed", "cancelled")


@pytest.fixture(scope="module")
def the_plant() -> Iterator[Plant]:
    with contextlib.ExitStack() as stack:
        yield services.require(lambda: stack.enter_context(running_plant()))


@pytest.fixture
def plant(the_plant: Plant) -> Iterator[Plant]:
    """The plant with no confidential worker; whatever a test did to it, everything must hold afterwards."""
    reconciler = the_plant.workers[0]
    yield the_plant
    for worker in the_plant.workers[1:]:
        worker.kill()
    assert the_plant.ask("faults") == []
    assert CANARY not in the_plant.logs()
    assert reconciler is the_plant.workers[0]


def frozen(plant: Plant, worker: Worker, point: str) -> int:
    """The process id of the child, once it stands still at a place."""
    return int(plant.wait_for(lambda: worker.child_at(point)))


def check_finished(found: dict[str, Any]) -> None:
    assert (found["state"], found["entries"], found["releases"]) == (
        "finished",
        ["HOLD", "CHARGE"],
        1,
    )
    # However often it was interrupted: noise was drawn once for each call.
    assert found["drawn"] == found["answered"]


def check_forfeited(found: dict[str, Any]) -> None:
    assert (found["state"], found["failure"]) == ("failed", "interrupted-after-charge")
    assert (found["entries"], found["releases"], found["answers"]) == (
        ["HOLD", "CHARGE"],
        0,
        "",
    )


def test_a_pool_child_killed_at_each_place_in_turn(plant: Plant) -> None:
    # It goes on from each stored answer, and dies with noise that is stored nowhere; then thrice with the
    # answers stored.
    forfeited = ("before-charge", "after-charge", "stored-0", "drawn-1")
    finished = ("before-store", "after-measure", "during-fit")
    worker = plant.worker(failpoints=",".join(forfeited + finished))
    for points, check in ((forfeited, check_forfeited), (finished, check_finished)):
        code = plant.ask("submit")
        for point in points:
            plant.wait_for(lambda point=point: worker.child_at(point))  # type: ignore[misc]
            plant.ask("let_lapse")
        check(plant.until(code, *OVER))


def test_a_whole_worker_killed_at_each_place_in_turn(plant: Plant) -> None:
    for points in (("before-charge", "after-charge", "stored-1"), ("begun-0",)):
        code = plant.ask("submit")
        for point in points:
            worker = plant.worker(failpoints=f"{point}:stop")
            frozen(plant, worker, point)
            worker.kill()
            if point != "begun-0":  # after that one, the lease ends by itself
                plant.ask("let_lapse")
        last = plant.worker()
        found = plant.until(code, *OVER)
        (check_forfeited if points == ("begun-0",) else check_finished)(found)
        last.kill()
    second = plant.ask("submit")
    answers = set()
    for point in ("after-measure", "during-fit"):
        worker = plant.worker(failpoints=f"{point}:stop")
        frozen(plant, worker, point)
        answers.add(plant.ask("look", second)["answers"])
        worker.kill()
        plant.ask("let_lapse")
    plant.worker()
    found = plant.until(second, *OVER)
    check_finished(found)
    assert answers == {found["answers"]}


def test_a_paid_run_begins_before_free_work_that_was_asked_for_earlier(plant: Plant) -> None:
    first = plant.ask("submit")
    worker = plant.worker()
    check_finished(plant.until(first, *OVER))
    worker.kill()
    before = plant.ask("begun", first)
    plant.ask("derive")
    second = plant.ask("submit")
    plant.worker()
    check_finished(plant.until(second, *OVER))
    plant.wait_for(lambda: plant.ask("begun", second) is not None)
    assert plant.ask("begun", second) == before


def test_five_copies_of_a_message_for_two_workers_are_one_charge(plant: Plant) -> None:
    code = plant.ask("submit")
    plant.ask("send", code, 5)
    plant.worker()
    plant.worker()
    found = plant.until(code, *OVER)
    check_finished(found)
    time.sleep(1)
    assert (
        plant.ask("look", code)["token"] == found["token"]
    )  # the copies that came late claimed nothing


def test_a_worker_frozen_before_its_charge_wakes_up_after_another_finished(
    plant: Plant,
) -> None:
    zombie = plant.worker(failpoints="before-charge:stop")
    code = plant.ask("submit")
    child = frozen(plant, zombie, "before-charge")
    plant.worker()
    found = plant.until(code, *OVER)
    check_finished(found)
    os.kill(child, signal.SIGCONT)
    plant.wait_for(lambda: "taken over or cancelled" in zombie.log.read_text())
    assert plant.ask("look", code) == found


@pytest.mark.parametrize("point", ["after-charge", "stored-0", "drawn-1"])
def test_a_worker_frozen_after_its_charge_wakes_up_after_another_ended_the_run(
    plant: Plant, point: str
) -> None:
    zombie = plant.worker(failpoints=f"{point}:stop")
    code = plant.ask("submit")
    child = frozen(plant, zombie, point)
    plant.ask("let_lapse")
    plant.worker()
    found = plant.until(code, *OVER)
    (check_forfeited if point == "drawn-1" else check_finished)(found)
    os.kill(child, signal.SIGCONT)
    plant.wait_for(lambda: "taken over or cancelled" in zombie.log.read_text())
    assert plant.ask("look", code) == found


def test_a_run_cancelled_under_its_worker_keeps_its_charge_and_gets_no_release(
    plant: Plant,
) -> None:
    worker = plant.worker(failpoints="before-store:stop")
    code = plant.ask("submit")
    child = frozen(plant, worker, "before-store")
    plant.ask("cancel", code)
    os.kill(child, signal.SIGCONT)
    plant.wait_for(lambda: "taken over or cancelled" in worker.log.read_text())
    found = plant.ask("look", code)
    assert (found["state"], found["entries"], found["releases"]) == (
        "cancelled",
        ["HOLD", "CHARGE"],
        0,
    )


def test_a_database_that_cuts_every_connection_after_the_draw_loses_nothing(
    plant: Plant,
) -> None:
    worker = plant.worker(failpoints="before-store:stop", lease=60)
    code = plant.ask("submit")
    child = frozen(plant, worker, "before-store")
    plant.ask("cut_connections")
    os.kill(child, signal.SIGCONT)
    check_finished(plant.until(code, *OVER))


def test_a_broker_that_dies_with_its_queues_loses_nothing(plant: Plant) -> None:
    before = plant.ask("submit")
    plant.kill_redis()
    during = plant.ask("submit")
    assert not plant.ask("sent", during)
    plant.start_redis()
    plant.worker()
    for code in (before, during):
        check_finished(plant.until(code, *OVER))


def test_a_disk_that_is_full_before_the_charge_costs_nothing(plant: Plant) -> None:
    """Failed before: the budget was charged and the answers were lost."""
    worker = plant.worker(failpoints="stage-open:stop", lease=60)
    code = plant.ask("submit")
    child = frozen(plant, worker, "stage-open")
    worker.limit_files(child, 1_000)
    os.kill(child, signal.SIGCONT)
    found = plant.until(code, *OVER)
    assert (found["state"], found["failure"], found["entries"]) == (
        "failed",
        "no-room",
        ["HOLD", "RELEASE"],
    )


def test_a_disk_that_is_full_after_the_draw_costs_only_time(plant: Plant) -> None:
    """Failed before: one try, and what was paid for was gone."""
    worker = plant.worker(failpoints="before-store:stop", lease=60)
    code = plant.ask("submit")
    child = frozen(plant, worker, "before-store")
    worker.limit_files(child, 100)
    os.kill(child, signal.SIGCONT)
    plant.wait_for(lambda: plant.ask("say_waiting", code))
    assert plant.ask("look", code)["state"] == "charged"
    worker.limit_files(child, -1)
    check_finished(plant.until(code, *OVER))


@pytest.mark.parametrize(
    ("point", "seconds"),
    [
        ("before-store", 3600),
        ("before-charge", -1800),
        pytest.param("before-charge", 3600, marks=pytest.mark.nightly),
        pytest.param("before-store", -1800, marks=pytest.mark.nightly),
    ],
)
def test_a_step_of_the_databases_clock_neither_ends_a_living_run_nor_keeps_a_dead_one(
    plant: Plant, point: str, seconds: int
) -> None:
    """Failed before: a clock set forward ended the run that was charged; a clock set back kept the held one
    of a dead worker."""
    plant.ask("step_clock", 0)
    plant.ask("cut_connections")  # those of before still have the old search path
    worker = plant.worker(failpoints=f"{point}:stop", lease=30)
    code = plant.ask("submit")
    child = frozen(plant, worker, point)
    before = plant.ask("database_seconds")
    plant.ask("step_clock", seconds)
    assert abs(plant.ask("database_seconds") - before - seconds) < 300
    os.kill(child, signal.SIGCONT)
    check_finished(plant.until(code, *OVER))
    worker.kill()
    dead = plant.worker(failpoints="before-charge:stop")
    stranded = plant.ask("submit")
    frozen(plant, dead, "before-charge")
    plant.ask("step_clock", 0 if seconds > 0 else 2 * seconds)
    dead.kill()
    plant.worker()
    check_finished(plant.until(stranded, *OVER))
    plant.ask("step_clock", 0)


# --- a deployment -------------------------------------------------------------------------------------------
def test_a_worker_that_is_asked_to_stop_finishes_its_run_and_takes_no_other(
    plant: Plant,
) -> None:
    """As compose and systemd stop it while the next version starts. Its child stands with noise that is
    stored nowhere: whoever killed it now would lose the run."""
    old = plant.worker(failpoints="drawn-1:stop", lease=60)
    first = plant.ask("submit")
    child = frozen(plant, old, "drawn-1")
    old.ask_to_stop()
    plant.wait_for(lambda: "Warm shutdown" in old.log.read_text())
    second = plant.ask("submit")
    plant.worker()
    check_finished(plant.until(second, *OVER))
    before = plant.ask("look", first)
    assert (before["state"], old.code()) == ("charged", None)
    os.kill(child, signal.SIGCONT)
    check_finished(found := plant.until(first, *OVER))
    assert found["token"] == before["token"]  # nobody else was at it
    assert plant.wait_for(lambda: [old.code()] if old.code() is not None else None) == [0]
    assert old.processes() == []


def test_a_worker_that_does_not_stop_in_time_is_killed_and_the_next_version_goes_on(
    plant: Plant,
) -> None:
    old = plant.worker(failpoints="stored-1:stop")
    code = plant.ask("submit")
    frozen(plant, old, "stored-1")
    old.ask_to_stop()
    plant.wait_for(lambda: "Warm shutdown" in old.log.read_text())
    old.kill()  # the time for stopping is over
    plant.ask("let_lapse")
    plant.worker()
    check_finished(plant.until(code, *OVER))


# --- a restart of the database ------------------------------------------------------------------------------
@pytest.mark.parametrize("point", ["before-charge", "drawn-1", "before-store"])
def test_a_database_that_is_killed_and_started_again_loses_nothing(
    plant: Plant, point: str
) -> None:
    """Before the charge, with noise in memory and with all answers in memory. Whoever works waits for it;
    beat and the reconciler, whose connections it cut, go on, too."""
    # Before the charge it leaves the run to the next one, after a lease.
    lease = LEASE if point == "before-charge" else 60
    worker = plant.worker(failpoints=f"{point}:stop", lease=lease)
    code = plant.ask("submit")
    child = frozen(plant, worker, point)
    plant.database.kill()
    os.kill(child, signal.SIGCONT)
    time.sleep(1)
    plant.database.start()
    found = plant.until(code, *OVER)
    check_finished(found)


# --- a dataset and a person that go -------------------------------------------------------------------------
def test_a_dataset_is_not_deleted_under_a_run_and_whoever_left_sees_no_release_of_it(
    plant: Plant,
) -> None:
    worker = plant.worker(failpoints="drawn-1:stop", lease=60)
    code = plant.ask("submit")
    child = frozen(plant, worker, "drawn-1")
    assert plant.ask("refuses_deletion")
    plant.ask("set_active", False)
    os.kill(child, signal.SIGCONT)
    check_finished(plant.until(code, *OVER))
    assert not plant.ask("sees", code)
    plant.ask("set_active", True)
    assert plant.ask("sees", code)


# --- no memory ----------------------------------------------------------------------------------------------
def test_a_worker_without_memory_keeps_the_charge_and_says_nothing_of_the_data(
    plant: Plant,
) -> None:
    """The pool child gets no page more before it reads a row. Whether it can still say that the run failed,
    or dies of it so that the next one goes on, is its libraries' matter; the fixture looks for cells in every
    log."""
    worker = plant.worker(failpoints="after-charge:stop")
    code = plant.ask("submit")
    child = frozen(plant, worker, "after-charge")
    worker.limit_memory(child, 0)
    os.kill(child, signal.SIGCONT)
    found = plant.until(code, *OVER)
    assert found["entries"] == ["HOLD", "CHARGE"]
    if found["state"] == "finished":
        check_finished(found)
    else:
        assert (found["state"], found["releases"], found["drawn"]) == ("failed", 0, 0)
