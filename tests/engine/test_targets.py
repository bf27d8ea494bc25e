"""Models whose rows are finished: near to many tables at once, with bins of large columns, and every
constraint kept."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from synth_engine.domain import Categorical, Domain, Impossible, Integer, Order
from synth_engine.domain.conditions import ValueRange
from synth_engine.errors import InputError
from synth_engine.models import description
from synth_engine.models.binning import Binning
from synth_engine.models.model import WHOLE, Model, Node, Table, whole_weights

Floats = npt.NDArray[np.float64]

COLUMNS = (
    Categorical(name="shop", values=("a", "b", "c"), outside="clamp"),
    Categorical(name="size", values=("s", "m", "l", "xl"), outside="clamp"),
    Integer(name="low", low=0, high=9),
    Integer(name="high", low=0, high=9),
    Integer(name="price", low=0, high=199, width=1),
)
BINS = np.arange(200, dtype=np.int64) // 50
SMALL = ("shop", "size", "low", "high")
ROWS = 4_000


def truth(domain: Domain, *, keeping: bool) -> dict[str, npt.NDArray[np.int64]]:
    """Codes of columns that depend on one another. The price is a code, not a bin."""
    rng = np.random.default_rng(1)
    hidden = rng.random(ROWS)
    codes = {
        name: np.minimum((hidden + rng.random(ROWS)) / 2 * size, size - 1).astype(np.int64)
        for name, size in domain.sizes.items()
    }
    if keeping:
        codes["low"], codes["high"] = (
            np.minimum(codes["low"], codes["high"]),
            np.maximum(codes["low"], codes["high"]),
        )
    return codes


def model(*rules: Any, keeping: bool = True, triples: bool = False) -> Model:
    """A chain of the true pairs, all pairs of columns as targets, and the price in four bins."""
    domain = Domain(attributes=COLUMNS, constraints=rules)
    codes = truth(domain, keeping=keeping)
    within = whole_weights(np.bincount(codes["price"], minlength=200).astype(np.float64))
    known = codes | {"price": BINS[codes["price"]]}
    names = list(domain.sizes)

    def table(*clique: str) -> Table:
        shape = tuple(4 if name == "price" else domain.sizes[name] for name in clique)
        counts = np.zeros(shape)
        np.add.at(counts, tuple(known[name] for name in clique), 1)
        return Table(clique=clique, weights=whole_weights(counts))

    chain = [
        ((names[0],), ()),
        *(((before, name), (before,)) for before, name in itertools.pairwise(names)),
    ]
    pairs = [table(*pair) for pair in itertools.combinations(names, 2)]
    return Model(
        mechanism="bayesian-network",
        domain=domain,
        rows=ROWS,
        tables=tuple(table(*clique) for clique, _ in chain),
        network=tuple(Node(attribute=clique[-1], parents=parents) for clique, parents in chain),
        targets=tuple([*pairs, table("shop", "size", "price")] if triples else pairs),
        merged=(Binning(attribute="price", bins=BINS, within=within),),
    )


def counted(model: Model, codes: dict[str, npt.NDArray[np.uint16]], table: Table) -> Floats:
    counts = np.zeros(table.weights.shape)
    np.add.at(
        counts, tuple(BINS[codes[n]] if n == "price" else codes[n] for n in table.clique), 1
    )
    return counts


def distance(model: Model, codes: dict[str, npt.NDArray[np.uint16]]) -> float:
    shares = [
        (counted(model, codes, table) / len(codes["shop"]), table.weights / WHOLE)
        for table in model.targets
    ]
    return float(np.mean([np.abs(a - b).sum() / 2 for a, b in shares]))


@pytest.mark.parametrize("triples", [False, True])
def test_rows_come_near_to_all_targets(triples: bool) -> None:
    finished = model(triples=triples)
    chain = replace(finished, targets=())
    assert distance(finished, chain.sample(ROWS, seed="s")) > 0.05
    assert distance(finished, finished.sample(ROWS, seed="s")) < 0.01


def test_the_same_seed_gives_the_same_rows_and_a_small_table_is_a_part_of_a_large_one() -> None:
    first, again, other = (model().sample(ROWS, seed=seed) for seed in ("s", "s", "t"))
    few = model().sample(50, seed="s")
    for name in first:
        assert np.array_equal(first[name], again[name])
        assert np.array_equal(few[name], first[name][:50])
        assert first[name].dtype == np.uint16
    assert not np.array_equal(first["shop"], other["shop"])


def test_codes_are_drawn_within_their_bins() -> None:
    """As often as their column's own table has them: each within one of its expectation."""
    finished = model()
    prices = np.bincount(finished.sample(ROWS, seed="s")["price"], minlength=200)
    bins = np.bincount(BINS, weights=prices)
    within = finished.merged[0].within.astype(np.float64)
    expected = within * (bins / np.bincount(BINS, weights=within))[BINS]
    assert np.abs(prices - expected).max() <= 1.001


