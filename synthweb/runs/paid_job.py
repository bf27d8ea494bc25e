"""The one path of what is paid for: hold → reserve → charge → measure → store → fit → publish (ADR 177).

Whatever state a job is found in says what may still be done. Found charged, it was interrupted between the
charge and the stored answers: it goes on from its last stored answer (`call_log`), or fails and keeps its
charge if noise may have been drawn that nobody has. A kind is a subclass; its hooks say what differs, and
none of them can leave out or exchange a step.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from django.db import transaction

from synth_engine import watching
from synth_engine.errors import PrivacyError
from synth_engine.measurement import Answers
from synth_engine.pipeline import Continuation
from synth_engine.relational.answers import DatabaseAnswers
from synthweb.datasets import selectors, vault
from synthweb.datasets.domain_cache import read_afresh
from synthweb.datasets.models import Dataset
from synthweb.ledger import services as ledger
from synthweb.notifications.models import Event
from synthweb.releases.services import Origin
from synthweb.runs import (
    artefacts,
    call_log,
    errors,
    failpoints,
    leases,
    opened,
    services,
    stages,
)
from synthweb.runs.failures import failure_of
from synthweb.runs.models import FilledCounts, SynthesisRun
from synthweb.runs.opened import Opened
from synthweb.runs.proposals import PaidPlan, PaidRequest
from synthweb.runs.reconcile import INTERRUPTED
from synthweb.runs.stages import Stage
from synthweb.runs.storing import reserved, store
from synthweb.runs.turns import Failure, Job

State = SynthesisRun.State
PaidT = TypeVar("PaidT", SynthesisRun, FilledCounts)
PlanT = TypeVar("PlanT", bound=PaidPlan)
AnswersT = TypeVar("AnswersT")


class PaidJob(Job[PaidT], Generic[PaidT, PlanT, AnswersT]):
    """A job that is entered in the ledger before a row is read. unpaid, measured: states before that entry,
    and behind the measurement; entered: what the row has from the entry on; reads_earlier_tables: whether the
    version of a table may have been replaced since."""

    unpaid: ClassVar[tuple[str, ...]]
    measured: ClassVar[tuple[str, ...]]
    finished: ClassVar[str]
    entered: ClassVar[Mapping[str, Any]]
    reads_earlier_tables: ClassVar[bool] = False
    ready: ClassVar[str] = ""  # what its log says in the end

    # --- what a kind says -----------------------------------------------------------------------------------
    @abstractmethod
    def replan(self) -> PlanT:
        """The plan that was asked for, from what is stored. Errors: InputError, PrivacyError."""

    def confirm(self) -> None:
        """What can be known before a table is opened."""

    def tables(self) -> Mapping[str, Dataset]:
        """The tables to read, by their names."""
        return {"": self.row.dataset}

    @abstractmethod
    def require(self, files: Opened) -> None:
        """See that the tables have what the plan needs: headers alone, no row is read."""

    def lock(self) -> None:
        """Lock what stands before the row, at the charge and at the end."""

    @abstractmethod
    def charge(self) -> None:
        """Enter it in the ledger, in the transaction of the fenced write: a worker that lost its lease enters
        nothing."""

    @abstractmethod
    def measure(self, files: Opened, going_on: Continuation | None) -> AnswersT:
        """Read the rows."""

    @abstractmethod
    def answers(self) -> AnswersT:
        """What was measured; measured now, by `measured_now`, if it is not yet."""

    def fit(self, answers: AnswersT) -> Any:
        """Make the result: repeatable, the same each time."""
        return answers

    def publish(self, answers: AnswersT, result: Any) -> Mapping[str, Any]:
        """Keep the result, under the fence: the fields that name it, of the row or of that of its kind."""
        return {}

    def finish(self, fields: Mapping[str, Any]) -> None:
        """Record the end, and what is published."""
        self.end(state=self.finished, **fields)

    def settle(self, result: Any) -> None:
        """Write what belongs last into the transaction of the publication."""

    def require_result(self) -> None:
        """See that the result is stored, last in that transaction."""

    def published(self, fields: Mapping[str, Any]) -> None:
        """What follows that transaction; it may fail."""

    def is_spent(self) -> bool:
        """Whether the charge stays although the row is unpaid."""
        return False

    def give_back(self) -> None:
        """Release what is held for a job that fails unpaid."""

    def tell(self, stage: str, text: str, event: Event) -> None:
        """Have people told how it ended."""

    def begin(self, stage: Stage) -> None:
        """Say that a stage begins."""
        self.progress(stage.name, 0.0)

    # --- the path -------------------------------------------------------------------------------------------
    @cached_property
    def plan(self) -> PlanT:
        """As it is planned now."""
        return self.replan()

    def do(self) -> None:
        self.plan  # noqa: B018 - what is refused of it is refused first
        self._publish(self.answers())

    def measured_now(self, going_on: Continuation | None = None) -> AnswersT:
        """Charge and measure. What can be known without reading a row is found out before the charge: that
        the plan provably meets its target, that the vault still has the tables and that they are, byte for
        byte, those that were stored, and that their headers name the columns described. A job that fails of
        these costs nothing. Rows are read behind the charge alone."""
        self.confirm()
        self.require_tables()
        with opened.tables(self.tables(), self.row.code) as files:
            self.require(files)
            failpoints.reach(failpoints.BEFORE_CHARGE)
            self._charge()
            failpoints.reach(failpoints.AFTER_CHARGE)
            return self.measure(files, going_on)

    def require_plan(self) -> None:
        """The hold pays for the plan that was shown; a newer engine may plan otherwise, and then nothing is
        spent."""
        if self.plan.digest != self.row.plan_digest:
            raise PrivacyError(
                "the engine was updated and plans this run differently now; submit it again"
            )

    def require_tables(self) -> None:
        """A file is not replaced while a run waits for it; whatever else may happen to it, no run reads
        another one."""
        for taken in selectors.tables_of_run(self.row.code):
            is_in_force = taken.table.vault_name == taken.table.dataset.vault_name
            is_kept = taken.table.erased_at is None
            if not (is_kept and (is_in_force or self.reads_earlier_tables)):
                raise PrivacyError(
                    "the table was replaced after this run was submitted; submit it again"
                )

    def _charge(self) -> None:
        """The point of no return, a transaction of its own: the entry is written before any row is read. A
        job that goes on was charged."""
        if self.row.state not in self.unpaid:
            return
        self.begin(stages.CHARGE)
        with transaction.atomic():
            self.lock()
            leases.write(self.lease, states=self.unpaid, progress=1.0, **self.entered)
            self.charge()
        self.row.state = self.entered.get("state", self.row.state)

    def _publish(self, answers: AnswersT) -> None:
        """Everything after the measurement: a function of the answers. The result and the end of its job are
        one transaction."""
        self.begin(stages.FIT)
        failpoints.reach(failpoints.DURING_FIT)
        with watching.watched(lambda share: self.progress(stages.FIT.name, share)):
            result = self.fit(answers)
        self.begin(stages.PUBLISH)
        with transaction.atomic():
            self.lock()
            # The fence first: it locks the row, so that a cancellation comes before or after this.
            leases.write(self.lease, states=self.measured, progress=1.0)
            fields = self.publish(answers, result)
            self.finish(fields)
            self.tell(stages.PUBLISH.name, self.ready, Event.RUN_FINISHED)
            self.settle(result)
            self.require_result()
        self.published(fields)

    @transaction.atomic
    def record_failure(self, failure: Failure) -> None:
        """The hold is released if the state in the database says that nothing was charged."""
        self.lock()
        # The job in memory may be behind: a charge can be
        # committed although its answer never came.
        state = self.lease.rows().select_for_update().values_list("state", flat=True).first()
        super().record_failure(failure)
        spent = state not in self.unpaid or self.is_spent()
        words = "The charge stays." if spent else "Nothing was spent; the hold is released."
        self.tell(self.row.stage, f"Failed. {words}", Event.RUN_FAILED)
        if not spent:
            self.give_back()

    def failure(self, error: Exception) -> Failure:
        return failure_of(error, described=self.row.domain_version.document)


class RunPlan(PaidPlan, Protocol):
    """The plan of a run, whose answers are stored."""

    def answers_bytes(self) -> int:
        """Room for them."""


RunPlanT = TypeVar("RunPlanT", bound=RunPlan)
StoredT = TypeVar("StoredT", Answers, DatabaseAnswers)


class PaidRun(PaidJob[SynthesisRun, RunPlanT, StoredT]):
    """A kind of run: its price is held and charged, and its answers are stored. mechanism: of the specs of
    its rows; request: what is asked for, which makes the plan; answers_class: the class of its answers."""

    model = SynthesisRun
    word = "run"
    taken_over = "taken over or cancelled"
    max_attempts = 5
    unpaid = (State.HELD,)
    measured = (State.MEASURED,)
    finished = State.FINISHED
    entered: ClassVar[Mapping[str, Any]] = {
        "state": State.CHARGED,
        "calls_begun": 0,
    }
    mechanism: ClassVar[str]
    request: ClassVar[type[PaidRequest[Any]]]
    answers_class: type[StoredT]

    def replan(self) -> RunPlanT:
        plan: RunPlanT = self.request.plan_of(self.row, read_afresh)
        return plan

    def hopeless(self) -> Failure | None:
        # Its worker died before all answers were stored. Noise drawn again would be a second access
        # to the data for one charge.
        if self.row.state == State.CHARGED and call_log.stored_of(self.row) is None:
            return INTERRUPTED
        return super().hopeless()

    def answers(self) -> StoredT:
        """As they are stored. A run that is measured skips what is above: what is left of it is
        post-processing."""
        run = self.row
        if run.state in (State.HELD, State.CHARGED):
            self.require_plan()
            self.begin(stages.OPEN)
            # Before the charge, because a full disk afterwards
            # would lose answers that are paid for.
            with reserved(run, self.lease, self.plan.answers_bytes()) as room:
                secret = vault.derived_secret(f"truncation/{run.code}")
                answers = self.measured_now(Continuation(log=room.log, secret=secret))
                failpoints.reach(failpoints.BEFORE_STORE)
                self.begin(stages.STORE)
                store(run, self.lease, answers, room)
            call_log.discard(run)
            failpoints.reach(failpoints.AFTER_MEASURE)
        # Read back even if they were measured a moment ago: a first try and a resumed one then fit
        # the same stored answers, checked against their digest.
        stored = {"name": run.answers_name, "digest": run.answers_digest}
        return artefacts.read(self.answers_class.load, **stored)

    def charge(self) -> None:
        ledger.charge(run_code=self.row.code)

    def finish(self, fields: Mapping[str, Any]) -> None:
        if fields:
            self.request.own_row._default_manager.filter(run=self.row).update(**fields)
        super().finish({})

    def require_result(self) -> None:
        own = self.request.own_row._default_manager.filter(run=self.row)
        if not own.filter(**{f"{self.request.result}__isnull": False}).exists():
            raise errors.NoResult("a run ended without what it was paid for")

    def give_back(self) -> None:
        ledger.release(run_code=self.row.code, reason="failed before any noise was drawn")

    def tell(self, stage: str, text: str, event: Event) -> None:
        services.note(self.row, stage, text)
        services.notify_end(self.row, event)

    @property
    def origin(self) -> Origin:
        """Where its result comes from."""
        run = self.row
        return Origin(
            run_code=run.code,
            dataset=run.dataset,
            account=run.account,
            domain_version=run.domain_version,
            created_by=run.created_by,
            name=run.name,
            chosen_after_looking=run.looked_before,
            criteria=run.criteria,
            is_validation=run.is_validation,
        )


KINDS: dict[str, type[PaidRun[Any, Any]]] = {}
"""Kinds of runs by their mechanism; what is none of these makes a release of one table."""
KindT = TypeVar("KindT", bound=type[PaidRun[Any, Any]])


def register(kind: KindT) -> KindT:
    """Decorates a kind of run. Its module is `job_kinds` of an app, or a module in it."""
    KINDS[kind.mechanism] = kind
    return kind
