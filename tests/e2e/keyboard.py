"""A browser without a mouse: whatever a test does with it, somebody who only has a keyboard can do."""

from __future__ import annotations

import time
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
FIELD = "one.getAttribute('name') === words"
BUTTON = (
    "one.matches('a, button, summary') && one.innerText.replace(/\\s+/g, ' ').includes(words)"
)
LOOK = """
return [performance.timeOrigin, (() => {
const words = arguments[0];
const wanted = (one) => WANTED;
const shown = (one) => one.getClientRects().length > 0;
const here = document.activeElement;
if (wanted(here)) return "here";
const all = [...document.querySelectorAll("a, button, summary, input, select, textarea")];
const found = all.filter((one) => wanted(one) && shown(one));
if (!found.length) return "nowhere";
const list = here.closest("[data-roving]");
const links = list ? [...list.querySelectorAll(list.dataset.roving)] : [];
if (links.includes(here) && found.some((one) => links.includes(one))) return "listed";
if (here.matches(".skip-link") && !found.some((one) => one.closest(".topbar"))) return "below";
return "elsewhere";
})()];
"""
"""Of which page, and where something is for somebody who looks at it: under the focus, in the list of the
focus, below the menu that a link skips, elsewhere, or not in sight."""
KEYS = {"listed": Keys.ARROW_RIGHT, "below": Keys.ENTER, "elsewhere": Keys.TAB}


class Keyboard:
    """A browser without a mouse."""

    def __init__(self, browser: webdriver.Chrome) -> None:
        self.browser = browser
        self.tabs = 0  # how often Tab was pressed

    @property
    def here(self) -> WebElement:
        return self.browser.switch_to.active_element

    def strike(self, *keys: str) -> None:
        ActionChains(self.browser).send_keys(*keys).perform()

    def to(self, wanted: str, words: str) -> WebElement:
        """Go to what `FIELD` or `BUTTON` describes: past the menu where it is not in it, within a list by
        arrow keys, by Tab otherwise. Everything that can be done must be reached this way. What is not there
        may still be on its way."""
        look = LOOK.replace("WANTED", wanted)
        end = time.monotonic() + SECONDS
        page, tabs = 0, 0
        while tabs < MOST_TABS or time.monotonic() < end:
            try:
                begun, place = self.browser.execute_script(look, words)
                here = self.here
            except WebDriverException as error:
                if not is_swapped(error):
                    raise
                continue
            if begun != page:  # what was pressed on a page that was being left does not count
                self.tabs -= tabs
                page, tabs = begun, 0
            if place == "here":
                return here
            if place == "nowhere":
                assert time.monotonic() < end, f"{words} is nowhere"
                time.sleep(0.1)
                continue
            self.strike(KEYS[place])
            if place == "elsewhere":
                self.tabs += 1
                tabs += 1
        raise AssertionError(f"the keyboard does not get to {words}")

    def field(self, name: str) -> WebElement:
        return self.to(FIELD, name)

    def press(self, words: str) -> None:
        self.to(BUTTON, words)
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
