"""A public set of texts that is too large to be listed, or not worth listing: every text of it has a rank.

Texts are numbered 0 … size-1 in an order that is public and never changes, so that a set of 2²⁵⁶ texts can be
counted, drawn from and written down in a few bytes. A set knows nothing of any table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NoReturn, Self

from synth_engine.errors import DomainError
from synth_engine.strict_json import JsonObject

MAX_SIZE = 2**256
"""Texts in one set: those of 38 characters out of 20 are 2.9 · 10⁴⁹. All arithmetic on sizes and ranks is
exact; the bound limits how long it takes, and what a verifier has to multiply."""
MAX_TEXT_LENGTH = 1_000
"""Characters in one text."""


class ValueSet(ABC):
    """A finite set of texts with a public order.

    Subclasses set `size` (how many texts), `longest` (characters of the longest) and `characters` (a superset
    of the characters that occur, None where that is not worth knowing).
    """

    kind: ClassVar[str]
    size: int
    longest: int
    characters: frozenset[str] | None

    @abstractmethod
    def rank(self, text: str) -> int | None:
        """The number of a text, None if it is not in the set. Several spellings of one value share its
        number."""

    def ranks(self, texts: Sequence[str]) -> list[int | None]:
        """The numbers of many texts."""
        return [self.rank(text) for text in texts]

    @abstractmethod
    def unrank(self, rank: int) -> str:
        """The text of a number, spelled the one canonical way. Errors: IndexError outside 0 … size-1."""

    @property
    @abstractmethod
    def is_exact(self) -> bool:
        """Whether every text of the set is spelled in one way only, so that no other text has its number."""

    @cached_property
    def reader(self) -> ValueSet:
        """The set in the form that a release stores to read texts by: every text has the same number,
        whatever becomes of a list that a library keeps."""
        return self

    @abstractmethod
    def to_json(self) -> JsonObject:
        """Return the document that `from_json` reads."""

    @classmethod
    @abstractmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        """Errors: DomainError."""

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and self.rank(text) is not None

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, ValueSet) and self.to_json() == other.to_json()
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.size))

    def __len__(self) -> NoReturn:
        raise TypeError("a value set may be larger than len() can say; use size")

    def sample(self, count: int, *, below: Callable[[int], int]) -> list[str]:
        """`count` texts, uniform and independent; `below(n)` gives a uniform whole number from 0 to n-1."""
        return [self.unrank(below(self.size)) for _ in range(count)]

    def in_range(self, rank: int) -> int:
        """The rank itself. Errors: IndexError outside the set."""
        if not 0 <= rank < self.size:
            raise IndexError("there is no text of this rank")
        return rank


def refuse(rule: str, *, repair: str) -> NoReturn:
    """Raise DomainError for a set that cannot be."""
    raise DomainError(rule, repair=repair)


def checked_size(size: int) -> int:
    """Errors: DomainError for an empty set and for one that is too large."""
    if size < 1:
        refuse("an empty set of values", repair="declare a set with at least one value")
    if size > MAX_SIZE:
        refuse(
            "a set of more than 2^256 values",
            repair="declare shorter texts or a narrower range",
        )
    return size


def fields(document: Mapping[str, Any], **expected: type | tuple[type, ...]) -> dict[str, Any]:
    """The named fields of a document of a set, with no others. Errors: DomainError."""
    unknown = set(document) - set(expected) - {"set", "size"}
    if unknown:
        refuse(
            "a set of values has an unknown field",
            repair=f"known are {', '.join(['set', *expected])}",
        )
    known = {}
    for name, kind in expected.items():
        value = document.get(name)
        # `bool` is a subclass of `int`: true must not pass for 1.
        if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
            refuse(
                f"{name} of a set of values is missing or of another type",
                repair="see docs/domain.md",
            )
        known[name] = value
    return known
