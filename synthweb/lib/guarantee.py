"""A guarantee in words that need no training: one scale of words for ε, and what an outsider can guess.

Every page takes its words from here, so that no two of them call the same ε by different words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from synth_engine.privacy.unit import PrivacyUnit, Relation
from synthweb.lib.language import translated

NEARLY_CERTAIN = 99  # of 100 guesses
STRENGTHS = (
    (Fraction(1, 10), gettext_lazy("strict")),
    (Fraction(1), gettext_lazy("careful")),
    (Fraction(3), gettext_lazy("moderate")),
    (Fraction(4), gettext_lazy("lenient")),
)
"""The largest ε that has each word. An outsider who guesses is right 53, 74, 96 and 99 times in 100 at these
ε."""
BEYOND = gettext_lazy("weak")


def strength(epsilon: Fraction) -> str:
    """The word for a privacy loss of `epsilon`."""
    return str(next((word for largest, word in STRENGTHS if epsilon <= largest), BEYOND))


@dataclass(frozen=True, kw_only=True)
class Seal:
    """What stands at the head of a release: a title by the scale of words, and the tone of its colour and
    picture. tone: protected, moderate or weak."""

    title: str
    tone: str


SEALS: dict[Fraction, tuple[str | Promise, str]] = {
    Fraction(1, 10): (gettext_lazy("Protected: strict"), "protected"),
    Fraction(1): (gettext_lazy("Protected: careful"), "protected"),
    Fraction(3): (gettext_lazy("Moderate protection"), "moderate"),
}
"""By the largest ε that has each: green for the first two words of the scale, grey for the third. No other ε
is called protected."""
WEAK = gettext_lazy("Weak protection: decide with your data protection officer")


def seal(epsilon: Fraction) -> Seal:
    """The seal of a release of `epsilon`."""
    title, tone = next(
        (seal for largest, seal in SEALS.items() if epsilon <= largest), (WEAK, "weak")
    )
    return Seal(title=str(title), tone=tone)


def strength_sentence() -> str:
    """The whole scale, for the help beside a field of ε."""
    strict, careful, moderate, lenient = (word for _largest, word in STRENGTHS)
    return _(
        "Smaller protects better and is less accurate. Up to 0.1 is %(strict)s, up to 1 %(careful)s, up to "
        "3 %(moderate)s, up to 4 %(lenient)s; more is %(weak)s."
    ) % {
        "strict": strict,
        "careful": careful,
        "moderate": moderate,
        "lenient": lenient,
        "weak": BEYOND,
    }


def right_guesses(*, epsilon: Fraction, delta: Fraction) -> int:
    """How many of 100 guesses between two equally likely neighbours can be right: at most 100 (e^epsilon +
    delta) / (e^epsilon + 1), rounded up; 50 is a tossed coin."""
    # Equal odds: ½ + ½ TV, where (ε, δ) bounds the total variation distance TV of the outputs
    # by (e^ε − 1 + 2δ) / (e^ε + 1) (Kairouz, Oh and Viswanath 2015). Written with e^−ε, because
    # e^ε overflows for a large ε.
    chance = (1 + float(delta) * math.exp(-float(epsilon))) / (1 + math.exp(-float(epsilon)))
    # A little less before rounding up: 73 that came out as 73.0000000001 is still 73.
    return min(100, math.ceil(100 * chance - 1e-6))


def meaning(
    *, epsilon: Fraction, delta: Fraction, relation: Relation, unit: PrivacyUnit
) -> str:
    """How often an outsider who knows everything else, and guesses between two equally likely tables that
    differ in one record or person, can be right."""
    whom = translated(unit.sentence().partition(",")[0])
    added = relation is Relation.ADD_REMOVE
    guess = (
        _("whether %(whom)s is in the table")
        if added
        else _("which of two versions of %(whom)s is in the table")
    ) % {"whom": whom}
    right = right_guesses(epsilon=epsilon, delta=delta)
    sentence = (
        _(
            "An outsider who knows everything else and has to guess %(guess)s can be right nearly always. "
            "This is a weak guarantee."
        )
        if right > NEARLY_CERTAIN
        else _(
            "An outsider who knows everything else and has to guess %(guess)s is right at most %(right)s "
            "times in 100; tossing a coin is right 50 times."
        )
    )
    return sentence % {"guess": guess, "right": right}
