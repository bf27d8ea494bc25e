"""Dask and Spark give the counts of memory, lose and repeat nothing, and are refused before a charge where
they cannot count."""

from __future__ import annotations

import itertools
import json
import os
import queue
import signal
import time
import unittest.mock
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from synth_engine import mechanisms, pipeline
from synth_engine.domain import Domain
from synth_engine.errors import SpecError, SynthError
from synth_engine.indexing.contingency import Axis, CountPlan
from synth_engine.room import counts
from synth_engine.sources import cluster, part_writer, parts
from synth_engine.sources.cluster import ClusterError
from synth_engine.sources.counting import Counting
from synth_engine.sources.opening import open_counted, open_table
from synth_engine.sources.parts import EncodedParts, PartError, PartFolder
from synth_engine.spec import Spec
from tests import services, stopped_workers

EXAMPLES = Path(__file__).parents[2] / "examples"
ADULT = EXAMPLES / "adult.csv.gz"
PLAN = CountPlan((Axis(3),), ((0,), ()))

pytestmark = [
    pytest.mark.services,
    # Both libraries leave warnings of their own.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of parts and the key, which workers see because they are on this machine."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "key").write_bytes(bytes(range(32)))
    (folder / "key").chmod(0o600)
    return folder


@pytest.fixture(scope="module")
def dask() -> Iterator[services.Dask]:
    with services.require_started(services.start_dask) as started:
        yield started


@pytest.fixture(scope="module")
def spark() -> Iterator[str]:
    services.require(services.find_spark)
    with (
        unittest.mock.patch.dict(os.environ, services.SHORT_LIVED),
        # However long Java takes to start here.
        unittest.mock.patch.object(cluster, "FIRST_ANSWER", services.PATIENCE),
    ):
        yield "local[2]"
    services.end_spark_session()


@pytest.fixture(scope="module")
def adult() -> Domain:
    return Domain.from_json(json.loads((EXAMPLES / "adult.domain.json").read_text()))


def counting(place: str, address: str, shared: Path) -> Counting:
    return Counting(
        place=place, address=address, folder=str(shared), key_file=str(shared / "key")
    )


def require_counts_of_memory(where: Counting, domain: Domain) -> None:
    where.require()
    memory, encoded = open_table(ADULT, domain), open_counted(ADULT, domain, counting=where)
    cliques = [(pair, None) for pair in itertools.combinations(domain.names, 2)]
    for one, other in zip(
        counts.contingencies(memory, cliques),
        counts.contingencies(encoded, cliques),
        strict=True,
    ):
        assert np.array_equal(one, other)


def test_dask_gives_the_counts_of_memory(
    dask: services.Dask, shared: Path, adult: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_writer.parts, "rows_of_part", lambda _sizes: 5000)
    require_counts_of_memory(counting("dask", dask.address, shared), adult)
    spec = Spec.from_json({"mechanism": "independent", "epsilon": "1"})
    plan = mechanisms.plan(adult, spec)
    answers = pipeline.measure(
        ADULT, plan=plan, counting=counting("dask", dask.address, shared)
    )
    assert answers.calls == plan.calls
    assert [path.name for path in shared.iterdir()] == ["key"]  # nothing is left


def test_spark_gives_the_counts_of_memory(
    spark: str, shared: Path, adult: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_writer.parts, "rows_of_part", lambda _sizes: 20000)
    require_counts_of_memory(counting("spark", spark, shared), adult)


def test_a_worker_that_is_lost_changes_no_count(
    dask: services.Dask, shared: Path, adult: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process of the cluster is killed between two questions; Dask gives its tasks to another one."""
    monkeypatch.setattr(part_writer.parts, "rows_of_part", lambda _sizes: 5000)
    encoded = open_counted(ADULT, adult, counting=counting("dask", dask.address, shared))
    first = counts.contingency(encoded, tuple(adult.names[:2]))
    os.kill(dask.workers()[0], signal.SIGKILL)
    again = counts.contingency(encoded, tuple(adult.names[:2]))
    assert np.array_equal(first, again)


@pytest.mark.parametrize("lost", [1, 2])
def test_workers_that_are_lost_inside_of_a_question_change_no_count(
    lost: int,
    dask: services.Dask,
    shared: Path,
    adult: Domain,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One process, or both, are killed while they count a part, whose answer nobody has then: it is counted
    by another one, and what was answered before is not counted again."""
    monkeypatch.setattr(part_writer.parts, "rows_of_part", lambda _sizes: 5000)
    cliques = [(pair, None) for pair in itertools.combinations(adult.names[:4], 2)]
    memory = open_table(ADULT, adult)
    encoded = open_counted(ADULT, adult, counting=counting("dask", dask.address, shared))
    with stopped_workers.killed_inside(dask.address, tmp_path, number=lost) as killed:
        tables = list(counts.contingencies(encoded, cliques))
    assert len(set(killed)) == lost
    for table, expected in zip(tables, counts.contingencies(memory, cliques), strict=True):
        assert np.array_equal(table, expected)


def test_a_question_that_costs_the_cluster_its_workers_fails_without_a_word_of_the_data(
    dask: services.Dask,
    shared: Path,
    adult: Domain,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(part_writer.parts, "rows_of_part", lambda _sizes: 5000)
    encoded = open_counted(ADULT, adult, counting=counting("dask", dask.address, shared))
    with (
        stopped_workers.giving_up(dask.address, after=1),
        stopped_workers.killed_inside(dask.address, tmp_path, number=1),
        pytest.raises(ClusterError) as refused,
    ):
        counts.contingency(encoded, tuple(adult.names[:2]))
    assert "failed in the middle of counting" in str(refused.value)
    assert refused.value.__cause__ is None
    # The next question finds the cluster again.
    again = counts.contingency(encoded, tuple(adult.names[:2]))
    assert np.array_equal(again, counts.contingency(open_table(ADULT, adult), adult.names[:2]))


def test_a_cluster_that_loses_all_workers_for_good_fails_clearly(
    shared: Path, adult: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with services.require_started(lambda: services.start_dask(is_repaired=False)) as started:
        where = counting("dask", started.address, shared)
        encoded = open_counted(ADULT, adult, counting=where)
        with (
            stopped_workers.killed_inside(started.address, tmp_path, number=2) as killed,
            pytest.raises(ClusterError, match="failed in the middle of counting"),
        ):

            class Impatient(queue.SimpleQueue[object]):
                def get(self, block: bool = True, timeout: float | None = None) -> object:
                    end = time.monotonic() + services.PATIENCE
                    while len(killed) < 2 and time.monotonic() < end:
                        time.sleep(0.01)
                    return super().get(block, 1.0)

            monkeypatch.setattr(cluster, "SimpleQueue", Impatient)
            counts.contingency(encoded, tuple(adult.names[:2]))


def test_dask_is_waited_for_from_one_task_to_the_next(
    dask: services.Dask, shared: Path, adult: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a question takes, and however many tasks it has."""
    monkeypatch.setattr(part_writer.parts, "rows_of_part", lambda _sizes: 5000)
    waits: list[float | None] = []

    class Watched(queue.SimpleQueue[object]):
        def get(self, block: bool = True, timeout: float | None = None) -> object:
            waits.append(timeout)
            return super().get(block, timeout)

    monkeypatch.setattr(cluster, "SimpleQueue", Watched)
    encoded = open_counted(ADULT, adult, counting=counting("dask", dask.address, shared))
    counts.contingency(encoded, tuple(adult.names[:2]))
    assert len(waits) > 2
    assert set(waits) == {cluster.PATIENCE}


def sealed_task(shared: Path, **changed: object) -> tuple[bytes, PartFolder]:
    folder = PartFolder(shared)
    encoded = EncodedParts(folder.path, bytes(32))
    encoded.write({"x": np.array([0, 1, 2, 2], dtype=np.uint8)})
    given = {
        "code": cluster.fingerprint(),
        "question": b"q",
        "folder": folder.path,
        "secret": bytes(32),
        "rows": [4],
        "parts": (0,),
        "names": ("x",),
        "plan": PLAN,
    }
    task = cluster._Task(**(given | changed))
    return task.sealed(cluster.read_key(shared / "key")), folder


def reply(shared: Path, **changed: object) -> cluster._Reply:
    message, folder = sealed_task(shared, **changed)
    try:
        raw = cluster.answer(message, str(shared / "key"))
    finally:
        folder.remove()
    return cluster._Reply.opened(raw, cluster.read_key(shared / "key"))


def test_a_worker_counts_the_parts_that_it_is_asked_for(shared: Path) -> None:
    found = reply(shared)
    assert [table.tolist() for table in found.tables] == [[1, 1, 2], 4]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"code": "0" * 64}, "another version"),
        ({"folder": Path("/nowhere")}, "does not see the folder"),
        ({"secret": bytes(31) + b"1"}, "does not see the folder"),
        ({"names": ("y",)}, "does not see the folder"),  # a column is missing
        ({"plan": CountPlan((Axis(2),), ((0,),))}, "failed"),  # a code lies outside
        ({"rows": [5]}, "failed"),
    ],
)
def test_a_worker_says_why_it_cannot_count(
    shared: Path, changed: dict[str, object], reason: str
) -> None:
    with pytest.raises(ClusterError, match=reason):
        reply(shared, **changed)


def test_a_worker_with_another_key_is_found_out(shared: Path, tmp_path: Path) -> None:
    message, folder = sealed_task(shared)
    folder.remove()
    other = tmp_path / "key"
    other.write_bytes(bytes(32))
    other.chmod(0o600)
    for path in (other, tmp_path / "none"):
        with pytest.raises(ClusterError, match="another key"):
            cluster._Reply.opened(
                cluster.answer(message, str(path)), cluster.read_key(shared / "key")
            )


def test_what_a_cluster_sees_cannot_be_read(shared: Path) -> None:
    message, folder = sealed_task(shared)
    raw = cluster.answer(message, str(shared / "key"))
    for seen in (message[64:], raw[1:], (folder.path / "000000.parquet").read_bytes()):
        assert b"numpy" not in seen
        assert b"CountPlan" not in seen
        assert str(folder.path).encode() not in seen
    folder.remove()


@pytest.mark.parametrize("fault", ["twice", "lost", "other question"])
def test_replies_that_come_twice_or_not_at_all_are_noticed(
    fault: str, shared: Path, adult: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_writer.parts, "rows_of_part", lambda _sizes: 20000)
    earlier: list[bytes] = []

    def send(_address: str, messages: list[bytes], key_file: str) -> Iterator[bytes]:
        replies = [cluster.answer(each, key_file) for each in messages]
        if fault == "twice":
            replies.append(replies[0])
        elif fault == "lost":
            replies.pop()
        else:
            replies, earlier[:] = list(earlier) or replies, replies
        yield from replies

    monkeypatch.setattr(cluster, "_with_dask", send)
    rows = open_counted(ADULT, adult, counting=counting("dask", "none", shared))
    error = ClusterError if fault == "other question" else PartError
    with pytest.raises(error):
        for _ in range(2):
            counts.contingency(rows, tuple(adult.names[:1]))


def test_a_cluster_that_is_not_there_is_refused_before_anything_is_read(
    shared: Path, adult: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.require(services.find_dask)
    monkeypatch.setattr(cluster, "FIRST_ANSWER", 0.5)
    where = counting("dask", f"tcp://127.0.0.1:{services.free_port()}", shared)
    spec = Spec.from_json({"mechanism": "independent", "epsilon": "1"})
    stages: list[str] = []
    with pytest.raises(SynthError, match="does not answer"):
        pipeline.synthesize(
            ADULT,
            domain=adult,
            spec=spec,
            counting=where,
            progress=lambda stage, _: stages.append(stage),
        )
    assert not stages


@pytest.mark.parametrize("fault", ["address", "folder", "key", "mode"])
def test_a_cluster_that_is_not_set_up_is_refused(fault: str, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(bytes(31 if fault == "key" else 32))
    key.chmod(0o644 if fault == "mode" else 0o600)
    where = Counting(
        place="spark",
        address="" if fault == "address" else "local[1]",
        folder=str(tmp_path / "none") if fault == "folder" else str(tmp_path),
        key_file=str(key),
    )
    with pytest.raises(SpecError):
        pipeline.require_counting(where)
    assert not list(tmp_path.glob(f"{parts.PREFIX}*"))