def test_a_bin_without_weight_is_spread_evenly() -> None:
    within = np.where(BINS == 0, 0, WHOLE // 150).astype(np.int64)
    within[-1] += WHOLE - within.sum()
    one = Binning(attribute="price", bins=BINS, within=within)
    found = one.draw_codes(np.zeros(500, dtype=np.uint16), rng=np.random.default_rng(0))
    assert np.bincount(found, minlength=200)[:50].tolist() == [10] * 50


RULES = [
    (
        Impossible(combination={"shop": ("a",), "size": ("xl",)}),
        Order(first="low", second="high"),
    ),
    (  # four columns hang together: too many for a table of cells
        Order(first="low", second="high"),
        Impossible(combination={"low": (ValueRange(high=1),), "shop": ("a",)}),
        Impossible(combination={"shop": ("b",), "size": ("xl",)}),
    ),
    (
        Impossible(combination={"size": ("xl",), "shop": ("b",)}),
        Order(first="high", second="price"),
    ),
]


@pytest.mark.parametrize("rules", RULES)
def test_constraints_hold_in_every_row_though_targets_wish_otherwise(
    rules: tuple[Any, ...],
) -> None:
    wishing = model(*rules, keeping=False)
    codes = wishing.sample(ROWS, seed="s")
    assert all(component.holds(codes).all() for component in wishing.domain.components)
    alone = wishing.unconstrained.sample(ROWS, seed="s")
    assert not all(component.holds(alone).all() for component in wishing.domain.components)


def test_the_finish_keeps_constraints_by_itself() -> None:
    """It comes as near to targets that can be as it does without constraints; nothing is undone and mended
    again."""
    free, bound = model(), model(Order(first="low", second="high"))
    assert (
        distance(bound, bound.sample(ROWS, seed="s"))
        < 1.5 * distance(free, free.sample(ROWS, seed="s")) + 0.002
    )


def test_documents_round_trip() -> None:
    given = model(triples=True)
    document = json.loads(json.dumps(given.to_json()))
    assert document["schema"] == "synth_engine/model/1"
    again = Model.from_json(document)
    assert again.to_json() == given.to_json()
    assert np.array_equal(
        again.sample(90, seed="s")["price"], given.sample(90, seed="s")["price"]
    )


def plain(*rules: Any, network: bool) -> Model:
    """A model without targets and bins."""
    domain = Domain(attributes=COLUMNS, constraints=rules)
    names = list(domain.sizes)
    chain = [(names[0],), *itertools.pairwise(names)]
    cliques: list[tuple[str, ...]] = list(chain) if network else [(name,) for name in names]
    tables = []
    for clique in cliques:
        shape = domain.shape(clique)
        weights = (np.arange(np.prod(shape)) * 7919 % 101).reshape(shape).astype(np.float64)
        tables.append(Table(clique=clique, weights=whole_weights(weights)))
    nodes = (
        tuple(Node(attribute=clique[-1], parents=clique[:-1]) for clique in cliques)
        if network
        else ()
    )
    return Model(
        mechanism="independent", domain=domain, rows=900, tables=tuple(tables), network=nodes
    )


@pytest.mark.parametrize(
    ("network", "ruled", "sha256"),
    [
        (False, False, "8aaaa7b73c170ca8a154936839a47ed7ca6a72b70fe2d87ca25d779990b35944"),
        (False, True, "b77187af51273aefa58f23c0bab03ea144a51e473f70d4434cdfcaa23e92ec48"),
        (True, False, "af30768de890d113b3613a4cccaa6a6d53826d5beda0d1f41928f5e6495e19f3"),
        (True, True, "85a1477b03593d2a0135c653eea21e7b23e45026387196409bb41e8e173e1c23"),
    ],
)
def test_models_without_targets_give_the_rows_that_they_gave(
    network: bool, ruled: bool, sha256: str
) -> None:
    older = plain(*(RULES[0] if ruled else ()), network=network)
    document = older.to_json()
    assert document["schema"] == "synth_engine/model/1" and not {"targets", "merged"} & set(
        document
    )
    assert digest(Model.from_json(document).sample(300, seed="pinned")) == sha256


def test_targets_of_too_many_cells_are_refused() -> None:
    target = Table(clique=("low", "price"), weights=whole_weights(np.ones((10, 200))))
    with pytest.raises(InputError, match="4,000,000 cells"):
        replace(plain(network=True), targets=(target,) * 2_001)


def _broken(part: str, change: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(model().to_json()))
    change(document[part][0])
    return document


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("targets", lambda one: one.update(clique=["shop", "shop"], weights=[WHOLE] + [0] * 8)),
        ("targets", lambda one: one.update(clique=["shop"], weights=[WHOLE, 0, 0])),
        ("targets", lambda one: one["weights"].append(0)),
        ("merged", lambda one: one["bins"].__setitem__(0, 7)),
        ("merged", lambda one: one["bins"].pop()),
        ("merged", lambda one: one["within"].__setitem__(0, WHOLE)),
        ("merged", lambda one: one.update(attribute="nobody")),
    ],
)
def test_broken_documents_are_refused(part: str, change: Any) -> None:
    with pytest.raises(InputError):
        Model.from_json(_broken(part, change))


