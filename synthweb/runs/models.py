"""Runs: requested syntheses and the other jobs of the confidential worker.

The broker is only a doorbell; truth is these rows. A worker claims a row by a lease with a fencing token (one
conditional UPDATE) and every later write of it carries that token, so that duplicate, lost and
reordered messages, and workers that wake up late, are all harmless.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from synthweb.datasets.models import Dataset, DomainVersion, LearnedDescription
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from synthweb.lib import codes
from synthweb.lib.marks import Mark
from synthweb.releases.models import PaidCheck, Release


class Leased(models.Model):
    """What a worker claims: `lease_token` grows by one a claim; a write under an older token is refused. A
    claimer counts up `heartbeats` while it lives."""

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    lease_token = models.PositiveIntegerField(default=0)
    lease_held = models.BooleanField(default=False)
    # Of silence after which its holder counts as gone.
    lease_seconds = models.FloatField(default=60)
    heartbeats = models.PositiveBigIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    stage = models.CharField(max_length=32, blank=True)  # a name of runs.stages; never data
    progress = models.FloatField(default=0.0)  # of this stage, 0 to 1
    # Code and our own text, never a traceback or a value.
    failure = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    OPEN: tuple[str, ...] = ()  # states in which there is still something to do
    TASK: ClassVar[str]  # the name of the message about one

    class Meta:
        abstract = True

    @property
    def is_open(self) -> bool:
        return self.state in self.OPEN  # type: ignore[attr-defined]


class ValidationAllowance(models.Model):
    """The part of a dataset's budget that an analyst may spend on figures of one release, until a day.
    Without an analyst, every reader of the release has that much of their own, so that nobody learns from
    what is left what others asked."""

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    release = models.ForeignKey(
        Release, on_delete=models.PROTECT, related_name="validation_allowances"
    )
    analyst = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="validation_allowances",
    )
    # In the currency of the account that the release was paid from.
    epsilon = models.BigIntegerField(default=0)
    delta = models.BigIntegerField(default=0)
    rho = models.BigIntegerField(default=0)
    note = models.CharField(
        max_length=200, blank=True
    )  # for what, in the words of who grants it
    granted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(epsilon__gte=0) & Q(delta__gte=0) & Q(rho__gte=0),
                name="allowance_amounts_positive",
            )
        ]

    def __str__(self) -> str:
        return f"Validation allowance {self.code} of {self.release}"


class Link(models.Model):
    """Two tables of two organisations whose persons are counted together (ADR 92).

    proposed → accepted → started → charged → finished; until it is charged also → withdrawn, and from started
    → failed. Until `charged` nothing is spent on either side. What each side is shown of the other is the
    agreement, whose facts are public, the receipts and the estimate: never its table, its dataset or its
    people.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed", _("Waits for the other side")
        ACCEPTED = "accepted", _("Agreed, not started")
        STARTED = "started", _("Both prices are held")
        CHARGED = "charged", _("Both are charged")
        FINISHED = "finished", _("Estimated")
        WITHDRAWN = "withdrawn", _("Withdrawn")
        FAILED = "failed", _("Failed")

    UNSPENT = (State.PROPOSED, State.ACCEPTED, State.STARTED)

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    name = models.CharField(max_length=200)
    state = models.CharField(max_length=12, choices=State, default=State.PROPOSED)
    # SHA-256 of the invitation, which its asker was shown once.
    invitation = models.CharField(max_length=64, unique=True)
    # What the other side is asked to spend, as it was typed.
    invited_epsilon = models.CharField(max_length=40)
    rows = models.PositiveBigIntegerField()
    typos = models.CharField(max_length=40)
    functions = models.PositiveSmallIntegerField(null=True, blank=True)
    # Of the hash functions: nobody chose it.
    seed = models.CharField(max_length=32)
    # The engine's document, from the acceptance on.
    agreement = models.JSONField(null=True, blank=True)
    estimate = models.JSONField(null=True, blank=True)
    # The side that withdrew.
    ended_by = models.CharField(max_length=8, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    charged_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~Q(state__in=["accepted", "started", "charged", "finished"])
                | Q(agreement__isnull=False),
                name="link_is_agreed",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["charged", "finished"]) | Q(charged_at__isnull=False),
                name="link_is_charged",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class LinkSide(models.Model):
    """One side of a link: whose table it is, what is counted of it, and what left its room."""

    class Side(models.TextChoices):
        LEFT = "left", _("left")
        RIGHT = "right", _("right")

    link = models.ForeignKey(Link, on_delete=models.PROTECT, related_name="sides")
    # The left one is that of whoever proposed.
    side = models.CharField(max_length=8, choices=Side)
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="link_sides")
    domain_version = models.ForeignKey(
        DomainVersion, on_delete=models.PROTECT, related_name="link_sides"
    )
    account = models.ForeignKey(
        BudgetAccount, on_delete=models.PROTECT, related_name="link_sides"
    )
    steward = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="link_sides"
    )
    # Names of columns, which the other side sees.
    texts = models.JSONField(default=list)
    columns = models.JSONField(default=list, blank=True)
    epsilon = models.CharField(max_length=40)
    # Code of the part of the account that its sketch is paid from; empty: what is free.
    earmark = models.CharField(max_length=16, blank=True, default="")
    receipt = models.JSONField(null=True, blank=True)
    # The noisy counts, as the engine's document; they may be megabytes.
    sketch = models.JSONField(null=True, blank=True)
    # Whose model the synthetic table of this side is generated by, once its steward gave one.
    release = models.ForeignKey(
        Release, null=True, blank=True, on_delete=models.PROTECT, related_name="link_sides"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["link", "side"], name="one_side_of_a_kind")
        ]

    def __str__(self) -> str:
        return f"{self.get_side_display()} side of {self.link}"


