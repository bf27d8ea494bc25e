"""The hands of the fault tests inside a plant: a process of its own with the plant's settings, which takes
one JSON request a line and answers with one JSON line. It does what the web process does, and looks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models import Sum  # noqa: E402
from django.db.models.functions import Now  # noqa: E402

from synth_engine import verifier  # noqa: E402
from synthweb.accounts import services as accounts  # noqa: E402
from synthweb.accounts.models import Role, User  # noqa: E402
from synthweb.celery import app  # noqa: E402
from synthweb.datasets import services as datasets  # noqa: E402
from synthweb.datasets.models import Dataset  # noqa: E402
from synthweb.ledger import chain  # noqa: E402
from synthweb.ledger import services as ledger  # noqa: E402
from synthweb.ledger.models import BudgetAccount, LedgerEntry  # noqa: E402
from synthweb.lib.errors import Conflict  # noqa: E402
from synthweb.releases import selectors as of_releases  # noqa: E402
from synthweb.runs import leases  # noqa: E402
from synthweb.runs import services as runs  # noqa: E402
from synthweb.runs.models import (  # noqa: E402
    AnswersFile,
    CountsJob,
    ImplicatesJob,
    OutboxMessage,
    SynthesisRun,
    TableJob,
    leased,
)
from tests.e2e.plant import CANARY  # noqa: E402
from tests.e2e.spoken import answer  # noqa: E402
from tests.web import scene  # noqa: E402

ENDS = {
    "finished": ["HOLD", "CHARGE"],
    "held": ["HOLD"],
    "charged": ["HOLD", "CHARGE"],
    "measured": ["HOLD", "CHARGE"],
}
PASSWORD = "correct horse battery staple"


def setup() -> None:
    """The tables of the database; one organisation, one described dataset with budget for a hundred runs."""
    call_command("migrate", verbosity=0)
    office = accounts.create_organisation(actor="system", name="Office")
    for name, role in (("steward", Role.STEWARD), ("custodian", Role.CUSTODIAN)):
        accounts.create_user(
            actor="system",
            organisation=office,
            person=accounts.NewPerson(username=name),
            roles=[role],
            password=PASSWORD,
            must_change_password=False,
        )
    steward, custodian = (
        User.objects.get(username="steward"),
        User.objects.get(username="custodian"),
    )
    made = datasets.store_stream(
        steward=steward,
        organisation=office,
        name="Commutes",
        file_kind="csv",
        chunks=[(scene.TABLE + f"{CANARY},5,yes\n").encode()],
    )
    datasets.mark_ready(dataset=made)  # as if it had been read: these are tests of runs
    datasets.declare_domain(actor=steward, dataset=made, document=scene.DOMAIN)
    ledger.grant(
        custodian=custodian,
        request=scene.ask(steward=steward, dataset=made, epsilon=100),
        reason="Tests.",
    )


def submit() -> str:
    return scene.submit(
        steward=User.objects.get(username="steward"),
        dataset=Dataset.objects.get(name="Commutes"),
    ).code


def upload(canary: str) -> str:
    """Another table, to be read by the worker; the code of its dataset."""
    steward = User.objects.get(username="steward")
    made = datasets.store_stream(
        steward=steward,
        organisation=steward.memberships.get().organisation,
        name="Another",
        file_kind="csv",
        chunks=[(scene.TABLE + f"{canary},5,yes\n" * 1000).encode()],
    )
    runs.request_ingest(dataset=made, actor=steward)
    return made.code


def let_lapse() -> None:
    """End the leases of what is at work, whose worker is dead or stands still. They would end by themselves
    after so many seconds: the reconciler's next look finds each of them silent for long enough."""
    for kind in leased():
        leases.open_rows(kind).update(lease_seconds=0)


def report() -> None:
    """Have the newest release compared with its table."""
    release = SynthesisRun.objects.filter(state="finished").latest("pk").release
    if release is None:
        raise RuntimeError("a finished run without a release")
    runs.request_report(release=release, actor=User.objects.get(username="steward"))


def derive() -> None:
    """Have the worker make what is free of the newest release, with a comparison."""
    report()
    release = SynthesisRun.objects.filter(state="finished").latest("pk").release
    if release is None:
        raise RuntimeError("a finished run without a release")
    runs.request_counts(release=release)
    runs.request_implicates(release=release)


def begun(code: str) -> int | None:
    """How many free jobs were begun before a run was; None before all of them have been."""
    free = [
        job.started_at
        for kind in (CountsJob, ImplicatesJob, TableJob)
        for job in kind._default_manager.exclude(state="cancelled")
    ]
    if None in free:
        return None
    started = SynthesisRun.objects.get(code=code).started_at
    return sum(at < started for at in free)


def jobs() -> list[str]:
    """The states of all jobs, oldest first."""
    return list(TableJob.objects.order_by("pk").values_list("state", flat=True))


def delete(code: str) -> None:
    datasets.delete(
        actor=User.objects.get(username="steward"), dataset=Dataset.objects.get(code=code)
    )


def refuses_deletion() -> bool:
    """Whether the dataset that runs are of cannot be deleted now."""
    try:
        datasets.delete(
            actor=User.objects.get(username="steward"),
            dataset=Dataset.objects.get(name="Commutes"),
        )
    except Conflict:
        return True
    return False


def set_active(active: bool) -> None:
    """The steward's account ends, or begins again."""
    steward = User.objects.get(username="steward")
    accounts.set_active(
        actor=User.objects.get(username="custodian"),
        person=steward,
        organisation=steward.memberships.get().organisation,
        active=active,
    )


def sees(code: str) -> bool:
    """Whether the steward may open the release of a run."""
    release = SynthesisRun.objects.get(code=code).release
    steward = User.objects.get(username="steward")
    return (
        release is not None and of_releases.releases_for(steward).filter(pk=release.pk).exists()
    )


