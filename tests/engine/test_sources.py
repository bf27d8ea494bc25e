"""Where records are counted changes no count: memory and encrypted parts, on real data and with units."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from synth_engine import mechanisms, pipeline
from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.indexing.contingency import Axis, CountPlan
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.sources import part_writer, parts
from synth_engine.sources.counting import Counting, PartsSource
from synth_engine.sources.opening import open_counted, open_table
from synth_engine.sources.parts import EncodedParts, PartError, PartFolder, PartSum
from synth_engine.spec import Spec

EXAMPLES = Path(__file__).parents[2] / "examples"
IN_PARTS = Counting(place="parquet")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Temporary files are in a folder of the test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(parts.tempfile, "gettempdir", lambda: str(folder))
    yield folder


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of so few records that every table has many."""
    monkeypatch.setattr(part_writer.parts, "rows_of_part", lambda _sizes: 1000)
    monkeypatch.setattr(part_writer, "IDS_AT_ONCE", 700)


@pytest.fixture(scope="module")
def adult() -> Domain:
    return Domain.from_json(json.loads((EXAMPLES / "adult.domain.json").read_text()))


def of_persons(path: Path, *, most: int) -> Domain:
    """A table of persons with 1 to 5 records, and a description with at most so many of each."""
    lines = ["person,x"]
    lines += [f"p{n},{(7 * n + k) % 9}" for n in range(900) for k in range(n % 5 + 1)]
    lines += [f",{k % 9}" for k in range(40)]  # nobody is a unit, too
    path.write_text("\n".join(lines))
    attribute = {
        "name": "x",
        "kind": "integer",
        "low": 0,
        "high": 8,
        "provenance": "declared",
    }
    return Domain.from_json(
        {"attributes": [attribute], "unit": {"column": "person", "max_records": most}}
    )


@pytest.mark.usefixtures("small_parts")
def test_parts_give_the_counts_of_memory_on_real_data(adult: Domain) -> None:
    path = EXAMPLES / "adult.csv.gz"
    memory = open_table(path, adult)
    encoded = open_counted(path, adult, counting=IN_PARTS)
    assert encoded.total == memory.total > 20 * 1000
    cliques = [((), None), *(((a, b), None) for a, b in itertools.combinations(adult.names, 2))]
    for one, other in zip(
        counts.contingencies(memory, cliques),
        counts.contingencies(encoded, cliques),
        strict=True,
    ):
        assert np.array_equal(one, other)
    for name in adult.names:
        assert memory.codes(name).dtype == encoded.codes(name).dtype
        assert np.array_equal(memory.codes(name), encoded.codes(name))


@pytest.mark.parametrize("mechanism", ["independent", "mst", "dpsyn", "bayesian-network"])
@pytest.mark.usefixtures("small_parts")
def test_methods_of_marginals_count_in_parts(mechanism: str, adult: Domain) -> None:
    spec = Spec.from_json({"mechanism": mechanism, "epsilon": "1", "delta": "1e-9"})
    plan = mechanisms.plan(adult, spec)
    answers = pipeline.measure(EXAMPLES / "adult.csv.gz", plan=plan, counting=IN_PARTS)
    assert answers.calls


@pytest.mark.usefixtures("small_parts")
def test_every_unit_keeps_as_many_records_as_in_memory(tmp_path: Path) -> None:
    domain = of_persons(tmp_path / "persons.csv", most=2)
    encoded = open_counted(tmp_path / "persons.csv", domain, counting=IN_PARTS)
    assert encoded.total == open_table(tmp_path / "persons.csv", domain).total
    # 900 persons, and those without an identifier: the first of five has one record, the others two.
    assert encoded.total == 180 + 720 * 2 + 2


