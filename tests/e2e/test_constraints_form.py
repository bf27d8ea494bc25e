"""Constraints declared by a steward who has no mouse, on a page that axe has nothing serious to say about."""

from __future__ import annotations

import pytest
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

from tests.cast import Cast
from tests.e2e.keyboard import Keyboard
from tests.e2e.test_accessibility import judged
from tests.e2e.themes import prefer
from tests.web import scene

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_constraints_are_added_refused_and_taken_away_by_keyboard(
    theme: str, width: int, chrome: webdriver.Chrome, live_server: LiveServer, cast: Cast
) -> None:
    dataset = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    address = f"{live_server.url}/datasets/{dataset.code}/describe/"
    keyboard = Keyboard(chrome)
    chrome.set_window_size(width, 900)
    keyboard.is_signed_in(cast.steward, address=live_server.url)
    prefer(chrome, theme)
    chrome.get(address)
    keyboard.press("Rules for every record")
    keyboard.reads("None so far")

    keyboard.press("Add when a value is missing")
    keyboard.field("rule-missing-iff-column").send_keys("works")
    keyboard.field("rule-missing-iff-when").send_keys("age")
    keyboard.field("rule-missing-iff-values").send_keys("0")
    keyboard.press("Add")
    keyboard.reads("works is missing exactly where age is 0")

    keyboard.press("Add an order")
    keyboard.field("rule-order-first").send_keys("age")
    keyboard.field("rule-order-second").send_keys("nobody")
    keyboard.press("Add")
    keyboard.reads("the table has no such column")
    keyboard.reads("It was not added")
    assert chrome.find_element("id", "rule-order-second").get_property("value") == "nobody"
    chrome.execute_script(
        "document.querySelectorAll('.rule-forms details').forEach(each => each.open = true)"
    )
    assert judged(chrome) == []
    assert chrome.execute_script(
        "return document.documentElement.scrollWidth <= window.innerWidth"
    ), "it scrolls sideways"

    chrome.get(address)
    keyboard.press("Remove")
    keyboard.reads("None so far")
    keyboard.strike(Keys.ESCAPE)
    assert keyboard.complaints() == []