def cancel(code: str) -> None:
    runs.cancel(
        actor=User.objects.get(username="steward"), run=SynthesisRun.objects.get(code=code)
    )


def send(code: str, times: int) -> None:
    """The same message several times, as a broker may deliver it."""
    for _ in range(times):
        app.send_task("runs.synthesize", args=[code], queue="confidential")


def look(code: str) -> dict[str, Any]:
    run = SynthesisRun.objects.get(code=code)
    return {
        "state": run.state,
        "token": run.lease_token,
        "failure": run.failure["code"] if run.failure else None,
        "answers": run.answers_digest,
        "entries": entries(run),
        "releases": int(run.release is not None),
        "drawn": run.calls_begun,
        "answered": len(run.release.receipt["calls"]) if run.release else None,
    }


def cut_connections() -> None:
    """Every other connection to the database ends, as when it is restarted."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
            "usename = user"
        )


def step_clock(seconds: int) -> None:
    """Set the clock of the database, for every connection from now on and those that ask again: the function
    that tells the time is shadowed by one that adds what a table says."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA IF NOT EXISTS stepped")
        cursor.execute("CREATE TABLE IF NOT EXISTS stepped.clock (seconds integer NOT NULL)")
        cursor.execute("DELETE FROM stepped.clock")
        cursor.execute("INSERT INTO stepped.clock VALUES (%s)", [seconds])
        cursor.execute(
            "CREATE OR REPLACE FUNCTION stepped.statement_timestamp() RETURNS timestamptz LANGUAGE sql "
            "STABLE AS 'SELECT pg_catalog.statement_timestamp() + make_interval(secs => seconds) FROM "
            "stepped.clock'"
        )
        cursor.execute("SELECT current_database()")
        (name,) = cursor.fetchone()
        cursor.execute(f'ALTER DATABASE "{name}" SET search_path = stepped, pg_catalog, public')
        cursor.execute("SET search_path = stepped, pg_catalog, public")


def database_seconds() -> float:
    """The database's time, by the expression that the application uses."""
    found = Dataset.objects.annotate(now=Now()).values_list("now", flat=True).first()
    if found is None:
        raise RuntimeError("no dataset")
    return found.timestamp()


def say_waiting(code: str) -> bool:
    """Whether a run says that its answers cannot be stored yet."""
    return (
        SynthesisRun.objects.get(code=code)
        .events.filter(text__contains="cannot be stored yet")
        .exists()
    )


def sent(code: str) -> bool:
    """Whether the broker has taken the message of a run."""
    return OutboxMessage.objects.filter(subject_code=code, sent_at__isnull=False).exists()


def entries(run: SynthesisRun) -> list[str]:
    return list(
        LedgerEntry.objects.filter(run_code=run.code)
        .order_by("sequence")
        .values_list("kind", flat=True)
    )


def faults() -> list[str]:
    """Everything that must hold whatever happened, and does not."""
    found = [
        fault for account in BudgetAccount.objects.all() for fault in account_faults(account)
    ]
    found += [fault for run in SynthesisRun.objects.all() for fault in run_faults(run)]
    named = set(AnswersFile.objects.values_list("name", flat=True))
    torn = [
        path.name
        for path in Path(settings.ARTEFACT_DIR).glob("*.npz")
        if path.name not in named
    ]
    return found + [f"answers {name} belong to no run" for name in torn]


def account_faults(account: BudgetAccount) -> list[str]:
    found = list(chain.verify(account).faults)
    sums = {
        kind: LedgerEntry.objects.filter(account=account, kind=kind).aggregate(
            sum=Sum("epsilon")
        )["sum"]
        or 0
        for kind in ("GRANT", "HOLD", "CHARGE", "RELEASE")
    }
    if account.epsilon_held != sums["HOLD"] - sums["CHARGE"] - sums["RELEASE"]:
        found.append("the held sum is not what the entries say")
    if account.epsilon_charged != sums["CHARGE"]:
        found.append("the charged sum is not what the entries say")
    if account.epsilon_held + account.epsilon_charged > sums["GRANT"]:
        found.append("more is held and charged than was granted")
    return found


def run_faults(run: SynthesisRun) -> list[str]:
    moved = entries(run)
    expected = (
        [ENDS[run.state]] if run.state in ENDS else [["HOLD", "CHARGE"], ["HOLD", "RELEASE"]]
    )
    found = [] if moved in expected else [f"run {run.code} is {run.state} with entries {moved}"]
    if run.state == "finished" and run.release is None:
        found.append(f"run {run.code} is finished without a release")
    if run.release is not None:
        receipt = run.release.receipt
        verifier.verify(receipt)
        paid = LedgerEntry.objects.get(run_code=run.code, kind="CHARGE").evidence
        if (receipt["plan"]["sha256"], receipt["answers_sha256"]) != (paid, run.answers_digest):
            found.append(f"the release of run {run.code} is not what was paid for or measured")
    return found


CLOCK = (step_clock, database_seconds, say_waiting)
VERBS: dict[str, Callable[..., Any]] = {
    verb.__name__: verb
    for verb in (
        setup,
        submit,
        upload,
        report,
        derive,
        begun,
        jobs,
        delete,
        cancel,
        send,
        let_lapse,
        look,
        sent,
        cut_connections,
        refuses_deletion,
        set_active,
        sees,
        faults,
        *CLOCK,
    )
}


def _connected(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The verb, over a new connection if the database was started again."""

    def done(*arguments: Any) -> Any:
        if not connection.is_usable():
            connection.close()
        return verb(*arguments)

    return done


if __name__ == "__main__":
    answer({name: _connected(verb) for name, verb in VERBS.items()})
