"""Runs whose workers are killed at a time uniform over their charged stage, and what became of them.

    python bench/storm.py [--kills 100] [--method independent] [--records 0] [--database sqlite] [--processor]
        [--minutes 60] [--faults kill freeze cut restart disk clock redis]

Builds an installation in a temporary folder (SQLite, or a PostgreSQL server of its own) with the example
table, repeated to so many records. First some runs that nobody kills say how long the time from charge to
stored answers is, and for which share of it noise is drawn that is not yet written. Then, for each kill, a
child of this process takes a new run and gets the signal at a time drawn uniformly over somewhat more than
the longest of the newest of these times; another child goes on with the run. Kills that come after the
answers were stored are not counted, so those that count are uniform over the charged stage of their run.
--processor: by the processor time of the worker in place of the clock, for machines on which others work,
too; waiting for the disk, in which no noise is drawn, then has no share. --minutes: after so many no more
runs are taken. --faults: on PostgreSQL, one of these is drawn for each run (bench/nemeses.py): workers are
frozen until another one has been at their run; their connections are cut; PostgreSQL is killed and started
again; the disk of vault and answers is full for a while (a small tmpfs: root alone); the clock of the
database is set by an hour (libfaketime: apt-get install libfaketime); Redis dies with its queues while a run
is submitted. After each, entries, receipt and sums are checked. The last line is

    stuck 0 overspent 0 double 0 forfeited 3 of 100

stuck: not at an end; overspent: an account beyond its grants, or a chain of entries that is broken; double:
another number of draws begun than calls of the receipt, and depths of trees that are drawn one by one, or
more than one charge. Exit code 1 if one of these three is not 0, or a line before says what else was wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import nemeses
from bench.pages import PASSWORD, begin, example

MEASURED = 5
"""Runs that nobody kills."""
LONGER = 1.25
"""Kills are drawn over so many times the longest of the newest of them: else a run that takes longer is never
killed near its end."""
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


def ingest(dataset: Any, steward: Any) -> None:
    """Have an upload read in this process."""
    from synthweb.runs import services, worker

    worker.table_job(code=services.request_ingest(dataset=dataset, actor=steward).code)


def dataset_of(records: int) -> tuple[Any, Any]:
    """The example table, described and with a large budget, and its steward."""
    from synthweb.datasets import services as datasets
    from synthweb.ledger import services as ledger
    from synthweb.ledger.amounts import Amount
    from synthweb.ledger.models import Rule

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
    ingest(made, steward)
    made.refresh_from_db()
    datasets.declare_domain(actor=steward, dataset=made, document=document)
    datasets.state_records(actor=steward, dataset=made, records=10_000)
    terms = ledger.Terms(rule=Rule.BASIC, amount=Amount(epsilon=LIMIT, delta=10**15))
    request = ledger.request_budget(steward=steward, dataset=made, terms=terms, reason="Storm.")
    ledger.grant(custodian=custodian, request=request, reason="Agreed.")
    return made, steward


def submitted(dataset: Any, steward: Any, method: str) -> Any:
    from synth_engine.spec import Spec
    from synthweb.runs import services
    from synthweb.runs.planning import ReleaseRequest

    spec = Spec.from_json({"mechanism": method, "epsilon": EPSILON, "delta": "1e-9"})
    return services.submit(
        ReleaseRequest(dataset=dataset, spec=spec), steward=steward, name="Storm"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--method", default="independent")
    parser.add_argument("--records", type=int, default=0)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--faults", nargs="+", choices=nemeses.NEMESES, default=["kill"])
    options = parser.parse_args()
    if options.faults != ["kill"] and (options.database == "sqlite" or options.processor):
        parser.error("everything but kills is on PostgreSQL alone, and by the clock")
    if "disk" in options.faults and os.geteuid() != 0:
        parser.error(
            "a disk that is full is a small one of its own, which root alone may mount"
        )
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o711)  # PostgreSQL, which is somebody else, reads its clock there
        var, notes = folder / "var", folder / "notes"
        for each in (var, notes):
            each.mkdir(mode=0o700)
        if "disk" in options.faults:
            stack.enter_context(nemeses.small_disk(var))
        if "clock" in options.faults:
            os.environ["TESTS_RUN_LEASE_SECONDS"] = str(nemeses.LEASE)
        site = nemeses.Site(folder=var)
        if options.database == "postgresql":
            from tests import services

            if "clock" in options.faults:
                site.clock = folder / "clock"
                site.clock.write_text("+0\n")
            site.database = stack.enter_context(services.postgres_server(clock=site.clock))
        begin(
            var,
            database=site.database.address if site.database else "",
            settings="tests.settings",
        )
        if "redis" in options.faults:
            stack.callback(site.kill_redis)
            site.start_redis()
        return storm(options, site, notes)


def storm(options: argparse.Namespace, site: nemeses.Site, notes: Path) -> int:
    from synth_engine import pipeline

    pipeline.warm_up()
    dataset, steward = dataset_of(options.records)
    site.submit = lambda: submitted(dataset, steward, options.method)
    clock = time.process_time if options.processor else time.monotonic
    times: list[tuple[float, float]] = []
    runs: list[Any] = []
    forfeits: dict[str, list[bool]] = {}
    ends = time.monotonic() + 60 * options.minutes
    while len(runs) < options.kills and time.monotonic() < ends:
        run = site.submit()
        watch = nemeses.Stopwatch(notes / run.code, clock)
        if len(times) < MEASURED:
            nemeses.in_child(run.code, watch.note)
            times.append(watch.times)
            continue
        # A machine may become slower: those that were not killed say how long a run takes now.
        longest = LONGER * max(charged for charged, _ in times[-MEASURED:])
        fault = random.choice(options.faults)
        is_counted = nemeses.NEMESES[fault](site, run, random.uniform(0, longest), watch)
        site.faults += [f"after {fault}: {what}" for what in broken(run)]
        if is_counted:
            runs.append(run)
            forfeits.setdefault(fault, []).append(run.state == run.State.FAILED)
        elif fault == "kill" and watch.is_over:
            times.append(watch.times)
    typical = statistics.median(charged for charged, _ in times)
    share = sum(drawing for _, drawing in times) / sum(charged for charged, _ in times)
    print(
        f"{options.method}: {typical:.2f} s from charge to stored answers, {share:.1%} of it noise is drawn"
    )
    for fault, failed in forfeits.items():
        print(f"{fault}: forfeited {sum(failed)} of {len(failed)}")
    for what in site.faults:
        print(what)
    return max(judged(dataset, runs, sum(map(sum, forfeits.values()))), int(bool(site.faults)))


def broken(run: Any) -> list[str]:
    """What must hold of a run and its account whatever happened, and does not."""
    from tests.e2e import driver

    return driver.account_faults(run.account) + driver.run_faults(run)


def draws_of(run: Any) -> int:
    """How often noise is drawn for a run that nobody interrupts: once a call, and of a tree without secret
    choices once a depth."""
    from synth_engine.hierarchy import Growth
    from synthweb.runs import artefacts

    answers = artefacts.get(name=run.answers_name, digest=run.answers_digest)
    grown = answers.of(Growth)
    parts = [len(one.opened) for one in grown if not one.rule.keeps_secrets]
    return len(answers) + sum(parts) - len(parts)


def judged(dataset: Any, runs: list[Any], forfeited: int) -> int:
    """The last line, over all runs of the storm, and the exit code."""
    from synthweb.ledger import chain
    from synthweb.ledger.models import LedgerEntry
    from synthweb.runs.models import SynthesisRun

    everyone = SynthesisRun.objects.select_related("release_run__release", "answers_file")
    stuck = sum(run.is_open for run in everyone)
    charges = LedgerEntry.objects.filter(kind="CHARGE")
    double = sum(charges.filter(run_code=run.code).count() > 1 for run in everyone) + sum(
        run.calls_begun != draws_of(run) for run in everyone if run.release
    )
    account = dataset.coverage.account
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
