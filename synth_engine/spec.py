"""Define the request for a release: a mechanism, its public parameters, a privacy loss, rows and a seed."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from synth_engine.errors import SpecError
from synth_engine.privacy.loss import parse_amount, plain
from synth_engine.strict_json import JsonObject

SCHEMA = "synth_engine/spec/1"
MIN_EPSILON = Fraction(1, 10**4)
MAX_EPSILON = Fraction(1000)
MAX_DELTA = Fraction(1, 10)
MAX_ROWS = 10**9
MAX_SEED_LENGTH = 200

MAX_PARAMETER_DEPTH = 4  # levels of lists and objects in a parameter
MAX_PARAMETER_ENTRIES = 5_000  # of all of them together

Parameter = Any
"""A text, a number, a truth value, or lists and objects of them, as JSON has them."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A request for one release.

    epsilon, delta: the target; delta 0 asks for a pure guarantee. rows: how many to draw, None for the
    noisy number of records. seed: of the post-processing only, never of noise; None for a fresh secret one.
    """

    mechanism: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rows: int | None = None
    seed: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, str) or not self.mechanism:
            raise SpecError(
                "the mechanism is missing",
                repair="name one of the list that `mechanisms` prints",
            )
        _check_parameters(self.parameters)
        _check_loss(self.epsilon, self.delta)
        if self.rows is not None and (
            type(self.rows) is not int or not 1 <= self.rows <= MAX_ROWS
        ):
            raise SpecError(
                f"rows must be a whole number from 1 to {MAX_ROWS}",
                repair="or leave it out",
            )
        _check_seed(self.seed)

    def to_json(self) -> JsonObject:
        return {
            "schema": SCHEMA,
            "mechanism": self.mechanism,
            "parameters": dict(self.parameters),
            "epsilon": plain(self.epsilon),
            "delta": plain(self.delta),
            "rows": self.rows,
            "seed": self.seed,
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Spec:
        """Errors: SpecError naming the field. Rows of 0 mean the noisy number of records, as on the command
        line."""
        fields = {"schema", "mechanism", "parameters", "epsilon", "delta", "rows", "seed"}
        if not isinstance(obj, Mapping) or not set(obj) <= fields:
            raise SpecError(
                f"a spec is an object with {', '.join(sorted(fields))}",
                repair="remove other keys",
            )
        if obj.get("schema", SCHEMA) != SCHEMA:
            raise SpecError("this spec is of an unknown version", repair=f"write {SCHEMA}")
        if obj.get("epsilon") is None:
            raise SpecError("epsilon is missing", repair="give one such as 1")
        given = {name: value for name, value in obj.items() if value is not None}
        rows = given.get("rows")
        return cls(
            mechanism=given.get("mechanism", ""),
            parameters=given.get("parameters", {}),
            # Exact fractions: a double would round the target before it is compared with the
            # loss.
            epsilon=parse_amount(given["epsilon"], name="epsilon"),
            delta=parse_amount(given.get("delta", 0), name="delta"),
            rows=None if type(rows) is int and rows == 0 else rows,
            seed=obj.get("seed"),
        )


def _check_loss(epsilon: Fraction, delta: Fraction) -> None:
    if not isinstance(epsilon, Fraction) or not isinstance(delta, Fraction):
        raise TypeError("epsilon and delta are Fractions; read text with parse_amount")
    if not MIN_EPSILON <= epsilon <= MAX_EPSILON:
        rule = f"epsilon must lie between {plain(MIN_EPSILON)} and {plain(MAX_EPSILON)}"
        raise SpecError(rule, repair="1 is a common choice")
    if delta != 0 and not Fraction(1, 10**18) <= delta <= MAX_DELTA:
        rule = f"delta must be 0 or lie between 1e-18 and {plain(MAX_DELTA)}"
        raise SpecError(
            rule, repair="give a delta far below one over the number of records, such as 1e-9"
        )


def _check_parameters(parameters: Mapping[str, Parameter]) -> None:
    if not isinstance(parameters, Mapping) or not all(
        isinstance(key, str) for key in parameters
    ):
        raise SpecError(
            "parameters must be an object of names and values",
            repair="see the mechanism's schema",
        )
    for name, value in parameters.items():
        require_moderate(name, value)


def require_moderate(name: str, value: Parameter) -> None:
    """Errors: SpecError for what is no JSON, nested deep, or long. Without recursion: it may be nested
    without end."""
    # A list in place of recursion: a document nested without end would exceed Python's stack.
    waiting, count = [(value, 0)], 0
    while waiting:
        entry, depth = waiting.pop()
        count += 1
        if depth > MAX_PARAMETER_DEPTH or count > MAX_PARAMETER_ENTRIES:
            raise SpecError(
                f"parameter {name!r} is nested deeper than {MAX_PARAMETER_DEPTH} levels or has more than "
                f"{MAX_PARAMETER_ENTRIES} entries",
                repair="make it flatter, or list less",
            )
        if isinstance(entry, Mapping) and all(isinstance(key, str) for key in entry):
            waiting += [(inner, depth + 1) for inner in entry.values()]
        elif isinstance(entry, list | tuple):
            waiting += [(inner, depth + 1) for inner in entry]
        elif entry is not None and not isinstance(entry, str | int | float | bool):
            raise SpecError(
                f"parameter {name!r} must be a number, a text, a truth value, or a list or object of them"
            )


def _check_seed(seed: str | None) -> None:
    if seed is None:
        return
    if not isinstance(seed, str) or not 1 <= len(seed) <= MAX_SEED_LENGTH:
        raise SpecError(
            f"a seed is a text of 1 to {MAX_SEED_LENGTH} characters", repair="or leave it out"
        )
    if any(unicodedata.category(c).startswith("C") for c in seed):
        raise SpecError(
            "a seed holds printable characters only", repair="use letters and digits"
        )
