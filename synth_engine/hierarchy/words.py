"""Texts over a declared alphabet, character by character, with an end that has no children."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy.base import MAX_SYMBOLS, Codes, PathHierarchy, Prefixes
from synth_engine.strict_json import JsonObject

MAX_STRING_LENGTH = 1_000
Case = Literal["as it is", "lower", "upper"]


@dataclass(frozen=True, kw_only=True)
class StringHierarchy(PathHierarchy):
    """Texts of `shortest` to `longest` characters of the alphabet. Symbol 0 is the end, symbol i the
    i-th character. `case`: the change of case before a text is read."""

    kind: ClassVar[str] = "words"
    is_uniform: ClassVar[bool] = True
    component_offset: ClassVar[int] = 1

    alphabet: str
    longest: int
    shortest: int = 0
    case: Case = "as it is"

    def __post_init__(self) -> None:
        if len(self.columns) != 1:
            self.refuse("texts of more than one column", repair="name one")
        if not self.alphabet or len(set(self.alphabet)) != len(self.alphabet):
            self.refuse(
                "an alphabet that is empty or has a sign twice", repair="list each sign once"
            )
        if len(self.alphabet) > MAX_SYMBOLS:
            self.refuse(
                f"an alphabet of more than {MAX_SYMBOLS} signs",
                repair="leave the rare ones out",
            )
        if type(self.longest) is not int or type(self.shortest) is not int:
            self.refuse("a length that is no whole number", repair="give shortest and longest")
        if not 0 <= self.shortest <= self.longest <= MAX_STRING_LENGTH or self.longest < 1:
            self.refuse(
                "lengths that contradict each other",
                repair=f"0 <= shortest <= longest <= {MAX_STRING_LENGTH}",
            )
        if self.case not in get_args(Case):
            self.refuse(
                "an unknown rule for case", repair=f"one of {', '.join(get_args(Case))}"
            )
        # Such a character could not occur in any text, and its child would be a node without
        # records.
        if self._cased(self.alphabet) != self.alphabet:
            self.refuse(
                "an alphabet with signs that the rule for case takes away",
                repair="list them as they become",
            )

    def require_component(self) -> None:
        if len(self.alphabet) >= MAX_SYMBOLS:
            self.refuse(
                f"an alphabet of {MAX_SYMBOLS} signs beside other columns",
                repair="leave the rare ones out",
            )

    @property
    def max_branching(self) -> int:
        return max(self.branching(min(2, self.depth)))

    @property
    def depth(self) -> int:
        return self.longest

    def symbols(self, level: int) -> npt.NDArray[np.int64]:
        # Symbol 0 ends a text: it is offered only where a text of this length is allowed.
        return np.arange(0 if level >= self.shortest else 1, len(self.alphabet) + 1)

    def opens(self, level: int) -> npt.NDArray[np.bool_]:
        return (self.symbols(level) > 0) & (level + 1 < self.depth)

    def exists(self, prefixes: Prefixes, level: int) -> npt.NDArray[np.bool_]:
        """Returns which nodes exist: nothing but its end follows the end of a text, and none
        ends too early."""
        if level == 0:
            return super().exists(prefixes, level)
        signs = self.path(prefixes)
        last = signs[..., level - 1]
        goes_on = (
            last <= len(self.alphabet)
            if level == 1
            else (last <= len(self.alphabet)) & (signs[..., level - 2] > 0)
        )
        # An end at this depth makes a text of `level` - 1 characters, so `shortest` of them are
        # reached.
        present: npt.NDArray[np.bool_] = np.where(last > 0, goes_on, level > self.shortest)
        return present

    def divides(self, prefixes: Prefixes, level: int) -> npt.NDArray[np.bool_]:
        if level in (0, self.depth):
            return np.full(np.shape(prefixes), level < self.depth)
        goes_on: npt.NDArray[np.bool_] = self.path(prefixes)[..., level - 1] > 0
        return goes_on

    def member(self, text: str) -> bool:
        """Returns whether a text is one of these, after the rule for case."""
        text = self._cased(text)
        return self.shortest <= len(text) <= self.longest and set(self.alphabet) >= set(text)

    def encode(self, texts: Sequence[str]) -> Codes:
        """Errors: DomainError for a text that is too long or short, or has another character."""
        places = {sign: place for place, sign in enumerate(self.alphabet, start=1)}
        symbols = np.zeros((len(texts), self.width), dtype=np.uint8)
        for row, text in enumerate(texts):
            cased = self._cased(text)
            if not self.shortest <= len(cased) <= self.longest:
                self.refuse(
                    "a text that is longer or shorter than declared",
                    repair="declare other lengths",
                )
            if any(sign not in places for sign in cased):
                self.refuse(
                    "a text with a sign that is not in the alphabet",
                    repair="add it, or leave such records out",
                )
            symbols[row, : len(cased)] = [places[sign] for sign in cased]
        return self.code(symbols)

    def decode(self, codes: Codes) -> list[str]:
        """Returns the texts of codes, or the prefixes that nodes are."""
        signs = np.array(["", *self.alphabet])
        # A row of single characters is the text itself, with a NUL where a character is missing.
        texts = signs[self.path(codes)].view(f"U{self.width}")[..., 0]
        return [text.replace("\0", "") for text in texts.tolist()]

    def bounds(self, prefixes: Prefixes, level: int) -> tuple[list[str], list[str]]:
        """The first and the last text below nodes of that depth, in the order of the alphabet; the last one
        of the longest."""
        last = self.path(prefixes).copy()
        ended = (last[:, level - 1] == 0) if level else np.zeros(len(last), dtype=np.bool_)
        last[~ended, level:] = len(self.alphabet)
        return self.decode(prefixes), self.decode(self.code(last))

    def _cased(self, text: str) -> str:
        return {"lower": str.lower, "upper": str.upper}.get(self.case, str)(text)

    def to_json(self) -> JsonObject:
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "alphabet": self.alphabet,
            "shortest": self.shortest,
            "longest": self.longest,
            "case": self.case,
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> StringHierarchy:
        """Reads what `to_json` wrote. Errors: KeyError, TypeError, DomainError."""
        facts = {key: value for key, value in obj.items() if key not in ("kind", "columns")}
        return cls(columns=tuple(obj["columns"]), **facts)
