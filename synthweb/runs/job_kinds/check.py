"""Figures of a release that are measured with budget: a check, or a validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synth_engine.evaluation import paid_figures
from synth_engine.evaluation.paid_figures import CheckedResult
from synth_engine.measurement import Answers
from synth_engine.plans import release_check
from synth_engine.plans.release_check import CheckPlan
from synthweb.releases import services as releases
from synthweb.runs import checks
from synthweb.runs.job_kinds.release import OfOneTable
from synthweb.runs.paid_job import register


@register
class Check(OfOneTable[CheckPlan]):
    """It reads the file of its release, which may be an earlier one."""

    mechanism = release_check.MECHANISM
    request = checks.ReleaseCheck
    ready = "The figures are ready."
    reads_earlier_tables = True

    def fit(self, answers: Answers) -> Sequence[CheckedResult]:
        return paid_figures.results(self.plan, answers)

    def publish(self, answers: Answers, result: Sequence[CheckedResult]) -> Mapping[str, Any]:
        check = releases.publish_check(
            origin=self.origin,
            release=self.row.check_run.checks,
            plan=self.plan,
            answers=answers,
            results=result,
        )
        return {"paid_check": check}
