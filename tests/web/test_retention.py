"""What its steward gave a last day is deleted after it; receipts, ledger and audit log stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from synth_engine.errors import VerificationError
from synthweb.audit.models import AuditEntry
from synthweb.celery import app
from synthweb.datasets import services as datasets
from synthweb.datasets import table_keys
from synthweb.datasets.models import Dataset
from synthweb.ledger.models import LedgerEntry
from synthweb.lib.errors import Refused
from synthweb.releases import withdrawing
from synthweb.releases.models import Edition, FirstLook, Release, ReleaseGrant
from synthweb.runs import artefacts, errors, queue, retention, services, tasks
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web import addresses, doorbell, scene
from tests.web.scene import Scene

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("noon", "places"),
]
Browser = Callable[..., Client]


def today() -> date:
    return timezone.now().date()


@pytest.fixture
def played(cast: Cast) -> Iterator[Scene]:
    with doorbell.queue_at(doorbell.IN_MEMORY):
        yield scene.play(
            steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
        )


def ended(dataset: Dataset, *what: str, days: int = 1) -> None:
    """The last day of these is so many days ago."""
    day = today() - timedelta(days=days)
    Dataset.objects.filter(pk=dataset.pk).update(**{f"{name}_until": day for name in what})


def test_the_page_sets_days_and_the_list_says_what_goes_and_what_it_costs(
    played: Scene, browser: Browser, cast: Cast
) -> None:
    client, day = browser(cast.steward), today() + timedelta(days=30)
    address = reverse("pages:dataset-retention", args=[played.dataset.code])
    assert client.post(address, {"table_until": day, "releases_until": day}).status_code == 302
    page = browser(cast.auditor).get(reverse("pages:retention")).text
    assert page.count(f"{day:%Y-%m-%d}") == 2
    assert "No new release and no comparison" in page
    assert "Receipts stay, and budget is not given back." in page
    assert "noisy answers of" not in page
    detail = AuditEntry.objects.get(action="dataset.retention_set").detail
    assert detail["table_until"] == f"{day:%Y-%m-%d}"
    assert detail["answers_until"] == ""


def test_a_day_that_is_over_is_refused_and_keeps_what_was_typed(
    played: Scene, browser: Browser, cast: Cast
) -> None:
    past = today() - timedelta(days=1)
    address = reverse("pages:dataset-retention", args=[played.dataset.code])
    answer = browser(cast.steward).post(address, {"answers_until": past})
    assert answer.status_code == 422
    assert "the day is over; choose today or a later day" in answer.text
    assert f"{past:%Y-%m-%d}" in answer.text
    with pytest.raises(Refused):
        datasets.set_retention(
            actor=cast.steward, dataset=played.dataset, table=past, answers=None, releases=None
        )


def test_what_is_kept_until_today_is_there_today(played: Scene) -> None:
    ended(played.dataset, "table", "answers", "releases", days=0)
    assert retention.delete_due() == 0


def test_a_table_goes_after_its_day_unless_a_run_is_open(played: Scene, cast: Cast) -> None:
    dataset, spent = played.dataset, LedgerEntry.objects.count()
    # The scene has a run that waits.
    ended(dataset, "table")
    assert retention.delete_due() == 0
    services.cancel(actor=cast.steward, run=played.waiting)
    assert retention.delete_due() == 1
    dataset.refresh_from_db()
    assert dataset.is_deleted
    assert dataset.vault_name not in table_keys.modification_times()
    assert AuditEntry.objects.get(action="dataset.deleted").actor == "system"
    assert LedgerEntry.objects.count() >= spent
    assert retention.delete_due() == 0


def test_the_page_of_a_table_whose_day_came_says_so(
    played: Scene, browser: Browser, cast: Cast
) -> None:
    services.cancel(actor=cast.steward, run=played.waiting)
    ended(played.dataset, "table")
    retention.delete_due()
    page = browser(cast.steward).get(reverse("pages:dataset", args=[played.dataset.code]))
    assert "by the installation itself" in page.text


def test_erased_answers_cannot_be_fitted_again(played: Scene, cast: Cast) -> None:
    [run] = SynthesisRun.objects.filter(state=SynthesisRun.State.FINISHED)
    ended(played.dataset, "answers")
    assert retention.delete_due() == 1
    run.refresh_from_db()
    assert not artefacts.sweep(is_known=lambda name: True)
    assert run.answers_name == ""
    assert run.answers_digest
    with pytest.raises(VerificationError, match="erased at the end of their time"):
        artefacts.get(name=run.answers_name, digest=run.answers_digest)
    SynthesisRun.objects.filter(pk=run.pk).update(state=SynthesisRun.State.FAILED)
    with pytest.raises(errors.NotOpen):
        services.resume(actor=cast.steward, run=run)
    assert AuditEntry.objects.get(action="answers.erased").detail == {"runs": 1}


def test_a_release_is_withdrawn_and_its_receipt_stays(
    played: Scene, browser: Browser, cast: Cast
) -> None:
    release, receipt = played.release, played.release.receipt
    ended(played.dataset, "releases")
    assert retention.delete_due() == Release.objects.filter(dataset=played.dataset).count()
    release = Release.objects.get(pk=release.pk)
    assert release.receipt == receipt
    assert set(release.model) <= {"domain", "database"}
    assert not ReleaseGrant.objects.filter(release=release, revoked_at=None).exists()
    assert not FirstLook.objects.filter(release=release).exists()
    assert not Edition.objects.filter(release=release).exclude(model={}).exists()
    client = browser(cast.steward)
    assert "was withdrawn on" in client.get(f"/releases/{release.code}/").text
    assert client.get(f"/releases/{release.code}/receipt/").status_code == 200
    refused = client.get(f"/releases/{release.code}/look/")
    assert refused.status_code == 403
    assert browser(played.reader).get(f"/releases/{release.code}/look/").status_code == 404
    withdrawing.withdraw(release)
    assert AuditEntry.objects.filter(action="release.withdrawn").count() == 1


def test_no_address_of_a_withdrawn_release_fails(
    played: Scene, browser: Browser, cast: Cast
) -> None:
    routes = [
        route
        for route in addresses.routes()
        if "releases/" in route and not route.startswith(addresses.ADMIN)
    ]
    filled = [addresses.fill(route, scene=played, cast=cast) for route in routes]
    withdrawing.withdraw(played.release)
    clients = [browser(person) for person in (cast.steward, cast.auditor)]
    failed = [
        (address, answer.status_code)
        for address in filled
        for client in clients
        if (answer := client.get(address)).status_code >= 500
    ]
    assert len(routes) > 30
    assert not failed


def test_beat_looks_once_an_hour() -> None:
    entry = app.conf.beat_schedule["retention"]
    assert (entry["task"], entry["schedule"]) == (queue.RETENTION, 3600.0)
    assert tasks.delete_due.name == queue.RETENTION
