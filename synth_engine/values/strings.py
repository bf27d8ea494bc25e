"""All strings over an alphabet, up to a length: the shortest first, those of one length in the alphabet's
order."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Self

from synth_engine.strict_json import JsonObject
from synth_engine.values.base import (
    MAX_SIZE,
    MAX_TEXT_LENGTH,
    ValueSet,
    checked_size,
    fields,
    refuse,
)

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
"""Of the widest base that whole numbers are read in."""


CASES = ("as it is", "lower", "upper")
ANY_SHORT_TEXT: JsonObject = {
    "set": "strings",
    "alphabet": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -_.,:;/&'()+#",
    "min_length": 1,
    "max_length": 15,
}
"""Every short text, as large as a public set may be: it is the same for all columns, so that it tells nothing
of any."""


class Strings(ValueSet):
    """Every text of min_length to max_length characters of the alphabet. A text of a table is first read by
    the rule for case, and then each character that `replace` names gives way to what stands there, maybe
    nothing; one that has another character still is not in the set."""

    kind: ClassVar[str] = "strings"

    def __init__(
        self,
        alphabet: str,
        min_length: int,
        max_length: int,
        *,
        case: str = CASES[0],
        replace: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        if not alphabet or len(set(alphabet)) < len(alphabet):
            refuse(
                "an alphabet without characters, or with one twice",
                repair="list each character once",
            )
        if not 0 <= min_length <= max_length <= MAX_TEXT_LENGTH:
            refuse(
                "the lengths of strings contradict each other",
                repair=f"0 <= min <= max <= {MAX_TEXT_LENGTH}",
            )
        self.alphabet, self.min_length, self.max_length = alphabet, min_length, max_length
        self.case, self.replace = case, dict(replace)
        self._check_reading()
        self._replaced = str.maketrans(self.replace)
        self._places = {character: place for place, character in enumerate(alphabet)}
        self._digits = (
            str.maketrans(alphabet, DIGITS[: len(alphabet)])
            if len(alphabet) <= len(DIGITS)
            else None
        )
        self._starts = self._counted()
        self.size = checked_size(self._starts[-1])
        self._known = self.characters = frozenset(alphabet)
        self.longest = max_length

    def _check_reading(self) -> None:
        if self.case not in CASES:
            refuse("an unknown rule for case", repair=f"one of {', '.join(CASES)}")
        if self._cased(self.alphabet) != self.alphabet:
            refuse(
                "an alphabet with characters that the rule for case takes away",
                repair="list them as they become",
            )
        if any(
            len(old) != 1 or old in self.alphabet or old != self._cased(old)
            for old in self.replace
        ):
            refuse(
                "what is replaced is not one character each, is in the alphabet, or is taken away by the "
                "rule for case",
                repair='give an object like {"é": "e", "-": ""}, of characters that the alphabet lacks',
            )
        if not set(self.alphabet).issuperset("".join(self.replace.values())):
            refuse(
                "a character is replaced by one that the alphabet lacks",
                repair="add it to the alphabet",
            )

    def _cased(self, text: str) -> str:
        return (
            text.lower()
            if self.case == "lower"
            else text.upper()
            if self.case == "upper"
            else text
        )

    def _counted(self) -> list[int]:
        """The rank at which each length starts, and the size. Ends early where the set is too large
        anyway."""
        starts, total = [], 0
        for length in range(self.min_length, self.max_length + 1):
            starts.append(total)
            total += len(self.alphabet) ** length
            # The powers of a long text would take time, although the set is refused anyway.
            if total > MAX_SIZE:
                break
        return [*starts, total]

    def _read(self, text: str) -> str:
        return text if self.is_exact else self._cased(text).translate(self._replaced)

    def rank(self, text: str) -> int | None:
        text = self._read(text)
        if not self.min_length <= len(text) <= self.max_length or not self._known.issuperset(
            text
        ):
            return None
        # `int` takes no base below 2. An alphabet of one character has the digit 0 alone, so
        # that any base will do.
        if self._digits and text:  # as a number is read, which is quicker
            value = int(text.translate(self._digits), max(2, len(self.alphabet)))
        else:
            value = 0
            for character in text:
                value = value * len(self.alphabet) + self._places[character]
        return self._starts[len(text) - self.min_length] + value

    @property
    def is_exact(self) -> bool:
        return self.case == CASES[0] and not self.replace

    def ranks(self, texts: Sequence[str]) -> list[int | None]:
        """Return the `rank` of each text. Texts whose characters are all known are read as numbers at
        once."""
        read = list(texts) if self.is_exact else [self._read(text) for text in texts]
        whole = "".join(read)
        if self._digits is None or not self._known.issuperset(whole):
            return super().ranks(texts)
        whole, end, ranks = whole.translate(self._digits), 0, list[int | None]()
        base, starts, shortest, longest = (
            max(2, len(self.alphabet)),
            self._starts,
            self.min_length,
            self.max_length,
        )
        for length in map(len, read):
            begin, end = end, end + length
            value = (
                int(whole[begin:end], base) if length and shortest <= length <= longest else 0
            )
            ranks.append(
                starts[length - shortest] + value if shortest <= length <= longest else None
            )
        return ranks

    def unrank(self, rank: int) -> str:
        length, value = self.split(self.in_range(rank))
        characters = []
        for _ in range(length):
            value, place = divmod(value, len(self.alphabet))
            characters.append(self.alphabet[place])
        return "".join(reversed(characters))

    def split(self, rank: int) -> tuple[int, int]:
        """Return how long a text is, and its number among those of that length: to the base of the alphabet,
        the last character counting one."""
        (length,), (value,) = self.splits([rank])
        return length, value

    def splits(self, ranks: Sequence[int]) -> tuple[list[int], list[int]]:
        """Lengths and numbers of many texts."""
        starts, last = self._starts, len(self._starts) - 1
        places = [bisect_right(starts, rank, hi=last) - 1 for rank in ranks]
        values = [rank - starts[place] for rank, place in zip(ranks, places, strict=True)]
        return [self.min_length + place for place in places], values

    def to_json(self) -> JsonObject:
        return {
            "set": self.kind,
            "alphabet": self.alphabet,
            "min_length": self.min_length,
            "max_length": self.max_length,
            **({} if self.case == CASES[0] else {"case": self.case}),
            **({"replace": self.replace} if self.replace else {}),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        reading = {
            name: kind
            for name, kind in {"case": str, "replace": dict}.items()
            if name in document
        }
        given = fields(document, alphabet=str, min_length=int, max_length=int, **reading)
        if not all(isinstance(new, str) for new in given.get("replace", {}).values()):
            refuse(
                "a character is replaced by something that is no text",
                repair='give an object like {"é": "e"}',
            )
        return cls(
            given.pop("alphabet"), given.pop("min_length"), given.pop("max_length"), **given
        )
