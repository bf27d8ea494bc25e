"""The main job, played through once by the application's own services and its own worker, in this process: a
table is uploaded and read, described, given budget, released, compared and shared. The table is made up."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from django.db.models import F, Q

from synth_engine.formats import Dialect
from synth_engine.plans.release_check import CheckedFigure
from synth_engine.spec import Spec
from synthweb.accounts.models import Organisation, Role, User
from synthweb.accounts.services import NewPerson, create_user
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset, DescriptionTemplate
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetAccount, BudgetRequest, LedgerEntry, Rule
from synthweb.references import services as references
from synthweb.references.models import ReferenceTable
from synthweb.releases import services as releases
from synthweb.releases.models import PaidCheck, Release, Sample
from synthweb.runs import ranges, released_counts, ticks, worker
from synthweb.runs import services as runs
from synthweb.runs.checks import CheckRequest, ReleaseCheck
from synthweb.runs.models import CheckRun, Link, SynthesisRun
from synthweb.runs.planning import ReleaseRequest

if TYPE_CHECKING:
    from tests.cast import Cast

DOMAIN: dict[str, Any] = {
    "schema": "synth_engine/domain/1",
    "relation": "add-remove",
    "unit": {"max_records": 1, "column": None},
    "attributes": [
        {
            "name": "region",
            "kind": "categorical",
            "values": ["north", "south"],
            "other": True,
            "provenance": "declared",
        },
        {
            "name": "age",
            "kind": "integer",
            "low": 0,
            "high": 99,
            "width": 10,
            "provenance": "declared",
        },
        {
            "name": "works",
            "kind": "boolean",
            "true": "yes",
            "false": "no",
            "missing": [""],
            "provenance": "declared",
        },
    ],
}
TABLE = "region,age,works\n" + "".join(
    f"{'north' if index % 3 else 'south'},{index % 90},{'yes' if index % 2 else 'no'}\n"
    for index in range(300)
)


RECORDS = 10_000
"""About how many records the steward of every table states."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What the main job left behind."""

    dataset: Dataset  # described, with budget, released
    fresh: Dataset  # described, and waiting for budget
    account: BudgetAccount
    request: BudgetRequest  # open, of the fresh dataset
    run: SynthesisRun  # finished
    waiting: SynthesisRun  # held, no worker has taken it
    release: Release
    sample: Sample  # of the analyst it is shared with
    own_sample: Sample  # of the steward
    template: DescriptionTemplate  # of the description of the dataset
    reference: ReferenceTable  # a gazetteer of two codes
    reader: User  # an analyst with whom the release is shared
    # What addresses name, once `addresses` has made it.
    named: dict[str, object] = field(default_factory=dict)


def upload(
    *, steward: User, organisation: Organisation, table: str = TABLE, name: str = "Commutes"
) -> Dataset:
    """A table in, as the streaming upload does it, and its job."""
    dataset = datasets.store_stream(
        steward=steward,
        organisation=organisation,
        name=name,
        file_kind="csv",
        chunks=[table.encode()],
    )
    runs.request_ingest(dataset=dataset, actor=steward)
    return datasets.state_records(actor=steward, dataset=dataset, records=RECORDS)


def read(dataset: Dataset) -> Dataset:
    """The worker reads the upload."""
    worker.table_job(code=dataset.table_jobs.filter(kind="ingest").latest("pk").code)
    dataset.refresh_from_db()
    return dataset


def ask(*, steward: User, dataset: Dataset, epsilon: int = 4) -> BudgetRequest:
    """The steward asks for budget, and says about how many records there are if nobody has."""
    if dataset.stated_records is None:
        datasets.state_records(actor=steward, dataset=dataset, records=RECORDS)
    amount = Amount(epsilon=epsilon * 10**9, delta=10**12)
    return ledger.request_budget(
        steward=steward,
        dataset=dataset,
        terms=ledger.Terms(rule=Rule.BASIC, amount=amount),
        reason="To publish a synthetic table.",
    )


def funded(
    cast: Cast,
    *,
    table: str = TABLE,
    document: dict[str, Any] | None = None,
    dialect: Dialect | None = None,
    epsilon: int = 4,
) -> Dataset:
    """A dataset that is read, described, and may spend this epsilon and delta 1e-6. dialect: what its steward
    says of the file."""
    made = read(upload(steward=cast.steward, organisation=cast.organisation, table=table))
    # Where its form is not certain, the steward says that it has a header.
    if dialect is not None or made.status == Dataset.Status.REFUSED:
        datasets.set_dialect(
            actor=cast.steward,
            dataset=made,
            dialect=dialect or Dialect(delimiter=",", marks_confirmed=True),
        )
        runs.request_ingest(dataset=made, actor=cast.steward)
        made = read(made)
    datasets.declare_domain(actor=cast.steward, dataset=made, document=document or DOMAIN)
    ledger.grant(
        custodian=cast.custodian,
        request=ask(steward=cast.steward, dataset=made, epsilon=epsilon),
        reason="Agreed.",
    )
    return made


