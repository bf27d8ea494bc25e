"""A release of several tables that keys connect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synth_engine import pipeline
from synth_engine.pipeline import Continuation
from synth_engine.relational.answers import DatabaseAnswers
from synth_engine.relational.model import DatabaseModel
from synth_engine.relational.plan import DatabasePlan
from synth_engine.strict_json import JsonObject
from synthweb.datasets.models import Dataset
from synthweb.releases import databases as released
from synthweb.runs import databases
from synthweb.runs.models import SynthesisRun
from synthweb.runs.opened import Opened
from synthweb.runs.paid_kind import RunKind, origin_of, register
from synthweb.runs.turns import Turn

Fitted = tuple[DatabaseModel, Mapping[str, JsonObject]]
"""A model, and the first rows, which are generated with it because they need no room of their own."""


@register
class ReleaseOfDatabase(RunKind[DatabasePlan, DatabaseAnswers, Fitted]):
    """All tables are measured under one budget."""

    mechanism = databases.MECHANISM
    ready = "The release is ready."
    kept = DatabaseAnswers

    def replan(self, job: SynthesisRun) -> DatabasePlan:
        return databases.replan(job)

    def tables(self, job: SynthesisRun) -> Mapping[str, Dataset]:
        return databases.tables_of(databases.version_of(job))

    def require(self, files: Opened, plan: DatabasePlan) -> None:
        pipeline.require_database(files, database=plan.database)

    def measure(
        self,
        files: Opened,
        plan: DatabasePlan,
        turn: Turn[SynthesisRun],
        going_on: Continuation | None,
    ) -> DatabaseAnswers:
        return pipeline.measure_database(
            files, plan=plan, progress=turn.progress, continuation=going_on
        )

    def fit(self, job: SynthesisRun, plan: DatabasePlan, answers: DatabaseAnswers) -> Fitted:
        model = plan.fit(answers)
        return model, released.first_rows(model)

    def publish(
        self, job: SynthesisRun, plan: DatabasePlan, answers: DatabaseAnswers, result: Fitted
    ) -> Mapping[str, Any]:
        model, shown = result
        origin = origin_of(job)
        release = released.publish(
            origin=origin, plan=plan, answers=answers, model=model, shown=shown
        )
        return {"release": release}
