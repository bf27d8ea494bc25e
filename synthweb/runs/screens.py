"""What the pages of runs show: plain values for the templates, made from rows. Nothing here decides who sees
what."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction

from django.db.models import QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.evaluation.criteria import Criterion
from synth_engine.linking.sketch import LinkSketch
from synth_engine.plans.description import LearnDescription
from synth_engine.plans.release_check import ReleaseCheck
from synthweb.accounts.models import User
from synthweb.datasets.domain_cache import newest
from synthweb.datasets.models import Dataset
from synthweb.ledger import plan_years
from synthweb.ledger import selectors as ledger_selectors
from synthweb.ledger.amounts import decimal_text
from synthweb.ledger.models import EarmarkUse, Rule
from synthweb.ledger.selectors import Balance
from synthweb.lib import number_format
from synthweb.lib.pagination import SortColumn, listing
from synthweb.releases import expected, look
from synthweb.releases import screens as releases
from synthweb.releases import selectors as released
from synthweb.releases.forms import ComparisonForm
from synthweb.releases.models import Release
from synthweb.runs import (
    criteria_fields,
    databases,
    failure_words,
    linking,
    planning,
    public_tables,
    purchases,
    release_plan,
    stages,
)
from synthweb.runs.estimate import Estimate
from synthweb.runs.extras import Extras
from synthweb.runs.forms import ReleaseForm, choices_of
from synthweb.runs.models import (
    CountsJob,
    ImplicatesJob,
    Leased,
    RangesJob,
    SynthesisRun,
    TableJob,
)
from synthweb.runs.public_tables import StatedTable, TableChoice
from synthweb.runs.release_plan import ReleasePlan

State = SynthesisRun.State
USUAL_EPSILON = 10**9  # one, in the ledger's integers
USUAL_DELTA = 10**9  # 1e-9, likewise
FORFEITS = {
    State.HELD: _("Nothing has been spent. The hold goes back to the budget."),
    State.CHARGED: _(
        "The budget is charged already and stays spent: noise may have been drawn. You get no release for it."
    ),
    State.MEASURED: _(
        "The budget is spent and the noisy answers are stored. If you cancel now you give up a release that "
        "is paid for; letting it finish costs nothing more."
    ),
}


AGAIN = ", again"  # what the name of a run like an earlier one ends in
LONGEST_NAME = 200
YEAR_AT_THE_END = re.compile(r",? [0-9]{4}$")  # in the name of a release over years
COLUMNS = (
    SortColumn(key="name", title=gettext_noop("Run"), order=("name",)),
    SortColumn(key="dataset", title=gettext_noop("Dataset"), order=("dataset__name",)),
    SortColumn(key="method", title=gettext_noop("Method"), order=("spec__mechanism",)),
    SortColumn(key="state", title=gettext_noop("State"), order=("state",)),
    SortColumn(
        key="price",
        title=gettext_noop("Price"),
        order=("hold__epsilon", "hold__rho"),
        number=True,
        falls=True,
    ),
    SortColumn(key="by", title=gettext_noop("Asked by"), order=("created_by__username",)),
    SortColumn(
        key="asked", title=gettext_noop("When (UTC)"), order=("created_at",), falls=True
    ),
)


@dataclass(frozen=True, kw_only=True)
class StageLine:
    """One line of the stage list: state is done, running, waiting or stopped."""

    name: str
    state: str
    fraction: float
    note: str = ""

    @property
    def unknown(self) -> bool:
        """Whether it runs and does not say how far it is."""
        return self.state == "running" and not 0.0 < self.fraction < 1.0


def method_titles() -> dict[str, str]:
    """The title of every method that a run may have, that of checks with them."""
    titles = {one["id"]: one["title"] for one in mechanisms.describe()}
    return titles | {
        ReleaseCheck.id: ReleaseCheck.title,
        databases.MECHANISM: gettext("Several tables"),
        linking.MECHANISM: LinkSketch.title,
        LearnDescription.id: LearnDescription.title,
    }


def frame(dataset: Dataset, *more: tuple[str, str]) -> dict[str, object]:
    """The dataset and where a page of it stands."""
    crumbs = [
        (reverse("datasets:index"), gettext("Datasets")),
        (reverse("pages:dataset", args=[dataset.code]), dataset.name),
    ]
    return {"dataset": dataset, "crumbs": [*crumbs, *(more or [("", gettext("New release"))])]}


def suggested(
    balance: Balance, domain: Domain, plan: ReleasePlan | None = None
) -> dict[str, str]:
    """A loss that the account can pay, for the form to start with: the share of a planned release, else a
    usual loss."""
    # The δ of that method is none that a sum of ρ counts.
    is_pure = balance.rule == Rule.ZCDP and mechanisms.recommended(domain) == "on-the-map"
    return suggested_loss(balance, plan, is_pure=is_pure)


def suggested_loss(
    balance: Balance, plan: ReleasePlan | None = None, *, is_pure: bool = False
) -> dict[str, str]:
    """The same, of any method. is_pure: under zCDP, without δ."""
    free = balance.free if plan is None else plan.share
    if balance.rule == Rule.ZCDP:
        delta = "0" if is_pure else "1e-9"
        units = (
            USUAL_EPSILON
            if plan is None
            else release_plan.epsilon_of(free, rule=balance.rule, delta=Fraction(delta))
        )
        return {"epsilon": decimal_text("epsilon", units or USUAL_EPSILON), "delta": delta}
    epsilon, delta_units = (
        min(USUAL_EPSILON, free.epsilon)
        if plan is None
        else release_plan.epsilon_of(free, rule=balance.rule),
        min(USUAL_DELTA, free.delta),
    )
    return {
        "epsilon": decimal_text("epsilon", epsilon) if epsilon > 0 else "1",
        "delta": "1e-9"
        if delta_units == USUAL_DELTA
        else decimal_text("delta", max(0, delta_units)),
    }


def suggested_check(balance: Balance) -> dict[str, str]:
    """A small loss that the account can pay: what the form of a check starts with. Without δ where ε is
    counted: few answers are more precise so."""
    if balance.rule == Rule.ZCDP:
        return {"epsilon": "0.2", "delta": "1e-9"}
    epsilon = min(USUAL_EPSILON // 5, balance.free.epsilon)
    return {
        "epsilon": decimal_text("epsilon", epsilon) if epsilon > 0 else "0.2",
        "delta": "0",
    }


@dataclass(frozen=True, kw_only=True)
class Again:
    """The choices of an earlier run, to begin with. table: its public table. is_gone: whether that was
    deleted since, so that the form begins without it."""

    like: SynthesisRun | None = None
    choices: Mapping[str, object] = field(default_factory=dict)
    table: StatedTable | None = None
    is_gone: bool = False

    @property
    def shown(self) -> dict[str, object]:
        return {"like": self.like, "gone_table": self.table if self.is_gone else None}


def again(
    user: User, like: SynthesisRun | None, domain: Domain, *, follows: bool = False
) -> Again:
    """The choices of an earlier run, for a table of this description; its seed and its request are its own.
    follows: the new run is the next of a publication over years."""
    if like is None or not (choices := choices_of(like.spec)):
        return Again(like=like)
    choices |= {"name": f"{like.name[: LONGEST_NAME - len(AGAIN)]}{AGAIN}"}
    if follows:
        choices |= _following(user, like)
    stated = [Criterion.from_json(each) for each in like.criteria]
    choices |= criteria_fields.initial_of(stated, domain)
    table = StatedTable.from_json(like.prior)
    if table is None or follows:
        return Again(like=like, choices=choices)
    if not public_tables.is_there(user, table):
        return Again(like=like, choices=choices, table=table, is_gone=True)
    choices |= {
        "prior": table.choice.value,
        "prior_columns": public_tables.columns_text(table.columns),
    }
    return Again(like=like, choices=choices, table=table)


def _following(user: User, like: SynthesisRun) -> dict[str, object]:
    """What a release of the next year has of its own: the year in its name, the plan of the earlier one, and
    that release as the public table beside the answers, where the method takes one and `user` may draw from
    it. It costs nothing: what is published can be used again, and its loss stays on its own receipt."""
    year = plan_years.present_year()
    name = YEAR_AT_THE_END.sub("", like.name)[: LONGEST_NAME - 6]
    choices: dict[str, object] = {"name": f"{name}, {year}"}
    if mechanisms.traits(like.spec["mechanism"]).takes_prior:
        release = released.to_draw_from(user).filter(run_code=like.code).first()
        if release is not None:
            choices["prior"] = TableChoice(release=release.code).value
    use = EarmarkUse.objects.filter(run_code=like.code, earmark__plan__isnull=False)
    plan = use.values_list("earmark__plan__code", flat=True).first()
    return choices if plan is None else choices | {"earmark": plan}


def new_release(
    dataset: Dataset, form: ReleaseForm, estimate: Estimate | None, *, domain: Domain
) -> dict[str, object]:
    """The new-release page."""
    return frame(dataset) | {
        # Where a number is public or paid for, none is asked.
        "known_rows": planning.public_rows(dataset, domain),
        "form": form,
        "estimate": estimate,
        "families": form.families(),
    }


def run_list(runs: QuerySet[SynthesisRun], query: QueryDict) -> dict[str, object]:
    """The list of runs with its filter."""
    listed = listing(runs, query, columns=COLUMNS, usual="-asked")
    titles = method_titles()
    return {
        "list": listed,
        "runs": [
            (each, titles.get(each.spec["mechanism"], each.spec["mechanism"]))
            for each in listed.rows
        ],
        # No run stays in REQUESTED: it is created with its hold.
        "states": [(state.value, state.label) for state in State if state != State.REQUESTED],
        "mechanisms": titles.items(),
        "query": query,
        "narrowed": any(
            query.get(name) for name in ("q", "state", "mechanism", "dataset", "seen")
        ),
    }


def run(run: SynthesisRun, *, may_act: bool) -> dict[str, object]:
    """One run, whole page or moving part."""
    titles = method_titles()
    unit = "rho" if run.account.rule == Rule.ZCDP else "epsilon"
    return frame(run.dataset, (reverse("runs:index"), gettext("Runs")), ("", run.name)) | {
        "run": run,
        "title": titles.get(run.spec["mechanism"], run.spec["mechanism"]),
        "unit": unit,
        "price": getattr(run.price, unit),
        "delta": number_format.delta(run.spec["delta"]),
        "table": StatedTable.from_json(run.prior),
        "is_database": databases.is_of_database(run),
        "learned": newest(run.dataset) if purchases.is_purchase(run) else None,
        "link": None if run.link_side is None else run.link_side.link,
        "spent": ledger_selectors.is_charged(run.code),
        "failure": failure_words.of_run(run),
        "stages": stage_lines(run),
        "elapsed": _seconds(run.started_at or run.created_at, run.finished_at),
        "expected": run.of_release and run.of_release.expected,
        "events": run.events.all(),
        "forfeits": FORFEITS.get(State(run.state), ""),
        "may_act": may_act,
        # A sketch ends with its link, on the page of that.
        "may_cancel": may_act and run.is_open and run.link_side is None,
        "may_resume": may_act and run.state == State.FAILED and bool(run.answers_name),
    }


def stage_lines(run: SynthesisRun) -> list[StageLine]:
    """The stages of a run as far as it has come; a run that stopped shows where."""
    here = stages.position(run.stage)
    lines = []
    for place, stage in enumerate(stages.RUN):
        if run.state == State.FINISHED or place < here:
            lines.append(StageLine(name=stage.title, state="done", fraction=1.0))
        elif place > here:
            lines.append(
                StageLine(
                    name=stage.title,
                    state="waiting",
                    fraction=0.0,
                    note="" if run.is_open else "–",
                )
            )
        elif run.is_open:
            lines.append(
                StageLine(
                    name=stage.title, state="running", fraction=run.progress, note=stage.text
                )
            )
        else:
            lines.append(
                StageLine(
                    name=stage.title,
                    state="stopped",
                    fraction=run.progress,
                    note=gettext_noop("stopped here"),
                )
            )
    return lines


def report(
    user: User, release: Release, job: TableJob | None, form: ComparisonForm
) -> dict[str, object]:
    """The page that asks for a comparison with real data, and waits for it: a tab of the release. form: what
    it is to have besides."""
    return releases.frame(user, release, card="compare") | {
        "dataset": release.dataset,
        "job": job,
        "sentence": _(
            "A worker is reading the real table. This page opens the comparison as soon as it is ready."
        ),
        "stages": job_lines(job, of=_report_stages(job)) if job and job.is_open else [],
        "expired": job is not None and job.state == TableJob.State.FINISHED,
        "ask_url": reverse("runs:report", args=[release.code]),
        "extras": form,
    }


def _report_stages(job: TableJob) -> tuple[stages.Stage, ...]:
    """The stages of a comparison with what was asked for besides."""
    extras = Extras.of(job.extras)
    return (
        *stages.REPORT,
        *(stages.MODELS if extras.models else ()),
        *(stages.RISKS if extras.risks or extras.shadows else ()),
        *((stages.SHADOW,) if extras.shadows else ()),
    )


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """What a page of a release waits for: rows, errors of its columns, or the errors of the whole release."""

    lacks: str

    @classmethod
    def of(cls, query: QueryDict) -> Waiting | None:
        """As the page's address says; None for the page that waits for everything."""
        lacks = query.get("lacks", "")
        return cls(lacks=lacks) if lacks in ("rows", "ranges", "errors") else None

    @classmethod
    def whole(cls) -> Waiting:
        """For rows and ranges; the page that opens then waits for the rest by itself."""
        return cls(lacks="ranges")

    def has_arrived(self, release: Release) -> bool:
        """Whether a worker has stored it. The caller authorised."""
        if self.lacks == "rows":
            return look.prepared(release) != "nothing"
        if expected.columns_of(release) is None:
            return False
        if self.lacks == "errors":
            return not expected.are_errors_pending(release)
        return look.prepared(release) == "all"


