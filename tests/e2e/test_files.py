"""The life of a table's file by keyboard alone, in a real browser: upload, correct its form, replace it by Parquet,
delete it. The worker is called between the presses, as the queue would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from synthweb.audit.models import AuditEntry
from synthweb.datasets.models import Dataset
from synthweb.runs import worker
from synthweb.runs.models import TableErrand
from tests.conftest import Cast

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


class Keyboard:
    """A browser without a mouse."""

    def __init__(self, browser: webdriver.Chrome) -> None:
        self.browser = browser

    @property
    def here(self) -> WebElement:
        return self.browser.switch_to.active_element

    def strike(self, *keys: str) -> None:
        ActionChains(self.browser).send_keys(*keys).perform()

    def to(self, wanted: Callable[[WebElement], bool]) -> WebElement:
        """Tab until the focus is there; everything that can be done must be reached this way."""
        for _ in range(80):
            if wanted(self.here):
                return self.here
            self.strike(Keys.TAB)
        raise AssertionError("the keyboard does not get there")

    def field(self, name: str) -> WebElement:
        return self.to(lambda one: one.get_dom_attribute("name") == name)

    def press(self, words: str) -> None:
        self.to(lambda one: one.tag_name in ("a", "button", "summary") and words in one.text)
        self.strike(Keys.ENTER)

    def choose(self, file: Path) -> None:
        self.field("table").send_keys(str(file))  # the dialog of the operating system is not the page's

    def reads(self, words: str) -> None:
        WebDriverWait(self.browser, 20).until(lambda page: words in page.find_element(By.TAG_NAME, "main").text)


@pytest.fixture
def keyboard(chrome: webdriver.Chrome, live_server: LiveServer, cast: Cast) -> Keyboard:
    client = Client()
    client.force_login(cast.steward)
    chrome.get(f"{live_server.url}/livez")
    chrome.delete_all_cookies()
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    chrome.add_cookie({"name": settings.SESSION_COOKIE_NAME, "value": cookie})
    chrome.get_log("browser")
    return Keyboard(chrome)


def work() -> None:
    for errand in TableErrand.objects.filter(state="waiting"):
        worker.table_errand(code=errand.code)


def test_a_file_is_uploaded_corrected_replaced_and_deleted_by_keyboard_alone(
    keyboard: Keyboard, live_server: LiveServer, tmp_path: Path
) -> None:
    western, better = tmp_path / "western.csv", tmp_path / "better.parquet"
    western.write_bytes("name;Größe\nÄsop;1,5\nZoë;2,5\n".encode("cp1252"))
    pq.write_table(pa.table({"name": ["Äsop"], "Größe": [1.5]}), better)
    keyboard.browser.get(live_server.url + reverse("pages:upload"))
    keyboard.field("name").send_keys("Fables")
    keyboard.choose(western)
    keyboard.press("Upload and encrypt")
    keyboard.reads("A worker is reading your table")
    work()
    keyboard.reads("Windows-1252 (Western European), semicolon between cells")
    keyboard.press("How the file was read")
    keyboard.field("header").send_keys(Keys.ARROW_DOWN)
    keyboard.press("Read the file this way")
    keyboard.reads("A worker is reading your table")
    work()
    keyboard.reads("no header line")
    dataset = Dataset.objects.get()
    assert (dataset.dialect["header"], dataset.dialect["columns"]) == (False, 2)

    keyboard.browser.get(live_server.url + reverse("pages:dataset", args=[dataset.code]))
    keyboard.press("Settings")
    keyboard.press("Upload a corrected file")
    keyboard.choose(better)
    keyboard.press("Replace the file")
    keyboard.reads("A worker is reading your table")
    work()
    keyboard.reads("Your table is ready")
    dataset.refresh_from_db()
    assert (dataset.table_number, dataset.file_kind) == (2, "parquet")

    keyboard.browser.get(live_server.url + reverse("pages:settings", args=[dataset.code]))
    keyboard.press("Delete this dataset")
    keyboard.field("name").send_keys("Fable", Keys.ENTER)
    keyboard.reads("This is another name")
    keyboard.field("name").send_keys(Keys.END, "s", Keys.ENTER)  # what was typed is still there
    keyboard.reads("Fables is deleted")
    dataset.refresh_from_db()
    assert dataset.status == "deleted"
    assert AuditEntry.objects.filter(object_code=dataset.code, action="dataset.deleted").exists()
    complaints = [line["message"] for line in keyboard.browser.get_log("browser") if "422" not in line["message"]]
    assert not complaints
