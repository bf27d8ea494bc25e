"""The plan of a budget: how many releases it was granted for, how many of them there are, and what the next
one may take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from django.db.models import Sum

from synth_engine.privacy import conversion
from synthweb.ledger import yearly_limits
from synthweb.ledger.amounts import NANO, Amount
from synthweb.ledger.models import BudgetAccount, BudgetRequest, Rule
from synthweb.runs.models import SynthesisRun

State = SynthesisRun.State
SHOWN_DIGITS = 3  # of an ε that is suggested


@dataclass(frozen=True, kw_only=True)
class ReleasePlan:
    """planned: releases that the requests granted to an account name, altogether. made: those that there are
    or that a worker is at. free: what the account has left, without what is set aside."""

    planned: int
    made: int
    free: Amount

    @property
    def number(self) -> int:
        """Which of the planned releases the next one is."""
        return self.made + 1

    @property
    def left(self) -> int:
        return self.planned - self.made

    @property
    def share(self) -> Amount:
        """What the next release may take, so that as much is left for each of the others."""
        return Amount(
            epsilon=max(0, self.free.epsilon) // self.left,
            delta=max(0, self.free.delta) // self.left,
            rho=max(0, self.free.rho) // self.left,
        )

    def exceeds(self, price: Amount) -> bool:
        """Whether a price is more than the share, so that the other releases have less. Without δ, which no
        plan is short of."""
        return price.epsilon > self.share.epsilon or price.rho > self.share.rho


def plan_of(account: BudgetAccount) -> ReleasePlan | None:
    """None where no request says how many releases there will be, and where all of them are made."""
    granted = BudgetRequest.objects.filter(account=account, state=BudgetRequest.State.GRANTED)
    planned = granted.aggregate(sum=Sum("releases"))["sum"] or 0
    runs = SynthesisRun.objects.filter(hold__account=account, release_run__isnull=False)
    # A run that failed made no release; what it took is not free any more.
    made = runs.exclude(state__in=(State.FAILED, State.CANCELLED)).count()
    if planned <= made:
        return None
    return ReleasePlan(planned=planned, made=made, free=yearly_limits.free(account))


def epsilon_of(share: Amount, *, rule: str, delta: Fraction = Fraction(0)) -> int:
    """The ε, in the ledger's integers and cut to three digits, of a release that takes a share. delta: of the
    release, under zCDP; 0 for a pure guarantee."""
    if rule == Rule.BASIC:
        return _cut(share.epsilon)
    if not delta:
        return _cut(math.isqrt(2 * share.rho * NANO))  # ρ = ε²/2
    # By the exact curve of Gaussian noise: a method whose guarantee follows it takes all of ρ, others take
    # less.
    if not share.rho:
        return 0
    return _cut(int(conversion.epsilon_for_mu(Fraction(2 * share.rho, NANO), delta) * NANO))


def _cut(units: int) -> int:
    step = int(10 ** max(0, len(str(units)) - SHOWN_DIGITS))
    return units // step * step
