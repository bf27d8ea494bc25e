"""One side of a link. Both ledgers are charged together, before a row of either table is read."""

from __future__ import annotations

from synth_engine import pipeline
from synth_engine.linking.sketch import Sketch, SketchPlan
from synth_engine.measurement import Answers
from synth_engine.pipeline import Continuation
from synth_engine.privacy.receipt import Receipt
from synthweb.releases import services as releases
from synthweb.runs import link_services, linking, opened
from synthweb.runs.models import Link
from synthweb.runs.opened import Opened
from synthweb.runs.paid_job import PaidRun, register

Kept = tuple[Sketch, Receipt]


@register
class SketchOfSide(PaidRun[SketchPlan, Answers]):
    """The link is locked before its runs, and before the charge both tables are seen to be there."""

    mechanism = linking.MECHANISM
    request = linking.SketchRequest
    ready = "The sketch is ready."
    answers_class = Answers
    link: Link

    def confirm(self) -> None:
        pipeline.confirm(self.plan)
        link = self.row.sketch_run.side.link
        if link.state == Link.State.STARTED:
            for run in linking.runs_of(link).exclude(pk=self.row.pk):
                other = SketchOfSide(run, self.lease)
                other.require_plan()
                other.require_tables()
                with opened.tables(other.tables(), run.code) as files:
                    other.require(files)

    def require(self, files: Opened) -> None:
        pipeline.require_side(files.path, plan=self.plan, **files.form)

    def lock(self) -> None:
        self.link = link_services.locked(self.row.sketch_run.side.link)

    def charge(self) -> None:
        link_services.charge(self.link)

    def measure(self, files: Opened, going_on: Continuation | None) -> Answers:
        return pipeline.sketch(
            files.path,
            plan=self.plan,
            **files.form,
            progress=self.progress,
            continuation=going_on,
        ).answers

    def fit(self, answers: Answers) -> Kept:
        return self.plan.read(answers), releases.receipt_of(self.origin, self.plan, answers)

    def settle(self, result: Kept) -> None:
        # Last, because it writes to the audit log, behind whose head all writers wait.
        link_services.keep_sketch(self.link, self.row.sketch_run.side, *result)

    def is_spent(self) -> bool:
        # The other side's worker may have been the one that charged both.
        return self.link.charged_at is not None

    def give_back(self) -> None:
        link_services.end_unspent(self.link)
