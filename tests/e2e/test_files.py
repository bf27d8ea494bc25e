"""The life of a table's file by keyboard alone, in a real browser: upload, correct its form, replace it by
Parquet, delete it. The worker is called between the presses, as the queue would."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

from synthweb.audit.models import AuditEntry
from synthweb.datasets.models import Dataset
from synthweb.runs import worker
from synthweb.runs.models import TableJob
from tests.cast import Cast
from tests.e2e.keyboard import Keyboard

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def keyboard(chrome: webdriver.Chrome, live_server: LiveServer, cast: Cast) -> Keyboard:
    found = Keyboard(chrome)
    found.is_signed_in(cast.steward, address=live_server.url)
    return found


def work() -> None:
    for job in TableJob.objects.filter(state="waiting"):
        worker.table_job(code=job.code)


def test_a_file_is_uploaded_corrected_replaced_and_deleted_by_keyboard_alone(
    keyboard: Keyboard, live_server: LiveServer, tmp_path: Path
) -> None:
    western, better = tmp_path / "western.csv", tmp_path / "better.parquet"
    western.write_bytes("name;Größe\nÄsop;1,5\nZoë;2,5\n".encode("cp1252"))
    pq.write_table(pa.table({"name": ["Äsop"], "Größe": [1.5]}), better)
    keyboard.browser.get(live_server.url + reverse("pages:upload"))
    keyboard.field("name").send_keys("Fables")
    keyboard.choose(western)
    keyboard.press("Upload and encrypt")
    keyboard.reads("A worker is reading your table")
    work()
    keyboard.reads("How should this file be read?")  # no byte of it says which encoding it has
    keyboard.press("Read the file this way")
    keyboard.reads("A worker is reading your table")
    work()
    keyboard.reads("Windows-1252 (Western European), semicolon between cells")
    keyboard.press("How the file was read")
    keyboard.field("header").send_keys(Keys.ARROW_DOWN)
    keyboard.press("Read the file this way")
    keyboard.reads("A worker is reading your table")
    work()
    keyboard.reads("no header line")
    dataset = Dataset.objects.get()
    assert (dataset.dialect["header"], dataset.dialect["columns"]) == (False, 2)

    keyboard.browser.get(live_server.url + reverse("pages:dataset", args=[dataset.code]))
    keyboard.press("More")
    keyboard.press("Settings")
    keyboard.press("Upload a corrected file")
    keyboard.choose(better)
    keyboard.press("Replace the file")
    keyboard.reads("A worker is reading your table")
    work()
    keyboard.reads("Your table is ready")
    dataset.refresh_from_db()
    assert (dataset.table_number, dataset.file_kind) == (2, "parquet")

    keyboard.browser.get(live_server.url + reverse("pages:settings", args=[dataset.code]))
    keyboard.press("Delete this dataset")
    keyboard.field("name").send_keys("Fable", Keys.ENTER)
    keyboard.reads("This is another name")
    keyboard.field("name").send_keys(Keys.END, "s", Keys.ENTER)  # what was typed is still there
    keyboard.reads("Fables is deleted")
    dataset.refresh_from_db()
    assert dataset.status == "deleted"
    assert AuditEntry.objects.filter(
        object_code=dataset.code, action="dataset.deleted"
    ).exists()
    assert not keyboard.complaints()
