"""What a worker loads before it takes its first message."""

from __future__ import annotations

import gc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from synth_engine import jit
from synthweb import celery


@pytest.mark.parametrize(
    ("queues", "used", "loaded"),
    [(["confidential"], 1, 2), (["default"], 1, 0), (["notifications"], 0, 0)],
)
def test_workers_that_compute_know_the_compiled_loops_and_one_loads_all(
    queues: list[str],
    used: int,
    loaded: int,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    tmp_path: Path,
) -> None:
    stored: list[Path] = []
    times: list[None] = []
    monkeypatch.setattr(jit, "use", stored.append)
    monkeypatch.setattr(jit, "warm_up", lambda: times.append(None))
    # Nothing of this process is put aside.
    monkeypatch.setattr(gc, "freeze", lambda: None)
    amqp = SimpleNamespace(queues=SimpleNamespace(consume_from=dict.fromkeys(queues)))
    worker: Any = SimpleNamespace(app=SimpleNamespace(amqp=amqp))
    celery.load(sender=worker)
    settings.COMPILED = tmp_path
    celery.load(sender=worker)
    assert stored == [tmp_path][:used]
    assert len(times) == loaded
