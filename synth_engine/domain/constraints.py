"""Define what is publicly known to hold in every record: combinations that cannot occur, order, dependencies,
missing values.

Declared like every other fact, and never suggested by data: what no record happens to break would tell of the
records. A synthetic table keeps to all of them; they change neither what a mechanism asks nor what it costs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from synth_engine.domain import conditions
from synth_engine.domain.conditions import Value
from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import MAX_CODES, Attribute
from synth_engine.kinds.facts import Provenance
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.integer import Integer
from synth_engine.kinds.number import Number
from synth_engine.strict_json import JsonObject

MAX_CONSTRAINTS = 200
MAX_PAIRS = 200_000
# Not "suggested" or "learned": that no record breaks a rule is a fact about all records, which
# nobody has paid for.
ORIGINS: tuple[Provenance, ...] = ("declared", "public-file")


@dataclass(frozen=True, kw_only=True)
class Constraint(ABC):
    """What all kinds share. Nothing but what is declared or comes from a public file may be said of all
    records."""

    kind: ClassVar[str]

    provenance: Provenance = "declared"

    def __post_init__(self) -> None:
        if self.provenance not in ORIGINS:
            raise DomainError(
                "a constraint is neither declared nor from a public file",
                repair=f"state it as public knowledge ({' or '.join(ORIGINS)}), or leave it out",
                column=self.columns[0],
            )

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Return the columns that the constraint is about."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """Return the constraint in words."""

    @property
    def named(self) -> Mapping[str, tuple[Value, ...]]:
        """The values that it names, by column."""
        return {}

    @abstractmethod
    def check(self, known: Mapping[str, Attribute]) -> None:
        """Refuses what the columns do not declare. The columns themselves are there."""

    @abstractmethod
    def details(self) -> JsonObject:
        """The JSON fields of this kind alone."""

    def to_json(self) -> JsonObject:
        return {"kind": self.kind, **self.details(), "provenance": self.provenance}


@dataclass(frozen=True, kw_only=True)
class Impossible(Constraint):
    """No record has, in each of these columns, one of the values named for it."""

    kind: ClassVar[str] = "impossible"

    combination: Mapping[str, tuple[Value, ...]]

    def __post_init__(self) -> None:
        # A database may return the fields of an object in another order; a sample must not
        # depend on it.
        object.__setattr__(self, "combination", dict(sorted(self.combination.items())))
        super().__post_init__()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.combination)

    @property
    def sentence(self) -> str:
        parts = [
            f"{name} is {conditions.words(values)}" for name, values in self.combination.items()
        ]
        return f"never: {' and '.join(parts)}"

    @property
    def named(self) -> Mapping[str, tuple[Value, ...]]:
        return self.combination

    def check(self, known: Mapping[str, Attribute]) -> None:
        for name, values in self.combination.items():
            conditions.codes(known[name], values)

    def details(self) -> JsonObject:
        return {
            "columns": {
                name: conditions.to_json(values) for name, values in self.combination.items()
            }
        }


@dataclass(frozen=True, kw_only=True)
class Order(Constraint):
    """The value of `first` is not above that of `second` (with `strict`: below it) wherever neither is
    missing."""

    kind: ClassVar[str] = "order"

    first: str
    second: str
    strict: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.first, self.second

    @property
    def sentence(self) -> str:
        return f"{self.first} {'<' if self.strict else '≤'} {self.second}"

    def check(self, known: Mapping[str, Attribute]) -> None:
        if self.first == self.second:
            raise known[self.first].error(
                "an order of a column and itself", repair="name two columns"
            )
        for name in self.columns:
            if not known[name].is_comparable:
                raise known[name].error(
                    "an order of a column that is no number, date or date-time",
                    repair="describe it as one, or take the constraint away",
                )
        if _family(known[self.first]) != _family(known[self.second]):
            raise known[self.first].error(
                "an order of two columns that do not compare",
                repair="describe both as numbers, both as dates, or both as date-times",
            )

    def details(self) -> JsonObject:
        return {"first": self.first, "second": self.second, "strict": self.strict}


@dataclass(frozen=True, kw_only=True)
class Dependency(Constraint):
    """Where `given` has a value of the table, `gives` has the value beside it. Other values of `given` say
    nothing."""

    kind: ClassVar[str] = "dependency"

    given: str
    gives: str
    table: tuple[tuple[Value, Value], ...] = field(repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.given, self.gives

    @property
    def sentence(self) -> str:
        count = len(self.table)
        return f"{self.given} gives {self.gives} ({count} {'pair' if count == 1 else 'pairs'})"

    @property
    def named(self) -> Mapping[str, tuple[Value, ...]]:
        return {
            name: tuple(pair[side] for pair in self.table)
            for side, name in enumerate(self.columns)
        }

    def check(self, known: Mapping[str, Attribute]) -> None:
        if self.given == self.gives:
            raise known[self.given].error(
                "a dependency of a column on itself", repair="name two columns"
            )
        self.pairs(known)

    def pairs(self, known: Mapping[str, Attribute]) -> dict[int, int]:
        """The table in codes."""
        code_pairs: dict[int, int] = {}
        given = known[self.given]
        codes = conditions.each(given, (given for given, _ in self.table))
        gives = conditions.each(known[self.gives], (value for _, value in self.table))
        # What a run did not find is counted as "other", where the column has it.
        others = known[self.gives].other_code
        for place, (code, gives_code) in enumerate(zip(codes, gives, strict=True), start=1):
            target = others if gives_code is None else gives_code
            if code is None or target is None:
                continue
            if code in code_pairs and conditions.stands_alone(given, code):
                raise known[self.given].error(
                    f"pair {place} of a dependency says again what a value gives",
                    repair="list each value once",
                )
            code_pairs[code] = target
        return code_pairs

    def details(self) -> JsonObject:
        table = [conditions.to_json(pair) for pair in self.table]
        return {"from": self.given, "to": self.gives, "table": table}


@dataclass(frozen=True, kw_only=True)
class ExistingPairs(Constraint):
    """Values of `first` and `second` occur together only as the table lists them, as a public register of
    what exists does. Missing and other values may stand beside any."""

    kind: ClassVar[str] = "existing-pairs"

    first: str
    second: str
    table: tuple[tuple[str, str], ...] = field(repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.first, self.second

    @property
    def sentence(self) -> str:
        count = len(self.table)
        return (
            f"{self.first} and {self.second} occur together only as listed ({count} "
            f"{'pair' if count == 1 else 'pairs'})"
        )

    @property
    def named(self) -> Mapping[str, tuple[Value, ...]]:
        return {
            name: tuple(pair[side] for pair in self.table)
            for side, name in enumerate(self.columns)
        }

    def check(self, known: Mapping[str, Attribute]) -> None:
        if self.first == self.second:
            raise known[self.first].error(
                "pairs of a column and itself", repair="name two columns"
            )
        if not all(isinstance(value, str) for pair in self.table for value in pair):
            raise known[self.first].error(
                "a pair that exists has a missing value or a range",
                repair="list two values or bins; missing values may stand beside any",
            )
        self.pairs(known)

    def pairs(self, known: Mapping[str, Attribute]) -> frozenset[tuple[int, int]]:
        """The table in codes, as far as both values were found where they were learned."""
        first, second = (
            conditions.each(known[name], values) for name, values in self.named.items()
        )
        return frozenset(
            (a, b)
            for a, b in zip(first, second, strict=True)
            if a is not None and b is not None
        )

    def details(self) -> JsonObject:
        return {
            "first": self.first,
            "second": self.second,
            "table": [list(pair) for pair in self.table],
        }


@dataclass(frozen=True, kw_only=True)
class MissingIff(Constraint):
    """`column` is missing exactly where `when` has one of the values."""

    kind: ClassVar[str] = "missing-iff"

    column: str
    when: str
    values: tuple[Value, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.column, self.when

    @property
    def sentence(self) -> str:
        return f"{self.column} is missing exactly where {self.when} is {conditions.words(self.values)}"

    @property
    def named(self) -> Mapping[str, tuple[Value, ...]]:
        return {self.column: (None,), self.when: self.values}

    def check(self, known: Mapping[str, Attribute]) -> None:
        if self.column == self.when:
            raise known[self.column].error(
                "missing is made to depend on itself", repair="name two columns"
            )
        conditions.codes(known[self.column], (None,))
        conditions.codes(known[self.when], self.values)

    def details(self) -> JsonObject:
        return {
            "column": self.column,
            "when": self.when,
            "values": conditions.to_json(self.values),
        }


KINDS: dict[str, type[Constraint]] = {
    kind.kind: kind for kind in (Impossible, Order, Dependency, ExistingPairs, MissingIff)
}


def parse(documents: Sequence[object]) -> tuple[Constraint, ...]:
    """Constraints from JSON. Errors: DomainError naming the field."""
    if len(documents) > MAX_CONSTRAINTS:
        raise DomainError(
            f"more than {MAX_CONSTRAINTS} constraints", repair="declare the ones that matter"
        )
    return tuple(_one(document) for document in documents)


def _one(document: object) -> Constraint:
    if not isinstance(document, Mapping):
        raise DomainError(
            "a constraint is not an object", repair='give it a "kind" and its columns'
        )
    fields = Fields(document)
    kind = fields.text("kind")
    origin = {"provenance": fields.text("provenance", default="declared")}
    shared = ("kind", "provenance", "why")
    match kind:
        case "impossible":
            fields.only(*shared, "columns")
            return Impossible(combination=_combination(document.get("columns")), **origin)
        case "order":
            fields.only(*shared, "first", "second", "strict")
            return Order(
                first=fields.text("first"),
                second=fields.text("second"),
                strict=fields.boolean("strict"),
                **origin,
            )
        case "dependency":
            fields.only(*shared, "from", "to", "table")
            names = {"given": fields.text("from"), "gives": fields.text("to")}
            return Dependency(
                **names, table=_table(fields.list("table"), column=names["given"]), **origin
            )
        case "existing-pairs":
            fields.only(*shared, "first", "second", "table")
            names = {"first": fields.text("first"), "second": fields.text("second")}
            rows = _table(
                fields.list("table"), column=names["first"], most=MAX_PAIRS, what=kind
            )
            # `check` refuses others
            return ExistingPairs(**names, table=rows, **origin)  # type: ignore[arg-type]
        case "missing-iff":
            fields.only(*shared, "column", "when", "values")
            when = fields.text("when")
            values = conditions.parse(document.get("values"), column=when)
            return MissingIff(column=fields.text("column"), when=when, values=values, **origin)
    raise DomainError("unknown kind of constraint", repair=f"use one of {', '.join(KINDS)}")


def _combination(document: object) -> dict[str, tuple[Value, ...]]:
    if (
        not isinstance(document, Mapping)
        or not document
        or not all(isinstance(name, str) for name in document)
    ):
        raise DomainError(
            "an impossible combination names no columns",
            repair='give "columns": {"column": [values], …}',
        )
    return {name: conditions.parse(values, column=name) for name, values in document.items()}


def _table(
    documents: Sequence[object], *, column: str, most: int = MAX_CODES, what: str = "dependency"
) -> tuple[tuple[Value, Value], ...]:
    if not 1 <= len(documents) <= most:
        raise DomainError(
            f"a {what} has no pairs, or more than {most:,}",
            repair="list them",
            column=column,
        )
    pairs = []
    for place, document in enumerate(documents, start=1):
        if (
            not isinstance(document, Sequence)
            or isinstance(document, str)
            or len(document) != 2
        ):
            raise DomainError(
                f"pair {place} of a {what} is not two values",
                repair='write ["value", "the value beside it"]',
                column=column,
            )
        given, gives = conditions.parse(document, column=column)
        pairs.append((given, gives))
    return tuple(pairs)


def _family(attribute: Attribute) -> str:
    reader = attribute.reader
    return "number" if isinstance(reader, Integer | Number) else reader.kind
