"""Domain: the attributes of a table, who is protected, and what an adversary may know; to and from JSON."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

from synth_engine import strict_json
from synth_engine.domain import constraints as rules
from synth_engine.domain import enforcement, file_form
from synth_engine.domain import invariant_totals as public_totals
from synth_engine.domain import multiplicity as public_repeats
from synth_engine.domain import partitions as public_partitions
from synth_engine.domain import places as named_places
from synth_engine.domain import points as public_points
from synth_engine.domain import purchases as paid_facts
from synth_engine.domain.constraints import Constraint
from synth_engine.domain.enforcement import Enforcement
from synth_engine.domain.file_form import FileForm
from synth_engine.domain.invariant_totals import Totals
from synth_engine.domain.multiplicity import Repeats
from synth_engine.domain.partitions import Partition
from synth_engine.domain.places import Place
from synth_engine.domain.points import PointSet
from synth_engine.domain.purchases import Purchase
from synth_engine.domain.relations import Component
from synth_engine.errors import DomainError
from synth_engine.kinds import parse_attribute
from synth_engine.kinds.attribute import MAX_CODES, Attribute
from synth_engine.kinds.basket import Baskets
from synth_engine.kinds.categorical import Categorical
from synth_engine.kinds.derived import Derived
from synth_engine.kinds.facts import Provenance
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.identifier import Identifier
from synth_engine.kinds.integer import Integer
from synth_engine.kinds.missing_markers import marker_column
from synth_engine.kinds.not_found import NotFound
from synth_engine.kinds.text import Text
from synth_engine.kinds.undeclared import Undeclared
from synth_engine.privacy.unit import PrivacyUnit, Relation

SCHEMA_NAME = "synth_engine/domain/1"
MAX_BYTES = 256 * 2**20
"""Of a file: two columns of a million codes, each with points and partitions."""
MAX_DEPTH = 8  # a sound one needs five
_SEE = "see docs/domain.schema.json"
# A text without an end runs to the end of the document, so that no mark inside it is tried as a beginning
# again.
_BRACKET = re.compile(r'[{}\[\]]|"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Domain:
    """The public description of one table.

    `rows` is the exact number of records where it is public, which only the replace-one relation allows
    (under add/remove the number itself differs between neighbours, so it is noisy and paid for). `shorthand`
    remembers that the description was given as column sizes alone. `places` are the points of a record, if it
    has any, and `constraints` what holds in every record. `totals` say how many records have each value of
    one column; neighbours then have the same ones, so a record is replaced by one with the same value there.
    `points` say where values of a column lie, or where records of a place may be, and `partitions` to which
    part each value of a column belongs. `repeats`: a row stands for as many records as one of its columns
    says; a record is what a table holds everywhere else. `file`: how a file is written; None where nobody has
    stated it. `bought`: the earlier runs that paid for facts of it."""

    attributes: tuple[Attribute, ...]
    unit: PrivacyUnit = field(default_factory=PrivacyUnit)
    relation: Relation = Relation.ADD_REMOVE
    invariants: tuple[str, ...] = ()
    rows: int | None = None
    shorthand: bool = False
    places: tuple[Place, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    totals: Totals | None = None
    repeats: Repeats | None = None
    points: tuple[PointSet, ...] = ()
    partitions: tuple[Partition, ...] = ()
    file: FileForm | None = None
    bought: tuple[Purchase, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        self._check_names()
        if not self.modelled and not self.undeclared:
            raise DomainError(
                "no column to model",
                repair="describe at least one column that is not an identifier",
            )
        # Totals fix the number of rows, which the checks below use.
        self._check_totals()
        if self.repeats is not None:
            self.repeats.check(self.attributes, unit=self.unit.column)
        self._check_rows()
        named_places.check(self.places, self.attributes)
        by_name = {attribute.name: attribute for attribute in self.attributes}
        for each in self.points:
            each.check(by_name, self.places)
        self._check_unit(by_name)
        self._check_sizes()
        public_partitions.check(self.partitions, by_name)
        self._check_derived(by_name)
        self._check_form()
        object.__setattr__(self, "bought", paid_facts.check(self.bought, self.attributes))
        object.__setattr__(self, "constraints", tuple(self.constraints))
        object.__setattr__(
            self, "_enforcement", enforcement.judge(self.constraints, self.attributes)
        )
        if self.shorthand and set(self.facts) != {"declared (shorthand)"}:
            raise DomainError(
                "a shorthand with facts that are not declared", repair='leave "shorthand" out'
            )
        if self.shorthand and self.undeclared:
            raise DomainError(
                "a shorthand with columns that are not known", repair='leave "shorthand" out'
            )

    def _check_totals(self) -> None:
        if self.totals is None:
            return
        self.totals.check(self.attributes)
        # Under add/remove a neighbour has other totals, and truncation of units with several
        # records changes them: in neither case would they be the same in all neighbouring
        # tables.
        if self.relation is not Relation.REPLACE_ONE or self.unit.max_records > 1:
            raise DomainError(
                "public totals need the replace-one relation and units of one record",
                repair='use "replace-one" and max_records 1, or leave totals out',
            )
        if self.rows not in (None, self.totals.rows):
            raise DomainError("rows is not the sum of the totals", repair="leave rows out")
        object.__setattr__(self, "rows", self.totals.rows)

    def _check_unit(self, by_name: Mapping[str, Attribute]) -> None:
        """Refuse a description of the column that identifies people which says more than how made-up values
        look."""
        column = by_name.get(self.unit.column or "")
        if column is not None and not isinstance(column, Identifier | Text):
            raise column.error(
                "the column that identifies people is described by its values",
                repair="leave the column out (kind identifier), or make its values up (kind text)",
            )

    def _check_names(self) -> None:
        """Refuse names that occur twice."""
        seen: set[str] = set()
        for attribute in self.attributes:
            if attribute.name in seen:
                raise DomainError(
                    "two columns have this name",
                    repair="rename one of them",
                    column=attribute.name,
                )
            seen.add(attribute.name)
        columns = {
            id(attribute) for attribute in self.attributes
        }  # comparing each with all would take a square of them
        # An item of a basket, or the markers of a column, become a column whose name must be free.
        for part in self.modelled:
            if part.name in seen and id(part) not in columns:
                raise DomainError(
                    "an item, or markers, and a column have this name",
                    repair="rename the column",
                    column=part.name,
                )

    def _check_derived(self, by_name: Mapping[str, Attribute]) -> None:
        for attribute in self.attributes:
            if isinstance(attribute, Derived):
                attribute.result(by_name)

    def _check_form(self) -> None:
        # Parts of a description, as a draft is checked, have no form: then nothing can be marked.
        if self.file is None:
            return
        for attribute in self.attributes:
            if attribute.written.grouped and not self.file.thousands:
                raise attribute.error(
                    "marks between thousands, and the form of the file has no sign for them",
                    repair='state "thousands" in "file"',
                )
        self.file.check(self.table_columns)

    def _check_sizes(self) -> None:
        placed = {each.column for each in self.points}
        for attribute in self.modelled:
            # Only trees over public points need no table with a cell for each code.
            if attribute.size > MAX_CODES and attribute.name not in placed:
                raise attribute.error(
                    f"more than {MAX_CODES:,} codes",
                    repair="use fewer values, or say by points where each of them lies",
                )

    def _check_rows(self) -> None:
        sums = () if self.totals is None else (self.totals.invariant,)
        unknown = [name for name in self.invariants if name not in ("rows", *sums)]
        if unknown:
            raise DomainError(
                f"unknown invariant {unknown[0]!r}",
                repair='the invariants are "rows" and those of totals',
            )
        if self.rows is None:
            if self.invariants:
                raise DomainError(
                    "rows is invariant but not given", repair="give rows, or drop the invariant"
                )
            return
        if self.rows < 1:
            raise DomainError(
                "rows is below one", repair="give the public number of records, or leave it out"
            )
        # Under add/remove neighbours differ in this number: publishing it has no finite ε.
        if self.relation is not Relation.REPLACE_ONE:
            raise DomainError(
                "a public number of records contradicts the add-remove relation",
                repair='use "replace-one", or leave rows out and pay for a noisy number',
            )
        for attribute in self.attributes:
            if (
                isinstance(attribute, Identifier)
                and attribute.template
                and attribute.capacity < self.rows
            ):
                raise attribute.error(
                    "the pattern allows fewer identifiers than there are rows",
                    repair="give it more places",
                )
        object.__setattr__(self, "invariants", ("rows", *sums))

    @cached_property
    def modelled(self) -> tuple[Attribute, ...]:
        """The attributes that mechanisms see: all but identifiers, of baskets one for each item, and behind a
        column with separate markers the one of its markers."""
        return tuple(
            part
            for attribute in self.attributes
            for part in (*attribute.parts, marker_column(attribute))
            if part is not None
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the modelled attributes, in order."""
        return tuple(attribute.name for attribute in self.modelled)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of a file that are read: all but identifiers and derived columns."""
        return tuple(
            attribute.name
            for attribute in self.attributes
            if not isinstance(attribute, Identifier | Derived)
        )

    @cached_property
    def baskets(self) -> tuple[Baskets, ...]:
        """The attributes whose cells hold items."""
        return tuple(
            attribute for attribute in self.attributes if isinstance(attribute, Baskets)
        )

    @cached_property
    def undeclared(self) -> tuple[Undeclared, ...]:
        """The attributes that a run has to learn first."""
        return tuple(
            attribute for attribute in self.attributes if isinstance(attribute, Undeclared)
        )

    def resolve(self, learned: Mapping[str, Attribute]) -> Domain:
        """Return the domain with what was learned in place of what was undeclared; nothing else may
        differ."""
        if set(learned) != {attribute.name for attribute in self.undeclared}:
            raise DomainError(
                "a column was learned that was not open, or one was not learned",
                repair="learn open columns, and all of them",
            )
        return self.resolve_some(learned)

    def resolve_some(self, learned: Mapping[str, Attribute]) -> Domain:
        """The same of some of the undeclared columns; the others stay undeclared."""
        columns = [each for each in self.undeclared if each.name in learned]
        for attribute in columns:
            # Whatever code learned it, nothing that was declared may differ: only then is
            # counting under the new domain free (docs/proofs/learning.md, "Resolving is free").
            if not _may_become(attribute, learned[attribute.name]):
                raise attribute.error(
                    "what was learned does not fit what was declared", repair="learn it again"
                )
        if len(columns) < len(learned):
            raise DomainError(
                "a column was learned that was not open", repair="learn open columns alone"
            )
        # How cells are written, markers included, is public and is never learned.
        resolved = {
            a.name: learned[a.name]
            if isinstance(learned[a.name], NotFound)
            else replace(
                learned[a.name],
                written=a.written,
                separate_markers=a.separate_markers,
                protected=a.protected,
            )
            for a in columns
        }
        return replace(self, attributes=tuple(resolved.get(a.name, a) for a in self.attributes))

    def with_purchase(self, purchase: Purchase, learned: Mapping[str, Attribute]) -> Domain:
        """Return the description that later runs of the account use: with what a run learned of undeclared
        columns, as bought. purchase: the columns of `learned`."""
        resolved = self.resolve_some(learned)
        attributes = tuple(
            paid_facts.as_bought(a) if a.name in learned else a for a in resolved.attributes
        )
        return replace(resolved, attributes=attributes, bought=(*self.bought, purchase))

    @property
    def not_found(self) -> tuple[str, ...]:
        """The names of the columns of which a run learned too little to say anything, in order."""
        return tuple(a.name for a in self.attributes if not a.is_found)

    def join_places(self, cells: Mapping[str, int]) -> Domain:
        """Return the domain in which each of these places is one attribute instead of two columns of degrees.
        Derived columns are left out: they are computed when both are known again.

        cells: the number of cells of each place. Errors: DomainError for constraints on degrees."""
        joined = {place.latitude: place for place in self.places if place.name in cells}
        left_out = {place.longitude for place in joined.values()}
        bound = {name for constraint in self.constraints for name in constraint.columns}
        for place in joined.values():
            if bound & set(place.columns):
                raise DomainError(
                    "a constraint on a coordinate of a place whose cells are learned",
                    repair='take the constraint away, or "learned" off the place',
                    column=place.latitude,
                )
        attributes: list[Attribute] = []
        for attribute in self.attributes:
            if attribute.name in joined:
                name = joined[attribute.name].name
                values = tuple(map(str, range(cells[name])))
                facts: dict[str, Provenance] = {
                    "kind": "declared",
                    "values": "learned",
                    "missing": "declared",
                }
                # Cells are in the order of a space-filling curve, so that neighbours are near.
                attributes.append(
                    Categorical(
                        name=name,
                        values=values,
                        ordered=True,
                        outside="clamp",
                        provenance=facts,
                    )
                )
            elif attribute.name not in left_out and not isinstance(attribute, Derived):
                attributes.append(attribute)
        return replace(
            self,
            attributes=tuple(attributes),
            places=tuple(place for place in self.places if place.name not in cells),
            points=tuple(each for each in self.points if each.place not in cells),
            file=None,
        )

    @property
    def table_columns(self) -> tuple[Attribute, ...]:
        """The attributes of a drawn table, in the declared order: all but identifiers that are dropped."""
        return tuple(
            column for attribute in self.attributes for column in attribute.table_columns
        )

    def written_like(self, attribute: Attribute) -> Attribute:
        """The column by whose kind the values of a column are written: of a copy its source, else itself."""
        while isinstance(attribute, Derived) and attribute.rule == "copy":
            attribute = self._by_name[attribute.of[0]]
        return attribute

    @property
    def grouped(self) -> Identifier | None:
        """Return the column of units that a generated table has, with several rows for each; None where a
        unit has one row, or the column is left out."""
        named = [
            a
            for a in self.attributes
            if a.name == self.unit.column and isinstance(a, Identifier) and a.in_table
        ]
        return named[0] if named and self.unit.max_records > 1 else None

    @property
    def sizes(self) -> dict[str, int]:
        """Number of codes of each modelled attribute, in order."""
        return dict(self._sizes)

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return {attribute.name: attribute.size for attribute in self.modelled}

    @property
    def components(self) -> tuple[Component, ...]:
        """The constraints that samples keep over codes, by the columns that they connect."""
        return self.enforcement.components

    @property
    def enforcement(self) -> Enforcement:
        """Which constraints samples keep; those that no record can keep with what was learned are left
        out."""
        judged: Enforcement = self.__dict__["_enforcement"]
        return judged

    def attribute(self, name: str) -> Attribute:
        attribute = self._by_name.get(name)
        if attribute is not None:
            return attribute
        raise DomainError(
            "no such column in the domain", repair="check the spelling", column=name
        )

    @cached_property
    def _by_name(self) -> dict[str, Attribute]:
        return {attribute.name: attribute for attribute in (*self.modelled, *self.attributes)}

    def shape(self, clique: Iterable[str]) -> tuple[int, ...]:
        """Shape of the contingency table of a clique of modelled attributes."""
        sizes = self._sizes
        names = tuple(clique)
        for name in names:
            if name not in sizes:
                raise DomainError(
                    "not a modelled column", repair="use columns of the domain", column=name
                )
        if len(set(names)) != len(names):
            raise DomainError("a clique names a column twice", repair="name each column once")
        return tuple(sizes[name] for name in names)

    def cells(self, clique: Iterable[str]) -> int:
        """Number of cells of that table."""
        return prod(self.shape(clique))

    @property
    def facts(self) -> dict[str, int]:
        """Count the facts by their origin."""
        if self.shorthand and all(
            set(a.facts.values()) == {"declared"} for a in self.attributes
        ):
            return {
                "declared (shorthand)": sum(len(a.facts) for a in self.attributes)
                + len(self.constraints)
            }
        origins = [origin for a in self.attributes for origin in a.facts.values()]
        return dict(
            sorted(Counter([*origins, *(each.provenance for each in self.constraints)]).items())
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON; of a description with many points that takes a second."""
        # Receipts bind releases to this digest: the text must not depend on the order in which
        # a database returns keys.
        text = json.dumps(
            self.to_json(),
            sort_keys=True,
            separators=(",", ":"),
            ensure_ascii=False,
            allow_nan=False,
        )
        return hashlib.sha256(text.encode()).hexdigest()

    def require_confirmed(self) -> None:
        """Refuses a domain of which a fact was only suggested by the data, or paid for by a run that it does
        not name."""
        paid_facts.require_paid(self.bought, self.attributes)
        for attribute in self.attributes:
            # A suggestion was read from the real table without noise. A run that used it would
            # publish it at no cost.
            open_facts = [
                fact for fact, origin in attribute.facts.items() if origin == "suggested"
            ]
            if open_facts:
                raise DomainError(
                    f"{', '.join(open_facts)} only suggested by the data",
                    repair='confirm as public knowledge and set provenance to "declared", or declare other '
                    "facts",
                    column=attribute.name,
                )

    def to_json(self) -> dict[str, object]:
        by_name = {attribute.name: attribute for attribute in self.attributes}
        return {
            "schema": SCHEMA_NAME,
            "relation": self.relation.value,
            "unit": self.unit.to_json(),
            "invariants": list(self.invariants),
            "rows": self.rows,
            "shorthand": self.shorthand,
            "attributes": [attribute.to_json() for attribute in self.attributes],
            # Left out where there are none, so that domains from before there were any keep their digest.
            **({"places": [place.to_json() for place in self.places]} if self.places else {}),
            **(
                {"constraints": [each.to_json() for each in self.constraints]}
                if self.constraints
                else {}
            ),
            **({} if self.totals is None else {"totals": self.totals.to_json(self.attributes)}),
            **({} if self.repeats is None else {"repeats": self.repeats.to_json()}),
            **(
                {
                    "points": [
                        each.to_json([by_name[each.column]] if each.column else ())
                        for each in self.points
                    ]
                }
                if self.points
                else {}
            ),
            **(
                {"partitions": [one.to_json([by_name[one.column]]) for one in self.partitions]}
                if self.partitions
                else {}
            ),
            **({} if self.file is None else {"file": self.file.to_json()}),
            **({"bought": [each.to_json() for each in self.bought]} if self.bought else {}),
        }

    @classmethod
    def from_json(cls, document: object) -> Domain:
        """Reads the full document or the shorthand `{"column": size}`."""
        if not isinstance(document, Mapping):
            raise DomainError(
                "the domain is not a JSON object", repair="see docs/domain.schema.json"
            )
        if not isinstance(document.get("attributes"), list) and "schema" not in document:
            return cls._from_sizes(document)
        reader = Fields(document)
        known = (
            "schema",
            "relation",
            "unit",
            "invariants",
            "rows",
            "shorthand",
            "attributes",
            "places",
            "constraints",
        )
        reader.only(*known, "totals", "repeats", "points", "partitions", "file", "bought")
        if reader.text("schema", default=SCHEMA_NAME) != SCHEMA_NAME:
            raise DomainError("unknown schema", repair=f"write {SCHEMA_NAME!r}")
        relation = reader.text("relation", default=Relation.ADD_REMOVE.value)
        if relation not in set(Relation):
            raise DomainError("unknown relation", repair=f"use one of {', '.join(Relation)}")
        attributes = tuple(parse_attribute(item) for item in reader.list("attributes"))
        totals = document.get("totals")
        return cls(
            attributes=attributes,
            unit=_unit(document.get("unit")),
            relation=Relation(relation),
            invariants=reader.texts("invariants") or (),
            rows=reader.integer("rows", default=None),
            shorthand=reader.boolean("shorthand"),
            places=named_places.parse(reader.list("places") if "places" in document else ()),
            constraints=rules.parse(
                reader.list("constraints") if "constraints" in document else ()
            ),
            totals=None if totals is None else public_totals.parse(totals, attributes),
            repeats=public_repeats.parse(document.get("repeats")),
            points=public_points.parse(
                reader.list("points") if "points" in document else (), attributes
            ),
            partitions=public_partitions.parse(
                reader.list("partitions") if "partitions" in document else (), attributes
            ),
            file=file_form.parse(document.get("file")),
            bought=paid_facts.parse(reader.list("bought") if "bought" in document else ()),
        )

    @classmethod
    def _from_sizes(cls, sizes: Mapping[str, object]) -> Domain:
        for name, size in sizes.items():
            if not isinstance(size, int) or isinstance(size, bool) or size < 1:
                raise DomainError(
                    "the shorthand needs a size of 1 or more",
                    repair="give the number of codes",
                    column=str(name),
                )
        attributes = tuple(
            Integer(name=name, low=0, high=int(str(size)) - 1, width=1, ordered=False)
            for name, size in sizes.items()
        )
        return cls(attributes=attributes, shorthand=True)


