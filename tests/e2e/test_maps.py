"""Maps in a real browser: coasts and names that do not overlap, a click that chooses the point, one map at a
time."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By

from synthweb.runs import worker
from tests.cast import Cast
from tests.e2e.patience import element, until
from tests.e2e.test_accessibility import judged
from tests.e2e.themes import prefer
from tests.web import scene
from tests.web.test_releases_map import DOMAIN, TABLE

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

NAMES = """
return [...document.querySelectorAll(`${arguments[0]} .textpoint text`)].filter(one => one.textContent)
  .map(one => ({ name: one.textContent, ...one.getBoundingClientRect().toJSON() }))
"""


def names_on(chrome: webdriver.Chrome, figure: str) -> list[dict[str, Any]]:
    """The names on a map with their rectangles; not the words of its scale."""
    names: list[dict[str, Any]] = chrome.execute_script(NAMES, figure)
    return [one for one in names if not one["name"].endswith((" km", " miles"))]


def overlapping(names: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [
        (a["name"], b["name"])
        for at, a in enumerate(names)
        for b in names[at + 1 :]
        if a["left"] < b["right"] and b["left"] < a["right"]
        and a["top"] < b["bottom"] and b["top"] < a["bottom"]
    ]  # fmt: skip


def signed_in(chrome: webdriver.Chrome, server: LiveServer, client: Client) -> None:
    chrome.get(f"{server.url}/livez")
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    chrome.add_cookie({"name": settings.SESSION_COOKIE_NAME, "value": cookie})


def shown(chrome: webdriver.Chrome, figure: str) -> None:
    """Scrolls to a figure and waits until it is drawn with its names."""
    chrome.execute_script("document.querySelector(arguments[0]).scrollIntoView()", figure)
    until(chrome, lambda page: names_on(page, figure))


def test_a_steward_chooses_a_point_by_a_click_and_one_of_three_maps(
    cast: Cast, live_server: LiveServer, chrome: webdriver.Chrome
) -> None:
    release = scene.released(
        cast, mechanism="on-the-map", epsilon="2", name="Commutes", table=TABLE, document=DOMAIN
    )
    client = Client()
    client.force_login(cast.steward)
    client.post(reverse("runs:report", args=[release.code]))
    worker.table_job(code=release.dataset.table_jobs.filter(kind="report").latest("pk").code)
    signed_in(chrome, live_server, client)
    chrome.get_log("browser")  # type: ignore[no-untyped-call]
    url = live_server.url + reverse("releases:compare-map", args=[release.code])
    for theme, width in (("dark", 390), ("light", 1440)):
        chrome.set_window_size(width, 900)
        prefer(chrome, theme)
        chrome.get(url)
        shown(chrome, "#commutes-density")
        names = names_on(chrome, "#commutes-density")
        assert {"port", "north"} <= {one["name"] for one in names}
        assert overlapping(names) == []
        assert judged(chrome) == []
        assert chrome.execute_script("return document.documentElement.scrollWidth") <= width

    # Of the three maps one is seen, and the one that is chosen.
    assert not element(chrome, "#commutes-density-real").is_displayed()
    group = chrome.find_element(
        By.CSS_SELECTOR, "[name='map-commutes-density-real'][value='1']"
    )
    chrome.execute_script("arguments[0].click()", group)
    shown(chrome, "#commutes-density-real")
    assert not element(chrome, "#commutes-density").is_displayed()

    ground = element(chrome, "#commutes-density-real .nsewdrag")
    ActionChains(chrome).move_to_element(ground).click().perform()
    until(chrome, lambda page: "near=41" in page.current_url)
    chosen = element(chrome, "#id_near").get_attribute("value")
    assert chosen is not None
    north, east = (float(part) for part in chosen.split(","))
    assert 41.1 < north < 42.0 and -71.7 < east < -71.2
    refused = [entry for entry in chrome.get_log("browser") if entry["level"] == "SEVERE"]
    assert refused == []


def test_a_click_sets_the_centre_of_a_box_and_the_fields_say_so(
    cast: Cast, live_server: LiveServer, chrome: webdriver.Chrome
) -> None:
    dataset = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    client = Client()
    client.force_login(cast.steward)
    signed_in(chrome, live_server, client)
    chrome.set_window_size(1440, 1200)
    chrome.get(live_server.url + reverse("datasets:point", args=[dataset.code]))
    until(chrome, lambda page: page.find_elements(By.CSS_SELECTOR, ".box-ground text"))
    ground = element(chrome, "[data-box-map]")

    def box() -> dict[str, float]:
        edges = ("north", "south", "west", "east")
        return {
            edge: float(element(chrome, f"#id_{edge}").get_attribute("value") or "nan")
            for edge in edges
        }

    ActionChains(chrome).move_to_element_with_offset(ground, -200, -50).click().perform()
    first = box()
    ActionChains(chrome).move_to_element_with_offset(ground, 100, 30).click().perform()
    second = box()
    assert second["north"] - second["south"] == pytest.approx(
        first["north"] - first["south"], abs=1
    )
    assert second["east"] - second["west"] == pytest.approx(
        first["east"] - first["west"], abs=1
    )
    assert second["east"] > first["east"] and second["north"] < first["north"]
