"""Waiting for a page whose parts are swapped while they are looked at, and what such a page may say in its
console."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    NoSuchElementException,
    StaleElementReferenceException,
    WebDriverException,
)
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select
from selenium.webdriver.support.wait import WebDriverWait

SECONDS = 120.0  # until a test gives up; nothing is asserted of how long anything takes
_BETWEEN_PAGES = (
    "does not belong to the document",
    "Cannot find context with specified id",
    "aborted by navigation",
)
_PASSING = (
    "status of 422",  # a form that came back with errors, which the console reports as well
    # A request was under way when its page was left: the library says so in one of these ways, as the browser
    # has it. A request that fails otherwise says so with its status, or leaves something out that is waited
    # for.
    "htmx:afterRequest",
    "htmx:sendAbort",
    "htmx:sendError",
)
T = TypeVar("T")


def until(
    browser: webdriver.Chrome,
    happened: Callable[[webdriver.Chrome], T],
    *,
    seconds: float = SECONDS,
) -> T:
    """The first thing that is not nothing.

    Raises:
        TimeoutException: it did not happen.
        WebDriverException: the browser itself failed.
    """

    def seen(page: webdriver.Chrome) -> T | None:
        try:
            return happened(page)
        except WebDriverException as error:
            if is_swapped(error):
                return None
            raise

    # The first that is not nothing
    return WebDriverWait(browser, seconds).until(seen)  # type: ignore[return-value]


def element(browser: webdriver.Chrome, selector: str) -> WebElement:
    """The element of a selector, once it is there."""
    return until(browser, lambda page: page.find_element(By.CSS_SELECTOR, selector))


def click(browser: webdriver.Chrome, selector: str) -> None:
    """Click where a selector leads, as soon as nothing stands before it."""

    def clicked(page: webdriver.Chrome) -> bool:
        found = page.find_element(By.CSS_SELECTOR, selector)
        page.execute_script(
            "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", found
        )
        try:
            found.click()
        except (ElementClickInterceptedException, ElementNotInteractableException):
            return False
        return True

    until(browser, clicked)


def choose(browser: webdriver.Chrome, name: str, value: str) -> None:
    """Choose a value in a list, whatever is swapped meanwhile."""

    def chosen(page: webdriver.Chrome) -> bool:
        Select(page.find_element(By.NAME, name)).select_by_value(value)
        return True

    until(browser, chosen)


def is_swapped(error: WebDriverException) -> bool:
    """Whether the driver looked at an element of a page that is no longer, or not yet, there: there are two
    kinds of errors for it, and between two pages a few phrases."""
    gone = isinstance(error, (NoSuchElementException, StaleElementReferenceException))
    return gone or any(words in str(error.msg) for words in _BETWEEN_PAGES)


def complaints(browser: webdriver.Chrome) -> list[str]:
    """What the console has to say since it was read last, but for what passes."""
    severe = [
        entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"
    ]
    return [message for message in severe if not any(words in message for words in _PASSING)]
