"""Figures in the pages: the vendored Plotly, the comparison page, and what a browser makes of both."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from plotly import graph_objects
from plotly.offline import get_plotlyjs_version
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from synth_engine.evaluation import page as report_page
from synth_engine.evaluation import style
from synthweb.ledger.figures import CHARGED, EDGE, FREE, HELD
from tests import tones
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

STATIC = Path(settings.BASE_DIR) / "static"
PLOTLY = report_page.PLOTLY
TRACES = ("scatter", "bar", "box", "heatmap")
RED = "Real data — not differentially private"


# --- what is vendored ---------------------------------------------------------------------------------------
def test_the_vendored_plotly_is_the_version_that_plotly_py_draws_for() -> None:
    head = PLOTLY.read_text("utf-8")[:300]
    traces = ", ".join(TRACES)
    assert f"plotly.js ({traces} - minified) v{get_plotlyjs_version()}\n" in head


def test_the_vendored_plotly_has_every_trace_that_a_figure_uses_and_is_small() -> None:
    every_trace = {name.lower() for name in dir(graph_objects)}
    used = set()
    for package in ("synth_engine", "synthweb"):
        for path in (Path(settings.BASE_DIR) / package).rglob("*.py"):
            used |= set(re.findall(r'"type": "(\w+)"', path.read_text("utf-8"))) & every_trace
    assert used <= set(TRACES), f"build {PLOTLY.name} with these traces, too"
    assert PLOTLY.stat().st_size < 1_500_000


def test_the_linked_styles_are_those_that_plotly_would_inject() -> None:
    source = PLOTLY.read_text("utf-8")
    start = source.index('={"X,X div":') + 1
    quoted = r"""(?:"([^"]*)"|'([^']*)')"""
    injected = []
    for rule in re.finditer(
        f"{quoted}:{quoted}", source[start : source.index("};for(", start)]
    ):
        selector, declarations = rule[1] or rule[2], rule[3] or rule[4]
        selector = selector.replace("X", ".js-plotly-plot .plotly").replace(
            "Y", ".plotly-notifier"
        )
        injected.insert(
            0, f"{selector} {{ {declarations} }}"
        )  # Plotly inserts each before the last
    assert len(injected) > 40
    linked = (STATIC / "vendor" / "plotly.css").read_text("utf-8")
    assert linked.split("*/\n", 1)[1].splitlines() == injected


def test_pages_take_the_tones_of_figures_from_one_place() -> None:
    assert tones.SHEET.read_text("utf-8") == tones.stylesheet(), "run: python -m tests.tones"
    script = (STATIC / "js" / "figures.js").read_text("utf-8")
    tokens = re.findall(r'"([\w-]+)"', script.split("const TOKENS = [")[1].split("]")[0])
    assert set(style.TONES) <= set(tokens)
    sources = [
        *(STATIC / "js").glob("*.js"),
        *(STATIC / "css").glob("*.css"),
        *(path for path in report_page.ASSETS.iterdir() if path.is_file()),
    ]
    for colour in style.TONES["real"] + style.TONES["synthetic"]:
        assert not [
            path.name
            for path in sources
            if path != tones.SHEET and colour in path.read_text("utf-8")
        ]


def test_the_ledger_draws_in_the_light_tones_of_the_budget() -> None:
    light = (
        (STATIC / "css" / "tokens.css").read_text("utf-8").split('[data-bs-theme="dark"]')[0]
    )
    for token, colour in (
        ("held", HELD),
        ("charged", CHARGED),
        ("free", FREE),
        ("free-edge", EDGE),
    ):
        assert f"--budget-{token}: {colour};" in light


def test_the_icon_has_the_tones_of_real_and_synthetic_data() -> None:
    icon = (STATIC / "icon.svg").read_text("utf-8")
    assert set(re.findall(r'fill="(#\w{6})"', icon)) == {style.REAL, style.SYNTHETIC}


