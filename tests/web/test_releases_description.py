"""The description of a release: read by whoever may draw from it, edited by stewards, marked wherever it is
used."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from synth_engine import mechanisms, verifier
from synth_engine.errors import InputError
from synth_engine.mechanisms import Model
from synth_engine.models import description
from synthweb.audit.models import AuditEntry
from synthweb.ledger.models import LedgerEntry
from synthweb.lib.errors import Conflict
from synthweb.releases import chain, citation, selectors, services, tables
from synthweb.releases.models import Edition, Release, Sample
from synthweb.runs import worker
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.scene import Scene

Open = Callable[..., Client]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def release(cast: Cast) -> Release:
    made = scene.funded(cast)
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=made).code)
    found = Release.objects.get()
    services.share(actor=cast.steward, release=found, analyst=cast.analyst)
    return found


def address(name: str, release: Release, *more: object) -> str:
    return reverse(f"releases:{name}", args=[release.code, *more])


def northern(release: Release) -> dict[str, Any]:
    """Everybody lives in the north."""
    document = services.description_of(release)
    next(entry for entry in document["columns"] if entry["column"] == "region")["shares"] = {
        "north": 1
    }
    return document


def keep(cast: Cast, release: Release) -> Edition:
    document = northern(release)
    return services.keep_edition(
        actor=cast.steward, release=release, document=document, note="All in the north."
    )


def upload(document: object, **more: object) -> dict[str, object]:
    raw = document if isinstance(document, bytes) else json.dumps(document).encode()
    return {"document": SimpleUploadedFile("d.json", raw), "note": "All in the north."} | more


def test_the_download_is_the_model_and_draws_the_same_tables(
    release: Release, cast: Cast, browser: Open
) -> None:
    downloaded = json.loads(
        browser(cast.analyst).get(address("description-json", release)).content
    )
    model = description.read(downloaded)
    assert not description.edited(downloaded, model)
    sample = services.draw_sample(user=cast.analyst, release=release, rows=60)
    drawn = mechanisms.draw_table(model, 60, sample.seed)
    assert "".join(tables.stream_csv(sample)).count("\n") == 61
    assert [str(age) for age in drawn["age"]] == [row["age"] for row in rows_of(sample)]


def rows_of(sample: Sample) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO("".join(tables.stream_csv(sample)))))


def test_an_edited_description_is_kept_drawn_from_and_marked(
    release: Release, cast: Cast, browser: Open
) -> None:
    spent = LedgerEntry.objects.count()
    answer = browser(cast.steward).post(
        address("description", release), upload(northern(release))
    )
    edition = Edition.objects.get()
    assert answer.status_code == 302
    assert answer["Location"] == f"{address('samples', release)}?edition={edition.code}"
    page = html_of(browser(cast.analyst).get(answer["Location"]))
    assert "Edited." in page
    assert "All in the north." in page
    assert str(cast.steward) in page
    browser(cast.analyst).post(
        address("samples", release), {"rows": "40", "edition": edition.code}
    )
    sample = Sample.objects.get()
    assert {row["region"] for row in rows_of(sample)} == {"north"}
    assert "Edited." in html_of(
        browser(cast.analyst).get(address("sample", release, sample.code))
    )
    assert "edited" in html_of(browser(cast.analyst).get(address("samples", release)))
    assert citation.EDITED in citation.of_sample(sample).plain
    assert LedgerEntry.objects.count() == spent, "editing costs nothing"
    entry = AuditEntry.objects.get(action="release.edited")
    assert entry.detail == {"edition": edition.code, "description": edition.digest}


def test_the_receipt_of_an_edited_sample_verifies_and_says_so(
    release: Release, cast: Cast
) -> None:
    edition = keep(cast, release)
    plain = services.draw_sample(user=cast.analyst, release=release, rows=5)
    edited = services.draw_sample(user=cast.analyst, release=release, rows=5, edition=edition)
    receipts = [chain.receipt_of_sample(each) for each in (plain, edited)]
    said = ["edited" in " ".join(verifier.verify(receipt).caveats) for receipt in receipts]
    assert said == [False, True]
    assert [receipt["sample"].get("edited_description_sha256") for receipt in receipts] == [
        None,
        edition.digest,
    ]
    assert receipts[0]["digest"] == receipts[1]["digest"] == release.receipt["digest"]
    assert "chosen_after_looking" not in receipts[1]["sample"]
    (mark,) = receipts[0]["marks"]
    assert edition.digest in mark["text"]


def test_an_edit_after_a_look_at_real_data_is_said_to_be_one(
    played: Scene, browser: Open
) -> None:
    steward = played.release.created_by
    browser(steward).get(address("compare", played.release))
    edition = services.keep_edition(
        actor=steward,
        release=played.release,
        document=services.description_of(played.release) | {"rows": 9},
        note="9",
    )
    assert edition.after_looking
    sample = services.draw_sample(user=steward, release=played.release, rows=5, edition=edition)
    assert chain.receipt_of_sample(sample)["sample"]["chosen_after_looking"]


def test_what_nobody_edited_is_not_kept_as_edited(
    release: Release, cast: Cast, browser: Open
) -> None:
    with pytest.raises(Conflict, match="as it was measured"):
        services.keep_edition(
            actor=cast.steward,
            release=release,
            document=services.description_of(release),
            note="Nothing.",
        )
    answer = browser(cast.steward).post(
        address("description", release), upload(services.description_of(release))
    )
    assert answer.status_code == 422
    assert "as it was measured" in html_of(answer)
    assert not Edition.objects.exists()


@pytest.mark.parametrize(
    ("document", "words"),
    [
        pytest.param(b"{", "not JSON", id="no JSON"),
        pytest.param(b"[]", "JSON object", id="a list"),
        pytest.param(b'{"a": 1, "a": 2}', "names this twice", id="a name twice"),
        pytest.param({"schema": "other"}, "no description", id="something else"),
    ],
)
def test_a_file_that_is_no_description_is_refused_and_the_note_kept(
    release: Release, cast: Cast, browser: Open, document: object, words: str
) -> None:
    answer = browser(cast.steward).post(address("description", release), upload(document))
    page = html_of(answer)
    assert answer.status_code == 422
    assert words in page
    assert 'value="All in the north."' in page
    assert not Edition.objects.exists()


def test_a_wrong_share_is_refused_with_column_rule_and_repair(
    release: Release, cast: Cast, browser: Open
) -> None:
    document = northern(release)
    next(entry for entry in document["columns"] if entry["column"] == "region")["shares"] = {
        "north": 0.5
    }
    page = html_of(
        browser(cast.steward).post(address("description", release), upload(document))
    )
    assert "region" in page
    assert "do not add up to 1" in page
    assert "change one so that they do" in page


def test_a_text_that_cannot_be_stored_is_refused(release: Release, cast: Cast) -> None:
    document = json.loads(json.dumps(northern(release)).replace('"north"', '"nor\\u0000th"'))
    with pytest.raises(InputError, match="cannot be stored"):
        services.keep_edition(
            actor=cast.steward, release=release, document=document, note="A sign."
        )


def test_an_edited_description_belongs_to_its_release(
    release: Release, cast: Cast, browser: Open
) -> None:
    edition = keep(cast, release)
    assert list(selectors.editions_of(release)) == [edition]
    assert (
        browser(cast.steward).get(address("samples", release) + "?edition=nowhere").status_code
        == 404
    )
    unknown = browser(cast.steward).post(
        address("samples", release), {"rows": "5", "edition": "nowhere"}
    )
    assert unknown.status_code == 404


def test_the_download_of_an_edited_description_can_be_edited_again(
    release: Release, cast: Cast, browser: Open
) -> None:
    edition = keep(cast, release)
    document = json.loads(
        browser(cast.analyst).get(address("edition-json", release, edition.code)).content
    )
    assert description.read(document).to_json() == Model.from_json(edition.model).to_json()
