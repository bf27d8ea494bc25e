"""δ: how much is asked for, what runs out and by how much, and that no form changes it without a word."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.ledger import proposals
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import ATTO, Amount, shortfalls
from synthweb.ledger.errors import LedgerConflict, Overspend
from synthweb.ledger.models import BudgetRequest, Rule
from synthweb.runs import worker
from tests.cast import Cast
from tests.web import scene
from tests.web.rest import Caller, assert_problem

Open = Callable[..., Client]
ONE = 10**9  # 1e-9 in the ledger's steps of 1e-18, and one ε in its steps of 1e-9

pytestmark = pytest.mark.django_db


@pytest.fixture
def described(cast: Cast) -> Dataset:
    made = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    datasets.declare_domain(actor=cast.steward, dataset=made, document=scene.DOMAIN)
    return made


def granted(cast: Cast, dataset: Dataset, amount: Amount) -> None:
    asked = ledger.request_budget(
        steward=cast.steward,
        dataset=dataset,
        terms=ledger.Terms(rule=Rule.BASIC, amount=amount),
        reason="To publish.",
    )
    ledger.grant(custodian=cast.custodian, request=asked, reason="Agreed.")


def test_the_default_delta_pays_for_every_planned_release(
    cast: Cast, described: Dataset, browser: Open
) -> None:
    client, ask = browser(cast.steward), reverse("ledger:ask", args=[described.code])
    page = client.get(ask).text
    assert 'data-proposed="releases">3<' in page
    assert 'data-proposed="delta">3e-9<' in page
    assert '<details class="fold mb-3" open>' not in page
    client.post(
        ask,
        {
            "rule": "basic",
            "epsilon": "2",
            "releases": "3",
            "delta": "",
            "reason": "Two a year.",
        },
    )
    asked = BudgetRequest.objects.get()
    assert (asked.releases, asked.delta) == (3, 3 * ONE)
    assert (
        "3 releases"
        in browser(cast.custodian).get(reverse("ledger:request", args=[asked.code])).text
    )
    ledger.grant(custodian=cast.custodian, request=asked, reason="Agreed.")
    for place in range(3):
        run = scene.submit(steward=cast.steward, dataset=described, epsilon=f"0.{place + 1}")
        assert run.price.delta == ONE
    with pytest.raises(Overspend) as refusal:
        scene.submit(steward=cast.steward, dataset=described, epsilon="0.4")
    assert str(refusal.value).startswith(
        "The budget has no δ left, and this costs δ 1e-9: δ 1e-9 more is needed"
    )


def test_what_was_typed_for_delta_stands_even_if_it_is_nothing(
    cast: Cast, described: Dataset, browser: Open
) -> None:
    ask = reverse("ledger:ask", args=[described.code])
    browser(cast.steward).post(
        ask, {"rule": "basic", "epsilon": "2", "delta": "0", "reason": "Pure."}
    )
    assert BudgetRequest.objects.get().delta == 0


def test_the_proposed_delta_stays_far_below_one_over_a_public_number_of_records() -> None:
    assert proposals.delta_for(10) == 10 * ONE
    assert proposals.delta_for(10, records=300) == 10 * ONE
    assert proposals.delta_for(1000, records=10**6) == ATTO // 10**8 < 1000 * ONE


@pytest.mark.parametrize("releases", [1, 10, proposals.MAX_PLANNED_RELEASES])
@pytest.mark.parametrize("readers", proposals.Readers.values)
@pytest.mark.parametrize("rule", ["", *Rule.values])
@pytest.mark.parametrize("records", [None, 1, 10**9])
def test_no_proposal_has_a_delta_of_nothing(
    releases: int, readers: str, rule: str, records: int | None
) -> None:
    proposal = proposals.propose(readers=readers, releases=releases, rule=rule, records=records)
    assert proposal.epsilon > 0 and proposal.delta > 0
    assert all((proposal.why_epsilon, proposal.why_delta, proposal.why_rule))


def test_where_delta_ran_out_no_way_in_lowers_it_without_a_word(
    cast: Cast, described: Dataset, browser: Open
) -> None:
    """What is asked for stands or is refused, on the form and by REST; the ledger holds nothing else."""
    granted(cast, described, Amount(epsilon=5 * ONE, delta=ONE))
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=described).code)
    typed = {"mechanism": "independent", "epsilon": "1", "delta": "1e-9", "name": ""}
    page = browser(cast.steward).post(reverse("runs:new", args=[described.code]), typed).text
    assert "The budget has no δ left" in page
    body = {"dataset": described.code, "mechanism": "independent", "epsilon": "1"}
    calls = Caller(cast.steward, "read", "spend")
    assert_problem(calls.send("/runs/", body | {"delta": "1e-9"}), status=409)
    assert described.runs.count() == 1


def test_under_zcdp_the_proposed_delta_is_that_of_the_account(
    cast: Cast, described: Dataset, browser: Open
) -> None:
    ask = reverse("ledger:ask", args=[described.code])
    answer = browser(cast.steward).post(
        ask, {"rule": "zcdp", "epsilon": "1", "delta": "", "reason": "Many."}
    )
    assert answer.status_code == 302
    assert BudgetRequest.objects.get().rho > 0


def test_the_new_release_says_that_delta_is_lowered_and_why(
    cast: Cast, described: Dataset, browser: Open
) -> None:
    granted(cast, described, Amount(epsilon=2 * ONE, delta=ONE))
    new, client = reverse("runs:new", args=[described.code]), browser(cast.steward)
    assert "δ is lower than usual" not in client.get(new).text
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=described).code)
    page = client.get(new).text
    assert "δ is lower than usual</strong> because the budget has no δ left" in page
    assert f"{reverse('ledger:ask', args=[described.code])}?epsilon=0&amp;delta=1e-8" in page
    asked = client.get(
        reverse("ledger:ask", args=[described.code]), {"epsilon": "0", "delta": "1e-8"}
    ).text
    assert 'value="1e-8"' in asked
    assert '<details class="fold mb-3" open>' in asked


def test_what_runs_out_is_named_with_how_much_and_the_bar_shows_it(
    cast: Cast, described: Dataset, browser: Open
) -> None:
    granted(cast, described, Amount(epsilon=2 * ONE, delta=ONE))
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=described).code)
    typed = {
        "mechanism": "independent",
        "epsilon": "1",
        "delta": "1e-9",
        "rows": "",
        "records": "",
        "name": "",
    }
    page = (
        browser(cast.steward).post(reverse("runs:estimate", args=[described.code]), typed).text
    )
    assert "The budget has no δ left, and this costs δ 1e-9: δ 1e-9 more is needed" in page
    assert "The budget has less left than this costs" not in page
    assert "ask for more δ" in page and "ask for more ε" not in page
    assert page.count('class="budget-over"') == 1
    both = (
        browser(cast.steward)
        .post(reverse("runs:estimate", args=[described.code]), typed | {"epsilon": "5"})
        .text
    )
    assert "The budget has ε 1 left, and this costs ε 5: ε 4 more is needed" in both
    pressed = (
        browser(cast.steward)
        .post(reverse("runs:new", args=[described.code]), typed | {"epsilon": "5"})
        .text
    )
    assert "This takes most of what is left" not in pressed
    assert "ε 4 more is needed" in pressed


def test_rest_names_every_currency_that_runs_out(cast: Cast, described: Dataset) -> None:
    granted(cast, described, Amount(epsilon=ONE, delta=0))
    body = {
        "dataset": described.code,
        "mechanism": "independent",
        "epsilon": "1.5",
        "delta": "1e-9",
    }
    problem = assert_problem(
        Caller(cast.steward, "read", "spend").send("/runs/", body), status=409
    )
    assert problem["type"] == "urn:synthweb:overspend"
    assert [each["pointer"] for each in problem["errors"]] == ["/epsilon", "/delta"]
    assert problem["lacking"] == [
        {"currency": "epsilon", "left": "1", "costs": "1.5", "short": "0.5"},
        {"currency": "delta", "left": "0", "costs": "0.000000001", "short": "0.000000001"},
    ]


def test_rest_proposes_delta_for_planned_releases_and_only_then(
    cast: Cast, described: Dataset
) -> None:
    calls = Caller(cast.steward, "read", "spend")
    body = {"dataset": described.code, "rule": "basic", "epsilon": "1", "reason": "To publish."}
    asked = calls.send("/budget-requests/", body | {"releases": 4}).json()
    assert (asked["releases"], asked["amount"]["delta"]) == (4, "0.000000004")
    ledger.refuse(custodian=cast.custodian, request=BudgetRequest.objects.get(), reason="No.")
    asked = calls.send("/budget-requests/", body).json()
    assert (asked["releases"], asked["amount"]["delta"]) == (None, "0")
    assert_problem(calls.send("/budget-requests/", body | {"releases": 0}), status=400)


def test_an_account_that_is_there_gets_more_delta_alone_and_a_new_one_needs_epsilon(
    cast: Cast, described: Dataset
) -> None:
    with pytest.raises(LedgerConflict, match="above zero"):
        granted(cast, described, Amount(delta=ONE))
    granted(cast, described, Amount(epsilon=ONE, delta=ONE))
    granted(cast, described, Amount(delta=2 * ONE))
    account = described.coverage.account
    account.refresh_from_db()
    assert (account.epsilon_cap, account.delta_cap) == (ONE, 3 * ONE)
    with pytest.raises(LedgerConflict, match="above zero"):
        granted(cast, described, Amount())


def test_what_is_lacking_is_counted_by_the_rule_alone() -> None:
    asked, left = Amount(epsilon=5, delta=3, rho=9), Amount(epsilon=5, delta=1)
    assert [
        (each.currency, each.short)
        for each in shortfalls(remaining=left, requested=asked, rule="basic")
    ] == [("delta", 2)]
    assert [
        each.currency for each in shortfalls(remaining=left, requested=asked, rule="zcdp")
    ] == ["rho"]
