"""A browser without a mouse: whatever a test does with it, somebody who only has a keyboard can do."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.test import Client
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from synthweb.accounts.models import User
from tests.e2e.patience import SECONDS, complaints, is_swapped, until

MOST_TABS = 120


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
        """Tab until the focus is there; everything that can be done must be reached this way. The page that
        was asked for may still be on its way: one goes round the former until it comes."""
        end = time.monotonic() + SECONDS
        tabs = 0
        while tabs < MOST_TABS or time.monotonic() < end:
            try:
                here = self.here
                if wanted(here):
                    return here
            except WebDriverException as error:
                if not is_swapped(error):
                    raise
                continue
            self.strike(Keys.TAB)
            tabs += 1
        raise AssertionError("the keyboard does not get there")

    def field(self, name: str) -> WebElement:
        return self.to(lambda one: one.get_dom_attribute("name") == name)

    def press(self, words: str) -> None:
        self.to(lambda one: one.tag_name in ("a", "button", "summary") and words in one.text)
        self.strike(Keys.ENTER)

    def choose(self, file: Path) -> None:
        self.field("table").send_keys(
            str(file)
        )  # the dialog of the operating system is not the page's

    def reads(self, words: str) -> None:
        until(self.browser, lambda page: words in page.find_element(By.TAG_NAME, "main").text)

    def is_signed_in(self, user: User, *, address: str) -> None:
        """As after the sign-in page, at whose server `address` is."""
        client = Client()
        client.force_login(user)
        self.browser.get(f"{address}/livez")
        self.browser.delete_all_cookies()
        cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
        self.browser.add_cookie({"name": settings.SESSION_COOKIE_NAME, "value": cookie})
        self.browser.get_log("browser")

    def complaints(self) -> list[str]:
        return complaints(self.browser)
