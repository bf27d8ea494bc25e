"""Failures of the confidential worker, in words of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_noop as _

from synth_engine import pipeline
from synth_engine.errors import InputError, PrivacyError, SynthError, VerificationError
from synthweb.datasets import vault
from synthweb.runs import artefacts
from synthweb.runs.turns import Failure

NO_ROOM = _(
    "The disk has no room for the noisy answers, so nothing was charged. Have the operator free space where "
    "the folder of artefacts lies, then submit the run again."
)


def failure_of(error: Exception, *, described: Mapping[str, Any] | None = None) -> Failure:
    """Code and words of ours. The engine's own errors promise to hold no value; the text of any other is
    dropped. A run is seen by more than its steward, so a line, which depends on rows, and a name that nobody
    described stay here."""
    match error:
        case InputError():
            column = error.column if error.column in _names(described or {}) else None
            input_error = InputError(error.rule, repair=error.repair, column=column)
            return {"code": "input", "text": input_error.text, **input_error.as_dict()}
        case PrivacyError() | VerificationError():
            return {"code": "privacy", "text": str(error)}
        case vault.VaultError():
            return {"code": "vault", "text": str(error)}
        case pipeline.ClusterError() | pipeline.PartError():
            return {"code": "counting", "text": str(error)}
        case artefacts.NoRoom():
            return {"code": "no-room", "text": NO_ROOM}
        case SynthError():
            return {"code": "engine", "text": _("The engine stopped.")}
    return {
        "code": "internal",
        "text": f"An error of kind {type(error).__name__} stopped the worker.",
    }


def _names(document: Mapping[str, Any]) -> set[str]:
    """The columns that a description names."""
    unit = (document.get("unit") or {}).get("column")
    return {*(one["name"] for one in document.get("attributes", ())), *([unit] if unit else ())}
