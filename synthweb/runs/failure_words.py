"""A run that failed, in the three lines of every error: what, where, how to mend it. Nothing here depends on
data."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from synthweb.lib.language import translated
from synthweb.runs import stages
from synthweb.runs.models import SynthesisRun

ASK_OPERATOR = gettext_lazy(
    "Make another run like this. If it fails again, give the code of this run to whoever operates synthweb: "
    "the log of the worker names the cause."
)
REPAIRS: dict[str, str | Promise] = {
    "input": gettext_lazy(
        "Change the description of the table or the file, then run it again."
    ),
    "privacy": gettext_lazy(
        "Nothing is released that the receipt cannot prove. Give the code of this run to whoever operates "
        "synthweb."
    ),
    "vault": gettext_lazy(
        "Replace the file of the dataset by the same table: description and budget stay. Then run it again."
    ),
    "counting": gettext_lazy(
        "The machines that count did not answer. Ask whoever operates them, then run it again."
    ),
    "gave-up": gettext_lazy(
        "Choose fewer columns or fewer values a column, or ask for a worker with more memory."
    ),
    "interrupted-after-charge": gettext_lazy(
        "Run it again with budget that is left. This charge stays, because noise may have been drawn for it."
    ),
}
"""By the code of a failure; `ASK_OPERATOR` for others. A failure that has a repair of its own keeps it."""


@dataclass(frozen=True, kw_only=True)
class FailureWords:
    """what and how are sentences. where: the stage at which the run stopped, and the column if one is
    named."""

    code: str
    what: str
    where: str
    how: str


def of_run(run: SynthesisRun) -> FailureWords | None:
    """The words of a failed run; None if it did not fail."""
    if run.failure is None:
        return None
    failure = run.failure
    code = str(failure.get("code", ""))
    where = translated(stages.RUN[stages.position(run.stage)].title)
    if column := failure.get("column"):
        where = _("%(stage)s, column “%(column)s”") % {"stage": where, "column": column}
    return FailureWords(
        code=code,
        what=_sentence(str(failure.get("rule") or failure["text"])),
        where=where,
        how=_sentence(str(failure.get("repair") or REPAIRS.get(code, ASK_OPERATOR))),
    )


def _sentence(text: str) -> str:
    """With a capital and a stop."""
    text = translated(text)
    begun = text[:1].upper() + text[1:]
    return begun if begun.endswith((".", "!", "?")) else f"{begun}."
