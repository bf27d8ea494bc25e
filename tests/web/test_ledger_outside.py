"""Entries of exact counts: they have no amount, move no sum, are chained, and every verifier reads them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from django.conf import settings
from django.db import IntegrityError, transaction
from django.urls import reverse

from synthweb.ledger import chain, selectors
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import LedgerEntry
from tests.web import ledger_setup as setup
from tests.web.rest import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def who():
    return setup.people()


@pytest.fixture
def account(who):
    made = setup.dataset(who)
    account = setup.granted(who, made, amount=Amount(epsilon=10, delta=5))
    setup.hold(account, "run", (4, 1, 0))
    account.refresh_from_db()
    return account


def recorded(account) -> LedgerEntry:
    return ledger.record_outside(
        account=account,
        code="counts",
        dataset_code=account.coverages.first().dataset.code,
        reason="By region.",
        evidence="a" * 64,
    )


def test_an_entry_of_exact_counts_has_no_amount_and_moves_nothing(account):
    before = selectors.balance(account)
    entry = recorded(account)
    account.refresh_from_db()
    assert selectors.balance(account) == before
    assert not {"epsilon", "delta", "rho"} & set(chain.fields(entry, account_code=account.code))
    assert chain.verify(account).intact
    assert list(selectors.outside_of(account)) == [entry]
    # A worker that starts over writes no second one.
    assert recorded(account) == entry
    with pytest.raises(IntegrityError), transaction.atomic():
        LedgerEntry.objects.create(
            account=account,
            sequence=9,
            kind="OUTSIDE",
            epsilon=1,
            run_code="other",
            actor="x",
            at=entry.at,
            hash="9" * 64,
        )


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_the_verifier_of_exports_says_what_is_outside(who, account, browser, tmp_path, kind):
    recorded(account)
    ledger.charge(run_code="run")
    answer = browser(who.auditor).get(reverse("ledger:entries", args=[account.code, kind]))
    whole = b"".join(answer.streaming_content)
    program = settings.BASE_DIR / "synthweb" / "ledger" / "verify_ledger.py"

    def judged(content: bytes) -> subprocess.CompletedProcess[str]:
        path = tmp_path / f"ledger.{kind}"
        path.write_bytes(content)
        command = [sys.executable, str(program), str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    accepted = judged(whole)
    assert accepted.returncode == 0, accepted.stdout
    assert "OUTSIDE THE GUARANTEE: entry 3" in accepted.stdout
    assert judged(whole.replace(b"By region.", b"By street.", 1)).returncode == 1


def test_an_entry_with_an_amount_is_refused_by_the_verifier_of_exports(
    who, account, browser, tmp_path
):
    recorded(account)
    answer = browser(who.auditor).get(reverse("ledger:entries", args=[account.code, "json"]))
    export = json.loads(b"".join(answer.streaming_content))
    export["entries"][-1]["covered"]["epsilon"] = 1
    path = tmp_path / "ledger.json"
    path.write_text(json.dumps(export))
    program = settings.BASE_DIR / "synthweb" / "ledger" / "verify_ledger.py"
    judged = subprocess.run(
        [sys.executable, str(program), str(path)], capture_output=True, text=True, check=False
    )
    assert judged.returncode == 1


def test_pages_and_rest_show_no_number(who, account, browser):
    recorded(account)
    client = browser(who.auditor)
    page = client.get(reverse("ledger:account", args=[account.code]))
    assert page.status_code == 200
    assert "outside the guarantee" in page.text and "no amount" in page.text
    entries = (
        Caller(who.auditor, "read").get(f"/accounts/{account.code}/entries/").json()["results"]
    )
    (entry,) = [each for each in entries if each["kind"] == "OUTSIDE"]
    assert entry["amount"] is None
