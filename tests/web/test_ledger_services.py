"""The ledger's rules, one transaction after another."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from synth_engine.privacy.unit import PrivacyUnit
from synthweb.accounts.models import Role
from synthweb.audit.models import AuditEntry
from synthweb.datasets.models import Dataset
from synthweb.ledger import chain, selectors
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetAccount, LedgerEntry, Rule
from tests.web.ledger_setup import (
    asked,
    dataset,
    describe,
    domain_document,
    granted,
    hold,
    people,
    person,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def who():
    return people()


@pytest.fixture
def account(who):
    return granted(who, dataset(who), amount=Amount(epsilon=10, delta=5))


def sums(account: BudgetAccount) -> tuple[Amount, Amount, Amount]:
    account.refresh_from_db()
    balance = selectors.balance(account)
    return balance.cap, balance.held, balance.charged


def test_a_hold_reserves_and_a_charge_spends_what_was_held(account):
    hold(account, "run1", (4, 2, 0))
    assert sums(account) == (Amount(epsilon=10, delta=5), Amount(epsilon=4, delta=2), Amount())
    ledger.charge(run_code="run1")
    assert sums(account) == (Amount(epsilon=10, delta=5), Amount(), Amount(epsilon=4, delta=2))
    assert chain.verify(account).intact


def test_a_charge_is_for_what_its_hold_was_for(account):
    hold(account, "run1", (4, 2, 0), reason="Spring release (independent)")
    assert ledger.charge(run_code="run1").reason == "Spring release (independent)"
    hold(account, "run2", (1, 0, 0), reason="Another")
    assert ledger.release(run_code="run2", reason="Cancelled.").reason == "Cancelled."
    assert chain.verify(account).intact


def test_a_release_gives_back_all_that_was_held(account):
    hold(account, "run1", (4, 2, 0))
    ledger.release(run_code="run1", reason="Cancelled before any noise.")
    assert sums(account) == (Amount(epsilon=10, delta=5), Amount(), Amount())


def test_a_hold_above_what_is_left_is_refused_with_the_exact_remainder(account):
    hold(account, "run1", (7, 0, 0))
    with pytest.raises(ledger.Overspend) as refusal:
        hold(account, "run2", (4, 0, 0))
    assert (refusal.value.remaining, refusal.value.requested) == (
        Amount(epsilon=3, delta=5),
        Amount(epsilon=4),
    )
    assert "3e-9" in str(refusal.value)
    assert sums(account)[1] == Amount(epsilon=7)


def test_a_hold_is_refused_when_only_delta_is_short(account):
    with pytest.raises(ledger.Overspend):
        hold(account, "run1", (1, 6, 0))
    assert LedgerEntry.objects.filter(kind="HOLD").count() == 0


def test_the_last_unit_can_be_held(account):
    hold(account, "run1", (10, 5, 0))
    assert selectors.balance(BudgetAccount.objects.get()).free == Amount()


@pytest.mark.parametrize("movement", ["hold", "charge", "release"])
def test_a_movement_asked_for_twice_gives_the_first_entry_and_moves_nothing(account, movement):
    again = {
        "hold": lambda: hold(account, "run1", (4, 0, 0)),
        "charge": lambda: ledger.charge(run_code="run1"),
        "release": lambda: ledger.release(run_code="run1", reason="Cancelled."),
    }[movement]
    hold(account, "run1", (4, 0, 0))
    first = again()
    before = sums(account)
    assert again() == first
    assert sums(account) == before


def test_what_was_charged_is_never_given_back(account):
    hold(account, "run1", (4, 0, 0))
    ledger.charge(run_code="run1")
    with pytest.raises(ledger.AlreadyResolved):
        ledger.release(run_code="run1", reason="It crashed.")
    assert sums(account)[2] == Amount(epsilon=4)


def test_what_was_released_cannot_be_charged(account):
    hold(account, "run1", (4, 0, 0))
    ledger.release(run_code="run1", reason="Cancelled.")
    with pytest.raises(ledger.AlreadyResolved):
        ledger.charge(run_code="run1")
    assert sums(account)[2] == Amount()


def test_nothing_is_charged_without_a_hold(account):
    with pytest.raises(ledger.NothingHeld):
        ledger.charge(run_code="run1")


@pytest.mark.parametrize("changed", [{"cost": (5, 0, 0)}, {"evidence": "0" * 64}])
def test_a_run_cannot_hold_a_second_amount_or_for_another_plan(account, changed):
    hold(account, "run1", (4, 0, 0))
    with pytest.raises(ledger.DifferentHold):
        hold(account, "run1", **{"cost": (4, 0, 0), **changed})
    assert sums(account)[1] == Amount(epsilon=4)


def test_a_plan_for_another_unit_or_relation_is_refused(account):
    with pytest.raises(ledger.UnitMismatch):
        hold(account, "run1", relation="replace-one")
    with pytest.raises(ledger.UnitMismatch):
        hold(account, "run1", unit=PrivacyUnit(max_records=2, column="person"))
    with pytest.raises(ledger.UnitMismatch):
        hold(account, "run1", invariants=["total of destination"])


def test_a_dataset_cannot_spend_from_an_account_that_does_not_cover_it(who, account):
    with pytest.raises(ledger.NotCovered):
        hold(account, "run1", dataset_code=dataset(who).code)


@pytest.mark.parametrize("cost", [(0, 0, 1), (1, 0, 1), (0, 0, 0), (-1, 0, 0), (0, 3, 0)])
def test_a_basic_account_takes_a_positive_epsilon_and_no_rho(account, cost):
    with pytest.raises(ledger.LedgerConflict):
        hold(account, "run1", cost)


@pytest.mark.parametrize("cost", [(1, 0, 1), (0, 1, 1), (0, 0, 0), (0, 0, -1)])
def test_a_zcdp_account_takes_rho_alone(who, cost):
    account = granted(who, dataset(who), rule=Rule.ZCDP)
    with pytest.raises(ledger.LedgerConflict):
        hold(account, "run1", cost)


def test_a_float_is_no_amount(account):
    with pytest.raises(TypeError):
        hold(account, "run1", (1.0, 0, 0))


def test_a_zcdp_account_adds_up_rho(who):
    account = granted(who, dataset(who), rule=Rule.ZCDP)
    hold(account, "run1", (0, 0, 9))
    with pytest.raises(ledger.Overspend):
        hold(account, "run2", (0, 0, 2))
    hold(account, "run3", (0, 0, 1))
    assert chain.verify(account).intact


def test_a_grant_fixes_rule_unit_and_relation_from_the_confirmed_description(who):
    made = dataset(
        who, described=domain_document(relation="replace-one", max_records=5, column="person")
    )
    account = granted(who, made)
    assert (account.rule, account.relation, account.max_records, account.unit_column) == (
        "basic", "replace-one", 5, "person",
    )  # fmt: skip


def test_a_dataset_without_a_confirmed_description_cannot_ask(who):
    bare = Dataset.objects.create(
        organisation=who.organisation,
        steward=who.steward,
        name="Bare",
        vault_name="x",
        file_kind="csv",
        size_bytes=1,
    )
    with pytest.raises(ledger.NotCovered):
        asked(who, bare)


def test_a_second_grant_raises_the_cap_of_the_same_account(who, account):
    made = account.coverages.get().dataset
    request = asked(who, made, amount=Amount(epsilon=5))
    assert request.account == account
    ledger.grant(
        custodian=who.custodian, request=request, reason="Agreed.", amount=Amount(epsilon=3)
    )
    assert sums(account)[0] == Amount(epsilon=13, delta=5)
    assert BudgetAccount.objects.count() == 1


def test_tables_on_the_same_people_share_an_account(who, account):
    second = dataset(who, name="Second")
    ledger.grant(
        custodian=who.custodian,
        request=asked(who, second),
        reason="Same people.",
        opening=ledger.Opening(account=account),
    )
    assert selectors.account_of(second) == account
    hold(account, "run1", (11, 0, 0), dataset_code=second.code)
    with pytest.raises(ledger.Overspend):
        hold(account, "run2", (10, 0, 0), dataset_code=account.coverages.first().dataset.code)


def test_an_account_of_another_unit_or_rule_cannot_be_joined(who, account):
    other = dataset(who, described=domain_document(max_records=3, column="person"))
    with pytest.raises(ledger.UnitMismatch):
        asked(who, other, account=account)
    with pytest.raises(ledger.RuleMismatch):
        asked(who, dataset(who), rule=Rule.ZCDP, account=account)


def test_an_account_of_another_organisation_cannot_be_joined(account):
    strangers = people()
    with pytest.raises(ledger.NotCovered):
        asked(strangers, dataset(strangers), account=account)


def test_more_budget_is_refused_after_the_description_changed_whom_it_protects(who, account):
    made = account.coverages.get().dataset
    describe(made, domain_document(relation="replace-one"))
    with pytest.raises(ledger.UnitMismatch):
        asked(who, made)


def test_the_same_content_never_opens_a_fresh_cap_silently(who):
    first = granted(who, dataset(who, content="same"))
    again = dataset(who, content="same", name="Uploaded again")
    request = asked(who, again)
    with pytest.raises(ledger.SameContent):
        ledger.grant(custodian=who.custodian, request=request, reason="Agreed.")
    assert BudgetAccount.objects.count() == 1
    ledger.grant(
        custodian=who.custodian,
        request=request,
        reason="Agreed.",
        opening=ledger.Opening(account=first),
    )
    assert selectors.account_of(again) == first


def test_a_separate_cap_for_the_same_content_takes_a_reason_that_the_audit_keeps(who):
    granted(who, dataset(who, content="same"))
    request = asked(who, dataset(who, content="same"))
    ledger.grant(
        custodian=who.custodian,
        request=request,
        reason="Agreed.",
        opening=ledger.Opening(separate_reason="Test rows only."),
    )
    assert BudgetAccount.objects.count() == 2
    assert (
        AuditEntry.objects.filter(action="budget.granted").first().detail["separate_reason"]
        == "Test rows only."
    )


def test_nobody_decides_their_own_request_whatever_roles_they_hold(who):
    both = person(who.organisation, Role.STEWARD, Role.CUSTODIAN)
    request = ledger.request_budget(
        steward=both,
        dataset=dataset(who),
        terms=ledger.Terms(rule=Rule.BASIC, amount=Amount(epsilon=1)),
        reason="Mine.",
    )
    with pytest.raises(ledger.OwnRequest):
        ledger.grant(custodian=both, request=request, reason="Of course.")
    with pytest.raises(ledger.OwnRequest):
        ledger.refuse(custodian=both, request=request, reason="Of course.")
    assert BudgetAccount.objects.count() == 0


@pytest.mark.parametrize("role", [Role.STEWARD, Role.ANALYST, Role.AUDITOR])
def test_only_a_custodian_of_the_organisation_decides(who, role):
    request = asked(who, dataset(who))
    for user in (person(who.organisation, role), people().custodian):
        with pytest.raises(ledger.NotCustodian):
            ledger.grant(custodian=user, request=request, reason="Agreed.")


def test_a_decision_needs_a_reason_and_is_taken_once(who):
    request = asked(who, dataset(who))
    with pytest.raises(ledger.LedgerConflict, match="reason"):
        ledger.grant(custodian=who.custodian, request=request, reason="  ")
    ledger.refuse(custodian=who.custodian, request=request, reason="Too much.")
    with pytest.raises(ledger.AlreadyDecided):
        ledger.grant(custodian=who.custodian, request=request, reason="Agreed after all.")


def test_a_dataset_has_one_open_request(who):
    made = dataset(who)
    asked(who, made)
    with pytest.raises(ledger.OpenRequest):
        asked(who, made)


@pytest.mark.parametrize(
    "amount",
    [Amount(epsilon=1, delta=10**18), Amount(epsilon=2**63), Amount(epsilon=1, delta=2**63)],
)
def test_a_cap_that_protects_nobody_is_refused(who, amount):
    with pytest.raises(ledger.LedgerConflict):
        granted(who, dataset(who), amount=amount)


def test_the_database_itself_refuses_an_account_above_its_cap(account):
    with pytest.raises(IntegrityError), transaction.atomic():
        BudgetAccount.objects.filter(pk=account.pk).update(epsilon_held=8, epsilon_charged=3)
