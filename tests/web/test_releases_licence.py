"""The licence of a release: stated by its steward, and carried by everything that leaves with the release."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine import verifier
from synthweb.audit.models import AuditEntry
from synthweb.lib.errors import Refused
from synthweb.releases import citation, metadata, report, services
from synthweb.releases.licences import LicenceChoice, of_release
from synthweb.releases.models import Release
from tests.cast import Cast
from tests.web.html import html_of
from tests.web.scene import Scene

Open = Callable[..., Client]
pytestmark = pytest.mark.django_db


def post(client: Client, release: Release, **words: str) -> int:
    address = reverse("releases:licence", args=[release.code])
    return client.post(address, words).status_code


def test_a_release_states_no_licence_until_its_steward_does(
    cast: Cast, played: Scene, browser: Open
) -> None:
    release = played.release
    assert of_release(release) is None
    facts = report.of(release)
    assert facts is not None
    assert facts.licence is None
    assert "rightsList" not in metadata.datacite(facts)
    assert "Licence" not in citation.of_release(release).plain
    page = html_of(browser(played.reader).get(reverse("releases:look", args=[release.code])))
    assert "none stated" in page
    assert "#licence" not in page  # for stewards alone


@pytest.mark.parametrize("choice", [LicenceChoice.CC_BY, LicenceChoice.CC0, LicenceChoice.ODBL])
def test_a_licence_stands_in_everything_that_is_carried_away(
    choice: LicenceChoice, cast: Cast, played: Scene, browser: Open
) -> None:
    release = played.release
    before = citation.of_release(release).plain
    core = release.receipt["digest"]
    assert post(browser(cast.steward), release, licence=str(choice)) == 302
    release.refresh_from_db()
    licence = of_release(release)
    assert licence is not None
    assert licence.id == choice
    cited = citation.of_release(release)
    # The digest that citations name stays as it is.
    assert f"Receipt SHA-256 {core}" in cited.plain
    assert f"Receipt SHA-256 {core}" in before
    assert licence.sentence in cited.plain
    reader = browser(played.reader)
    for name in ("look", "about"):
        page = html_of(reader.get(reverse(f"releases:{name}", args=[release.code])))
        assert licence.address in page
    answer = reader.get(reverse("releases:bundle", args=[release.code]))
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    assert licence.sentence in files["README.txt"]
    assert licence.address in files["report.html"]
    assert json.loads(files["report.json"])["licence"]["id"] == choice
    assert json.loads(files["croissant.json"])["license"] == licence.address
    (rights,) = json.loads(files["datacite.json"])["rightsList"]
    assert (rights["rightsIdentifier"], rights["rightsUri"]) == (choice, licence.address)
    receipt = json.loads(files["receipt.json"])
    assert verifier.verify(receipt).core == core
    entry = AuditEntry.objects.get(action="release.licensed")
    assert (entry.actor, entry.detail["licence"]) == ("steward", choice)


def test_own_words_are_one_line_with_an_address_of_the_web(
    cast: Cast, played: Scene, browser: Open
) -> None:
    client, release = browser(cast.steward), played.release
    address = reverse("releases:licence", args=[release.code])
    for words in (
        {"licence": "own"},
        {"licence": "own", "text": "Ours", "address": "javascript:alert(1)"},
        {"licence": "own", "text": "two\nlines"},
        {"licence": "GPL"},
    ):
        refused = client.post(address, words)
        assert refused.status_code == 422, words
        # What was typed stays.
        assert words.get("address", "") in html_of(refused)
    release.refresh_from_db()
    assert release.licence == ""
    words = {
        "licence": "own",
        "text": "For <research>",
        "address": "https://office.example/terms",
    }
    assert post(client, release, **words) == 302
    release.refresh_from_db()
    page = html_of(client.get(reverse("releases:look", args=[release.code])))
    assert "For &lt;research&gt;" in page
    facts = report.of(release)
    assert facts is not None
    assert metadata.datacite(facts)["rightsList"] == [
        {"rights": "For <research>", "rightsUri": "https://office.example/terms"}
    ]
    # Back to none, without the words.
    assert post(client, release, licence="", text="left", address="behind") == 302
    release.refresh_from_db()
    assert (release.licence, release.licence_text, release.licence_address) == ("", "", "")
    with pytest.raises(Refused, match="needs a text"):
        services.license_release(
            actor=cast.steward, release=release, licence=LicenceChoice.OWN, text=" "
        )
