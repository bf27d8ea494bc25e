"""One side of a link. Both ledgers are charged together, before a row of either table is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from synth_engine import pipeline
from synth_engine.linking.sketch import Sketch, SketchPlan
from synth_engine.measurement import Answers
from synth_engine.pipeline import Continuation
from synth_engine.privacy.receipt import Receipt
from synthweb.releases import services as releases
from synthweb.runs import link_services, linking, opened
from synthweb.runs.models import Link, SynthesisRun
from synthweb.runs.opened import Opened
from synthweb.runs.paid_kind import RunKind, origin_of, register
from synthweb.runs.turns import Turn

Kept = tuple[Sketch, Receipt]


@register
class SketchOfSide(RunKind[SketchPlan, Answers, Kept]):
    """The link is locked before its runs, and before the charge both tables are seen to be there."""

    mechanism = linking.MECHANISM
    kept = Answers
    ready = "The sketch is ready."

    def replan(self, job: SynthesisRun) -> SketchPlan:
        return linking.replan(job)

    def confirm(
        self, job: SynthesisRun, plan: SketchPlan, progress: Callable[[float], None]
    ) -> None:
        pipeline.confirm(plan)
        link = linking.run_side(job).link
        if link.state != Link.State.STARTED:
            return
        for other in linking.runs_of(link).exclude(pk=job.pk):
            other_plan = self.replan(other)
            self.require_plan(other, other_plan)
            self.require_tables(other)
            with opened.tables(self.tables(other), other.code) as files:
                self.require(files, other_plan)

    def require(self, files: Opened, plan: SketchPlan) -> None:
        pipeline.require_side(files.only.path, plan=plan, **files.form)

    def lock(self, job: SynthesisRun) -> Link:
        return link_services.locked(linking.run_side(job).link)

    def charge(self, job: SynthesisRun, locked: Link) -> None:
        link_services.charge(locked)

    def measure(
        self,
        files: Opened,
        plan: SketchPlan,
        turn: Turn[SynthesisRun],
        going_on: Continuation | None,
    ) -> Answers:
        return pipeline.sketch(
            files.only.path,
            plan=plan,
            **files.form,
            progress=turn.progress,
            continuation=going_on,
        ).answers

    def fit(self, job: SynthesisRun, plan: SketchPlan, answers: Answers) -> Kept:
        return plan.read(answers), releases.receipt_of(origin_of(job), plan, answers)

    def settle(self, job: SynthesisRun, locked: Link, result: Kept) -> None:
        # Last, because it writes to the audit log, behind whose head all writers wait.
        link_services.keep_sketch(locked, linking.run_side(job), *result)

    def is_spent(self, locked: Link) -> bool:
        # The other side's worker may have been the one that charged both.
        return locked.charged_at is not None

    def give_back(self, job: SynthesisRun, locked: Any) -> None:
        link_services.end_unspent(locked)
