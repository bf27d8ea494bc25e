"""A release of one table."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.conf import settings
from django.db import DatabaseError

from synth_engine import pipeline
from synth_engine.measurement import Answers
from synth_engine.models.model import Model
from synth_engine.pipeline import Continuation
from synth_engine.plans.plan import Plan
from synthweb.releases import services as releases
from synthweb.runs import planning, services
from synthweb.runs.models import SynthesisRun
from synthweb.runs.opened import Opened
from synthweb.runs.paid_kind import ResultT, RunKind, origin_of, register
from synthweb.runs.turns import Turn

logger = logging.getLogger(__name__)


TablePlanT = TypeVar("TablePlanT", bound=Plan)


class OfOneTable(RunKind[TablePlanT, Answers, ResultT]):
    """A run that measures one table by a plan of the engine."""

    kept = Answers

    def confirm(
        self, job: SynthesisRun, plan: TablePlanT, progress: Callable[[float], None]
    ) -> None:
        pipeline.confirm(plan, progress=progress)
        # A cluster that is not there, or has another version of the code, is found out before the charge, too.
        pipeline.require_counting(pipeline.Counting(**settings.COUNTING))

    def require(self, files: Opened, plan: TablePlanT) -> None:
        pipeline.require_columns(files.only.path, domain=plan.domain, **files.form)

    def measure(
        self,
        files: Opened,
        plan: TablePlanT,
        turn: Turn[SynthesisRun],
        going_on: Continuation | None,
    ) -> Answers:
        return pipeline.measure(
            files.only.path,
            **files.form,
            plan=plan,
            progress=turn.progress,
            cancelled=turn.progress.gone,
            counting=pipeline.Counting(**settings.COUNTING),
            continuation=going_on,
        )


@register
class ReleaseOfTable(OfOneTable[Plan, Model]):
    """A model that anybody who may draw from it draws synthetic tables from."""

    mechanism = ""
    ready = "The release is ready."

    def replan(self, job: SynthesisRun) -> Plan:
        # With its public table: one that was deleted is refused here, before anything is spent.
        return planning.replan(job)

    def fit(self, job: SynthesisRun, plan: Plan, answers: Answers) -> Model:
        return plan.fit(answers)

    def publish(
        self, job: SynthesisRun, plan: Plan, answers: Answers, result: Model
    ) -> Mapping[str, Any]:
        origin = origin_of(job)
        release = releases.publish(origin=origin, plan=plan, answers=answers, model=result)
        return {"release": release}

    def published(self, fields: Mapping[str, Any]) -> None:
        """Have another worker draw the first rows and compute the expected errors. If this fails, whoever opens the page of
        the release asks again."""
        release = fields["release"]
        try:
            services.request_ranges(release=release)
        except DatabaseError as error:
            name = type(error).__name__
            logger.warning("first look at %s not asked for: %s", release.code, name)
