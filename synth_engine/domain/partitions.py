"""Partitions: which public part, such as a tract or a town, each value of a column belongs to. A public fact:
no part may come from the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from synth_engine.domain import names as naming
from synth_engine.domain.names import Names
from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.undeclared import Undeclared

_REPAIR = 'give "name", "column" and "of", an object of values and their parts'
MAX_NAME_LENGTH = 100
Source = tuple[tuple[str, str], ...]
_SOURCE = ("name", "version", "sha256")


@dataclass(frozen=True, kw_only=True)
class Partition:
    """`of`: the part of each declared value of `column`, in order. `source`: the public table it was copied
    from, if any, as (field, text). `names`: what people call parts."""

    name: str
    column: str
    of: tuple[str, ...]
    source: Source = ()
    names: Names = ()

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts, in order."""
        return tuple(sorted(set(self.of)))

    @property
    def titles(self) -> tuple[str, ...]:
        """Return the parts in order, each with its name."""
        return naming.titled(self.parts, self.names)

    def codes(self, attribute: Attribute) -> tuple[int, ...]:
        """The part of each code of the column, from 0 on; "other" and missing, where there are any, are parts
        of their own after the others."""
        place = {part: at for at, part in enumerate(self.parts)}
        beyond = range(len(place), len(place) + attribute.size - attribute.value_count)
        return (*(place[part] for part in self.of), *beyond)

    def check(self, attribute: Attribute | None) -> None:
        """Refuses partitions of another column than this one, and those that leave a value out."""
        if not 0 < len(self.name) <= MAX_NAME_LENGTH:
            raise DomainError(
                "a partition has no short name", repair=_REPAIR, column=self.column
            )
        if (
            attribute is None
            or not attribute.size
            or isinstance(attribute, Undeclared)
            or len(self.of) != attribute.value_count
        ):
            raise DomainError(
                f"the partition {self.name!r} does not cover the declared values",
                repair="name the part of each, and of nothing else",
                column=self.column,
            )
        # A value without a part would drop its records from every count by part.
        if not all(self.of):
            raise DomainError(
                f"a part of {self.name!r} has no name",
                repair="name each part",
                column=self.column,
            )

    def to_json(self, attributes: Sequence[Attribute]) -> dict[str, object]:
        [attribute] = [each for each in attributes if each.name == self.column]
        of = dict(zip(attribute.value_labels, self.of, strict=True))
        return {
            "name": self.name,
            "column": self.column,
            "of": of,
            **({"source": dict(self.source)} if self.source else {}),
            **({"names": dict(self.names)} if self.names else {}),
        }


def check(partitions: Sequence[Partition], by_name: Mapping[str, Attribute]) -> None:
    """Errors: DomainError naming column and partition."""
    for each in partitions:
        each.check(by_name.get(each.column))
    seen = [(each.column, each.name) for each in partitions]
    if len(set(seen)) < len(seen):
        raise DomainError(
            "two partitions of a column have one name", repair="rename one of them"
        )


def parse(
    documents: Sequence[object], attributes: Sequence[Attribute]
) -> tuple[Partition, ...]:
    """Read partitions from JSON. Errors: DomainError naming the column."""
    by_name = {attribute.name: attribute for attribute in attributes}
    return tuple(_partition(document, by_name) for document in documents)


def _partition(document: object, by_name: Mapping[str, Attribute]) -> Partition:
    if not isinstance(document, Mapping) or not isinstance(document.get("of"), Mapping):
        raise DomainError("a partition is no object of values and parts", repair=_REPAIR)
    fields = Fields(document)
    fields.only("name", "column", "of", "source", "names")
    name, column, of = fields.text("name"), fields.text("column"), document["of"]
    labels = by_name[column].value_labels if column in by_name else ()
    if not labels or set(of) != set(labels):
        raise DomainError(
            f"the partition {name!r} does not cover the declared values",
            repair="name the part of each, and of nothing else",
            column=column or None,
        )
    if not all(isinstance(part, str) for part in of.values()):
        raise DomainError(
            f"a part of {name!r} is no text", repair="name each part", column=column
        )
    source = _source(document.get("source"), column=column)
    names = naming.parse(document.get("names"), sorted(set(of.values())), column=column)
    return Partition(
        name=name,
        column=column,
        of=tuple(of[label] for label in labels),
        source=source,
        names=names,
    )


def _source(document: object, *, column: str) -> Source:
    if document is None:
        return ()
    if not isinstance(document, Mapping) or not all(
        key in _SOURCE and isinstance(text, str) for key, text in document.items()
    ):
        raise DomainError(
            "the source of a partition is not understood",
            repair='give "name", "version" and "sha256"',
            column=column,
        )
    return tuple((key, document[key]) for key in _SOURCE if key in document)
