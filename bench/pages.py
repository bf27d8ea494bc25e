"""Server time and number of queries of every main page, for each role, in an office with many datasets and
releases.

    python bench/pages.py [--datasets 50] [--releases 500] [--columns 0] [--times 5] [--slow 300]

Builds such an installation in a temporary folder (SQLite): the example table is uploaded, described and
released by the application's own services and worker, once by each method of weight; all other datasets and
releases are rows that look like these, with accounts and ledger entries of their own. Then each page is asked
for through Django's test client: middleware, permissions, queries and templates, without network and static
files. The median of several is printed, after one that warms up; beside it the processor time, because on a
busy machine everything waits. --columns: a made table of so many columns, of 2 to 90 codes, in place of the
example. Exit code 1 if a page is slower than --slow milliseconds.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth_engine.formats import Kind

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
PASSWORD = "correct horse battery staple"
UNIT = {"epsilon": 10**9, "delta": 10**9}
PARTS = ("/runs/notice/",)
"""Addresses that are a part of every page, and lead elsewhere when they are opened by hand."""


def begin(folder: Path, *, database: str = "", settings: str = "synthweb.settings") -> None:
    """Django with new keys below `folder`, and a new database there or an empty one at an address. settings:
    a module of them."""
    os.environ |= {
        "SYNTHWEB_VAR": str(folder),
        "SYNTHWEB_HOSTS": "testserver",
        "SYNTHWEB_SECRET_KEY": "bench",
    }
    os.environ["DJANGO_SETTINGS_MODULE"] = settings
    os.environ.pop("DATABASE_URL", None)
    if database:
        os.environ["DATABASE_URL"] = database
    sys.path.insert(0, str(ROOT))
    import django

    from synthweb.local import keys
    from synthweb.local.paths import Places

    places = Places(folder)
    places.make()
    keys.make(places.keys)
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def example() -> tuple[bytes, Kind, dict[str, Any]]:
    """The example table, its kind of file and its description."""
    document = json.loads((EXAMPLES / "adult.domain.json").read_text())
    return (EXAMPLES / "adult.csv.gz").read_bytes(), "csv.gz", document


def made(columns: int, *, records: int = 5_000) -> tuple[bytes, Kind, dict[str, Any]]:
    """The same of a table of so many columns, of classes and whole numbers in turn."""
    rng = random.Random(1)
    sizes = {f"column_{n}": (2, 5, 12, 40, 90)[n % 5] for n in range(columns)}
    lines = [",".join(sizes)]
    lines += [
        ",".join(str(rng.randrange(size)) for size in sizes.values()) for _ in range(records)
    ]
    attributes = [
        {"name": name, "kind": "integer", "low": 0, "high": size - 1, "missing": [""]}
        if size > 12
        else {
            "name": name,
            "kind": "categorical",
            "values": [str(n) for n in range(size)],
            "other": True,
        }
        for name, size in sizes.items()
    ]
    return "\n".join(lines).encode(), "csv", {"attributes": attributes}


class Office:
    """The installation: people, datasets, accounts, runs, releases, comparisons."""

    def __init__(self, *, datasets: int, releases: int, columns: int = 0) -> None:
        from synthweb.accounts import services
        from synthweb.accounts.models import Role

        self.organisation = services.create_organisation(
            actor="system", name="Statistics Office"
        )
        self.people = {
            role.value: services.create_user(
                actor="system",
                organisation=self.organisation,
                person=services.NewPerson(username=role.value),
                roles=[role],
                password=PASSWORD,
                must_change_password=False,
            )
            for role in Role
        }
        self.real = self._first(*(made(columns) if columns else example()))
        self._compared(self.real[-1])
        others = [self._dataset(number) for number in range(1, datasets)]
        self._released([self.real[0].dataset, *others], releases)

    def _first(self, table: bytes, file_kind: Kind, document: dict[str, Any]) -> list[Any]:
        """A table, released for real by two methods; an account for it."""
        from synth_engine.spec import Spec
        from synthweb.datasets import services as datasets
        from synthweb.runs import services as runs
        from synthweb.runs import worker
        from synthweb.runs.planning import ReleaseRequest

        steward = self.people["steward"]
        dataset = datasets.store_stream(
            steward=steward,
            organisation=self.organisation,
            name="Example",
            file_kind=file_kind,
            chunks=[table],
        )
        worker.table_job(code=runs.request_ingest(dataset=dataset, actor=steward).code)
        dataset.refresh_from_db()
        self.document = document
        self._covered(dataset)
        found = []
        for method in ("independent", "bayesian-network"):
            spec = Spec.from_json({"mechanism": method, "epsilon": "1", "delta": "1e-9"})
            run = runs.submit(
                ReleaseRequest(dataset=dataset, spec=spec),
                steward=steward,
                name=f"Example, {method}",
            )
            worker.synthesize(code=run.code)
            run.refresh_from_db()
            assert run.release is not None, run.failure
            found.append(run)
        return found

    def _compared(self, run: Any) -> None:
        from synthweb.releases import services as releases
        from synthweb.runs import services as runs
        from synthweb.runs import worker

        worker.table_job(
            code=runs.request_report(release=run.release, actor=self.people["steward"]).code
        )
        releases.share(
            actor=self.people["steward"], release=run.release, analyst=self.people["analyst"]
        )
        self.sample = releases.draw_sample(
            user=self.people["analyst"], release=run.release, rows=1000
        )

    def _covered(self, dataset: Any) -> None:
        """Described, and with a budget of its own."""
        from synthweb.datasets import services as datasets
        from synthweb.ledger import services as ledger
        from synthweb.ledger.amounts import Amount
        from synthweb.ledger.models import Rule

        datasets.declare_domain(
            actor=self.people["steward"], dataset=dataset, document=self.document
        )
        datasets.state_records(actor=self.people["steward"], dataset=dataset, records=10_000)
        request = ledger.request_budget(
            steward=self.people["steward"],
            dataset=dataset,
            terms=ledger.Terms(
                rule=Rule.BASIC, amount=Amount(epsilon=100 * 10**9, delta=10**12)
            ),
            reason="To see how pages do.",
        )
        ledger.grant(
            custodian=self.people["custodian"],
            request=request,
            reason="Agreed.",
            opening=ledger.Opening(name=dataset.name),
        )

    def _dataset(self, number: int) -> Any:
        """A dataset like the first, whose table nobody will open."""
        made = copy.copy(self.real[0].dataset)
        made.pk, made.code = None, new_code()
        made._state = copy.copy(made._state)
        made._state.adding, made._state.fields_cache = True, {}
        made.name, made.vault_name, made.content_key = (
            f"Dataset {number:02}",
            f"{number:032x}",
            f"{number:064x}",
        )
        made.save(force_insert=True)
        self._covered(made)
        return made

    def _released(self, datasets: list[Any], releases: int) -> None:
        """Runs and releases like the two, on all datasets in turn, each paid for in its ledger and shared."""
        from synthweb.releases.models import ReleaseGrant

        for number in range(releases - len(self.real)):
            dataset = datasets[number % len(datasets)]
            run = self._paid(self.real[number % len(self.real)], dataset, number)
            ReleaseGrant.objects.create(
                release=run.release,
                analyst=self.people["analyst"],
                granted_by=self.people["steward"],
            )

    def _paid(self, like: Any, dataset: Any, number: int) -> Any:
        from synth_engine.domain import Domain
        from synthweb.ledger import services as ledger
        from synthweb.ledger.amounts import Amount
        from synthweb.ledger.protection import PlannedRun, Protection
        from synthweb.releases.models import Release
        from synthweb.runs.models import ReleaseRun, SynthesisRun

        domain, account = Domain.from_json(self.document), dataset.coverage.account
        code, version = new_code(), dataset.domain_versions.get()
        price = Amount(epsilon=UNIT["epsilon"] // 10, delta=UNIT["delta"] // 10)
        hold = ledger.hold(
            account=account,
            run=PlannedRun(
                code=code,
                dataset_code=dataset.code,
                plan_digest=like.plan_digest,
                protection=Protection.of_domain(domain),
            ),
            price=price,
            actor=self.people["steward"],
        )
        ledger.charge(run_code=code)
        same = {
            "dataset": dataset,
            "domain_version": version,
            "name": f"Release {number:03}",
        }
        of_release = {"account": account, "code": new_code(), "run_code": code}
        release = Release.objects.create(**columns_of(like.release) | same | of_release)
        of_run = {"code": code, "hold": hold}
        run = SynthesisRun.objects.create(**columns_of(like) | same | of_run)
        ReleaseRun.objects.create(run=run, release=release)
        return run


def new_code() -> str:
    from synthweb.lib import codes

    return codes.new()


def columns_of(row: Any) -> dict[str, Any]:
    """What a row holds, without its key."""
    return {
        field.name: getattr(row, field.name)
        for field in row._meta.concrete_fields
        if not field.primary_key
    }


def pages(office: Office) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Title, roles that may open it, address."""
    run = office.real[-1]
    release, dataset, account = run.release.code, run.dataset.code, run.account.code
    everybody = ("steward", "analyst", "auditor")
    inside = ("steward", "auditor")
    yield "home", everybody, "/"
    yield "datasets", inside, "/datasets/"
    yield "dataset", inside, f"/datasets/{dataset}/"
    yield "dataset, the part that is polled", inside, f"/datasets/{dataset}/runs/"
    yield "describe", ("steward",), f"/datasets/{dataset}/describe/"
    yield "description", inside, f"/datasets/{dataset}/domain/1/"
    yield "new release", ("steward",), f"/datasets/{dataset}/releases/new/"
    yield (
        "new release like another",
        ("steward",),
        f"/datasets/{dataset}/releases/new/?like={run.code}",
    )
    yield "releases", everybody, "/releases/"
    yield (
        "releases, sorted and filtered",
        everybody,
        "/releases/?q=Release&sort=-promise&mechanism=independent&page=5",
    )
    yield "release", everybody, f"/releases/{release}/"
    yield "network", everybody, f"/releases/{release}/network/"
    yield "compare", ("steward",), f"/releases/{release}/compare/"
    yield "samples", ("steward", "analyst"), f"/releases/{release}/samples/"
    yield "sample", ("analyst",), f"/releases/{release}/samples/{office.sample.code}/"
    yield "share", ("steward",), f"/releases/{release}/share/"
    yield "receipt", everybody, f"/releases/{release}/receipt/"
    yield "receipt, verified", everybody, f"/releases/{release}/receipt/verification/"
    yield "runs", inside, "/runs/"
    yield (
        "runs, sorted and filtered",
        inside,
        "/runs/?q=Release&sort=-price&state=finished&page=5",
    )
    yield "run", inside, f"/runs/{run.code}/"
    yield "notice of runs", ("steward",), "/runs/notice/"
    yield "ledger", inside, "/ledger/"
    yield "account", inside, f"/ledger/accounts/{account}/"
    yield "account's chain", inside, f"/ledger/accounts/{account}/chain/"
    yield "ask for budget", ("steward",), f"/ledger/ask/{dataset}/"
    yield "audit log", ("auditor",), "/ledger/audit/"
    yield "audit log's chain", ("auditor",), "/ledger/audit/chain/"
    yield "documentation", everybody, "/docs/"
    yield "profile", everybody, "/account/"
    yield "tokens", everybody, "/account/tokens/"
    yield "REST: releases", everybody, "/api/v1/releases/"
    yield "REST: runs", inside, "/api/v1/runs/"


