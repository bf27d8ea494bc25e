"""Whether it says that it lives, what it never says in a log, and what `manage.py check` says about an
installation."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from celery import Task
from celery.utils.threads import LocalStack
from django.core.checks import ERROR
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path
from pytest_django import Settings

from synthweb import checks, health
from synthweb.celery import begin_to_log
from synthweb.lib import env, log_context, request_ids
from synthweb.lib.logs import Json, Plain
from tests.web import doorbell
from tests.web.html import html_of

Browser = Callable[..., Client]
CANARY = "canary-7f3a"


def test_the_process_says_that_it_lives(browser: Browser) -> None:
    answer = browser().get("/livez")
    assert answer.json() == {"alive": True}
    assert "no-store" in answer["Cache-Control"]


def test_without_a_broker_it_is_not_ready(browser: Browser) -> None:
    answer = browser().get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"database": True, "broker": False}


@pytest.mark.services
def test_with_database_and_broker_it_is_ready(browser: Browser, redis_url: str) -> None:
    with doorbell.queue_at(redis_url):
        answer = browser().get("/readyz")
    assert answer.json() == {"database": True, "broker": True}
    assert answer.status_code == 200


def test_without_a_database_it_is_not_ready(db: None) -> None:
    def refuse(*_: object) -> None:
        raise DatabaseError(CANARY)

    with connection.execute_wrapper(refuse):
        answer = health.readyz(_get())
    assert answer.status_code == 503
    assert CANARY not in html_of(answer)


def _get() -> HttpRequest:
    request = HttpRequest()
    request.method = "GET"
    return request


# --- logs ---------------------------------------------------------------------------------------------------
@pytest.fixture
def lines() -> Iterator[list[str]]:
    """What the log of the application says, as its own formatter writes it."""
    written: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record))

    handler = Keep()
    handler.setFormatter(Plain())
    logging.getLogger().addHandler(handler)
    yield written
    logging.getLogger().removeHandler(handler)


def fails(_request: HttpRequest) -> HttpResponse:
    value = CANARY
    raise ValueError(f"the cell holds {value}")


urlpatterns = [path("fails/", fails)]


@override_settings(ROOT_URLCONF=__name__)
def test_an_error_is_logged_with_its_place_and_kind_but_never_with_its_words(
    db: None, lines: list[str]
) -> None:
    answer = Client(raise_request_exception=False).get("/fails/")
    assert answer.status_code == 500
    assert CANARY not in html_of(answer)
    text = "\n".join(lines)
    assert "builtins.ValueError" in text
    assert "in fails" in text
    assert CANARY not in text


def test_a_message_cannot_fake_a_second_record(lines: list[str]) -> None:
    logging.getLogger("tests").warning("one\nWARNING tests: %s", "two\r\nthree")
    [line] = lines
    assert " WARNING tests: one\\nWARNING tests: two\\r\\nthree process=" in line
    assert "\n" not in line


@pytest.fixture
def json_lines() -> Iterator[list[dict[str, object]]]:
    """What the log says as JSON."""
    written: list[dict[str, object]] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            line = self.format(record)
            assert "\n" not in line
            written.append(json.loads(line))

    handler = Keep()
    handler.setFormatter(Json())
    logging.getLogger().addHandler(handler)
    yield written
    logging.getLogger().removeHandler(handler)


@override_settings(ROOT_URLCONF=__name__)
def test_json_lines_of_a_request_have_its_id_and_no_words_of_an_error(
    db: None, json_lines: list[dict[str, object]]
) -> None:
    answer = Client(raise_request_exception=False).get(f"/fails/?q={CANARY}")
    name = answer.headers[request_ids.HEADER]
    assert len(name) == 16
    assert {line["request"] for line in json_lines} == {name}
    (failed,) = [line for line in json_lines if "error" in line]
    assert "builtins.ValueError" in str(failed["error"])
    last = json_lines[-1]
    assert [last[key] for key in ("method", "route", "status")] == ["GET", "fails/", 500]
    assert CANARY not in json.dumps(json_lines)


@pytest.mark.parametrize(
    ("proxies", "given", "is_repeated"),
    [(1, "0af7651916cd43dd", True), (0, "0af7651916cd43dd", False), (1, "a\tb=c{d}e", False)],
)
def test_an_id_of_a_declared_proxy_is_used_if_it_has_the_form_of_one(
    settings: Settings, proxies: int, given: str, is_repeated: bool
) -> None:
    settings.PROXIES = proxies
    answer = Client().get("/livez", headers={request_ids.HEADER: given})
    assert (answer.headers[request_ids.HEADER] == given) == is_repeated


def test_a_message_to_a_worker_carries_the_request_and_the_task_logs_it(
    json_lines: list[dict[str, object]],
) -> None:
    class Request:
        headers: ClassVar[dict[str, str]] = {"request_id": "0af7651916cd43dd"}

    task = Task()
    task.name, task.request_stack = "runs.synthesize", LocalStack()
    task.request_stack.push(Request())
    begin_to_log(task=task, args=["abcd"])
    logging.getLogger("tests").warning("at it")
    log_context.begin({})
    assert json_lines[0]["message"] == "at it"
    assert [json_lines[0][key] for key in ("task", "code", "request")] == [
        "runs.synthesize",
        "abcd",
        "0af7651916cd43dd",
    ]


def test_another_form_of_the_log_does_not_start() -> None:
    with pytest.raises(ImproperlyConfigured, match="plain, json"):
        env.log_format("xml")


# --- checks -------------------------------------------------------------------------------------------------
def _said() -> list[str]:
    return [str(message.id) for message in checks.check_installation(None)]


def test_an_installation_for_one_machine_is_in_order(settings: Settings) -> None:
    assert _said() == []


def test_serving_others_without_https_or_with_demo_users_is_said(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["synthweb.example.org", "localhost"]
    settings.HTTPS, settings.DEMO_USERS = False, True
    assert _said() == ["synthweb.W001", "synthweb.W002"]
    settings.HTTPS, settings.DEMO_USERS = True, False
    assert _said() == []


@pytest.mark.parametrize(
    ("name", "repair"),
    [
        ("SYNTHWEB_IDLE_MINUTE", "SYNTHWEB_IDLE_MINUTES"),
        ("SYNTHWEB_MEMORY_WEBS", "SYNTHWEB_MEMORY_WEB"),
        ("SYNTHWEB_NOTHING_OF_THE_KIND", "docs/settings.md"),
    ],
)
def test_a_name_that_is_no_setting_is_an_error_that_says_which_one_is_near(
    name: str, repair: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "x")
    [error] = checks.check_installation(None)
    assert (error.id, error.level) == ("synthweb.E004", ERROR)
    assert name in error.msg
    assert repair in str(error.hint)
    # The value may be a secret.
    assert "x" not in error.msg.replace(name, "").split()


def test_every_name_of_the_page_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    for name in re.findall(r"^\| `(SYNTHWEB_\w+)`", page, flags=re.MULTILINE):
        monkeypatch.setenv(name, "x")
    assert env.unknown_names() == []


def test_an_empty_value_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    read = env.Environment()
    monkeypatch.setenv("SYNTHWEB_IDLE_MINUTES", "")
    assert read.int("SYNTHWEB_IDLE_MINUTES", default=60) == 60
    assert read.list("SYNTHWEB_IDLE_MINUTES", default=["a"]) == ["a"]
    assert read.str("SYNTHWEB_IDLE_MINUTES", default="b") == "b"
    monkeypatch.setenv("SYNTHWEB_IDLE_MINUTES", "0")
    assert read.int("SYNTHWEB_IDLE_MINUTES", default=60) == 0


def test_forms_may_come_from_the_address_that_links_begin_with() -> None:
    assert env.origin_of("https://synthweb.example.org/") == ["https://synthweb.example.org"]
    assert env.origin_of("https://synthweb.example.org:8443") == [
        "https://synthweb.example.org:8443"
    ]
    for local in ("http://localhost:8000", "http://127.0.0.1:8000/", "http://[::1]:8000"):
        assert env.origin_of(local) == []


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("", ""),
        ("tls://scheduler:8786", "dask"),
        ("tcp://127.0.0.1:8786", "dask"),
        ("spark://master:7077", "spark"),
        ("k8s://https://cluster:6443", "spark"),
        ("yarn", "spark"),
        ("local-cluster[2,1,1024]", "spark"),
    ],
)
def test_the_address_of_a_cluster_says_what_counts_there(address: str, place: str) -> None:
    assert env.counting_place(address) == place


def test_a_key_that_others_can_read_is_an_error(settings: Settings, tmp_path: Path) -> None:
    key = tmp_path / "vault.key"
    key.write_text("secret")
    settings.VAULT_PRIVATE_KEY_FILE = key
    key.chmod(0o640)
    assert _said() == ["synthweb.E001"]
    key.chmod(0o600)
    assert _said() == []


def test_failure_points_are_said(settings: Settings) -> None:
    settings.DEBUG_FAILPOINTS = "/somewhere"
    assert _said() == ["synthweb.W003"]
