"""What the joint screens show, gathered from the apps below; every app's own selectors decide who sees
what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext

from synth_engine import mechanisms
from synthweb.accounts.models import Role, User
from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import roles_of
from synthweb.audit.models import AuditEntry
from synthweb.datasets import selectors as datasets
from synthweb.datasets.domain_cache import newest
from synthweb.datasets.draft import Draft, open_count
from synthweb.datasets.models import Dataset, DomainVersion
from synthweb.ledger import selectors as ledger
from synthweb.ledger.models import BudgetAccount, BudgetRequest
from synthweb.ledger.protection import Protection
from synthweb.pages import examples, log_news
from synthweb.pages.log_news import LogNews
from synthweb.pages.release_summaries import Released, released
from synthweb.pages.steps import Addresses, Step, StepFacts, next_step, six_steps, strip
from synthweb.releases import selectors as releases
from synthweb.releases.models import Release, ReleaseGrant
from synthweb.runs import stages
from synthweb.runs.models import SynthesisRun, TableJob

RUNS = 20  # on the page of a dataset; the page of all runs has the rest
UPLOAD = "upload"
SHARED_ROWS = 5
HOME_ROWS = 8  # of each list on the home page; the full list is one click away


@dataclass(frozen=True, kw_only=True)
class DatasetLine:
    """A dataset with what is next for it."""

    dataset: Dataset
    next: Step


@dataclass(frozen=True, kw_only=True)
class AccountBar:
    """The spent part of an account in one currency, in integers of the ledger. unit: epsilon, delta or
    rho."""

    unit: str
    cap: int
    held: int
    charged: int


@dataclass(frozen=True, kw_only=True)
class Overview:
    """Everything on the page of one dataset."""

    dataset: Dataset
    steps: tuple[Step, ...]
    next: Step
    acts: bool  # whether the viewer is a steward, whose steps these are
    version: DomainVersion | None
    protection: Protection | None
    account: BudgetAccount | None
    bar: AccountBar | None
    request: BudgetRequest | None
    released: Released
    runs: list[tuple[SynthesisRun, str]]  # with the title of the stage it is in
    same_content: QuerySet[Dataset]
    state: str


@dataclass(frozen=True, kw_only=True)
class Home:
    """The home page: one part for each role somebody holds; None where they do not hold it."""

    datasets: list[DatasetLine] | None
    requests: list[tuple[BudgetRequest, bool]] | None  # and whether this person decides it
    releases: list[tuple[Release, str]] | None  # with the title of its method
    accounts: QuerySet[BudgetAccount] | None
    audits: bool
    news: LogNews | None  # of an auditor
    runs: list[
        tuple[SynthesisRun, str]
    ]  # with the title of the stage; those of this person that are under way
    shared: list[
        ReleaseGrant
    ]  # what this person shared, or what was shared with them, the newest first
    loud: str  # code of the object whose button stands out: one at most on the page
    has_examples_coming: bool  # they are being loaded, and a demo user will see them

    @property
    def is_upload_quiet(self) -> bool:
        """Whether another button than that of the first upload stands out."""
        return self.loud != UPLOAD


def home_of(user: User) -> Home:
    """The next steps of `user`, by role."""
    roles = roles_of(user)
    lines = _lines(user) if Role.STEWARD in roles else None
    requests = _open_requests(user) if Role.CUSTODIAN in roles else None
    shared_with = _shared_with(user) if Role.ANALYST in roles else None
    return Home(
        datasets=lines,
        requests=requests,
        releases=shared_with,
        runs=_running(user) if Role.STEWARD in roles else [],
        shared=_shared_lately(user),
        loud=_loud(requests, lines, shared_with),
        accounts=ledger.accounts_for(user)[:HOME_ROWS]
        if roles & {Role.CUSTODIAN, Role.AUDITOR}
        else None,
        audits=Role.AUDITOR in roles,
        news=log_news.news_for(user) if Role.AUDITOR in roles else None,
        has_examples_coming=user.is_demo and examples.are_loading(settings.VAR_DIR),
    )


def _loud(
    requests: list[tuple[BudgetRequest, bool]] | None,
    lines: list[DatasetLine] | None,
    shared_with: list[tuple[Release, str]] | None,
) -> str:
    """Whoever waits for a decision comes first, then the first dataset with something to do, then the newest
    release. UPLOAD where there is no table yet."""
    for request, is_theirs in requests or ():
        if is_theirs:
            return request.code
    if lines is not None and not lines:
        return UPLOAD
    for line in lines or ():
        if line.next.action and not line.next.waits:
            return line.dataset.code
    return shared_with[0][0].code if shared_with else ""


def _open_requests(user: User) -> list[tuple[BudgetRequest, bool]]:
    """The requests that wait; those that are a custodian's own, or approved by them already, wait for
    somebody else."""
    waiting = ledger.requests_for(user).filter(state=BudgetRequest.State.OPEN)
    return [
        (
            request,
            request.requested_by_id != user.pk
            and all(each.custodian_id != user.pk for each in request.approvals.all()),
        )
        for request in waiting
    ]


def _running(user: User) -> list[tuple[SynthesisRun, str]]:
    runs = (
        SynthesisRun.objects.filter(created_by=user, state__in=SynthesisRun.OPEN)
        .select_related("dataset")
        .defer("spec", "dataset__draft")
        .order_by("-created_at", "-pk")[:HOME_ROWS]
    )
    return [(run, stages.RUN[stages.position(run.stage)].title) for run in runs]


def _shared_lately(user: User) -> list[ReleaseGrant]:
    grants = ReleaseGrant.objects.filter(
        Q(analyst=user) | Q(granted_by=user), revoked_at=None
    ).select_related("release", "analyst", "granted_by")
    heavy = ("release__model", "release__receipt")
    return list(grants.defer(*heavy).order_by("-created_at", "-pk")[:SHARED_ROWS])


def _shared_with(user: User) -> list[tuple[Release, str]]:
    titles = {one["id"]: one["title"] for one in mechanisms.describe()}
    return [
        (each, titles.get(each.mechanism, each.mechanism))
        for each in releases.releases_for(user)[:HOME_ROWS]
    ]


def overview_of(user: User, dataset: Dataset) -> Overview:
    """The page of one dataset that `user` may view."""
    account = ledger.account_of(dataset)
    version = newest(dataset)
    request = _newest_request(dataset)
    addresses = addresses_of(dataset)
    listed = six_steps(_facts(dataset), addresses)
    root = datasets.root_above(dataset)
    acts = datasets.may(user, dataset, Need.DESCRIBE)
    return Overview(
        dataset=dataset,
        # A further table of a database has no budget and no releases of its own.
        steps=strip(listed if root is None else listed[:2], acts=acts),
        next=next_step(listed, addresses) if root is None else _of_further_table(listed, root),
        acts=acts,
        version=version,
        protection=_protection(account, version),
        account=account,
        bar=None if account is None else tighter_bar(account),
        request=request,
        released=released(user, dataset),
        runs=runs_of(dataset),
        same_content=datasets.same_content(dataset),
        state=state_of(dataset),
    )


def tighter_bar(account: BudgetAccount) -> AccountBar:
    """The currency of which the larger part is gone: an account whose δ is spent releases nothing more,
    whatever is left of its ε."""
    bars = [
        AccountBar(
            unit=unit,
            cap=getattr(account, f"{unit}_cap"),
            held=getattr(account, f"{unit}_held"),
            charged=getattr(account, f"{unit}_charged"),
        )
        for unit in (("rho",) if account.rule == "zcdp" else ("epsilon", "delta"))
    ]
    # A cap of 0, as of δ under pure ε, is no limit that is reached. Of two alike, the first.
    return max(
        bars, key=lambda bar: Fraction(bar.held + bar.charged, bar.cap) if bar.cap else -1
    )


def _of_further_table(listed: Sequence[Step], root: Dataset) -> Step:
    """The one thing to do with a further table of a database: read and described, it is released with the
    others."""
    together = Step(
        name=gettext("Several tables"),
        state="next",
        missing=gettext("It is released together with %(name)s.") % {"name": root.name},
        action=gettext("Go to the tables"),
        address=reverse("runs:tables", args=[root.code]),
    )
    return next((step for step in listed[:2] if step.state != "done"), together)


def runs_of(dataset: Dataset) -> list[tuple[SynthesisRun, str]]:
    """The dataset's newest runs with where each stands; the caller has fetched the dataset for somebody."""
    runs = (
        dataset.runs.select_related("hold__account")
        .defer("spec")
        .order_by("-created_at", "-pk")[:RUNS]
    )
    return [
        (run, stages.RUN[stages.position(run.stage)].title if run.is_open else "–")
        for run in runs
    ]


