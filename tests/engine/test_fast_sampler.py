"""Alias tables: the tables' own law, the same bytes under any number of threads, and Parquet without data
frames."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synth_engine import codec, mechanisms, tables
from synth_engine.domain import Domain
from synth_engine.inference import cost_tables, swap_kernels
from synth_engine.models import alias_tables, blocks
from synth_engine.models.model import Model
from synth_engine.models.network import Codes, Node, Table
from synth_engine.models.weights import WHOLE, whole_weights

DOMAIN = Domain.from_json(
    {
        "attributes": [
            {
                "name": "a",
                "kind": "categorical",
                "values": ["x", "y", "z"],
                "missing": ["?"],
                "provenance": "declared",
            },
            {"name": "b", "kind": "integer", "low": 0, "high": 4, "provenance": "declared"},
            {
                "name": "c",
                "kind": "boolean",
                "true": "T",
                "false": "F",
                "provenance": "declared",
            },
        ]
    }
)
SHAPES = ((4,), (4, 5), (4, 5, 2))


def model(**changed: object) -> Model:
    rng = np.random.default_rng(5)
    nodes = (Node(attribute="a", parents=()), Node(attribute="b", parents=("a",)))
    nodes += (Node(attribute="c", parents=("a", "b")),)
    given = []
    for node, shape in zip(nodes, SHAPES, strict=True):
        shares = rng.random(shape)
        shares[..., -1] *= rng.integers(0, 2, shape[:-1])  # some codes never occur
        clique = (*node.parents, node.attribute)
        given.append(Table(clique=clique, weights=whole_weights(shares)))
    return Model(
        **(
            {
                "mechanism": "mst",
                "domain": DOMAIN,
                "rows": 1000,
                "tables": tuple(given),
                "network": nodes,
            }
            | changed
        )
    )


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alias tables are for very large tables; here for all."""
    monkeypatch.setattr(blocks, "MANY", 0)


def drawn(of: Model, rows: int, seed: str = "s") -> Codes:
    return of.sample(rows, seed=seed)


def test_alias_tables_have_the_weights_of_their_table() -> None:
    for node, table in zip(model().network, model().tables, strict=True):
        alias = alias_tables.AliasTable.of_node(node, table, seed="s")
        own = np.where(
            alias.aliases == np.tile(np.arange(alias.size), alias.aliases.size // alias.size),
            1.0,
            alias.thresholds / 2**32,
        )
        found = np.zeros((own.size // alias.size, alias.size))
        for place, (share, other) in enumerate(zip(own, alias.aliases, strict=True)):
            group, code = divmod(place, alias.size)
            found[group, code] += share / alias.size
            found[group, other] += (1 - share) / alias.size
        weights = table.weights.reshape(-1, alias.size)
        assert np.abs(found - weights / weights.sum(axis=1, keepdims=True)).max() < 1e-8


def test_rows_have_the_law_of_the_model() -> None:
    of, rows = model(), 200_000
    codes = drawn(of, rows)
    joint = np.zeros((4, 5, 2), dtype=np.int64)
    np.add.at(joint, (codes["a"], codes["b"], codes["c"]), 1)
    law = of.tables[0].weights[:, None, None] / WHOLE
    for table in of.tables[1:]:
        share = table.weights / table.weights.sum(axis=-1, keepdims=True)
        law = law * share.reshape(share.shape + (1,) * (3 - share.ndim))
    assert joint[law == 0].sum() == 0
    # The seed is fixed; five standard deviations hold for every cell.
    assert (np.abs(joint - rows * law) <= 5 * np.sqrt(rows * law) + 1).all()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_same_bytes_under_any_number_of_threads(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_THREADS", threads)
    codes = drawn(model(), 300_000)
    digest = hashlib.sha256(b"".join(codes[name].tobytes() for name in "abc")).hexdigest()
    assert digest == DIGEST


DIGEST = "90847fd879ea8d6eb84d7f706d14be878c3e867b99a931c75c34c6c3312f1aa0"


def test_a_row_depends_on_its_number_alone() -> None:
    few, many = drawn(model(), 1000), drawn(model(), 100_000)
    assert all(np.array_equal(few[name], many[name][:1000]) for name in "abc")
    other = drawn(model(), 1000, seed="t")
    assert not np.array_equal(few["a"], other["a"])


def test_independent_tables_are_drawn_by_cells() -> None:
    weights = whole_weights(np.arange(8.0).reshape(4, 2))
    of = model(
        network=(),
        tables=(
            Table(clique=("a", "c"), weights=weights),
            Table(clique=("b",), weights=whole_weights(np.ones(5))),
        ),
    )
    codes = drawn(of, 100_000)
    joint = np.zeros((4, 2), dtype=np.int64)
    np.add.at(joint, (codes["a"], codes["c"]), 1)
    assert joint[0, 0] == 0
    assert np.abs(joint / 100_000 - weights / WHOLE).max() < 0.01


@pytest.mark.parametrize("rows", [0, 1, 70_000])
def test_parquet_without_data_frames_has_the_same_values(rows: int, tmp_path: Path) -> None:
    draw = tables.Drawing(model=model(), rows=rows, seed="s")
    tables.write_drawn(draw, path=tmp_path / "fast.parquet")
    frame = mechanisms.draw_table(model(), rows, "s")
    found = pd.read_parquet(tmp_path / "fast.parquet")
    assert len(found) == rows
    for name in "abc":
        assert codec.as_text(DOMAIN, found)[name].tolist() == (
            codec.as_text(DOMAIN, frame)[name].tolist()
        )


def refined_model() -> Model:
    rng = np.random.default_rng(8)
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    shape = {"a": 4, "b": 5, "c": 2}
    joint = rng.random((4, 5, 2)) ** 3
    sums = {("a", "b"): joint.sum(2), ("a", "c"): joint.sum(1), ("b", "c"): joint.sum(0)}
    assert all(sums[pair].shape == tuple(shape[name] for name in pair) for pair in pairs)
    return model(
        targets=tuple(Table(clique=pair, weights=whole_weights(sums[pair])) for pair in pairs)
    )


def test_a_cell_takes_the_value_that_costs_least_by_all_tables() -> None:
    rng = np.random.default_rng(3)
    sizes, rows = (3, 6, 4), 400
    codes = np.array([rng.integers(0, size, rows) for size in sizes], dtype=np.uint16)
    targets = [
        (pair, rng.random((sizes[pair[0]], sizes[pair[1]])) * 20)
        for pair in ((0, 1), (0, 2), (1, 2))
    ]
    tables = cost_tables.build(
        codes, targets, allowed=(), weights=[1.0] * 3, softness=cost_tables.SOFTNESS
    )

    def cost(of: np.ndarray) -> float:
        total = 0.0
        for (first, second), target in targets:
            wanted = target * rows / target.sum()
            found = np.zeros(target.shape)
            np.add.at(found, (of[first], of[second]), 1)
            total += float(((found - wanted) ** 2 / (wanted + cost_tables.SOFTNESS)).sum())
        return total

    records = np.ascontiguousarray(codes.T)
    gained = swap_kernels.take_best_by_column(
        records, np.array([7]), np.array([1]), *tables.views()
    )
    of_values = []
    for value in range(sizes[1]):
        changed = codes.copy()
        changed[1, 7] = value
        of_values.append(cost(changed))
    assert records[7, 1] == np.argmin(of_values)
    assert gained == pytest.approx(of_values[codes[1, 7]] - min(of_values), abs=1e-3)
    assert np.array_equal(np.delete(records, 7, axis=0), np.delete(codes.T, 7, axis=0))
