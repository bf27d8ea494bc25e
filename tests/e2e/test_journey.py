"""The main job as four people do it, in a real browser, over the processes of docker-compose.yml.

A steward uploads a table, describes it, asks for budget; a custodian grants; the steward spends, watches the
run, compares, shares; an analyst draws a sample by REST; an auditor follows the money and verifies the
receipt. Screenshots of every station stay in build/screenshots/.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from synth_engine import verifier
from tests import services
from tests.e2e.composed import ROOT, Installation, running_installation
from tests.e2e.patience import complaints, until

pytestmark = [pytest.mark.services, pytest.mark.slow]
PASSWORD = "a long walk by the river"
TABLE = ROOT / "examples" / "adult.csv.gz"
DOMAIN = ROOT / "examples" / "adult.domain.json"
PICTURES = ROOT / "build" / "screenshots"
PATIENCE = 240  # seconds


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    with ExitStack() as stack:
        yield services.require(lambda: stack.enter_context(running_installation()))


class Person:
    """Somebody at a browser. After every step the console is read: nothing may violate the content policy."""

    def __init__(self, browser: webdriver.Chrome, installation: Installation) -> None:
        self.browser, self.installation = browser, installation

    def sign_in(self, name: str, *, once: str) -> None:
        """With the one-time password, which has to be replaced at once."""
        self.go("/")
        self.type("username", name)
        self.type("password", once)
        self.press_submit()
        self.type("old_password", once)
        self.type("new_password1", PASSWORD)
        self.type("new_password2", PASSWORD)
        self.press_submit()

    def sign_out(self) -> None:
        self.browser.delete_all_cookies()

    def go(self, path: str) -> None:
        self.browser.get(path if path.startswith("http") else self.installation.address + path)
        self.check_console()

    def find(self, selector: str) -> WebElement:
        return self.until(lambda b: b.find_element(By.CSS_SELECTOR, selector))

    def type(self, name: str, text: str) -> None:
        field = self.find(f"[name='{name}']")
        field.clear()
        field.send_keys(text)

    def scroll_to(self, selector: str) -> None:
        self.browser.execute_script(
            "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})",
            self.find(selector),
        )

    def press_submit(self, selector: str = "main form [type=submit]") -> None:
        self._press(By.CSS_SELECTOR, selector)

    def press(self, words: str, *, in_place: bool = False) -> None:
        """The button or link whose text begins so; `in_place` where the page stays and a part of it
        changes."""
        what = f"//main//*[self::button or self::a][starts-with(normalize-space(.), {json.dumps(words)})]"
        (self.click if in_place else self._press)(By.XPATH, what)

    def _press(self, by: str, what: str) -> None:
        before = self.browser.find_element(By.TAG_NAME, "html")
        self.click(by, what)
        self._wait_for_another(before)

    def click(self, by: str, what: str) -> None:
        def clicked(browser: webdriver.Chrome) -> bool:
            element = browser.find_element(by, what)
            browser.execute_script(
                "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element
            )
            element.click()
            return True

        self.until(clicked)

    def wait_for_text(self, text: str) -> None:
        self.until(lambda b: text in b.find_element(By.TAG_NAME, "body").text)

    def wait_for_address(self, pattern: str) -> re.Match[str]:
        self.until(lambda b: re.search(pattern, b.current_url))
        found = re.search(pattern, self.browser.current_url)
        assert found is not None
        return found

    def until(self, happened: Callable[[webdriver.Chrome], Any]) -> Any:
        """The first thing that is not nothing; htmx may take an element away while it is being read."""
        try:
            return until(self.browser, happened, seconds=PATIENCE)
        except TimeoutException:
            self.picture("failure")
            raise

    def _wait_for_another(self, before: WebElement) -> None:
        """Until the page that was there is gone, or was changed in place."""

        def gone(browser: webdriver.Chrome) -> bool:
            now = browser.find_element(By.TAG_NAME, "html")
            return (
                now != before
                and browser.execute_script("return document.readyState") == "complete"
            )

        self.until(gone)
        self.check_console()

    def check_console(self) -> None:
        assert complaints(self.browser) == []

    def picture(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.browser.save_screenshot(str(PICTURES / f"{name}.png"))


@pytest.fixture(scope="module")
def people(installation: Installation) -> dict[str, str]:
    """The first real users, made by command: name → one-time password."""
    return make_people(installation, "steward", "custodian", "analyst", "auditor")


def make_people(installation: Installation, *roles: str) -> dict[str, str]:
    """`the-steward` and so on of one organisation, by command: role → one-time password."""
    office = "Statistics Office"
    added = [
        ["add_user", f"the-{role}", "--organisation", office, "--role", role] for role in roles
    ]
    _, *said = installation.manage_all([["create_organisation", office], *added])
    return {
        role: told.strip().rsplit(" ", 1)[1] for role, told in zip(roles, said, strict=True)
    }


def test_the_main_job_from_upload_to_audit(
    installation: Installation, people: dict[str, str], chrome: webdriver.Chrome
) -> None:
    person = Person(chrome, installation)
    chrome.set_window_size(1440, 1000)

    # --- the steward uploads
    person.sign_in("the-steward", once=people["steward"])
    person.go("/datasets/upload/")
    person.type("name", "Adult")
    person.find("input[type=file]").send_keys(str(TABLE))
    person.picture("01-upload")
    person.click(By.CSS_SELECTOR, "#upload [type=submit]")
    code = person.wait_for_address(r"/datasets/([a-z0-9]{10})/")[1]
    person.wait_for_text("Describe")

    # --- describes: suggestions are grey until confirmed; a codebook fills the grid
    person.go(f"/datasets/{code}/describe/")
    person.wait_for_text("15 of 15 columns still open")
    person.picture("02-describe-suggestions")
    person.press("Confirm this description")
    person.wait_for_text("15 columns not confirmed yet")
    person.find("#import-title").click()
    person.find("#id_document").send_keys(str(DOMAIN))
    person.press("Import into the draft")
    person.wait_for_text("15 of 15 columns still open")  # a file confirms nothing by itself
    person.find("#together > summary").click()
    person.find("#because").send_keys("The documentation of the table.")
    person.press("Confirm all open columns")
    person.wait_for_text("These lists were read from your table")
    for place in [
        each.get_attribute("data-list")
        for each in chrome.find_elements(By.CSS_SELECTOR, "[data-list]")
    ]:
        person.find(f"[name='{place}-list'][value=public]").click()
        person.find(f"[name='{place}-because']").send_keys("The documentation of the table.")
    person.press("Confirm these columns only")
    person.wait_for_text("All 15 columns confirmed")
    person.picture("03-describe-confirmed")
    person.press("Confirm this description")
    person.go(f"/datasets/{code}/domain/1/")
    person.wait_for_text("version 1")

    # --- asks; may not grant to himself
    person.go(f"/ledger/ask/{code}/")
    person.find("details.fold > summary").click()
    person.type("epsilon", "2")
    person.type("reason", "One release for teaching, one in reserve.")
    person.picture("04-ask")
    person.press_submit()
    asked = person.wait_for_address(r"/ledger/requests/([a-z0-9]{10})/")[0]
    assert not chrome.find_elements(By.CSS_SELECTOR, f"form[action='{asked}grant/']")
    person.sign_out()

    # --- the custodian grants
    person.sign_in("the-custodian", once=people["custodian"])
    person.go(asked)
    person.find(f"form[action='{asked}grant/'] [name=reason]").send_keys(
        "Public data, small budget."
    )
    person.picture("05-grant")
    person.press("Go on to the confirmation")
    person.press("Yes, grant it")
    person.wait_for_text("Granted")
    person.sign_out()

    # --- the steward spends, and watches
    _sign_in_again(person, "the-steward")
    person.go(f"/datasets/{code}/releases/new/")
    person.wait_for_text("Say about how many records there are")
    person.find("[name=records_band][value='10000']").click()
    person.type("epsilon", "nan")
    person.wait_for_text("must be a number")
    assert person.find("[name=epsilon]").get_attribute("value") == "nan"
    person.type("epsilon", "1")
    person.wait_for_text("Spend ε 1 and run")
    person.picture("06-new-release")
    person.press_submit("#estimate [type=submit]")
    person.wait_for_address(r"/runs/[a-z0-9]{10}/")
    person.picture("07-run")
    person.wait_for_text("Finished")
    person.press("Open the release")
    release = person.wait_for_address(r"/releases/([a-z0-9]{10})/")[1]
    person.picture("08-release")

    # --- shares before looking, then compares
    person.go(f"/releases/{release}/share/")
    Select(person.find("[name=analyst]")).select_by_visible_text("the-analyst")
    person.press_submit()
    person.wait_for_text("Shared with")
    person.go(f"/releases/{release}/compare/")
    person.press("Compare with real data")
    person.wait_for_text("not differentially private")
    # Figures are drawn when they come near the screen, and how far down the first one is depends on the words
    # above it.
    person.scroll_to(".figure:not([hidden]) [data-figure]")
    person.find(".js-plotly-plot .main-svg")
    person.check_console()
    person.picture("09-compare")
    person.go("/ledger/")
    person.wait_for_text("Adult")
    person.sign_out()

    # --- the analyst: shared releases alone, by page and by REST
    person.sign_in("the-analyst", once=people["analyst"])
    person.go("/releases/")
    person.wait_for_text("Adult")
    person.picture("10-analyst")
    person.go("/account/tokens/")
    token = _new_token(person)
    person.sign_out()
    _check_rest(installation, token=token, release=release, dataset=code)

    # --- the auditor: every unit of budget, and the receipt
    person.sign_in("the-auditor", once=people["auditor"])
    person.go("/ledger/")
    person.press("Adult")
    person.wait_for_text("Intact")
    person.picture("11-ledger")
    person.go(f"/releases/{release}/receipt/")
    person.press("Verify here", in_place=True)
    person.wait_for_text("recomputed")
    person.picture("12-receipt")
    assert "intact" in installation.manage("verify_ledger")


def _sign_in_again(person: Person, name: str) -> None:
    person.go("/")
    person.type("username", name)
    person.type("password", PASSWORD)
    person.press_submit()


def _new_token(person: Person) -> str:
    person.type("name", "notebook")
    person.press_submit()
    return person.find("#new-token").text.strip()


def _check_rest(installation: Installation, *, token: str, release: str, dataset: str) -> None:
    """What an analyst's program does: list, receipt, draw, download; and what it must not see."""
    listed = _ask(installation, token, "/api/v1/releases/")
    assert [each["code"] for each in listed["results"]] == [release]
    receipt = _ask(installation, token, f"/api/v1/releases/{release}/receipt/")
    assert verifier.verify(receipt).epsilon <= 1
    drawn = _ask(installation, token, f"/api/v1/releases/{release}/samples/", {"rows": 500})
    rows = list(
        csv.DictReader(
            io.StringIO(
                _text(installation, token, f"/api/v1/samples/{drawn['code']}/table.csv")
            )
        )
    )
    assert len(rows) == 500
    assert set(rows[0]) == set(next(csv.reader(_header())))
    with pytest.raises(urllib.error.HTTPError) as refused:
        _ask(installation, token, f"/api/v1/datasets/{dataset}/")
    assert refused.value.code == 404


def _header() -> list[str]:
    with gzip.open(TABLE, "rt") as file:
        return [file.readline()]


def _ask(
    installation: Installation, token: str, path: str, body: dict[str, Any] | None = None
) -> Any:
    return json.loads(_text(installation, token, path, body))


def _text(
    installation: Installation, token: str, path: str, body: dict[str, Any] | None = None
) -> str:
    request = urllib.request.Request(
        installation.address + path,
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        data=None if body is None else json.dumps(body).encode(),
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return str(answer.read().decode())
