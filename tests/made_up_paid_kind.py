"""A kind of paid work that is not part of the product: a release whose name says that it was made here. Its
two classes are all that the product needs of a kind (ADR 177); it is known only while a test asks for it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from synth_engine.measurement import Answers
from synth_engine.models.model import Model
from synth_engine.plans.plan import Plan
from synth_engine.spec import Spec
from synthweb.datasets.models import DomainVersion
from synthweb.releases import services as releases
from synthweb.runs import planning
from synthweb.runs.job_kinds.release import OfOneTable
from synthweb.runs.models import SynthesisRun
from synthweb.runs.paid_job import KINDS
from synthweb.runs.proposals import DomainReader, RequestTerms

MECHANISM = "made-up"
PLANNED_AS = {"mechanism": "independent", "parameters": {}}


@dataclass(frozen=True, kw_only=True)
class MadeUpRequest(planning.ReleaseRequest):
    """The half that the web process has."""

    def asked(self) -> RequestTerms:
        asked = super().asked()
        return replace(asked, spec=replace(asked.spec, mechanism=MECHANISM))

    def complete(self, spec: Spec, _version: DomainVersion, /) -> Spec:
        return spec

    @classmethod
    def plan_of(cls, run: SynthesisRun, read: DomainReader, /) -> Plan:
        planned = copy.copy(run)
        planned.spec = run.spec | PLANNED_AS
        return super().plan_of(planned, read)


class MadeUp(OfOneTable[Plan]):
    """The half that the worker has."""

    mechanism = MECHANISM
    request = MadeUpRequest
    ready = "What was made up is ready."

    def fit(self, answers: Answers) -> Model:
        return self.plan.fit(answers)

    def publish(self, answers: Answers, result: Model) -> Mapping[str, Any]:
        origin = replace(self.origin, name="Made up")
        release = releases.publish(origin=origin, plan=self.plan, answers=answers, model=result)
        return {"release": release}


@contextmanager
def known() -> Iterator[None]:
    """Have the worker know this kind."""
    with patch.dict(KINDS, {MECHANISM: MadeUp}):
        yield
