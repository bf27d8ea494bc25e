"""A workbook with formulas is refused until its steward says who vouches for them, and then every receipt
says it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine import verifier
from synth_engine.formats import Dialect
from synthweb.accounts.models import User
from synthweb.audit.models import AuditEntry
from synthweb.datasets import sealed_names
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.ledger import services as ledger
from synthweb.lib.errors import Conflict
from synthweb.releases import chain, paid
from synthweb.runs import services as runs
from synthweb.runs import worker
from tests.cast import Cast
from tests.engine.workbooks import Xml, workbook
from tests.web import scene
from tests.web.rest import Caller

pytestmark = pytest.mark.django_db(transaction=True)

WHO = "A. Clerk, author of the sheet"
ABOUT: dict[str, Any] = {
    "attributes": [
        {"name": "age", "kind": "integer", "low": 0, "high": 99, "provenance": "declared"},
        {"name": "works", "kind": "boolean", "true": "yes", "false": "no", "missing": [""]}
        | {"provenance": "declared"},
    ]
}


def uploaded(cast: Cast) -> Dataset:
    rows: list[list[Any]] = [["age", "works"]]
    for n in range(60):
        works = Xml(f"<f>IF(A{n + 2}&gt;9,1,0)</f><v>{'yes' if n % 2 else 'no'}</v>", 't="str"')
        rows.append([n, works])
    made = datasets.store_stream(
        steward=cast.steward,
        organisation=cast.organisation,
        name="People",
        file_kind="xlsx",
        chunks=[workbook({"Data": rows})],
    )
    runs.request_ingest(dataset=made, actor=cast.steward)
    return scene.read(made)


def vouched(cast: Cast) -> Dataset:
    made = uploaded(cast)
    client = Client()
    client.force_login(cast.steward)
    page = reverse("pages:form", args=[made.code])
    assert client.post(page, {"header": "yes", "vouched_by": WHO}).status_code == 302
    return scene.read(made)


def told(made: Dataset, person: User) -> dict[str, Any]:
    client = Client()
    client.force_login(person)
    refusal = client.get(reverse("api:dataset-detail", args=[made.code])).json()["refusal"]
    return dict(refusal)


def test_the_steward_alone_is_told_which_columns_have_formulas(cast: Cast) -> None:
    made = uploaded(cast)
    assert made.status == Dataset.Status.REFUSED
    assert told(made, cast.steward)["column"] == "works"
    assert told(made, cast.custodian)["column"] is None
    assert "vouches" in told(made, cast.custodian)["repair"]


def test_every_receipt_names_who_vouches(cast: Cast) -> None:
    made = vouched(cast)
    assert made.status == Dataset.Status.READY, made.refusal
    form = sealed_names.form_of(made)
    assert form is not None and form.vouched_by == WHO
    said = AuditEntry.objects.filter(action="dataset.form_said").latest("pk")
    assert said.detail["vouched_by"] == WHO
    datasets.declare_domain(actor=cast.steward, dataset=made, document=ABOUT)
    request = scene.ask(steward=cast.steward, dataset=made)
    ledger.grant(custodian=cast.custodian, request=request, reason="Agreed.")
    run = scene.submit(steward=cast.steward, dataset=made)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.release is not None, run.failure
    check = scene.measured(steward=cast.steward, release=run.release)
    for receipt in (chain.receipt_of(run.release), paid.receipt_of(check)):
        assert receipt["source"] == {"formulas": True, "vouched_by": WHO}
        assert any(WHO in line for line in verifier.verify(receipt).sentences)


def test_programs_say_it_by_rest(cast: Cast) -> None:
    made = uploaded(cast)
    caller = Caller(cast.steward, "read", "spend")
    address = f"/datasets/{made.code}/form/"
    assert caller.send(address, {"vouched_by": WHO}, method="put").status_code in (200, 202)
    assert scene.read(made).status == Dataset.Status.READY


def test_nobody_vouches_for_a_file_without_formulas(cast: Cast) -> None:
    made = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    with pytest.raises(Conflict, match="no formulas"):
        datasets.set_dialect(actor=cast.steward, dataset=made, dialect=Dialect(vouched_by=WHO))
