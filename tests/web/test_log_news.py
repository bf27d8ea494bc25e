"""What an auditor reads first: what is new since they marked the log as read, and what is unusual."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from synthweb.audit import services as audit
from synthweb.audit.models import AuditEntry, LogVisit
from synthweb.lib import codes
from synthweb.pages import log_news
from synthweb.releases.models import Release, ReleaseGrant
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.scene import Scene

Open = Callable[..., Client]
pytestmark = pytest.mark.django_db


def rules(cast: Cast) -> list[str]:
    return [each.rule for each in log_news.news_for(cast.auditor).unusual]


def copies(original: Release, *, count: int, epsilon: int) -> list[Release]:
    """Releases of other runs, with what the ledger and the log have of each."""
    fields = {
        field.attname: getattr(original, field.attname)
        for field in Release._meta.concrete_fields
        if field.attname not in ("id", "code", "run_code", "name", "epsilon", "created_at")
    }
    made = []
    for number in range(count):
        release = Release.objects.create(
            **fields, run_code=f"copy{epsilon}{number}"[:16], name="Copy", epsilon=epsilon
        )
        audit.record(
            actor="worker",
            action="release.published",
            target=("release", release.code),
            organisation=release.dataset.organisation,
            detail={"receipt": release.receipt["digest"]},
        )
        made.append(release)
    return made


def test_the_home_of_an_auditor_says_what_is_new_until_it_is_marked_as_read(
    cast: Cast, played: Scene, browser: Open
) -> None:
    client = browser(cast.auditor)
    page = html_of(client.get("/"))
    news = log_news.news_for(cast.auditor)
    assert [group.title for group in news.groups] == [
        "Budget granted",
        "Releases published",
        "Shared and taken back",
    ]
    for group in news.groups:
        for deed in group.deeds:
            link = f"?object={deed.entry.object_code}#entry-{deed.entry.sequence}"
            assert link in page
    log = html_of(client.get(reverse("ledger:audit")))
    assert f'id="entry-{news.last}"' in log
    # The mark is where the page ended, not what came meanwhile.
    ReleaseGrant.objects.update(revoked_at=timezone.now())
    audit.record(
        actor="steward",
        action="release.revoked",
        target=("release", played.release.code),
        organisation=cast.organisation,
    )
    answer = client.post(reverse("pages:mark-log-read"), {"up_to": str(news.last)})
    assert answer.status_code == 302
    later = log_news.news_for(cast.auditor)
    assert later.visited
    assert [(group.title, group.count) for group in later.groups] == [
        ("Shared and taken back", 1)
    ]
    # A mark is never moved back, and nonsense moves none.
    for text in ("1", "", "-4", "9" * 40, "x"):
        client.post(reverse("pages:mark-log-read"), {"up_to": text})
    assert LogVisit.objects.get().sequence == news.last
    with pytest.raises(PermissionDenied):
        log_news.news_for(cast.steward)
    assert "Mark all of this as read" not in html_of(browser(cast.steward).get("/"))


def test_an_ordinary_history_has_nothing_unusual(cast: Cast, played: Scene) -> None:
    assert rules(cast) == []


def test_a_look_before_sharing_is_unusual_and_one_after_it_is_not(
    cast: Cast, played: Scene, browser: Open
) -> None:
    compare = reverse("releases:compare", args=[played.release.code])
    assert browser(cast.steward).get(compare).status_code == 200
    assert rules(cast) == []
    (other,) = copies(played.release, count=1, epsilon=played.release.epsilon)
    assert [rule for rule in rules(cast) if "before a release was shared" in rule]
    (found,) = [
        each
        for each in log_news.news_for(cast.auditor).unusual
        if "before a release" in each.rule
    ]
    entry = AuditEntry.objects.get(action="report.opened")
    assert found.address.endswith(f"?object={played.dataset.code}#entry-{entry.sequence}")
    assert "steward" in found.sentence
    assert other.name == "Copy"


def test_a_release_far_above_the_others_is_unusual(cast: Cast, played: Scene) -> None:
    copies(played.release, count=3, epsilon=played.release.epsilon)
    copies(played.release, count=1, epsilon=4 * played.release.epsilon)
    found = [each for each in log_news.news_for(cast.auditor).unusual if "median" in each.rule]
    assert [each.sentence for each in found] == ["Copy: ε 4, median 1"]
    Release.objects.filter(epsilon=4 * played.release.epsilon).update(
        epsilon=3 * played.release.epsilon
    )
    assert not [rule for rule in rules(cast) if "median" in rule]


def test_a_receipt_that_is_not_what_was_written_down_is_unusual(
    cast: Cast, played: Scene
) -> None:
    receipt = played.release.receipt
    receipt["digest"] = "0" * 64
    Release.objects.filter(pk=played.release.pk).update(receipt=receipt)
    (found,) = log_news.news_for(cast.auditor).unusual
    assert "differs" in found.rule
    assert found.address == reverse("releases:receipt", args=[played.release.code])


def test_runs_that_keep_failing_are_unusual(cast: Cast, played: Scene) -> None:
    for number in range(3):
        assert not [rule for rule in rules(cast) if "failed" in rule], number
        scene.copy_of(played.waiting, code=codes.new(), state=SynthesisRun.State.FAILED)
    assert [rule for rule in rules(cast) if "failed" in rule]
    SynthesisRun.objects.filter(state=SynthesisRun.State.FAILED).update(
        created_at=timezone.now() - timedelta(days=8)
    )
    assert not [rule for rule in rules(cast) if "failed" in rule]


def test_a_cap_that_is_raised_twice_within_a_week_is_unusual(cast: Cast, played: Scene) -> None:
    def grant() -> None:
        audit.record(
            actor="custodian",
            action="budget.granted",
            target=("account", played.account.code),
            organisation=cast.organisation,
        )

    grant()  # the first one opened the account
    assert rules(cast) == []
    grant()
    (found,) = log_news.news_for(cast.auditor).unusual
    assert "raised twice" in found.rule
    assert found.sentence == played.account.name