class LinkSideMark(Mark):
    """What became known of a sketch after it left its room."""

    class Kind(models.TextChoices):
        OUTSIDE = "outside-the-guarantee", _("Exact counts were published")

    link_side = models.ForeignKey(LinkSide, on_delete=models.PROTECT, related_name="marks")
    kind = models.CharField(max_length=32, choices=Kind)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["link_side", "sequence"], name="link_side_mark_sequence"
            )
        ]

    def __str__(self) -> str:
        return f"{self.link_side}, mark {self.sequence}"


class RunQuerySet(models.QuerySet["SynthesisRun"]):
    """Runs, and which of them spend."""

    def spending(self) -> RunQuerySet:
        """Those that spent, or may yet spend."""
        charged = LedgerEntry.objects.filter(kind=LedgerEntry.Kind.CHARGE).values("run_code")
        return self.filter(Q(code__in=charged) | Q(state__in=SynthesisRun.OPEN))


class SynthesisRun(Leased):
    """requested → held → charged → measured → finished | failed | cancelled.

    Before `charged` nothing is spent and any crash is harmless; from `charged` to `measured` each answer is
    stored before it is used, and a crash while noise is drawn fails the run, whose charge stays; from
    `measured` on everything may be repeated for ever.

    What it costs, which account pays and for which plan is in the ledger alone (`hold`). What a kind has
    besides is in its own row: `ReleaseRun`, `CheckRun`, `SketchRun` or `LearnRun`.
    """

    class State(models.TextChoices):
        REQUESTED = "requested", _("Requested")
        HELD = "held", _("Waiting for a worker")
        CHARGED = "charged", _("Measuring")
        MEASURED = "measured", _("Fitting")
        FINISHED = "finished", _("Finished")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    OPEN = (State.REQUESTED, State.HELD, State.CHARGED, State.MEASURED)
    TASK = "runs.synthesize"
    TELLING = (State.FINISHED, State.FAILED)  # ends that its asker did not bring about
    SPENT = (State.CHARGED, State.MEASURED, State.FINISHED)

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="runs")
    domain_version = models.ForeignKey(
        DomainVersion, on_delete=models.PROTECT, related_name="runs"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="runs"
    )
    name = models.CharField(max_length=200)
    spec = models.JSONField()  # the engine's Spec as JSON
    # What is held: the amounts, the account that pays, and the digest of the plan.
    hold = models.OneToOneField(
        LedgerEntry, null=True, on_delete=models.PROTECT, related_name="run"
    )
    # Chosen after looking at a comparison with real data.
    looked_before = models.BooleanField(default=False)
    state = models.CharField(max_length=12, choices=State, default=State.REQUESTED)
    # Since the charge, calls, and of a call that is drawn in parts the parts, for which noise may have been
    # drawn; nothing of a run that was charged by a version without a log of its calls (`call_log`).
    calls_begun = models.PositiveIntegerField(null=True, blank=True, editable=False)
    answers_digest = models.CharField(max_length=64, blank=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["state", "lease_held"]),
            models.Index(fields=["created_by", "state"]),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state="requested") | Q(hold__isnull=False), name="run_has_hold"
            ),
            models.CheckConstraint(
                # What follows the charge is made from the stored answers: a run does not count
                # as measured without the digest that they are checked against.
                condition=~Q(state__in=["measured", "finished"]) | ~Q(answers_digest=""),
                name="measured_has_answers",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def price(self) -> LedgerEntry:
        """The entry of the ledger that says what it costs. Errors: TypeError before anything is held."""
        if self.hold is None:
            raise TypeError("nothing is held for this run")
        return self.hold

    @property
    def account(self) -> BudgetAccount:
        """Which pays."""
        return self.price.account

    @property
    def plan_digest(self) -> str:
        """Of the plan that is paid for."""
        return self.price.evidence

    @property
    def answers_name(self) -> str:
        """The file of its noisy answers (`artefacts`); empty while there is none."""
        file: AnswersFile | None = getattr(self, "answers_file", None)
        return "" if file is None else file.name

    # --- what its own row has, and none of another kind -----------------------------------------------------
    @property
    def of_release(self) -> ReleaseRun | None:
        row: ReleaseRun | None = getattr(self, "release_run", None)
        return row

    @property
    def of_check(self) -> CheckRun | None:
        row: CheckRun | None = getattr(self, "check_run", None)
        return row

    @property
    def prior(self) -> Any:
        return self.of_release.prior if self.of_release else None

    @property
    def criteria(self) -> list[Any]:
        return self.of_release.criteria if self.of_release else []

    @property
    def release(self) -> Release | None:
        return self.of_release.release if self.of_release else None

    @property
    def checks(self) -> Release | None:
        return self.of_check.checks if self.of_check else None

    @property
    def allowance(self) -> ValidationAllowance | None:
        return self.of_check.allowance if self.of_check else None

    @property
    def is_validation(self) -> bool:
        return self.of_check is not None and self.of_check.allowance_id is not None

    @property
    def paid_check(self) -> PaidCheck | None:
        return self.of_check.paid_check if self.of_check else None

    @property
    def link_side(self) -> LinkSide | None:
        row: SketchRun | None = getattr(self, "sketch_run", None)
        return row.side if row else None


class ReleaseRun(models.Model):
    """What a run has of a release, of one table or of several."""

    run = models.OneToOneField(
        SynthesisRun, primary_key=True, on_delete=models.CASCADE, related_name="release_run"
    )
    # The public table beside which answers are read (`public_tables.StatedTable`).
    prior = models.JSONField(null=True, blank=True)
    # What has to hold for the release to be used (`criteria.Criterion`), fixed before the run.
    criteria = models.JSONField(default=list, blank=True)
    # The forecast of its time when it was submitted; `timing` compares it with what it took.
    expected = models.JSONField(null=True, blank=True)
    # From its end on.
    release = models.OneToOneField(
        Release,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="release_run",
    )

    def __str__(self) -> str:
        return f"Release of {self.run}"


class CheckRun(models.Model):
    """What a run has of figures of a release that are measured with budget."""

    run = models.OneToOneField(
        SynthesisRun, primary_key=True, on_delete=models.CASCADE, related_name="check_run"
    )
    checks = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="check_runs")
    # Of a validation, which an analyst asked for: what it is paid from, and the first tick of its grid, fixed
    # when it was asked for (`validations.Standing`).
    allowance = models.ForeignKey(
        ValidationAllowance,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="check_runs",
    )
    due_at = models.DateTimeField(null=True, blank=True)
    # From its end on: what was measured.
    paid_check = models.OneToOneField(
        PaidCheck,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="check_run",
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(allowance__isnull=True) | Q(due_at__isnull=False),
                name="validation_is_due",
            )
        ]

    def __str__(self) -> str:
        return f"Check of {self.checks}"


