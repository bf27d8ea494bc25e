"""Runs whose workers are killed at a time uniform over their charged stage, and what became of them.

    python bench/storm.py [--kills 100] [--method independent] [--records 0] [--database sqlite] [--processor]

Builds an installation in a temporary folder (SQLite, or a PostgreSQL server of its own) with the example table, repeated to so
many records. First some runs that nobody kills say how long the time from charge to stored answers is, and for which share of it
noise is drawn that is not yet written. Then, for each kill, a child of this process takes a new run and gets the signal at a
time drawn uniformly over somewhat more than the longest of these times; another child goes on with the run. Kills that come after
the answers were stored are not counted, so those that count are uniform over the charged stage of their run. --processor: by
the processor time of the worker in place of the clock, for machines on which others work, too; waiting for the disk, in which no
noise is drawn, then has no share. The last line is

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
"""Kills are drawn over so many times the longest of them: else a run that takes longer would never be killed near its end."""
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


def in_child(code: str, reach: Callable[[str], None]) -> int:
    """A child that takes the run. Returns its exit code, negative for a signal."""
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
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def charged_times(
    dataset: Any, steward: Any, options: argparse.Namespace, folder: Path
) -> list[tuple[float, float]]:
    """How many seconds runs take from charge to stored answers, and in how many of them noise is drawn and not yet written."""
    clock = time.process_time if options.processor else time.monotonic
    times = []
    for number in range(MEASURED):
        path = folder / f"times-{number}"
        run = submitted(dataset, steward, options.method)
        in_child(run.code, Stopwatch(path, clock).note)
        charged, drawing = map(float, path.read_text().split())
        times.append((charged, drawing))
    return times


class Stopwatch:
    """Writes both times of one run to a file."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path, self._clock = path, clock
        self._charged = self._begun = self._drawing = 0.0

    def note(self, point: str) -> None:
        from synthweb.runs import failpoints

        now = self._clock()
        if point == failpoints.AFTER_CHARGE:
            self._charged = now
        elif point.startswith(failpoints.CALL_BEGUN):
            self._begun = now
        elif point.startswith(failpoints.CALL_DRAWN):
            self._drawing += now - self._begun
        elif point == failpoints.AFTER_MEASURE:
            self._path.write_text(f"{now - self._charged} {self._drawing}")


def killed(run: Any, seconds: float, *, timer: int) -> bool:
    """Kill the worker of a run so long after its charge; whether that was before its answers were stored."""
    from synthweb.runs import failpoints
    from synthweb.runs.models import SynthesisRun

    def alarm(point: str) -> None:
        if point == failpoints.AFTER_CHARGE:
            # The default action of the signal ends the process at once, as SIGKILL does.
            signal.setitimer(timer, max(seconds, 1e-6))

    in_child(run.code, alarm)
    run.refresh_from_db()
    SynthesisRun.objects.filter(pk=run.pk).update(lease_held=False)
    return bool(run.state == SynthesisRun.State.CHARGED)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--method", default="independent")
    parser.add_argument("--records", type=int, default=0)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--processor", action="store_true")
    options = parser.parse_args()
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
    times = charged_times(dataset, steward, options, folder)
    timer = signal.ITIMER_PROF if options.processor else signal.ITIMER_REAL
    typical = statistics.median(charged for charged, _ in times)
    share = sum(drawing for _, drawing in times) / sum(charged for charged, _ in times)
    print(
        f"{options.method}: {typical:.2f} s from charge to stored answers, {share:.1%} of it noise is drawn"
    )
    longest = LONGER * max(charged for charged, _ in times)
    runs, chance = [], random.Random()
    while len(runs) < options.kills:
        run = submitted(dataset, steward, options.method)
        if killed(run, chance.uniform(0, longest), timer=timer):
            runs.append(run)
            in_child(run.code, lambda _: None)
            run.refresh_from_db()
    stuck = sum(run.is_open for run in runs)
    forfeited = sum(run.state == run.State.FAILED for run in runs)
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
