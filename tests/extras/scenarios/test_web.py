"""Test data of a release: the page edits shares and adds steps, the archive has them, and nothing is
charged."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from synth_engine.extras.scenarios import engine as scenarios
from synthweb.audit.models import AuditEntry
from synthweb.ledger.models import LedgerEntry
from synthweb.releases import services, table_process
from synthweb.releases.models import Release
from synthweb.runs import worker
from tests.cast import Cast
from tests.web import scene

Open = Callable[..., Client]
pytestmark = pytest.mark.django_db

UNFAIR = {
    "step-protected": "region",
    "step-group": "south",
    "step-outcome": "works",
    "step-favourable": "yes",
    "step-clusters": "2",
    "step-size": "5",
    "step-tightness": "1",
}


@pytest.fixture
def release(cast: Cast) -> Release:
    """Finished, and shared with the analyst."""
    made = scene.funded(cast)
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=made).code)
    release = Release.objects.get()
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    return release


def address(release: Release) -> str:
    return reverse("releases:test-data", args=[release.code])


def form_of(response: Any) -> dict[str, str]:
    """What a browser would send of the page."""
    bars, state = response.context["bars"], response.context["state"]
    data = {
        "steps": state.steps_text,
        "rows": state.rows,
        "seed": state.seed,
        "kind": response.context["step_form"].kind,
        "kind_shown": response.context["step_form"].kind,
    }
    if bars is not None:
        chosen = {"column": bars.column, "given": bars.given, "when": bars.when}
        data |= chosen | {f"{name}_shown": value for name, value in chosen.items()}
        for bar in bars.bars:
            data |= {f"value-{bar.place}": bar.text, f"share-{bar.place}": bar.typed}
    return data


def press(client: Client, page: Any, do: str, **changed: Any) -> Any:
    return client.post(page.request["PATH_INFO"], form_of(page) | {"do": do} | changed)


def typed(page: Any, shares: Mapping[str, str]) -> dict[str, str]:
    """Shares as the fields of the page have them; 0 for all other values."""
    bars = page.context["bars"].bars
    return {f"share-{bar.place}": shares.get(bar.text, "0") for bar in bars}


def archive_of(response: Any) -> zipfile.ZipFile:
    assert response.status_code == 200
    assert response["Content-Type"] == "application/zip"
    return zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content)))


def table_of(archive: zipfile.ZipFile, name: str = "table.csv") -> pd.DataFrame:
    return pd.read_csv(archive.open(name), dtype="str", keep_default_na=False)


def test_shares_are_changed_and_a_fault_added_and_the_archive_has_both(
    release: Release, cast: Cast, browser: Open
) -> None:
    entries = LedgerEntry.objects.count()
    client = browser(cast.analyst)
    page = client.get(address(release))
    page = press(client, page, "show", column="region")
    assert page.context["bars"].column == "region"
    page = press(client, page, "apply", **typed(page, {"north": "20", "south": "80"}))
    assert page.status_code == 200
    now = {bar.text: bar.now.value for bar in page.context["bars"].bars}
    assert now["north"] == pytest.approx(0.2, abs=1e-4)
    page = press(client, page, "show", kind="missing-marker")
    fault = {"step-column": "age", "step-rate": "0.1", "step-markers": "n/a; -"}
    page = press(client, page, "add", **fault)
    # A situation that is added after a fault is applied before it.
    page = press(client, page, "show", kind="shift")
    page = press(client, page, "add", **{"step-column": "age", "step-by": "0.5"})
    page = press(client, page, "show", kind="individual-unfairness")
    page = press(client, page, "add", **UNFAIR)
    assert [step["kind"] for step in page.context["state"].steps] == [
        "shares",
        "missing-marker",
        "shift",
        "individual-unfairness",
    ]
    made = {"rows": "1000", "seed": "seven"}
    archive = archive_of(press(client, page, "make", **made))
    table, changes = table_of(archive), table_of(archive, "changes.csv")
    assert len(table) == 1010
    assert table["age"].isin(["n/a", "-"]).sum() == 101
    assert (changes["after"] == "treated otherwise").sum() == 2
    assert len(changes) == 101 + 10
    assert archive.read("STATEMENT.txt").decode().strip() == scenarios.STATEMENT
    record = json.loads(archive.read("record.json"))
    assert (record["seed"], record["rows"]) == ("seven", 1010)
    # Post-processing: nothing is charged, and the audit log has it.
    assert LedgerEntry.objects.count() == entries
    entry = AuditEntry.objects.filter(action="sample.requested").latest("pk")
    assert entry.detail["rows"] == 1000
    # The scenario can be uploaded again and gives the same bytes.
    upload = SimpleUploadedFile("scenario.json", archive.read("scenario.json"))
    fresh = press(client, client.get(address(release)), "upload", scenario=upload)
    again = archive_of(press(client, fresh, "make", **made))
    assert again.read("table.csv") == archive.read("table.csv")


def test_conditional_shares_are_shown_and_changed(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    page = press(client, client.get(address(release)), "show", column="works", given="region")
    bars = page.context["bars"]
    assert bars.when == bars.whens[0]
    assert sum(bar.now.value for bar in bars.bars) == pytest.approx(1)
    page = press(client, page, "show", when="south")
    page = press(
        client,
        page,
        "apply",
        **typed(page, {"yes": "100"}),
    )
    (step,) = page.context["state"].steps
    assert (step["given"], step["when"]) == ("region", "south")
    now = {bar.text: bar.now.value for bar in page.context["bars"].bars}
    assert now["yes"] == 1
    page = press(client, page, "show", when="north")
    assert {bar.now.value for bar in page.context["bars"].bars} == {
        bar.model.value for bar in page.context["bars"].bars
    }


def test_undo_normalise_and_steps_taken_away(
    release: Release, cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    page = press(client, client.get(address(release)), "show", column="age")
    bars = page.context["bars"].bars
    assert len(bars) == 10  # ranges
    doubled = {bar.text: str(2 * float(bar.typed)) for bar in bars}
    page = press(client, page, "normalise", **typed(page, doubled))
    after = page.context["bars"].bars
    assert sum(float(bar.typed) for bar in after) == pytest.approx(100, abs=0.1)
    page = press(client, page, "apply")
    page = press(client, page, "add", **UNFAIR)
    assert len(page.context["state"].steps) == 2
    page = press(client, page, "remove:1")
    assert [step["kind"] for step in page.context["state"].steps] == ["individual-unfairness"]
    page = press(client, page, "undo")
    assert page.context["state"].steps == []


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({"north": "-5"}, "lies between 0 and 100"),
        ({"north": "much"}, "number of per cent"),
        ({"north": "90", "south": "90"}, "add up to"),
        ({"north": "nan"}, "lies between 0 and 100"),
    ],
)
def test_shares_that_cannot_be_are_refused_and_stay_in_the_form(
    release: Release, cast: Cast, browser: Open, shares: dict[str, str], words: str
) -> None:
    client = browser(cast.steward)
    page = press(client, client.get(address(release)), "show", column="region")
    page = press(client, page, "apply", **typed(page, shares))
    assert page.status_code == 422
    assert words in page.content.decode()
    bars = {bar.text: bar.typed for bar in page.context["bars"].bars}
    assert shares.items() <= bars.items()
    assert page.context["state"].steps == []


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("shift", {"step-column": "region", "step-by": "1"}, "no order"),
        ("shift", {"step-column": "age", "step-by": "99"}, "between -10"),
        ("imbalance", {"step-column": "region", "step-value": "x", "step-share": "1"}, "names"),
        ("duplicate-key", {"step-column": "age", "step-rate": "0.1"}, "column"),
        ("disparate-impact", {"step-ratio": "1"}, "missing"),
    ],
)
def test_steps_that_cannot_be_are_refused_and_stay_in_the_form(
    release: Release,
    cast: Cast,
    browser: Open,
    kind: str,
    fields: dict[str, str],
    words: str,
) -> None:
    client = browser(cast.steward)
    page = press(client, client.get(address(release)), "show", kind=kind)
    page = press(client, page, "add", **fields)
    assert page.status_code == 422
    assert words in page.content.decode()
    form = page.context["step_form"]
    assert all(form.data[name] == value for name, value in fields.items())
    assert page.context["state"].steps == []


@pytest.mark.parametrize(
    ("do", "changed"),
    [
        ("make", {"rows": "0"}),
        ("make", {"rows": "many"}),
        ("make", {"rows": "10000000"}),
        ("make", {}),
        ("show", {"steps": "{"}),
        ("show", {"steps": "[1]"}),
        ("show", {"steps": '[{"kind": "shift", "column": "no such", "by": 1}]'}),
        ("show", {"column": "no such"}),
        ("show", {"column": "region", "given": "region"}),
        ("upload", {}),
        ("upload", {"scenario": SimpleUploadedFile("s.json", b"\xff{")}),
        ("upload", {"scenario": SimpleUploadedFile("s.json", b'{"schema": "other"}')}),
    ],
)
def test_what_cannot_be_made_is_refused(
    release: Release, cast: Cast, browser: Open, do: str, changed: dict[str, Any]
) -> None:
    client = browser(cast.steward)
    page = press(client, client.get(address(release)), "add", **UNFAIR)
    if do == "make" and not changed:
        changed = {"steps": "[]"}
    refused = press(client, page, do, **changed)
    assert refused.status_code == 422
    assert "alert" in refused.content.decode()


def test_a_slow_process_ends_and_leaves_nothing(
    release: Release, cast: Cast, browser: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_process, "SECONDS", -1)
    client = browser(cast.steward)
    page = press(client, client.get(address(release)), "add", **UNFAIR)
    refused = press(client, page, "make", rows="100")
    assert refused.status_code == 422
    assert "longer than" in refused.content.decode()