class SketchRun(models.Model):
    """What a run has of a sketch: the side of a link that is counted."""

    run = models.OneToOneField(
        SynthesisRun, primary_key=True, on_delete=models.CASCADE, related_name="sketch_run"
    )
    side = models.OneToOneField(LinkSide, on_delete=models.PROTECT, related_name="sketch_run")

    def __str__(self) -> str:
        return f"Sketch of {self.side}"


class LearnRun(models.Model):
    """What a run has of a description that is bought once."""

    run = models.OneToOneField(
        SynthesisRun, primary_key=True, on_delete=models.CASCADE, related_name="learn_run"
    )
    # From its end on.
    learned = models.OneToOneField(
        LearnedDescription,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="learn_run",
    )

    def __str__(self) -> str:
        return f"Description by {self.run}"


class RunRequest(models.Model):
    """The key that an asker gave with a request: a repeated request is one run."""

    run = models.OneToOneField(
        SynthesisRun, primary_key=True, on_delete=models.CASCADE, related_name="request"
    )
    asker = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    key = models.CharField(max_length=64)

    class Meta:
        constraints = [
            # Two presses of one button at the same moment both find no earlier run; the database then lets
            # one of them hold the price.
            models.UniqueConstraint(fields=["asker", "key"], name="one_run_a_request")
        ]

    def __str__(self) -> str:
        return f"Request for {self.run}"


