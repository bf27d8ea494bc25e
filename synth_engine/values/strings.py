"""All strings over an alphabet, up to a length: the shortest first, those of one length in the alphabet's order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from synth_engine.values.base import LARGEST, LONGEST, ValueSet, checked_size, fields, refuse


class Strings(ValueSet):
    """Every text of min_length to max_length characters of the alphabet."""

    kind: ClassVar[str] = "strings"

    def __init__(self, alphabet: str, min_length: int, max_length: int) -> None:
        if not alphabet or len(set(alphabet)) < len(alphabet):
            refuse("an alphabet without characters, or with one twice", repair="list each character once")
        if not 0 <= min_length <= max_length <= LONGEST:
            refuse("the lengths of strings contradict each other", repair=f"0 <= min <= max <= {LONGEST}")
        self.alphabet, self.min_length, self.max_length = alphabet, min_length, max_length
        self._places = {character: place for place, character in enumerate(alphabet)}
        self._starts = self._counted()
        self.size = checked_size(self._starts[-1])
        self.longest, self.characters = max_length, frozenset(alphabet)

    def _counted(self) -> list[int]:
        """The rank at which each length starts, and the size. Ends early where the set is too large anyway."""
        starts, total = [], 0
        for length in range(self.min_length, self.max_length + 1):
            starts.append(total)
            total += len(self.alphabet) ** length
            if total > LARGEST:
                break
        return [*starts, total]

    def rank(self, text: str) -> int | None:
        if not self.min_length <= len(text) <= self.max_length or not self._places.keys() >= set(text):
            return None
        value = 0
        for character in text:
            value = value * len(self.alphabet) + self._places[character]
        return self._starts[len(text) - self.min_length] + value

    def unrank(self, rank: int) -> str:
        rank = self.in_range(rank)
        length = self.min_length + sum(rank >= start for start in self._starts[1:])
        value = rank - self._starts[length - self.min_length]
        characters = []
        for _ in range(length):
            value, place = divmod(value, len(self.alphabet))
            characters.append(self.alphabet[place])
        return "".join(reversed(characters))

    def to_json(self) -> dict[str, Any]:
        return {
            "set": self.kind,
            "alphabet": self.alphabet,
            "min_length": self.min_length,
            "max_length": self.max_length,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        return cls(**fields(document, alphabet=str, min_length=int, max_length=int))
