"""Ctrl K in a real browser: type, choose with the arrows, open."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.cast import Cast
from tests.e2e.patience import element, until
from tests.e2e.test_accessibility import judged
from tests.e2e.themes import prefer

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def words_of(page: webdriver.Chrome) -> str | None:
    """The words that the matches in the box are of."""
    return page.execute_script(
        "return document.querySelector('#search .matches')?.dataset.words"
    )


def press_ctrl_k(page: webdriver.Chrome) -> None:
    ActionChains(page).key_down(Keys.CONTROL).send_keys("k").key_up(Keys.CONTROL).perform()


def test_the_box_opens_searches_and_leads_to_a_page(
    cast: Cast, live_server: LiveServer, chrome: webdriver.Chrome
) -> None:
    client = Client()
    client.force_login(cast.analyst)
    chrome.get(f"{live_server.url}/livez")
    chrome.add_cookie(
        {
            "name": settings.SESSION_COOKIE_NAME,
            "value": client.cookies[settings.SESSION_COOKIE_NAME].value,
        }
    )
    for theme, width in (("dark", 390), ("light", 1440)):
        chrome.set_window_size(width, 900)
        prefer(chrome, theme)
        chrome.get(live_server.url + reverse("pages:home"))
        press_ctrl_k(chrome)
        until(chrome, lambda page: words_of(page) == "")
        element(chrome, "#search input").send_keys("privacy budget")
        until(chrome, lambda page: words_of(page) == "privacy budget")
        assert judged(chrome) == []
        wider = "return document.documentElement.scrollWidth > window.innerWidth"
        assert not chrome.execute_script(wider)
    prefer(chrome, "")

    second = chrome.find_elements(By.CSS_SELECTOR, "#search [data-match]")[1]
    address = second.get_attribute("href")
    for _press in range(2):
        ActionChains(chrome).send_keys(Keys.ARROW_DOWN).perform()
    assert chrome.switch_to.active_element.get_attribute("href") == address
    ActionChains(chrome).send_keys(Keys.ENTER).perform()
    until(chrome, lambda page: page.current_url == address)

    press_ctrl_k(chrome)
    until(chrome, lambda page: words_of(page) == "")
    ActionChains(chrome).send_keys(Keys.ESCAPE).perform()
    until(
        chrome,
        lambda page: not page.execute_script("return document.querySelector('#search').open"),
    )
