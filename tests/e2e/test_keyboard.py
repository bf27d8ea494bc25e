"""From signing in to the comparison with real data, by a steward who has no mouse."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

from synthweb.ledger import services as ledger
from synthweb.ledger.models import BudgetRequest
from synthweb.releases.models import Release
from synthweb.runs import worker
from synthweb.runs.models import SynthesisRun, TableJob
from tests.cast import PASSWORD, Cast
from tests.e2e.keyboard import Keyboard
from tests.web import scene

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]
MOST_TABS = 150
"""Presses of Tab from the sign-in to the receipt of a compared release."""


def read_tables() -> None:
    for job in TableJob.objects.filter(state="waiting"):
        worker.table_job(code=job.code)


def test_upload_to_comparison_by_keyboard_alone(
    chrome: webdriver.Chrome, live_server: LiveServer, cast: Cast, tmp_path: Path
) -> None:
    table = tmp_path / "commutes.csv"
    table.write_text(scene.TABLE)
    keyboard = Keyboard(chrome)
    chrome.set_window_size(1440, 900)
    chrome.get(f"{live_server.url}/livez")
    chrome.delete_all_cookies()
    chrome.get(live_server.url)
    keyboard.field("username").send_keys("steward")
    keyboard.field("password").send_keys(PASSWORD, Keys.ENTER)

    keyboard.press("Datasets")
    keyboard.press("Upload a table")
    keyboard.field("name").send_keys("Commutes")
    keyboard.choose(table)
    keyboard.press("Upload and encrypt")
    keyboard.reads("A worker is reading your table")
    read_tables()
    keyboard.reads("Your table is ready")

    keyboard.press("Describe")
    keyboard.reads("3 of 3 columns still open")
    keyboard.press("Several columns at once")
    keyboard.field("because").send_keys("The codebook.")
    keyboard.press("Confirm all open columns")
    keyboard.press("Confirm these columns only")
    keyboard.reads("All 3 columns confirmed")
    keyboard.press("Confirm this description")
    keyboard.press("Ask for")
    keyboard.field("reason").send_keys("To publish a synthetic table.")
    keyboard.press("Advanced")
    keyboard.field("epsilon").send_keys("2")
    keyboard.press("Send the request")
    keyboard.reads("Waiting for a custodian")
    ledger.grant(
        custodian=cast.custodian, request=BudgetRequest.objects.get(), reason="Agreed."
    )

    keyboard.press("Datasets")
    keyboard.press("Commutes")
    keyboard.press("Make a release")
    keyboard.field("records").send_keys("300")
    field = keyboard.field("epsilon")
    field.clear()
    field.send_keys("0.5")
    keyboard.reads("Spend ε 0.5 and run")
    keyboard.press("Spend ε 0.5 and run")
    keyboard.reads("Waiting for a worker")
    worker.synthesize(code=SynthesisRun.objects.get().code)
    keyboard.reads("Finished")
    keyboard.press("Open the release")
    keyboard.press("Quality")
    keyboard.press("Compare")
    keyboard.press("Compare with real data")
    keyboard.reads("A worker is reading the real table")
    read_tables()
    keyboard.reads("that choice uses the data without any budget")
    keyboard.press("Receipt")
    keyboard.press("Verify here")
    keyboard.reads("recomputed")
    assert Release.objects.get().epsilon == 500_000_000
    assert keyboard.tabs <= MOST_TABS
    assert not keyboard.complaints()
