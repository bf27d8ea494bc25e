"""What `auto` is about to ask: questions for tables, and what they cost together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from synth_engine.inference.allocation import Choice
from synth_engine.measurement import Noise, Scores
from synth_engine.mechanisms.auto.group_tables import Group
from synth_engine.mechanisms.auto.selection import Floats, Pair


@dataclass(frozen=True, kw_only=True)
class TableQuestion:
    """A table to be measured: a pair, a triple, or one column again.

    axes: its attributes; levels: the resolution of each; noise: of each count; interaction: whether the
    interaction is asked for instead of all counts; part: its share of the budget of its stage."""

    axes: tuple[int, ...]
    levels: tuple[int, ...]
    noise: Noise
    interaction: bool
    part: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Tables that are asked together. price: what they cost; error: their predicted error in records,
    weighted by the workload."""

    questions: Sequence[TableQuestion]
    price: Fraction
    error: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredPairs:
    """Pairs with a score each. price: of selecting them; selected: whether they are a tree that was selected,
    or all pairs."""

    price: Fraction
    pairs: Sequence[Pair]
    scores: Scores
    selected: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredGroups:
    """Selected groups of four columns and more. price: of selecting and scoring them; distances: what only
    the whole group shows, in L1, as shares of the records."""

    price: Fraction
    groups: Sequence[Group]
    distances: Floats


@dataclass(frozen=True, kw_only=True)
class Division:
    """The triples and larger groups to be measured, and what they cost together."""

    price: Fraction
    choices: Sequence[Choice]

    @property
    def gain(self) -> float:
        """The predicted gain of all of them, in records times their weights."""
        return sum(choice.gain for choice in self.choices)
