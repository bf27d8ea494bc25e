"""What voids guarantees is marked beside every receipt of the same people, whatever the receipt is of and
whichever account paid."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import models, transaction
from django.test import Client

from synth_engine import verifier
from synth_engine.privacy.receipt import OUTSIDE
from synth_engine.verifier.statement import OUTSIDE_CAVEAT
from synthweb.datasets.models import Dataset, LearnedDescription
from synthweb.ledger import selectors as ledger_selectors
from synthweb.ledger import services as ledger
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import BudgetAccount
from synthweb.lib.append_only import AppendOnly
from synthweb.releases import chain, databases, paid
from synthweb.releases import services as releases
from synthweb.releases.models import PaidCheck, Release, RepairedTable
from synthweb.runs import link_services, linking, validations, worker
from synthweb.runs.models import Link, LinkSide
from tests import extras
from tests.cast import Cast
from tests.privacy import test_database_receipts
from tests.web import scene
from tests.web.html import html_of
from tests.web.test_filled_counts import published
from tests.web.test_validations import NEXT_WEEK, request

pytestmark = pytest.mark.django_db(transaction=True)
MARKED: set[type[models.Model]] = {Release, PaidCheck, LinkSide, LearnedDescription}
DERIVED: set[type[models.Model]] = {RepairedTable}.union(*extras.said("DERIVED"))
"""Made of releases, which their receipts name by the digest under which marks are found."""


def test_every_receipt_that_is_stored_has_a_chain_of_marks() -> None:
    stored = {
        model
        for model in apps.get_models()
        if any(each.name == "receipt" for each in model._meta.get_fields())
    }
    assert stored == MARKED | DERIVED
    for model in MARKED:
        mark = model._meta.get_field("marks").related_model
        assert isinstance(mark, type) and issubclass(mark, AppendOnly), model
        kinds = mark._meta.get_field("kind").choices
        assert kinds is not None and OUTSIDE in dict(kinds), model


def handed_out(row: Any) -> Any:
    """The receipt as somebody gets it."""
    match row:
        case Release():
            return chain.receipt_of(row)
        case PaidCheck():
            return paid.receipt_of(row)
        case LinkSide():
            return linking.receipt_of(row)
        case LearnedDescription():
            return chain.receipt_of_purchase(row)
    raise AssertionError(row)


def twin_of(cast: Cast) -> Dataset:
    """The same bytes under a budget of their own, which a custodian granted for a reason."""
    made = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    scene.datasets.declare_domain(actor=cast.steward, dataset=made, document=scene.DOMAIN)
    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=made),
        reason="Agreed.",
        opening=ledger.Opening(separate_reason="Another project."),
    )
    return made


def released(cast: Cast, dataset: Dataset, *, epsilon: str = "1") -> Release:
    run = scene.submit(steward=cast.steward, dataset=dataset, epsilon=epsilon)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.release is not None, run.failure
    return run.release


def sketch_of(release: Release) -> LinkSide:
    """A side of a link with a receipt of its own, in place of a sketch."""
    link = Link.objects.create(name="Link", invitation=release.code, rows=1)
    return LinkSide.objects.create(
        link=link,
        side="left",
        dataset=release.dataset,
        domain_version=release.domain_version,
        account=release.account,
        steward=release.created_by,
        epsilon="1",
        receipt=release.receipt,
    )


def purchase_of(release: Release) -> LearnedDescription:
    """What a run learned once, with a receipt of its own."""
    return LearnedDescription.objects.create(
        dataset=release.dataset,
        version=release.domain_version,
        run_code="purchase",
        learned={},
        receipt=release.receipt,
    )


def database_of(release: Release, folder: Path) -> Release:
    """A release of several tables that the same account paid for."""
    return Release.objects.create(
        dataset=release.dataset,
        account=release.account,
        domain_version=release.domain_version,
        run_code="database",
        name="Database",
        mechanism=databases.MECHANISM,
        epsilon=1,
        delta=0,
        rows=1,
        sample_rows=1,
        receipt=test_database_receipts.released(folder, delta=Fraction(0)),
        model={},
        created_by=release.created_by,
    )


def test_published_counts_are_marked_beside_every_receipt_of_the_same_people(
    cast: Cast, tmp_path: Path, browser: Callable[..., Client]
) -> None:
    dataset = scene.funded(cast)
    twin = twin_of(cast)
    assert BudgetAccount.objects.count() == 2
    release = released(cast, dataset)
    releases.share(actor=cast.steward, release=release, analyst=cast.analyst)
    validations.grant(
        actor=cast.steward, release=release, amount=Amount(epsilon=10**9), until=NEXT_WEEK
    )
    asked = validations.submit(analyst=cast.analyst, release=release, request=request())
    worker.synthesize(code=asked.code)
    scene.measured(steward=cast.steward, release=release)
    of_twin = released(cast, twin)
    sketch_of(release)
    database_of(release, tmp_path)
    purchase_of(release)

    rows = [row for model in MARKED for row in model._default_manager.all()]
    assert sorted(type(row).__name__ for row in rows) == [
        "LearnedDescription", "LinkSide", "PaidCheck", "PaidCheck", "Release", "Release", "Release",
    ]  # fmt: skip
    for row in rows:
        receipt = handed_out(row)
        assert receipt["marks"] == [] and receipt["seal"] is not None, row
        assert OUTSIDE_CAVEAT not in verifier.verify_any(receipt).caveats, row
        assert not (isinstance(row, PaidCheck) and paid.part_of(row).outside)
    published(cast, dataset)
    for row in rows:
        before, receipt = row.receipt, handed_out(row)
        assert [mark["kind"] for mark in receipt["marks"]] == [OUTSIDE], row
        assert receipt["digest"] == before["digest"], row
        assert OUTSIDE_CAVEAT in verifier.verify_any(receipt).caveats, row
    analyst, steward = browser(cast.analyst), browser(cast.steward)
    scene.let_ticks_pass()
    for client, page in ((analyst, "validation"), (steward, "paid"), (analyst, "paid")):
        assert "data-outside" in html_of(client.get(f"/releases/{release.code}/{page}/"))
    # The start and the end together would tell how long the table was read.
    for client, tells in ((analyst, False), (steward, True)):
        (counts,) = client.get("/api/v1/filled-counts/").json()
        assert (counts["outside_at"] is not None) is tells
    # What comes later says it in its core, under the other account too.
    assert ledger_selectors.outside_of(of_twin.account).count() == 1
    later = released(cast, twin, epsilon="0.5")
    assert later.receipt["outside_guarantee"] is True
    assert OUTSIDE_CAVEAT in verifier.verify(chain.receipt_of(later)).caveats


def test_a_mark_of_a_sketch_is_on_its_file_too(cast: Cast) -> None:
    release = released(cast, scene.funded(cast))
    side = sketch_of(release)
    side.sketch = {"receipt": release.receipt, "counts": []}
    side.save(update_fields=["sketch"])
    with transaction.atomic():
        link_services.mark_outside([release.account])
    seen = linking.seen_by(side.link, cast.organisation)
    for name in ("left-receipt", "left-sketch"):
        document: Any = linking.file_of(seen, name)
        receipt = document if name == "left-receipt" else document["receipt"]
        assert [mark["kind"] for mark in receipt["marks"]] == [OUTSIDE]