def ranges(user: User, release: Release, job: RangesJob) -> dict[str, object]:
    """The page that waits for expected ranges: a tab of the release."""
    return releases.frame(user, release, card="expected") | {
        "job": job,
        "sentence": _(
            "A worker is computing the expected ranges, once for this release. This page opens them as "
            "soon as they are ready."
        ),
        "stages": job_lines(job, of=stages.RANGES),
    }


def counts(user: User, release: Release, job: CountsJob, *, card: str) -> dict[str, object]:
    """The page that waits for the counts of a release: the card that is made from them."""
    return releases.frame(user, release, card=card) | {
        "job": job,
        "sentence": _(
            "A worker is gathering the noisy answers of this release, once. This page shows what you asked "
            "for as soon as they are ready."
        ),
        "stages": job_lines(job, of=stages.COUNTS),
    }


def implicates(user: User, release: Release, job: ImplicatesJob) -> dict[str, object]:
    """The page that waits for plausible tables of a release: a part of its files."""
    return releases.frame(
        user, release, card="files", leaf=gettext("Several plausible tables")
    ) | {
        "job": job,
        "sentence": _(
            "A worker is making several plausible tables of this release, once. This page leads back to "
            "the files as soon as they are ready."
        ),
        "stages": job_lines(job, of=stages.IMPLICATES),
    }


def job_lines(
    job: Leased,
    *,
    of: tuple[stages.Stage, ...] = stages.REPORT,
) -> list[StageLine]:
    """The stages of a comparison, or of another job, as far as it has come."""
    names = [stage.name for stage in of]
    here = names.index(job.stage) if job.stage in names else 0
    return [
        StageLine(
            name=stage.title,
            state="done" if place < here else "running" if place == here else "waiting",
            fraction=1.0 if place < here else job.progress if place == here else 0.0,
        )
        for place, stage in enumerate(of)
    ]


def _seconds(since: datetime, until: datetime | None) -> int:
    return round(((until or timezone.now()) - since).total_seconds())
