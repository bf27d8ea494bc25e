"""What a worker loads before it takes its first message."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from synth_engine import jit
from synthweb import celery


@pytest.mark.parametrize(
    ("queues", "times"), [(["confidential"], 1), (["default"], 1), (["notifications"], 0)]
)
def test_workers_that_compute_load_the_compiled_loops(
    queues: list[str],
    times: int,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    tmp_path: Path,
) -> None:
    loaded: list[Path | None] = []
    monkeypatch.setattr(jit, "warm_up", loaded.append)
    amqp = SimpleNamespace(queues=SimpleNamespace(consume_from=dict.fromkeys(queues)))
    worker: Any = SimpleNamespace(app=SimpleNamespace(amqp=amqp))
    celery.load_loops(sender=worker)
    settings.COMPILED = tmp_path
    celery.load_loops(sender=worker)
    assert loaded == [None, tmp_path][: 2 * times]