def test_descriptions_round_trip() -> None:
    given = model(triples=True)
    document = json.loads(json.dumps(description.write(given)))
    again = description.read(document)
    assert again.to_json() == given.to_json() and not description.edited(document, again)


def digest(codes: dict[str, npt.NDArray[np.uint16]]) -> str:
    sha = hashlib.sha256()
    for name, column in codes.items():
        sha.update(name.encode() + column.astype("<u2").tobytes())
    return sha.hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["targets"][0].update(given=["nobody"]),
        lambda d: d["targets"][0].update(column="nobody"),
        lambda d: d.update(targets={}),
        lambda d: d.update(merged=[]),
        lambda d: d["merged"].update(nobody={}),
        lambda d: d["merged"]["price"]["bins"][0].pop(),
        lambda d: d["merged"]["price"]["bins"][0].append(d["merged"]["price"]["bins"][1][0]),
        lambda d: d["merged"]["price"].pop("shares"),
    ],
)
def test_broken_descriptions_are_refused(change: Any) -> None:
    document = json.loads(json.dumps(description.write(model())))
    change(document)
    with pytest.raises(InputError):
        description.read(document)


def test_an_edited_target_changes_the_rows() -> None:
    document = json.loads(json.dumps(description.write(model())))
    table = document["targets"][0]["tables"][0]
    table["shares"] = {"xl": 1}
    changed = description.read(document)
    assert description.edited(document, changed)
    assert table["when"] == {"shop": "a"}
    before, after = (
        counted(one, one.sample(ROWS, seed="s"), one.targets[0])[0, 3]
        for one in (model(), changed)
    )
    assert after > 5 * before
