"""The new-release page in a real browser: slider, number field and price move together, without a policy
violation."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from synthweb.datasets import services as datasets_services
from synthweb.ledger import services as ledger
from synthweb.runs.models import SynthesisRun
from tests import services
from tests.cast import Cast
from tests.e2e.patience import click, complaints, until
from tests.web import scene

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_slider_number_and_price_move_together_and_the_button_spends_it(
    cast: Cast, live_server: LiveServer
) -> None:
    services.require(services.find_chromium)
    dataset = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    datasets_services.declare_domain(actor=cast.steward, dataset=dataset, document=scene.DOMAIN)
    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=dataset),
        reason="Agreed.",
    )
    client = Client()
    client.force_login(cast.steward)
    with services.chromium() as browser:
        browser.get(f"{live_server.url}/livez")
        browser.add_cookie(
            {
                "name": settings.SESSION_COOKIE_NAME,
                "value": client.cookies[settings.SESSION_COOKIE_NAME].value,
            }
        )
        browser.get(live_server.url + reverse("runs:new", args=[dataset.code]))

        def shown(words: str, where: str) -> None:
            until(browser, lambda page: words in page.find_element(By.CSS_SELECTOR, where).text)

        def price(words: str) -> None:
            shown(words, "#estimate button")

        click(browser, "#expert > summary")
        field = browser.find_element(By.ID, "id_epsilon")
        slider = browser.find_element(By.ID, "epsilon-range")
        price("Spend ε 1 and run")
        field.clear()
        field.send_keys("0.5")
        price("Spend ε 0.5 and run")
        assert slider.get_property("value") == "-30"
        slider.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        typed = str(field.get_property("value"))
        assert re.fullmatch(r"0\.[67][0-9]?", typed)
        price(f"Spend ε {typed} and run")
        field.clear()
        field.send_keys("nan")
        shown("must be a number", "#estimate")
        assert field.get_property("value") == "nan"
        for fold in browser.find_elements(By.CSS_SELECTOR, ".family:not([open]) > summary"):
            fold.click()
        click(browser, "#mechanism-bayesian-network")
        until(browser, lambda page: page.find_elements(By.NAME, "param-degree"))
        click(browser, "#mechanism-independent")
        until(browser, lambda page: not page.find_elements(By.NAME, "param-degree"))
        field.clear()
        field.send_keys("0.25")
        price("Spend ε 0.25 and run")
        click(browser, "#estimate button")
        until(browser, lambda page: "/runs/" in page.current_url)
        until(browser, lambda page: "Waiting for a worker" in page.page_source)
        assert not complaints(browser)
    assert SynthesisRun.objects.get().price.epsilon == 250_000_000
