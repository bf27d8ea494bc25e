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
from synthweb.runs.opened import Opened
from synthweb.runs.paid_job import PaidRun, register

Fitted = tuple[DatabaseModel, Mapping[str, JsonObject]]
"""A model, and the first rows, which are generated with it because they need no room of their own."""


@register
class ReleaseOfDatabase(PaidRun[DatabasePlan, DatabaseAnswers]):
    """All tables are measured under one budget."""

    mechanism = databases.MECHANISM
    request = databases.DatabaseRequest
    ready = "The release is ready."
    answers_class = DatabaseAnswers

    def tables(self) -> Mapping[str, Dataset]:
        return databases.tables_of(databases.version_of(self.row))

    def require(self, files: Opened) -> None:
        pipeline.require_database(files, database=self.plan.database)

    def measure(self, files: Opened, going_on: Continuation | None) -> DatabaseAnswers:
        return pipeline.measure_database(
            files, plan=self.plan, progress=self.progress, continuation=going_on
        )

    def fit(self, answers: DatabaseAnswers) -> Fitted:
        model = self.plan.fit(answers)
        return model, released.first_rows(model)

    def publish(self, answers: DatabaseAnswers, result: Fitted) -> Mapping[str, Any]:
        model, shown = result
        release = released.publish(
            origin=self.origin, plan=self.plan, answers=answers, model=model, shown=shown
        )
        return {"release": release}
