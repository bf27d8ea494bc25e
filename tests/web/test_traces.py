"""Traces: whatever a run meets, a collector gets routes, codes, names of ours and times, and no trace ever
disturbs a run."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from synthweb.celery import app
from synthweb.lib import env, tracing
from synthweb.runs import queue
from synthweb.runs.models import SynthesisRun
from tests import services
from tests.cast import Cast
from tests.collector import Collector, collecting
from tests.web import scene
from tests.web.rest import Caller

ROOT = Path(__file__).parents[2]
WORD = f"cnry{secrets.token_hex(8)}"
NUMBER = str(10**9 + secrets.randbelow(10**9))
COLUMN = f"column{secrets.token_hex(8)}"
TABLE = (
    scene.TABLE.replace("region", COLUMN)
    + f"{WORD},41,yes\nnorth,{NUMBER},no\nsouth,3,{WORD}\n"
)
DOMAIN = json.loads(json.dumps(scene.DOMAIN).replace('"region"', f'"{COLUMN}"'))
ENDPOINT = "http://collector:4318/v1/traces"


@pytest.fixture
def collector(settings: Settings) -> Iterator[Collector]:
    """A collector to which this process sends its spans."""
    sender_of = tracing._sender_of
    with collecting() as made:
        settings.TRACES = made.address
        sender_of.cache_clear()
        yield made
        sender_of(os.getpid(), settings.TRACES).close()
        sender_of.cache_clear()


class Worker:
    """Takes each message as Celery does, with its headers, when a test asks for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        app.loader.import_default_modules()
        self.messages: list[tuple[str, str, dict[str, object]]] = []
        monkeypatch.setattr(app, "send_task", self._take)
        monkeypatch.setattr(queue, "_probe", lambda: None)

    def _take(
        self, task: str, *, args: list[str], headers: dict[str, object], **_: object
    ) -> None:
        self.messages.append((task, args[0], headers))

    def work(self, task: str) -> None:
        """All messages of one task."""
        mine = [one for one in self.messages if one[0] == task]
        self.messages = [one for one in self.messages if one[0] != task]
        assert mine
        for name, code, headers in mine:
            app.tasks[name].apply(args=[code], headers=headers, throw=True)


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Worker:
    return Worker(monkeypatch)


def released(cast: Cast, worker: Worker) -> str:
    """The main job by REST with markers everywhere; the code of the run."""
    steward = Caller(cast.steward, "read", "spend", "share")
    browser = Client()
    browser.force_login(cast.steward)
    file = SimpleUploadedFile(f"{WORD}.csv", TABLE.encode(), content_type="text/csv")
    uploaded = browser.post(
        "/datasets/upload/", {"name": WORD, "description": "", "table": file}
    )
    dataset = uploaded["Location"].strip("/").split("/")[1]
    worker.work(queue.TABLE_JOB)
    assert steward.send(f"/datasets/{dataset}/domain/", DOMAIN, method="put").status_code == 201
    wanted = {"dataset": dataset, "rule": "basic", "epsilon": "2", "delta": "1e-8"}
    asked = steward.send("/budget-requests/", {**wanted, "reason": WORD})
    Caller(cast.custodian, "read", "grant").send(
        f"/budget-requests/{asked.json()['code']}/grant/", {"reason": WORD}
    )
    run = {
        "dataset": dataset,
        "mechanism": "independent",
        "epsilon": 1,
        "delta": "1e-9",
        "records": 1_000,
    }
    made = steward.send("/runs/", {**run, "name": WORD})
    assert made.status_code == 202, made.content
    worker.work(queue.SYNTHESIZE)
    return str(made.json()["code"])


def flushed(collector: Collector) -> list[dict[str, Any]]:
    tracing.flush()
    return collector.spans()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("places")
def test_a_whole_run_is_one_trace_and_no_byte_of_it_is_of_the_table(
    cast: Cast, collector: Collector, worker: Worker, settings: Settings
) -> None:
    cast.steward.email = f"{WORD}@example.org"
    cast.steward.save()
    code = released(cast, worker)
    client = Client(raise_request_exception=False)
    client.force_login(cast.steward)
    client.get(f"/datasets/?q={WORD}", headers={"User-Agent": WORD, "X-Request-ID": WORD})
    client.get(f"/{WORD}/", headers={"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"})
    client.generic(WORD.upper(), "/datasets/")
    client.get("/livez")
    worker.messages.clear()
    spans = flushed(collector)

    exported = b"".join(collector.raw)
    for marker in (WORD, WORD.upper(), NUMBER, COLUMN, repr(float(NUMBER))):
        for coding in ("utf-8", "utf-16-le"):
            assert marker.encode(coding) not in exported
    for name in (cast.steward.username, cast.organisation.name, cast.organisation.code):
        assert name.encode() not in exported
    # Nothing but the attributes of the list, and no events, links or words of errors.
    assert {name for span in spans for name in span["attributes"]} <= set(tracing.FORMS)
    assert {span["others"] for span in spans} == {0}
    assert {span["words"] for span in spans} == {""}
    assert {tuple(resource) for resource in collector.resources()} == {("service.name",)}
    assert {moment % tracing.MILLISECOND for span in spans for moment in span["times"]} == {0}
    assert not [span for span in spans if span["trace"] == "a" * 32]
    assert [
        span["attributes"][tracing.METHOD] for span in spans if "_OTHER" in span["name"]
    ] == ["_OTHER"]

    (asked,) = [span for span in spans if span["name"] == "POST api/v1/runs/"]
    assert asked["attributes"][tracing.STATUS] == 202
    of_trace = [span for span in spans if span["trace"] == asked["trace"]]
    (task,) = [span for span in of_trace if span["name"] == queue.SYNTHESIZE]
    assert task["parent"] == asked["id"]
    assert task["attributes"] == {
        tracing.TASK: queue.SYNTHESIZE,
        tracing.CODE: code,
        tracing.MECHANISM: "independent",
        tracing.REQUEST: asked["attributes"][tracing.REQUEST],
    }
    stages = [span["name"] for span in of_trace if span["parent"] == task["id"]]
    assert stages == ["open", "charge", "read", "measure", "store", "fit", "publish"]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("places")
