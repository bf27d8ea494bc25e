"""One of countably many parts, by the place of a uniform number among their cumulated chances: exactly, from
random bits.

The uniform number has endless digits, of which the first word is drawn. A part is chosen by it if no
cumulated chance lies in the interval that the word leaves; else further digits of the same number are drawn
until that is so. Chances are enclosed between whole numbers; no step uses a float
(docs/proofs/discrete-laplace.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from synth_engine.jit import compiled
from synth_engine.privacy.tails import Interval

Words = npt.NDArray[np.uint64]
Parts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Source = Callable[[int, int], Words]
"""(number, width): so many independent uniform whole numbers below 2^width."""
Steps = Callable[[int], Iterator[Interval]]
"""(bits): the chances of at most k, for k = 0, 1, …, enclosed in units of 2^-bits or finer; endless, or up to
1 itself."""

GUARD = 64
"""Additional bits of a chance, beyond those that a decision needs."""
_GUIDE = 10
"""The number of leading bits of a word that index the table of first guesses."""


class InverseCDF:
    """A table of parts by their cumulated chances, which is cached for every width of words."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._known: dict[int, tuple[Interval, ...]] = {}
        self._words: dict[int, Words] = {}
        self._guides: dict[int, Parts] = {}

    def of_words(self, words: Words, bits: int) -> tuple[Parts, Flags]:
        """The part that each word of `bits` bits selects, and whether all numbers that begin with the word
        select the same."""
        first = self.first_words(bits)
        if first.size == 1:
            return (words > first[0]).astype(np.int64), words != first[0]
        shift = np.uint64(max(bits - _GUIDE, 0))
        result: tuple[Parts, Flags] = _look_up(first, self._guide(bits), words, shift)
        return result

    def prepare(self, bits: int) -> None:
        """Compute the table of words of so many bits. It draws nothing."""
        self.first_words(bits)
        self._guide(bits)

    def _guide(self, bits: int) -> Parts:
        if bits not in self._guides:
            shift = np.uint64(max(bits - _GUIDE, 0))
            leading = np.arange(1 << min(bits, _GUIDE), dtype=np.uint64)
            self._guides[bits] = np.searchsorted(self.first_words(bits), leading << shift)
        return self._guides[bits]

    def first_words(self, bits: int) -> Words:
        """The words in which the cumulated chances lie, and last the one in which all further ones do;
        without 1 itself."""
        if bits not in self._words:
            words: list[int] = []
            for step in self.steps(bits + GUARD):
                if step.low == 1 << step.bits:
                    break
                below, above = (
                    min(end >> step.bits - bits, 2**bits - 1) for end in (step.low, step.high)
                )
                # A wrong word would be another law than the proved one.
                if below != above:
                    raise ArithmeticError("too few digits of a chance")
                words.append(below)
                if below == 2**bits - 1:
                    break
            self._words[bits] = np.array(words, dtype=np.uint64)
        return self._words[bits]

    def steps(self, bits: int) -> tuple[Interval, ...]:
        """Cumulated chances until 1, or until so little is left that bits do not tell it from nothing."""
        if bits not in self._known:
            known: list[Interval] = []
            for step in self._steps(bits):
                known.append(step)
                if step.low >= (1 << step.bits) - (1 << step.bits - bits + 2):
                    break
            self._known[bits] = tuple(known)
        return self._known[bits]

    def resolve(self, word: int, length: int, *, source: Source, more: int) -> int:
        """The part of a number that begins with this word of `length` bits; further digits are drawn as they
        are needed."""
        while True:
            steps = self.steps(length + GUARD)
            for part, step in enumerate(steps):
                shift = step.bits - length
                if word << shift < step.high:
                    if word + 1 << shift <= step.low:
                        return part
                    break
            # The same number with more digits: a new number would change the law.
            word, length = word << more | int(source(1, more)[0]), length + more


@compiled
def _look_up(first: Words, guide: Parts, words: Words, shift: np.uint64) -> tuple[Parts, Flags]:
    """`np.searchsorted(first, words)` from the guess of the guide, and whether no chance lies in the interval
    of the word."""
    parts, sure = np.empty(words.size, dtype=np.int64), np.ones(words.size, dtype=np.bool_)
    for at in range(words.size):
        word = words[at]
        part = guide[min(word >> shift, np.uint64(guide.size - 1))]
        while part < first.size and first[part] < word:
            part += 1
        if part < first.size and first[part] == word:
            sure[at] = False
        parts[at] = part
    return parts, sure
