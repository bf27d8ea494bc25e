"""German pages in a browser: their longer words fit a telephone, axe has nothing to say, and the switch needs
no script."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.test import Client
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By

from tests.cast import Cast
from tests.e2e.patience import until
from tests.e2e.test_accessibility import judged
from tests.web import addresses, scene

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

WIDER = "return document.documentElement.scrollWidth - window.innerWidth"
# The paths of a steward, and those of an analyst.
STEWARD = (
    "",
    "datasets/",
    "datasets/upload/",
    "datasets/<code:code>/",
    "datasets/<slug:code>/describe/",
    "ledger/ask/<slug:dataset_code>/",
    "datasets/<slug:code>/releases/new/",
    "runs/<slug:code>/",
    "releases/<slug:code>/compare/",
    "releases/<slug:code>/share/",
    "account/",
)
ANALYST = (
    "",
    "releases/",
    "releases/<slug:code>/",
    "releases/<slug:code>/look/",
    "releases/<slug:code>/marginals/",
    "releases/<slug:code>/expected/",
    "releases/<slug:code>/measured/",
    "releases/<slug:code>/files/",
    "releases/<slug:code>/receipt/",
    "releases/<slug:code>/samples/",
    "releases/side-by-side/",
    "search/",
)


def test_german_fits_a_telephone_and_axe_has_nothing_to_say(
    cast: Cast, live_server: LiveServer, chrome: webdriver.Chrome
) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    chrome.set_window_size(390, 900)
    faults: list[str] = []
    for person, routes in ((cast.steward, STEWARD), (played.reader, ANALYST)):
        client = Client()
        client.force_login(person)
        chrome.get(f"{live_server.url}/livez")
        chrome.delete_all_cookies()
        for name, value in (
            (settings.SESSION_COOKIE_NAME, client.cookies[settings.SESSION_COOKIE_NAME].value),
            (settings.LANGUAGE_COOKIE_NAME, "de"),
        ):
            chrome.add_cookie({"name": name, "value": value})
        for route in routes:
            address = addresses.fill(route, scene=played, cast=cast)
            chrome.get(live_server.url + address)
            until(chrome, lambda page: page.find_elements(By.CSS_SELECTOR, "html[lang=de]"))
            if (beyond := chrome.execute_script(WIDER)) > 0:
                faults.append(f"{address}: {beyond} pixels too wide")
            faults += [f"{address}: {fault}" for fault in judged(chrome)]
    assert faults == []


def test_the_switch_works_in_a_browser_without_scripts(
    cast: Cast, live_server: LiveServer, chrome: webdriver.Chrome
) -> None:
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        chrome.get(f"{live_server.url}/account/login/")
        chrome.find_element(By.CSS_SELECTOR, ".language-switch button[value=de]").click()
        until(chrome, lambda page: '<html lang="de"' in page.page_source)
        assert re.search(r"Anmelden", chrome.page_source)
        chrome.find_element(By.CSS_SELECTOR, ".language-switch button[value=en]").click()
        until(chrome, lambda page: '<html lang="en"' in page.page_source)
    finally:
        chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        chrome.delete_all_cookies()
