"""Public links: what a visitor without an account sees of a release, until when, and what stays closed."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from synth_engine import verifier
from synthweb.audit.models import AuditEntry
from synthweb.lib.errors import Conflict, Refused
from synthweb.lib.rates import PerMinute
from synthweb.releases import chain, public_links, services, visits
from synthweb.releases.models import (
    PublicLink,
    PublicLinkUse,
    Release,
    ReleaseGrant,
    ReleaseMark,
)
from synthweb.releases.slots import Slot
from tests.cast import Cast
from tests.web import addresses
from tests.web.html import html_of
from tests.web.scene import Scene

Open = Callable[..., Client]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


def make(cast: Cast, release: Release, *, days: int = 7) -> public_links.MadeLink:
    until = timezone.now().date() + timedelta(days=days)
    return public_links.make(actor=cast.steward, release=release, until=until)


def page(token: str, name: str = "release") -> str:
    return reverse(f"public:{name}", args=[token])


def test_whoever_has_the_address_reads_the_release_and_nobody_else(
    cast: Cast, played: Scene
) -> None:
    made = make(cast, played.release)
    visitor = Client()
    shown = visitor.get(page(made.token))
    text = html_of(shown)
    assert shown.status_code == 200
    assert played.release.name in text
    assert f"Receipt SHA-256 {played.release.receipt['digest']}" in text
    assert "noindex" in shown["X-Robots-Tag"]
    assert shown["Referrer-Policy"] == "no-referrer"
    assert "no-store" in shown["Cache-Control"]
    # No address of the application that needs an account, but for the style of the page and its language.
    targets = set(re.findall(r'(?:href|action|hx-get)="(/[^"]*)"', text))
    assert {
        target for target in targets if not target.startswith(("/static/", "/public/"))
    } == set()
    assert played.dataset.name not in text
    other = made.token[:-1] + ("A" if made.token[-1] != "A" else "B")
    unknown = [visitor.get(page(token)) for token in (other, "A" * 43)]
    for answer in unknown:
        assert answer.status_code == 404
        assert "noindex" in answer["X-Robots-Tag"]
        assert "data-no-link" in html_of(answer)
        assert 'href="/"' not in html_of(answer)  # a visitor has no start page
    PublicLink.objects.update(expires_at=timezone.now())
    ended = visitor.get(page(made.token))
    # Nobody is told that there was one.
    shown = {
        html_of(answer).split("<main")[1].split("</main>")[0] for answer in (ended, *unknown)
    }
    assert len(shown) == 1
    # The token is nowhere in the database.
    assert not PublicLink.objects.filter(digest__contains=made.token).exists()
    assert made.token not in repr(list(AuditEntry.objects.values_list("detail", flat=True)))


def test_the_files_of_a_visitor_are_those_of_an_analyst(
    cast: Cast, played: Scene, browser: Open, tmp_path: Path
) -> None:
    made = make(cast, played.release)
    visitor, reader = Client(), browser(played.reader)
    for name, same in (("report", "report-html"), ("bundle", "bundle")):
        open_answer = visitor.get(page(made.token, name))
        shared = reader.get(reverse(f"releases:{same}", args=[played.release.code]))
        assert content(open_answer) == content(shared)
    path = tmp_path / "bundle.zip"
    path.write_bytes(content(visitor.get(page(made.token, "bundle"))))
    assert verifier.verify_bundle(path).core == played.release.receipt["digest"]
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        assert "tables/table.csv" in archive.namelist()
    first, second = (content(visitor.get(page(made.token, "table"))) for _ in range(2))
    assert first == second
    assert len(first.splitlines()) == played.release.sample_rows + 1


def test_head_says_what_get_would_and_draws_nothing(
    cast: Cast, played: Scene, settings: Settings
) -> None:
    """As programs ask that look whether a link is alive."""
    made, visitor = make(cast, played.release), Client()
    # A table that is drawn would take a slot, and there is none.
    settings.DRAWINGS = settings.DRAWINGS_PER_PERSON = 0
    for name in ("table", "bundle"):
        assert visitor.get(page(made.token, name)).status_code == 429
    settings.DRAWINGS = settings.DRAWINGS_PER_PERSON = 1
    kept = ("Content-Type", "Content-Disposition", "X-Robots-Tag", "Referrer-Policy")
    said = {}
    for name in ("release", "report", "bundle", "table"):
        answer = visitor.get(page(made.token, name))
        said[name] = {header: answer.get(header) for header in kept}
        assert content(answer)  # which gives its slot back
    settings.DRAWINGS = settings.DRAWINGS_PER_PERSON = 0
    for name, headers in said.items():
        answer = visitor.head(page(made.token, name))
        assert answer.status_code == 200, name
        assert {header: answer.get(header) for header in kept} == headers
    assert visitor.head(page("A" * 43)).status_code == 404


def test_what_is_no_reading_is_told_so_by_a_browser_too(cast: Cast, played: Scene) -> None:
    made = make(cast, played.release)
    visitor = Client(enforce_csrf_checks=True)
    for method in ("post", "put", "patch", "delete"):
        answer = getattr(visitor, method)(page(made.token))
        assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


def content(response: object) -> bytes:
    streamed: Iterator[bytes] | None = getattr(response, "streaming_content", None)
    return b"".join(streamed) if streamed is not None else response.content  # type: ignore[attr-defined]


def test_a_token_opens_no_page_of_the_application(cast: Cast, played: Scene) -> None:
    made = make(cast, played.release)
    visitor = Client()
    visitor.get(page(made.token))
    for route in addresses.routes():
        if not route.startswith("releases/"):
            continue
        address = addresses.fill(route, scene=played, cast=cast)
        assert visitor.get(address).status_code in (302, 405), address
    for method in ("post", "put", "patch", "delete"):
        assert getattr(visitor, method)(page(made.token)).status_code == 405
    # Nor does the visitor count as somebody to whom the release is shared.
    assert not ReleaseGrant.objects.exclude(analyst=played.reader).exists()


def test_a_link_ends_on_its_day_when_it_is_revoked_and_while_the_custodian_says_so(
    cast: Cast, played: Scene, browser: Open
) -> None:
    made = make(cast, played.release)
    visitor, custodian = Client(), browser(cast.custodian)
    assert visitor.get(page(made.token)).status_code == 200
    switch = reverse("releases:allow-public-links")
    assert custodian.post(switch, {"allowed": "no"}).status_code == 302
    for name in ("release", "report", "bundle", "table"):
        assert visitor.get(page(made.token, name)).status_code == 404
    with pytest.raises(Conflict, match="switched public links off"):
        make(cast, played.release)
    shared = browser(cast.steward).get(reverse("releases:share", args=[played.release.code]))
    assert 'name="until"' not in html_of(shared)
    assert custodian.post(switch, {"allowed": "yes"}).status_code == 302
    assert visitor.get(page(made.token)).status_code == 200
    PublicLink.objects.update(expires_at=timezone.now())
    assert visitor.get(page(made.token)).status_code == 404
    PublicLink.objects.update(expires_at=timezone.now() + timedelta(days=1))
    revoke = reverse("releases:revoke-public-link", args=[played.release.code, made.link.code])
    assert browser(cast.steward).post(revoke).status_code == 302
    assert visitor.get(page(made.token)).status_code == 404
    done = list(
        AuditEntry.objects.filter(action__startswith="public_link")
        .order_by("sequence")
        .values_list("action", "actor")
    )
    assert done == [
        ("public_link.made", "steward"),
        ("public_links.forbidden", "custodian"),
        ("public_links.allowed", "custodian"),
        ("public_link.used", "system"),
        ("public_link.revoked", "steward"),
    ]


def test_a_link_ends_within_a_year(cast: Cast, played: Scene, browser: Open) -> None:
    for days in (-1, 367, 100_000):
        with pytest.raises(Refused, match="within a year"):
            make(cast, played.release, days=days)
    client = browser(cast.steward)
    address = reverse("releases:make-public-link", args=[played.release.code])
    for words in ({}, {"until": "soon", "note": "For Ms Lee"}, {"until": "2999-01-01"}):
        refused = client.post(address, words)
        assert refused.status_code == 422
        assert words.get("note", "") in html_of(refused)
    until = timezone.now().date() + timedelta(days=30)
    answer = client.post(address, {"until": f"{until:%Y-%m-%d}", "note": "For Ms Lee"})
    found = re.search(r"http://testserver(/public/[\w-]{43}/)<", html_of(answer))
    assert found
    assert Client().get(found[1]).status_code == 200
    # Shown once.
    later = html_of(client.get(reverse("releases:share", args=[played.release.code])))
    assert "For Ms Lee" in later
    assert found[1] not in later


def test_requests_are_counted_by_day_and_no_visitor_is_recorded(
    cast: Cast, played: Scene
) -> None:
    made = make(cast, played.release)
    visitor = Client(REMOTE_ADDR="203.0.113.77", HTTP_USER_AGENT="Curious/1.0")
    for _ in range(3):
        visitor.get(page(made.token))
    assert public_links.links_of(played.release).get().total == 3
    assert public_links.report_days_that_are_over() == 0
    yesterday = timezone.now().date() - timedelta(days=1)
    PublicLinkUse.objects.update(day=yesterday)
    visitor.get(page(made.token))
    entry = AuditEntry.objects.get(action="public_link.used")
    assert entry.detail == {
        "link": made.link.code,
        "day": f"{yesterday:%Y-%m-%d}",
        "requests": 3,
    }
    assert public_links.links_of(played.release).get().total == 4
    stored = repr([list(PublicLinkUse.objects.values()), list(AuditEntry.objects.values())])
    assert "203.0.113.77" not in stored
    assert "Curious" not in stored


def test_visitors_are_slowed_down_and_share_the_downloads_of_one_analyst(
    cast: Cast,
    played: Scene,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    made = make(cast, played.release)
    settings.SPOOL_DIR = str(tmp_path)
    settings.DRAWINGS_PER_PERSON = 1
    visitor = Client()
    with Slot(visits.SLOTS), Slot(cast.steward.pk):
        busy = visitor.get(page(made.token, "bundle"))
        assert busy.status_code == 429
        assert visitor.get(page(made.token, "table")).status_code == 429
    assert content(visitor.get(page(made.token, "table")))
    settings.CACHES = {
        name: {
            "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
            "LOCATION": f"public-{name}",
        }
        for name in ("default", "process")
    }
    monkeypatch.setattr(visits, "rates", PerMinute(prefix="test"))
    monkeypatch.setattr("synthweb.lib.rates.time.time", lambda: 1_000_000.0)
    settings.REST_PER_MINUTE = {"user": 3, "file": 1, "stranger": 2}
    answers = [visitor.get(page(made.token)).status_code for _ in range(4)]
    assert answers == [200, 200, 200, 429]
    assert visitor.get(page(made.token, "report")).status_code == 200
    slow = visitor.get(page(made.token, "report"))
    assert (slow.status_code, "noindex" in slow["X-Robots-Tag"]) == (429, True)
    assert 0 < int(slow["Retry-After"]) <= 60
    guesses = [visitor.get(page(f"guess-{number}")).status_code for number in range(3)]
    assert guesses == [404, 404, 429]


def test_visitors_are_counted_each_for_themselves(
    cast: Cast, played: Scene, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One who asks too often, or guesses, keeps nobody else out."""
    made = make(cast, played.release)
    settings.PROXIES = 1
    settings.CACHES = {
        name: {
            "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
            "LOCATION": f"visitors-{name}",
        }
        for name in ("default", "process")
    }
    monkeypatch.setattr(visits, "rates", PerMinute(prefix="visitors"))
    monkeypatch.setattr("synthweb.lib.rates.time.time", lambda: 1_000_000.0)
    settings.REST_PER_MINUTE = {"user": 2, "file": 1, "stranger": 1}
    greedy, other = (Client(headers={"X-Forwarded-For": f"203.0.113.{n}"}) for n in (1, 2))
    for name, most in (("release", 2), ("report", 1)):
        answers = [greedy.get(page(made.token, name)).status_code for _ in range(most + 1)]
        assert answers == [200] * most + [429]
        assert other.get(page(made.token, name)).status_code == 200
    for number in range(3):
        other.get(page(f"guess-{number}"))
    assert other.get(page(made.token)).status_code == 200


def test_the_first_link_after_a_look_at_real_data_is_marked(
    cast: Cast, played: Scene, browser: Open
) -> None:
    release = played.release
    browser(cast.steward).get(reverse("releases:compare", args=[release.code]))
    # An analyst has it already: the link is no decision of its own.
    make(cast, release)
    assert not ReleaseMark.objects.exists()
    PublicLink.objects.all().delete()
    services.revoke(actor=cast.steward, grant=ReleaseGrant.objects.get())
    make(cast, release)
    assert chain.is_after_looking(release)
    assert ReleaseMark.objects.get().kind == ReleaseMark.Kind.LOOKED


def test_a_page_that_is_not_prepared_says_so(cast: Cast, played: Scene) -> None:
    made = make(cast, played.release)
    played.release.first_look.delete()
    visitor = Client()
    shown = visitor.get(page(made.token))
    assert "Come back later" in html_of(shown)
    assert visitor.get(page(made.token, "bundle")).status_code == 404
