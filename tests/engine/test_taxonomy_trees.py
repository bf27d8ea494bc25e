"""Trees over declared classes, alone and with other columns: what a description becomes, what is drawn, what
is refused."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import cli, mechanisms, verifier
from synth_engine.domain import Categorical, Date, Domain, Integer, Partition, Place, PointSet
from synth_engine.errors import DomainError, InputError
from synth_engine.hierarchy import ProductHierarchy, TaxonomyHierarchy, child_level
from synth_engine.hierarchy.points import SpatialHierarchy as Box
from synth_engine.indexing import prefixes
from synth_engine.models.model import Model
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec

VALUES = tuple(
    f"{sector}{group}{each}" for sector in "ABCD" for group in range(4) for each in range(5)
)
TRADE = Categorical(name="trade", values=VALUES, other=True, missing=("",))
GROUP, SECTOR = (
    Partition(name=name, column="trade", of=tuple(v[:n] for v in VALUES))
    for name, n in (("group", 2), ("sector", 1))
)
TRADES = Domain(attributes=(TRADE,), partitions=(GROUP, SECTOR))
AGE = Categorical(name="age", values=("young", "old"), outside="clamp")
SIDES = tuple(Integer(name=name, low=0, high=63, width=1) for name in ("north", "east"))
ALL = Domain(
    attributes=(TRADE, *SIDES, AGE),
    partitions=TRADES.partitions,
    places=(Place(name="home", latitude="north", longitude="east"),),
)
TREES = ("adaptive-basic", "adaptive-improved", "privtree", "adaptive")


def table(rows: int, *, seed: int = 0) -> dict[str, np.ndarray]:
    """Trades of one sector live together and are of one age; some have no trade, or another one."""
    rng = np.random.default_rng(seed)
    sector = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    trade = sector * 20 + np.minimum(rng.geometric(0.2, rows) - 1, 19)
    trade[: rows // 20], trade[rows // 20 : rows // 10] = TRADE.other_code, TRADE.missing_code
    north = np.clip(np.rint(rng.normal(10 + 20 * sector, 3)), 0, 63)
    codes = {
        "trade": trade,
        "north": north,
        "east": rng.integers(20, 28, rows),
        "age": sector > 0,
    }
    return {name: column.astype(np.uint16) for name, column in codes.items()}


def released(
    domain: Domain, mechanism: str, *, rows: int = 20_000, epsilon: str = "4", **parameters: Any
) -> Model:
    """Of a run whose receipt adds up, and written and read again."""
    spec = Spec(mechanism=mechanism, epsilon=Fraction(epsilon), parameters=parameters)
    plan = mechanisms.plan(domain, spec)
    codes = {name: column for name, column in table(rows).items() if name in domain.names}
    answers = plan.run(open_session(Rows(codes, domain=domain), domain=domain, cap=plan.loss))
    verifier.verify(plan.receipt(answers))
    assert plan.needs(rows).seconds > 0 and 0 <= plan.expected_error(rows=rows).mean <= 1
    model = plan.fit(answers)
    again = Model.from_json(json.loads(json.dumps(model.to_json())))
    assert again.to_json() == model.to_json()
    return again


def apart(drawn: np.ndarray, truth: np.ndarray) -> float:
    """The total variation distance of two columns of whole numbers."""
    size = int(max(drawn.max(), truth.max())) + 1
    shares = [np.bincount(each, minlength=size) / each.size for each in (drawn, truth)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def cells(codes: dict[str, np.ndarray]) -> np.ndarray:
    """Sector, an eighth of the way north and age of each record, as one number."""
    return (codes["trade"].astype(np.int64) // 20 * 8 + codes["north"] // 8) * 2 + codes["age"]


# ---- what a description becomes
# ------------------------------------------------------------------------------------


def test_partitions_that_nest_are_the_levels_of_a_classification() -> None:
    found = prefixes.hierarchy(TRADES, ("trade",))
    assert isinstance(found, TaxonomyHierarchy) and found.branching() == (
        6,
        4,
        5,
    )  # four sectors, other and missing
    codes = prefixes.of_codes(found, {"trade": np.arange(82)}, TRADES)
    paths = [("A", "A0", "A00"), ("B", "B1", "B12"), ("(other)",) * 3, ("(missing)",) * 3]
    assert found.decode(codes[[0, 27, 80, 81]]) == paths
    assert (
        len(set(codes.tolist())) == 82
        and prefixes.nowhere(found, {"trade": np.arange(82)}, TRADES) is None
    )
    top = child_level(found, found.root(), 0, depth=3)
    assert (
        top.opens.tolist() == [True] * 4 + [False] * 2
    )  # other and missing have nothing below
    below = child_level(found, top.prefixes[:1], 1, depth=3)
    assert found.decode(below.prefixes) == [("A", f"A{group}") for group in range(4)]


def test_partitions_that_divide_nothing_are_no_levels() -> None:
    whole = Partition(name="all", column="trade", of=("everything",) * 80)
    each = Partition(name="each", column="trade", of=VALUES)
    again = replace(SECTOR, name="branch", of=tuple(part.lower() for part in SECTOR.of))
    found = prefixes.hierarchy(
        replace(TRADES, partitions=(each, whole, SECTOR, again, GROUP)), ("trade",)
    )
    assert found.branching() == (6, 4, 5)


def test_a_class_named_as_what_is_not_known_is_told_apart() -> None:
    domain = Domain(
        attributes=(Categorical(name="x", values=("a", "b", "c"), other=True, missing=("",)),),
        partitions=(Partition(name="p", column="x", of=("(other)", "(other)", "(missing)")),),
    )
    found = prefixes.hierarchy(domain, ("x",))
    assert len(set(prefixes.of_codes(found, {"x": np.arange(5)}, domain).tolist())) == 5
    assert found.branching() == (4, 2)


def test_several_columns_go_deeper_by_turns_and_back() -> None:
    found = prefixes.hierarchy(ALL, ALL.names)
    assert isinstance(found, ProductHierarchy)
    points, trades, ages = found.components
    assert (
        isinstance(points, Box)
        and points.columns == ("north", "east")
        and ages.columns == ("age",)
    )
    assert found.branching() == (2, 4, 6, 4, 4, 4, 5, 4, 4, 4) and found.depth == len(
        found.schedule
    )
    codes = table(500)
    joined = prefixes.of_codes(found, codes, ALL)
    for at, component in enumerate(found.components):
        own = prefixes.of_codes(component, codes, ALL)
        assert (found.component_prefixes(joined, at) == own).all()
        for level in range(found.depth + 1):
            above = found.component_prefixes(found.prefix(joined, level), at)
            assert (
                above == component.prefix(own, int(found.component_levels(at)[level]))
            ).all()
    for level in range(found.depth + 1):
        assert found.exists(found.prefix(joined, level), level).all()
    assert trades.depth == 3
    whole = found.below(found.below(found.below(found.root(), 0).ravel(), 1).ravel(), 2)
    assert found.exists(whole, 3).sum() == 2 * 4 * 6


@pytest.mark.parametrize(
    ("domain", "rule"),
    [
        (
            replace(
                TRADES, partitions=(SECTOR, replace(GROUP, of=("odd", *GROUP.of[1:-1], "odd")))
            ),
            "do not nest",
        ),
        (
            Domain(
                attributes=(
                    Categorical(
                        name="trade", values=tuple(map(str, range(300))), outside="clamp"
                    ),
                ),
                partitions=(
                    Partition(name="two", column="trade", of=("low",) * 260 + ("high",) * 40),
                ),
            ),
            "more than 255",
        ),
    ],
    ids=["not nested", "too wide"],
)
@pytest.mark.parametrize("mechanism", TREES)
def test_classes_that_make_no_tree_are_refused_by_name(
    domain: Domain, rule: str, mechanism: str
) -> None:
    with pytest.raises(DomainError, match=rule) as refused:
        mechanisms.plan(domain, Spec(mechanism=mechanism, epsilon=Fraction(1)))
    assert refused.value.column == "trade" and refused.value.repair


def test_for_which_tables_trees_of_classes_are() -> None:
    for name in TREES:
        assert mechanisms.REGISTRY[name].suits(TRADES) and not mechanisms.REGISTRY[name].suits(
            replace(TRADES, partitions=())
        )
    wide = Date(
        name="day",
        low=datetime.date(2000, 1, 1),
        high=datetime.date(2001, 12, 31),
        missing=("",),
    )
    for name in TREES[:3]:
        assert mechanisms.REGISTRY[name].suits(ALL)
        assert not mechanisms.REGISTRY[name].suits(
            replace(ALL, attributes=(*ALL.attributes, wide))
        )
    with pytest.raises(
        DomainError, match="a column of classes, which direct-synthesis does not divide"
    ):
        mechanisms.plan(TRADES, Spec(mechanism="direct-synthesis", epsilon=Fraction(1)))
    with pytest.raises(DomainError, match="no coordinate"):
        mechanisms.plan(
            replace(ALL, places=()), Spec(mechanism="adaptive", epsilon=Fraction(1))
        )


# ---- what is drawn
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", TREES)
def test_values_of_one_classified_column_are_as_frequent_as_they_were(mechanism: str) -> None:
    drawn, truth = (
        released(TRADES, mechanism).sample(20_000, seed="s")["trade"],
        table(20_000)["trade"],
    )
    assert apart(drawn, truth) < 0.02
    assert (drawn >= 80).mean() == pytest.approx(
        0.1, abs=0.01
    )  # other and missing are drawn too


@pytest.mark.parametrize("mechanism", TREES)
def test_columns_of_one_tree_stay_together(mechanism: str) -> None:
    own: dict[str, dict[str, Any]] = {
        "adaptive": {"together": "product"},
        "adaptive-basic": {"depth": 10},
    }
    more = own.get(mechanism, {})
    model, truth = released(ALL, mechanism, **more), table(20_000)
    drawn = model.sample(20_000, seed="s")
    assert set(drawn) == set(ALL.names)
    assert apart(cells(drawn), cells(truth)) < 0.03
    for name in ALL.names:
        assert drawn[name].max() < ALL.sizes[name] and apart(drawn[name], truth[name]) < 0.08


def test_further_columns_are_attached_unless_asked_otherwise() -> None:
    attached, product = (
        released(ALL, "adaptive", **more) for more in ({}, {"together": "product"})
    )
    assert attached.tree is not None and product.tree is not None
    assert (
        attached.to_json()["tree"].get("attached")
        and product.to_json()["tree"]["kind"] == "classes"
    )
    truth = cells(table(20_000))
    found = [apart(cells(each.sample(20_000, seed="s")), truth) for each in (attached, product)]
    assert found[1] < found[0]


@pytest.mark.parametrize("halving", ["all", "one"])
def test_public_points_beside_classes_are_kept_to(halving: str) -> None:
    at = tuple((float(n), float(e), 1.0) for n, e in [(10, 22), (30, 25), (50, 21)])
    domain = replace(ALL, points=(PointSet(place="home", at=at),))
    model = released(domain, "adaptive", together="product", halving=halving)
    drawn = model.sample(2_000, seed="s")
    assert {(n, e) for n, e, _ in at} >= set(
        zip(drawn["north"].tolist(), drawn["east"].tolist(), strict=True)
    )


@pytest.mark.parametrize("mechanism", TREES)
def test_nobody_and_hardly_any_budget_give_a_release(mechanism: str) -> None:
    model = released(TRADES, mechanism, rows=0, epsilon="1/1000")
    assert set(model.sample(3_000, seed="s")["trade"].tolist()) <= set(range(82))


def test_trees_of_other_classes_are_refused() -> None:
    document = released(TRADES, "adaptive").to_json()
    cells_, levels = document["tree"]["cells"], document["tree"]["levels"]
    for part, value in (
        ("cells", ["ff" * len(bytes.fromhex(cell)) for cell in cells_]),
        ("cells", [cell + "01" * 9 for cell in cells_]),
        ("levels", [9] * len(levels)),
        ("levels", [max(0, level - 1) for level in levels]),
        ("columns", ["other"]),
        ("placed", "nowhere"),
    ):
        with pytest.raises((InputError, DomainError)):
            Model.from_json(document | {"tree": document["tree"] | {part: value}})


def test_the_command_line_from_a_table_to_a_table(tmp_path: Path) -> None:
    codes, labels = table(3_000), [*VALUES, "elsewhere", ""]
    frame = pd.DataFrame(
        {
            "trade": [labels[code] for code in codes["trade"]],
            "age": np.array(AGE.values)[codes["age"]],
        }
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    domain = Domain(attributes=(TRADE, AGE), partitions=TRADES.partitions)
    (tmp_path / "domain.json").write_text(json.dumps(domain.to_json()))
    arguments = [
        "synthesize",
        "data.csv",
        "--domain",
        "domain.json",
        "--mechanism",
        "adaptive-improved",
    ]
    more = [
        "--epsilon",
        "4",
        "--seed",
        "s",
        "--out",
        "out.csv",
        "--receipt",
        "receipt.json",
        "--model",
        "model.json",
    ]
    assert (
        cli.main([str(tmp_path / one) if "." in one else one for one in (*arguments, *more)])
        == 0
    )
    assert cli.main(["verify", str(tmp_path / "receipt.json")]) == 0
    drawn = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
    old = drawn.trade.str.startswith(("B", "C"))
    assert list(drawn.columns) == ["trade", "age"] and (drawn.age[old] == "old").mean() > 0.9
