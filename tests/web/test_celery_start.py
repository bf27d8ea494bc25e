"""What a worker loads before it takes its first message."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from synth_engine import jit
from synthweb import celery


@pytest.mark.parametrize(
    ("queues", "times"), [(["confidential"], 1), (["default"], 1), (["notifications"], 0)]
)
def test_workers_that_compute_load_the_compiled_loops(
    queues: list[str], times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[None] = []
    monkeypatch.setattr(jit, "warm_up", lambda: loaded.append(None))
    amqp = SimpleNamespace(queues=SimpleNamespace(consume_from=dict.fromkeys(queues)))
    worker: Any = SimpleNamespace(app=SimpleNamespace(amqp=amqp))
    celery.load_loops(sender=worker)
    assert len(loaded) == times
