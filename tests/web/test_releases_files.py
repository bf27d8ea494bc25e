"""What a reader carries away: report, metadata and bundle, from released documents alone."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.conf import settings
from django.test import Client
from pytest_django import Settings

from synth_engine import cli, verifier
from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Preview
from synthweb.ledger.models import LedgerEntry
from synthweb.lib import signatures
from synthweb.releases import bundle, call_sums, citation, look, report, services
from synthweb.releases.models import FirstLook, Release
from synthweb.runs import ranges, worker
from synthweb.runs import services as runs
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

pytestmark = pytest.mark.django_db(transaction=True)
Open = Callable[..., Client]


@pytest.fixture
def release(cast: Cast) -> Release:
    made = scene.released(
        cast, mechanism="independent", epsilon="4", name="Three <columns>", table=scene.TABLE
    )
    services.describe(
        actor=cast.steward, release=made, name=made.name, description="Who works & where."
    )
    look.store(look.draw(made))
    made.refresh_from_db()
    return made


def facts_of(release: Release) -> report.ReleaseReport:
    facts = report.of(release)
    assert facts is not None
    return facts


def computed(release: Release) -> Release:
    """With its expected ranges, as the worker computes them."""
    ranges.compute(code=runs.request_ranges(release=release).code)
    return Release.objects.get(pk=release.pk)


def saved(client: Client, release: Release, folder: Path) -> Path:
    answer = client.get(f"/releases/{release.code}/bundle.zip")
    assert answer.status_code == 200
    path = folder / "bundle.zip"
    path.write_bytes(b"".join(answer.streaming_content))
    return path


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- the report ---------------------------------------------------------------------------------------------
def test_the_report_is_one_file_that_needs_nothing_beside_it(
    release: Release, cast: Cast, browser: Open
) -> None:
    answer = browser(cast.steward).get(f"/releases/{computed(release).code}/report.html")
    page = answer.content.decode()
    assert len(answer.content) < 2 * 10**6
    assert 'filename="three-columns-report.html"' in answer["Content-Disposition"]
    assert not re.search(
        r"<script|<link|<img|<iframe|url\(|@import|src=|https?://(?!www.w3.org)", page
    )
    assert page.count('<svg class="thumb"') == 3 and page.count('class="loss-bar"') == 1
    assert "Three &lt;columns&gt;" in page and "<columns>" not in page
    assert "Who works &amp; where." in page
    for heading in (
        "Purpose",
        "Guarantee",
        "Method",
        "Quality",
        "Data",
        "Limits",
        "Receipt",
        "How to verify",
        "Cite",
        "Licence",
    ):
        assert re.search(rf"<h[23]>\s*{heading}\s*</h", page), heading
    assert release.receipt["digest"] in page
    assert re.search(r"Columns found: \d", html_of(answer))


def test_the_report_has_the_same_facts_as_its_json(release: Release, cast: Cast) -> None:
    facts = facts_of(computed(release))
    document = json.loads(json.dumps(facts.to_json()))
    assert document["schema"] == report.SCHEMA
    assert document["proof"]["core"] == release.receipt["digest"]
    assert document["proof"]["reason"] == ""
    assert [column["name"] for column in document["columns"]] == ["region", "age", "works"]
    assert all(column["lines"] for column in document["columns"])
    assert document["citation"]["plain"] == citation.of_release(release).plain
    assert sum(each["share"] for each in document["method"]["calls"]) == pytest.approx(1)
    page = report.html(facts)
    for each in document["method"]["calls"]:
        assert each["kind"] in page and each["cost"] in page


def test_a_report_before_expected_errors_says_so_and_the_page_computes_them(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    assert "were not computed" in report.html(facts_of(release))
    page = html_of(client.get(f"/releases/{release.code}/files/"))
    assert f'hx-get="/releases/{release.code}/expected/making/?lacks=ranges"' in page
    page = html_of(client.get(f"/releases/{computed(release).code}/files/"))
    assert "look-waiting" not in page


def test_what_a_worker_has_not_prepared_is_waited_for_on_the_page(
    release: Release, cast: Cast, browser: Open
) -> None:
    FirstLook.objects.all().delete()
    client, address = browser(cast.steward), f"/releases/{release.code}/files/"
    for name in ("report.html", "report.json", "datacite.json", "bundle.zip"):
        answer = client.get(f"/releases/{release.code}/{name}")
        assert (answer.status_code, answer["Location"]) == (302, address)
    page = html_of(client.get(address))
    assert f'hx-get="/releases/{release.code}/expected/making/?lacks=rows"' in page
    assert "the bundle waits for it" in page


def test_a_report_says_that_a_choice_was_made_after_a_look(
    release: Release, cast: Cast
) -> None:
    assert not facts_of(release).looked
    worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
    assert datasets.preview_for(
        cast.steward, release.dataset, Preview.Kind.REPORT, release.code
    )
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    facts = facts_of(Release.objects.get())
    assert facts.looked
    assert any("after a look" in limit for limit in facts.limits)
    assert facts.proof.core == release.receipt["digest"]
    assert 'class="verdict caution"' in report.html(facts)


def test_nothing_of_the_dataset_but_its_organisation_is_in_the_files(
    release: Release, cast: Cast, tmp_path: Path, browser: Open
) -> None:
    # The name of a table is not for analysts.
    type(release.dataset).objects.filter(pk=release.dataset_id).update(name="Quite secret")
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    path = saved(browser(cast.analyst), release, tmp_path)
    with zipfile.ZipFile(path) as archive:
        assert not [
            name for name in archive.namelist() if b"Quite secret" in archive.read(name)
        ]


# --- the loss by kind ---------------------------------------------------------------------------------------
def test_the_loss_by_kind_adds_up_and_is_a_figure_and_a_table(
    release: Release, cast: Cast, browser: Open
) -> None:
    sums = call_sums.of_receipt(release.receipt)
    assert sum(each.count for each in sums) == len(release.receipt["calls"])
    assert sum(each.share for each in sums) == pytest.approx(1)
    assert [each.share for each in sums] == sorted((each.share for each in sums), reverse=True)
    client = browser(cast.auditor)
    svg = client.get(f"/releases/{release.code}/receipt/loss.svg")
    assert svg["Content-Type"] == "image/svg+xml"
    picture = svg.content.decode()
    widths = [float(text) for text in re.findall(r'<rect [^>]*width="([\d.]+)"', picture)]
    assert len(widths) == len(sums)
    assert sum(widths) == pytest.approx(720 - len(sums), abs=len(sums))
    answer = client.get(f"/releases/{release.code}/receipt/loss.csv")
    text = b"".join(answer.streaming_content).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["kind"] for row in rows] == [each.kind for each in sums]
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1, abs=1e-5)


def test_a_bar_without_calls_is_empty() -> None:
    assert call_sums.bar([]) == ""


# --- the bundle ---------------------------------------------------------------------------------------------
def test_a_bundle_verifies_with_its_own_verifier_and_python_alone(
    release: Release, cast: Cast, tmp_path: Path, browser: Open
) -> None:
    path = saved(browser(cast.steward), computed(release), tmp_path)
    with zipfile.ZipFile(path) as archive:
        (tmp_path / "verify_receipt.py").write_bytes(archive.read("verify_receipt.py"))
        names = archive.namelist()
    assert names == [
        "README.txt",
        "tables/table.csv",
        "receipt.json",
        "model.json",
        "report.html",
        "report.json",
        "dictionary.csv",
        "dictionary.json",
        "croissant.json",
        "datacite.json",
        "verify_receipt.py",
        "bundle.json",
    ]
    public = str(tmp_path / "signing.pub")
    key = signatures.load(Path(settings.SIGNING_PRIVATE_KEY_FILE))
    Path(public).write_bytes(signatures.public_pem(key))
    command = [sys.executable, "-I", "-S", "verify_receipt.py", "bundle.zip"]
    answer = subprocess.run(
        [*command, "--key", public, "--digest", release.receipt["digest"]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={},
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "The bundle is whole: 12 files" in answer.stdout
    assert "is signed with the key" in answer.stdout and "NOT SIGNED" not in answer.stdout
    assert cli.main(["verify", str(path), "--key", public]) == 0
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    answer = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, env={}
    )
    assert answer.returncode == 1 and answer.stderr.startswith("REFUSED: ")


def test_the_table_of_a_bundle_is_drawn_again_from_what_is_in_it(
    release: Release, cast: Cast, tmp_path: Path, browser: Open
) -> None:
    path = saved(browser(cast.steward), release, tmp_path)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path)  # what the verifier accepts, as a reader unpacks it
    (command,) = re.findall(
        r"python -m synth_engine (.*)", (tmp_path / "README.txt").read_text()
    )
    words = re.findall(r'"[^"]*"|\S+', command)
    arguments = [word.strip('"') for word in words]
    place = {"model.json": tmp_path / "model.json", "table.csv": tmp_path / "again.csv"}
    assert cli.main([str(place.get(word, word)) for word in arguments]) == 0
    drawn_again = (tmp_path / "again.csv").read_bytes()
    assert sha256_of(tmp_path / "again.csv") == sha256_of(tmp_path / "tables" / "table.csv")
    receipt = json.loads((tmp_path / "receipt.json").read_text())
    assert receipt["sample"]["table_sha256"] == hashlib.sha256(drawn_again).hexdigest()
    assert receipt["sample"]["seed"] == bundle.seed_of(release)


def test_a_bundle_is_the_same_for_everybody_and_its_core_whatever_becomes_of_the_release(
    release: Release, cast: Cast, tmp_path: Path, browser: Open
) -> None:
    first = verifier.verify_bundle(saved(browser(cast.steward), release, tmp_path))
    content = sha256_of(tmp_path / "bundle.zip")
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    assert sha256_of(saved(browser(cast.analyst), release, tmp_path)) == content
    edited = services.description_of(release) | {"rows": 9}
    services.keep_edition(actor=cast.steward, release=release, document=edited, note="Nine.")
    marked = verifier.verify_bundle(saved(browser(cast.analyst), release, tmp_path))
    assert marked.core == first.core == release.receipt["digest"]
    assert any(sentence.startswith("Mark 1") for sentence in marked.sentences)
    assert release.receipt["digest"] in citation.of_release(release).plain


def test_a_bundle_takes_a_slot_and_spends_nothing(
    release: Release, cast: Cast, browser: Open, settings: Settings, tmp_path: Path
) -> None:
    # Slots of their own: an answer of an earlier test may hold one until it is collected.
    settings.SPOOL_DIR = str(tmp_path)
    settings.DRAWINGS_PER_PERSON = 2
    client = browser(cast.steward)
    before = LedgerEntry.objects.count()
    held = [
        client.get(f"/releases/{release.code}/bundle.zip")
        for _ in range(settings.DRAWINGS_PER_PERSON)
    ]
    refused = client.get(f"/releases/{release.code}/bundle.zip")
    assert refused.status_code == 429 and refused["Retry-After"]
    for answer in held:
        answer.close()
    again = client.get(f"/releases/{release.code}/bundle.zip")
    assert again.status_code == 200
    again.close()
    assert LedgerEntry.objects.count() == before


# --- metadata -----------------------------------------------------------------------------------------------
def test_croissant_has_what_its_specification_asks_for(
    release: Release, cast: Cast, tmp_path: Path, browser: Open
) -> None:
    path = saved(browser(cast.steward), release, tmp_path)
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("croissant.json"))
        table = archive.read("tables/table.csv")
    context = document["@context"]
    assert document["@type"] == "sc:Dataset" and context["sc"] == context["@vocab"]
    assert document["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    for field in ("name", "description", "creator", "datePublished", "citeAs"):
        assert document[field]
    (file,) = document["distribution"]
    assert file["sha256"] == hashlib.sha256(table).hexdigest()
    assert file["contentUrl"] == "tables/table.csv"
    assert file["contentSize"] == f"{len(table)} B"
    (records,) = document["recordSet"]
    header = next(csv.reader(io.StringIO(table.decode())))
    assert [field["source"]["extract"]["column"] for field in records["field"]] == header
    assert [field["dataType"] for field in records["field"]] == [
        "sc:Text",
        "sc:Integer",
        "sc:Text",
    ]
    identifiers = [file["@id"], records["@id"], *(field["@id"] for field in records["field"])]
    assert len(identifiers) == len(set(identifiers))
    # Every term is one of the context, of schema.org, or of a namespace that the context names.
    for term in terms(document["distribution"]) | terms(document["recordSet"]):
        assert term in context or term in {
            "@type",
            "@id",
            "name",
            "description",
            "contentUrl",
            "contentSize",
            "encodingFormat",
            "sha256",
        }, term


def terms(document: Any) -> set[str]:
    """The names of all fields, on every level."""
    if isinstance(document, list):
        return set().union(*map(terms, document))
    if isinstance(document, dict):
        return set(document).union(*map(terms, document.values()))
    return set()


KERNEL = {
    "type": "object",
    "required": [
        "creators",
        "titles",
        "publisher",
        "publicationYear",
        "types",
        "schemaVersion",
    ],
    "additionalProperties": False,
    "properties": {
        "schemaVersion": {"const": "http://datacite.org/schema/kernel-4"},
        "creators": {
            "type": "array",
            "minItems": 1,
            "items": {
                "required": ["name"],
                "properties": {"nameType": {"enum": ["Organizational", "Personal"]}},
            },
        },
        "titles": {"type": "array", "minItems": 1, "items": {"required": ["title"]}},
        "publisher": {"type": "object", "required": ["name"]},
        "publicationYear": {"type": "integer", "minimum": 1000, "maximum": 9999},
        "types": {
            "required": ["resourceTypeGeneral", "resourceType"],
            "properties": {"resourceTypeGeneral": {"const": "Dataset"}},
        },
        "subjects": {"type": "array", "items": {"required": ["subject"]}},
        "dates": {
            "type": "array",
            "items": {
                "required": ["date", "dateType"],
                "properties": {"dateType": {"enum": ["Issued", "Created", "Available"]}},
            },
        },
        "language": {"type": "string"},
        "alternateIdentifiers": {
            "type": "array",
            "items": {"required": ["alternateIdentifier", "alternateIdentifierType"]},
        },
        "sizes": {"type": "array", "items": {"type": "string"}},
        "formats": {"type": "array", "items": {"type": "string"}},
        "version": {"type": "string"},
        "descriptions": {
            "type": "array",
            "items": {
                "required": ["description", "descriptionType"],
                "properties": {
                    "descriptionType": {
                        "enum": ["Abstract", "Methods", "TechnicalInfo", "Other"]
                    }
                },
            },
        },
    },
}
"""The properties of DataCite 4.5 that are used, with those that it requires, and its controlled values."""


def test_datacite_has_the_mandatory_properties(
    release: Release, cast: Cast, browser: Open
) -> None:
    answer = browser(cast.steward).get(f"/releases/{release.code}/datacite.json")
    document = json.loads(answer.content)
    jsonschema.validate(document, KERNEL)
    assert document["creators"] == [{"name": "Statistics Office", "nameType": "Organizational"}]
    assert document["publicationYear"] == release.created_at.year
    assert release.receipt["digest"] in json.dumps(document["alternateIdentifiers"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "titles": []}, KERNEL)


# --- the page of the receipt --------------------------------------------------------------------------------
def long_receipt(release: Release, calls: int) -> None:
    """The same receipt with its calls again and again: what the page makes of a long one."""
    document = release.receipt
    few = document["calls"]
    document["calls"] = [few[number % len(few)] for number in range(calls)]
    Release.objects.filter(pk=release.pk).update(receipt=document)


def test_calls_are_paged_and_filtered_and_the_rest_is_folded(
    release: Release, cast: Cast, browser: Open
) -> None:
    long_receipt(release, 60)
    client, address = browser(cast.steward), f"/releases/{release.code}/receipt/"

    def numbers(**query: str) -> list[int]:
        page = html_of(client.get(address, query))
        return [int(text) for text in re.findall(r'data-name="No\.">(\d+)<', page)]

    assert numbers() == list(range(1, 26))
    assert numbers(page="3") == list(range(51, 61))
    ages = numbers(q="AGE")
    assert ages and ages != list(range(1, 26))
    assert numbers(kind="tables counted") == list(range(1, 26))
    assert numbers(kind="no such kind") == list(range(1, 26))
    assert numbers(q="no such column") == []
    page = html_of(client.get(address))
    assert re.search(r'<details id="calls"\s*>', page)
    assert re.search(r'<details id="calls"\s+open', html_of(client.get(address, {"q": "age"})))
    page = html_of(client.get(address, {"q": "region", "page": "1"}))
    assert "q=region&amp;page=2" in page or "Next" not in page


def test_the_verdict_comes_first_and_is_asked_for_by_the_page(
    release: Release, cast: Cast, browser: Open
) -> None:
    address = f"/releases/{release.code}/receipt/"
    page = html_of(browser(cast.auditor).get(address))
    assert re.findall(r"<h2>\s*([^<]+?)\s*</h2>", page)[0] == "Verdict"
    assert f'hx-get="{address}verification/"' in page and 'hx-trigger="load"' in page
    assert "#entry-" in page  # the ledger's entry that holds the plan's digest
    checked = html_of(browser(cast.auditor).get(f"{address}verification/"))
    assert "Verified." in checked and 'hx-trigger="load"' not in checked


def test_a_choice_after_a_look_is_amber(release: Release, cast: Cast, browser: Open) -> None:
    address = f"/releases/{release.code}/receipt/"
    assert "Not covered." not in html_of(browser(cast.steward).get(address))
    worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
    assert datasets.preview_for(
        cast.steward, release.dataset, Preview.Kind.REPORT, release.code
    )
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    page = html_of(browser(cast.steward).get(address))
    assert re.search(r"alert-warning[^>]*>\s*<strong>Not covered\.", page)
    assert re.search(r'<li class="[^"]*mark-looked', page)
