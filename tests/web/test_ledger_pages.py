"""The ledger's pages: who sees what, what they say, and that forms keep what was typed."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import subprocess
import sys
from fractions import Fraction

import pytest
from django.conf import settings
from django.urls import reverse

from synthweb.accounts.models import Membership, Role
from synthweb.audit import services as audit
from synthweb.audit.models import AuditEntry
from synthweb.ledger import chain, selectors
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetAccount, BudgetRequest, LedgerEntry, Rule
from tests.web import ledger_setup as setup


@pytest.fixture
def who(cast):
    return setup.People(
        cast.organisation, cast.steward, cast.custodian, cast.analyst, cast.auditor
    )


@pytest.fixture
def made(who):
    return setup.dataset(who)


@pytest.fixture
def account(who, made):
    return setup.granted(who, made, amount=Amount(epsilon=4 * 10**9, delta=10**9))


def addresses(account: BudgetAccount, request: BudgetRequest) -> dict[str, str]:
    return {
        "index": reverse("ledger:index"),
        "account": reverse("ledger:account", args=[account.code]),
        "chain": reverse("ledger:chain", args=[account.code]),
        "csv": reverse("ledger:entries", args=[account.code, "csv"]),
        "json": reverse("ledger:entries", args=[account.code, "json"]),
        "head": reverse("ledger:head", args=[account.code]),
        "request": reverse("ledger:request", args=[request.code]),
        "ask": reverse("ledger:ask", args=[request.dataset.code]),
        "audit": reverse("ledger:audit"),
        "audit-chain": reverse("ledger:audit-chain"),
        "audit-head": reverse("ledger:audit-head"),
    }


ALLOWED = {
    "steward": {"index": 200, "account": 200, "chain": 200, "csv": 200, "json": 200, "head": 200,
        "request": 200, "ask": 200},
    "custodian": {"index": 200, "account": 200, "chain": 200, "csv": 200, "json": 200, "head": 200,
        "request": 200},
    "auditor": {
        "index": 200, "account": 200, "chain": 200, "csv": 200, "json": 200, "head": 200, "request": 200,
        "audit": 200,
        "audit-chain": 200, "audit-head": 200,
    },
    "analyst": {"ask": 404},
    "stranger": {"index": 200, "account": 404, "chain": 404, "csv": 404, "json": 404, "head": 404,
        "request": 404, "ask": 404},
}  # fmt: skip


@pytest.mark.parametrize("role", [*ALLOWED, "nobody"])
def test_everybody_gets_exactly_what_their_role_allows(cast, browser, account, role):
    client = browser(cast.by_name().get(role))
    for name, address in addresses(account, BudgetRequest.objects.get()).items():
        expected = 302 if role == "nobody" else ALLOWED[role].get(name, 403)
        assert client.get(address).status_code == expected, name


def test_a_list_holds_only_the_accounts_of_ones_own_organisation(cast, browser, account):
    assert account.name in browser(cast.custodian).get(reverse("ledger:index")).text
    assert account.name not in browser(cast.stranger).get(reverse("ledger:index")).text


@pytest.mark.parametrize("role", ["steward", "auditor", "analyst", "stranger"])
@pytest.mark.parametrize("deed", ["grant", "refuse"])
def test_only_a_custodian_decides_by_page(cast, who, browser, made, role, deed):
    asked = setup.asked(who, made)
    client = browser(cast.by_name()[role])
    answer = client.post(
        reverse(f"ledger:{deed}", args=[asked.code]), {"epsilon": "1", "reason": "x"}
    )
    assert answer.status_code in (403, 404)
    asked.refresh_from_db()
    assert asked.state == BudgetRequest.State.OPEN


def test_a_custodian_is_refused_their_own_request_by_page(cast, who, browser, made):
    Membership.objects.create(
        user=cast.custodian, organisation=cast.organisation, role=Role.STEWARD
    )
    asked = ledger.request_budget(
        steward=cast.custodian,
        dataset=made,
        terms=ledger.Terms(rule=Rule.BASIC, amount=Amount(epsilon=1)),
        reason="Mine.",
    )
    client = browser(cast.custodian)
    page = client.get(reverse("ledger:request", args=[asked.code]))
    assert "somebody else decides" in page.text
    assert "/grant/" not in page.text
    assert (
        client.post(reverse("ledger:grant", args=[asked.code]), {"reason": "x"}).status_code
        == 403
    )


def test_from_asking_to_the_account_by_page(cast, browser, made):
    steward, custodian = browser(cast.steward), browser(cast.custodian)
    ask = reverse("ledger:ask", args=[made.code])
    answer = steward.post(
        ask,
        {"rule": "basic", "epsilon": "2.5", "delta": "1e-9", "reason": "A yearly table."},
        follow=True,
    )
    assert "Waiting for a custodian" in answer.text
    asked = BudgetRequest.objects.get()
    assert selectors.amount_of(asked) == Amount(epsilon=2_500_000_000, delta=10**9)
    assert made.name in custodian.get(reverse("ledger:index")).text
    page = custodian.get(reverse("ledger:request", args=[asked.code])).text
    assert 'value="2.5"' in page and "A yearly table." in page
    answer = custodian.post(
        reverse("ledger:grant", args=[asked.code]),
        {
            "name": "Workers of 2019",
            "epsilon": "2",
            "delta": "1e-9",
            "reason": "Two tables at most.",
            "confirmed": "1",
        },
        follow=True,
    )
    assert answer.redirect_chain
    account = BudgetAccount.objects.get()
    assert (account.name, account.epsilon_cap, account.delta_cap) == (
        "Workers of 2019",
        2 * 10**9,
        10**9,
    )
    assert "Two tables at most." in answer.text
    assert (
        "Two tables at most." in steward.get(reverse("ledger:request", args=[asked.code])).text
    )


def test_what_a_steward_plans_becomes_an_amount_and_the_custodian_reads_it(cast, browser, made):
    ask = reverse("ledger:ask", args=[made.code])
    answers = {"reason": "A table.", "rhythm": "quarterly", "years": "2", "readers": "named"}
    steward = browser(cast.steward)
    proposed = steward.post(
        ask, answers | {"propose": "1"}, headers={"HX-Request": "true"}
    ).text
    assert (
        'data-proposed="epsilon">2<' in proposed and 'data-proposed="releases">8<' in proposed
    )
    assert ">zCDP<" in proposed
    whole = steward.post(ask, answers | {"propose": "1", "years": "x"}).text
    assert "A table." in whole and 'data-proposed="releases">12<' in whole
    assert BudgetRequest.objects.count() == 0
    steward.post(ask, answers)
    asked = BudgetRequest.objects.get()
    assert (asked.rule, asked.releases, asked.readers) == (Rule.ZCDP, 8, "named")
    worth = selectors.guarantee_of(selectors.amount_of(asked), delta=Fraction("1e-9"))
    assert 1.9999 < worth <= 2
    page = browser(cast.custodian).get(reverse("ledger:request", args=[asked.code])).text
    assert asked.get_readers_display() in page


@pytest.mark.parametrize("readers", ["public", "named", "inside"])
@pytest.mark.parametrize("rhythm", ["once", "yearly", "quarterly", "monthly"])
def test_every_answer_gives_a_request(cast, browser, made, readers, rhythm):
    ask = reverse("ledger:ask", args=[made.code])
    answers = {"reason": "A table.", "rhythm": rhythm, "years": "3", "readers": readers}
    assert browser(cast.steward).post(ask, answers).status_code == 302


def test_a_custodian_sees_what_a_grant_means_and_confirms_it(cast, who, browser, made):
    setup.granted(who, setup.dataset(who, name="Last year"), amount=Amount(epsilon=10**9))
    asked = setup.asked(who, made, amount=Amount(epsilon=10**9, delta=10**9))
    custodian = browser(cast.custodian)
    page = custodian.get(reverse("ledger:request", args=[asked.code])).text
    assert "right at most 74 times in 100" in page
    assert page.count('<g class="hundred-') == 100
    assert page.count('<g class="hundred-gained"') == 24 and "Last year" in page
    data = {"epsilon": "4", "delta": "1e-9", "name": "Workers", "reason": "Agreed."}
    grant = reverse("ledger:grant", args=[asked.code])
    second = custodian.post(grant, data).text
    assert "right at most 99 times in 100" in second and 'name="confirmed"' in second
    assert BudgetAccount.objects.filter(name="Workers").count() == 0
    asked.refresh_from_db()
    assert asked.state == BudgetRequest.State.OPEN
    custodian.post(grant, data | {"confirmed": "1"})
    assert BudgetAccount.objects.get(name="Workers").epsilon_cap == 4 * 10**9


def test_what_is_granted_for_an_account_that_is_there_is_added_to_its_cap(
    cast, who, browser, made
):
    setup.granted(who, made, amount=Amount(epsilon=10**9))
    asked = setup.asked(who, made, amount=Amount(epsilon=10**9))
    page = browser(cast.custodian).get(reverse("ledger:request", args=[asked.code])).text
    assert "right at most 89 times in 100" in page


def test_under_zcdp_what_was_typed_becomes_the_rho_that_gives_it(cast, browser, made):
    ask = reverse("ledger:ask", args=[made.code])
    browser(cast.steward).post(
        ask, {"rule": "zcdp", "epsilon": "1", "delta": "1e-9", "reason": "Many tables."}
    )
    asked = BudgetRequest.objects.get()
    assert asked.epsilon == asked.delta == 0
    worth = selectors.guarantee_of(selectors.amount_of(asked), delta=Fraction("1e-9"))
    assert 0.9999 < worth <= 1
    account = ledger.grant(custodian=cast.custodian, request=asked, reason="Agreed.").account
    page = (
        browser(cast.custodian)
        .get(reverse("ledger:account", args=[account.code]) + "?delta=1e-6")
        .text
    )
    assert "At δ 1e-6 the cap is worth ε" in page


@pytest.mark.parametrize(
    "typed", [{"epsilon": "nan"}, {"epsilon": "-1"}, {"epsilon": "0"}, {"epsilon": "１"},
        {"epsilon": "1e-10"},
              {"epsilon": "1e400"}, {"delta": "x"}, {"reason": "  "}, {"rule": "zcdp", "delta": "0"},
              {"rule": "both"}],
)  # fmt: skip
def test_a_refused_request_keeps_what_was_typed_and_changes_nothing(cast, browser, made, typed):
    data = {
        "rule": "basic",
        "epsilon": "1.25",
        "delta": "1e-9",
        "reason": "For the yearbook.",
        **typed,
    }
    answer = browser(cast.steward).post(reverse("ledger:ask", args=[made.code]), data)
    assert answer.status_code == 200
    assert BudgetRequest.objects.count() == 0
    for name in ("epsilon", "delta"):
        assert f'value="{data[name]}"' in answer.text
    assert data["reason"].strip() in answer.text


def test_a_grant_that_is_refused_keeps_what_was_typed(cast, who, browser, made):
    asked = setup.asked(who, made)
    data = {"epsilon": "0", "delta": "0", "name": "Workers", "reason": "Because."}
    answer = browser(cast.custodian).post(reverse("ledger:grant", args=[asked.code]), data)
    assert answer.status_code == 422
    assert (
        "Workers" in answer.text and "Because." in answer.text and "above zero" in answer.text
    )
    assert BudgetAccount.objects.count() == 0


def test_both_pages_say_that_the_same_content_has_a_budget(cast, who, browser):
    first = setup.granted(who, setup.dataset(who, content="same", name="First upload"))
    again = setup.dataset(who, content="same", name="Uploaded again")
    ask = reverse("ledger:ask", args=[again.code])
    page = browser(cast.steward).get(ask).text
    assert "This very content is covered already" in page and first.code in page
    browser(cast.steward).post(
        ask, {"account": "", "rule": "basic", "epsilon": "1", "reason": "Again."}
    )
    asked = BudgetRequest.objects.filter(dataset=again).get()
    page = reverse("ledger:grant", args=[asked.code])
    data = {"account": "", "epsilon": "1", "delta": "", "reason": "Agreed."}
    answer = browser(cast.custodian).post(page, data)
    assert answer.status_code == 422 and "The same content has a budget already" in answer.text
    assert BudgetAccount.objects.count() == 1
    browser(cast.custodian).post(page, {**data, "account": first.code, "confirmed": "1"})
    assert selectors.account_of(again) == first


def test_joining_an_account_takes_its_rule(cast, who, browser):
    account = setup.granted(who, setup.dataset(who), rule=Rule.ZCDP)
    second = setup.dataset(who, name="Second")
    data = {
        "account": account.code,
        "rule": "basic",
        "epsilon": "1",
        "delta": "1e-9",
        "reason": "Same people.",
    }
    browser(cast.steward).post(reverse("ledger:ask", args=[second.code]), data)
    asked = BudgetRequest.objects.get(dataset=second)
    assert (asked.account, asked.rule) == (account, Rule.ZCDP)


def test_the_request_page_says_what_stands_in_the_way(cast, who, browser, made):
    setup.asked(who, made)
    assert (
        "A request is waiting"
        in browser(cast.steward).get(reverse("ledger:ask", args=[made.code])).text
    )


def test_the_account_page_shows_who_what_why_and_the_chain(cast, browser, account):
    setup.hold(account, "abcd234567", (10**9, 0, 0))
    ledger.charge(run_code="abcd234567")
    page = browser(cast.auditor).get(reverse("ledger:account", args=[account.code])).text
    for text in ("Agreed.", "custodian", "worker", "abcd234567", "charged", "over-time-data"):
        assert text in page
    status = browser(cast.auditor).get(reverse("ledger:chain", args=[account.code])).text
    assert "Intact" in status and chain.verify(account).head in status


def test_the_json_export_verifies_without_our_code(cast, browser, account):
    """Recomputed here with json and hashlib alone, as the documentation tells an auditor to."""
    setup.hold(account, "run1", (3, 0, 0))
    answer = browser(cast.auditor).get(reverse("ledger:entries", args=[account.code, "json"]))
    document = json.loads(b"".join(answer.streaming_content))

    def digest(value: object) -> str:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    head = digest(document["account"])
    assert head == document["first_hash"]
    for entry in document["entries"]:
        assert entry["covered"]["previous_hash"] == head
        head = digest(entry["covered"])
        assert head == entry["hash"]
    assert [entry["covered"]["kind"] for entry in document["entries"]] == ["GRANT", "HOLD"]


def test_the_csv_export_is_safe_in_a_spreadsheet(cast, who, browser, made):
    asked = setup.asked(who, made)
    account = ledger.grant(
        custodian=who.custodian, request=asked, reason="=cmd|' /C calc'!A0"
    ).account
    answer = browser(cast.auditor).get(reverse("ledger:entries", args=[account.code, "csv"]))
    rows = list(
        csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig")))
    )
    assert rows[0]["reason"] == "'=cmd|' /C calc'!A0"
    assert rows[0]["epsilon"] == "0.00000001"
    assert rows[0]["hash"] == LedgerEntry.objects.get().hash


def test_the_audit_log_filters_by_action_actor_and_object(cast, who, browser, account):
    client = browser(cast.auditor)
    log = reverse("ledger:audit")

    def found(**filters: str) -> list[AuditEntry]:
        return list(client.get(log, filters).context["page"])

    everything = found()
    assert {entry.action for entry in everything} >= {"budget.requested", "budget.granted"}
    assert [entry.action for entry in found(action="budget.granted")] == ["budget.granted"]
    assert {entry.actor for entry in found(actor="custodian")} == {"custodian"}
    assert {entry.object_code for entry in found(object=account.code)} == {account.code}
    assert found(order="oldest") == everything[::-1]
    assert found(action="budget.granted", actor="steward") == []


def test_an_auditor_reads_nothing_of_another_organisation(cast, browser):
    audit.record(
        actor=cast.stranger,
        action="dataset.uploaded",
        organisation=cast.elsewhere,
        target=("dataset", "secret"),
    )
    assert "secret" not in browser(cast.auditor).get(reverse("ledger:audit")).text


def test_the_audit_log_pages(cast, browser):
    for number in range(60):
        audit.record(
            actor="system",
            action="test.done",
            organisation=cast.organisation,
            detail={"number": number},
        )
    client = browser(cast.auditor)
    first = client.get(reverse("ledger:audit"), {"action": "test.done"})
    assert "action=test.done&amp;page=2" in first.text
    second = client.get(reverse("ledger:audit"), {"action": "test.done", "page": "2"})
    assert [entry.detail["number"] for entry in second.context["page"]] == list(
        range(9, -1, -1)
    )


@pytest.mark.slow
@pytest.mark.parametrize("tampered", [False, True])
def test_the_programme_in_the_documentation_checks_an_export(
    cast, browser, account, tmp_path, tampered
):
    setup.hold(account, "run1", (3, 0, 0))
    ledger.charge(run_code="run1")
    answer = browser(cast.auditor).get(reverse("ledger:entries", args=[account.code, "json"]))
    text = b"".join(answer.streaming_content).decode()
    (tmp_path / "ledger.json").write_text(
        text.replace("Agreed.", "Changed.") if tampered else text
    )
    page = (settings.BASE_DIR / "docs" / "ledger.md").read_text()
    (tmp_path / "check.py").write_text(page.split("```python\n")[1].split("```")[0])
    done = subprocess.run(
        [sys.executable, "-I", tmp_path / "check.py", tmp_path / "ledger.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    if tampered:
        assert done.returncode == 1 and "an entry was changed" in done.stderr
    else:
        assert done.returncode == 0 and done.stdout.endswith(f"{chain.verify(account).head}\n")
