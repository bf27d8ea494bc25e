"""Uploads that resume, in a real browser: the connection is lost and comes back, the page is loaded again,
somebody pauses."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings as configured
from django.urls import reverse
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By

from synthweb.datasets import partial_tables, vault
from synthweb.datasets.models import Dataset, PartialUpload
from tests.cast import Cast
from tests.e2e.gate import Gate
from tests.e2e.keyboard import Keyboard
from tests.e2e.patience import until

pytestmark = [
    pytest.mark.services,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]
_NUMBERS = random.Random(0)
TABLE = b"name,number\n" + b"".join(
    b"Ann,%d\n" % _NUMBERS.getrandbits(60) for _ in range(900_000)
)
HELD = partial_tables.PIECE + 1_000_000
"""Bytes of a file that pass the gate before it is held: a piece, and something of the next one."""


@pytest.fixture
def gate(live_server: LiveServer) -> Iterator[Gate]:
    with Gate(urlsplit(live_server.url)) as opened:
        yield opened


@pytest.fixture
def keyboard(
    chrome: webdriver.Chrome, gate: Gate, cast: Cast, settings: Settings, tmp_path: Path
) -> Keyboard:
    settings.VAULT_DIR = tmp_path / "vault"
    here = Keyboard(chrome)
    here.is_signed_in(cast.steward, address=gate.url)
    return here


def begun(keyboard: Keyboard, gate: Gate, file: Path) -> None:
    """A file is on its way, some of it has come, and the rest is held up."""
    keyboard.browser.get(gate.url + reverse("pages:upload"))
    keyboard.choose(file)
    gate.hold(after=HELD)
    keyboard.press("Upload and encrypt")
    until(keyboard.browser, lambda _: offset() >= partial_tables.PIECE)


def offset() -> int:
    upload = PartialUpload.objects.first()
    return partial_tables.offset_of(upload.code) if upload else 0


def assert_whole(*, uploads: int = 1) -> None:
    dataset = Dataset.objects.get()
    assert dataset.name == "people"
    with vault.open_table(dataset.vault_name) as path:
        assert path.read_bytes() == TABLE
    assert PartialUpload.objects.count() == uploads
    assert not list((Path(configured.VAULT_DIR) / "uploads").glob("*"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_bytes(TABLE)
    return path


def test_an_upload_goes_on_when_the_connection_is_back(
    keyboard: Keyboard, gate: Gate, file: Path
) -> None:
    begun(keyboard, gate, file)
    gate.cut()
    # On a busy machine the tries may be over before somebody looks.
    seen = until(
        keyboard.browser,
        lambda page: [
            words
            for words in ("The connection is lost. Trying again", "The upload was interrupted.")
            if words in page.find_element(By.TAG_NAME, "main").text
        ],
    )
    assert not Dataset.objects.exists()
    gate.open()
    if "The upload was interrupted." in seen:
        keyboard.press("Continue")
    keyboard.reads("A worker is reading your table")
    assert_whole()


def test_after_a_reload_the_same_file_goes_on(
    keyboard: Keyboard, gate: Gate, file: Path
) -> None:
    begun(keyboard, gate, file)
    gate.cut()
    gate.open()
    keyboard.browser.get(gate.url + reverse("pages:upload"))
    kept = keyboard.browser.execute_script("return JSON.stringify(window.localStorage)")
    assert "people" not in kept
    before = offset()
    gate.hold(after=HELD)
    keyboard.choose(file)
    keyboard.press("Upload and encrypt")
    keyboard.reads("Part of this file came in before")
    assert offset() >= before
    gate.open()
    keyboard.reads("A worker is reading your table")
    assert_whole()
    assert keyboard.browser.execute_script("return window.localStorage.length") == 0


def test_an_upload_is_paused_and_continued(keyboard: Keyboard, gate: Gate, file: Path) -> None:
    begun(keyboard, gate, file)
    keyboard.press("Pause")
    keyboard.reads("Paused.")
    gate.open()
    assert not Dataset.objects.exists()
    keyboard.press("Continue")
    keyboard.reads("A worker is reading your table")
    assert_whole()


def test_what_is_refused_is_named_and_another_file_is_taken(
    keyboard: Keyboard, gate: Gate, file: Path, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.csv"
    wrong.write_bytes(b"%PDF-1.7\n" + TABLE)
    keyboard.browser.get(gate.url + reverse("pages:upload"))
    keyboard.choose(wrong)
    keyboard.press("Upload and encrypt")
    until(
        keyboard.browser,
        lambda page: "PDF" in page.find_element(By.ID, "upload-problem").text,
    )
    keyboard.choose(file)
    keyboard.press("Upload and encrypt")
    keyboard.reads("A worker is reading your table")
    assert_whole(uploads=2)
