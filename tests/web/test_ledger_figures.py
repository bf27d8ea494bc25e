"""The step chart: its steps are what the entries say, in the currency of the account, and its table says the
same."""

from __future__ import annotations

import pytest

from synthweb.ledger import figures
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetAccount
from tests.web import ledger_setup as setup

pytestmark = pytest.mark.django_db
STEPS = [
    (4, 0, 0),
    (4, 2, 0),
    (4, 0, 2),
    (4, 1, 2),
    (4, 0, 2),
    (9, 0, 2),
]  # granted, held, charged after each entry


@pytest.fixture(params=["basic", "zcdp"])
def account(request):
    rule, who = request.param, setup.people()
    made = setup.dataset(who)

    def amount(value: int) -> Amount:
        return Amount(epsilon=value, delta=7) if rule == "basic" else Amount(rho=value)

    account = setup.granted(who, made, rule=rule, amount=amount(4))
    for run_code, value in (("run1", 2), ("run2", 1)):
        setup.hold(account, run_code, (value, 0, 0) if rule == "basic" else (0, 0, value))
        if run_code == "run1":
            ledger.charge(run_code=run_code)
        else:
            ledger.release(run_code=run_code, reason="Cancelled.")
    ledger.grant(
        custodian=who.custodian,
        request=setup.asked(who, made, rule=rule, amount=amount(5)),
        reason="More.",
    )
    account.refresh_from_db()
    return account


def test_every_entry_is_a_step(account):
    assert [(step.granted, step.held, step.charged) for step in figures.steps(account)] == STEPS


def test_the_lines_are_stacked_below_the_cap_and_last_until_now(account):
    card = figures.over_time(account)
    assert card is not None and card.figure is not None
    charged, held, granted = card.figure["data"]
    assert [trace["name"] for trace in (charged, held, granted)] == [
        "charged",
        "held",
        "granted",
    ]
    nano = 1e-9
    assert charged["y"] == pytest.approx([nano * step[2] for step in [*STEPS, STEPS[-1]]])
    assert held["y"] == pytest.approx(
        [nano * (step[1] + step[2]) for step in [*STEPS, STEPS[-1]]]
    )
    assert granted["y"] == pytest.approx([nano * step[0] for step in [*STEPS, STEPS[-1]]])
    assert all(low <= top for low, top in zip(held["y"], granted["y"], strict=True))
    assert charged["x"] == sorted(charged["x"]) and len(charged["x"]) == len(STEPS) + 1
    assert {trace["line"]["shape"] for trace in (charged, held, granted)} == {"hv"}
    assert (
        held["fillpattern"]["shape"] and "fillpattern" not in charged
    )  # held is told by a pattern too
    letter = "ε" if account.rule == "basic" else "ρ"
    assert card.figure["layout"]["yaxis"]["title"][
        "text"
    ] == letter and card.verdict.startswith(f"{letter} 2e-9 charged")


def test_the_table_says_the_same_newest_first_with_what_is_free(account):
    card = figures.over_time(account)
    assert card is not None
    shown = [row[3:] for row in card.table.rows]
    written = {0: "0", **{value: f"{value}e-9" for value in range(1, 10)}}
    assert shown == [
        (*(written[value] for value in step), written[step[0] - step[1] - step[2]])
        for step in reversed(STEPS)
    ]


def test_an_account_without_entries_has_no_chart():
    empty = BudgetAccount.objects.create(
        organisation=setup.people().organisation,
        name="Empty",
        rule="basic",
        relation="add-remove",
    )
    assert figures.over_time(empty) is None
