"""Random histories against a model: whatever is asked in whatever order, the ledger and ten lines of
arithmetic agree."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from synthweb.ledger import chain, selectors
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import Amount
from tests.web import ledger_setup as setup

RUNS = st.sampled_from([f"run{number}" for number in range(6)])
COSTS = st.tuples(st.integers(1, 6), st.integers(0, 3))


@dataclass
class Model:
    """What the account should hold."""

    cap: Amount = field(default_factory=Amount)
    held: dict[str, Amount] = field(default_factory=dict)
    charged: dict[str, Amount] = field(default_factory=dict)
    released: dict[str, Amount] = field(default_factory=dict)

    def known(self, run_code: str) -> Amount | None:
        return next(
            (
                part[run_code]
                for part in (self.held, self.charged, self.released)
                if run_code in part
            ),
            None,
        )

    @property
    def free(self) -> Amount:
        return (
            self.cap - sum(self.held.values(), Amount()) - sum(self.charged.values(), Amount())
        )


class LedgerMachine(RuleBasedStateMachine):
    """One account under one rule; what comes out of every deed is predicted before it is done."""

    @initialize(zcdp=st.booleans())
    def open_account(self, zcdp: bool) -> None:
        self.rule = "zcdp" if zcdp else "basic"
        self.who = setup.people()
        self.made = setup.dataset(self.who)
        self.model = Model(cap=self.amount((12, 4)))
        self.account = setup.granted(self.who, self.made, rule=self.rule, amount=self.model.cap)
        self.prefix = self.account.code[:6]
        self.length = 1

    def amount(self, cost: tuple[int, int]) -> Amount:
        return (
            Amount(rho=cost[0])
            if self.rule == "zcdp"
            else Amount(epsilon=cost[0], delta=cost[1])
        )

    def code(self, run: str) -> str:
        return f"{self.prefix}{run}"

    def outcome(self, deed) -> str:
        try:
            deed()
        except ledger.LedgerConflict as refusal:
            return type(refusal).__name__
        return "done"

    @rule(run=RUNS, cost=COSTS)
    def hold(self, run: str, cost: tuple[int, int]) -> None:
        amount, known = self.amount(cost), self.model.known(run)
        if known is not None:
            expected = "done" if known == amount else "DifferentHold"
        elif (self.model.free - amount).is_negative_somewhere:
            expected = "Overspend"
        else:
            expected = "done"
            self.model.held[run] = amount
            self.length += 1
        triple = (amount.epsilon, amount.delta, amount.rho)
        assert (
            self.outcome(lambda: setup.hold(self.account, self.code(run), triple)) == expected
        )

    @rule(run=RUNS, charge=st.booleans())
    def resolve(self, run: str, charge: bool) -> None:
        this, other = (
            (self.model.charged, self.model.released)
            if charge
            else (self.model.released, self.model.charged)
        )
        if run in self.model.held:
            this[run] = self.model.held.pop(run)
            self.length += 1
            expected = "done"
        elif run in other:
            expected = "AlreadyResolved"
        else:
            expected = "done" if run in this else "NothingHeld"
        code = self.code(run)
        deed = (
            (lambda: ledger.charge(run_code=code))
            if charge
            else (lambda: ledger.release(run_code=code, reason="End."))
        )
        assert self.outcome(deed) == expected

    @precondition(lambda self: self.length < 30)
    @rule(cost=COSTS)
    def grant_more(self, cost: tuple[int, int]) -> None:
        amount = self.amount(cost)
        setup.granted(self.who, self.made, rule=self.rule, amount=amount)
        self.model.cap += amount
        self.length += 1

    @invariant()
    def the_ledger_agrees_with_the_model(self) -> None:
        if not hasattr(self, "account"):
            return
        self.account.refresh_from_db()
        balance = selectors.balance(self.account)
        assert balance.cap == self.model.cap
        assert balance.held == sum(self.model.held.values(), Amount())
        assert balance.charged == sum(self.model.charged.values(), Amount())
        verdict = chain.verify(self.account)
        assert verdict.intact and verdict.length == self.length


@pytest.mark.slow
@pytest.mark.django_db
def test_random_histories_agree_with_the_model():
    run_state_machine_as_test(
        LedgerMachine,
        settings=settings(
            max_examples=20,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=True,
        ),
    )
