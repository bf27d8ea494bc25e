"""An office with a public table of fifteen columns in every state that a page shows, and the pages that its
people open."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

from synth_engine.spec import Spec
from synthweb.accounts.models import User
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.ledger import services as ledger
from synthweb.ledger.models import BudgetRequest
from synthweb.releases import services as releases
from synthweb.releases.models import Release
from synthweb.runs import ranges, released_counts, worker
from synthweb.runs import services as runs
from synthweb.runs.models import SynthesisRun
from synthweb.runs.planning import ReleaseRequest
from tests.cast import Cast
from tests.web import addresses, scene

EXAMPLES = Path(__file__).parents[2] / "examples"
ROWS = 6_000
"""Of the table: how long its pages are does not depend on it."""
SHARE = {"epsilon": "1", "delta": "1e-9"}


@dataclass(frozen=True)
class Page:
    """A page and the person who opens it. person: "" is a visitor. status: of the answer."""

    title: str
    person: str
    address: str
    status: int = 200


@dataclass(frozen=True, kw_only=True)
class Office:
    """What the pages show. users: by the name of a page's person."""

    users: dict[str, User]
    dataset: Dataset  # described, with budget, released twice
    fresh: Dataset  # read, and not described
    request: BudgetRequest  # open, of a table of three columns
    release: Release  # by the default method; compared, shared
    beside: Release  # of columns alone
    run: SynthesisRun  # of the release
    pages: tuple[Page, ...]


def build(cast: Cast) -> Office:
    """The office, by the application's own services and its worker in this process."""
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    addresses.make_all(played, cast)  # a public link and what else addresses name
    table = _rows()
    document = json.loads((EXAMPLES / "adult.domain.json").read_text())
    dataset = _read(cast, table, name="Adult")
    datasets.declare_domain(actor=cast.steward, dataset=dataset, document=document)
    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=dataset),
        reason="Agreed.",
        opening=ledger.Opening(name="Respondents of a survey"),
    )
    beside, _ = _released(cast, dataset, "independent", reader=played.reader)
    release, run = _released(cast, dataset, "auto", reader=played.reader)
    office = Office(
        users=cast.by_name() | {"analyst": played.reader},
        dataset=dataset,
        fresh=_read(cast, table, name="Just read"),
        request=played.request,
        release=release,
        beside=beside,
        run=run,
        pages=(),
    )
    pages = (*_outside(), *_of_everybody(), *_of_datasets(office), *_of_releases(office))
    return Office(**{**office.__dict__, "pages": (*pages, *_of_budget(office, played))})


def _rows() -> str:
    """The first rows of the example."""
    with gzip.open(EXAMPLES / "adult.csv.gz", "rt") as file:
        return "".join(line for line, _ in zip(file, range(ROWS + 1), strict=False))


def _read(cast: Cast, table: str, *, name: str) -> Dataset:
    made = scene.read(
        scene.upload(
            steward=cast.steward, organisation=cast.organisation, table=table, name=name
        )
    )
    assert made.status == Dataset.Status.READY
    return made


def _released(
    cast: Cast, dataset: Dataset, method: str, *, reader: User
) -> tuple[Release, SynthesisRun]:
    """A release that is compared with its table and shared."""
    spec = Spec.from_json({"mechanism": method, **SHARE})
    run = runs.submit(ReleaseRequest(dataset=dataset, spec=spec), steward=cast.steward)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    release = run.release
    assert release is not None, run.failure
    releases.share(actor=cast.steward, release=release, analyst=reader)
    worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
    ranges.compute(code=runs.request_ranges(release=release).code)
    released_counts.compute(code=runs.request_counts(release=release).code)
    return release, run


def _outside() -> list[Page]:
    return [
        Page("Sign in", "", "/account/login/"),
        Page("Forgotten password", "", "/account/reset/"),
        Page("Public release", "", f"/public/{addresses.PUBLIC_TOKEN}/"),
        Page("Public link that ended", "", "/public/a-token-of-no-link/", 404),
        Page("No such page", "steward", "/releases/nowhere000/", 404),
        Page("Not allowed", "custodian", "/account/people/", 403),
    ]


def _of_everybody() -> list[Page]:
    roles = ("steward", "custodian", "analyst", "auditor")
    homes = [Page(f"Home, {role}", role, "/") for role in roles]
    account = {
        "Your account": "/account/",
        "Second factor": "/account/second-factor/",
        "Sessions": "/account/sessions/",
        "Password": "/account/password/",
        "API tokens": "/account/tokens/",
        "Notifications": "/account/notifications/",
        "Webhooks": "/account/notifications/webhooks/",
        "Search": "/search/?q=adult",
        "Help": "/docs/",
        "API reference": "/api/v1/docs/",
    }
    staff = {"People": "/account/people/", "Organisation": "/account/organisation/"}
    return [
        *homes,
        *(Page(title, "steward", address) for title, address in account.items()),
        *(Page(title, "staff", address) for title, address in staff.items()),
    ]


def _of_datasets(office: Office) -> list[Page]:
    this, fresh = f"/datasets/{office.dataset.code}/", f"/datasets/{office.fresh.code}/"
    found = {
        "Datasets": "/datasets/",
        "New dataset": "/datasets/upload/",
        "Table is read": f"{fresh}upload/",
        "Dataset, just read": fresh,
        "Dataset": this,
        "Describe": f"{this}describe/",
        "Describe, just read": f"{fresh}describe/",
        "Description in force": f"{this}domain/1/",
        "Dataset settings": f"{this}settings/",
        "Replace the file": f"{this}replace/",
        "Delete": f"{this}delete/",
        "Retention": f"{this}retention/",
        "New release": f"{this}releases/new/",
        "New release, not described": f"{fresh}releases/new/",
        "Ask for budget": f"/ledger/ask/{office.fresh.code}/",
        "Reference tables": "/references/",
        "New reference table": "/references/new/",
    }
    return [Page(title, "steward", address) for title, address in found.items()]


def _of_releases(office: Office) -> list[Page]:
    code = office.release.code
    this, beside = f"/releases/{code}/", f"?release={code}&release={office.beside.code}"
    found = {
        "Releases": "/releases/",
        "Runs": "/runs/",
        "Run, finished": f"/runs/{office.run.code}/",
        "Side by side": f"/releases/side-by-side/{beside}",
        "Release: Look": this,
        "Release: Download": f"{this}samples/",
        "Release: Share": f"{this}share/",
        "Release: Compare": f"{this}compare/",
    }
    shared = {
        "Release: Look, analyst": this,
        "Release: Quality": f"{this}quality/",
        "Release: Expected": f"{this}expected/",
        "Release: Counts": f"{this}marginals/",
        "Release: Regressions": f"{this}fits/",
        "Release: Measured": f"{this}measured/",
        "Release: Paid": f"{this}paid/",
        "Release: Files": f"{this}files/",
        "Release: Test data": f"{this}test-data/",
        "Release: Totals": f"{this}repaired/",
        "Release: Receipt": f"{this}receipt/",
    }
    return [
        *(Page(title, "steward", address) for title, address in found.items()),
        *(Page(title, "analyst", address) for title, address in shared.items()),
    ]


def _of_budget(office: Office, played: scene.Scene) -> list[Page]:
    return [
        Page("Budget", "steward", "/ledger/"),
        Page("Account", "custodian", f"/ledger/accounts/{played.account.code}/"),
        Page("Budget request", "custodian", f"/ledger/requests/{office.request.code}/"),
        Page("Audit log", "auditor", "/ledger/audit/"),
        Page("Run, waiting", "steward", f"/runs/{played.waiting.code}/"),
    ]
