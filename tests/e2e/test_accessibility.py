"""Every page as each person sees it, judged by axe-core in a real browser: no serious or critical violation,
in light and dark, on a desktop and on a phone."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver

from synthweb.accounts.models import User
from tests.cast import Cast
from tests.e2e.patience import until
from tests.e2e.themes import prefer
from tests.web import addresses, scene
from tests.web.scene import Scene

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

AXE = (Path(__file__).parent / "vendor" / "axe-4.14.1.min.js").read_text()
JUDGE = """
const done = arguments[arguments.length - 1];
const levels = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
axe.run(document, {resultTypes: ["violations"], runOnly: levels})
   .then(found => done(found.violations.map(v => ({id: v.id, impact: v.impact,
       nodes: v.nodes.slice(0, 3).map(n => n.target.join(" ") + ": " + (n.failureSummary || "")) }))))
   .catch(error => done([{id: "axe", impact: "critical", nodes: [String(error)]}]));
"""
STATUS = "return performance.getEntriesByType('navigation')[0].responseStatus"
ON_LIGHT = ("light", 1440, ("steward", "custodian", "analyst", "auditor", "staff"))
ON_DARK = ("dark", 390, ("steward", "custodian", "analyst", "staff"))
LOOKS = (
    pytest.param(*ON_LIGHT, 0, id="light"),
    pytest.param(*ON_DARK, 1, id="dark"),
    pytest.param(*ON_LIGHT, None, id="all light", marks=pytest.mark.nightly),
    pytest.param(*ON_DARK, None, id="all dark", marks=pytest.mark.nightly),
)
"""By day either look has its half of the addresses, and by night all of them."""
NOT_OURS = (
    "admin/",
    "api/",
)  # the admin is django-unfold's; of the REST interface, the reference is looked at below
REFERENCE = "api/v1/docs/"
ONE_TIME_VALUES = re.compile(r'(name="csrfmiddlewaretoken" value|nonce)="[^"]*"')


def user_of(name: str, cast: Cast, played: Scene) -> User:
    """The analyst is the one with whom something is shared."""
    return played.reader if name == "analyst" else cast.by_name()[name]


PAGES: dict[str, dict[str, str]] = {}
"""Of each person of the cast: the routes that answer with a whole page, each with its frame, once they were
asked: neither theme nor width decides it."""
NO_PAGES: set[str] = set()
"""Routes that were seen to lead to a file, or to take no GET: that is so for everybody."""


def pages(
    name: str, client: Client, cast: Cast, played: Scene, *, half: int | None
) -> dict[str, str]:
    """The addresses, or one half of them, that answer this person with a whole page, and the frame of
    each."""
    if name not in PAGES:
        asked = [
            route
            for route in addresses.routes()
            if (not route.startswith(NOT_OURS) or route == REFERENCE) and route not in NO_PAGES
        ]
        frames = {route: frame(route, client, cast, played) for route in asked}
        PAGES[name] = {route: found for route, found in frames.items() if found}
    return {
        addresses.fill(route, scene=played, cast=cast): found
        for route, found in PAGES[name].items()
        if half is None or zlib.crc32(route.encode()) % 2 == half
    }


def frame(route: str, client: Client, cast: Cast, played: Scene) -> str:
    """What is in the page but its words: pages of several people that are alike in it are equally accessible.
    Empty where a route answers with no whole page."""
    answer = client.get(addresses.fill(route, scene=played, cast=cast))
    if answer.status_code == 405:
        NO_PAGES.add(route)
    if answer.status_code != 200:
        return ""
    whole = (
        not answer.streaming
        # A browser saves it, and shows none.
        and "Content-Disposition" not in answer.headers
        and b"<html" in answer.content[:500]
        and answer.headers["Content-Type"].startswith("text/html")
    )
    if not whole:
        NO_PAGES.add(route)
        return ""
    main = re.search(r"<main.*</main>", answer.text, re.DOTALL)
    drawn = ONE_TIME_VALUES.sub("", main.group() if main else answer.text)
    return re.sub(r">[^<]*[^<\s][^<]*<", ">words<", drawn)


@pytest.mark.parametrize(("theme", "width", "names", "half"), LOOKS)
def test_no_page_has_a_serious_violation(
    theme: str,
    width: int,
    names: tuple[str, ...],
    half: int | None,
    cast: Cast,
    live_server: LiveServer,
    chrome: webdriver.Chrome,
) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    chrome.set_window_size(width, 900)
    faults: list[str] = []
    visited = 0
    judged_frames: set[str] = set()
    for name in names:
        client = Client()
        client.force_login(user_of(name, cast, played))
        cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
        chrome.get(f"{live_server.url}/livez")
        chrome.delete_all_cookies()
        chrome.add_cookie({"name": settings.SESSION_COOKIE_NAME, "value": cookie})
        prefer(chrome, theme)
        for place, (address, drawn) in enumerate(
            pages(name, client, cast, played, half=half).items()
        ):
            visited += 1
            # The first page of each person: what stands around all of them.
            if place and drawn in judged_frames:
                continue
            judged_frames.add(drawn)
            chrome.get(live_server.url + address)
            until(chrome, lambda page: theme_of(page) == theme)
            assert chrome.execute_script(STATUS) == 200, f"{address} ({name})"
            faults += [f"{address} ({name}): {fault}" for fault in judged(chrome)]
    assert not faults, "\n".join(faults)
    assert visited > 20 * len(names) // (1 if half is None else 2)


def test_the_judge_sees_a_planted_fault(
    live_server: LiveServer, chrome: webdriver.Chrome
) -> None:
    chrome.get(f"{live_server.url}/account/login/")
    chrome.execute_script(
        "document.body.insertAdjacentHTML('beforeend', '<img src=\"/static/icon.svg\">')"
    )
    assert [fault.split(" ")[0] for fault in judged(chrome)] == ["image-alt"]


def theme_of(page: webdriver.Chrome) -> str:
    """In which of the two themes the page that is open is drawn."""
    return str(page.execute_script("return document.documentElement.dataset.bsTheme"))


def judged(chrome: webdriver.Chrome) -> list[str]:
    """What axe calls serious or critical on the page that is open, a line each."""
    chrome.execute_script(AXE)
    found: list[dict[str, Any]] = chrome.execute_async_script(JUDGE)
    serious = [fault for fault in found if fault["impact"] in ("serious", "critical")]
    return [
        f"{fault['id']} at {' | '.join(fault['nodes'])}".replace("\n", " ") for fault in serious
    ]
