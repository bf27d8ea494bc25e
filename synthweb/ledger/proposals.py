"""What to ask for, from what a steward plans: how often tables are published, and who reads them.

ε follows from the readers, the rule from the number of releases, and δ from both: it pays for every planned
release, and stays far below one over the number of records.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from django.utils.translation import gettext as _

from synth_engine.privacy import conversion
from synthweb.ledger.amounts import ATTO, NANO, short_text
from synthweb.ledger.models import BudgetRequest, Rule
from synthweb.lib import guarantee
from synthweb.lib.language import written_number
from synthweb.lib.number_format import delta as delta_text

Readers = BudgetRequest.Readers
Rhythm = BudgetRequest.Rhythm

DELTA_OF_A_RELEASE = ATTO // 10**9
"""1e-9: what the form of a new release begins with."""
YEARS = 3
MAX_YEARS = 50
MAX_PLANNED_RELEASES = 1000
PEOPLE_TO_ONE = 100
"""The δ of all releases together stays this many times below one over the number of records, where that is
public."""
MOST_UNDER_BASIC = 3
"""Releases whose losses may simply be added; the losses of more add up more slowly under zCDP."""
PER_YEAR = {Rhythm.ONCE: 0, Rhythm.YEARLY: 1, Rhythm.QUARTERLY: 4, Rhythm.MONTHLY: 12}
EPSILON = {Readers.PUBLIC: NANO, Readers.NAMED: 2 * NANO, Readers.INSIDE: 3 * NANO}
"""The ε of all releases together: what is public is read by everybody, with every means, for ever."""


def delta_for(releases: int, *, records: int | None = None) -> int:
    """The δ for so many releases, in the ledger's steps of 1e-18. records: their public number, if it is
    public."""
    # A delta of one over the number of records would allow publishing one of them as it is.
    planned = releases * DELTA_OF_A_RELEASE
    return planned if not records else min(planned, ATTO // (PEOPLE_TO_ONE * records))


def releases_for(rhythm: str, *, years: int) -> int:
    """How many releases are made in so many years."""
    return min(MAX_PLANNED_RELEASES, max(1, PER_YEAR[Rhythm(rhythm)] * years))


@dataclass(frozen=True, kw_only=True)
class BudgetProposal:
    """What follows from a steward's answers, in the ledger's integers, and why. why_…: a sentence each. Under
    zCDP, delta is that at which the account's ρ is worth epsilon."""

    epsilon: int
    delta: int
    rule: str
    releases: int
    why_epsilon: str
    why_delta: str
    why_rule: str


def propose(
    *, readers: str, releases: int, rule: str = "", records: int | None = None
) -> BudgetProposal:
    """What to ask for. rule: of the account that is to pay, if there is one. records: their public number, if
    it is public."""
    chosen = rule or (Rule.BASIC if releases <= MOST_UNDER_BASIC else Rule.ZCDP)
    epsilon = EPSILON[Readers(readers)]
    delta = delta_for(releases if chosen == Rule.BASIC else 1, records=records)
    return BudgetProposal(
        epsilon=epsilon,
        delta=delta,
        rule=chosen,
        releases=releases,
        why_epsilon=_why_epsilon(Readers(readers), epsilon),
        why_delta=_why_delta(chosen, delta=delta, releases=releases),
        why_rule=_why_rule(chosen, epsilon=epsilon, delta=delta, releases=releases),
    )


def epsilon_of_a_release(*, rule: str, epsilon: int, delta: int, releases: int) -> Fraction:
    """What each of `releases` equal releases may take of a budget; under zCDP at this δ, rounded down to
    1e-6."""
    whole = Fraction(epsilon, NANO)
    if rule == Rule.BASIC:
        return whole / releases
    at = Fraction(delta, ATTO)
    each = conversion.epsilon_for(conversion.rho_for(whole, at) / releases, at)
    return Fraction(int(each * 10**6), 10**6)


def _why_epsilon(readers: Readers, epsilon: int) -> str:
    right = guarantee.right_guesses(epsilon=Fraction(epsilon, NANO), delta=Fraction(0))
    why = {
        Readers.PUBLIC: _("What is public is read by everybody, so the limit is narrow"),
        Readers.NAMED: _("Named analysts have agreed to terms, so the limit may be wider"),
        Readers.INSIDE: _("Nobody outside reads the tables, so the limit may be wider still"),
    }[readers]
    return _(
        "%(why)s: whoever guesses about one of the people is right at most %(right)s times in 100. This is "
        "%(strength)s."
    ) % {"why": why, "right": right, "strength": guarantee.strength(Fraction(epsilon, NANO))}


def _why_delta(rule: str, *, delta: int, releases: int) -> str:
    amount = delta_text(Fraction(delta, ATTO))
    if rule == Rule.ZCDP:
        return _(
            "δ %(delta)s is the chance that the guarantee fails, for all releases together; none of them "
            "uses it up."
        ) % {"delta": amount}
    return _(
        "δ is the chance that the guarantee fails. %(each)s for each planned release (%(releases)s) is "
        "enough for the last of them."
    ) % {"each": delta_text(Fraction(delta, ATTO * releases)), "releases": releases}


def _why_rule(rule: str, *, epsilon: int, delta: int, releases: int) -> str:
    each = epsilon_of_a_release(rule=rule, epsilon=epsilon, delta=delta, releases=releases)
    facts = {"releases": releases, "each": written_number(f"{float(each):.2g}")}
    if rule == Rule.ZCDP:
        added = short_text("epsilon", epsilon // releases)
        return _(
            "With many releases (%(releases)s) zCDP adds losses up more slowly: each can take ε %(each)s, "
            "instead of %(added)s."
        ) % {**facts, "added": written_number(f"{float(added):.2g}")}
    if releases == 1:
        return _("One release takes all of it, and nothing needs to be added up.")
    return (
        _(
            "The losses of a few releases (%(releases)s) are simply added: each can take ε %(each)s."
        )
        % facts
    )
