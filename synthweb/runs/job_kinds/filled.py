"""Filled counts, which a custodian approved: nothing is private of them, and that is entered in the ledger
before a row is read."""

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
from synthweb.runs.paid_job import PaidJob
from synthweb.runs.stages import Stage

State = FilledCounts.State


class Filled(PaidJob[FilledCounts, FillPlan, Counted]):
    """They are counted exactly, and once more if a worker is lost: nothing of them is stored before they are
    published."""

    model = FilledCounts
    word = "counts"
    unpaid = measured = (State.APPROVED,)
    finished = State.PUBLISHED
    entered: ClassVar[Mapping[str, Any]] = {"outside_at": Coalesce("outside_at", Now())}

    def replan(self) -> FillPlan:
        return filling.plan_of(self.row)

    def require(self, files: Opened) -> None:
        pipeline.require_filling(files.path, plan=self.plan, **files.form)

    def charge(self) -> None:
        filling_services.record_outside(self.row)

    def measure(self, files: Opened, going_on: Continuation | None) -> Counted:
        return pipeline.fill(files.path, plan=self.plan, progress=self.progress, **files.form)

    def answers(self) -> Counted:
        super().begin(stages.OPEN)
        return self.measured_now()

    def publish(self, answers: Counted, result: Counted) -> Mapping[str, Any]:
        return {"counts": result.to_json()}

    def settle(self, result: Counted) -> None:
        filling_services.record_publication(self.row)

    def is_spent(self) -> bool:
        return True  # nothing is held of it, and an entry of the ledger stays

    def begin(self, stage: Stage) -> None:
        self.progress.check()  # it shows no stages but the reading of its table
