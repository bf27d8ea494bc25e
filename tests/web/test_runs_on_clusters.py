"""A run whose records a cluster counts, and whose cluster loses processes in the middle of a question: it
ends right or fails clearly, and is charged once in either case."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from synth_engine.sources import cluster, part_writer
from synthweb.ledger import chain
from synthweb.ledger.models import LedgerEntry
from synthweb.releases.models import Release
from synthweb.runs import worker
from synthweb.runs.models import SynthesisRun
from tests import services, stopped_workers
from tests.cast import Cast
from tests.web import scene

State = SynthesisRun.State
pytestmark = [
    pytest.mark.services,
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore"),  # Dask leaves warnings of its own
]


@pytest.fixture(scope="module")
def dask() -> Iterator[services.Dask]:
    with services.require_started(services.start_dask) as started:
        yield started


@pytest.fixture
def run(
    dask: services.Dask,
    cast: Cast,
    tmp_path: Path,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> SynthesisRun:
    """A run that waits for its worker. Its table of 300 records is in 15 parts."""
    monkeypatch.setattr(part_writer.parts, "rows_of_part", lambda _sizes: 20)
    folder = tmp_path / "parts"
    folder.mkdir()
    key = tmp_path / "key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    settings.COUNTING = {
        "place": "dask",
        "address": dask.address,
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


def require_one_charge(run: SynthesisRun) -> None:
    entries = LedgerEntry.objects.filter(run_code=run.code).order_by("sequence")
    assert [entry.kind for entry in entries] == ["HOLD", "CHARGE"]
    run.account.refresh_from_db()
    assert run.account.epsilon_held == 0
    assert run.account.epsilon_charged == run.price.epsilon
    assert chain.verify(run.account).intact


@pytest.mark.parametrize("lost", [1, 2])
def test_a_run_goes_on_without_the_workers_that_it_lost(
    lost: int, run: SynthesisRun, dask: services.Dask, inside: Path
) -> None:
    with stopped_workers.killed_inside(dask.address, inside, number=lost):
        worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == State.FINISHED, run.failure
    assert Release.objects.get() == run.release
    require_one_charge(run)


def test_a_run_that_loses_its_cluster_fails_and_is_charged_once(
    run: SynthesisRun, dask: services.Dask, inside: Path
) -> None:
    with (
        stopped_workers.giving_up(dask.address, after=1),
        stopped_workers.killed_inside(dask.address, inside, number=1),
    ):
        worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, run.failure["code"]) == (State.FAILED, "counting")
    assert "failed in the middle of counting" in run.failure["text"]
    require_one_charge(run)
    # Nothing is drawn again for that charge, though the cluster is there.
    worker.synthesize(code=run.code)
    require_one_charge(run)
    assert not Release.objects.exists()


def test_a_run_whose_cluster_is_not_there_costs_nothing(
    run: SynthesisRun, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "FIRST_ANSWER", 0.5)
    settings.COUNTING["address"] = f"tcp://127.0.0.1:{services.free_port()}"
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, run.failure["code"]) == (State.FAILED, "counting")
    assert "does not answer" in run.failure["text"]
    entries = LedgerEntry.objects.filter(run_code=run.code).order_by("sequence")
    assert [entry.kind for entry in entries] == ["HOLD", "RELEASE"]
    assert chain.verify(run.account).intact
