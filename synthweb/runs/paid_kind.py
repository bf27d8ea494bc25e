"""The one path of what is paid for: hold → reserve → charge → measure → store → fit → publish (ADR 177).

Whatever state a job is found in says what may still be done. Found charged, it was interrupted between the charge and the stored
answers: it goes on from its last stored answer (`call_log`), or fails and keeps its charge if noise may have been drawn that nobody has.
A kind is a subclass; its hooks say what differs, and none of them can leave out or exchange a step.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from django.db import transaction
from django.db.models.functions import Now

from synth_engine import watching
from synth_engine.errors import PrivacyError
from synth_engine.measurement import Answers
from synth_engine.pipeline import Continuation
from synth_engine.relational.answers import DatabaseAnswers
from synthweb.datasets import selectors, vault
from synthweb.datasets.models import Dataset
from synthweb.ledger import services as ledger
from synthweb.lib import tracing
from synthweb.notifications.models import Event
from synthweb.releases.services import Origin
from synthweb.runs import (
    artefacts,
    call_log,
    errors,
    failpoints,
    lease,
    opened,
    services,
    stages,
    storing,
)
from synthweb.runs.failures import failure_of
from synthweb.runs.models import FilledCounts, SynthesisRun
from synthweb.runs.opened import Opened
from synthweb.runs.proposals import PaidPlan
from synthweb.runs.reconcile import INTERRUPTED
from synthweb.runs.stages import Stage
from synthweb.runs.turns import Failure, JobKind, Turn, end

State = SynthesisRun.State
PaidT = TypeVar("PaidT", SynthesisRun, FilledCounts)
PlanT = TypeVar("PlanT", bound=PaidPlan)


class RunPlan(PaidPlan, Protocol):
    """The plan of a run, whose answers are stored."""

    def answers_bytes(self) -> int:
        """Room for them."""


RunPlanT = TypeVar("RunPlanT", bound=RunPlan)
StoredT = TypeVar("StoredT", Answers, DatabaseAnswers)
AnswersT = TypeVar("AnswersT")
ResultT = TypeVar("ResultT")
MAX_ATTEMPTS = 5


class PaidKind(JobKind[PaidT], Generic[PaidT, PlanT, AnswersT, ResultT]):
    """A kind of job that is entered in the ledger before a row is read. reads_earlier_tables: whether the version of a table may have been replaced
    since."""

    reads_earlier_tables: ClassVar[bool] = False
    # States before the ledger's entry and behind the measurement, and what the row has once it is entered.
    unpaid: ClassVar[tuple[str, ...]]
    measured: ClassVar[tuple[str, ...]]
    finished: ClassVar[str]
    entered: ClassVar[Mapping[str, Any]]

    # --- hooks of a kind ------------------------------------------------------------------------------------------------
    @abstractmethod
    def replan(self, job: PaidT) -> PlanT:
        """The plan that was asked for, from what is stored. Errors: InputError, PrivacyError."""

    def confirm(self, job: PaidT, plan: PlanT, progress: Callable[[float], None]) -> None:
        """What can be known before a table is opened."""

    def tables(self, job: PaidT) -> Mapping[str, Dataset]:
        """What is read, by the names that `require` and `measure` find the files under."""
        return {"": job.dataset}

    @abstractmethod
    def require(self, files: Opened, plan: PlanT) -> None:
        """See that the tables have what the plan needs: headers alone, no row is read."""

    def lock(self, job: PaidT) -> Any:
        """What is locked before the row is, at the charge and at the end."""
        return None

    @abstractmethod
    def charge(self, job: PaidT, locked: Any) -> None:
        """Enter it in the ledger, in the transaction of the fenced write: a worker that lost its lease enters nothing."""

    @abstractmethod
    def measure(
        self, files: Opened, plan: PlanT, turn: Turn[PaidT], going_on: Continuation | None
    ) -> AnswersT:
        """Read the rows."""

    @abstractmethod
    def answers(self, turn: Turn[PaidT], plan: PlanT) -> AnswersT:
        """What was measured; measured now, by `measured_now`, if it is not yet."""

    @abstractmethod
    def fit(self, job: PaidT, plan: PlanT, answers: AnswersT) -> ResultT:
        """Make the result: repeatable, the same each time."""

    def publish(
        self, job: PaidT, plan: PlanT, answers: AnswersT, result: ResultT
    ) -> Mapping[str, Any]:
        """Keep the result, under the fence: the fields of the row that name it."""
        return {}

    def settle(self, job: PaidT, locked: Any, result: ResultT) -> None:
        """What is written last in the transaction of the publication."""

    def published(self, fields: Mapping[str, Any]) -> None:
        """What follows that transaction; it may fail."""

    def is_spent(self, locked: Any) -> bool:
        """Whether the charge stays although the row is unpaid."""
        return False

    def give_back(self, job: PaidT, locked: Any) -> None:
        """Release what is held for a job that fails unpaid."""

    # --- told by the kinds of each model --------------------------------------------------------------------------------
    def begin(self, turn: Turn[PaidT], stage: Stage) -> None:
        """Say that a stage begins."""
        turn.progress(stage.name, 0.0)

    def tell_ready(self, job: PaidT) -> None:
        """Have people told that the result is there."""

    def tell_failed(self, job: PaidT, *, spent: bool) -> None:
        """Have people told that there will be none."""

    # --- the path -------------------------------------------------------------------------------------------------------
    def do(self, turn: Turn[PaidT]) -> None:
        plan = self.replan(turn.job)
        answers = self.answers(turn, plan)
        self._publish(turn, plan, answers)

    def measured_now(
        self, turn: Turn[PaidT], plan: PlanT, going_on: Continuation | None = None
    ) -> AnswersT:
        """Charge and measure. What can be known without reading a row is found out before the charge: that the plan provably meets its
        target, that the vault still has the tables and that they are, byte for byte, those that were stored, and that their headers
        name the columns described. A job that fails of these costs nothing. Rows are read behind the charge alone."""
        job = turn.job
        self.confirm(job, plan, lambda share: turn.progress(stages.OPEN.name, share))
        self.require_tables(job)
        with opened.tables(self.tables(job), job.code) as files:
            self.require(files, plan)
            failpoints.reach(failpoints.BEFORE_CHARGE)
            self._charge(turn)
            failpoints.reach(failpoints.AFTER_CHARGE)
            return self.measure(files, plan, turn, going_on)

    def require_plan(self, job: PaidT, plan: PlanT) -> None:
        """The hold pays for the plan that was shown; a newer engine may plan otherwise, and then nothing is spent."""
        if plan.digest != job.plan_digest:
            raise PrivacyError(
                "the engine was updated and plans this run differently now; submit it again"
            )

    def require_tables(self, job: PaidT) -> None:
        """A file is not replaced while a run waits for it; whatever else may happen to it, no run reads another one."""
        for taken in selectors.tables_of_run(job.code):
            replaced = taken.table.vault_name != taken.table.dataset.vault_name
            if taken.table.erased_at is not None or (
                replaced and not self.reads_earlier_tables
            ):
                raise PrivacyError(
                    "the table was replaced after this run was submitted; submit it again"
                )

    def _charge(self, turn: Turn[PaidT]) -> None:
        """The point of no return, a transaction of its own: the entry is written before any row is read. A job that goes on was
        charged."""
        job = turn.job
        if job.state not in self.unpaid:
            return
        self.begin(turn, stages.CHARGE)
        with transaction.atomic():
            locked = self.lock(job)
            # The fence first: it locks the row.
            lease.write(turn.grip, states=self.unpaid, progress=1.0, **self.entered)
            self.charge(job, locked)
        job.state = self.entered.get("state", job.state)

    def _publish(self, turn: Turn[PaidT], plan: PlanT, answers: AnswersT) -> None:
        """Everything after the measurement: a function of the answers. The result and the end of its job are one transaction."""
        job, progress = turn.job, turn.progress
        self.begin(turn, stages.FIT)
        failpoints.reach(failpoints.DURING_FIT)
        with watching.watched(lambda share: progress(stages.FIT.name, share)):
            result = self.fit(job, plan, answers)
        self.begin(turn, stages.PUBLISH)
        with transaction.atomic():
            locked = self.lock(job)
            # The fence first, so that a cancellation comes before or after this.
            lease.write(turn.grip, states=self.measured, progress=1.0)
            fields = self.publish(job, plan, answers, result)
            end(turn, state=self.finished, **fields)
            self.tell_ready(job)
            self.settle(job, locked, result)
        self.published(fields)

    def fail(self, turn: Turn[PaidT], failure: Failure) -> None:
        """End a job under the fence. The hold is released if the state in the database says that nothing was charged."""
        job = turn.job
        tracing.fail(str(failure["code"]))
        try:
            with transaction.atomic():
                locked = self.lock(job)
                # The job in memory may be behind: a charge can be
                # committed although its answer never came.
                state = turn.grip.rows().select_for_update().values_list("state", flat=True)
                spent = state.first() not in self.unpaid or self.is_spent(locked)
                end(turn, state="failed", failure=failure)
                self.tell_failed(job, spent=spent)
                if not spent:
                    self.give_back(job, locked)
        except errors.LeaseLost:
            self.say_unrecorded(turn)

    def failure(self, job: PaidT, error: Exception) -> Failure:
        return failure_of(error, described=job.domain_version.document)


class RunKind(PaidKind[SynthesisRun, RunPlanT, StoredT, ResultT]):
    """A kind of run: its price is held and charged, and its answers are stored. mechanism: of the specs of its rows; ready: what its log
    says in the end; kept: the class of its answers."""

    model = SynthesisRun
    word = "run"
    taken_over = "taken over or cancelled"
    max_attempts = MAX_ATTEMPTS
    unpaid = (State.HELD,)
    measured = (State.MEASURED,)
    finished = State.FINISHED
    entered: ClassVar[Mapping[str, Any]] = {
        "state": State.CHARGED,
        "charged_at": Now(),
        "calls_begun": 0,
    }
    mechanism: ClassVar[str]
    ready: ClassVar[str]
    kept: type[StoredT]

    def hopeless(self, turn: Turn[SynthesisRun]) -> Failure | None:
        # Its worker died before all answers were stored. Noise drawn again would be a second access
        # to the data for one charge.
        run = turn.job
        if run.state == State.CHARGED and call_log.stored_of(run) is None:
            return INTERRUPTED
        return super().hopeless(turn)

    def answers(self, turn: Turn[SynthesisRun], plan: RunPlanT) -> StoredT:
        """As they are stored. A run that is measured skips what is above: what is left of it is post-processing."""
        run = turn.job
        if run.state in (State.HELD, State.CHARGED):
            self.require_plan(run, plan)
            self.begin(turn, stages.OPEN)
            # Before the charge, because a full disk afterwards
            # would lose answers that are paid for.
            with storing.reserved(turn, plan.answers_bytes()) as room:
                secret = vault.derived_secret(f"truncation/{run.code}")
                going_on = Continuation(log=room.log, secret=secret)
                answers = self.measured_now(turn, plan, going_on)
                failpoints.reach(failpoints.BEFORE_STORE)
                storing.store(turn, answers, room)
            call_log.discard(run)
            failpoints.reach(failpoints.AFTER_MEASURE)
        # Read back even if they were measured a moment ago: a first try and a resumed one then fit
        # the same stored answers, checked against their digest.
        return artefacts.read(self.kept.load, name=run.answers_name, digest=run.answers_digest)

    def charge(self, job: SynthesisRun, locked: Any) -> None:
        ledger.charge(run_code=job.code)

    def give_back(self, job: SynthesisRun, locked: Any) -> None:
        ledger.release(run_code=job.code, reason="failed before any noise was drawn")

    def tell_ready(self, job: SynthesisRun) -> None:
        services.note(job, stages.PUBLISH.name, self.ready)
        services.notify_end(job, Event.RUN_FINISHED)

    def tell_failed(self, job: SynthesisRun, *, spent: bool) -> None:
        words = "The charge stays." if spent else "Nothing was spent; the hold is released."
        services.note(job, job.stage, f"Failed. {words}")
        services.notify_end(job, Event.RUN_FAILED)


KINDS: dict[str, RunKind[Any, Any, Any]] = {}
"""Kinds of runs by their mechanism; what is none of these makes a release of one table."""
KindT = TypeVar("KindT", bound=type[RunKind[Any, Any, Any]])


def register(kind: KindT) -> KindT:
    """Decorates a kind of run. Its module is `job_kinds` of an app, or a module in it."""
    KINDS[kind.mechanism] = kind()
    return kind


def origin_of(run: SynthesisRun) -> Origin:
    """Where a result comes from."""
    return Origin(
        run_code=run.code,
        dataset=run.dataset,
        account=run.account,
        domain_version=run.domain_version,
        created_by=run.created_by,
        name=run.name,
        chosen_after_looking=run.looked_before,
        criteria=run.criteria,
        is_validation=run.allowance_id is not None,
    )
