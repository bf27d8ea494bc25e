"""The choices of a run as a small file that can be kept, and used again to begin another one: method,
parameters, ε, δ, rows and criteria. It holds nothing of the data, no seed and no account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.evaluation.criteria import Criterion
from synth_engine.spec import Spec
from synth_engine.strict_json import JsonObject
from synth_engine.strict_json import loads as strict_loads
from synthweb.runs import criteria_fields
from synthweb.runs.forms import choices_of
from synthweb.runs.models import SynthesisRun

SCHEMA = "synthweb/choices/1"
MAX_BYTES = 500_000
_SPEC_FIELDS = ("mechanism", "parameters", "epsilon", "delta", "rows")


def document_of(run: SynthesisRun) -> JsonObject:
    """The choices of a run that made a release, or was to make one."""
    chosen = {name: run.spec.get(name) for name in _SPEC_FIELDS}
    return {"schema": SCHEMA, **chosen, "criteria": run.criteria}


def initial_of(content: bytes, domain: Domain) -> dict[str, Any]:
    """What the new-release form of a table of this description begins with. Errors: SpecError for what is no
    such file."""
    document = _read(content)
    spec = Spec.from_json({name: document.get(name) for name in _SPEC_FIELDS})
    listed = document.get("criteria", [])
    if not isinstance(listed, list):
        raise _no_choices()
    criteria = [Criterion.from_json(each) for each in listed]
    choices = choices_of(spec.to_json())
    if not choices:
        raise SpecError(
            "the method of these choices is not on offer here", repair="choose another one"
        )
    return choices | criteria_fields.initial_of(criteria, domain)


def _read(content: bytes) -> Mapping[str, Any]:
    if len(content) > MAX_BYTES:
        raise _no_choices()
    try:
        document = strict_loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise _no_choices() from None
    known = {"schema", "criteria", *_SPEC_FIELDS}
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise _no_choices()
    if not set(document) <= known:
        raise _no_choices()
    return document


def _no_choices() -> SpecError:
    return SpecError(
        "this is no file of choices",
        repair=f"use one that the page of a run gives, whose schema is {SCHEMA}",
    )
