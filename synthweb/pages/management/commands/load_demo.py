"""`manage.py load_demo`: the example tables, uploaded, described, paid for, released, shared and compared by
the demo users through the same services as everybody's. Goes on where it stopped; nothing is done twice."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from synth_engine.formats import Kind
from synth_engine.privacy.loss import atto, nano
from synth_engine.spec import Spec
from synthweb.accounts.models import User
from synthweb.accounts.selectors import organisation_of
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.ledger import selectors as ledger_selectors
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetRequest, Rule
from synthweb.releases import services as releases
from synthweb.releases.models import Release
from synthweb.runs import services as runs
from synthweb.runs.models import SynthesisRun, TableJob
from synthweb.runs.planning import ReleaseRequest

EXAMPLES = Path(settings.BASE_DIR) / "examples"


@dataclass(frozen=True, kw_only=True)
class Example:
    """A public table below `EXAMPLES`, and what people are told of it. records: the low end of about how many
    there are."""

    table: str
    kind: Kind
    domain: str
    name: str
    about: str
    protected: str
    records: int


@dataclass(frozen=True, kw_only=True)
class Made:
    """A release of an example. `key` is the run's request key: with it the run is found again."""

    key: str
    example: Example
    name: str
    mechanism: str
    delta: Fraction
    epsilon: Fraction = Fraction(1)

    @property
    def spec(self) -> Spec:
        return Spec(mechanism=self.mechanism, epsilon=self.epsilon, delta=self.delta)


ADULT = Example(
    table="adult.csv.gz",
    kind="csv.gz",
    domain="adult.domain.json",
    name="Adult (example)",
    about="48,842 records of the 1994 US census survey. Becker, B. & Kohavi, R. (1996), Adult, UCI Machine "
    "Learning Repository, CC BY 4.0. A public table, to try things on.",
    protected="Respondents of the example survey",
    records=10_000,
)
COMMUTES = Example(
    table="commutes/commutes.parquet",
    kind="parquet",
    domain="commutes/towns.domain.json",
    name="Rhode Island commutes (example)",
    about="406,052 jobs of 2019 by place of home and of work. US Census Bureau, LEHD Origin-Destination "
    "Employment Statistics, public domain. How many people work in each town is published; where they live "
    "is protected.",
    protected="People with a job in the example",
    records=100_000,
)
ONE_IN_A_BILLION = Fraction(1, 10**9)
ONE_IN_A_MILLION = Fraction(1, 10**6)
# The first one is there to be looked at before the next begins; the last one shows what the same epsilon can
# be worth.
RELEASES = (
    Made(
        key="demo",
        example=ADULT,
        name="Adult, every column by itself",
        mechanism="independent",
        delta=ONE_IN_A_BILLION,
    ),
    # Measured: at these amounts every verdict of the comparison is "no difference to speak of".
    Made(
        key="demo-commutes-towns",
        example=COMMUTES,
        name="Commutes, homes by town of work",
        mechanism="on-the-map",
        epsilon=Fraction(2),
        delta=ONE_IN_A_MILLION,
    ),
    Made(
        key="demo-pairs",
        example=ADULT,
        name="Adult, columns and pairs",
        mechanism="auto",
        delta=ONE_IN_A_BILLION,
    ),
)
CAP = Amount(epsilon=nano(Fraction(4)), delta=atto(Fraction(1, 10**6)))
SAY_EVERY = 30.0  # seconds
CHUNK = 1 << 18
DOCUMENTED = "The documentation of this public table."


