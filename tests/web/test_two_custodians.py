"""Above a limit two custodians approve a grant: the first approval grants nothing, and the second is another
person's."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection
from django.urls import reverse

from synthweb.accounts.models import Membership, Role
from synthweb.audit.models import AuditEntry
from synthweb.ledger import chain, errors, selectors
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import NANO, Amount
from synthweb.ledger.models import BudgetApproval, BudgetRequest, GrantPolicy, Rule
from tests.web import ledger_setup as setup
from tests.web.rest import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def who():
    made = setup.people()
    ledger.set_two_custodians(actor="system", organisation=made.organisation, above=2 * NANO)
    return made


@pytest.fixture
def second(who):
    return setup.person(who.organisation, Role.CUSTODIAN, username="second")


@pytest.fixture
def made(who):
    return setup.dataset(who)


def decide(custodian, request, **other):
    return ledger.grant(
        custodian=custodian, request=request, reason="Agreed.", **{"amount": None, **other}
    )


def test_up_to_the_limit_one_custodian_grants(who, made):
    asked = setup.asked(who, made, amount=Amount(epsilon=2 * NANO))
    entry = decide(who.custodian, asked)
    assert entry.evidence == "" and not BudgetApproval.objects.exists()


def test_above_it_the_first_approval_grants_nothing_and_the_second_grants(who, second, made):
    asked = setup.asked(who, made, amount=Amount(epsilon=3 * NANO))
    assert decide(who.custodian, asked) is None
    asked.refresh_from_db()
    assert asked.state == BudgetRequest.State.OPEN and selectors.account_of(made) is None
    approved = AuditEntry.objects.get(action="budget.approved")
    entry = decide(second, asked)
    assert (entry.actor, entry.evidence) == ("second", approved.hash)
    assert entry.account.epsilon_cap == 3 * NANO and chain.verify(entry.account).intact
    granted = AuditEntry.objects.get(action="budget.granted")
    assert granted.detail["first_approval"] == approved.hash


def test_nobody_is_both_custodians_and_nobody_approves_what_they_asked_for(who, second, made):
    Membership.objects.create(
        user=who.steward, organisation=who.organisation, role=Role.CUSTODIAN
    )
    asked = setup.asked(who, made, amount=Amount(epsilon=3 * NANO))
    decide(who.custodian, asked)
    with pytest.raises(errors.AlreadyApproved):
        decide(who.custodian, asked)
    with pytest.raises(errors.OwnRequest):
        decide(who.steward, asked)
    assert BudgetApproval.objects.count() == 1


@pytest.mark.parametrize("differing", [{"amount": Amount(epsilon=4 * NANO)}, "account"])
def test_two_who_do_not_approve_the_same_grant_nothing(who, second, made, differing):
    other = setup.granted(who, setup.dataset(who), amount=Amount(epsilon=NANO))
    asked = setup.asked(who, made, amount=Amount(epsilon=3 * NANO))
    decide(who.custodian, asked)
    if differing == "account":
        differing = {"opening": ledger.Opening(account=other)}
    assert decide(second, asked, **differing) is None
    assert decide(who.custodian, asked, **differing).epsilon == (
        differing.get("amount", Amount(epsilon=3 * NANO)).epsilon
    )


def test_a_large_cap_is_not_made_of_small_grants(who, second, made):
    setup.granted(who, made, amount=Amount(epsilon=2 * NANO))
    asked = setup.asked(who, made, amount=Amount(epsilon=1))
    assert decide(who.custodian, asked) is None
    assert decide(second, asked).account.epsilon_cap == 2 * NANO + 1


def test_under_zcdp_the_limit_is_compared_with_what_the_cap_is_worth(who, second, made):
    asked = setup.asked(who, made, rule=Rule.ZCDP, amount=Amount(rho=NANO))
    assert decide(who.custodian, asked) is None
    assert decide(second, asked).account.rho_cap == NANO


def test_the_approval_of_somebody_who_is_no_custodian_any_more_does_not_count(
    who, second, made
):
    asked = setup.asked(who, made, amount=Amount(epsilon=3 * NANO))
    decide(who.custodian, asked)
    Membership.objects.filter(user=who.custodian).delete()
    assert decide(second, asked) is None


def test_a_policy_is_a_new_row_and_the_newest_applies(who, made):
    ledger.set_two_custodians(actor="system", organisation=who.organisation, above=None)
    asked = setup.asked(who, made, amount=Amount(epsilon=9 * NANO))
    assert decide(who.custodian, asked).epsilon == 9 * NANO
    assert GrantPolicy.objects.count() == 2
    with pytest.raises(IntegrityError), connection.cursor() as cursor:
        cursor.execute(f"UPDATE {GrantPolicy._meta.db_table} SET two_above = 0")


def test_the_command_sets_the_limit_and_says_what_holds(who):
    def said(*arguments: str) -> str:
        out = StringIO()
        call_command("two_custodians", *arguments, stdout=out)
        return out.getvalue()

    name = who.organisation.name
    assert "above ε 0.5" in said(name, "--above", "0.5")
    assert "above ε 0.5" in said(who.organisation.code)
    assert "one custodian" in said(name, "--never")
    for wrong in (("nobody",), (name, "--above", "-1"), (name, "--above", "1e-10")):
        with pytest.raises(CommandError):
            said(*wrong)


def test_by_page_the_second_confirms_what_the_first_approved(cast, browser):
    who = setup.People(
        cast.organisation, cast.steward, cast.custodian, cast.analyst, cast.auditor
    )
    ledger.set_two_custodians(actor="system", organisation=who.organisation, above=NANO)
    second = setup.person(cast.organisation, Role.CUSTODIAN)
    asked = setup.asked(who, setup.dataset(who), amount=Amount(epsilon=5 * NANO))
    page, grant = (
        reverse(f"ledger:{name}", args=[asked.code]) for name in ("request", "grant")
    )
    data = {"epsilon": "3", "name": "Workers", "reason": "Agreed."}
    client = browser(cast.custodian)
    assert "data-first" in client.post(grant, data).text
    answer = client.post(grant, data | {"confirmed": "1"}, follow=True)
    assert answer.text.count("data-approval") == 1 and "You have approved it" in answer.text
    assert client.post(grant, data | {"confirmed": "1"}).status_code == 422
    client = browser(second)
    assert 'name="epsilon" value="3"' in client.get(page).text
    assert "data-first" not in client.post(grant, data).text
    client.post(grant, data | {"confirmed": "1"})
    assert selectors.account_of(asked.dataset).epsilon_cap == 3 * NANO


def test_by_rest_the_first_call_is_an_approval(cast):
    who = setup.People(
        cast.organisation, cast.steward, cast.custodian, cast.analyst, cast.auditor
    )
    ledger.set_two_custodians(actor="system", organisation=who.organisation, above=0)
    second = setup.person(cast.organisation, Role.CUSTODIAN)
    asked = setup.asked(who, setup.dataset(who), amount=Amount(epsilon=NANO))
    address = f"/budget-requests/{asked.code}/grant/"
    first = Caller(cast.custodian, "read", "grant").send(address, {"reason": "Yes."}).json()
    assert (first["state"], first["approved_by"]) == ("open", [cast.custodian.username])
    again = Caller(cast.custodian, "read", "grant").send(address, {"reason": "Yes."})
    assert again.json()["type"] == "urn:synthweb:already-approved"
    done = Caller(second, "read", "grant").send(address, {"reason": "Yes."}).json()
    assert (done["state"], done["decided_by"]) == ("granted", second.username)
