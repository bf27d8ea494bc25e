"""How an organisation appears: its language, whom to ask, and its logo, for its people and for visitors of
public links."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from synthweb.accounts import appearance, logos
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
        ({"logo": picture(PNG + bytes(logos.MAX_BYTES))}, "30,000 bytes"),
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


def chunk(name: bytes, content: bytes) -> bytes:
    total = struct.pack(">I", zlib.crc32(name + content))
    return struct.pack(">I", len(content)) + name + content + total


def png(
    width: int,
    height: int,
    *more: bytes,
    depth: int = 1,
    colour: int = 0,
    interlaced: int = 0,
    rows: int | None = None,
) -> bytes:
    """A picture of zeros. rows: the bytes of its pixels, if not those of its width and height; more: chunks
    before them."""
    raw = height * (1 + -(-width * depth // 8)) if rows is None else rows
    packing = zlib.compressobj(9)
    blocks = [packing.compress(bytes(min(1 << 20, raw - at))) for at in range(0, raw, 1 << 20)]
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    pixels = b"".join(blocks) + packing.flush()
    parts = (chunk(b"IHDR", header), *more, chunk(b"IDAT", pixels), chunk(b"IEND", b""))
    return PNG[:8] + b"".join(parts)


FRAMES = chunk(b"acTL", struct.pack(">II", 10_000, 0))
BROKEN = {
    "many pixels": png(14_800, 14_800),
    "too wide": png(2_001, 1),
    "too high": png(1, 501),
    "no pixels": png(0, 1),
    "moving": png(32, 32, FRAMES),
    "a drawing with its first bytes": PNG[:8] + b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "first bytes alone": PNG[:8],
    "cut off": png(32, 32)[:-1],
    "more after its end": png(32, 32) + b"x",
    "another sum": png(32, 32).replace(b"IEND", b"IENd"),
    "more pixels than it says": png(32, 32, rows=20_000_000),
    "fewer pixels than it says": png(32, 32, rows=159),
    "no palette": png(32, 32, depth=8, colour=3),
    "an unknown depth": png(32, 32, depth=3),
    "an unknown interlacing": png(32, 32, interlaced=2),
    "an unknown part that matters": png(32, 32, chunk(b"NEWS", b"x")),
    "two headers": png(32, 32, png(32, 32)[8:33]),
    "no compressed pixels": PNG[:8] + png(32, 32)[8:33] + chunk(b"IDAT", b"x") + chunk(b"IEND", b""),
}  # fmt: skip


@pytest.mark.parametrize("logo", BROKEN.values(), ids=BROKEN)
def test_a_picture_that_costs_its_readers_much_or_is_broken_is_refused(logo: bytes) -> None:
    assert len(logo) <= logos.MAX_BYTES
    with pytest.raises(Refused) as refused:
        logos.rewritten(logo)
    assert refused.value.field == "logo" and refused.value.repair


@pytest.mark.parametrize(
    "logo",
    [
        PNG,
        png(2_000, 500),
        png(33, 5, chunk(b"PLTE", bytes(6)), chunk(b"tRNS", b"x"), depth=8, colour=3),
        # The seven passes have 11 rows of its 25 pixels.
        png(5, 5, depth=8, interlaced=1, rows=11 + 25),
        png(1, 1, depth=16, rows=3, interlaced=1),
    ],
    ids=["a pixel", "the largest", "a palette", "interlaced", "interlaced, a pixel"],
)
def test_a_picture_keeps_its_pixels(logo: bytes) -> None:
    assert logos.rewritten(logo) == logo


def test_what_is_no_pixel_of_a_logo_is_left_out() -> None:
    more = (chunk(b"tEXt", b"Author\0somebody"), chunk(b"iCCP", b"x\0\0y"))
    assert logos.rewritten(png(32, 32, *more)) == png(32, 32)
    assert logos.rewritten(b"") == b""


def test_a_logo_of_another_kind_never_gets_in(cast: Cast) -> None:
    with pytest.raises(Refused, match="PNG"):
        appearance.say(
            actor=cast.staff,
            organisation=cast.organisation,
            appearance=appearance.Appearance(logo=b"GIF89a"),
        )
    assert not OrganisationAppearance.objects.exists()
