"""A run whose records Spark counts, and whose cluster loses processes in the middle of a question: it ends
right or fails clearly, and is charged once in either case."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from synth_engine.sources import cluster, part_writer
from synthweb.releases.models import Release
from synthweb.runs import worker
from synthweb.runs.models import SynthesisRun
from tests import services, stopped_workers
from tests.cast import Cast
from tests.web import scene
from tests.web.test_runs_on_clusters import require_one_charge

State = SynthesisRun.State
pytestmark = [
    pytest.mark.services,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore"),  # Spark leaves warnings of its own
]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    services.require(services.find_spark)
    with services.start_spark(tmp_path_factory.mktemp("spark")) as started:
        yield started.address


@pytest.fixture
def run(
    spark: str, cast: Cast, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> SynthesisRun:
    """A run that waits for its worker. Its table of 300 records is in three parts."""
    monkeypatch.setattr(part_writer.parts, "rows_of_part", lambda _sizes: 100)
    folder = tmp_path / "parts"
    folder.mkdir()
    key = tmp_path / "key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    settings.COUNTING = {
        "place": "spark",
        "address": spark,
        "folder": str(folder),
        "key_file": str(key),
    }
    return scene.submit(steward=cast.steward, dataset=scene.funded(cast))


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """Where workers say that they are in the middle of a question."""
    folder = tmp_path / "inside"
    folder.mkdir()
    return folder


def test_a_run_goes_on_without_the_executor_that_it_lost(
    run: SynthesisRun, inside: Path
) -> None:
    with stopped_workers.killed_inside_spark(inside, number=1, executors=True):
        worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == State.FINISHED, run.failure
    assert Release.objects.get() == run.release
    require_one_charge(run)


def test_a_run_that_spark_gives_up_fails_and_is_charged_once(
    run: SynthesisRun, inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.end_spark_session()
    monkeypatch.setitem(cluster._SPARK, "spark.task.maxFailures", "1")
    with stopped_workers.killed_inside_spark(inside, number=1, executors=False):
        worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, run.failure["code"]) == (State.FAILED, "counting")
    assert "failed in the middle of counting" in run.failure["text"]
    require_one_charge(run)
    # Nothing is drawn again for that charge, though the cluster is there.
    worker.synthesize(code=run.code)
    require_one_charge(run)
    assert not Release.objects.exists()
