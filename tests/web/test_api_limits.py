"""How often somebody may ask: counted for each token, person and address, by all processes together."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from pytest_django import Settings

from synthweb.api import throttling
from synthweb.ledger.models import LedgerEntry
from synthweb.lib import counting
from synthweb.lib.rates import PerMinute
from tests.cast import Cast
from tests.web import scene
from tests.web.rest import Caller, assert_problem

NONE = dict.fromkeys(("token", "user", "write", "file", "stranger"), 0)
MEMORY = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "shared",
    },
    "process": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "process",
    },
}
UNREACHABLE = {
    "BACKEND": "django.core.cache.backends.redis.RedisCache",
    "LOCATION": "unix:///nowhere/redis.sock",
}


@pytest.fixture(autouse=True)
def _counters(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Empty counters, and a minute that does not end in the middle of a test."""
    settings.CACHES = MEMORY
    settings.REST_PER_MINUTE = NONE
    monkeypatch.setattr(throttling, "rates", PerMinute(prefix="rest"))
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    yield
    settings.CACHES = MEMORY
    for alias in MEMORY:
        caches[alias].clear()


def limit(settings: Settings, **limits: int) -> None:
    settings.REST_PER_MINUTE = {**NONE, **limits}


def statuses(client: Client, number: int, address: str = "/api/v1/me/") -> list[int]:
    return [client.get(address).status_code for _ in range(number)]


def test_a_token_that_asks_too_often_waits(cast: Cast, settings: Settings) -> None:
    limit(settings, token=3)
    one, other = Caller(cast.steward, "read"), Caller(cast.steward, "read")
    assert statuses(one.client, 4) == [200, 200, 200, 429]
    refused = one.get("/me/")
    assert_problem(refused, status=429)
    assert refused.json()["type"] == "urn:synthweb:throttled"
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert refused["Retry-After"] in refused.json()["detail"]
    assert statuses(other.client, 1) == [200]


def test_a_person_is_counted_over_all_their_tokens_and_browsers(
    cast: Cast, settings: Settings, browser: Any
) -> None:
    limit(settings, user=3)
    assert statuses(Caller(cast.steward, "read").client, 1) == [200]
    assert statuses(Caller(cast.steward, "read").client, 1) == [200]
    assert statuses(browser(cast.steward), 2) == [200, 429]
    assert statuses(Caller(cast.analyst, "read").client, 1) == [200]


def test_after_the_wait_it_goes_on(
    cast: Cast, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(settings, token=1)
    calls = Caller(cast.steward, "read")
    assert statuses(calls.client, 2) == [200, 429]
    wait = int(calls.get("/me/")["Retry-After"])
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + wait - 1.001)
    assert statuses(calls.client, 1) == [429]
    monkeypatch.setattr(time, "time", lambda: now + wait)
    assert statuses(calls.client, 1) == [200]


def test_writing_has_a_limit_of_its_own_and_what_is_over_it_spends_nothing(
    cast: Cast, settings: Settings
) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    limit(settings, write=1)
    calls = Caller(cast.steward, "read", "spend")
    spec = {
        "dataset": played.dataset.code,
        "mechanism": "independent",
        "epsilon": "0.1",
        "delta": "1e-9",
    }
    assert calls.send("/runs/", spec).status_code == 202
    before = LedgerEntry.objects.count()
    assert_problem(calls.send("/runs/", spec), status=429)
    assert LedgerEntry.objects.count() == before
    assert statuses(calls.client, 3) == [200] * 3


def test_drawing_tables_has_a_limit_of_its_own(cast: Cast, settings: Settings) -> None:
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    limit(settings, file=2)
    calls = Caller(played.reader, "read")
    address = f"/api/v1/samples/{played.sample.code}/table."
    assert statuses(calls.client, 1, f"{address}csv") + statuses(
        calls.client, 2, f"{address}parquet"
    ) == [
        200,
        200,
        429,
    ]
    assert statuses(calls.client, 3) == [200] * 3


def test_who_shows_no_usable_token_is_counted_by_address_and_stops_nobody_else(
    cast: Cast, settings: Settings, client: Client
) -> None:
    limit(settings, stranger=2)
    guesses = [
        client.get("/api/v1/me/", headers={"Authorization": f"Bearer synthweb_{n}"})
        for n in range(2)
    ]
    assert [guess.status_code for guess in guesses] == [401, 401]
    assert_problem(client.get("/api/v1/me/"), status=429)
    assert client.get("/api/v1/me/", REMOTE_ADDR="192.0.2.7").status_code == 401
    assert statuses(Caller(cast.steward, "read").client, 3) == [200] * 3


def test_an_address_is_what_our_own_proxies_say_it_is(
    settings: Settings, client: Client, db: None
) -> None:
    limit(settings, stranger=1)
    settings.PROXIES = 1

    def asked(forwarded: str) -> int:
        return client.get("/api/v1/me/", headers={"X-Forwarded-For": forwarded}).status_code

    assert [asked("192.0.2.1"), asked("192.0.2.2"), asked("spoofed, 192.0.2.1")] == [
        401,
        401,
        429,
    ]


def test_without_the_shared_cache_each_process_counts_for_itself(
    cast: Cast,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.CACHES = {**MEMORY, "default": UNREACHABLE}
    monkeypatch.setattr(counting, "PAUSE", 3600)  # however long the requests take
    limit(settings, token=2)
    assert statuses(Caller(cast.steward, "read").client, 3) == [200, 200, 429]
    assert caplog.text.count("cannot be reached") == 1, (
        "it is said once, and not asked again at every request"
    )


def test_no_limit_is_no_limit(cast: Cast) -> None:
    assert statuses(Caller(cast.steward, "read").client, 5) == [200] * 5


_COUNTER = """
import sys, django
from django.conf import settings
cache = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": sys.argv[1]}
settings.configure(CACHES={"default": cache})
django.setup()
from django.core.cache import caches
from synthweb.lib import counting
print(sum(counting.raised("default", "rest:token:x:1", seconds=3600) <= 50 for _ in range(40)))
"""


@pytest.mark.services
@pytest.mark.slow
def test_processes_that_share_a_redis_count_together(redis_url: str) -> None:
    location = redis_url.replace("redis+socket://", "unix://")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _COUNTER, location], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    passed = [int(process.communicate(timeout=300)[0]) for process in processes]
    assert sum(passed) == 50, passed
