"""One hundred outsiders who guess about one person, as a picture: how many of them can be right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

COIN = 50  # of 100 guesses that are right by chance
IN_A_ROW, STEP = 20, 18  # of the picture: people, and units from one to the next
Guess = Literal["chance", "gained", "wrong"]


@dataclass(frozen=True, kw_only=True)
class PersonMark:
    """One of the hundred people of the picture, in its units."""

    x: int
    y: int
    guess: Guess


@dataclass(frozen=True, kw_only=True)
class HundredGuesses:
    """right: how many of 100 guesses can be right (`guarantee.right_guesses`)."""

    right: int

    @property
    def gained(self) -> int:
        """How many more than by chance."""
        return self.right - COIN

    @property
    def wrong(self) -> int:
        return 100 - self.right

    @property
    def people(self) -> list[PersonMark]:
        """The marks of the picture, those who are right by chance first."""
        return [
            PersonMark(
                x=STEP * (number % IN_A_ROW),
                y=STEP * (number // IN_A_ROW),
                guess=self._guess(number),
            )
            for number in range(100)
        ]

    def _guess(self, number: int) -> Guess:
        if number < COIN:
            return "chance"
        return "gained" if number < self.right else "wrong"
