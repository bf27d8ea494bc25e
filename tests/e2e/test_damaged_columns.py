"""Columns that their description damaged, on the Compare page in a real browser: red in light and dark,
legible on a desktop and on a phone."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By

from synth_engine.evaluation import style
from synthweb.runs import services as runs
from synthweb.runs import worker
from tests.cast import Cast
from tests.e2e.patience import until
from tests.e2e.test_accessibility import judged
from tests.e2e.themes import prefer
from tests.web import damaged, scene

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

LOOKS = (("light", 1440), ("dark", 390))


def rgb(tone: str) -> str:
    """A tone as a browser gives back a computed colour."""
    red, green, blue = (int(tone[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"


def test_damaged_columns_are_red_with_their_repair(
    cast: Cast, live_server: LiveServer, chrome: webdriver.Chrome
) -> None:
    release = scene.released(
        cast,
        mechanism="independent",
        epsilon="4",
        name="Sales",
        table=damaged.MORE_TABLE,
        document=damaged.MORE_DOCUMENT,
        dialect=damaged.DIALECT,
    )
    job = runs.request_report(release=release, actor=cast.steward)
    worker.table_job(code=job.code)
    job.refresh_from_db()
    assert job.state == "finished", job.failure
    client = Client()
    client.force_login(cast.steward)
    chrome.get(f"{live_server.url}/livez")
    chrome.delete_all_cookies()
    chrome.add_cookie(
        {
            "name": settings.SESSION_COOKIE_NAME,
            "value": client.cookies[settings.SESSION_COOKIE_NAME].value,
        }
    )
    for theme, width in LOOKS:
        chrome.set_window_size(width, 900)
        prefer(chrome, theme)
        chrome.get(live_server.url + reverse("releases:compare-all", args=[release.code]))
        assert chrome.title.endswith("Compare Sales · synthweb")
        verdicts = until(
            chrome, lambda page: page.find_elements(By.CSS_SELECTOR, ".verdict-damaged")
        )
        # One column is enlarged at a time; the others open from the strip.
        texts = [
            " ".join(str(verdict.get_property("textContent")).split()) for verdict in verdicts
        ]
        assert len(texts) == len(damaged.MORE_REPAIRS)
        assert verdicts[0].is_displayed()
        for name, repair in damaged.MORE_REPAIRS.items():
            assert any(repair in text for text in texts), name
        colours = {
            chrome.execute_script("return getComputedStyle(arguments[0]).color", verdict)
            for verdict in verdicts
        }
        assert colours == {rgb(getattr(style.TONES["red-words"], theme))}
        # Tables scroll in their own frames: the page itself is never wider than the screen.
        assert chrome.execute_script(
            "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )
        assert judged(chrome) == []
