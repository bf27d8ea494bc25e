"""What a grant means for the people in the table, in words and as a picture: what a custodian sees before granting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Literal

from synthweb.datasets.models import Dataset
from synthweb.ledger import selectors
from synthweb.ledger.amounts import ATTO, NANO, Amount
from synthweb.ledger.models import BudgetAccount, LedgerEntry, Rule
from synthweb.ledger.protection import Protection
from synthweb.lib import guarantee

AT_DELTA = selectors.POLICY_DELTA
"""At which the ρ of an account is worth the ε that is shown."""
COIN = 50  # of 100 guesses that are right by chance
IN_A_ROW, STEP = 20, 18  # of the picture: people, and units from one to the next
EARLIER = 8
Guess = Literal["chance", "gained", "wrong"]


@dataclass(frozen=True, kw_only=True)
class PersonMark:
    """One of the hundred people of the picture, in its units."""

    x: int
    y: int
    guess: Guess


@dataclass(frozen=True, kw_only=True)
class Consequences:
    """What an account guarantees after a grant. epsilon: of everything that is ever released from it; right: how many of 100 guesses
    can be right."""

    epsilon: Fraction
    strength: str
    meaning: str
    right: int

    @property
    def gained(self) -> int:
        return self.right - COIN

    @property
    def wrong(self) -> int:
        return 100 - self.right

    @property
    def people(self) -> list[PersonMark]:
        return [
            PersonMark(
                x=STEP * (number % IN_A_ROW),
                y=STEP * (number // IN_A_ROW),
                guess="chance"
                if number < COIN
                else "gained"
                if number < self.right
                else "wrong",
            )
            for number in range(100)
        ]


def of_grant(
    amount: Amount, *, rule: str, protection: Protection, account: BudgetAccount | None
) -> Consequences:
    """What `account` (None: a new one) guarantees once `amount` is added to its cap."""
    total = amount if account is None else selectors.balance(account).cap + amount
    if rule == Rule.ZCDP:
        epsilon, delta = selectors.guarantee_of(total, delta=AT_DELTA), AT_DELTA
    else:
        epsilon, delta = Fraction(total.epsilon, NANO), Fraction(total.delta, ATTO)
    return Consequences(
        epsilon=epsilon,
        strength=guarantee.strength(epsilon),
        meaning=guarantee.meaning(
            epsilon=epsilon, delta=delta, relation=protection.relation, unit=protection.unit
        ),
        right=guarantee.right_guesses(epsilon=epsilon, delta=delta),
    )


@dataclass(frozen=True, kw_only=True)
class EarlierGrant:
    """What a table of the organisation was granted before."""

    dataset: str
    amounts: list[tuple[str, int]]
    strength: str
    at: datetime


def earlier_grants(dataset: Dataset) -> Sequence[EarlierGrant]:
    """The newest grants of the organisation, whatever they were for."""
    entries = LedgerEntry.objects.filter(
        kind=LedgerEntry.Kind.GRANT, account__organisation=dataset.organisation_id
    ).select_related("account")
    newest = list(entries.order_by("-at", "-pk")[:EARLIER])
    names = dict(
        Dataset.objects.filter(code__in=[entry.dataset_code for entry in newest]).values_list(
            "code", "name"
        )
    )
    return [
        EarlierGrant(
            dataset=names.get(entry.dataset_code, entry.dataset_code),
            amounts=[
                (currency, getattr(entry, currency))
                for currency in selectors.counted(entry.account.rule)
                if getattr(entry, currency)
            ],
            strength=_strength(entry),
            at=entry.at,
        )
        for entry in newest
    ]


def _strength(entry: LedgerEntry) -> str:
    amount = selectors.amount_of(entry)
    if entry.account.rule == Rule.ZCDP:
        return guarantee.strength(selectors.guarantee_of(amount, delta=AT_DELTA))
    # δ alone has no word.
    return guarantee.strength(Fraction(amount.epsilon, NANO)) if amount.epsilon else ""
