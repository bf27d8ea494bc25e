"""A description that is bought once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synth_engine.measurement import Answers
from synth_engine.plans.description import DescriptionPlan
from synthweb.datasets import services as datasets
from synthweb.releases import services as releases
from synthweb.runs import purchases
from synthweb.runs.job_kinds.release import OfOneTable
from synthweb.runs.paid_job import register


@register
class DescriptionPurchase(OfOneTable[DescriptionPlan]):
    """Columns that it learns are free in all later releases of the dataset."""

    mechanism = purchases.MECHANISM
    request = purchases.LearnRequest
    ready = "The description is learned."

    def fit(self, answers: Answers) -> dict[str, dict[str, object]]:
        return {name: each.to_json() for name, each in self.plan.learned(answers).items()}

    def publish(
        self, answers: Answers, result: Mapping[str, dict[str, object]]
    ) -> Mapping[str, Any]:
        stored = datasets.keep_learned(
            actor=self.row.created_by,
            version=self.row.domain_version,
            run_code=self.row.code,
            learned=result,
            receipt=releases.receipt_of(self.origin, self.plan, answers),
        )
        return {"learned": stored}
