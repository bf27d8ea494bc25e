"""An analyst opens a release that was shared, in a real browser: sees its rows, sorts, filters, and downloads
a table."""

from __future__ import annotations

import urllib.request

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from synthweb.releases import look, services
from synthweb.releases.models import Sample
from synthweb.runs import ranges
from synthweb.runs.models import RangesJob
from tests.cast import Cast
from tests.e2e.patience import element, until
from tests.e2e.test_accessibility import judged
from tests.e2e.themes import prefer
from tests.web import scene

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def column(chrome: webdriver.Chrome, place: int) -> list[str]:
    """The cells of one column, read at once."""
    cells: list[str] = chrome.execute_script(
        "return [...document.querySelectorAll(`.look-table > table > tbody > tr > "
        "td:nth-child(${arguments[0]})`)].map(one => one.textContent.trim())",
        place + 1,
    )
    return cells


def test_an_analyst_looks_sorts_filters_and_downloads(
    cast: Cast, live_server: LiveServer, chrome: webdriver.Chrome
) -> None:
    release = scene.released(
        cast, mechanism="independent", epsilon="4", name="Three columns", table=scene.TABLE
    )
    services.share(actor=cast.steward, release=release, analyst=cast.analyst)
    look.store(look.draw(release))
    client = Client()
    client.force_login(cast.analyst)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    chrome.get(f"{live_server.url}/livez")
    chrome.add_cookie({"name": settings.SESSION_COOKIE_NAME, "value": cookie})
    chrome.get(live_server.url + reverse("pages:home"))
    element(chrome, f"a[href='/releases/{release.code}/look/']").send_keys(Keys.ENTER)
    until(chrome, lambda page: len(column(page, 0)) == 100)

    # The page asks a worker for the expected errors, and shows them by itself.
    until(chrome, lambda page: page.find_element(By.CSS_SELECTOR, "#look-waiting .stages"))
    ranges.compute(code=RangesJob.objects.get().code)
    until(chrome, lambda page: len(page.find_elements(By.CSS_SELECTOR, ".look-error")) == 3)
    assert judged(chrome) == []

    element(chrome, "#sort-1").send_keys(Keys.ENTER)
    until(chrome, lambda page: column(page, 1) == sorted(column(page, 1), key=int))
    assert chrome.execute_script("return document.activeElement.id") == "sort-1"
    assert "sort=1" in chrome.current_url
    element(chrome, "#look-words").send_keys("south")
    until(chrome, lambda page: set(column(page, 0)) == {"south"})
    assert column(chrome, 1) == sorted(column(chrome, 1), key=int)
    chrome.refresh()  # the address has it all
    until(chrome, lambda page: set(column(page, 0)) == {"south"})

    for theme, width in (("dark", 390), ("light", 1440)):
        chrome.set_window_size(width, 900)
        prefer(chrome, theme)
        chrome.refresh()
        element(chrome, ".look-column summary").send_keys(Keys.ENTER)
        until(chrome, lambda page: page.find_element(By.CSS_SELECTOR, ".look-column[open]"))
        assert judged(chrome) == []
        wider = "return document.documentElement.scrollWidth > window.innerWidth"
        assert not chrome.execute_script(wider)

    element(chrome, "a[href*='side-by-side']").send_keys(Keys.ENTER)
    until(chrome, lambda page: len(page.find_elements(By.CSS_SELECTOR, ".beside-point")) == 1)
    for theme, width in (("light", 1440), ("dark", 390)):
        chrome.set_window_size(width, 900)
        prefer(chrome, theme)
        chrome.refresh()
        until(
            chrome, lambda page: page.find_elements(By.CSS_SELECTOR, ".beside-table tbody tr")
        )
        assert judged(chrome) == []
        assert not chrome.execute_script(wider)
    chrome.back()

    prefer(chrome, "")
    element(chrome, "[data-draw]").send_keys(Keys.ENTER)
    until(chrome, lambda page: "/samples/" in page.current_url)
    sample = Sample.objects.get()
    link = element(chrome, "a[download][href$='/table.csv']").get_attribute("href")
    request = urllib.request.Request(
        str(link), headers={"Cookie": f"{settings.SESSION_COOKIE_NAME}={cookie}"}
    )
    with urllib.request.urlopen(request) as answer:
        lines = answer.read().decode().splitlines()
    assert lines[0] == "region,age,works" and len(lines) == sample.rows + 1
