"""Clocks that are set forward or back, of the database and of the web's own machine, neither end the lease of
a worker that lives nor keep that of one that is gone.

The database's clock is the function of that name which the database itself calls; here it is shadowed by one
that can be set. tests/e2e/test_faults.py does the same to a PostgreSQL under real workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from synthweb.datasets.models import Dataset
from synthweb.ledger import services as ledger
from synthweb.runs import leases, reconcile, worker
from synthweb.runs.models import OutboxMessage, SynthesisRun, TableJob
from tests.cast import Cast
from tests.web import scene

State = SynthesisRun.State
pytestmark = pytest.mark.django_db
STEPS = [timedelta(hours=1), timedelta(minutes=-30)]
SHADOW = """
    CREATE SCHEMA stepped;
    CREATE TABLE stepped.clock (step interval NOT NULL);
    INSERT INTO stepped.clock VALUES ('0');
    CREATE FUNCTION stepped.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
        AS 'SELECT pg_catalog.statement_timestamp() + step FROM stepped.clock';
    SET LOCAL search_path = stepped, pg_catalog, public;
"""


class Clock:
    """The wall clock, which can be set, and the monotonic clock of a reconciler, which cannot."""

    def __init__(self) -> None:
        self.step = timedelta(0)
        self.monotonic = 5000.0

    def wall(self) -> datetime:
        return datetime.now(UTC) + self.step

    def set(self, step: timedelta) -> None:
        """Set the wall clock of the database and of this process."""
        self.step = step
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("UPDATE stepped.clock SET step = %s", [step])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """A clock of this test's own, with the database's in its place."""
    made = Clock()
    monkeypatch.setattr(timezone, "now", made.wall)
    connection.ensure_connection()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(SHADOW)
        yield made
        return
    raw = connection.connection
    raw.create_function(
        "STRFTIME", 2, lambda form, _when: made.wall().strftime(form.replace("%f", "%S.%f"))
    )
    yield made
    connection.close()  # the function goes with its connection


@pytest.fixture
def run(cast: Cast) -> SynthesisRun:
    return scene.submit(steward=cast.steward, dataset=scene.funded(cast))


def database_time() -> datetime:
    """What the database takes for the time, by the very expression that the application uses."""
    rows = Dataset.objects.annotate(now=Now()).values_list("now", flat=True)
    found = rows.first()
    assert found is not None
    return found


def lease_passes(
    clock: Clock, watch: leases.Watch, *, beat: Callable[[], object] = lambda: None
) -> list[int]:
    """A lease's time, in passes of the reconciler; how many interrupted runs each ended."""
    ended = []
    for _ in range(leases.BEATS_A_LEASE + 1):
        ended.append(reconcile.reconcile(watch).interrupted)
        clock.monotonic += settings.RUN_LEASE_SECONDS / leases.BEATS_A_LEASE
        beat()
    return ended


def held(run: SynthesisRun, state: str) -> leases.Lease:
    """A worker has claimed the run and brought it to `state`."""
    lease = leases.claim(SynthesisRun.objects.get(pk=run.pk))
    assert lease is not None
    if state == State.CHARGED:
        ledger.charge(run_code=run.code)
        SynthesisRun.objects.filter(pk=run.pk).update(state=state)
    return lease


@pytest.mark.parametrize("step", STEPS, ids=["forward", "back"])
def test_the_clock_of_these_tests_is_the_databases_own(
    clock: Clock, run: SynthesisRun, step: timedelta
) -> None:
    before = database_time()
    clock.set(step)
    assert abs(database_time() - before - step) < timedelta(minutes=5)


@pytest.mark.parametrize("state", [State.HELD, State.CHARGED])
@pytest.mark.parametrize("step", STEPS, ids=["forward", "back"])
def test_a_living_worker_keeps_its_run_when_the_clock_is_set(
    clock: Clock, run: SynthesisRun, step: timedelta, state: str
) -> None:
    """Failed before for a step forward: the run failed and its budget was gone."""
    lease, watch = held(run, state), leases.Watch(clock=lambda: clock.monotonic)
    reconcile.reconcile(watch)
    clock.set(step)
    assert set(lease_passes(clock, watch, beat=lambda: leases.extend(lease))) == {0}
    assert leases.claim(SynthesisRun.objects.get(pk=run.pk)) is None
    found = SynthesisRun.objects.get(pk=run.pk)
    assert (found.state, found.lease_held, found.lease_token) == (state, True, lease.token)


@pytest.mark.parametrize("step", STEPS, ids=["forward", "back"])
def test_a_held_run_whose_worker_is_gone_is_taken_over_whatever_the_clock_says(
    clock: Clock, run: SynthesisRun, step: timedelta
) -> None:
    """Failed before for a clock that was set back: nobody could claim it until the clock had caught up."""
    held(run, State.HELD)
    message = OutboxMessage.objects.get(subject_code=run.code)
    OutboxMessage.objects.filter(pk=message.pk).update(sent_at=Now(), times_sent=1)
    watch = leases.Watch(clock=lambda: clock.monotonic)
    reconcile.reconcile(watch)
    clock.set(step)
    lease_passes(clock, watch)
    assert (
        OutboxMessage.objects.get(pk=message.pk).sent_at is None
    )  # sent; nobody listens in these tests
    worker.synthesize(code=run.code)
    assert SynthesisRun.objects.get(pk=run.pk).state == State.FINISHED


@pytest.mark.parametrize("step", STEPS, ids=["forward", "back"])
def test_a_charged_run_whose_worker_is_gone_fails_after_one_lease_whatever_the_clock_says(
    clock: Clock, run: SynthesisRun, step: timedelta
) -> None:
    held(run, State.CHARGED)
    watch = leases.Watch(clock=lambda: clock.monotonic)
    clock.set(step)
    assert lease_passes(clock, watch) == [0] * leases.BEATS_A_LEASE + [1]


@pytest.mark.parametrize("step", STEPS, ids=["forward", "back"])
def test_an_upload_is_read_and_its_job_taken_over_whatever_the_clock_says(
    clock: Clock, cast: Cast, step: timedelta
) -> None:
    made = scene.upload(steward=cast.steward, organisation=cast.organisation, name="Left alone")
    assert leases.claim(made.table_jobs.get()) is not None
    clock.set(step)
    lease_passes(clock, leases.Watch(clock=lambda: clock.monotonic))
    job = TableJob.objects.get(dataset=made)
    assert leases.claim(job) is not None


def test_an_outage_of_the_database_gives_a_living_worker_time_to_show_that_it_lives(
    clock: Clock, run: SynthesisRun
) -> None:
    """The reconciler could look at nothing for an hour, and neither could the worker's heartbeats be
    written."""
    lease, watch = held(run, State.CHARGED), leases.Watch(clock=lambda: clock.monotonic)
    reconcile.reconcile(watch)
    clock.monotonic += 3600
    assert reconcile.reconcile(watch).interrupted == 0
    assert leases.extend(lease)
    assert set(lease_passes(clock, watch, beat=lambda: leases.extend(lease))) == {0}


def test_a_worker_that_was_slow_takes_its_run_back_if_nobody_has_claimed_it(
    run: SynthesisRun,
) -> None:
    lease = held(run, State.HELD)
    SynthesisRun.objects.filter(pk=run.pk).update(lease_held=False)
    assert leases.extend(lease)
    assert leases.claim(SynthesisRun.objects.get(pk=run.pk)) is None
