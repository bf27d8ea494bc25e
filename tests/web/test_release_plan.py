"""What a budget was asked for is what a new release begins with: its share of the releases that are still
planned."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine.spec import Spec
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetAccount, Rule
from synthweb.runs import planning, release_plan, services
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web import scene

Open = Callable[..., Client]
pytestmark = pytest.mark.django_db


def funded(cast: Cast, *, rule: Rule, releases: int | None) -> Dataset:
    """A dataset with ε 1 and δ 3e-9, or with ρ 0.01, granted for so many releases."""
    dataset = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    datasets.declare_domain(actor=cast.steward, dataset=dataset, document=scene.DOMAIN)
    amount = Amount(epsilon=10**9, delta=3 * 10**9) if rule == Rule.BASIC else Amount(rho=10**7)
    request = ledger.request_budget(
        steward=cast.steward,
        dataset=dataset,
        terms=ledger.Terms(rule=rule, amount=amount, releases=releases),
        reason="A table a year.",
    )
    ledger.grant(custodian=cast.custodian, request=request, reason="Agreed.")
    return dataset


def suggested(page: str) -> str:
    """The ε that the form begins with."""
    return str(re.search(r'id="id_epsilon"\s+value="([^"]*)"', page)[1])  # type: ignore[index]


def test_a_release_begins_with_its_share_and_the_next_one_with_its_own(
    cast: Cast, browser: Open
) -> None:
    dataset = funded(cast, rule=Rule.BASIC, releases=3)
    client, address = browser(cast.steward), reverse("runs:new", args=[dataset.code])
    for number, epsilon in ((1, "0.333"), (2, "0.333"), (3, "0.334")):
        page = client.get(address).text
        assert suggested(page) == epsilon and f'data-plan="{number}/3"' in page
        assert "data-beyond-share" not in page
        scene.submit(steward=cast.steward, dataset=dataset, epsilon=epsilon)
    # Nothing is planned any more: the usual suggestion, of which the budget has nothing left.
    assert "data-plan" not in client.get(address).text


def test_whoever_takes_more_than_a_share_is_told_and_the_confirmation_names_the_plan(
    cast: Cast, browser: Open
) -> None:
    dataset = funded(cast, rule=Rule.BASIC, releases=3)
    client, address = browser(cast.steward), reverse("runs:new", args=[dataset.code])
    fields = {"mechanism": "independent", "epsilon": "0.9", "delta": "1e-9"}
    asked = client.post(address, fields).text
    assert 'name="confirmed"' in asked and 'data-plan="1/3"' in asked
    assert "data-beyond-share" in asked
    assert not SynthesisRun.objects.exists()


def test_a_cancelled_run_is_none_of_the_planned_releases(cast: Cast) -> None:
    dataset = funded(cast, rule=Rule.BASIC, releases=2)
    account = BudgetAccount.objects.get()
    run = scene.submit(steward=cast.steward, dataset=dataset, epsilon="0.5")
    account.refresh_from_db()
    plan = release_plan.plan_of(account)
    assert plan is not None and (plan.number, plan.left) == (2, 1)
    services.cancel(actor=cast.steward, run=run)
    account.refresh_from_db()
    plan = release_plan.plan_of(account)
    assert plan is not None and (plan.number, plan.left) == (1, 2)
    assert plan.share.epsilon == 5 * 10**8


@pytest.mark.parametrize(("delta", "least"), [("1e-9", 0.9), ("0", 0.3)])
def test_shares_under_zcdp_add_up_within_the_cap(cast: Cast, delta: str, least: float) -> None:
    dataset = funded(cast, rule=Rule.ZCDP, releases=4)
    account = BudgetAccount.objects.get()
    plan = release_plan.plan_of(account)
    assert plan is not None and plan.share.rho == 10**7 // 4
    units = release_plan.epsilon_of(plan.share, rule=Rule.ZCDP, delta=Fraction(delta))
    spec = Spec(mechanism="independent", epsilon=Fraction(units, 10**9), delta=Fraction(delta))
    price = planning.ReleaseRequest(dataset=dataset, spec=spec).propose().price
    assert least * plan.share.rho < price.rho <= plan.share.rho
    assert not plan.exceeds(price)


def test_without_a_plan_the_suggestion_is_the_usual_one(cast: Cast, browser: Open) -> None:
    dataset = funded(cast, rule=Rule.BASIC, releases=None)
    page = browser(cast.steward).get(reverse("runs:new", args=[dataset.code])).text
    assert suggested(page) == "1" and "data-plan" not in page
