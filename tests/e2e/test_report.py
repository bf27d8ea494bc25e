"""The report of a release as a file of its own, in a real browser without a server: it opens, is accessible,
and prints with its figures; and the page of a receipt, which asks for its verdict itself."""

from __future__ import annotations

import base64
import re
import zlib
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By

from synthweb.releases import report
from synthweb.releases.models import Release
from synthweb.runs import ranges
from synthweb.runs import services as runs
from tests.cast import Cast
from tests.e2e.patience import until
from tests.e2e.test_accessibility import judged
from tests.e2e.themes import prefer
from tests.web import scene

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]
SYNTHETIC = re.compile(rb"0?\.784\d* 0?\.392\d* 0?\.105\d* rg")
"""The fill of the bars of a model in a PDF."""


@pytest.fixture
def release(cast: Cast) -> Release:
    made = scene.released(
        cast, mechanism="independent", epsilon="4", name="Three columns", table=scene.TABLE
    )
    ranges.compute(code=runs.request_ranges(release=made).code)
    return Release.objects.get(pk=made.pk)


def html_of(release: Release) -> str:
    facts = report.of(release)
    assert facts is not None
    return report.html(facts)


def contents_of(pdf: bytes) -> bytes:
    """The drawing instructions of all pages of a PDF."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    unpacked = []
    for stream in streams:
        try:
            unpacked.append(zlib.decompress(stream))
        except zlib.error:
            continue
    return b"\n".join(unpacked)


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 1440), ("light", 390)])
def test_a_report_opens_offline_and_nobody_is_shut_out(
    release: Release, tmp_path: Path, chrome: webdriver.Chrome, theme: str, width: int
) -> None:
    path = tmp_path / "report.html"
    path.write_text(html_of(release), "utf-8")
    chrome.set_window_size(width, 900)
    prefer(chrome, theme)
    chrome.get(path.as_uri())
    assert chrome.title == "Three columns"
    pictures = chrome.find_elements(By.CSS_SELECTOR, "svg")
    assert len(pictures) == 4 and all(each.size["height"] > 20 for each in pictures)
    assert chrome.execute_script("return document.documentElement.scrollWidth") <= width
    loaded = chrome.execute_script("return performance.getEntriesByType('resource').length")
    assert loaded == 0
    assert judged(chrome) == []


def test_a_report_prints_with_every_figure(
    release: Release, tmp_path: Path, chrome: webdriver.Chrome
) -> None:
    page = html_of(release)
    path = tmp_path / "report.html"
    path.write_text(page, "utf-8")
    prefer(chrome, "dark")  # paper is light whatever the screen is
    chrome.get(path.as_uri())
    printed = base64.b64decode(
        chrome.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    )
    drawing = contents_of(printed)
    assert page.count('class="thumb"') == 3
    assert len(SYNTHETIC.findall(drawing)) == 3
    without = tmp_path / "without.html"
    without.write_text(re.sub(r"<svg.*?</svg>", "", page), "utf-8")
    chrome.get(without.as_uri())
    printed = base64.b64decode(
        chrome.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    )
    assert not SYNTHETIC.findall(contents_of(printed))


def test_a_receipt_says_its_verdict_by_itself_and_is_short(
    release: Release, cast: Cast, live_server: LiveServer, chrome: webdriver.Chrome
) -> None:
    document = release.receipt
    few = document["calls"]
    document["calls"] = [few[number % len(few)] for number in range(500)]
    client = Client()
    client.force_login(cast.auditor)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    chrome.set_window_size(1440, 900)
    chrome.get(f"{live_server.url}/livez")
    chrome.add_cookie({"name": settings.SESSION_COOKIE_NAME, "value": cookie})
    chrome.get(f"{live_server.url}/releases/{release.code}/receipt/")
    until(
        chrome,
        lambda page: page.find_element(
            By.CSS_SELECTOR, "#verdict .seal, #verdict .alert-danger"
        ),
    )
    assert "Verified." in chrome.find_element(By.ID, "verdict").text
    Release.objects.filter(pk=release.pk).update(receipt=document)
    chrome.refresh()
    height = chrome.execute_script("return document.documentElement.scrollHeight")
    assert height < 2_500, height