class AnswersFile(models.Model):
    """The file of the noisy answers of a run (`artefacts`), until they are erased."""

    run = models.OneToOneField(
        SynthesisRun, primary_key=True, on_delete=models.CASCADE, related_name="answers_file"
    )
    name = models.CharField(max_length=64, unique=True)

    def __str__(self) -> str:
        return self.name


class RunSeen(models.Model):
    """When the asker of a run first saw how it ended."""

    run = models.OneToOneField(
        SynthesisRun, primary_key=True, on_delete=models.CASCADE, related_name="seen"
    )
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"End of {self.run}"


class TableJob(Leased):
    """A job that opens a table and spends nothing because what it makes is for the steward alone: reading an
    upload, or a comparison with real data. Its result goes to the preview store; this row never holds any of
    it."""

    class Kind(models.TextChoices):
        INGEST = "ingest", _("Read the upload")
        REPORT = "report", _("Compare with real data")
        KEYS = "keys", _("Check the keys of a database")

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting for a worker")
        FINISHED = "finished", _("Finished")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    OPEN = (State.WAITING,)
    TASK = "runs.table_job"

    kind = models.CharField(max_length=8, choices=Kind)
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="table_jobs")
    release = models.ForeignKey(
        Release, null=True, blank=True, on_delete=models.PROTECT, related_name="table_jobs"
    )
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    state = models.CharField(max_length=12, choices=State, default=State.WAITING)
    # Of a comparison: what takes longer and was asked for besides; names of columns, which are public, and no
    # value.
    extras = models.JSONField(default=dict, blank=True)

    class Meta:
        indexes = [models.Index(fields=["state", "lease_held"])]
        constraints = [
            # Two, because a job without a release has a NULL, which equals no other one on SQLite.
            models.UniqueConstraint(
                fields=["kind", "dataset"],
                condition=Q(state="waiting", release__isnull=True),
                name="one_waiting_table_job_a_dataset",
            ),
            models.UniqueConstraint(
                fields=["kind", "release"],
                condition=Q(state="waiting", release__isnull=False),
                name="one_waiting_table_job_a_release",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.dataset}"


class ReleaseJob(Leased):
    """Something that a worker derives from what is stored of a release: it opens no table. One at most waits
    a release, which a constraint of each kind says."""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting for a worker")
        FINISHED = "finished", _("Finished")
        FAILED = "failed", _("Failed")

    OPEN = (State.WAITING,)

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=12, choices=State, default=State.WAITING)

    class Meta:
        abstract = True
        indexes = [models.Index(fields=["state", "lease_held"])]

    def __str__(self) -> str:
        return f"{self._meta.verbose_name}: {self.release}"


def _one_waiting(name: str) -> models.UniqueConstraint:
    return models.UniqueConstraint(fields=["release"], condition=Q(state="waiting"), name=name)


class RangesJob(ReleaseJob):
    """The computation of a release's expected ranges. It has no key: model and receipt are released."""

    TASK = "runs.expected_ranges"

    class Meta(ReleaseJob.Meta):
        constraints = [_one_waiting("one_waiting_ranges_job")]