def state_of(dataset: Dataset) -> str:
    """Changes whenever the page of the dataset has something new to say: polled, and compared."""
    latest = dataset.runs.order_by("-pk").values_list("pk", "state").first() or (0, "")
    request = _newest_request(dataset)
    counts = (dataset.releases.count(), dataset.domain_versions.count())
    parts = (
        dataset.status,
        dataset.table_number,
        *latest,
        request.state if request else "",
        *counts,
    )
    return "-".join(str(part) for part in parts)


def is_busy(dataset: Dataset) -> bool:
    """Whether a worker is at it, or about to be: then the page looks again by itself."""
    running = dataset.runs.filter(state__in=SynthesisRun.OPEN).exists()
    return running or dataset.table_jobs.filter(state=TableJob.State.WAITING).exists()


def addresses_of(dataset: Dataset) -> Addresses:
    """Where each step of this dataset happens."""
    newest = (
        dataset.releases.order_by("-created_at", "-pk").values_list("code", flat=True).first()
    )
    release = reverse("runs:new", args=[dataset.code])
    return Addresses(
        upload=reverse("pages:replace", args=[dataset.code]),
        describe=reverse("datasets:describe", args=[dataset.code]),
        budget=reverse("ledger:ask", args=[dataset.code]),
        release=release,
        compare=reverse("releases:compare", args=[newest]) if newest else release,
        share=reverse("releases:share", args=[newest]) if newest else release,
    )


