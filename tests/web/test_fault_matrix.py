"""Faults that no other test plays (docs/security.md, Faults): a full broker, a commit without an answer, a
deadlock, no memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper

from synth_engine import pipeline
from synth_engine.spec import Spec
from synthweb.audit.models import AuditEntry
from synthweb.datasets.models import Dataset
from synthweb.ledger.models import LedgerEntry
from synthweb.runs import queue, services, worker
from synthweb.runs.models import OutboxMessage, SynthesisRun
from synthweb.runs.planning import ReleaseRequest
from tests.cast import Cast
from tests.web import doorbell, scene

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("places")]
SPEC = Spec.from_json({"mechanism": "independent", "epsilon": "1"})


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    return scene.funded(cast)


def submitted(cast: Cast, dataset: Dataset) -> SynthesisRun:
    return services.submit(
        ReleaseRequest(dataset=dataset, spec=SPEC), steward=cast.steward, request_key="one"
    )


def kinds(run: SynthesisRun) -> list[str]:
    entries = LedgerEntry.objects.filter(run_code=run.code).order_by("sequence")
    return list(entries.values_list("kind", flat=True))


@pytest.mark.services
def test_a_broker_that_is_full_is_rung_for_later(
    cast: Cast, dataset: Dataset, redis_url: str
) -> None:
    server = redis.Redis(unix_socket_path=redis_url.removeprefix("redis+socket://"))
    with doorbell.queue_at(redis_url):
        server.config_set("maxmemory", "1")
        try:
            run = submitted(cast, dataset)
        finally:
            server.config_set("maxmemory", "0")
        message = OutboxMessage.objects.get(task=queue.SYNTHESIZE, subject_code=run.code)
        assert message.sent_at is None
        assert kinds(run) == ["HOLD"]
        assert queue.send(message.pk)
    message.refresh_from_db()
    assert message.times_sent == 1


def failing_once(do: Callable[..., Any], *, first: bool) -> Callable[..., Any]:
    """`do`, whose first call fails like a connection that was cut: before it is done, or after. first:
    before."""
    failed = False

    def wrapper(*arguments: Any, **options: Any) -> Any:
        nonlocal failed
        cut, failed = not failed, True
        result = None if cut and first else do(*arguments, **options)
        if cut:
            raise OperationalError("the connection was cut")
        return result

    return wrapper


@pytest.mark.parametrize("before", [True, False])
def test_a_commit_whose_answer_was_lost_is_not_repeated(
    cast: Cast, dataset: Dataset, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    with monkeypatch.context() as patch:
        commit = failing_once(BaseDatabaseWrapper._commit, first=before)
        patch.setattr(BaseDatabaseWrapper, "_commit", commit)
        with pytest.raises(OperationalError):
            submitted(cast, dataset)
    connection.close()
    # Whether it took place, the person cannot know: the same request with the same key settles it.
    assert SynthesisRun.objects.count() == (0 if before else 1)
    run = submitted(cast, dataset)
    assert SynthesisRun.objects.get() == run
    assert kinds(run) == ["HOLD"]


def test_a_deadlock_leaves_nothing_behind(
    cast: Cast, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries, log = LedgerEntry.objects.count(), AuditEntry.objects.count()
    with monkeypatch.context() as patch:
        # The last lock of a submission: all else has been written.
        patch.setattr(
            "synthweb.audit.services._locked_head",
            failing_once(lambda: None, first=True),
        )
        with pytest.raises(OperationalError):
            submitted(cast, dataset)
    assert not SynthesisRun.objects.exists()
    assert (LedgerEntry.objects.count(), AuditEntry.objects.count()) == (entries, log)
    assert not OutboxMessage.objects.filter(task=queue.SYNTHESIZE).exists()
    assert kinds(submitted(cast, dataset)) == ["HOLD"]


def test_a_run_without_memory_fails_and_keeps_its_charge(
    cast: Cast, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_arguments: Any, **_options: Any) -> None:
        raise MemoryError("a cell that must not be told")

    monkeypatch.setattr(pipeline, "measure", exhausted)
    run = submitted(cast, dataset)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == SynthesisRun.State.FAILED
    assert kinds(run) == ["HOLD", "CHARGE"]
    assert "a cell" not in str(run.failure)
    assert run.failure is not None
    assert run.failure["text"] == "An error of kind MemoryError stopped the worker."