# --- the page -----------------------------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
def test_the_comparison_says_what_it_is_and_has_a_table_and_a_reading_for_every_figure(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    client, address = browser(cast.steward), f"/releases/{played.release.code}/compare/all/"
    page = client.get(address)
    text = html_of(page)
    assert page.status_code == 200
    packed = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert packed["Content-Encoding"] == "gzip"
    assert 3 * len(packed.content) < len(page.content)
    assert '<div class="red-bar"' in text
    # The head has the level of the worst tile.
    levels = ("same", "small", "unseen", "clear", "large", "damaged")
    [overall] = re.findall(r'data-overall="(\w+)"', text)
    assert overall == max(re.findall(r'data-level="(\w+)"', text), key=levels.index)
    figures = re.findall(r'data-figure="([\w-]+)"', text)
    # Histograms, last digits, maps of dependence, the map of pairs, means of one number within two
    # categories, scores of larger tables and those of groups of one and of two columns, and the networks of
    # both tables.
    assert len(figures) == 3 + 1 + 3 + 1 + 2 + 3 + 1
    for figure in figures:
        source = re.search(
            rf'<script id="{figure}" type="application/json">(.*?)</script>', text, re.DOTALL
        )
        assert source is not None
        assert json.loads(source[1])["layout"]["annotations"][0]["text"] == RED
        for part in ("what", "how", "table"):
            assert f'id="{figure.removesuffix("-data")}-{part}"' in text
    switch = text.split('class="map-switch"')[1].split("</section>")
    assert re.findall(r'type="radio"', switch[0]) == ['type="radio"'] * 3
    labels = [" ".join(each.split()) for each in re.findall(r">([^<>]+)</label>", switch[0])]
    assert labels == ["Real", "Synthetic", "Difference"]
    changed = re.search(r'class="panel map-most">.*?<ol>(.*?)</ol>', text, re.DOTALL)
    assert changed is not None
    assert 0 < changed[1].count("<li>") <= 10
    assert (
        text.count(f'<div class="figure-red">{RED}</div>') == 5
    )  # numbers, categories, triples, means within groups and the real rows


# --- the browser --------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_a_browser_draws_the_comparison_under_the_policy_and_in_both_themes(
    cast: Cast,
    live_server: LiveServer,
    chrome: webdriver.Chrome,
    browser: Callable[..., Client],
) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    chrome.get(f"{live_server.url}/livez")
    chrome.add_cookie({"name": settings.SESSION_COOKIE_NAME,
        "value": browser(cast.steward).cookies[settings.SESSION_COOKIE_NAME].value})  # fmt: skip
    chrome.get_log("browser")
    chrome.get(f"{live_server.url}/releases/{played.release.code}/compare/all/")
    wait = WebDriverWait(chrome, 20)
    first = ".figure:not([hidden]) [data-figure]"  # drawn when it comes near the screen
    chrome.execute_script(f"document.querySelector('{first}').scrollIntoView()")
    wait.until(lambda page: page.find_elements(By.CSS_SELECTOR, ".figure-drawn"))

    picks = chrome.find_elements(By.CSS_SELECTOR, "[data-strip] a")
    chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", picks[1])
    picks[1].click()
    second = chrome.find_element(By.ID, "column-1")
    assert second.is_displayed() and not chrome.find_element(By.ID, "column-0").is_displayed()
    wait.until(
        lambda _: (
            "figure-drawn"
            in second.find_element(By.CSS_SELECTOR, "[data-figure]").get_attribute("class")
        )
    )
    picks[1].send_keys(Keys.ARROW_RIGHT)
    assert chrome.find_element(By.ID, "column-2").is_displayed()

    wait.until(
        lambda page: page.find_elements(By.CSS_SELECTOR, "#column-2 .figure-drawn")
    )  # before it, things move
    tab = chrome.find_element(By.ID, "column-2-tab-table")
    chrome.execute_script(
        "arguments[0].scrollIntoView({block: 'center'})", tab
    )  # clear of the red bar
    tab.click()
    assert chrome.find_element(By.ID, "column-2-table").is_displayed()

    nameless = (
        "return [...document.querySelectorAll('.modebar-btn')].filter(b => b.tagName !== 'BUTTON' || "
        "!b.ariaLabel).length"
    )
    assert (
        chrome.find_elements(By.CSS_SELECTOR, ".modebar-btn")
        and chrome.execute_script(nameless) == 0
    )

    colour = "return document.querySelector('#column-2 .figure-drawn').data[0].marker.color"
    wait.until(
        lambda page: page.execute_script(
            "return document.querySelector('#column-2 .figure-drawn') !== null"
        )
    )
    light = chrome.execute_script(colour)
    for theme in ("dark", "light"):
        button = chrome.find_element(By.CSS_SELECTOR, f"[data-theme-choice='{theme}']")
        chrome.execute_script("arguments[0].click()", button)
        wait.until(
            lambda page, dark=theme == "dark": (page.execute_script(colour) != light) == dark
        )

    swapped = """
      const copy = document.querySelector('#column-2 [data-figure]').cloneNode(false);
      copy.className = 'swapped'; document.querySelector('#columns').append(copy);
      htmx.trigger(copy, 'htmx:load'); copy.scrollIntoView();"""
    chrome.execute_script(swapped)
    wait.until(lambda page: page.find_elements(By.CSS_SELECTOR, ".swapped.figure-drawn"))

    # Each format of a figure, and of one that was never drawn: what would be saved is caught.
    saved = """
      const [done, files] = [arguments[0], {}];
      window.synthwebFiles.saveFile = async (blob, name) => {
        files[name] = await blob.text();
        if (Object.keys(files).length === 8) done(files);
      };
      for (const card of ['column-0', 'pairs'])
        for (const button of document.querySelectorAll(`#${card} [data-figure-save]`)) button.click();"""
    chrome.set_script_timeout(20)
    files = chrome.execute_async_script(saved)
    assert sorted(files) == sorted(
        f"{card}.{form}"
        for card in ("column-0", "pairs")
        for form in ("json", "csv", "png", "svg")
    )
    for card in ("column-0", "pairs"):
        head, *lines = files[f"{card}.csv"].splitlines()
        assert head.startswith("series,x") and lines and all(RED in line for line in lines)
        assert files[f"{card}.svg"].startswith("<svg") and "Real data" in files[f"{card}.svg"]
        assert files[f"{card}.png"][1:4] == "PNG"

    # Pictures that the page holds as SVG, and tables.
    saved = """
      const [done, files] = [arguments[0], {}];
      window.synthwebFiles.saveFile = async (blob, name) => {
        files[name] = await blob.text();
        if (Object.keys(files).length === 3) done(files);
      };
      document.querySelector('[data-strip] a').id = 'held';
      const buttons = [
        ['pictureSave', 'held', 'a.png'],
        ['pictureSave', 'held', 'a.svg'],
        ['tableSave', 'column-0-table', 'a.csv'],
      ];
      for (const [kind, id, fileName] of buttons) {
        const button = document.createElement('button');
        Object.assign(button.dataset, { [kind]: id, fileName });
        document.body.append(button);
        button.click();
      }"""
    files = chrome.execute_async_script(saved)
    assert files["a.png"][1:4] == "PNG"
    assert 'xmlns="http://www.w3.org/2000/svg"' in files["a.svg"] and "fill:" in files["a.svg"]
    assert len(files["a.csv"].splitlines()) > 1

    # On paper every figure is drawn, with the page's own handlers and nothing more.
    chrome.execute_cdp_cmd("Page.printToPDF", {})
    assert (
        chrome.execute_script(
            "return document.querySelectorAll('[data-figure]:not(.figure-drawn)').length"
        )
        == 0
    )

    assert chrome.execute_script("return document.querySelectorAll('style').length") == 0
    problems = [
        entry for entry in chrome.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")
    ]
    assert problems == []
