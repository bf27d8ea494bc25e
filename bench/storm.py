"""Runs whose workers are killed at a time uniform over their charged stage, and what became of them.

    python bench/storm.py [--kills 100] [--method independent] [--records 0] [--database sqlite] [--processor]
        [--minutes 60] [--faults kill freeze cut]

Builds an installation in a temporary folder (SQLite, or a PostgreSQL server of its own) with the example table, repeated to so
many records. First some runs that nobody kills say how long the time from charge to stored answers is, and for which share of it
noise is drawn that is not yet written. Then, for each kill, a child of this process takes a new run and gets the signal at a
time drawn uniformly over somewhat more than the longest of the newest of these times; another child goes on with the run. Kills
that come after the answers were stored are not counted, so those that count are uniform over the charged stage of their run.
--processor: by the processor time of the worker in place of the clock, for machines on which others work, too; waiting for the
disk, in which no noise is drawn, then has no share. --minutes: after so many no more runs are taken. --faults: on PostgreSQL,
workers are also frozen until another one has been at their run, or their connections are cut; which of these is drawn for each
run. The last line is

    stuck 0 overspent 0 double 0 forfeited 3 of 100

stuck: not at an end; overspent: an account beyond its grants, or a chain of entries that is broken; double: another number of calls
begun than the receipt has, or more than one charge. Exit code 1 if one of these three is not 0.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from pages import PASSWORD, begin, example

MEASURED = 5
"""Runs that nobody kills."""
LONGER = 1.25
"""Kills are drawn over so many times the longest of the newest of them: else a run that takes longer is never killed near its end."""
EPSILON = "0.5"
LIMIT = 10**15


def people() -> tuple[Any, Any, Any]:
    """A steward, a custodian and their organisation."""
    from synthweb.accounts import services
    from synthweb.accounts.models import Role

    organisation = services.create_organisation(actor="system", name="Statistics Office")

    def person(role: Role) -> Any:
        return services.create_user(
            actor="system",
            organisation=organisation,
            person=services.NewPerson(username=role.value),
            roles=[role],
            password=PASSWORD,
            must_change_password=False,
        )

    return person(Role.STEWARD), person(Role.CUSTODIAN), organisation


def dataset_of(records: int) -> tuple[Any, Any]:
    """The example table, described and with a large budget, and its steward."""
    from synthweb.datasets import services as datasets
    from synthweb.ledger import services as ledger
    from synthweb.ledger.amounts import Amount
    from synthweb.ledger.models import Rule
    from synthweb.runs import services as runs
    from synthweb.runs import worker

    steward, custodian, organisation = people()
    packed, _, document = example()
    header, *lines = gzip.decompress(packed).splitlines(keepends=True)
    wanted = records or len(lines)
    repeated = (lines * (wanted // len(lines) + 1))[:wanted]
    made = datasets.store_stream(
        steward=steward,
        organisation=organisation,
        name="Example",
        file_kind="csv",
        chunks=[header, *repeated],
    )
    worker.table_errand(code=runs.request_ingest(dataset=made, actor=steward).code)
    made.refresh_from_db()
    datasets.declare_domain(actor=steward, dataset=made, document=document)
    terms = ledger.Terms(rule=Rule.BASIC, amount=Amount(epsilon=LIMIT, delta=10**15))
    request = ledger.request_budget(steward=steward, dataset=made, terms=terms, reason="Storm.")
    ledger.grant(custodian=custodian, request=request, reason="Agreed.")
    return made, steward


def submitted(dataset: Any, steward: Any, method: str) -> Any:
    from synth_engine.spec import Spec
    from synthweb.runs import services

    spec = Spec.from_json({"mechanism": method, "epsilon": EPSILON, "delta": "1e-9"})
    return services.submit(steward=steward, dataset=dataset, spec=spec, name="Storm")


def in_child(code: str, reach: Callable[[str], None]) -> None:
    """A child that takes the run, until it ends."""
    os.waitpid(started_child(code, reach), 0)


def started_child(code: str, reach: Callable[[str], None]) -> int:
    """The process id of a child that takes the run."""
    from django.db import connections

    connections.close_all()
    child = os.fork()
    if child == 0:
        from synthweb.runs import failpoints, worker

        failpoints.reach = reach  # type: ignore[assignment]
        try:
            worker.synthesize(code=code)
        finally:
            os._exit(0)
    return child


class Stopwatch:
    """How many seconds one run takes from charge to stored answers, and in how many of them noise is drawn and not yet written.
    A child of the process that asks notes them."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path, self.clock = path, clock
        self._charged = self._begun = self._drawing = 0.0

    @property
    def is_over(self) -> bool:
        return self._path.exists()

    @property
    def times(self) -> tuple[float, float]:
        charged, drawing = map(float, self._path.read_text().split())
        return charged, drawing

    def note(self, point: str) -> None:
        from synthweb.runs import failpoints

        now = self.clock()
        if point == failpoints.AFTER_CHARGE:
            self._charged = now
        elif point.startswith(failpoints.CALL_BEGUN):
            self._begun = now
        elif point.startswith(failpoints.CALL_DRAWN):
            self._drawing += now - self._begun
        elif point == failpoints.AFTER_MEASURE:
            self._path.write_text(f"{now - self._charged} {self._drawing}")