def _lines(user: User) -> list[DatasetLine]:
    datasets_here = datasets.datasets_of(user).filter(steward=user)[:HOME_ROWS]
    return [_line(dataset) for dataset in datasets_here]


def _line(dataset: Dataset) -> DatasetLine:
    addresses = addresses_of(dataset)
    listed = six_steps(_facts(dataset), addresses)
    return DatasetLine(dataset=dataset, next=next_step(listed, addresses))


def _facts(dataset: Dataset) -> StepFacts:
    account = ledger.account_of(dataset)
    request = _newest_request(dataset)
    # Two keys of the JSON are extracted in the database: a whole draft may have megabytes.
    typed = (
        Dataset.objects.filter(pk=dataset.pk)
        .values(columns=F("draft__columns"), total=F("draft__total"))
        .get()
    )
    draft: Draft = {"columns": typed["columns"] or {}}
    if typed["total"]:
        draft["total"] = typed["total"]
    undeclared, columns = open_count(draft) or (None, None)
    shared = ReleaseGrant.objects.filter(release__dataset=dataset, revoked_at=None)
    # Compared means that somebody has opened a comparison; one in the store may be unread.
    opened = AuditEntry.objects.filter(
        action="report.opened", object_kind="dataset", object_code=dataset.code
    )
    return StepFacts(
        status=dataset.status,
        described=dataset.domain_versions.exists(),
        undeclared=undeclared,
        columns=columns,
        missing=tuple(datasets.missing_columns(dataset)),
        request=request.state if request else None,
        has_budget=account is not None and any(ledger.balance(account).cap.as_dict.values()),
        running=dataset.runs.filter(state__in=SynthesisRun.OPEN).exists(),
        released=dataset.releases.exists(),
        compared=opened.exists(),
        shared=shared.exists(),
    )


def _newest_request(dataset: Dataset) -> BudgetRequest | None:
    return (
        dataset.budget_requests.select_related("requested_by", "decided_by")
        .order_by("-created_at", "-pk")
        .first()
    )


def _protection(
    account: BudgetAccount | None, version: DomainVersion | None
) -> Protection | None:
    if account is not None:
        return Protection.of_account(account)
    return Protection.of_version(version) if version is not None else None
