"""A Spark cluster that loses executors, or their processes of Python, in the middle of a question: counts are
those of memory, or the question fails clearly and the next one begins anew."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from synth_engine import pipeline
from synth_engine.domain import Domain
from synth_engine.room import counts
from synth_engine.sources import cluster, part_writer
from synth_engine.sources.cluster import ClusterError
from synth_engine.sources.counting import Counting
from synth_engine.sources.opening import open_counted, open_table
from tests import services, stopped_workers

EXAMPLES = Path(__file__).parents[2] / "examples"
ADULT = EXAMPLES / "adult.csv.gz"
FOR_A_WORKER, FOR_A_TASK = 60.0, 300.0
"""Seconds within which a worker and the end of a task are waited for, where a test sets them."""
pytestmark = [
    pytest.mark.services,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Spark leaves warnings of its own
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of parts and the key, which workers see because they are on this machine."""
    services.require(services.find_spark)
    return folder_with_key(tmp_path_factory.mktemp("cluster") / "shared")


def folder_with_key(folder: Path) -> Path:
    folder.mkdir()
    (folder / "key").write_bytes(bytes(range(32)))
    (folder / "key").chmod(0o600)
    return folder


@pytest.fixture(scope="module")
def counting(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counting]:
    with services.start_spark(tmp_path_factory.mktemp("spark")) as started:
        yield counting_at(started.address, shared)


def counting_at(address: str, shared: Path) -> Counting:
    return Counting(
        place="spark", address=address, folder=str(shared), key_file=str(shared / "key")
    )


@pytest.fixture(scope="module")
def adult() -> Domain:
    return Domain.from_json(json.loads((EXAMPLES / "adult.domain.json").read_text()))


@pytest.mark.nightly  # a run of the web application that loses them is in every run
@pytest.mark.parametrize("executors", [False, True], ids=["python", "executor"])
def test_what_is_lost_inside_of_a_question_changes_no_count(
    executors: bool,
    counting: Counting,
    adult: Domain,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(part_writer.parts, "rows_of_part", lambda _sizes: 16_000)
    cliques = [(pair, None) for pair in itertools.combinations(adult.names[:4], 2)]
    encoded = open_counted(ADULT, adult, counting=counting)
    with stopped_workers.killed_inside_spark(tmp_path, number=1, executors=executors):
        tables = list(counts.contingencies(encoded, cliques))
    memory = counts.contingencies(open_table(ADULT, adult), cliques)
    for table, expected in zip(tables, memory, strict=True):
        assert np.array_equal(table, expected)


@pytest.mark.nightly
def test_a_question_that_spark_gives_up_fails_clearly_and_the_next_one_is_answered(
    counting: Counting, adult: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_writer.parts, "rows_of_part", lambda _sizes: 16_000)
    pair = tuple(adult.names[:2])
    encoded = open_counted(ADULT, adult, counting=counting)
    services.end_spark_session()
    with monkeypatch.context() as once:
        once.setitem(cluster._SPARK, "spark.task.maxFailures", "1")
        with (
            stopped_workers.killed_inside_spark(tmp_path, number=1, executors=False),
            pytest.raises(ClusterError) as refused,
        ):
            counts.contingency(encoded, pair)
    assert "failed in the middle of counting" in str(refused.value)
    assert refused.value.__cause__ is None
    again = counts.contingency(encoded, pair)
    assert np.array_equal(again, counts.contingency(open_table(ADULT, adult), pair))


def test_a_cluster_that_is_not_there_is_refused(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing listens at the address of its master."""
    services.end_spark()
    services.start_java()
    where = counting_at(f"spark://127.0.0.1:{services.free_port()}", shared)
    monkeypatch.setattr(cluster, "FIRST_ANSWER", 1.0)
    try:
        with pytest.raises(ClusterError, match="does not answer, or has no worker"):
            pipeline.require_counting(where)
    finally:
        services.end_spark()  # which goes on to look for the master


@pytest.mark.nightly
def test_a_master_without_a_worker_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.require(services.find_spark)
    folder = folder_with_key(tmp_path / "shared")
    with services.start_spark(tmp_path, executors=0) as started:
        where = counting_at(started.address, folder)
        session = cluster._session(where.address)  # which begins without workers
        with monkeypatch.context() as changed:
            changed.setattr(cluster, "_session", lambda _address: session)
            changed.setattr(cluster, "FIRST_ANSWER", 1.0)
            with pytest.raises(ClusterError, match="does not answer, or has no worker"):
                pipeline.require_counting(where)
        assert session.sparkContext._jsc is None  # it holds no place in the queue of the master
    assert [path.name for path in folder.iterdir()] == ["key"]


@pytest.mark.parametrize(
    ("looks", "seconds", "reason"),
    [
        # Each task takes nearly as long as one may; all of them take longer.
        ([(True, 1), (True, 2), (True, 3), (True, 4)], 0.9 * FOR_A_TASK, ""),
        ([(True, 0), (True, 0)], 0.9 * FOR_A_TASK, ""),
        ([(True, 1), (True, 1), (True, 1)], 0.9 * FOR_A_TASK, "in the middle"),
        ([(False, 0), (True, 0)], 0.9 * FOR_A_WORKER, ""),
        ([(False, 0), (False, 0), (False, 0)], 0.9 * FOR_A_WORKER, "no worker"),
    ],
    ids=["long question", "long task", "no task ends", "worker that comes late", "no worker"],
)
def test_a_question_may_take_long_but_no_task_of_it(
    looks: list[tuple[bool, int]],
    seconds: float,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is asked of Spark here. looks: what it says each time that it is asked, so many seconds after
    the last time; then it has the replies."""
    now, left, over = [0.0], list(looks), threading.Event()

    def look(_context: object, _question: str) -> cluster._Progress:
        if left:
            now[0] += seconds
        begun, ended = left.pop(0) if left else looks[-1]
        if not left:
            over.set()
        return cluster._Progress(begun=begun, ended=ended)

    def collect() -> list[tuple[bytearray]]:
        assert over.wait(services.PATIENCE)
        return [(bytearray(b"reply"),)]

    # A cluster of this module may be running, with more patience.
    monkeypatch.setattr(cluster, "FIRST_ANSWER", FOR_A_WORKER)
    monkeypatch.setattr(cluster, "PATIENCE", FOR_A_TASK)
    monkeypatch.setattr(cluster, "_LOOKED_AT_EVERY", 0.01)
    monkeypatch.setattr(cluster._Progress, "of", look)
    monkeypatch.setattr(cluster, "time", mock.Mock(monotonic=lambda: now[0]))
    context, asked = mock.Mock(), mock.Mock(collect=collect)
    if reason:
        with pytest.raises(ClusterError, match=reason):
            cluster._collected(context, asked)
    else:
        assert cluster._collected(context, asked) == [b"reply"]


@pytest.mark.nightly
def test_a_cluster_that_loses_all_workers_for_good_fails_clearly(
    shared: Path, adult: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    with services.start_spark(tmp_path) as started:
        assert started.worker is not None
        encoded = open_counted(ADULT, adult, counting=counting_at(started.address, shared))
        with (
            stopped_workers.lost_inside_spark(
                inside,
                started.worker.pid,
                then=lambda: monkeypatch.setattr(cluster, "PATIENCE", 1.0),
            ),
            pytest.raises(ClusterError, match="failed in the middle of counting") as refused,
        ):
            counts.contingency(encoded, tuple(adult.names[:2]))
    assert refused.value.__cause__ is None
    assert list(
        (tmp_path / "work").glob("app-*/0")
    )  # executors write there, and not where Spark is installed