def killed(run: Any, seconds: float, watch: Stopwatch) -> bool:
    """Kill the worker of a run so long after its charge, and have another one go on; whether that was before its answers were
    stored."""
    from synthweb.runs import failpoints

    def alarm(point: str) -> None:
        watch.note(point)
        if point == failpoints.AFTER_CHARGE:
            # The default action of the signal ends the process at once, as SIGKILL does.
            timer = (
                signal.ITIMER_PROF if watch.clock is time.process_time else signal.ITIMER_REAL
            )
            signal.setitimer(timer, max(seconds, 1e-6))

    in_child(run.code, alarm)
    return taken_over(run)


def frozen(run: Any, seconds: float, watch: Stopwatch) -> bool:
    """Freeze the worker instead, which wakes up when another one has been at the run."""
    child = charged_child(run, watch)
    time.sleep(seconds)
    os.kill(child, signal.SIGSTOP)
    is_counted = taken_over(run)
    os.kill(child, signal.SIGCONT)
    os.waitpid(child, 0)
    return is_counted


def cut_off(run: Any, seconds: float, watch: Stopwatch) -> bool:
    """Cut the worker's connections to PostgreSQL instead; another one goes on if it gave up."""
    from django.db import connection

    child = charged_child(run, watch)
    time.sleep(seconds)
    run.refresh_from_db()
    is_counted = run.state == run.State.CHARGED
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    os.waitpid(child, 0)
    taken_over(run)
    return bool(is_counted)


def charged_child(run: Any, watch: Stopwatch) -> int:
    """The process id of a child that has just charged the run."""
    from synthweb.runs import failpoints

    reading, writing = os.pipe()

    def told(point: str) -> None:
        watch.note(point)
        if point == failpoints.AFTER_CHARGE:
            os.write(writing, b".")

    child = started_child(run.code, told)
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
    return child


def taken_over(run: Any) -> bool:
    """Free the run as if its worker had been silent for a lease, and have another one take it. False if its answers are stored."""
    run.refresh_from_db()
    is_charged = run.state == run.State.CHARGED
    if is_charged:
        type(run).objects.filter(pk=run.pk).update(lease_held=False)
        in_child(run.code, lambda _: None)
        run.refresh_from_db()
    return bool(is_charged)


FAULTS = {"kill": killed, "freeze": frozen, "cut": cut_off}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--method", default="independent")
    parser.add_argument("--records", type=int, default=0)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=["kill"])
    options = parser.parse_args()
    if options.faults != ["kill"] and (options.database == "sqlite" or options.processor):
        parser.error("workers are frozen and cut off on PostgreSQL alone, and by the clock")
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        address = ""
        if options.database == "postgresql":
            from tests import services

            address = stack.enter_context(services.start_postgres())
        begin(Path(name), database=address)
        return storm(options, Path(name))


def storm(options: argparse.Namespace, folder: Path) -> int:
    from synth_engine import pipeline
    from synthweb.ledger import chain
    from synthweb.ledger.models import LedgerEntry

    pipeline.warm_up()
    dataset, steward = dataset_of(options.records)
    clock = time.process_time if options.processor else time.monotonic
    times, runs = [], []
    forfeits: dict[str, list[bool]] = {}
    ends = time.monotonic() + 60 * options.minutes
    while len(runs) < options.kills and time.monotonic() < ends:
        run = submitted(dataset, steward, options.method)
        watch = Stopwatch(folder / run.code, clock)
        if len(times) < MEASURED:
            in_child(run.code, watch.note)
            times.append(watch.times)
            continue
        # A machine may become slower: those that were not killed say how long a run takes now.
        longest = LONGER * max(charged for charged, _ in times[-MEASURED:])
        fault = random.choice(options.faults)
        if FAULTS[fault](run, random.uniform(0, longest), watch):
            runs.append(run)
            forfeits.setdefault(fault, []).append(run.state == run.State.FAILED)
        elif watch.is_over:
            times.append(watch.times)
    typical = statistics.median(charged for charged, _ in times)
    share = sum(drawing for _, drawing in times) / sum(charged for charged, _ in times)
    print(
        f"{options.method}: {typical:.2f} s from charge to stored answers, {share:.1%} of it noise is drawn"
    )
    for fault, failed in forfeits.items():
        print(f"{fault}: forfeited {sum(failed)} of {len(failed)}")
    stuck = sum(run.is_open for run in runs)
    forfeited = sum(map(sum, forfeits.values()))
    charges = LedgerEntry.objects.filter(kind="CHARGE")
    double = sum(charges.filter(run_code=run.code).count() != 1 for run in runs) + sum(
        run.calls_begun != len(run.release.receipt["calls"]) for run in runs if run.release
    )
    account = runs[0].account
    overspent = int(
        account.epsilon_held + account.epsilon_charged > LIMIT
        or not chain.verify(account).intact
    )
    print(
        f"stuck {stuck} overspent {overspent} double {double} forfeited {forfeited} of {len(runs)}"
    )
    return int(bool(stuck or overspent or double))


if __name__ == "__main__":
    sys.exit(main())
