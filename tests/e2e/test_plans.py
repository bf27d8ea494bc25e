"""A custodian approves a plan over years in a real browser, and its page is read wide and narrow, light and
dark, also in German."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from synthweb.ledger import plan_years
from synthweb.ledger.amounts import NANO, Amount
from synthweb.ledger.models import EarmarkUse, PublicationPlan
from tests.cast import Cast
from tests.e2e.patience import element, until
from tests.e2e.test_accessibility import judged
from tests.e2e.themes import prefer
from tests.web import scene

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]
WIDER = "return document.documentElement.scrollWidth > window.innerWidth"


def test_a_custodian_approves_a_plan_and_everybody_can_read_it(
    cast: Cast, live_server: LiveServer, chrome: webdriver.Chrome
) -> None:
    release = scene.released(
        cast, mechanism="independent", epsilon="0.1", name="Commutes", table=scene.TABLE
    )
    account = release.account
    client = Client()
    client.force_login(cast.custodian)
    chrome.get(f"{live_server.url}/livez")
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    chrome.add_cookie({"name": settings.SESSION_COOKIE_NAME, "value": cookie})
    # Years to come: the test may run when one begins.
    first = plan_years.present_year() + 1
    address = reverse("pages:new-plan", args=[account.code])
    chrome.get(f"{live_server.url}{address}?first={first}&last={first + 2}")
    assert judged(chrome) == []
    element(chrome, "#id_name").send_keys("Commutes, every year")
    element(chrome, "#id_reason").send_keys("The programme of the office.")
    for year, share in zip(range(first, first + 3), ("0.03", "2 %", "0.01"), strict=True):
        field = element(chrome, f"#id_epsilon_{year}")
        field.clear()
        field.send_keys(share)
    field.send_keys(Keys.ENTER)
    until(chrome, lambda page: page.find_elements(By.CSS_SELECTOR, ".plan-years"))
    plan = PublicationPlan.objects.get()
    account.refresh_from_db()
    shares = [line.share.epsilon for line in plan_years.years_of(plan)]
    assert shares == [3 * NANO // 100, account.epsilon_cap * 2 // 100, NANO // 100]

    share = plan.shares.order_by("year").first()
    assert share is not None
    EarmarkUse.objects.create(
        earmark=share, run_code=release.run_code, **Amount(epsilon=NANO // 50).as_dict
    )
    for language in ("en", "de"):
        chrome.add_cookie({"name": settings.LANGUAGE_COOKIE_NAME, "value": language})
        for theme, width in (("dark", 390), ("light", 1440)):
            chrome.set_window_size(width, 900)
            prefer(chrome, theme)
            for name in ("plan", "change-plan"):
                path = reverse(f"pages:{name}", args=[account.code, plan.code])
                chrome.get(live_server.url + path)
                assert judged(chrome) == []
                assert not chrome.execute_script(WIDER)
    chrome.get(live_server.url + reverse("pages:plan", args=[account.code, plan.code]))
    assert "Mehrjahresplan" in element(chrome, "main").text
    assert release.name in element(chrome, ".plan-years").text
    bar = element(chrome, ".plan-years [role='img']")
    assert "0,02 abgebucht" in (bar.get_attribute("aria-label") or "")
