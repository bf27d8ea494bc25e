"""The numbers for Prometheus: who may read them, what they say, and that nothing of the data is among
them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pyrage
import pytest
from celery import signals
from django.core.cache import caches
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from synthweb.accounts import throttle
from synthweb.audit.models import ChainHead
from synthweb.celery import tell_room
from synthweb.lib import disks, numbers
from synthweb.runs import reconcile
from tests.cast import Cast
from tests.web import scene, served

pytestmark = pytest.mark.django_db
TOKEN = "t" * 32
LABELS = {"state", "task", "queue", "folder", "status", "le", "why"}
PLATFORM_LABELS = {"version", "implementation", "major", "minor", "patchlevel"}


def read(token: str = TOKEN) -> dict[tuple[str, str], float]:
    """Each number by its name and the value of its label."""
    answer = Client().get("/metrics", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    return _numbers(answer.content.decode())


def _numbers(text: str) -> dict[tuple[str, str], float]:
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if not set(sample.labels) <= PLATFORM_LABELS or not sample.labels:
                assert set(sample.labels) <= LABELS
                # In the order of LABELS' use: what it is of before the bound of a bucket.
                values = [value for name, value in sample.labels.items() if name != "le"]
                found[sample.name, "".join([*values, sample.labels.get("le", "")])] = (
                    sample.value
                )
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


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The shared cache is the broker's Redis, which is not there in most tests: here it is one of this
    process."""
    monkeypatch.setattr("synthweb.lib.occurrences.caches", {"default": caches["process"]})
    caches["process"].clear()
    yield
    caches["process"].clear()


def _later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + seconds)


def test_the_last_pass_of_the_reconciler_is_told(
    token: str, shared: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ("synthweb_reconciler_seconds", "") not in read()
    reconcile.note_pass()
    _later(monkeypatch, 90)
    assert 80 <= read()["synthweb_reconciler_seconds", ""] <= 400


@pytest.mark.django_db(transaction=True)  # SQLite copies nothing while somebody writes
def test_the_last_backup_and_the_room_that_it_left_are_told(
    token: str, shared: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ("synthweb_backup_seconds", "") not in read()
    recipient = str(pyrage.x25519.Identity.generate().to_public())
    with pytest.raises(CommandError):
        call_command("backup", tmp_path / "not" / "there", to=recipient)
    assert ("synthweb_backup_seconds", "") not in read()
    call_command("backup", tmp_path, to=recipient)
    _later(monkeypatch, 90)
    found = read()
    assert 80 <= found["synthweb_backup_seconds", ""] <= 400
    assert found["synthweb_free_bytes", "backups"] > 0


def test_the_last_verification_that_found_all_intact_is_told(
    token: str, shared: None, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = ChainHead.objects.get()
    ChainHead.objects.update(hash="f" * 64)
    with pytest.raises(CommandError, match="broken"):
        call_command("verify_ledger")
    assert ("synthweb_verification_seconds", "") not in read()
    head.save()
    call_command("verify_ledger")
    _later(monkeypatch, 90)
    assert 80 <= read()["synthweb_verification_seconds", ""] <= 400


def test_the_room_of_the_confidential_worker_is_told_once_a_minute(
    token: str, shared: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    heartbeat = disks.RoomOfWorker()
    heartbeat(sender=object())
    found = read()
    for folder in ("vault", "previews", "spool", "tmp", "artefacts", "scratch"):
        assert found["synthweb_free_bytes", folder] > 0
    if connection.vendor == "sqlite":
        assert found["synthweb_free_bytes", "database"] > 0
    else:
        assert found["synthweb_database_bytes", ""] > 0
    caches["process"].clear()
    heartbeat(sender=object())
    assert ("synthweb_free_bytes", "artefacts") not in read()


def test_the_confidential_worker_alone_listens_to_its_heartbeat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for queue, listens in (
        ("default", False),
        ("notifications", False),
        ("confidential", True),
    ):
        monkeypatch.setattr(signals.heartbeat_sent, "receivers", [])
        queues = SimpleNamespace(consume_from={queue: None})
        tell_room(
            sender=SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=queues)))
        )
        assert bool(signals.heartbeat_sent.receivers) == listens


def test_without_a_cache_nothing_is_told_and_nothing_fails(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Away:
        def get(self, *_: object, **__: object) -> None:
            raise ConnectionError

        set = get

    monkeypatch.setattr("synthweb.lib.occurrences.caches", {"default": Away()})
    reconcile.note_pass()
    assert ("synthweb_reconciler_seconds", "") not in read()


def test_answers_are_counted_by_class_of_status_and_time(token: str, cast: Cast) -> None:
    before = read()
    for address in ("/account/login/", "/account/login/", "/account/", "/nowhere/", "/livez"):
        Client().get(address)
    after = read()
    name = "synthweb_answer_seconds_count"
    grown = {status: after[name, status] - before[name, status] for status in numbers.CLASSES}
    assert grown == {"1xx": 0, "2xx": 2, "3xx": 1, "4xx": 1, "5xx": 0}
    buckets = [
        value for (each, _), value in after.items() if each == "synthweb_answer_seconds_bucket"
    ]
    assert len(buckets) == 10 * len(numbers.CLASSES)
    assert after["synthweb_answer_seconds_bucket", "2xx+Inf"] == after[name, "2xx"]


def test_failed_sign_ins_and_pauses_are_counted(token: str, cast: Cast) -> None:
    before = read()
    for _ in range(throttle.MAX_ATTEMPTS_HERE + 3):
        Client().post("/account/login/", {"username": "steward", "password": "wrong"})
    after = read()
    name = "synthweb_sign_ins_refused_total"
    grown = [after[name, why] - before[name, why] for why in (numbers.FAILED, numbers.PAUSED)]
    assert grown == [throttle.MAX_ATTEMPTS_HERE, 1]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_processes_of_the_server_add_up(cast: Cast, tmp_path: Path) -> None:
    name = connection.settings_dict["NAME"]
    address = (
        f"sqlite:///{name}"
        if connection.vendor == "sqlite"
        else os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"
    )
    environment = {
        "DATABASE_URL": address,
        "SYNTHWEB_METRICS_TOKEN": TOKEN,
        "TMPDIR": str(tmp_path),
    }

    def ask(path: str) -> str:
        head = (
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nConnection: "
            "close\r\n\r\n"
        )
        status, _headers, body = served.parts(served.ask(port, head.encode()))
        assert status == 200
        return body.decode()

    with served.running(
        tmp_path, app="synthweb.wsgi:application", workers=3, environment=environment
    ) as port:
        for _ in range(30):
            ask("/account/login/")
        shown = [_numbers(ask("/metrics")) for _ in range(6)]
        assert list(tmp_path.glob("synthweb-numbers-*"))
    assert [each["synthweb_answer_seconds_count", "2xx"] for each in shown] == [30] * 6
    assert not list(tmp_path.glob("synthweb-numbers-*"))
