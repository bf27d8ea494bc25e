"""The page takes every kind of file that the server takes, in a real browser: names of every ending are let
through by the page's script, and a file of every kind is uploaded and read."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By

from synth_engine import formats
from synth_engine.formats import DELIMITED, ENDINGS, KINDS, Kind
from synthweb.datasets.models import Dataset
from synthweb.runs import worker
from synthweb.runs.models import TableJob
from tests.cast import Cast
from tests.e2e.keyboard import Keyboard
from tests.e2e.patience import until
from tests.engine.kinds import written
from tests.nightly import by_day

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(chrome: webdriver.Chrome, live_server: LiveServer, cast: Cast) -> Keyboard:
    found = Keyboard(chrome)
    found.is_signed_in(cast.steward, address=live_server.url)
    chrome.get(live_server.url + reverse("pages:upload"))
    return found


def chosen(page: Keyboard, path: Path, content: bytes) -> str:
    """What the page says of a file that is chosen; nothing if it is let through."""
    path.write_bytes(content)
    page.browser.find_element(By.NAME, "table").send_keys(str(path))
    return page.browser.find_element(By.ID, "upload-problem").text


def test_names_of_every_ending_are_let_through_and_others_are_refused(
    page: Keyboard, tmp_path: Path
) -> None:
    for ending in formats.endings(KINDS):
        assert chosen(page, tmp_path / f"People{ending}", b"x") == "", ending
        assert chosen(page, tmp_path / f"PEOPLE{ending.upper()}", b"x") == "", ending
        name = page.browser.find_element(By.NAME, "name")
        assert name.get_attribute("value") == "PEOPLE"
    others = [ending for ending in ENDINGS if ending not in formats.endings(KINDS)]
    for ending in [*others, ".pdf", ".ods", ""]:
        assert "name ends neither in .csv" in chosen(
            page, tmp_path / f"people{ending}", b"x"
        ), ending


BY_DAY = ("csv", "xlsx", "parquet", "zip")
"""Kinds that pages treat differently; what is read of each kind, tests of the engine ask."""


@pytest.mark.parametrize("kind", by_day(BY_DAY, KINDS))
def test_a_file_of_every_kind_is_uploaded_and_read(
    page: Keyboard, tmp_path: Path, kind: Kind
) -> None:
    page.field("name").send_keys("People")
    assert chosen(page, tmp_path / f"people.{kind}", written(kind)) == ""
    page.press("Upload and encrypt")
    until(page.browser, lambda _: Dataset.objects.exists())
    page.reads("A worker is reading your table")
    work()
    if kind in (
        *DELIMITED,
        "zip",
    ):  # the archive holds a CSV, of which nobody knows whether its first line is a header
        page.reads("The file does not show this for certain")
        page.press("Read the file this way")
        page.reads("A worker is reading your table")
        work()
    page.reads("Your table is ready")
    dataset = Dataset.objects.get()
    assert (dataset.status, dataset.file_kind) == ("ready", "csv" if kind == "zip" else kind)
    assert not page.complaints()


def work() -> None:
    for job in TableJob.objects.filter(state="waiting"):
        worker.table_job(code=job.code)
