"""Waiting for a page whose parts are swapped while they are looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException, WebDriverException
from selenium.webdriver.support.wait import WebDriverWait

SECONDS = 20.0
T = TypeVar("T")


def until(browser: webdriver.Chrome, happened: Callable[[webdriver.Chrome], T], *, seconds: float = SECONDS) -> T:
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

    return WebDriverWait(browser, seconds).until(seen)  # type: ignore[return-value]  # the first that is not nothing


def is_swapped(error: WebDriverException) -> bool:
    """Whether the driver looked at an element of a page that is no longer, or not yet, there: it has three ways to say
    so, the last one between two pages."""
    gone = isinstance(error, (NoSuchElementException, StaleElementReferenceException))
    return gone or "does not belong to the document" in str(error.msg)
