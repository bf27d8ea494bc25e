"""A scenario as a document: which situations and faults a table has, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth_engine.errors import InputError, SpecError
from synth_engine.extras.scenarios.faults import FAULTS
from synth_engine.extras.scenarios.situations import SITUATIONS
from synth_engine.extras.scenarios.steps import StepKind
from synth_engine.plans import parameters
from synth_engine.strict_json import JsonObject

SCHEMA = "synth_engine/scenario/1"
MAX_STEPS = 100
MAX_EXTRA_ROWS = 2_000_000
_KINDS = {kind.id: kind for kind in (*SITUATIONS, *FAULTS)}


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step. parameters: all of them, defaults filled in."""

    kind: StepKind
    parameters: Mapping[str, Any]

    @property
    def added_rows(self) -> int:
        """How many rows it adds."""
        return self.kind.added_rows(self.parameters)

    def to_json(self) -> JsonObject:
        values = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self.parameters.items()
        }
        return {"kind": self.kind.id, **values}


@dataclass(frozen=True)
class Scenario:
    """Steps in the order in which they are applied: situations first, faults last."""

    steps: tuple[Step, ...]

    @property
    def added_rows(self) -> int:
        """How many rows it adds to those that are drawn."""
        return sum(step.added_rows for step in self.steps)

    def to_json(self) -> JsonObject:
        return {"schema": SCHEMA, "steps": [step.to_json() for step in self.steps]}

    @classmethod
    def from_json(cls, document: object) -> Scenario:
        """Errors: InputError where it is malformed; SpecError names the step and its parameter."""
        if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
            raise InputError("this is no scenario", repair=f"its schema has to be {SCHEMA!r}")
        given = document.get("steps")
        if set(document) != {"schema", "steps"} or not isinstance(given, Sequence):
            raise InputError(
                "a scenario has a schema and a list of steps", repair="give both, no more"
            )
        if isinstance(given, str) or not given:
            raise InputError("the scenario has no step", repair="list at least one")
        if len(given) > MAX_STEPS:
            raise InputError(
                f"there are more than {MAX_STEPS} steps", repair="make two scenarios"
            )
        steps = tuple(_step(one, place) for place, one in enumerate(given, start=1))
        _require_order(steps)
        scenario = cls(steps)
        if scenario.added_rows > MAX_EXTRA_ROWS:
            raise InputError(
                f"the steps add more than {MAX_EXTRA_ROWS:,} rows",
                repair="add fewer copies or clusters",
            )
        return scenario


def catalogue() -> list[dict[str, object]]:
    """Every kind of step with the JSON schema of its parameters."""
    return [
        {
            "id": kind.id,
            "title": kind.title,
            "summary": kind.summary,
            "group": "situation" if kind.is_situation else "fault",
            "parameters": kind.schema,
        }
        for kind in _KINDS.values()
    ]


def _step(document: object, place: int) -> Step:
    if not isinstance(document, Mapping) or not isinstance(document.get("kind"), str):
        raise InputError(f"step {place} has no kind", repair=f"known: {', '.join(_KINDS)}")
    kind = _KINDS.get(document["kind"])
    if kind is None:
        raise InputError(
            f"step {place} has an unknown kind", repair=f"known: {', '.join(_KINDS)}"
        )
    given = {name: value for name, value in document.items() if name != "kind"}
    try:
        checked = parameters.validate(given, schema=kind.schema)
    except SpecError as error:
        raise SpecError(
            f"step {place}, {kind.id}: {error.rule}", repair=error.repair or "give it"
        ) from None
    return Step(kind=kind, parameters=checked)


def _require_order(steps: Sequence[Step]) -> None:
    """A situation takes whole values of a column, so that none may follow a fault."""
    faulty = False
    for place, step in enumerate(steps, start=1):
        if step.kind.is_situation and faulty:
            raise InputError(
                f"step {place}, {step.kind.id}, comes after a fault",
                repair="put all situations before all faults",
            )
        faulty = faulty or not step.kind.is_situation