def submit(*, steward: User, dataset: Dataset, epsilon: str = "1") -> SynthesisRun:
    """The steward asks for a release."""
    spec = Spec.from_json({"mechanism": "independent", "epsilon": epsilon, "delta": "1e-9"})
    return runs.submit(
        ReleaseRequest(dataset=dataset, spec=spec), steward=steward, name="First release"
    )


def released(
    cast: Cast,
    *,
    mechanism: str,
    epsilon: str,
    name: str,
    table: str,
    document: dict[str, Any] | None = None,
    parameters: dict[str, Any] | None = None,
    dialect: Dialect | None = None,
) -> Release:
    """The one release of a table of its own, by any method, shared with nobody."""
    budget = max(4, math.ceil(float(epsilon)))
    dataset = funded(cast, table=table, document=document, dialect=dialect, epsilon=budget)
    spec = Spec.from_json(
        {
            "mechanism": mechanism,
            "epsilon": epsilon,
            "delta": "1e-9",
            "parameters": parameters or {},
        }
    )
    worker.synthesize(
        code=runs.submit(
            ReleaseRequest(dataset=dataset, spec=spec), steward=cast.steward, name=name
        ).code
    )
    return Release.objects.get()


def measured(*, steward: User, release: Release) -> PaidCheck:
    """Two figures of the release, measured with budget."""
    figures = (
        CheckedFigure(kind="distance", columns=("age",)),
        CheckedFigure(kind="counts", columns=("works",), least=20, within=Fraction(1, 5)),
    )
    request = CheckRequest(figures=figures, epsilon=Fraction(1, 4))
    run = runs.submit(ReleaseCheck(release=release, request=request), steward=steward)
    worker.synthesize(code=run.code)
    return PaidCheck.objects.get(run_code=run.code)


def play(*, steward: User, custodian: User, organisation: Organisation) -> Scene:
    """Everything, up to a release that is compared and shared."""
    reader = create_user(
        actor="system",
        organisation=organisation,
        person=NewPerson(username="reader"),
        roles=[Role.ANALYST],
        password="correct horse battery staple",
        must_change_password=False,
    )
    dataset = read(upload(steward=steward, organisation=organisation))
    datasets.declare_domain(actor=steward, dataset=dataset, document=DOMAIN)
    entry = ledger.grant(
        custodian=custodian, request=ask(steward=steward, dataset=dataset), reason="Agreed."
    )
    run = submit(steward=steward, dataset=dataset)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    release = run.release
    assert release is not None, run.failure
    releases.share(actor=steward, release=release, analyst=reader)
    worker.table_job(code=runs.request_report(release=release, actor=steward).code)
    ranges.compute(code=runs.request_ranges(release=release).code)
    released_counts.compute(code=runs.request_counts(release=release).code)
    fresh = read(
        upload(
            steward=steward,
            organisation=organisation,
            table=TABLE + "north,1,no\n",
            name="Later",
        )
    )
    datasets.declare_domain(actor=steward, dataset=fresh, document=DOMAIN)
    return Scene(
        dataset=dataset,
        fresh=fresh,
        account=entry.account,
        request=ask(steward=steward, dataset=fresh),
        run=run,
        waiting=submit(steward=steward, dataset=dataset, epsilon="0.5"),
        release=release,
        sample=releases.draw_sample(user=reader, release=release, rows=50),
        own_sample=releases.draw_sample(user=steward, release=release, rows=20, seed="7"),
        template=datasets.save_template(
            actor=steward,
            version=dataset.domain_versions.get(number=1),
            name="Commutes of a year",
        ),
        reference=references.add(
            actor=steward,
            name="Regions",
            published="Everywhere",
            file=references.Brought(
                data=b"code,lat,lon\nnorth,54,10\nsouth,48,11\n", word="public"
            ),
        ),
        reader=reader,
    )


def let_ticks_pass(number: int = ticks.MOST // 2) -> None:
    """Everything that is shown on a grid of time was asked for, and was done, so many ticks earlier."""
    earlier = number * ticks.TICK
    started = Link.objects.filter(started_at__isnull=False)
    started.update(
        started_at=F("started_at") - earlier,
        charged_at=F("charged_at") - earlier,
        finished_at=F("finished_at") - earlier,
    )
    timed = CheckRun.objects.filter(due_at__isnull=False)
    timed.update(due_at=F("due_at") - earlier)
    runs = SynthesisRun.objects.filter(Q(sketch_run__isnull=False) | Q(check_run__in=timed))
    runs.update(finished_at=F("finished_at") - earlier)


def copy_of(run: SynthesisRun, *, code: str, **fields: Any) -> SynthesisRun:
    """A row like that of a run, with a hold like its: of another code, and of these `fields`. The sums of the
    ledger stay as they are. epsilon: what is held."""
    hold = run.price
    last = LedgerEntry.objects.filter(account=hold.account).latest("sequence")
    columns = {each.name: getattr(hold, each.name) for each in hold._meta.concrete_fields[1:]}
    columns |= {"sequence": last.sequence + 1, "run_code": code, "hash": code}
    columns |= {"epsilon": fields.pop("epsilon", hold.epsilon)}
    given = {each.name: getattr(run, each.name) for each in run._meta.concrete_fields[1:]}
    given |= {"code": code, "hold": LedgerEntry.objects.create(**columns)}
    return SynthesisRun.objects.create(**given | fields)
