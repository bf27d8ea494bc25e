"""Sets made of sets: every combination of one text each, and one set or another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any, ClassVar, Self

from synth_engine.strict_json import JsonObject
from synth_engine.values.base import ValueSet, checked_size, fields, refuse

MAX_PARTS = 20
SMALL = 1_000_000
"""A set of so many texts can be looked through."""
MAX_COMPARED = 400_000
"""Texts of a union that are looked up in its other parts, over all pairs of parts: a few seconds."""


class ProductSet(ValueSet):
    """The combinations of one text of each part, with a separator between them. The separator has a character
    that no part but the last has, so that a text falls apart in one way only."""

    kind: ClassVar[str] = "product"

    def __init__(self, parts: Sequence[ValueSet], separator: str) -> None:
        self.parts, self.separator = tuple(parts), separator
        if not 1 <= len(self.parts) <= MAX_PARTS:
            refuse(
                "a product of no parts, or of too many", repair=f"give 1 to {MAX_PARTS} parts"
            )
        if len(self.parts) > 1 and not any(self._is_mark(character) for character in separator):
            refuse(
                "the separator may also stand inside a part",
                repair="use one that no part contains",
            )
        self.size = checked_size(prod(part.size for part in self.parts))
        self.longest = sum(part.longest for part in self.parts) + len(separator) * (
            len(self.parts) - 1
        )
        known = [part.characters for part in self.parts]
        self.characters = (
            None
            if None in known
            else frozenset(separator).union(*(characters or () for characters in known))
        )

    def _is_mark(self, character: str) -> bool:
        return all(
            part.characters is not None and character not in part.characters
            for part in self.parts[:-1]
        )

    def rank(self, text: str) -> int | None:
        pieces = (
            text.split(self.separator, len(self.parts) - 1) if len(self.parts) > 1 else [text]
        )
        if len(pieces) != len(self.parts):
            return None
        rank = 0
        # Mixed radix: each part is a digit to the base of its size, the last one counting one.
        for part, piece in zip(self.parts, pieces, strict=True):
            part_rank = part.rank(piece)
            if part_rank is None:
                return None
            rank = rank * part.size + part_rank
        return rank

    def unrank(self, rank: int) -> str:
        rank, pieces = self.in_range(rank), []
        for part in reversed(self.parts):
            rank, place = divmod(rank, part.size)
            pieces.append(part.unrank(place))
        return self.separator.join(reversed(pieces))

    @property
    def is_exact(self) -> bool:
        return all(part.is_exact for part in self.parts)

    @cached_property
    def reader(self) -> ValueSet:
        readers = _readers(self.parts)
        return self if readers == self.parts else ProductSet(readers, self.separator)

    def to_json(self) -> JsonObject:
        return {
            "set": self.kind,
            "parts": [part.to_json() for part in self.parts],
            "separator": self.separator,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        given = fields(document, parts=list, separator=str)
        return cls(list(_read(given["parts"])), given["separator"])


class Union(ValueSet):
    """The texts that are in one of the parts, in their order. A text of several parts counts once, where it
    comes first; all parts but one must be small enough to be looked through."""

    kind: ClassVar[str] = "union"

    def __init__(self, parts: Sequence[ValueSet]) -> None:
        self.parts = tuple(parts)
        if not 1 <= len(self.parts) <= MAX_PARTS:
            refuse("a union of no parts, or of too many", repair=f"give 1 to {MAX_PARTS} parts")
        large = [part for part in self.parts if part.size > SMALL]
        if len(large) > 1:
            refuse(
                f"a union of two sets of more than {SMALL:,} values",
                repair="describe both by one pattern",
            )
        sizes = sorted(part.size for part in self.parts)
        if (
            sum(size * (len(sizes) - place) for place, size in enumerate(sizes, start=1))
            > MAX_COMPARED
        ):
            refuse(
                "a union of too many values to find those that its parts share",
                repair="use fewer or smaller parts",
            )
        self._gone = [self._repeated(place) for place in range(len(self.parts))]
        left = [
            part.size - len(gone) for part, gone in zip(self.parts, self._gone, strict=True)
        ]
        self._starts = [0, *accumulate(left)]
        self.size = checked_size(self._starts[-1])
        self.longest = max(part.longest for part in self.parts)
        known = [part.characters for part in self.parts]
        self.characters = (
            None
            if None in known
            else frozenset().union(*(characters or () for characters in known))
        )

    def _repeated(self, place: int) -> list[int]:
        """The ranks within a part whose texts an earlier part has, sorted."""
        part, repeated = self.parts[place], set[int]()
        for other in self.parts[:place]:
            # The smaller of the two is looked through, which bounds the work by MAX_COMPARED.
            if part.size <= other.size:
                repeated.update(
                    rank
                    for rank in range(part.size)
                    if _canonical(other, part.unrank(rank)) is not None
                )
            else:
                texts = map(other.unrank, range(other.size))
                repeated.update(
                    rank for text in texts if (rank := _canonical(part, text)) is not None
                )
        return sorted(repeated)

    def rank(self, text: str) -> int | None:
        """Another spelling counts as the text that the first part which knows it makes of it."""
        part_rank = self._exact(text)
        if part_rank is not None:
            return part_rank
        known = next((part for part in self.parts if part.rank(text) is not None), None)
        return None if known is None else self._exact(known.unrank(known.rank(text) or 0))

    def _exact(self, text: str) -> int | None:
        """The number of a text that one of the parts spells in this very way."""
        for part, gone, start in zip(self.parts, self._gone, self._starts, strict=False):
            canonical = _canonical(part, text)
            if canonical is not None:
                return start + canonical - sum(other < canonical for other in gone)
        return None

    def unrank(self, rank: int) -> str:
        rank = self.in_range(rank)
        place = sum(rank >= start for start in self._starts[1:])
        rest = rank - self._starts[place]
        # Ranks that belong to an earlier part are skipped. They are sorted, so that each skip
        # is made before the next rank is compared.
        for other in self._gone[place]:
            rest += other <= rest
        return self.parts[place].unrank(rest)

    @property
    def is_exact(self) -> bool:
        return all(part.is_exact for part in self.parts)

    @cached_property
    def reader(self) -> ValueSet:
        readers = _readers(self.parts)
        return self if readers == self.parts else Union(readers)

    def to_json(self) -> JsonObject:
        return {"set": self.kind, "parts": [part.to_json() for part in self.parts]}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        return cls(list(_read(fields(document, parts=list)["parts"])))


def _readers(parts: Sequence[ValueSet]) -> tuple[ValueSet, ...]:
    return tuple(part.reader for part in parts)


def _canonical(part: ValueSet, text: str) -> int | None:
    """The number of a text that the part spells in this very way."""
    rank = part.rank(text)
    return rank if rank is not None and part.unrank(rank) == text else None


def _read(documents: Sequence[Any]) -> Iterator[ValueSet]:
    from synth_engine import values

    return (values.from_json(document) for document in documents)
