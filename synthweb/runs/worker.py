"""What the confidential worker does with the code that a message brings: it finds the kind of job, and takes
it (`turns.take`).

Its kinds are `job_kinds`. They and what they are made of are the only modules of the web project that open
tables and call the pipeline.
"""

from __future__ import annotations

from typing import Any

from django.utils.module_loading import autodiscover_modules

from synth_engine import pipeline
from synthweb.lib import tracing
from synthweb.runs import turns
from synthweb.runs.job_kinds.filled import Filled
from synthweb.runs.job_kinds.table_job import TableWork
from synthweb.runs.models import SynthesisRun
from synthweb.runs.paid_job import KINDS, PaidRun

autodiscover_modules("job_kinds")  # of every app


def synthesize(*, code: str) -> None:
    """Take the run of this code as far as it goes. Harmless when repeated, late or doubled."""
    pipeline.warm_up()  # before the claim: it costs no lease, and a failure no budget
    mechanisms = SynthesisRun.objects.filter(code=code).values_list(
        "spec__mechanism", flat=True
    )
    mechanism = mechanisms.first()
    if mechanism is None:
        return
    tracing.say({tracing.MECHANISM: mechanism})
    turns.take(kind_of(mechanism), code=code)


def kind_of(mechanism: str) -> type[PaidRun[Any, Any]]:
    """The kind of the runs of a mechanism."""
    return KINDS.get(mechanism, KINDS[""])


def fill_counts(*, code: str) -> None:
    """Take the filled counts of this code, which a custodian approved. Harmless when repeated, late or
    doubled."""
    turns.take(Filled, code=code)


def table_job(*, code: str) -> None:
    """Do the job of this code; a failure that may pass is left to the reconciler, a few times."""
    turns.take(TableWork, code=code)
