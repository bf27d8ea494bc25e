"""Filled counts, which a custodian approved: nothing is private of them, and that is entered in the ledger before a row is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models.functions import Coalesce, Now

from synth_engine import pipeline
from synth_engine.mixing.policy import FilledCounts as Counted
from synth_engine.mixing.policy import FillPlan
from synth_engine.pipeline import Continuation
from synthweb.runs import filling, filling_services, stages
from synthweb.runs.models import FilledCounts
from synthweb.runs.opened import Opened
from synthweb.runs.paid_kind import PaidKind
from synthweb.runs.stages import Stage
from synthweb.runs.turns import Turn

State = FilledCounts.State


class Filled(PaidKind[FilledCounts, FillPlan, Counted, Counted]):
    """They are counted exactly, and once more if a worker is lost: nothing of them is stored before they are published."""

    model = FilledCounts
    word = "counts"
    unpaid = measured = (State.APPROVED,)
    finished = State.PUBLISHED
    entered: ClassVar[Mapping[str, Any]] = {"outside_at": Coalesce("outside_at", Now())}

    def replan(self, job: FilledCounts) -> FillPlan:
        return filling.plan_of(job)

    def require(self, files: Opened, plan: FillPlan) -> None:
        pipeline.require_filling(files.only.path, plan=plan, **files.form)

    def charge(self, job: FilledCounts, locked: None) -> None:
        filling_services.record_outside(job)

    def measure(
        self,
        files: Opened,
        plan: FillPlan,
        turn: Turn[FilledCounts],
        going_on: Continuation | None,
    ) -> Counted:
        return pipeline.fill(files.only.path, plan=plan, progress=turn.progress, **files.form)

    def answers(self, turn: Turn[FilledCounts], plan: FillPlan) -> Counted:
        turn.progress(stages.OPEN.name, 0.0)
        return self.measured_now(turn, plan)

    def fit(self, job: FilledCounts, plan: FillPlan, answers: Counted) -> Counted:
        return answers

    def publish(
        self, job: FilledCounts, plan: FillPlan, answers: Counted, result: Counted
    ) -> Mapping[str, Any]:
        return {"counts": result.to_json()}

    def settle(self, job: FilledCounts, locked: None, result: Counted) -> None:
        filling_services.record_publication(job)

    def is_spent(self, locked: None) -> bool:
        # Nothing is held of it, and an entry of the ledger stays.
        return True

    def begin(self, turn: Turn[FilledCounts], stage: Stage) -> None:
        # It has no stages but the reading of its table.
        turn.progress.check()
