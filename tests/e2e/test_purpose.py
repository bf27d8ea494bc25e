"""A release made for something, in a real browser and by keyboard: a column to predict, a weight and a listed
table are chosen, paid for, measured, and shown again with what they became."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from synthweb.releases.models import Release
from synthweb.runs import worker
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.e2e.patience import element, until
from tests.e2e.test_accessibility import judged
from tests.web import scene

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def shown(chrome: webdriver.Chrome, words: str, where: str) -> None:
    until(chrome, lambda page: words in page.find_element(By.CSS_SELECTOR, where).text)


def choose(chrome: webdriver.Chrome) -> None:
    """A column to predict, a weight and a table, the last two in folds that open by keyboard."""
    element(chrome, "#expert > summary").send_keys(Keys.ENTER)
    Select(chrome.find_element(By.NAME, "param-target")).select_by_visible_text("works")
    for summary in chrome.find_elements(
        By.CSS_SELECTOR, ":is(#purpose, #parameters) .fold:not([open]) > summary"
    ):
        summary.send_keys(Keys.ENTER)
    element(chrome, "[name='param-weights:age']").send_keys("2")
    for name, column in (("pick-1", "age"), ("pick-2", "region")):
        Select(chrome.find_element(By.NAME, name)).select_by_visible_text(column)
    element(chrome, "#param-marginals-add").send_keys(Keys.ENTER)
    shown(chrome, "age × region", ".chips")


def test_a_release_with_a_target_and_a_listed_table(
    cast: Cast, live_server: LiveServer, chrome: webdriver.Chrome
) -> None:
    dataset = scene.funded(cast)
    client = Client()
    client.force_login(cast.steward)
    chrome.get(f"{live_server.url}/livez")
    chrome.add_cookie(
        {
            "name": settings.SESSION_COOKIE_NAME,
            "value": client.cookies[settings.SESSION_COOKIE_NAME].value,
        }
    )
    chrome.get(live_server.url + reverse("runs:new", args=[dataset.code]))
    assert chrome.find_element(By.ID, "mechanism-auto").is_selected()
    choose(chrome)
    assert chrome.execute_script("return document.activeElement.id") == "param-marginals-add"
    assert judged(chrome) == []

    field = element(chrome, "#id_epsilon")
    field.clear()
    field.send_keys("0.5", Keys.ENTER)  # works out the price again, and spends nothing
    shown(chrome, "Spend ε 0.5 and run", "#estimate button")
    assert not SynthesisRun.objects.exists()
    weight = element(chrome, "[name='param-weights:age']")
    weight.send_keys("x")
    shown(chrome, "“age”: write a weight like 2", "#estimate")
    weight.send_keys(Keys.BACKSPACE)
    shown(chrome, "Spend ε 0.5 and run", "#estimate button")
    element(chrome, "#estimate button").send_keys(Keys.ENTER)
    until(chrome, lambda page: "/runs/" in page.current_url)

    run = SynthesisRun.objects.get()
    asked = {"target": "works", "weights": {"age": 2.0}, "marginals": [["age", "region"]]}
    assert asked.items() <= run.spec["parameters"].items()
    worker.synthesize(code=run.code)
    release = Release.objects.get()
    assert asked.items() <= release.receipt["mechanism"]["parameters"].items()
    chrome.get(live_server.url + reverse("releases:about", args=[release.code]))
    shown(chrome, "works", ".facts")
    shown(chrome, "age × region", ".facts")
    chrome.get(live_server.url + reverse("releases:measured", args=[release.code]))
    assert chrome.find_elements(By.CSS_SELECTOR, ".pairs, [role=note]")
    assert judged(chrome) == []
    chrome.get(live_server.url + reverse("runs:new", args=[dataset.code]) + f"?like={run.code}")
    shown(chrome, "age × region", ".chips")
    assert (
        Select(chrome.find_element(By.NAME, "param-target")).first_selected_option.text
        == "works"
    )
