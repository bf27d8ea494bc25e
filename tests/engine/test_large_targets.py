"""Targets of more than three columns: costs by plain sums, rows near to them, cells that stay empty, and
refusals."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from synth_engine.domain import Categorical, Domain, Impossible, Integer
from synth_engine.errors import InputError
from synth_engine.inference import cost_tables, record_refinement, refine_triples, swap_kernels
from synth_engine.inference.cost_tables import SOFTNESS, AttributeFacts, Axes, RowRepeats
from synth_engine.models import blocks, description
from synth_engine.models.binning import Binning
from synth_engine.models.model import MAX_TARGET_COLUMNS, Model, Table, whole_weights

Codes = npt.NDArray[np.uint16]
Floats = npt.NDArray[np.float64]
SIZES = (3, 4, 2, 5, 3)
ROWS = 700
SETS: tuple[tuple[Axes, ...], ...] = (
    ((0, 1, 2, 3),),
    ((4, 2, 0, 1, 3), (1, 3), (3, 0, 2, 4)),
    ((0, 1), (2, 0, 3), (3, 1, 4, 0), (0, 1, 2, 3, 4), (4, 2)),
)


def uniform(seed: int, rows: int = ROWS) -> Codes:
    rng = np.random.default_rng(seed)
    return np.array([rng.integers(0, size, rows) for size in SIZES], dtype=np.uint16)


def wished(sets: tuple[Axes, ...], seed: int = 1) -> list[tuple[Axes, Floats]]:
    rng = np.random.default_rng(seed)
    return [(axes, rng.random([SIZES[axis] for axis in axes]) ** 4) for axes in sets]


def count(codes: Codes, axes: Axes) -> Floats:
    counts = np.zeros([SIZES[axis] for axis in axes])
    np.add.at(counts, tuple(codes[axis] for axis in axes), 1)
    return counts


def cost(codes: Codes, targets: list[tuple[Axes, Floats]]) -> float:
    total = 0.0
    for axes, target in targets:
        wanted = target * codes.shape[1] / target.sum()
        total += float(((count(codes, axes) - wanted) ** 2 / (wanted + SOFTNESS)).sum())
    return total


def built(codes: Codes, targets: list[tuple[Axes, Floats]]) -> cost_tables.CostTables:
    return cost_tables.build(
        codes, targets, allowed=(), weights=[1.0] * len(targets), softness=SOFTNESS
    )


def changed(records: Codes) -> Codes:
    return np.ascontiguousarray(records.T)


@pytest.mark.parametrize("sets", SETS)
def test_costs_after_changes_are_those_of_plain_sums(sets: tuple[Axes, ...]) -> None:
    """Of one change after another, in every attribute; and all costs are then as if they were counted
    again."""
    codes, targets = uniform(0), wished(sets)
    tables = built(codes, targets)
    records, rng = np.ascontiguousarray(codes.T), np.random.default_rng(3)
    for _ in range(300):
        row, axis = int(rng.integers(ROWS)), int(rng.integers(len(SIZES)))
        value = int(rng.integers(SIZES[axis]))
        before = changed(records)
        after = before.copy()
        after[axis, row] = value
        foreseen = 0.0
        if value != before[axis, row]:
            used = cost_tables.tables_of([(axis,)], tables)[1]
            foreseen = swap_kernels.cost_of_exchange(
                records[row],
                after[[axis], row],
                np.array([axis]),
                tables.arrays,
                used,
                np.empty(used.size, dtype=np.int64),
            )
        assert foreseen == pytest.approx(cost(after, targets) - cost(before, targets), abs=2e-3)
        assert np.array_equal(records, before.T)
        swap_kernels.change(records[row], axis, value, tables.arrays)
        assert np.array_equal(changed(records), after)
    again = built(changed(records), targets)
    assert np.allclose(tables.costs, again.costs, atol=1e-3)


@pytest.mark.parametrize("sets", SETS)
@pytest.mark.parametrize("loop", ["exchange", "best", "counts"])
def test_every_loop_says_by_how_much_the_cost_changes(
    sets: tuple[Axes, ...], loop: str
) -> None:
    codes, targets = uniform(0), wished(sets)
    tables, records = built(codes, targets), np.ascontiguousarray(codes.T)
    free = np.array(sorted({axis for axes in sets for axis in axes}))
    order = np.random.default_rng(2).permutation(ROWS)
    state = np.array([7], dtype=np.uint64)
    if loop == "exchange":
        members = [(0,), (1, 3), (0, 2, 3)]
        together = swap_kernels.Sets(
            *cost_tables.flatten_lists(members), *cost_tables.tables_of(members, tables)
        )
        gained = swap_kernels.exchange_sets(records, 4_000, state, tables.arrays, together)
    elif loop == "best":
        gained = swap_kernels.take_best_by_column(records, order, free, *tables.views())
    else:
        excess = np.array([-40, 60, -30, 10], dtype=np.int64)
        gained = -swap_kernels.move_to_counts(records, order, 1, excess, tables.views())
        assert not excess.any()
    assert gained != 0
    fell = cost(codes, targets) - cost(changed(records), targets)
    assert gained == pytest.approx(fell, rel=1e-3, abs=0.05)


def test_values_of_similar_records_are_taken_by_the_same_costs() -> None:
    """Costs that are kept while records change are those of the records in the end."""
    codes = uniform(0)
    targets = wished(((0, 1), (1, 2), (0, 2), (1, 4), (0, 4), (0, 1, 2, 3), (4, 1, 0, 2, 3)))
    facts = AttributeFacts(
        ordered=[True] * 5, strengths=cost_tables.dependence_strengths(targets)
    )
    # Triples that are within a target are known: only columns apart from all of them imply one.
    pairs = [one for one in targets if len(one[0]) == 2]
    assert not refine_triples.implied_triples(
        targets, ordered=[True] * 5, strengths=facts.strengths, rows=ROWS
    ).triples
    assert refine_triples.implied_triples(
        pairs, ordered=[True] * 5, strengths=facts.strengths, rows=ROWS
    ).triples
    some = [one for one in targets if one[0] != (4, 1, 0, 2, 3)] + wished(((3, 2, 1, 0),), 5)
    prepared = refine_triples._prepare(codes, targets=some, facts=facts)
    assert prepared is not None
    layout, free, near = prepared
    before = layout.costs.copy()
    found = refine_triples._refine_layout(layout, free, near, rng=np.random.default_rng(4))[:5]
    assert not np.array_equal(found, codes) and not np.allclose(before, layout.costs, atol=1e-3)
    again = refine_triples._prepare(found, targets=some, facts=facts)
    assert again is not None and np.allclose(again[0].costs, layout.costs, atol=1e-2)
    assert layout.further is not None and layout.further.shape == (len(layout.lines), 3)


def test_tables_of_five_columns_are_counted_as_by_plain_sums() -> None:
    codes = uniform(6)
    for axes in itertools.permutations(range(5), 4):
        shape = tuple(SIZES[axis] for axis in axes)
        counted = RowRepeats(first=100, times=3).table(codes, axes, shape)
        assert np.array_equal(counted, count(codes, axes) + 2 * count(codes[:, :100], axes))


def test_cells_that_may_not_be_entered_stay_empty_in_the_loops() -> None:
    axes = (3, 0, 1, 2)
    may = np.random.default_rng(8).random([SIZES[axis] for axis in axes]) < 0.5
    codes = uniform(0, 3_000)
    codes = codes[:, may[tuple(codes[axis] for axis in axes)]]
    facts = AttributeFacts(allowed=[(axes, may)])
    targets = wished(((0, 1, 2, 3), (1, 4)))  # wish for records in all cells
    found = record_refinement.refine(
        codes, targets=targets, rng=np.random.default_rng(2), facts=facts
    )
    assert may[tuple(found[axis] for axis in axes)].all()


# --- models -------------------------------------------------------------------------------------------------


def parity(inputs: int = 3, *rules: Any, rows: int = 5_000) -> Model:
    """The last of `inputs` + 1 columns is the parity of the others, and two columns more are independent of
    all. All pairs are targets, and the table of parity."""
    names = [*(f"input {number}" for number in range(inputs)), "label"]
    domain = Domain(
        attributes=(
            *(Categorical(name=name, values=("0", "1"), outside="clamp") for name in names),
            Categorical(name="shop", values=("a", "b", "c"), outside="clamp"),
            Integer(name="age", low=0, high=9),
        ),
        constraints=rules,
    )
    whole = np.indices([2] * len(names)).sum(axis=0) % 2 == 0
    columns = {name: np.ones(size) for name, size in domain.sizes.items()}
    columns["age"] = np.arange(1.0, 11.0)
    pairs = [
        (pair, reduce(np.multiply.outer, (columns[name] for name in pair)))
        for pair in itertools.combinations(domain.sizes, 2)
    ]
    return Model(
        mechanism="independent",
        domain=domain,
        rows=rows,
        tables=tuple(
            Table(clique=(name,), weights=whole_weights(column))
            for name, column in columns.items()
        ),
        targets=tuple(
            Table(clique=clique, weights=whole_weights(table.astype(np.float64)))
            for clique, table in [*pairs, (tuple(names), whole)]
        ),
    )


def shares_right(model: Model, codes: dict[str, Codes]) -> float:
    inputs = [name for name in model.domain.sizes if name not in ("shop", "age")]
    return float(np.mean(sum(codes[name].astype(np.int64) for name in inputs) % 2 == 0))


def distance(model: Model, codes: dict[str, Codes]) -> float:
    """The largest distance of a target from its share of rows."""
    rows = len(codes["shop"])
    off = []
    for table in model.targets:
        counts = np.zeros(table.weights.shape)
        np.add.at(counts, tuple(codes[name] for name in table.clique), 1)
        off.append(float(np.abs(counts / rows - table.weights / table.weights.sum()).sum() / 2))
    return max(off)


@pytest.mark.parametrize("inputs", [3, MAX_TARGET_COLUMNS - 1])
def test_rows_have_the_parity_of_a_target(inputs: int) -> None:
    """Pairs alone say nothing of it."""
    model = parity(inputs)
    codes = model.sample(blocks.FIRST, seed="s")
    assert shares_right(model, codes) > 0.99
    assert distance(model, codes) < 0.01
    pairs_only = replace(model, targets=model.targets[:-1])
    without = pairs_only.sample(blocks.FIRST, seed="s")
    assert 0.4 < shares_right(model, without) < 0.6


def test_rows_stay_byte_for_byte() -> None:
    """With a stored document as with the model itself."""
    given = parity()
    document = json.loads(json.dumps(given.to_json()))
    for model in (given, Model.from_json(document)):
        codes = model.sample(3_000, seed="pinned")
        digest = hashlib.sha256(b"".join(codes[name].tobytes() for name in codes)).hexdigest()
        assert digest == "60d57c0104f83bc64151b04e24759002e6eabe2b16bd54c36df3b43e29f1b082"


EVEN = Impossible(combination={"input 0": ("0",), "input 1": ("0",), "input 2": ("0",)})
ALL_FOUR = Impossible(combination={**EVEN.combination, "label": ("0",)})
FIVE = Impossible(combination={**ALL_FOUR.combination, "shop": ("a",)})


@pytest.mark.parametrize("rule", [EVEN, ALL_FOUR, FIVE])
def test_what_cannot_be_is_never_drawn(rule: Impossible) -> None:
    """The targets wish for it: an eighth of their records."""
    model = parity(3, rule)
    codes = model.sample(8_000, seed="s")
    forbidden = np.all([codes[name] == 0 for name in rule.combination], axis=0)
    assert not forbidden.any()
    # Five columns change together only, from record to record: the target is of four of them.
    assert shares_right(model, codes) > (0.6 if rule is FIVE else 0.98)


def binned(*, ages: int) -> Model:
    """Ages by bins, which decide the parity of three columns."""
    model = parity()
    of_bin = np.arange(10, dtype=np.int64) * ages // 10
    within = whole_weights(np.arange(1.0, 11.0))

    def by_bins(table: Table) -> Table:
        if table.clique[-1] != "age":
            return table
        sums = np.stack(
            [table.weights[..., of_bin == b].sum(axis=-1) for b in range(ages)], axis=-1
        )
        return replace(table, weights=sums)

    shares = np.bincount(of_bin, weights=within)
    even = np.indices((2, 2, 2, ages)).sum(axis=0) % 2 == 0
    mixed = Table(
        clique=("input 0", "input 1", "input 2", "age"), weights=whole_weights(even * shares)
    )
    return replace(
        model,
        tables=tuple(map(by_bins, model.tables)),
        targets=(*map(by_bins, model.targets[:-1]), mixed),
        merged=(Binning(attribute="age", bins=of_bin, within=within),),
    )


def test_targets_of_four_columns_count_by_bins() -> None:
    model = binned(ages=5)
    codes = model.sample(8_000, seed="s")
    bins = codes["age"].astype(np.int64) * 5 // 10
    odd = (sum(codes[f"input {k}"].astype(np.int64) for k in range(3)) + bins) % 2
    assert odd.mean() < 0.01
    assert np.unique(codes["age"]).size == 10


def test_descriptions_and_documents_round_trip() -> None:
    given = parity(MAX_TARGET_COLUMNS - 1)
    assert Model.from_json(json.loads(json.dumps(given.to_json()))).to_json() == given.to_json()
    document = json.loads(json.dumps(description.write(given)))
    again = description.read(document)
    assert again.to_json() == given.to_json() and not description.edited(document, again)


@pytest.mark.parametrize("columns", [1, MAX_TARGET_COLUMNS + 1])
def test_targets_of_one_column_and_of_nine_are_refused(columns: int) -> None:
    model = parity(MAX_TARGET_COLUMNS - 1)
    clique = tuple(model.domain.sizes)[:columns]
    target = Table(clique=clique, weights=whole_weights(np.ones(model.domain.shape(clique))))
    with pytest.raises(InputError) as refused:
        replace(model, targets=(target,))
    assert refused.value.column == clique[-1]
    assert "2 to 8 columns" in refused.value.rule
    assert "as many different columns" in refused.value.repair
