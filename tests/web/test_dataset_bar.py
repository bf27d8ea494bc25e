"""The one budget bar of a dataset."""

from __future__ import annotations

from synthweb.ledger.models import BudgetAccount
from synthweb.pages.selectors import tighter_bar


def test_one_bar_shows_the_currency_of_which_more_is_gone() -> None:
    account = BudgetAccount(rule="basic", epsilon_cap=100, epsilon_charged=40)
    assert tighter_bar(account).unit == "epsilon"
    account.delta_cap, account.delta_held, account.delta_charged = 10, 3, 4
    assert tighter_bar(account).unit == "delta"
    account.epsilon_held = 30  # as much of both
    assert tighter_bar(account).unit == "epsilon"