@pytest.mark.usefixtures("small_parts")
def test_the_records_that_a_unit_keeps_are_spread_evenly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One unit of four records that lie in several parts: over all orders of its keys, each is kept as
    often."""
    monkeypatch.setattr(part_writer.parts, "rows_of_part", lambda _sizes: 3)
    monkeypatch.setattr(part_writer, "IDS_AT_ONCE", 2)
    (tmp_path / "one.csv").write_text("person,x\n" + "".join(f"a,{k}\n" for k in range(4)))
    domain = of_persons(tmp_path / "persons.csv", most=1)
    kept: Counter[int] = Counter()
    for order in itertools.permutations(range(4)):
        keys = np.array(order, dtype=np.uint64).tobytes()
        rows = open_counted(
            tmp_path / "one.csv",
            domain,
            counting=IN_PARTS,
            random_bytes=lambda n, keys=keys: keys[:n],
        )
        kept.update(rows.codes("x").tolist())
    assert kept == {0: 6, 1: 6, 2: 6, 3: 6}


def test_a_table_without_records_is_counted(tmp_path: Path, adult: Domain) -> None:
    (tmp_path / "none.csv").write_text(",".join(adult.columns) + "\n")
    rows = open_counted(tmp_path / "none.csv", adult, counting=IN_PARTS)
    assert counts.contingency(rows, ()).tolist() == 0


def encoded_parts() -> tuple[EncodedParts, PartFolder]:
    folder = PartFolder()
    encoded = EncodedParts(folder.path, bytes(32))
    for first in (0, 1):
        encoded.write({"x": np.array([first, 1, 2], dtype=np.uint8)})
    return encoded, folder


PLAN = CountPlan((Axis(3),), ((0,),))


def test_a_part_is_counted_once() -> None:
    encoded, _folder = encoded_parts()
    total = PartSum(PLAN, encoded.rows)
    tables = parts.count_part(encoded, 0, ["x"], PLAN)
    total.add([0], tables)
    with pytest.raises(PartError, match="twice"):
        total.add([0], tables)
    with pytest.raises(PartError, match="not counted"):
        total.tables()
    with pytest.raises(PartError, match="as a whole"):
        total.add([1], [np.array([1, 0, 0])])
    total.add([1], parts.count_part(encoded, 1, ["x"], PLAN))
    assert total.tables()[0].tolist() == [1, 3, 2]


def test_parts_are_encrypted_and_what_was_changed_is_noticed() -> None:
    encoded, _folder = encoded_parts()
    first, second = encoded.path(0), encoded.path(1)
    assert first.read_bytes()[:4] == b"PARE"  # a Parquet file whose footer is encrypted
    assert first.stat().st_mode & 0o077 == 0
    with pytest.raises(OSError, match="encrypted"):
        pq.read_table(first)
    kept = first.read_bytes()
    first.write_bytes(second.read_bytes())  # valid, but another part
    with pytest.raises(PartError, match="changed"):
        parts.count_part(encoded, 0, ["x"], PLAN)
    first.write_bytes(kept[: len(kept) // 2])
    with pytest.raises(PartError, match="changed"):
        parts.count_part(encoded, 0, ["x"], PLAN)
    first.unlink()
    with pytest.raises(PartError, match="missing"):
        parts.count_part(encoded, 0, ["x"], PLAN)
    assert bytes(32).hex() not in repr(encoded)
    assert "secret" not in repr(encoded)


def test_folders_of_parts_are_removed(own_folder: Path) -> None:
    _encoded, folder = encoded_parts()
    (own_folder / f"{parts.PREFIX}killed").mkdir()
    (own_folder / f"{parts.PREFIX}killed" / parts.LOCK).touch()
    another = PartFolder()
    assert set(own_folder.iterdir()) == {folder.path, another.path}
    folder.remove()
    another.remove()
    assert not list(own_folder.iterdir())


def test_a_table_moves_to_parts_above_a_size(
    adult: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[str] = []
    writer = Counting.writer
    monkeypatch.setattr(
        Counting, "writer", lambda self, domain: moved.append("") or writer(self, domain)
    )
    path = EXAMPLES / "adult.csv.gz"
    small = open_counted(path, adult, counting=Counting())
    assert not moved
    large = open_counted(path, adult, counting=Counting(memory_bytes=100_000))
    assert len(moved) == 1
    clique = tuple(adult.names[:2])
    assert np.array_equal(counts.contingency(small, clique), counts.contingency(large, clique))


def test_an_unknown_place_is_refused() -> None:
    with pytest.raises(SpecError, match="memory, parquet"):
        Counting(place="moon")


def test_rows_of_parts_tell_nothing() -> None:
    encoded, folder = encoded_parts()
    source = PartsSource(encoded, folder=folder, sizes={"x": 3})
    assert repr(Rows(source, domain=Domain.from_json({"x": 3}))) == "<rows: confidential>"
