"""A guarantee in words that need no training."""

from __future__ import annotations

import math
from fractions import Fraction

from synth_engine.privacy.unit import PrivacyUnit, Relation

NEARLY_CERTAIN = 99  # of 100 guesses


def meaning(
    *, epsilon: Fraction, delta: Fraction, relation: Relation, unit: PrivacyUnit
) -> str:
    """How often an outsider who knows everything else, and guesses between two equally likely tables that differ in
    one record or person, can be right: at most (e^epsilon + delta) / (e^epsilon + 1), rounded up."""
    whom = unit.sentence().partition(",")[0]
    added = relation is Relation.ADD_REMOVE
    guess = (
        f"whether {whom} is in the table"
        if added
        else f"which of two versions of {whom} is in the table"
    )
    outsider = f"An outsider who knows everything else and has to guess {guess}"
    # Equal odds: ½ + ½ TV, where (ε, δ) bounds the total variation distance TV of the outputs
    # by (e^ε − 1 + 2δ) / (e^ε + 1) (Kairouz, Oh and Viswanath 2015). Written with e^−ε, because
    # e^ε overflows for a large ε.
    chance = (1 + float(delta) * math.exp(-float(epsilon))) / (1 + math.exp(-float(epsilon)))
    # A little less before rounding up: 73 that came out as 73.0000000001 is still 73.
    right = min(100, math.ceil(100 * chance - 1e-6))
    if right > NEARLY_CERTAIN:
        return f"{outsider} can be right nearly always. This is a weak guarantee."
    return (
        f"{outsider} is right at most {right} times in 100; tossing a coin is right 50 times."
    )
