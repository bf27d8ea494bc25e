"""A Spark cluster that loses executors, or their processes of Python, in the middle of a question: counts are those of memory, or
the question fails clearly and the next one begins anew."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from synth_engine.confidential import cluster, counts, part_writer
from synth_engine.confidential.cluster import ClusterError
from synth_engine.confidential.rows import open_counted, open_table
from synth_engine.confidential.sources import Counting
from synth_engine.domain import Domain
from tests import services, stopped_workers

EXAMPLES = Path(__file__).parents[2] / "examples"
ADULT = EXAMPLES / "adult.csv.gz"
pytestmark = [
    pytest.mark.services,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Spark leaves warnings of its own
]


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counting]:
    services.require(services.find_spark)
    shared = tmp_path_factory.mktemp("cluster")
    (shared / "key").write_bytes(bytes(range(32)))
    (shared / "key").chmod(0o600)
    with services.start_spark(tmp_path_factory.mktemp("spark")) as address:
        yield Counting(
            place="spark", address=address, folder=str(shared), key_file=str(shared / "key")
        )


@pytest.fixture(scope="module")
def adult() -> Domain:
    return Domain.from_json(json.loads((EXAMPLES / "adult.domain.json").read_text()))


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
