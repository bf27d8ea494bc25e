"""A release of one table."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, TypeVar

from django.conf import settings
from django.db import DatabaseError

from synth_engine import pipeline
from synth_engine.measurement import Answers
from synth_engine.models.model import Model
from synth_engine.pipeline import Continuation
from synth_engine.plans.plan import Plan
from synthweb.releases import services as releases
from synthweb.runs import planning, services, stages
from synthweb.runs.opened import Opened
from synthweb.runs.paid_job import PaidRun, register

logger = logging.getLogger(__name__)

TablePlanT = TypeVar("TablePlanT", bound=Plan)


class OfOneTable(PaidRun[TablePlanT, Answers]):
    """A run that measures one table by a plan of the engine."""

    answers_class = Answers

    def confirm(self) -> None:
        pipeline.confirm(
            self.plan, progress=lambda share: self.progress(stages.OPEN.name, share)
        )
        # A cluster that is not there, or has another version of the code, is found out before the charge,
        # too.
        pipeline.require_counting(pipeline.Counting(**settings.COUNTING))

    def require(self, files: Opened) -> None:
        pipeline.require_columns(files.path, domain=self.plan.domain, **files.form)

    def measure(self, files: Opened, going_on: Continuation | None) -> Answers:
        return pipeline.measure(
            files.path,
            **files.form,
            plan=self.plan,
            progress=self.progress,
            cancelled=self.progress.gone,
            counting=pipeline.Counting(**settings.COUNTING),
            continuation=going_on,
        )


@register
class ReleaseOfTable(OfOneTable[Plan]):
    """A model that anybody who may draw from it draws synthetic tables from."""

    mechanism = ""
    request = planning.ReleaseRequest
    ready = "The release is ready."

    def fit(self, answers: Answers) -> Model:
        return self.plan.fit(answers)

    def publish(self, answers: Answers, result: Model) -> Mapping[str, Any]:
        release = releases.publish(
            origin=self.origin, plan=self.plan, answers=answers, model=result
        )
        return {"release": release}

    def published(self, fields: Mapping[str, Any]) -> None:
        """Have another worker draw the first rows and compute the expected errors. If this fails, whoever
        opens the page of the release asks again."""
        release = fields["release"]
        try:
            services.request_ranges(release=release)
        except DatabaseError as error:
            name = type(error).__name__
            logger.warning("first look at %s not asked for: %s", release.code, name)
