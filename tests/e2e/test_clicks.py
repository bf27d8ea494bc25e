"""From upload to a shared sample in few clicks: every click and typed text is counted, no number is typed,
and bounds are learned."""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from tests import services, shared
from tests.e2e.composed import Installation, running_installation
from tests.e2e.test_journey import PASSWORD, Person, make_people

pytestmark = [pytest.mark.services, pytest.mark.slow]
MOST_CLICKS = 20
MOST_TO_DESCRIPTION = 4
"""From the choice of a file to a confirmed description, of a table without a question."""
ROWS = 2_000
MONTHS = ("may", "jul", "aug", "jun", "nov", "apr", "feb", "jan", "oct", "sep", "mar", "dec")
LEARNED = {"balance", "duration", "campaign", "pdays", "previous"}
"""Columns of more numbers than anybody lists. Of an age it is public from where to where it goes."""


@pytest.fixture
def installation() -> Iterator[Installation]:
    with ExitStack() as stack:
        yield services.require(lambda: stack.enter_context(running_installation()))


@pytest.fixture(params=["made-up", pytest.param("public", marks=pytest.mark.nightly)])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Calls of a bank: 17 columns, texts in quotation marks, semicolons, a skewed balance, -1 for never
    called. Made-up ones, and the public table that they are made after."""
    path = tmp_path / "calls.csv"
    if request.param == "public":
        packed = shared.needs("data/bank/bank-full.csv.gz")
        path.write_bytes(gzip.decompress(packed.read_bytes()))
        return path
    chance = random.Random(5)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=";", quoting=csv.QUOTE_NONNUMERIC)
        records = [_record(chance) for _ in range(ROWS)]
        writer.writerow(records[0])
        writer.writerows(record.values() for record in records)
    return path


def _record(chance: random.Random) -> dict[str, str | int]:
    called = chance.random() < 0.2
    return {
        "age": min(95, 18 + int(chance.gammavariate(4, 6))),
        "job": chance.choice(
            ("management", "technician", "blue-collar", "services", "retired", "unknown")
        ),
        "marital": chance.choice(("married", "single", "divorced")),
        "education": chance.choice(("primary", "secondary", "tertiary", "unknown")),
        "default": chance.choices(("no", "yes"), weights=(49, 1))[0],
        "balance": int(chance.lognormvariate(6, 1.5)) - 300,
        "housing": chance.choice(("yes", "no")),
        "loan": chance.choices(("no", "yes"), weights=(5, 1))[0],
        "contact": chance.choice(("cellular", "unknown", "telephone")),
        "day": chance.randint(1, 31),
        "month": chance.choices(MONTHS, weights=range(len(MONTHS), 0, -1))[0],
        "duration": 5 + int(chance.expovariate(1 / 250)),
        "campaign": 1 + int(chance.expovariate(1 / 2)),
        "pdays": chance.randint(1, 400) if called else -1,
        "previous": 1 + int(chance.expovariate(1 / 2)) if called else 0,
        "poutcome": chance.choice(("failure", "other", "success")) if called else "unknown",
        "y": chance.choices(("no", "yes"), weights=(7, 1))[0],
    }


class CountingPerson(Person):
    """Somebody whose clicks and texts are counted; a text that is typed takes a click into its field, if it
    has no focus."""

    def __init__(self, browser: webdriver.Chrome, installation: Installation) -> None:
        super().__init__(browser, installation)
        self.clicks: list[str] = []
        self.texts: list[str] = []

    def click(self, by: str, what: str) -> None:
        super().click(by, what)
        self.clicks.append(what)

    def write(self, selector: str, text: str) -> None:
        field = self.find(selector)
        if self.browser.switch_to.active_element != field:
            self.click(By.CSS_SELECTOR, selector)
        field.send_keys(text)
        self.texts.append(text)

    def choose_file(self, path: Path) -> None:
        self.find("input[type=file]").send_keys(str(path))
        self.clicks.append("choose a file")


def test_a_table_becomes_a_shared_sample_in_few_clicks(
    installation: Installation, chrome: webdriver.Chrome, table: Path, tmp_path: Path
) -> None:
    person = CountingPerson(chrome, installation)
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    chrome.set_window_size(1440, 1000)
    chrome.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)}
    )
    _let_in(person, installation)

    _return_to_home(person, "the-steward")
    person.press("Upload a table")
    person.choose_file(table)
    assert person.find("[name=name]").get_property("value") == "calls"
    person.click(By.CSS_SELECTOR, "#upload [type=submit]")
    person.press("Describe the table")
    person.wait_for_text("17 columns are clear")
    person.press("Accept the 17 and confirm the description")
    code = person.wait_for_address(r"/datasets/([a-z0-9]{10})/$")[1]
    assert len(person.clicks) - 1 <= MOST_TO_DESCRIPTION, (
        person.clicks
    )  # without the way to the form
    person.press("Ask for budget")
    person.write("[name=reason]", "For teaching.")
    person.press("Send the request")

    _return_to_home(person, "the-custodian")
    person.press("Decide")
    person.write("form[action$='/grant/'] [name=reason]", "The data are made up.")
    person.press("Go on to the confirmation")
    person.press("Yes, grant it")

    _return_to_home(person, "the-steward")
    person.press("Make a release")
    person.click(By.CSS_SELECTOR, "[name=records_band][value='1000']")
    # Its share of the planned releases: no question whether to spend nearly all.
    person.until(
        lambda _: chrome.find_elements(By.CSS_SELECTOR, "#estimate [type=submit]:enabled")
    )
    person.press("Spend")
    person.press("Open the release")
    release = person.wait_for_address(r"/releases/([a-z0-9]{10})/")[1]
    person.click(By.CSS_SELECTOR, f"a[href='/releases/{release}/share/']")
    analyst = Select(person.find("[name=analyst]")).first_selected_option.text
    assert "the-analyst" in analyst  # nobody else is there to be chosen
    person.press_submit()
    person.wait_for_text("Shared with")

    _return_to_home(person, "the-analyst")
    person.press("Draw a table")
    person.press("Draw, free")
    person.click(By.CSS_SELECTOR, "a[download][href$='.csv']")
    drawn = person.until(lambda _: list(downloads.glob("*.csv")))[0]

    assert len(person.clicks) <= MOST_CLICKS, person.clicks
    assert not any(sign.isdigit() for text in person.texts for sign in text)
    with drawn.open(newline="") as file, table.open(newline="") as real:
        header = next(csv.reader(real, delimiter=";"))
        assert next(csv.reader(file)) == header
    _return_to_home(person, "the-steward")
    person.go(f"/datasets/{code}/domain/1/")
    rows = person.browser.find_elements(By.CSS_SELECTOR, "main tbody tr")
    learned = {row.text.split()[0] for row in rows if "bounds learned" in row.text}
    assert learned >= LEARNED


def _let_in(person: CountingPerson, installation: Installation) -> None:
    """The people sign in for the first time, which is not counted."""
    for role, once in make_people(installation, "steward", "custodian", "analyst").items():
        person.sign_in(f"the-{role}", once=once)
        person.sign_out()
    person.clicks.clear()


def _return_to_home(person: CountingPerson, name: str) -> None:
    """Somebody else sits down, signed in; this is not counted."""
    so_far = len(person.clicks)
    # Away from a page that asks for news each second: without a session there are none for it.
    person.go("/")
    person.sign_out()
    person.go("/")
    person.type("username", name)
    person.type("password", PASSWORD)
    person.press_submit()
    del person.clicks[so_far:]
