"""A public table beside the answers in a real browser: imported, chosen with a renamed column, and held with
the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from synthweb.runs.models import SynthesisRun
from tests import services
from tests.cast import Cast
from tests.e2e.patience import click, complaints, until
from tests.web import scene

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_a_survey_is_imported_chosen_and_stated_by_the_run(
    cast: Cast, live_server: LiveServer, tmp_path: Path
) -> None:
    services.require(services.find_chromium)
    dataset = scene.funded(cast)
    survey = tmp_path / "survey.csv"
    lines = [f"{'north' if n % 2 else 'south'},{n % 80},yes" for n in range(60)]
    survey.write_text("\n".join(["region,AGEP,works", *lines, ""]))
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
        browser.set_window_size(1440, 1200)
        browser.get(live_server.url + reverse("references:new"))
        for name, text in (
            ("name", "Survey 2023"),
            ("published", "the bureau's page of downloads"),
            ("word", "public"),
        ):
            browser.find_element(By.NAME, name).send_keys(text)
        browser.find_element(By.NAME, "file").send_keys(str(survey))
        Select(browser.find_element(By.NAME, "kind")).select_by_value("records")
        click(browser, "form[enctype] button")
        until(browser, lambda page: "The first 12 of 60 records" in page.page_source)

        browser.get(live_server.url + reverse("runs:new", args=[dataset.code]))
        assert not browser.find_element(By.NAME, "prior").is_displayed()
        click(browser, "#expert > summary")
        click(browser, "#public-table > summary")
        Select(browser.find_element(By.NAME, "prior")).select_by_visible_text(
            "Survey 2023, version 1"
        )

        def shown(words: str) -> None:
            until(
                browser,
                lambda page: words in page.find_element(By.ID, "estimate").text,
            )

        shown("shares 2 of 3 columns")
        # What is chosen stays when the right side is computed again.
        renamed = browser.find_element(By.NAME, "prior_columns")
        renamed.send_keys("age")
        until(
            browser,
            lambda page: "two names" in page.find_element(By.ID, "prior_columns-errors").text,
        )
        renamed.send_keys(" = AGEP")
        shown("shares 3 of 3 columns")
        until(
            browser,
            lambda page: not page.find_element(By.ID, "prior_columns-errors").text,
        )
        click(browser, "#estimate button")
        until(browser, lambda page: "the public table Survey 2023" in page.page_source)
        assert not complaints(browser)
    run = SynthesisRun.objects.get()
    assert run.prior is not None
    assert run.prior["columns"] == {"age": "AGEP"}