class CountsJob(ReleaseJob):
    """Bringing together what tables of counts of a release are computed from: the stored noisy answers, which
    the confidential worker alone has, and the model."""

    TASK = "runs.counts"

    class Meta(ReleaseJob.Meta):
        constraints = [_one_waiting("one_waiting_counts_job")]


class ImplicatesJob(ReleaseJob):
    """Making several plausible tables of a release: the model is fitted again to the stored noisy answers,
    which the confidential worker alone has."""

    TASK = "runs.implicates"

    class Meta(ReleaseJob.Meta):
        constraints = [_one_waiting("one_waiting_implicates_job")]


class FilledCounts(Leased):
    """Counts of a table filled to a policy, which are not private (ADR 95).

    asked → approved → published | failed; until it is approved also → refused or withdrawn. With `outside_at`
    the ledger has an entry that no guarantee holds any more: it is written before a row is read, and stays.
    """

    class State(models.TextChoices):
        ASKED = "asked", _("Waiting for a custodian")
        APPROVED = "approved", _("Waiting for a worker")
        PUBLISHED = "published", _("Published, not private")
        REFUSED = "refused", _("Refused")
        WITHDRAWN = "withdrawn", _("Withdrawn")
        FAILED = "failed", _("Failed")

    OPEN = (State.APPROVED,)
    TASK = "runs.filled_counts"
    # Of these there is one of the same people at most.
    LIVING = (State.ASKED, State.APPROVED, State.PUBLISHED)

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="filled_counts")
    domain_version = models.ForeignKey(
        DomainVersion, on_delete=models.PROTECT, related_name="filled_counts"
    )
    account = models.ForeignKey(
        BudgetAccount, on_delete=models.PROTECT, related_name="filled_counts"
    )
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    name = models.CharField(max_length=200)
    purpose = models.TextField()
    # The engine's document, and its digest.
    plan = models.JSONField()
    plan_digest = models.CharField(max_length=64)
    # Of the private alternative that was shown beside, as it was typed.
    epsilon = models.CharField(max_length=40)
    state = models.CharField(max_length=12, choices=State, default=State.ASKED)
    # Where two custodians approve: the first one.
    first_approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
    )
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
    )
    decision_reason = models.TextField(blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    # Hash of the audit log's entry about the approval.
    approval = models.CharField(max_length=64, blank=True)
    outside_at = models.DateTimeField(null=True, blank=True)
    # What is published; nothing else of the table is ever stored here.
    counts = models.JSONField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "filled counts"
        indexes = [models.Index(fields=["state", "lease_held"])]
        constraints = [
            models.UniqueConstraint(
                fields=["account"],
                condition=Q(state__in=["asked", "approved", "published"]),
                name="one_filled_counts_an_account",
            ),
            models.CheckConstraint(
                condition=~Q(state="published")
                | (Q(counts__isnull=False) & Q(outside_at__isnull=False)),
                name="published_counts_are_outside",
            ),
            models.CheckConstraint(
                condition=Q(outside_at__isnull=True) | ~Q(approval=""),
                name="counts_are_approved",
            ),
        ]

    def __str__(self) -> str:
        return self.name


def leased() -> list[type[Leased]]:
    """The models of all kinds of jobs, which messages are about."""
    return [model for model in apps.get_models() if issubclass(model, Leased)]


class OutboxMessage(models.Model):
    """A message about a job, written in the transaction that needs it; sent on commit, and again by the
    reconciler for as long as its subject waits. One row a task and subject, deleted when the subject is
    over."""

    task = models.CharField(max_length=100)
    queue = models.CharField(max_length=32)
    subject_code = models.CharField(max_length=16)
    created_at = models.DateTimeField(auto_now_add=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    times_sent = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["sent_at", "created_at"])]
        constraints = [
            models.UniqueConstraint(
                fields=["task", "subject_code"], name="one_message_a_subject"
            )
        ]

    def __str__(self) -> str:
        return f"{self.task} {self.subject_code}"


class RunEvent(models.Model):
    """One line of a run's public log: stage and our own words, never data."""

    run = models.ForeignKey(SynthesisRun, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(auto_now_add=True)
    stage = models.CharField(max_length=32)
    text = models.CharField(max_length=300)

    class Meta:
        ordering = ["at", "pk"]

    def __str__(self) -> str:
        return f"{self.stage}: {self.text}"