class Command(BaseCommand):
    help = "Load the example tables and release them; needs the demo users and running workers."

    def handle(self, *_args: Any, **_options: Any) -> None:
        steward, custodian, analyst = (
            _demo_user(role) for role in ("steward", "custodian", "analyst")
        )
        for made in RELEASES:
            dataset = self._uploaded(made.example, steward=steward)
            if not dataset.domain_versions.exists():
                document = json.loads((EXAMPLES / made.example.domain).read_text())
                datasets.declare_domain(
                    actor=steward,
                    dataset=dataset,
                    document=document,
                    because=DOCUMENTED,
                    lists_because=DOCUMENTED,
                )
            datasets.state_records(actor=steward, dataset=dataset, records=made.example.records)
            self._paid_for(made.example, dataset, steward=steward, custodian=custodian)
            release = self._released(made, dataset, steward=steward)
            # In the order of the six steps: a decision to share should not rest on a
            # comparison.
            releases.share(actor=steward, release=release, analyst=analyst)
            self._compared(release, steward=steward)
            self.stdout.write(f"“{made.name}” is released; its comparison is ready.")

    def _uploaded(self, example: Example, *, steward: User) -> Dataset:
        organisation = organisation_of(steward)
        dataset = Dataset.objects.filter(
            organisation=organisation, steward=steward, name=example.name
        ).first()
        if dataset is None:
            with (EXAMPLES / example.table).open("rb") as file:
                dataset = datasets.store_stream(
                    steward=steward,
                    organisation=organisation,
                    name=example.name,
                    description=example.about,
                    file_kind=example.kind,
                    chunks=iter(lambda: file.read(CHUNK), b""),
                )
        if dataset.status == Dataset.Status.UPLOADED:
            runs.request_ingest(dataset=dataset, actor=steward)
            self._wait(
                f"“{example.name}” is read",
                lambda: _status(dataset) != Dataset.Status.UPLOADED,
            )
        if dataset.status != Dataset.Status.READY:
            raise CommandError("The example was refused; see its page.")
        return dataset

    def _paid_for(
        self, example: Example, dataset: Dataset, *, steward: User, custodian: User
    ) -> None:
        if ledger_selectors.account_of(dataset) is not None:
            return
        request = BudgetRequest.objects.filter(
            dataset=dataset, state=BudgetRequest.State.OPEN
        ).first()
        request = request or ledger.request_budget(
            steward=steward,
            dataset=dataset,
            terms=ledger.Terms(rule=Rule.BASIC, amount=CAP),
            reason="To show how a table is released; the example is public.",
        )
        ledger.grant(
            custodian=custodian,
            request=request,
            opening=ledger.Opening(
                name=example.protected,
                separate=True,
                separate_reason="Another copy of a public example.",
            ),
            reason="A public table: enough for a few releases.",
        )

    def _released(self, made: Made, dataset: Dataset, *, steward: User) -> Release:
        run = runs.submit(
            ReleaseRequest(dataset=dataset, spec=made.spec),
            steward=steward,
            name=made.name,
            request_key=made.key,
        )
        self._wait(f"“{made.name}” is released", lambda: _state(run) not in SynthesisRun.OPEN)
        if run.release is None:
            raise CommandError(f"The run ended as “{run.get_state_display()}”; see its page.")
        return run.release

    def _compared(self, release: Release, *, steward: User) -> None:
        job = (
            TableJob.objects.filter(release=release, kind=TableJob.Kind.REPORT)
            .order_by("-pk")
            .first()
        )
        if job is not None and job.state == TableJob.State.FINISHED:
            return
        job = runs.request_report(release=release, actor=steward)
        self._wait(f"“{release.name}” is compared", lambda: _state(job) not in TableJob.OPEN)
        if job.state != TableJob.State.FINISHED:
            raise CommandError(f"The comparison ended as “{job.get_state_display()}”.")

    def _wait(self, what: str, done: Callable[[], bool]) -> None:
        """Wait for the workers, who report in the database and nowhere else, however long they take."""
        begun = last = time.monotonic()
        while not done():
            now = time.monotonic()
            if now - last > SAY_EVERY:
                self.stdout.write(f"Waiting until {what} ({now - begun:.0f} s so far).")
                last = now
            time.sleep(0.3)


def _demo_user(role: str) -> User:
    user = User.objects.filter(username=f"demo-{role}", is_demo=True, is_active=True).first()
    if user is None:
        raise CommandError("There are no demo users: `manage.py demo_users make` makes them.")
    return user


def _status(dataset: Dataset) -> str:
    dataset.refresh_from_db(fields=["status"])
    return dataset.status


def _state(job: SynthesisRun | TableJob) -> str:
    job.refresh_from_db()
    return job.state
