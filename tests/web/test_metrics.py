"""The numbers for Prometheus: who may read them, what they say, and that nothing of the data is among them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from django.core.cache import caches
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from synthweb.runs import reconcile
from tests.cast import Cast
from tests.web import scene

pytestmark = pytest.mark.django_db
TOKEN = "t" * 32
LABELS = {"state", "task", "queue", "folder"}
OF_PLATFORM = {"version", "implementation", "major", "minor", "patchlevel"}


def read(token: str = TOKEN) -> dict[tuple[str, str], float]:
    """Each number by its name and the value of its label."""
    answer = Client().get("/metrics", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    found = {}
    for family in text_string_to_metric_families(answer.content.decode()):
        for sample in family.samples:
            if not set(sample.labels) <= OF_PLATFORM or not sample.labels:
                assert set(sample.labels) <= LABELS
                found[sample.name, "".join(sample.labels.values())] = sample.value
    return found


@pytest.fixture
def token(settings: Settings) -> str:
    settings.METRICS_TOKEN = TOKEN
    return TOKEN


@pytest.mark.parametrize(
    "shown", ["", "Bearer ", "Bearer wrong", TOKEN, f"bearer {TOKEN}", "Bearer \u00fc"]
)
def test_without_the_token_there_is_no_such_address(
    settings: Settings, browser: object, cast: Cast, shown: str
) -> None:
    for wanted in ("", TOKEN):
        settings.METRICS_TOKEN = wanted
        client = Client()
        client.force_login(cast.custodian)
        assert client.get("/metrics", headers={"Authorization": shown}).status_code == 404


def test_they_say_what_waits_and_what_is_done(
    token: str, cast: Cast, settings: Settings
) -> None:
    run = scene.submit(steward=cast.steward, dataset=scene.funded(cast))
    found = read()
    assert found["synthweb_runs", "held"] == 1
    assert found["synthweb_runs", "finished"] == 0
    assert found["synthweb_work_waiting", "runs.synthesize"] == 1
    assert found["synthweb_work_held", "runs.synthesize"] == 0
    assert 0 <= found["synthweb_work_oldest_seconds", "runs.synthesize"] < 3600
    assert found["synthweb_messages_unsent", "confidential"] >= 1
    assert found["synthweb_free_bytes", "vault"] > 0
    assert found["process_resident_memory_bytes", ""] > 0
    text = (
        Client().get("/metrics", headers={"Authorization": f"Bearer {token}"}).content.decode()
    )
    for name in (run.code, run.dataset.name, cast.steward.username, cast.organisation.name):
        assert name not in text


def test_a_folder_that_was_not_made_yet_is_on_the_disk_of_its_parent(
    token: str, settings: Settings, tmp_path: Path
) -> None:
    settings.SPOOL_DIR = tmp_path / "not" / "there"
    assert read()["synthweb_free_bytes", "spool"] > 0


def test_the_last_pass_of_the_reconciler_is_told(
    token: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The shared cache is the broker's Redis, which is not there in most tests.
    shared = {"default": caches["process"]}
    monkeypatch.setattr("synthweb.runs.reconcile.caches", shared)
    monkeypatch.setattr("synthweb.metrics.caches", shared)
    shared["default"].delete(reconcile.PASSED_AT)
    assert ("synthweb_reconciler_seconds", "") not in read()
    reconcile.note_pass()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 90)
    assert 80 <= read()["synthweb_reconciler_seconds", ""] <= 120
    shared["default"].delete(reconcile.PASSED_AT)


def test_without_a_cache_a_pass_is_not_told_and_nothing_fails(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Away:
        def get(self, *_: object, **__: object) -> None:
            raise ConnectionError

        set = get

    class Caches:
        def __getitem__(self, _name: str) -> Away:
            return Away()

    monkeypatch.setattr("synthweb.runs.reconcile.caches", Caches())
    monkeypatch.setattr("synthweb.metrics.caches", Caches())
    reconcile.note_pass()
    assert ("synthweb_reconciler_seconds", "") not in read()
