"""What a description would damage is told on the describe page, before it is confirmed, and never keeps it
from being confirmed."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By

from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.runs import services as runs
from synthweb.runs import worker
from synthweb.runs.models import TableJob
from tests.cast import Cast
from tests.e2e.patience import click, complaints, until
from tests.web import damaged

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

NAMES = [attribute["name"] for attribute in damaged.DOCUMENT["attributes"]]
TOLD = {
    "price": "cannot be read as whole numbers",
    "sold": "declare the format %m/%d/%y",
    "area": "are outside: widen the bounds by a source, learn them privately, or keep them",
    "tax": "lie in the one bin 0 to 89999, unevenly: give 0 a bin of its own",
    "zip": "describe the column as categories",
}


@pytest.fixture
def described(cast: Cast) -> Dataset:
    """A table that was read, with a description of another one in its draft."""
    dataset = datasets.store_stream(
        steward=cast.steward,
        organisation=cast.organisation,
        name="Sales",
        file_kind="csv",
        chunks=[damaged.TABLE.encode()],
    )
    runs.request_ingest(dataset=dataset, actor=cast.steward)
    worker.table_job(code=TableJob.objects.get(dataset=dataset).code)
    dataset.refresh_from_db()
    document = {"attributes": [dict(each) for each in damaged.DOCUMENT["attributes"]]}
    document["attributes"][NAMES.index("zip")]["width"] = 1
    datasets.import_document(
        actor=cast.steward, dataset=dataset, document=document, replaces=True
    )
    return dataset


def test_every_kind_of_damage_is_told_before_it_is_confirmed(
    cast: Cast, live_server: LiveServer, chrome: webdriver.Chrome, described: Dataset
) -> None:
    client = Client()
    client.force_login(cast.steward)
    chrome.get(f"{live_server.url}/livez")
    chrome.delete_all_cookies()
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    chrome.add_cookie({"name": settings.SESSION_COOKIE_NAME, "value": cookie})
    chrome.set_window_size(1280, 900)
    chrome.get(live_server.url + reverse("datasets:describe", args=[described.code]))
    lights = [
        element.get_dom_attribute("data-light")
        for element in chrome.find_elements(By.CSS_SELECTOR, ".columns .column-main")
    ]
    assert lights == ["unfit", "unfit", "unfit", "unfit", "question", "fits"]
    for index, name in enumerate(NAMES):
        click(chrome, f"button[value='show:{index}']")
        until(
            chrome,
            lambda page, name=name: [
                title
                for title in page.find_elements(By.CSS_SELECTOR, ".detail-title")
                if title.text == name
            ],
        )
        until(
            chrome,
            lambda page: len(page.find_elements(By.CSS_SELECTOR, ".detail-title")) == 1,
        )
        told = until(
            chrome,
            lambda page: [
                " ".join(
                    each.text for each in page.find_elements(By.CSS_SELECTOR, "[data-lost]")
                )
            ],
        )[0]
        assert TOLD.get(name, "") in told, name
        assert bool(told) == (name in TOLD), name
    # Keeping what does not fit is always allowed.
    place = NAMES.index("area")
    click(chrome, f"button[value='show:{place}']")
    learn = until(
        chrome,
        lambda page: page.find_element(By.CSS_SELECTOR, f"button[value='learn:{place}']"),
    )
    assert "Nowhere: learn it privately, about" in learn.text
    click(chrome, f"button[value='confirm:{place}']")
    because = until(chrome, lambda page: page.find_element(By.NAME, f"{place}-because"))
    because.send_keys("The land register.")
    click(chrome, f".column-asks button[value='confirm:{place}']")
    until(
        chrome,
        lambda page: page.find_elements(By.CSS_SELECTOR, f"#line-{place} .is-confirmed"),
    )
    described.refresh_from_db()
    assert described.draft["columns"]["area"]["confirmed"]
    assert complaints(chrome) == []