def test_a_run_that_breaks_on_a_cell_says_the_kind_and_nothing_of_the_cell(
    cast: Cast, collector: Collector, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_with_data(*_: object, **__: object) -> Any:
        raise ValueError(f"could not convert {WORD} of row {NUMBER}")

    monkeypatch.setattr("synth_engine.room.counts.contingency", break_with_data)
    code = released(cast, worker)
    assert SynthesisRun.objects.get(code=code).state == SynthesisRun.State.FAILED
    spans = flushed(collector)
    (task,) = [span for span in spans if span["name"] == queue.SYNTHESIZE]
    assert (task["status"], task["attributes"][tracing.ERROR]) == (2, "engine")
    assert WORD.encode() not in b"".join(collector.raw)
    assert NUMBER.encode() not in b"".join(collector.raw)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("fault", ["nobody listens", "it refuses", "it cannot even begin"])
def test_a_collector_that_is_away_disturbs_no_run(
    cast: Cast,
    collector: Collector,
    worker: Worker,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
) -> None:
    if fault == "nobody listens":
        settings.TRACES = f"http://127.0.0.1:{services.free_port()}/v1/traces"
    elif fault == "it refuses":
        collector.status = 400
    else:

        def no_thread(*_: object) -> Any:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(tracing, "_sender_of", no_thread)
    code = released(cast, worker)
    tracing.flush()
    assert SynthesisRun.objects.get(code=code).state == SynthesisRun.State.FINISHED


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("column", "age"),
        (tracing.CODE, WORD),
        (tracing.STAGE, "read 5"),
        (tracing.ERROR, "ValueError: 5"),
        (tracing.MECHANISM, "a@example.org"),
        (tracing.ROUTE, "datasets/?q=x y"),
        (tracing.STATUS, 5),
    ],
    # A random value has no place in a name that two processes compare.
    ids=["no-key", "code", "stage", "error", "mechanism", "route", "status"],
)
def test_what_is_on_no_list_or_has_no_form_is_left_out(
    collector: Collector, name: str, value: object
) -> None:
    tracing.begin("task")
    tracing.say({name: value})
    tracing.end()
    (span,) = flushed(collector)
    assert span["attributes"] == {}


def test_without_the_setting_nothing_is_begun_or_carried(settings: Settings) -> None:
    assert settings.TRACES == ""
    tracing.begin("task")
    assert tracing._current.get() is None
    assert tracing.carried() == ""


@pytest.mark.parametrize("carried", ["", "nonsense", f"00-{'a' * 32}-{'b' * 16}"])
def test_a_message_without_a_trace_begins_one(collector: Collector, carried: str) -> None:
    tracing.begin("task", carried=carried)
    tracing.end()
    (span,) = flushed(collector)
    assert span["parent"] == ""


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("collector:4318", "whole address"),
        ("grpc://collector:4317/v1/traces", "whole address"),
        ("http://collector:4318", "whole address"),
        ("http://ada:secret@collector:4318/v1/traces", "no password"),
    ],
)
def test_an_address_that_is_none_does_not_start(value: str, why: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=why) as refusal:
        env.otlp_endpoint(value)
    assert "secret" not in str(refusal.value)


def test_without_the_packages_it_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    assert env.otlp_endpoint(ENDPOINT) == ENDPOINT
    monkeypatch.setattr(env, "OTLP_PACKAGES", ("opentelemetry_of_nobody.sdk",))
    with pytest.raises(ImproperlyConfigured, match=r"deploy/traces\.txt"):
        env.otlp_endpoint(ENDPOINT)
    assert env.otlp_endpoint("") == ""


def test_the_extra_is_what_the_tests_ran_with() -> None:
    def pins(name: str) -> set[str]:
        return set(re.findall(r"^[\w-]+==[\w.]+", (ROOT / name).read_text(), re.MULTILINE))

    extra = pins("deploy/traces.txt")
    assert extra <= pins("tests/requirements.txt")
    assert not extra & pins("requirements.txt")
    text = (ROOT / "deploy" / "traces.txt").read_text()
    assert len(re.findall(r" \\\n    --hash=sha256:[0-9a-f]{64}", text)) == len(extra)
