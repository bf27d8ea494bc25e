"""How many nodes a tree is foretold to have, how deep one with classes goes by itself, and what of points is
refused or taken."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth_engine import cli, mechanisms
from synth_engine.domain import Categorical, Domain, Integer, Partition, Place, PointSet
from synth_engine.hierarchy import Rule
from synth_engine.indexing import prefixes
from synth_engine.mechanisms.trees import resources, threshold_tree
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec

TREES = ("adaptive", "adaptive-basic", "adaptive-improved", "privtree", "direct-synthesis")
SIDES = tuple(Integer(name=name, low=0, high=63, width=1) for name in ("north", "east"))
HOME = (Place(name="home", latitude="north", longitude="east"),)
TRADE = Categorical(name="trade", values=tuple(f"{n:02}" for n in range(60)), outside="clamp")
GROUPS = Partition(name="group", column="trade", of=tuple(f"g{n // 6}" for n in range(60)))
PLACES = Domain(attributes=SIDES, places=HOME)
TRADES = Domain(attributes=(*SIDES, TRADE), partitions=(GROUPS,), places=HOME)


def table(domain: Domain, rows: int) -> dict[str, np.ndarray]:
    """Forty places of different sizes, each with a trade of its own."""
    rng = np.random.default_rng(5)
    place = rng.choice(40, rows, p=np.arange(40, 0, -1) / 820)
    centres = np.random.default_rng(6).integers(0, 60, (3, 40))
    found = {}
    for axis, name in enumerate(domain.names):
        found[name] = np.clip(
            np.rint(rng.normal(centres[axis][place], 2)), 0, domain.sizes[name] - 1
        ).astype(np.uint16)
    return found


# ---- forecasts
# ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [PLACES, TRADES], ids=["places", "trades"])
@pytest.mark.parametrize("epsilon", ["1/2", "5"])
@pytest.mark.parametrize("mechanism", TREES[:4])
def test_the_nodes_of_a_tree_are_foretold_within_a_few_times(
    mechanism: str, epsilon: str, domain: Domain
) -> None:
    together = {"together": "product"} if mechanism == "adaptive" else {}
    plan = mechanisms.plan(
        domain, Spec(mechanism=mechanism, epsilon=Fraction(epsilon), parameters=together)
    )
    rows = Rows(table(domain, 20_000), domain=domain)
    (grown,) = plan.run(open_session(rows, domain=domain, cap=plan.loss)).growths
    hierarchy = prefixes.hierarchy(domain, domain.names)
    looked = sum(len(level) for level in grown.levels(hierarchy))
    assert 0.25 * looked < resources.nodes(hierarchy, grown.rule, 20_000) < 5 * looked
    less, more = plan.needs(2_000), plan.needs(200_000)
    assert less.seconds < more.seconds < 10 and less.memory_bytes < more.memory_bytes


def test_there_is_room_for_as_many_nodes_as_can_be_there() -> None:
    trades = prefixes.hierarchy(TRADES, TRADES.names)
    for depth in range(trades.depth + 1):
        assert trades.node_count(depth) == trades.cells(depth)
    placed = PointSet(
        place="home", at=((1.0, 1.0, 1.0), (1.2, 1.1, 1.0), (60.0, 50.0, 1.0), (60.0, 5.0, 2.0))
    )
    supported = prefixes.hierarchy(replace(TRADES, points=(placed,)), TRADES.names)
    whole = [supported.node_count(depth) for depth in range(supported.depth + 1)]
    codes = prefixes.of_codes(
        supported,
        {
            name: each.ravel()
            for name, each in zip(
                TRADES.names, np.meshgrid(range(64), range(64), range(60)), strict=True
            )
        },
        replace(TRADES, points=(placed,)),
    )
    assert whole == [
        np.unique(supported.prefix(codes, depth)).size for depth in range(supported.depth + 1)
    ]
    endless = prefixes.hierarchy(Domain(attributes=SIDES), ("north", "east"))
    assert resources.nodes(endless, Rule(name="basic", depth=6, threshold=1), 10**12) == sum(
        4**n for n in range(1, 7)
    )


# ---- how deep
# ------------------------------------------------------------------------------------------------------


def test_with_classes_a_basic_tree_is_as_deep_as_records_and_budget_bear() -> None:
    def depth(records: float, epsilon: str, domain: Domain = TRADES, **parameters: Any) -> int:
        plan = mechanisms.plan(
            domain,
            Spec(mechanism="adaptive-basic", epsilon=Fraction(epsilon), parameters=parameters),
        )
        assert isinstance(plan, threshold_tree.ThresholdPlan)
        return plan.growth_rule(records)[0].depth

    deepest = prefixes.hierarchy(TRADES, TRADES.names).depth
    assert depth(10**9, "1") == deepest and depth(0, "1") == 1
    assert depth(1_000, "1/10") < depth(1_000, "1") < depth(100_000, "1") <= deepest
    assert (
        depth(10, "1", depth=5) == 5 and depth(10, "1", PLACES) == 6
    )  # asked for, and of points as published
    codes = table(TRADES, 50_000)
    few, many = (
        {name: column[:rows] for name, column in codes.items()} for rows in (1_000, 50_000)
    )
    found = []
    for known in (few, many):
        rows = Rows(known, domain=TRADES)
        plan = mechanisms.plan(TRADES, Spec(mechanism="adaptive-basic", epsilon=Fraction(1)))
        answers = plan.run(open_session(rows, domain=TRADES, cap=plan.loss))
        found.append(answers.growths[0].rule.depth)
        assert (
            plan.fit(answers).rows > 0
            and sum(call.event.pure_epsilon() for call in answers.calls) <= 1
        )
    assert found[0] < found[1]


# ---- what is refused, and what is taken
# ------------------------------------------------------------------------------


def synthesized(
    folder: Path, document: dict[str, Any], text: str, mechanism: str, **options: str
) -> tuple[int, str]:
    """Exit code and what was said."""
    (folder / "domain.json").write_text(json.dumps(document))
    (folder / "t.csv").write_text(text)
    said = io.StringIO()
    given = [f"--{name}={value}" for name, value in ({"epsilon": "1"} | options).items()]
    with contextlib.redirect_stderr(said):
        code = cli.main(["synthesize", str(folder / "t.csv"), "--domain", str(folder / "domain.json"),
            "--mechanism",
                         mechanism, "--out", str(folder / "o.csv"), *given])  # fmt: skip
    return code, said.getvalue()


def side(name: str, low: float, high: float, bins: int = 16) -> dict[str, Any]:
    edges = [low + (high - low) * n / bins for n in range(bins + 1)]
    return {"name": name, "kind": "number", "low": low, "high": high, "edges": edges}


def box(*sides: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"schema": "synth_engine/domain/1", "attributes": list(sides)} | rest


LAT, LON = side("lat", 40, 42), side("lon", -72, -70)
AT_HOME = [{"name": "home", "latitude": "lat", "longitude": "lon"}]
REFUSED = {
    "no area": (
        box(LAT | {"low": 40, "high": 40, "edges": [40, 40]}, LON, places=AT_HOME),
        "'lat'",
        "increase",
    ),
    "bounds crossed": (
        box(LAT | {"low": 42, "high": 40}, LON, places=AT_HOME),
        "'lat'",
        "swap",
    ),
    "one bin": (box(side("lat", 40, 42, 1), LON, places=AT_HOME), "'lat'", "declare more bins"),
    "may be missing": (
        box(LAT | {"missing": ["none"]}, LON, places=AT_HOME),
        "'lat'",
        "leave such records out",
    ),
    "axes swapped": (
        box(
            LAT,
            side("lon", -172, -170),
            places=[{"name": "home", "latitude": "lon", "longitude": "lat"}],
        ),
        "'lon'",
        "name the column of latitudes first",
    ),
    "nine coordinates": (
        box(*(side(f"c{n}", 0, 1) for n in range(9))),
        "c8",
        "more than 8 coordinates",
    ),
}


@pytest.mark.parametrize("mechanism", TREES)
@pytest.mark.parametrize("why", REFUSED)
def test_boxes_that_make_no_sense_are_refused_by_column_and_repair(
    tmp_path: Path, why: str, mechanism: str
) -> None:
    document, column, repair = REFUSED[why]
    names = [each["name"] for each in document["attributes"]]
    code, said = synthesized(
        tmp_path,
        document,
        ",".join(names) + "\n" + ",".join(["41.777"] * len(names)) + "\n",
        mechanism,
    )
    assert code == cli.BAD_INPUT and said.count("\n") == 1
    assert (
        column in said
        and repair in said
        and "41.777" not in said
        and not (tmp_path / "o.csv").exists()
    )


@pytest.mark.parametrize(
    ("mechanism", "cell"),
    [
        *((name, "47.7") for name in TREES),
        *(("privtree", cell) for cell in ("nan", "-inf", "1e999", "", "x17y")),
    ],
)
def test_no_point_makes_a_run_fail(tmp_path: Path, mechanism: str, cell: str) -> None:
    """It goes to the nearest bound, or to the first bin if it is no number: a refusal would tell of one
    person."""
    text = "lat,lon\n" + f"{cell},-71.2\n" * 400
    code, said = synthesized(
        tmp_path, box(LAT, LON, places=AT_HOME), text, mechanism, epsilon="10"
    )
    assert code == 0 and (not cell or cell not in said)
    lines = (tmp_path / "o.csv").read_text().splitlines()[1:]
    found = np.array([float(line.split(",")[0]) for line in lines])
    low, high = (41.874, 42) if cell in ("47.7", "1e999") else (40, 40.126)
    assert np.mean((low <= found) & (found <= high)) > 0.8


@pytest.mark.parametrize("mechanism", TREES[:4])
def test_a_budget_that_buys_nothing_gives_a_release_with_columns_beside_places(
    tmp_path: Path, mechanism: str
) -> None:
    job = {"name": "job", "kind": "categorical", "values": ["a", "b", "c"], "outside": "clamp"}
    text = "lat,lon,job\n" + "41.1,-71.2,secretly\n" * 5
    code, said = synthesized(
        tmp_path, box(LAT, LON, job, places=AT_HOME), text, mechanism, epsilon="0.001", rows="7"
    )
    assert (
        code == 0
        and "secretly" not in said
        and len((tmp_path / "o.csv").read_text().splitlines()) == 8
    )


def test_direct_synthesis_names_the_column_that_it_does_not_divide(tmp_path: Path) -> None:
    job = {"name": "job", "kind": "categorical", "values": ["a", "b", "c"], "outside": "clamp"}
    code, said = synthesized(
        tmp_path,
        box(LAT, job, LON, places=AT_HOME),
        "lat,job,lon\n41,a,-71\n",
        "direct-synthesis",
    )
    assert (
        code == cli.BAD_INPUT
        and "column 'job': a column of classes" in said
        and "adaptive-improved" in said
    )
