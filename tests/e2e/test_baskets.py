"""A list of baskets in a real browser and by keyboard: uploaded, described, released and sampled."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from synthweb.datasets.models import Dataset
from synthweb.ledger import services as ledger
from synthweb.releases.models import Release, Sample
from synthweb.runs import worker
from synthweb.runs.models import SynthesisRun, TableJob
from tests.cast import Cast
from tests.e2e.keyboard import Keyboard
from tests.e2e.patience import choose, element, until
from tests.e2e.test_accessibility import judged
from tests.web import scene

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

BASKETS = "".join(("bread milk\n", "beer\n", "\n")[n % 3] for n in range(900))


def test_a_list_of_baskets_becomes_a_release(
    chrome: webdriver.Chrome, live_server: LiveServer, cast: Cast, tmp_path: Path
) -> None:
    page = Keyboard(chrome)
    page.is_signed_in(cast.steward, address=live_server.url)
    chrome.get(live_server.url + reverse("pages:upload"))
    page.field("name").send_keys("Shop")
    (tmp_path / "shop.dat").write_text(BASKETS)
    page.choose(tmp_path / "shop.dat")
    page.press("Upload and encrypt")
    until(chrome, lambda _: Dataset.objects.exists())
    page.reads("A worker is reading your table")
    for job in TableJob.objects.filter(state="waiting"):
        worker.table_job(code=job.code)
    page.reads("Your table is ready")

    dataset = Dataset.objects.get()
    describe = live_server.url + reverse("datasets:describe", args=[dataset.code])
    chrome.get(f"{describe}?edit=0")
    choose(chrome, "0-kind", "basket")
    until(chrome, lambda _: chrome.find_elements(By.NAME, "0-items"))
    element(chrome, "[name='0-items']").send_keys("bread\nmilk\nbeer")
    because = element(chrome, "[name='0-because']")
    because.send_keys("The price list.")
    chrome.execute_script("scrollTo(0, document.body.scrollHeight)")
    assert judged(chrome) == []
    element(chrome, "button[value='confirm:0']").send_keys(Keys.ENTER)
    until(chrome, lambda _: _confirmed(dataset))
    element(chrome, "button[value='finish']").send_keys(Keys.ENTER)
    until(chrome, lambda _: dataset.domain_versions.exists())

    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=dataset),
        reason="Agreed.",
    )
    chrome.get(live_server.url + reverse("runs:new", args=[dataset.code]))
    chrome.execute_script("document.getElementById('mechanism-dpsyn').click()")
    field = element(chrome, "#id_epsilon")
    field.clear()
    field.send_keys("2", Keys.ENTER)
    until(
        chrome,
        lambda found: "Spend ε 2 and run" in found.find_element(By.ID, "estimate").text,
    )
    element(chrome, "#estimate button").send_keys(Keys.ENTER)
    until(chrome, lambda _: SynthesisRun.objects.exists())
    worker.synthesize(code=SynthesisRun.objects.get().code)
    release = Release.objects.get()
    assert release.model["mechanism"] == "dpsyn"

    chrome.get(live_server.url + reverse("releases:samples", args=[release.code]))
    assert not page.complaints()
    field = element(chrome, "[name='rows']")
    field.clear()
    field.send_keys("40", Keys.ENTER)
    until(chrome, lambda _: Sample.objects.exists())


def _confirmed(dataset: Dataset) -> bool:
    dataset.refresh_from_db()
    return bool(dataset.draft["columns"]["items"].get("confirmed"))
