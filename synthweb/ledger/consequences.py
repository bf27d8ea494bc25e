"""What a grant means for the people in the table, in words and as a picture: what a custodian sees before
granting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from synthweb.datasets.models import Dataset
from synthweb.ledger import selectors
from synthweb.ledger.amounts import ATTO, NANO, Amount
from synthweb.ledger.models import BudgetAccount, LedgerEntry, Rule
from synthweb.ledger.protection import Protection
from synthweb.lib import guarantee
from synthweb.lib.hundred import HundredGuesses

AT_DELTA = selectors.POLICY_DELTA
"""At which the ρ of an account is worth the ε that is shown."""
EARLIER = 8


@dataclass(frozen=True, kw_only=True)
class Consequences:
    """What an account guarantees after a grant. epsilon: of everything that is ever released from it."""

    epsilon: Fraction
    strength: str
    meaning: str
    guesses: HundredGuesses


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
        guesses=HundredGuesses(right=guarantee.right_guesses(epsilon=epsilon, delta=delta)),
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
