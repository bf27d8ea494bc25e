"""What the confidential worker does for tables of counts: it reads stored noisy answers, which it alone has,
and a model.

It opens no table: everything here is post-processing of answers that were paid for.
"""

from __future__ import annotations

from django.db import transaction

from synth_engine.evaluation import marginals
from synth_engine.evaluation.marginals import PublishedCounts
from synth_engine.measurement import Answers
from synth_engine.mechanisms import Plan
from synth_engine.models.model import Model
from synthweb.releases import marginals as pages
from synthweb.releases.models import Release
from synthweb.runs import artefacts, planning, stages, turns
from synthweb.runs.derivation import Derivation
from synthweb.runs.models import CountsJob, SynthesisRun
from synthweb.runs.progress import Progress

_STEPS = {"gather": stages.GATHER, "generate": stages.GENERATE}


def compute(*, code: str) -> None:
    """Do the job of this code; a failure that may pass is left to the reconciler, a few times."""
    turns.take(GatherCounts, code=code)


class GatherCounts(Derivation[CountsJob]):
    """What tables of counts of a release are computed from."""

    model = CountsJob
    word = "counts job"

    def do(self) -> None:
        self.progress(stages.GATHER.name, 0.0)
        published = _gathered(self.row.release, self.progress)
        self.progress.check()
        with transaction.atomic():
            self.finish()
            pages.store(self.row.release, published)


def answered(release: Release) -> tuple[Plan, Answers]:
    """The plan of the run that made a release, and its stored noisy answers, checked against their digest."""
    runs = SynthesisRun.objects.select_related("domain_version", "release_run", "answers_file")
    run = runs.get(release_run__release=release)
    answers = artefacts.get(name=run.answers_name, digest=run.answers_digest)
    return planning.ReleaseRequest.plan_of(run), answers


def _gathered(release: Release, progress: Progress) -> PublishedCounts:
    plan, answers = answered(release)
    return marginals.publish(
        Model.from_json(release.model),
        plan,
        answers,
        progress=lambda step, share: progress(_STEPS[step].name, share),
    )
