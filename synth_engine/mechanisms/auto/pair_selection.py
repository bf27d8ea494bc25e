"""A tree of pairs that is selected edge by edge, where noise on the scores of all pairs would hide every
relation.

One record may move all scores at once, so their noise grows with the root of the number of pairs. A selection
moves by one score, however many candidates it has. Where few records or many columns leave nothing of the
scores, a maximum spanning tree is therefore selected as Kruskal's algorithm finds it, and only its pairs are
scored and measured; the tree predicts all others. Everything here is a function of public facts and of paid
answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from synth_engine.measurement import Noise, Session
from synth_engine.measurement.replay import Replay
from synth_engine.mechanisms.auto.selection import Columns, Pair, distance_by_chance
from synth_engine.mechanisms.pairwise import pairs as of_pairs

SELECTING_SHARE = Fraction(10, 100)
SCORING_SHARE = Fraction(2, 100)
"""Shares of the budget: for selecting the tree, and for scoring its pairs."""
LEAST_FOR_PAIRS = 2 * (SELECTING_SHARE + SCORING_SHARE)
"""What columns have to leave of the budget for a tree, so that half of it goes to its tables."""
MAX_SCORE_NOISE = 0.2
"""Largest standard deviation of the noise of a score, as a share of the records, with which all pairs are
scored."""


def edges(columns: Columns, pairs: Sequence[Pair]) -> int:
    """Return how many pairs a spanning forest of these pairs has; that does not depend on which are taken
    first."""
    forest = of_pairs.Forest(columns.domain.names)
    for pair in pairs:
        if forest.connects(columns.clique(pair)):
            forest.take(columns.clique(pair))
    return len(forest.taken)


def is_needed(columns: Columns, pairs: Sequence[Pair], scores: Noise) -> bool:
    """Return whether a tree is selected instead of scoring all pairs: where this noise of their scores is too
    large for the number of records, which is public or paid for, and where a tree leaves pairs out."""
    noisy = math.sqrt(scores.variance) > MAX_SCORE_NOISE * columns.total
    return noisy and edges(columns, pairs) < len(pairs)


def select(
    session: Session, columns: Columns, pairs: Sequence[Pair], *, scale: Fraction
) -> list[Pair]:
    """Select a spanning forest, the pairs farthest from independence first. The penalty is the distance by
    chance."""
    left = {
        pair: replace(
            candidate, penalty=round(distance_by_chance(candidate.reference.astype(float)))
        )
        for pair, candidate in zip(pairs, columns.candidates(pairs), strict=True)
    }
    forest = of_pairs.Forest(columns.domain.names)
    chosen = []
    while left := {
        pair: candidate for pair, candidate in left.items() if forest.connects(candidate.clique)
    }:
        place = session.select(list(left.values()), scale=scale)
        chosen.append(list(left)[place])
        forest.take(columns.clique(chosen[-1]))
    return sorted(chosen)


def read(given: Replay, columns: Columns, pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that the next answers select; all pairs where none comes. Errors: InputError for
    selections that are no spanning forest of these pairs."""
    taken = of_pairs.read_forest(given, columns.domain.names)
    if not taken:
        return list(pairs)
    names = {columns.clique(pair): pair for pair in pairs}
    given.require(set(taken) <= set(names) and len(taken) == edges(columns, pairs))
    return sorted(names[clique] for clique in taken)