def _may_become(attribute: Undeclared, learned: Attribute) -> bool:
    if isinstance(learned, NotFound):
        return learned.column == attribute
    return attribute.admits(learned)


def read(path: Path | str) -> Domain:
    """The domain in a JSON file. Raises DomainError for anything but a sound one."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DomainError(
            "the domain file cannot be read", repair="check its path and rights"
        ) from error
    return Domain.from_json(parse(raw))


def parse(
    raw: bytes, *, name: str = "domain file", deepest: int = MAX_DEPTH, see: str = _SEE
) -> Any:
    """The JSON in the bytes of a file. Raises DomainError for one too large or too deep, for a name given
    twice and for what is not JSON; what it says is not looked at."""
    if len(raw) > MAX_BYTES:
        raise DomainError(
            f"the {name} is larger than {MAX_BYTES // 2**20} MB",
            repair="use wider bins or fewer values",
        )
    try:
        text = raw.decode("utf-8-sig")
        # Measured on the text, before the parser recurses into it.
        if _depth(text) > deepest:
            raise DomainError(f"the {name} is nested more than {deepest} deep", repair=see)
        return strict_json.loads(text)
    except strict_json.NamedTwice as error:
        raise DomainError(
            "the file names this twice", repair="keep one of them", column=error.name
        ) from None
    except (ValueError, RecursionError):
        raise DomainError(f"the {name} is not JSON in UTF-8", repair=see) from None


def _depth(text: str) -> int:
    """Return how deep brackets are nested outside of texts."""
    depth = deepest = 0
    for bracket in _BRACKET.findall(text):
        if bracket in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif bracket in "}]":
            depth -= 1
    return deepest


def _unit(document: Any) -> PrivacyUnit:
    return PrivacyUnit() if document is None else PrivacyUnit.from_json(document)
