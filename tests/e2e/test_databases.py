"""Two tables in a real browser: uploaded, connected, checked, released, shared, compared and verified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

from synthweb.datasets.models import DatabaseVersion, Dataset
from synthweb.ledger import services as ledger
from synthweb.releases import services as releases
from synthweb.releases.models import Release
from synthweb.runs import worker
from synthweb.runs.models import SynthesisRun, TableJob
from tests import databases
from tests.cast import Cast
from tests.e2e.keyboard import Keyboard
from tests.e2e.patience import element, until
from tests.e2e.test_accessibility import judged
from tests.web import scene
from tests.web.test_databases import ROWS, csv_of

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_two_tables_become_one_release(
    chrome: webdriver.Chrome, live_server: LiveServer, cast: Cast, tmp_path: Path
) -> None:
    page = Keyboard(chrome)
    page.is_signed_in(cast.steward, address=live_server.url)
    _upload(chrome, page, live_server, tmp_path, name="homes", below="")
    root = Dataset.objects.get()
    tables = live_server.url + reverse("runs:tables", args=[root.code])
    chrome.get(tables)
    assert judged(chrome) == []
    page.press("Upload a table")
    _upload(chrome, page, live_server, tmp_path, name="people", below=root.code)

    chrome.get(tables)
    assert judged(chrome) == []
    document = databases.document(databases.HOMES, {**databases.PEOPLE, "key": None})
    (tmp_path / "database.json").write_text(json.dumps(document))
    element(chrome, "[name='document']").send_keys(str(tmp_path / "database.json"))
    element(chrome, "[name='because']").send_keys("The codebook.", Keys.ENTER)
    until(chrome, lambda _: DatabaseVersion.objects.exists())
    page.reads("A worker is checking the keys")
    _work()
    page.reads("Every key is unique")
    chrome.get(tables)
    assert judged(chrome) == []

    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=root),
        reason="Agreed.",
    )
    page.press("Make a release of all tables")
    element(chrome, "[name='epsilon']").send_keys(Keys.ENTER)
    page.reads("people:pairs")
    assert judged(chrome) == []
    page.press("Spend ε 1 and run")
    until(chrome, lambda _: SynthesisRun.objects.exists())
    worker.synthesize(code=SynthesisRun.objects.get().code)
    release = Release.objects.get()

    chrome.get(live_server.url + reverse("releases:compare", args=[release.code]))
    page.press("Compare with real data")
    until(chrome, lambda _: TableJob.objects.filter(kind="report").exists())
    _work()
    page.reads("numbers of children")
    assert judged(chrome) == []

    releases.share(actor=cast.steward, release=release, analyst=cast.analyst)
    page.is_signed_in(cast.analyst, address=live_server.url)
    chrome.get(live_server.url + reverse("releases:release", args=[release.code]))
    page.reads("every reference leads to a row")
    assert judged(chrome) == []
    chrome.get(live_server.url + reverse("releases:receipt", args=[release.code]))
    page.reads("The calls add up to")
    assert judged(chrome) == []
    assert not page.complaints()


def _upload(
    chrome: webdriver.Chrome,
    page: Keyboard,
    live_server: LiveServer,
    folder: Path,
    *,
    name: str,
    below: str,
) -> None:
    """Upload a table on its page and have it read."""
    query = f"?below={below}" if below else ""
    chrome.get(live_server.url + reverse("pages:upload") + query)
    page.field("name").send_keys(name)
    (folder / f"{name}.csv").write_text(csv_of(name, ROWS))
    page.choose(folder / f"{name}.csv")
    page.press("Upload and encrypt")
    until(chrome, lambda _: Dataset.objects.filter(name=name).exists())
    page.reads("A worker is reading your table")
    _work()
    page.reads("Your table is ready")


def _work() -> None:
    """The worker does what waits."""
    for job in TableJob.objects.filter(state="waiting"):
        worker.table_job(code=job.code)
