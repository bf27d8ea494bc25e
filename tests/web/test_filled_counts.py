"""Filled counts in the web: asked for, approved by somebody else, entered in the ledger before a row is read,
and published as aggregates."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from django.http import Http404
from django.test import Client
from django.urls import reverse

from synth_engine import pipeline, verifier
from synth_engine.errors import SpecError
from synth_engine.mixing.policy import FillPolicy
from synthweb.accounts.models import Membership, Role
from synthweb.audit.models import AuditEntry
from synthweb.datasets import services as datasets
from synthweb.ledger import chain, selectors
from synthweb.ledger import services as ledger
from synthweb.ledger.errors import NotCustodian, OwnRequest
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from synthweb.lib.errors import Conflict
from synthweb.notifications.models import Notification
from synthweb.releases import chain as receipts
from synthweb.runs import filling, filling_services, reconcile, worker
from synthweb.runs.errors import NotOpen, NotReady
from synthweb.runs.filling import FillRequest
from synthweb.runs.models import FilledCounts
from tests.cast import Cast
from tests.web import ledger_setup, scene
from tests.web.rest import Caller

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "Xanthippe-4711"
WHY = "The law asks for exact numbers."


def requested(dataset: Any, **policy: Any) -> FillRequest:
    return FillRequest(
        dataset=dataset,
        by=("region", "works"),
        policy=FillPolicy(**{"least_records": 100} | policy),
    )


def asked(cast: Cast, dataset: Any = None) -> FilledCounts:
    request = requested(dataset or scene.funded(cast))
    digest = filling.propose(request).plan.digest
    return filling_services.ask(
        steward=cast.steward, request=request, plan_sha256=digest, name="Regions", purpose=WHY
    )


def approved(cast: Cast, counts: FilledCounts) -> FilledCounts:
    return filling_services.approve(
        custodian=cast.custodian,
        counts=counts,
        plan_sha256=counts.plan_digest,
        reason="Agreed.",
    )


def published(cast: Cast, dataset: Any = None) -> FilledCounts:
    counts = approved(cast, asked(cast, dataset))
    worker.fill_counts(code=counts.code)
    counts.refresh_from_db()
    assert counts.state == "published", counts.failure
    return counts


def outside() -> list[LedgerEntry]:
    return list(LedgerEntry.objects.filter(kind="OUTSIDE"))


# --- from a request to counts -------------------------------------------------------------------------------
def test_counts_are_approved_entered_in_the_ledger_and_published(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = scene.funded(cast)
    before = scene.submit(steward=cast.steward, dataset=dataset)
    worker.synthesize(code=before.code)
    before.refresh_from_db()
    release = before.release
    cited = release.receipt["digest"]
    assert not verifier.verify(receipts.receipt_of(release)).caveats
    counts = asked(cast, dataset)
    assert not outside()
    counts = approved(cast, counts)
    assert not outside() and counts.counts is None
    seen: list[int] = []
    fill = pipeline.fill

    def watched(*args: Any, **options: Any) -> Any:
        seen.append(len(outside()))
        return fill(*args, **options)

    monkeypatch.setattr(pipeline, "fill", watched)
    worker.fill_counts(code=counts.code)
    counts.refresh_from_db()
    assert counts.state == "published", counts.failure
    assert seen == [1], "the entry stands before a row is read"
    (entry,) = outside()
    assert (entry.run_code, entry.dataset_code) == (counts.code, dataset.code)
    assert entry.evidence == AuditEntry.objects.get(action="counts.approved").hash
    assert chain.verify(BudgetAccount.objects.get()).intact
    groups = {tuple(each["group"]): each["records"] for each in counts.counts["groups"]}
    assert groups["north", "yes"] == 100 and groups["north", "no"] == 100
    assert 100 <= groups["south", "yes"] < 200 and 100 <= groups["(other)", "(missing)"] < 200
    assert len(groups) == 9 and set(counts.counts) & {"total", "added", "filled"} == set()
    # What was released before is marked, under the digest that was cited; what comes later says so in its
    # core.
    (caveat,) = verifier.verify(receipts.receipt_of(release)).caveats
    assert "NO differential privacy holds" in caveat and release.receipt["digest"] == cited
    after = scene.submit(steward=cast.steward, dataset=dataset, epsilon="0.5")
    worker.synthesize(code=after.code)
    after.refresh_from_db()
    assert after.release.receipt["outside_guarantee"] is True
    assert verifier.verify(receipts.receipt_of(after.release)).caveats == [caveat]
    events = set(Notification.objects.values_list("user__username", "event"))
    assert (cast.custodian.username, "counts.asked") in events
    assert (cast.steward.username, "counts.decided") in events
    # A worker that comes late changes nothing.
    published_once = counts.counts
    worker.fill_counts(code=counts.code)
    counts.refresh_from_db()
    assert counts.counts == published_once and len(outside()) == 1


def test_a_worker_that_is_killed_after_the_entry_is_followed_by_another(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = approved(cast, asked(cast))

    class Killed(BaseException):
        pass

    def dies(*_args: Any, **_options: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(pipeline, "fill", dies)
        worker.fill_counts(code=counts.code)
    assert len(outside()) == 1
    FilledCounts.objects.update(lease_held=False)
    assert reconcile.SUBJECTS["runs.filled_counts"] is FilledCounts
    worker.fill_counts(code=counts.code)
    counts.refresh_from_db()
    assert counts.state == "published" and len(outside()) == 1


def test_a_table_that_is_not_there_costs_nothing_and_the_steward_may_ask_again(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = scene.funded(cast)
    counts = approved(cast, asked(cast, dataset))
    with monkeypatch.context() as patched:
        patched.setattr(
            pipeline,
            "require_filling",
            lambda *_a, **_k: (_ for _ in ()).throw(SpecError("no")),
        )
        worker.fill_counts(code=counts.code)
    counts.refresh_from_db()
    assert counts.state == "failed" and counts.outside_at is None and not outside()
    assert asked(cast, dataset).state == "asked"


# --- refusals -----------------------------------------------------------------------------------------------
def test_a_second_table_of_the_same_people_is_refused_by_name(cast: Cast) -> None:
    dataset = scene.funded(cast)
    counts = asked(cast, dataset)
    other = replace(requested(dataset), by=("region",))
    with pytest.raises(NotReady, match=f"exist already: Regions \\({counts.code}\\)"):
        filling.propose(other)
    filling_services.withdraw(steward=cast.steward, counts=counts)
    assert filling.propose(other).plan.groups == 3
    published(cast, dataset)
    with pytest.raises(NotReady, match="differences of two such tables"):
        filling.propose(other)


def test_whoever_asks_does_not_approve_and_stewards_do_not_decide(cast: Cast) -> None:
    Membership.objects.create(
        user=cast.custodian, organisation=cast.organisation, role=Role.STEWARD
    )
    dataset = scene.funded(cast)
    request = requested(dataset)
    own = filling_services.ask(
        steward=cast.custodian,
        request=request,
        plan_sha256=filling.propose(request).plan.digest,
        name="",
        purpose=WHY,
    )
    with pytest.raises(OwnRequest):
        approved(cast, own)
    with pytest.raises(NotCustodian):
        filling_services.approve(
            custodian=cast.steward, counts=own, plan_sha256=own.plan_digest, reason="x"
        )
    second = ledger_setup.person(cast.organisation, Role.CUSTODIAN)
    with pytest.raises(NotReady, match="another plan"):
        filling_services.approve(custodian=second, counts=own, plan_sha256="0" * 64, reason="x")
    with pytest.raises(NotReady, match="A reason is needed"):
        filling_services.approve(
            custodian=second, counts=own, plan_sha256=own.plan_digest, reason=" "
        )
    filling_services.refuse(custodian=second, counts=own, reason="Make a private release.")
    with pytest.raises(NotOpen):
        filling_services.approve(
            custodian=second, counts=own, plan_sha256=own.plan_digest, reason="x"
        )
    assert not outside()


def test_two_custodians_approve_where_the_organisation_asks_for_two(cast: Cast) -> None:
    counts = asked(cast)
    ledger.set_two_custodians(actor="system", organisation=cast.organisation, above=10**9)
    counts = approved(cast, counts)
    assert counts.state == "asked" and counts.first_approved_by == cast.custodian
    with pytest.raises(NotReady, match="two custodians approve"):
        approved(cast, counts)
    second = ledger_setup.person(cast.organisation, Role.CUSTODIAN)
    counts = filling_services.approve(
        custodian=second, counts=counts, plan_sha256=counts.plan_digest, reason="Agreed."
    )
    assert counts.state == "approved"


def test_a_policy_that_cannot_be_met_is_refused_before_anything_is_asked(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    dataset = scene.funded(cast)
    with pytest.raises(SpecError, match="no number of records"):
        requested(dataset, largest_share=Fraction(0))
    client = browser(cast.steward)
    page = reverse("runs:ask-filled", args=[dataset.code])
    typed = {
        "name": "Regions",
        "purpose": WHY,
        "by": ["region"],
        "least_records": "100",
        "largest_share": "0",
        "least_days": "1",
        "epsilon": "1",
    }
    answer = client.post(page, typed)
    assert answer.status_code == 422 and "no number of records can meet" in answer.text
    assert WHY in answer.text, "what was typed stays"
    assert not FilledCounts.objects.exists()


def test_a_table_whose_counts_are_waiting_is_not_replaced_or_deleted(cast: Cast) -> None:
    dataset = scene.funded(cast)
    approved(cast, asked(cast, dataset))
    with pytest.raises(Conflict, match="counts of this dataset are being taken"):
        datasets.delete(actor=cast.steward, dataset=dataset)


# --- by the pages and by REST -------------------------------------------------------------------------------
def test_steward_custodian_and_analyst_by_the_pages(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    dataset = scene.funded(cast)
    steward, custodian, analyst, stranger = (
        browser(user) for user in (cast.steward, cast.custodian, cast.analyst, cast.stranger)
    )
    new = reverse("runs:ask-filled", args=[dataset.code])
    assert steward.get(new).status_code == 200
    typed = {
        "name": "Regions",
        "purpose": WHY,
        "by": ["region", "works"],
        "least_records": "100",
        "largest_share": "10",
        "least_days": "1",
        "epsilon": "1",
    }
    shown = steward.post(new, typed)
    assert shown.status_code == 200 and not FilledCounts.objects.exists()
    assert "ε 1" in shown.text and "1.4" in shown.text, (
        "the price and the error of the alternative"
    )
    digest = shown.context["facts"].digest
    steward.post(new, typed | {"confirmed": digest})
    counts = FilledCounts.objects.get()
    page = reverse("runs:filled", args=[counts.code])
    assert "runs:approve-filled" not in steward.get(page).text
    assert analyst.get(page).status_code == stranger.get(page).status_code == 404
    assert counts.code not in analyst.get(reverse("runs:filled-counts")).text
    deciding = custodian.get(page)
    assert WHY in deciding.text and "cannot be taken back" in deciding.text
    custodian.post(
        reverse("runs:approve-filled", args=[counts.code]),
        {"plan": digest, "reason": "Agreed."},
    )
    worker.fill_counts(code=counts.code)
    for client in (steward, custodian, analyst):
        text = client.get(page).text
        assert "not differentially private" in text.lower() and "south" in text
        table = client.get(reverse("runs:filled-file", args=[counts.code, "csv"])).text
        assert len(list(csv.reader(io.StringIO(table)))) == 10
        document = client.get(reverse("runs:filled-file", args=[counts.code, "json"])).json()
        assert document["guarantee"] is None
    # An analyst reads what is published, and neither the dataset nor why.
    text = analyst.get(page).text
    assert dataset.code not in text and WHY not in text and "Agreed." not in text
    assert stranger.get(page).status_code == 404
    assert (
        analyst.get(reverse("runs:filled-file", args=[counts.code, "txt"])).status_code == 404
    )


def test_the_same_by_rest(cast: Cast) -> None:
    dataset = scene.funded(cast)
    steward, custodian = (
        Caller(cast.steward, "spend", "read"),
        Caller(cast.custodian, "grant", "read"),
    )
    body = {"dataset": dataset.code, "by": ["region"]}
    planned = steward.send("/filled-counts/plan/", body).json()
    assert planned["groups"] == 3 and planned["private"]["price"]["epsilon"] == "1"
    whole = body | {"plan_sha256": planned["plan_sha256"], "purpose": WHY}
    twice = [
        steward.send("/filled-counts/", whole, headers={"Idempotency-Key": "one"}).json()[
            "code"
        ]
        for _ in range(2)
    ]
    code = twice[0]
    assert twice == [code, code] and FilledCounts.objects.count() == 1
    refused = steward.send("/filled-counts/", whole)
    assert refused.status_code == 409 and code in refused.json()["detail"]
    assert custodian.send(f"/filled-counts/{code}/refuse/", {}).status_code == 400
    agreed = {"plan_sha256": planned["plan_sha256"], "reason": "Agreed."}
    assert steward.send(f"/filled-counts/{code}/approve/", agreed).status_code == 403
    answer = custodian.send(f"/filled-counts/{code}/approve/", agreed)
    assert answer.status_code == 202 and answer.json()["state"] == "approved"
    worker.fill_counts(code=code)
    for caller, sees in ((steward, True), (Caller(cast.analyst, "read"), False)):
        found = caller.get(f"/filled-counts/{code}/").json()
        assert found["private"] is False and len(found["counts"]["groups"]) == 3
        assert (found["dataset"] == dataset.code, found["purpose"] == WHY) == (sees, sees)
        assert len(caller.get("/filled-counts/").json()) == 1
    assert steward.send(f"/filled-counts/{code}/withdraw/", {}).status_code == 409


# --- canary -------------------------------------------------------------------------------------------------
def test_no_cell_of_the_table_leaves_but_in_counts(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    table = scene.TABLE + "".join(f"{CANARY},{index},{CANARY}\n" for index in range(40))
    counts = published(cast, scene.funded(cast, table=table))
    counts.refresh_from_db()
    stored = json.dumps([counts.counts, counts.plan, counts.failure])
    stored += json.dumps(list(AuditEntry.objects.values_list("detail", flat=True)))
    stored += "".join(entry.reason for entry in outside())
    assert CANARY not in stored
    for user in (cast.steward, cast.custodian, cast.analyst, cast.auditor):
        client = browser(user)
        text = client.get(reverse("runs:filled", args=[counts.code])).text
        for kind in ("csv", "json"):
            text += client.get(reverse("runs:filled-file", args=[counts.code, kind])).text
        assert CANARY not in text


def test_strangers_find_nothing(cast: Cast) -> None:
    counts = asked(cast)
    with pytest.raises(Http404):
        filling.counts_of(cast.stranger, counts.code)
    assert not filling.counts_for(cast.stranger).exists()
    assert selectors.outside_of(counts.account).count() == 0
