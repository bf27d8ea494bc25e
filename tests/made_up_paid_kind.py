"""A kind of paid work that is not part of the product: a release whose name says that it was made here. Its two classes are all that the product
needs of a kind (ADR 177); it is known only while a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from synth_engine.measurement import Answers
from synth_engine.models.model import Model
from synth_engine.plans.plan import Plan
from synthweb.datasets.models import Dataset
from synthweb.releases import services as releases
from synthweb.runs import planning
from synthweb.runs.job_kinds.release import OfOneTable
from synthweb.runs.models import SynthesisRun
from synthweb.runs.paid_job import KINDS
from synthweb.runs.planning import ReleaseProposal
from synthweb.runs.proposals import PaidRequest

MECHANISM = "made-up"
PLANNED_AS = {"mechanism": "independent", "parameters": {}}


@dataclass(frozen=True, kw_only=True)
class MadeUpRequest(PaidRequest[ReleaseProposal]):
    """The half that the web process has."""

    dataset: Dataset
    spec: planning.Spec

    def propose(self) -> ReleaseProposal:
        proposal = planning.propose(dataset=self.dataset, spec=self.spec)
        return replace(proposal, spec=replace(proposal.spec, mechanism=MECHANISM))

    def is_of(self, run: SynthesisRun) -> bool:
        stored = run.spec | {"mechanism": self.spec.mechanism}
        return (run.dataset_id, stored) == (self.dataset.pk, self.spec.to_json())


class MadeUp(OfOneTable[Plan]):
    """The half that the worker has."""

    mechanism = MECHANISM
    ready = "What was made up is ready."

    def replan(self) -> Plan:
        return planning.replan(
            SynthesisRun(**_fields(self.row), spec=self.row.spec | PLANNED_AS)
        )

    def fit(self, answers: Answers) -> Model:
        return self.plan.fit(answers)

    def publish(self, answers: Answers, result: Model) -> Mapping[str, Any]:
        origin = replace(self.origin, name="Made up")
        release = releases.publish(origin=origin, plan=self.plan, answers=answers, model=result)
        return {"release": release}


def _fields(run: SynthesisRun) -> dict[str, Any]:
    return {name: getattr(run, name) for name in ("domain_version", "account", "prior")}


@contextmanager
def known() -> Iterator[None]:
    """Have the worker know this kind."""
    with patch.dict(KINDS, {MECHANISM: MadeUp}):
        yield
