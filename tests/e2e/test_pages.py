"""No page asks more of its reader than docs/pages.md allows: words, controls, height, sizes of type,
kilobytes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver

from tests.cast import Cast
from tests.e2e import office, page_sizes
from tests.e2e.page_sizes import Measured, Weight
from tests.pages import WRITES

MOST_TYPES = 7
MOST_KILOBYTES = 150
"""Of a page without a figure."""
UNCOMPRESSED = {"Audit log": 200, "Describe": 200, "Describe, just read": 200}
"""Pages of real values, or of what others did: compressed beside an address that a stranger may choose, their
length would tell of them."""


@pytest.mark.services
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_no_page_is_longer_than_its_bounds(
    cast: Cast, live_server: LiveServer, chrome: webdriver.Chrome
) -> None:
    made = office.build(cast)
    bounds = page_sizes.bounds()
    rows, faults = [], []
    for page in made.pages:
        _sign_in(chrome, live_server.url, made, page)
        found = page_sizes.measure(chrome, live_server.url + page.address)
        bound = bounds.get(page.title)
        if WRITES in os.environ:
            bound = page_sizes.bound_of(found.weight, bound)
            rows.append((page.title, page.person, found.weight, bound))
        faults += [f"{page.title}: {fault}" for fault in _faults(page.title, found, bound)]
    if rows:
        page_sizes.SHEET.write_text(page_sizes.sheet(rows), "utf-8")
    assert faults == []
    assert bounds.keys() <= {page.title for page in made.pages}


def _sign_in(
    chrome: webdriver.Chrome, address: str, made: office.Office, page: office.Page
) -> None:
    """As the person of the page, or as nobody; the answer has the status of the page."""
    client = Client()
    chrome.get(f"{address}/livez")
    chrome.delete_all_cookies()
    if page.person:
        client.force_login(made.users[page.person])
        cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
        chrome.add_cookie({"name": settings.SESSION_COOKIE_NAME, "value": cookie})
    assert client.get(page.address).status_code == page.status, page


def _faults(title: str, found: Measured, bound: Weight | None) -> list[str]:
    faults = [] if bound else ["has no bounds; `python -m tests.pages` writes them"]
    faults += page_sizes.excess(found.weight, bound) if bound else []
    if len(found.sizes) > MOST_TYPES:
        faults.append(f"sizes of type {found.sizes}")
    if not found.draws and found.weight.kilobytes > UNCOMPRESSED.get(title, MOST_KILOBYTES):
        faults.append(f"{found.weight.kilobytes} kB without a figure")
    return faults


WEIGHT = Weight(words=100, controls=20, wide=1000, narrow=2000, types=6, kilobytes=100)


def test_a_bound_never_rises_by_itself() -> None:
    first = page_sizes.bound_of(WEIGHT, None)
    assert page_sizes.excess(WEIGHT, first) == []
    longer = Weight(words=500, controls=1, wide=9000, narrow=100, types=9, kilobytes=900)
    second = page_sizes.bound_of(longer, first)
    assert (second.words, second.wide, second.types) == (first.words, first.wide, first.types)
    assert second.controls < first.controls
    assert len(page_sizes.excess(longer, second)) == 4


def test_what_is_written_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bound = page_sizes.bound_of(WEIGHT, None)
    monkeypatch.setattr(page_sizes, "SHEET", tmp_path / "pages.md")
    text = page_sizes.sheet([("Home, steward", "steward", WEIGHT, bound)])
    page_sizes.SHEET.write_text(text, "utf-8")
    assert page_sizes.bounds() == {"Home, steward": bound}
