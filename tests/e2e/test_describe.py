"""The describe page with a browser: a set of values is told as one types, and its editors stand the judge of
pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from synthweb.datasets.models import Dataset
from tests.cast import Cast
from tests.e2e import patience
from tests.e2e.patience import complaints, element, until
from tests.e2e.test_accessibility import judged
from tests.web.describe_page import ready

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

Open = Callable[[str], None]


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    return ready(cast)


@pytest.fixture
def describing(
    chrome: webdriver.Chrome, live_server: LiveServer, cast: Cast, dataset: Dataset
) -> Open:
    """Opens the page of the dataset with a query."""
    client = Client()
    client.force_login(cast.steward)
    chrome.get(f"{live_server.url}/livez")
    chrome.delete_all_cookies()
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    chrome.add_cookie({"name": settings.SESSION_COOKIE_NAME, "value": cookie})
    address = live_server.url + reverse("datasets:describe", args=[dataset.code])
    return lambda query: chrome.get(address + query)


def told(chrome: webdriver.Chrome) -> str:
    return element(chrome, ".set-told").text


def type_in(chrome: webdriver.Chrome, name: str, *text: str) -> None:
    element(chrome, f"[name='{name}']").send_keys(*text)


def choose(chrome: webdriver.Chrome, name: str, value: str, *, then: str) -> None:
    """Choose in a list that redraws the editor, and wait for an input that this brings."""
    patience.choose(chrome, name, value)
    until(chrome, lambda _: chrome.find_elements(By.NAME, then))


def test_the_size_of_a_set_follows_what_is_typed(
    chrome: webdriver.Chrome, describing: Open, dataset: Dataset
) -> None:
    describing("?edit=0")
    choose(chrome, "0-kind", "weak", then="0-set")
    until(chrome, lambda _: "the public set is not chosen" in told(chrome))
    choose(chrome, "0-set", "strings", then="0-alphabet")
    for name, text in (
        ("0-alphabet", "a-z"),
        ("0-set_min_length", "1"),
        ("0-set_max_length", "3"),
    ):
        type_in(chrome, name, text)
    until(chrome, lambda _: "18\u202f278 values" in told(chrome))
    type_in(chrome, "0-set_max_length", "00")
    until(chrome, lambda _: "more than 2^256 values" in told(chrome))
    dataset.refresh_from_db()
    assert "max_length" not in str(dataset.draft)  # typing keeps nothing; a press does
    chrome.execute_script(
        "scrollTo(0, document.body.scrollHeight)"
    )  # or the bar of the page stands before a button
    assert not judged(chrome)
    assert not complaints(chrome)


def test_a_file_of_lines_becomes_a_public_list(
    chrome: webdriver.Chrome, describing: Open, dataset: Dataset, tmp_path: Path
) -> None:
    (tmp_path / "jobs.txt").write_text("clerk\ncook\nsmith\n")
    describing("?edit=0")
    choose(chrome, "0-kind", "weak", then="0-set")
    choose(chrome, "0-set", "list", then="0-set_values")
    element(chrome, ".fills").send_keys(str(tmp_path / "jobs.txt"))
    until(chrome, lambda _: "3 values." in told(chrome))
    element(chrome, "button[value='confirm:0']").send_keys(Keys.ENTER)
    until(
        chrome,
        lambda _: (
            "Confirm only what is known without this table"
            in chrome.find_element(By.ID, "line-0").text
        ),
    )
    type_in(chrome, "0-because", "The register of trades.", Keys.ENTER)
    until(
        chrome,
        lambda _: (
            "found with budget among 3 public values"
            in chrome.find_element(By.ID, "line-0").text
        ),
    )
    dataset.refresh_from_db()
    assert dataset.draft["columns"]["sector"]["fields"]["set_values"].split() == [
        "clerk",
        "cook",
        "smith",
    ]


def test_arrows_lead_from_line_to_line_past_what_is_filtered_out(
    chrome: webdriver.Chrome, describing: Open
) -> None:
    describing("?edit=2")

    def is_at(place: str) -> None:
        """What has the focus is looked for until it is this one: a busy browser moves it after the driver has
        answered."""
        until(chrome, lambda _: element(chrome, ":focus").get_dom_attribute("value") == place)

    element(chrome, "button[value='show:0']").send_keys(Keys.ARROW_DOWN)
    is_at("show:1")
    for place in ("show:2", "show:3", "show:3"):
        element(chrome, ":focus").send_keys(Keys.ARROW_DOWN)
        is_at(place)
    # Boxes are there once several columns are set together.
    assert not chrome.find_elements(By.NAME, "select")
    element(chrome, "#together > summary").send_keys(Keys.ENTER)
    until(chrome, lambda page: len(page.find_elements(By.NAME, "select")) == 4)
    element(chrome, "#column-search").send_keys("s")  # sector, works
    box = element(chrome, "#line-0 input[name=select]")
    box.send_keys(Keys.ARROW_UP)
    assert box == element(chrome, ":focus")
    element(chrome, "#column-search").clear()