def measure(
    client: Any, address: str, *, times: int, form: dict[str, str] | None = None
) -> tuple[float, float, int, int]:
    """Milliseconds and milliseconds of processor time (medians), queries, bytes as they are sent."""
    from django.db import connection

    took: list[float] = []
    worked: list[float] = []
    asked = 0

    def count(execute: Any, *rest: Any) -> Any:
        nonlocal asked
        asked += 1
        return execute(*rest)

    headers = {"HX-Request": "true"} if address in PARTS else {}  # a page asks for these
    for _ in range(times + 1):
        asked = 0
        start, busy = time.perf_counter(), time.process_time()
        with connection.execute_wrapper(count):
            answer = (
                client.post(address, form) if form else client.get(address, headers=headers)
            )
            size = len(answer.content)
        took.append(1000 * (time.perf_counter() - start))
        worked.append(1000 * (time.process_time() - busy))
        if answer.status_code != 200:
            raise SystemExit(f"{address} answered {answer.status_code}")
    return statistics.median(took[1:]), statistics.median(worked[1:]), asked, size


def main() -> int:
    parser = argparse.ArgumentParser(description="Server time of the main pages.")
    parser.add_argument("--datasets", type=int, default=50)
    parser.add_argument("--releases", type=int, default=500)
    parser.add_argument("--columns", type=int, default=0)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--slow", type=float, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        begin(Path(name))
        return report(options)


