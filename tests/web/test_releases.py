"""Releases: who sees what, samples that come out the same byte for byte, sharing, receipts."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from synth_engine import mechanisms, verifier
from synth_engine.errors import SpecError, VerificationError
from synth_engine.mechanisms import Model
from synth_engine.models import blocks
from synth_engine.privacy import receipt as receipts
from synthweb.accounts.models import Membership
from synthweb.audit.models import AuditEntry
from synthweb.datasets import preview_store
from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Preview
from synthweb.ledger.models import LedgerEntry
from synthweb.lib import signatures
from synthweb.lib.errors import AppendOnlyViolation, Conflict
from synthweb.releases import chain, selectors, services, tables
from synthweb.releases.models import Release, Sample, new_secret
from synthweb.runs import services as runs
from synthweb.runs import worker
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

Open = Callable[..., Client]
pytestmark = pytest.mark.django_db


@pytest.fixture
def release(cast: Cast) -> Release:
    """Finished and shared with nobody."""
    made = scene.funded(cast)
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=made).code)
    return Release.objects.get()


def address(name: str, release: Release, *more: object) -> str:
    return reverse(f"releases:{name}", args=[release.code, *more])


def text_of(response: object) -> str:
    return b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]


# --- samples ------------------------------------------------------------------------------------------------
def test_the_same_seed_gives_the_same_file_byte_for_byte(
    release: Release, cast: Cast, browser: Open
) -> None:
    files = []
    for user in (cast.steward, cast.analyst):
        services.share(actor=cast.steward, release=release, analyst=cast.analyst)
        sample = services.draw_sample(user=user, release=release, rows=1000, seed="tulip")
        for kind in ("csv", "parquet"):
            answer = browser(user).get(address(f"sample-{kind}", release, sample.code))
            files.append(hashlib.sha256(b"".join(answer.streaming_content)).hexdigest())
    assert files[:2] == files[2:]
    other = services.draw_sample(user=cast.steward, release=release, rows=1000)
    assert "".join(tables.stream_csv(other)) != "".join(tables.stream_csv(sample))


def test_csv_and_parquet_hold_the_same_rows_with_a_header_once(
    release: Release, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "FIRST", 64)  # several blocks
    sample = services.draw_sample(user=cast.steward, release=release, rows=200)
    rows = list(csv.DictReader(io.StringIO("".join(tables.stream_csv(sample)))))
    file = io.BytesIO()
    tables.write_parquet(sample, file)
    table = pq.read_table(io.BytesIO(file.getvalue()))
    assert len(rows) == table.num_rows == 200
    assert table.column_names == ["region", "age", "works"]
    assert [int(row["age"]) for row in rows] == table["age"].to_pylist()
    assert {row["region"] for row in rows} <= {"north", "south", "(other)"}


def test_a_file_is_what_the_engine_draws_from_the_model_with_that_seed(
    release: Release, cast: Cast
) -> None:
    sample = services.draw_sample(user=cast.steward, release=release, rows=50, seed="tulip")
    drawn = mechanisms.draw_table(Model.from_json(release.model), 50, "tulip")
    rows = list(csv.DictReader(io.StringIO("".join(tables.stream_csv(sample)))))
    assert [row["age"] for row in rows] == [str(age) for age in drawn["age"]]


def test_texts_that_a_spreadsheet_would_run_are_quoted_on_request_only(
    release: Release, cast: Cast
) -> None:
    document = json.loads(json.dumps(release.model).replace('"north"', '"=north"'))
    Release.objects.filter(pk=release.pk).update(model=document)
    release.refresh_from_db()
    sample = services.draw_sample(user=cast.steward, release=release, rows=200)
    assert "\n=north," in "".join(tables.stream_csv(sample))
    safe = "".join(tables.stream_csv(sample, for_spreadsheets=True))
    assert "\n=north," not in safe
    assert "\n'=north," in safe


def test_a_spreadsheet_runs_no_column_name_and_no_marker_of_a_missing_value(
    release: Release, cast: Cast
) -> None:
    document = json.loads(
        json.dumps(release.model).replace('"works"', '"=cmd"').replace('"age"', '"@age"')
    )
    for attribute in document["domain"]["attributes"]:
        if attribute["name"] == "@age":
            attribute |= {"missing": ["=1+1"], "low": -50, "high": 49}
    for table in document["tables"]:
        if table["clique"] == ["@age"]:
            most = max(table["weights"])
            table["weights"][table["weights"].index(most)] -= most // 2
            table["weights"].append(most // 2)
    Release.objects.filter(pk=release.pk).update(model=document)
    release.refresh_from_db()
    sample = services.draw_sample(user=cast.steward, release=release, rows=300)
    assert "=1+1" in {
        row["@age"] for row in csv.DictReader(io.StringIO("".join(tables.stream_csv(sample))))
    }
    rows = list(
        csv.DictReader(io.StringIO("".join(tables.stream_csv(sample, for_spreadsheets=True))))
    )
    assert list(rows[0]) == ["region", "'@age", "'=cmd"]
    ages = {row["'@age"] for row in rows}
    assert "'=1+1" in ages
    assert any(age.startswith("-") for age in ages), "numbers stay numbers"
    assert not any(age.startswith("=") for age in ages)


def test_a_spreadsheet_runs_nothing_in_the_dictionary(release: Release, cast: Cast) -> None:
    text = (
        json.dumps(release.model)
        .replace('"works"', '"=HYPERLINK(1)"')
        .replace('"north"', '"@SUM(A1)"')
    )
    Release.objects.filter(pk=release.pk).update(model=json.loads(text))
    release.refresh_from_db()
    rows = list(csv.DictReader(io.StringIO(tables.dictionary_csv(release))))
    assert [row["column"] for row in rows] == ["region", "age", "'=HYPERLINK(1)"]
    assert rows[0]["values"].startswith("'@SUM(A1)")
    assert tables.data_dictionary(release)[0]["values"].startswith("@SUM(A1)"), (
        "the JSON form is exact"
    )


def test_one_person_asking_again_gets_the_same_table_and_nobody_else_does(
    release: Release, cast: Cast
) -> None:
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    first, second = (
        services.draw_sample(user=cast.analyst, release=release, rows=200) for _ in range(2)
    )
    assert first.code != second.code
    assert "".join(tables.stream_csv(first)) == "".join(tables.stream_csv(second))
    other = services.draw_sample(user=cast.steward, release=release, rows=200)
    assert "".join(tables.stream_csv(other)) != "".join(tables.stream_csv(first))
    given = services.draw_sample(user=cast.analyst, release=release, rows=200, seed="tulip")
    assert "".join(tables.stream_csv(given)) != "".join(tables.stream_csv(first))


def test_a_seed_of_ones_own_hangs_on_the_secret_of_the_release(
    release: Release, cast: Cast
) -> None:
    before = services.own_seed(user=cast.steward, release=release)
    assert before == services.own_seed(
        user=cast.steward, release=Release.objects.get(pk=release.pk)
    )
    release.sample_secret = new_secret()
    assert len({before, services.own_seed(user=cast.steward, release=release)}) == 2


def test_a_seed_is_hidden_behind_a_commitment_in_the_receipt(
    release: Release, cast: Cast
) -> None:
    first = services.draw_sample(user=cast.steward, release=release, rows=5)
    assert len(first.seed) == 32
    document = chain.receipt_of_sample(first)
    assert document["sample"] == {
        "rows": 5,
        "seed_commitment": first.commitment,
    }
    assert first.seed not in json.dumps(document)
    assert release.sample_secret not in json.dumps(document)
    assert verifier.verify(document).epsilon <= 1


@pytest.mark.parametrize("rows", [0, -1, settings.SAMPLE_MAX_ROWS + 1])
def test_rows_beyond_the_limits_are_refused(release: Release, cast: Cast, rows: int) -> None:
    with pytest.raises(SpecError, match="rows"):
        services.draw_sample(user=cast.steward, release=release, rows=rows)


@pytest.mark.parametrize("wrong", ["0", "-5", "ten", "１０", "99999999999"])
def test_the_form_refuses_what_is_no_number_and_keeps_it(
    release: Release, cast: Cast, browser: Open, wrong: str
) -> None:
    page = html_of(
        browser(cast.steward).post(address("samples", release), {"rows": wrong, "seed": "mine"})
    )
    assert f'value="{wrong}"' in page
    assert 'value="mine"' in page
    assert "invalid-feedback" in page
    assert not Sample.objects.exists()


def test_somebody_elses_sample_does_not_exist(
    release: Release, cast: Cast, browser: Open
) -> None:
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    sample = services.draw_sample(user=cast.analyst, release=release, rows=5)
    for name in ("sample", "sample-csv", "sample-parquet", "sample-receipt"):
        assert browser(cast.steward).get(address(name, release, sample.code)).status_code == 404
        assert browser(cast.analyst).get(address(name, release, sample.code)).status_code == 200


def test_the_dictionary_says_what_every_column_means(
    release: Release, cast: Cast, browser: Open
) -> None:
    rows = browser(cast.steward).get(address("dictionary-json", release)).json()
    assert [row["column"] for row in rows] == ["region", "age", "works"]
    assert rows[0]["values"] == "north, south"
    assert rows[1]["values"] == "0 to 99"
    text = html_of(browser(cast.steward).get(address("dictionary-csv", release)))
    assert [row["column"] for row in csv.DictReader(io.StringIO(text))] == [
        "region",
        "age",
        "works",
    ]


# --- sharing ------------------------------------------------------------------------------------------------
def test_an_analyst_sees_a_release_from_sharing_to_taking_back(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.analyst)
    assert client.get(address("release", release)).status_code == 404
    browser(cast.steward).post(address("share", release), {"analyst": cast.analyst.pk})
    assert release.code in html_of(client.get(reverse("releases:index")))
    assert client.get(address("release", release)).status_code == 200
    assert client.get(address("samples", release)).status_code == 200
    grant = selectors.grants_of(release).get()
    browser(cast.steward).post(address("revoke", release, grant.pk))
    assert client.get(address("release", release)).status_code == 404
    assert release.code not in html_of(client.get(reverse("releases:index")))
    deeds = AuditEntry.objects.filter(object_code=release.code).values_list("action", flat=True)
    assert {"release.shared", "release.revoked"} <= set(deeds)


def test_nothing_real_is_offered_to_an_analyst(
    release: Release, cast: Cast, browser: Open
) -> None:
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    client = browser(cast.analyst)
    for name in ("compare", "compare-json", "share"):
        assert client.get(address(name, release)).status_code == 403
    assert client.get(reverse("runs:report", args=[release.code])).status_code == 403
    for name in ("release", "validation", "samples", "receipt", "about"):
        page = html_of(client.get(address(name, release)))
        assert release.dataset.code not in page, name
        assert address("compare", release) not in page, name


def test_only_analysts_of_the_organisation_can_be_given_a_release(
    release: Release, cast: Cast
) -> None:
    for person in (cast.stranger, cast.auditor):
        with pytest.raises(Conflict, match="analyst"):
            services.share(actor=cast.steward, release=release, analyst=person)


def test_an_analyst_who_leaves_the_organisation_loses_what_was_shared(
    release: Release, cast: Cast, browser: Open
) -> None:
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    Membership.objects.filter(user=cast.analyst).delete()
    assert browser(cast.analyst).get(address("release", release)).status_code == 404


def test_sharing_twice_is_one_grant(release: Release, cast: Cast) -> None:
    first, second = (
        services.share(actor=cast.steward, release=release, analyst=cast.analyst)
        for _ in range(2)
    )
    assert first == second


def test_strangers_find_nothing_and_auditors_read_the_receipt_but_no_samples(
    release: Release, cast: Cast, browser: Open
) -> None:
    for name in (
        "release",
        "receipt",
        "receipt-json",
        "samples",
        "compare",
        "share",
        "verification",
    ):
        assert browser(cast.stranger).get(address(name, release)).status_code == 404
        assert browser().get(address(name, release)).status_code == 302
    auditor = browser(cast.auditor)
    assert auditor.get(address("receipt", release)).status_code == 200
    assert auditor.get(address("receipt-json", release)).status_code == 200
    assert auditor.get(address("samples", release)).status_code == 403
    assert auditor.post(address("describe", release), {"name": "x"}).status_code == 403


def test_a_steward_names_and_describes_a_release(
    release: Release, cast: Cast, browser: Open
) -> None:
    browser(cast.steward).post(
        address("describe", release),
        {"name": "Commutes 2019", "description": "Who went where."},
    )
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    page = html_of(browser(cast.analyst).get(address("release", release)))
    assert "Commutes 2019" in page
    assert "Who went where." in page


# --- receipts and looking -----------------------------------------------------------------------------------
def test_the_receipt_page_lists_every_call_and_verifies_here(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.auditor)
    page = html_of(client.get(address("receipt", release)))
    for column in ("region", "age", "works"):
        assert f"Counted every value of {column}" in page
    assert "Verified." in html_of(
        client.get(address("verification", release), headers={"HX-Request": "true"})
    )


def test_a_tampered_receipt_is_not_verified_on_the_page(
    release: Release, cast: Cast, browser: Open
) -> None:
    receipt = release.receipt
    receipt["guarantee"]["epsilon"] = "1/10"
    Release.objects.filter(pk=release.pk).update(receipt=receipt)
    page = html_of(browser(cast.auditor).get(address("verification", release)))
    assert "Not verified." in page
    assert "Verified.</strong> The calls" not in page


def test_the_downloaded_receipt_is_the_one_the_verifier_accepts(
    release: Release, cast: Cast, browser: Open
) -> None:
    answer = browser(cast.steward).get(address("receipt-json", release))
    assert verifier.verify(answer.json()).delta <= 1e-9
    assert "attachment" in answer["Content-Disposition"]


def test_the_verifier_is_downloaded_beside_the_receipt_and_accepts_it(
    release: Release, cast: Cast, browser: Open, tmp_path: Path
) -> None:
    reader = browser(cast.steward)
    assert reverse("releases:verifier") in html_of(reader.get(address("receipt", release)))
    for name, found in (
        ("verify_receipt.py", reader.get(reverse("releases:verifier"))),
        ("receipt.json", reader.get(address("receipt-json", release))),
    ):
        (tmp_path / name).write_bytes(found.content)
    command = [sys.executable, "-I", "-S", "verify_receipt.py", "receipt.json"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, env={})


def look(release: Release, cast: Cast) -> None:
    """Have the comparison made and open it."""
    worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
    assert datasets.preview_for(
        cast.steward, release.dataset, Preview.Kind.REPORT, release.code
    )


def test_deciding_to_share_after_looking_is_a_signed_mark_beside_the_receipt(
    release: Release, cast: Cast
) -> None:
    look(release, cast)
    core = release.receipt
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    release.refresh_from_db()
    assert release.receipt == core
    document = json.loads(json.dumps(chain.receipt_of(release)))
    (mark,) = document["marks"]
    assert (mark["kind"], mark["signed"] is not None) == ("chosen-after-looking", True)
    key = (
        signatures.load(Path(settings.SIGNING_PRIVATE_KEY_FILE)).public_key().public_bytes_raw()
    )
    found = verifier.verify(document, head=chain.head_of(release), key=key, core=core["digest"])
    assert [caveat for caveat in found.caveats if "look at real data" in caveat]
    entry = AuditEntry.objects.get(action="release.marked")
    assert (entry.detail["mark"], entry.detail["receipt"]) == (mark["hash"], core["digest"])
    with pytest.raises(VerificationError, match="marks are missing"):
        verifier.verify(document | {"marks": []}, key=key)


def test_sharing_before_looking_leaves_no_mark(release: Release, cast: Cast) -> None:
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    look(release, cast)
    release.refresh_from_db()
    assert release.receipt["chosen_after_looking"] is False
    assert not release.marks.exists()


def test_a_release_is_marked_once_however_often_it_is_shared(
    release: Release, cast: Cast
) -> None:
    look(release, cast)
    for _ in range(2):
        grant = services.share(actor=cast.steward, release=release, analyst=cast.analyst)
        services.revoke(actor=cast.steward, grant=grant)
    assert release.marks.count() == 1


def test_a_mark_can_neither_be_changed_nor_removed(release: Release, cast: Cast) -> None:
    look(release, cast)
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    mark = release.marks.get()
    with pytest.raises(AppendOnlyViolation):
        mark.delete()
    with pytest.raises(AppendOnlyViolation):
        mark.save()


def test_a_caveat_is_amber_and_the_box_of_the_verifier_is_green_without_one_alone(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.auditor)
    part = {"HX-Request": "true"}
    clean = html_of(client.get(address("verification", release), headers=part))
    assert "<strong>Verified.</strong>" in clean
    assert "Not covered." not in clean
    look(release, cast)
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    page = html_of(client.get(address("verification", release), headers=part))
    assert "Verified, with a caveat." in page
    assert "<strong>Verified.</strong>" not in page
    amber = page.split('class="alert alert-warning')[1].split("</div>")[0]
    assert "Not covered." in amber
    assert "A choice was made after a look at real data" in amber
    assert page.count("A choice was made after a look at real data") == 1


def test_the_page_compares_the_plan_with_the_ledger_and_the_core_with_the_audit_log(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.auditor)
    page = html_of(client.get(address("receipt", release)))
    hold = LedgerEntry.objects.get(run_code=release.run_code, kind="HOLD")
    assert "Plan: the same as in" in page
    assert "Core: the same as in" in page
    account = reverse("ledger:account", args=[release.account.code])
    assert f'href="{account}?run={release.run_code}#entry-{hold.sequence}"' in page
    ledger_page = html_of(client.get(f"{account}?run={release.run_code}"))
    assert f'id="entry-{hold.sequence}"' in ledger_page
    assert release.receipt["plan"]["sha256"] in ledger_page
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    read = html_of(browser(cast.analyst).get(address("receipt", release)))
    assert "Plan: the same as in" in read
    assert account not in read


def test_a_receipt_that_was_exchanged_in_the_database_is_not_the_one_of_the_ledger_and_the_log(
    release: Release, cast: Cast, browser: Open
) -> None:
    doctored = receipts.seal(release.receipt | {"answers_sha256": "f" * 64})
    doctored["plan"]["sha256"] = "e" * 64
    Release.objects.filter(pk=release.pk).update(receipt=doctored)
    page = html_of(browser(cast.auditor).get(address("receipt", release)))
    assert "Plan: NOT the same as in" in page
    assert "Core: NOT the same as in" in page


def test_the_latest_head_is_published_on_the_page_and_by_rest(
    release: Release, cast: Cast, browser: Open
) -> None:
    look(release, cast)
    client = browser(cast.auditor)
    document = client.get(address("receipt-json", release)).json()
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    assert address("marks-head", release) in html_of(client.get(address("receipt", release)))
    head = client.get(address("marks-head", release)).json()
    assert (head["statement"]["core"], head["statement"]["marks"]) == (
        release.receipt["digest"],
        1,
    )
    with pytest.raises(
        VerificationError, match="the head names mark 1, and the receipt ends at mark 0"
    ):
        verifier.verify(document, head=head)
    listed = client.get(f"/api/v1/releases/{release.code}/marks/").json()
    assert listed["core"] == release.receipt["digest"]
    assert [mark["hash"] for mark in listed["marks"]] == [head["statement"]["head"]]
    assert listed["head"]["statement"]["head"] == head["statement"]["head"]


def test_without_a_key_receipts_are_unsigned_and_say_so_and_marks_are_made_all_the_same(
    release: Release, cast: Cast, browser: Open, settings: Any, tmp_path: Path
) -> None:
    settings.SIGNING_PRIVATE_KEY_FILE = str(tmp_path / "none.key")
    look(release, cast)
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    document = chain.receipt_of(release)
    assert document["seal"] is None
    assert document["marks"][0]["signed"] is None
    assert any("NOT SIGNED" in said for said in verifier.verify(document).sentences)
    assert browser(cast.auditor).get(address("marks-head", release)).status_code == 404
    assert "no key to sign with" in html_of(
        browser(cast.auditor).get(address("receipt", release))
    )


def test_the_comparison_is_asked_for_waited_for_opened_with_an_audit_entry_and_expires(
    release: Release, cast: Cast, browser: Open
) -> None:
    client, ask = browser(cast.steward), reverse("runs:report", args=[release.code])
    assert client.get(address("compare", release)).url == ask
    assert "Compare with real data" in html_of(client.get(ask))
    client.post(ask)
    waiting = html_of(client.get(ask, headers={"HX-Request": "true"}))
    assert "every 2s" in waiting
    worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
    assert client.get(ask, headers={"HX-Request": "true"})["HX-Redirect"] == address(
        "compare", release
    )
    before = AuditEntry.objects.filter(action="report.opened").count()
    page = client.get(address("compare", release))
    assert "not differentially private" in html_of(page)
    assert "no-store" in page["Cache-Control"]
    assert AuditEntry.objects.filter(action="report.opened").count() == before + 1
    Preview.objects.update(expires_at=release.created_at)
    assert client.get(address("compare", release)).url == ask
    assert "expired" in html_of(client.get(ask))


def test_a_look_at_another_upload_of_the_same_table_is_a_look(
    release: Release, cast: Cast
) -> None:
    twin = scene.read(
        scene.upload(
            steward=cast.steward, organisation=cast.organisation, name="The same again"
        )
    )
    other = scene.read(
        scene.upload(
            steward=cast.steward,
            organisation=cast.organisation,
            name="Other",
            table=scene.TABLE + "north,1,no\n",
        )
    )
    for dataset, looked in ((other, False), (twin, True)):
        preview_store.put(dataset, Preview.Kind.REPORT, "abc", {})
        datasets.preview_for(cast.steward, dataset, Preview.Kind.REPORT, "abc")
        assert selectors.looked_at_real(release.account) is looked
