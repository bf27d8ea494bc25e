"""How an organisation appears: its language, whom to ask, and its logo, for its people and for visitors of public links."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from synthweb.accounts import appearance
from synthweb.accounts.models import OrganisationAppearance
from synthweb.audit.models import AuditEntry
from synthweb.lib.errors import Refused
from synthweb.releases import public_links
from tests.cast import PASSWORD, Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.rest import Caller

Browser = Callable[..., Client]
PAGE, REST = "/account/organisation/", "/organisation/"
# One transparent pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
GERMAN = {"language": "de", "contact": "Questions: data@office.example"}


def picture(content: bytes = PNG) -> SimpleUploadedFile:
    return SimpleUploadedFile("logo.png", content, content_type="image/png")


def entries() -> int:
    return AuditEntry.objects.filter(action="organisation.appearance_set").count()


def test_whoever_manages_people_says_how_it_appears(cast: Cast, browser: Browser) -> None:
    client = browser(cast.staff)
    answer = client.post(PAGE, {**GERMAN, "logo": picture()})
    assert answer.status_code == 302
    shown = appearance.of(cast.organisation)
    assert shown == appearance.Appearance(**GERMAN, logo=PNG)
    assert shown.logo_address in html_of(client.get(PAGE))
    # Without a file the logo stays, and what is the same is no entry.
    client.post(PAGE, GERMAN)
    assert appearance.of(cast.organisation) == shown
    assert entries() == 1
    client.post(PAGE, {**GERMAN, "remove_logo": "on"})
    assert appearance.of(cast.organisation).logo == b""
    assert entries() == 2


def test_nobody_else_does(cast: Cast, browser: Browser) -> None:
    for person in (cast.steward, cast.custodian, cast.analyst, cast.auditor):
        assert browser(person).post(PAGE, GERMAN).status_code == 403
        assert Caller(person, "read", "people").get(REST).status_code == 403
    assert not OrganisationAppearance.objects.exists()


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"contact": "two\u2028lines"}, "one line"),
        ({"contact": "x" * 201}, "200"),
        ({"language": "fr"}, "fr"),
        ({"logo": picture(b"<svg xmlns='http://www.w3.org/2000/svg'/>")}, "a logo is a PNG"),
        ({"logo": picture(PNG + bytes(appearance.MAX_LOGO))}, "30,000 bytes"),
    ],
    ids=["two lines", "too long", "another language", "another format", "too large"],
)
def test_what_cannot_be_shown_is_refused_with_a_reason(
    sent: dict[str, object], words: str, cast: Cast, browser: Browser
) -> None:
    page = html_of(browser(cast.staff).post(PAGE, sent))
    assert words in page
    assert not OrganisationAppearance.objects.exists()


def test_people_see_the_language_from_their_next_sign_in_on(cast: Cast) -> None:
    client = Client()
    client.force_login(cast.analyst)
    appearance.say(
        actor=cast.staff,
        organisation=cast.organisation,
        appearance=appearance.Appearance(language="de"),
    )
    assert '<html lang="en"' in html_of(client.get("/releases/"))
    answer = client.post(
        "/account/login/", {"username": "analyst", "password": PASSWORD}, follow=True
    )
    assert answer.status_code == 200
    fresh = Client()
    fresh.post("/account/login/", {"username": "analyst", "password": PASSWORD})
    assert '<html lang="de"' in html_of(fresh.get("/releases/"))
    # What somebody chooses counts more, and programs read English.
    fresh.post("/language/", {"language": "en"})
    assert '<html lang="en"' in html_of(fresh.get("/releases/"))


def test_people_of_another_organisation_see_nothing_of_it(cast: Cast) -> None:
    appearance.say(
        actor=cast.staff,
        organisation=cast.organisation,
        appearance=appearance.Appearance(language="de"),
    )
    assert appearance.language_of(cast.stranger) == ""
    assert appearance.language_of(cast.analyst) == "de"


def test_visitors_of_a_public_link_see_all_three(cast: Cast) -> None:
    release = scene.released(
        cast, mechanism="independent", epsilon="4", name="Columns", table=scene.TABLE
    )
    until = timezone.now() + timedelta(days=7)
    made = public_links.make(actor=cast.steward, release=release, until=until)
    address = f"/public/{made.token}/"
    before = html_of(Client().get(address))
    assert '<html lang="en"' in before
    assert "organisation-logo" not in before
    shown = appearance.Appearance(**GERMAN, logo=PNG)
    appearance.say(actor=cast.staff, organisation=cast.organisation, appearance=shown)
    page = html_of(Client().get(address))
    assert '<html lang="de"' in page
    assert "data@office.example" in page
    assert shown.logo_address in page
    visitor = Client()
    visitor.post("/public/language/", {"language": "en"})
    assert '<html lang="en"' in html_of(visitor.get(address))


def test_a_program_says_and_reads_it(cast: Cast) -> None:
    calls = Caller(cast.staff, "read", "people")
    assert calls.get(REST).json() == {
        "name": cast.organisation.name, "language": "", "contact": "", "logo": "",
    }  # fmt: skip
    document = {**GERMAN, "logo": base64.b64encode(PNG).decode()}
    answer = calls.send(REST, document, method="put")
    assert answer.json() == {"name": cast.organisation.name, **document}
    assert appearance.of(cast.organisation).logo == PNG
    assert calls.send(REST, {"logo": "no base64!"}, method="put").status_code == 400
    assert calls.send(REST, {"logo": "AAAA"}, method="put").status_code == 422
    assert appearance.of(cast.organisation).logo == PNG


def test_a_logo_of_another_kind_never_gets_in(cast: Cast) -> None:
    with pytest.raises(Refused, match="PNG"):
        appearance.say(
            actor=cast.staff,
            organisation=cast.organisation,
            appearance=appearance.Appearance(logo=b"GIF89a"),
        )
    assert not OrganisationAppearance.objects.exists()
