"""A passkey in a real browser, with an authenticator that Chromium plays: set up, signed in with, refused
after it is taken away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.virtual_authenticator import VirtualAuthenticatorOptions

from synthweb.accounts.models import Passkey
from tests.cast import PASSWORD, Cast
from tests.e2e.patience import until

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def _authenticator(chrome: webdriver.Chrome) -> Iterator[None]:
    """A key inside the machine, whose owner says yes."""
    options = VirtualAuthenticatorOptions()
    options.transport = VirtualAuthenticatorOptions.Transport.INTERNAL
    options.has_user_verification = options.is_user_verified = True
    chrome.add_virtual_authenticator(options)
    yield
    chrome.remove_virtual_authenticator()


def press(chrome: webdriver.Chrome, form: str) -> None:
    chrome.find_element(By.CSS_SELECTOR, f"{form} button[type=submit]").click()


def give_password(chrome: webdriver.Chrome, url: str) -> None:
    chrome.get(f"{url}/account/login/")
    chrome.find_element(By.NAME, "username").send_keys("steward")
    chrome.find_element(By.NAME, "password").send_keys(PASSWORD)
    press(chrome, "form.panel")


def path_of(chrome: webdriver.Chrome, url: str) -> str:
    return chrome.current_url.removeprefix(url)


@pytest.mark.usefixtures("_authenticator")
def test_a_passkey_signs_in_beside_the_password(
    cast: Cast, chrome: webdriver.Chrome, live_server: LiveServer
) -> None:
    url = live_server.url
    give_password(chrome, url)
    until(chrome, lambda page: path_of(page, url) == "/")
    chrome.get(f"{url}/account/second-factor/passkey/")
    chrome.find_element(By.NAME, "name").send_keys("this machine")
    press(chrome, "form[data-passkey]")
    until(chrome, lambda page: len(page.find_elements(By.CSS_SELECTOR, "[data-code]")) == 10)

    chrome.delete_all_cookies()
    give_password(chrome, url)
    until(chrome, lambda page: path_of(page, url) == "/account/login/code/")
    press(chrome, "form[data-passkey]")
    until(chrome, lambda page: path_of(page, url) == "/")
    assert Passkey.objects.get().used_at is not None

    # Of a passkey that the machine no longer has, the page says so and stays.
    chrome.delete_all_cookies()
    chrome.remove_all_credentials()
    give_password(chrome, url)
    until(chrome, lambda page: path_of(page, url) == "/account/login/code/")
    press(chrome, "form[data-passkey]")
    until(
        chrome, lambda page: page.find_element(By.CSS_SELECTOR, "[data-problem]").is_displayed()
    )
    assert path_of(chrome, url) == "/account/login/code/"