def report(options: argparse.Namespace) -> int:
    """Build, measure, print."""
    import logging

    from django.test import Client

    logging.disable(logging.CRITICAL)
    start = time.perf_counter()
    office = Office(
        datasets=options.datasets, releases=options.releases, columns=options.columns
    )
    seconds = time.perf_counter() - start
    print(
        f"{options.datasets} datasets, {options.releases} releases, built in {seconds:.0f} s; median of "
        f"{options.times}"
    )
    clients = {}
    for role, person in office.people.items():
        clients[role] = Client(headers={"Accept-Encoding": "gzip"})  # as browsers ask
        clients[role].force_login(person)
    rows = [
        (title, role, *measure(clients[role], address, times=options.times))
        for title, roles, address in pages(office)
        for role in roles
    ]
    form = {
        "mechanism": "bayesian-network",
        "epsilon": "0.7",
        "delta": "1e-9",
        "parameters_of": "bayesian-network",
    }
    moving = f"/datasets/{office.real[0].dataset.code}/releases/new/estimate/"
    rows.append(
        (
            "new release, slider moved",
            "steward",
            *measure(clients["steward"], moving, times=options.times, form=form),
        )
    )
    print(f"{'page':<34} {'role':<8} {'ms':>7} {'cpu ms':>7} {'queries':>8} {'kB':>6}")
    for title, role, took, worked, asked, size in rows:
        line = (
            f"{title:<34} {role:<8} {took:>7.0f} {worked:>7.0f} {asked:>8} {size / 1000:>6.0f}"
        )
        print(line + ("  SLOW" if took > options.slow else ""))
    slowest = max(rows, key=lambda row: row[2])
    print(f"slowest: {slowest[0]} as {slowest[1]}, {slowest[2]:.0f} ms")
    return int(slowest[2] > options.slow)


if __name__ == "__main__":
    sys.exit(main())
