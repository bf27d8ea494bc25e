"""What was typed is not lost: two tabs on Describe, the end of a session, a page that is loaded again while a
file comes in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings as configured
from django.test import Client
from django.urls import reverse
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By

from synthweb.accounts.models import UserSession
from synthweb.datasets import draft as drafts
from synthweb.datasets import partial_tables
from synthweb.datasets.models import Dataset, PartialUpload
from tests.cast import PASSWORD, Cast
from tests.e2e.gate import Gate
from tests.e2e.patience import click, complaints, element, until
from tests.e2e.test_resumable_upload import HELD, TABLE
from tests.web.describe_page import ready

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]
KEPT = """return Object.keys(sessionStorage).filter(
    (key) => key.startsWith("typed:") || key === "uploads-begun").length"""


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    return ready(cast)


@pytest.fixture
def signed_in(chrome: webdriver.Chrome, live_server: LiveServer, cast: Cast) -> str:
    """The address of the server at which the steward is signed in."""
    sign_in(chrome, cast, live_server.url)
    return str(live_server.url)


def sign_in(chrome: webdriver.Chrome, cast: Cast, address: str) -> None:
    client = Client()
    client.force_login(cast.steward)
    chrome.get(f"{address}/livez")
    chrome.delete_all_cookies()
    cookie = client.cookies[configured.SESSION_COOKIE_NAME].value
    chrome.add_cookie({"name": configured.SESSION_COOKIE_NAME, "value": cookie})


def value(chrome: webdriver.Chrome, name: str) -> str:
    return str(element(chrome, f"[name='{name}']").get_property("value"))


def type_in(chrome: webdriver.Chrome, name: str, text: str) -> None:
    field = element(chrome, f"[name='{name}']")
    field.clear()
    field.send_keys(text)


def save(chrome: webdriver.Chrome) -> None:
    click(chrome, "button.btn[value='save']")


def table_of(dataset: Dataset) -> dict[str, str]:
    dataset.refresh_from_db()
    return dict(dataset.draft.get("table") or {})


def test_the_second_of_two_tabs_is_told_and_takes_its_own(
    chrome: webdriver.Chrome, signed_in: str, dataset: Dataset
) -> None:
    address = signed_in + reverse("datasets:describe", args=[dataset.code])
    chrome.get(address)
    first = chrome.current_window_handle
    chrome.switch_to.new_window("tab")
    try:
        chrome.get(address)
        click(chrome, "#who-several")
        type_in(chrome, "max_records", "7")
        second = chrome.current_window_handle
        chrome.switch_to.window(first)
        click(chrome, "#who-several")
        type_in(chrome, "max_records", "3")
        save(chrome)
        until(chrome, lambda page: page.find_elements(By.CSS_SELECTOR, ".alert-success"))
        assert table_of(dataset)["max_records"] == "3"
        chrome.switch_to.window(second)
        save(chrome)
        until(chrome, lambda page: page.find_elements(By.CSS_SELECTOR, "[data-difference]"))
        assert table_of(dataset)["max_records"] == "3"
        assert value(chrome, "max_records") == "7"
        click(chrome, "[data-saved-meanwhile] button")
        until(chrome, lambda _: table_of(dataset)["max_records"] == "7")
        until(chrome, lambda page: page.find_elements(By.CSS_SELECTOR, ".alert-success"))
    finally:
        chrome.switch_to.window(chrome.window_handles[-1])
        chrome.close()
        chrome.switch_to.window(first)


@pytest.mark.parametrize("pressed", ["save", "a line"])
def test_what_was_typed_on_describe_is_back_after_the_session_ended(
    chrome: webdriver.Chrome, signed_in: str, cast: Cast, dataset: Dataset, pressed: str
) -> None:
    chrome.get(signed_in + reverse("datasets:describe", args=[dataset.code]))
    click(chrome, "button[value='show:1']")
    until(chrome, lambda page: page.find_elements(By.ID, "edit-1"))
    click(chrome, "#edit-1")
    until(chrome, lambda page: page.find_elements(By.NAME, "1-because"))
    type_in(chrome, "1-because", "The act of 1911.")
    click(chrome, "#who-several")
    type_in(chrome, "max_records", "7")
    UserSession.objects.all().delete()
    if pressed == "save":
        save(chrome)
    else:
        click(chrome, "button[value='confirm:1']")
    until(chrome, lambda page: page.find_elements(By.NAME, "password"))
    type_in(chrome, "username", cast.steward.username)
    type_in(chrome, "password", PASSWORD)
    click(chrome, "main form button[type=submit]")
    until(chrome, lambda page: page.find_elements(By.CSS_SELECTOR, "[data-typed-back]"))
    assert value(chrome, "1-because") == "The act of 1911."
    assert value(chrome, "max_records") == "7"
    assert "max_records" not in table_of(dataset)
    save(chrome)
    until(chrome, lambda page: page.find_elements(By.CSS_SELECTOR, ".alert-success"))
    assert table_of(dataset)["max_records"] == "7"
    assert drafts.columns(dataset.draft)["age"]["because"] == "The act of 1911."
    assert chrome.execute_script(KEPT) == 0
    assert not [each for each in complaints(chrome) if "401" not in each and "403" not in each]


def test_nothing_typed_stays_in_the_browser_after_signing_out(
    chrome: webdriver.Chrome, signed_in: str, dataset: Dataset
) -> None:
    chrome.get(signed_in + reverse("datasets:describe", args=[dataset.code]))
    click(chrome, "#who-several")
    type_in(chrome, "max_records", "7")
    assert chrome.execute_script(KEPT) == 1
    chrome.execute_script("document.querySelector('[data-signs-out]').requestSubmit()")
    until(chrome, lambda page: page.find_elements(By.NAME, "password"))
    assert chrome.execute_script(KEPT) == 0


@pytest.fixture
def gate(live_server: LiveServer) -> Iterator[Gate]:
    with Gate(urlsplit(live_server.url)) as opened:
        yield opened


@pytest.fixture
def uploading(
    chrome: webdriver.Chrome, gate: Gate, cast: Cast, settings: Settings, tmp_path: Path
) -> Callable[[], None]:
    """Chooses a file on the page of uploads, and presses the button."""
    settings.VAULT_DIR = tmp_path / "vault"
    file = tmp_path / "people.csv"
    file.write_bytes(TABLE)
    sign_in(chrome, cast, gate.url)
    chrome.get(gate.url + reverse("pages:upload"))

    def press() -> None:
        element(chrome, "[name=table]").send_keys(str(file))
        click(chrome, "#upload button[type=submit]")

    return press


def offset() -> int:
    upload = PartialUpload.objects.first()
    return partial_tables.offset_of(upload.code) if upload else 0


def test_name_and_description_survive_a_lost_upload_and_the_list_names_them(
    chrome: webdriver.Chrome, gate: Gate, uploading: Callable[[], None]
) -> None:
    type_in(chrome, "name", "Survey of 2026")
    type_in(chrome, "description", "Who was asked, and when.")
    gate.hold(after=HELD)
    uploading()
    until(chrome, lambda _: offset() >= partial_tables.PIECE)
    gate.cut()
    gate.open()
    chrome.get(gate.url + reverse("pages:upload"))
    until(chrome, lambda page: "people.csv" in element(page, "[data-upload]").text)
    assert "Survey of 2026" in element(chrome, "[data-upload]").text
    assert value(chrome, "name") == "Survey of 2026"
    uploading()
    until(chrome, lambda _: Dataset.objects.exists())
    made = Dataset.objects.get()
    assert (made.name, made.description) == ("Survey of 2026", "Who was asked, and when.")


def test_an_upload_that_came_in_whole_is_not_listed_and_needs_no_file(
    chrome: webdriver.Chrome, gate: Gate, uploading: Callable[[], None]
) -> None:
    type_in(chrome, "name", "Survey of 2026")
    # Everything came in, and the page is loaded again before the form is sent.
    chrome.execute_script(
        "document.addEventListener('htmx:beforeRequest', (event) => event.preventDefault())"
    )
    uploading()
    until(chrome, lambda _: offset() == len(TABLE))
    chrome.get(gate.url + reverse("pages:upload"))
    assert not chrome.find_elements(By.CSS_SELECTOR, "[data-upload]")
    assert value(chrome, "name") == "Survey of 2026"
    click(chrome, "#upload button[type=submit]")
    until(chrome, lambda _: Dataset.objects.exists())
    assert Dataset.objects.get().name == "Survey of 2026"
    assert PartialUpload.objects.get().state == PartialUpload.State.STORED
