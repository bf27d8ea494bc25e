"""Texts and classes in one tree: which texts go with which values, whatever the rule by which the tree is
grown."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import cli, mechanisms, verifier
from synth_engine.domain import Categorical, Domain, Integer, Partition, Weak
from synth_engine.errors import DomainError, InputError
from synth_engine.evaluation import tree_cells, tree_classes, tree_notes
from synth_engine.hierarchy import (
    ProductHierarchy,
    SpatialHierarchy,
    StringHierarchy,
    TaxonomyHierarchy,
    child_level,
)
from synth_engine.indexing import prefixes
from synth_engine.kinds.completions import Completions
from synth_engine.measurement import Answers, Leaves
from synth_engine.mechanisms.trees import resources
from synth_engine.models.model import Model
from synth_engine.models.trees import factory
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from synth_engine.values import from_json
from tests.answers import replaced
from tests.engine.test_worded import (
    BAND,
    QUERY,
    REGION,
    SIGNS,
    TEXTS,
    apart,
    asked,
    drawn,
    opened,
)

TOGETHER = {"adaptive": {"together": "product"}}
METHODS = ("adaptive", "adaptive-basic", "adaptive-improved", "privtree")
HALVES = Partition(name="half", column="region", of=("up", "down", "down", "up"))
DOMAIN = Domain(attributes=(QUERY, BAND, REGION), partitions=(HALVES,))


def released(
    mechanism: str = "adaptive",
    *further: Categorical,
    epsilon: str = "2",
    delta: str = "0",
    columns: dict[str, np.ndarray] | None = None,
) -> tuple[Any, Answers, Model]:
    rows = opened(*(further or (BAND, REGION)), columns=asked() if columns is None else columns)
    parameters: dict[str, Any] = TOGETHER.get(
        mechanism, {"depth": 7} if mechanism == "adaptive-basic" else {}
    )
    spec = Spec(
        mechanism=mechanism,
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        parameters=parameters,
    )
    plan = mechanisms.plan(rows.domain, spec)
    answers = plan.run(open_session(rows, domain=rows.domain, cap=plan.loss))
    return plan, answers, plan.fit(answers)


# ---- the hierarchy
# ---------------------------------------------------------------------------------------------------


def test_every_record_is_in_one_node_of_each_depth_and_ended_texts_have_one_child() -> None:
    found = prefixes.hierarchy(DOMAIN, DOMAIN.names)
    assert isinstance(found, ProductHierarchy)
    words, bands, regions = found.components
    assert (
        isinstance(words, StringHierarchy)
        and isinstance(bands, TaxonomyHierarchy)
        and isinstance(regions, TaxonomyHierarchy)
    )
    # bands and halves, the first sign; regions of a half and the second sign or the end; then signs alone
    assert found.branching() == (2, 3, 10, 2, 11, 11, 11, 11, 11) and found.depth == len(
        found.schedule
    )
    texts = words.encode(TEXTS)
    row = np.random.default_rng(3).integers(0, (len(TEXTS), 3, 4), (300, 3)).T
    own = [texts[row[0]], bands.codes[row[1]], regions.codes[row[2]]]
    joined = found.join(own)
    for at, codes in enumerate(own):
        assert (found.component_prefixes(joined, at) == codes).all()
    nodes, level_above = found.root(), 0
    for level in range(1, found.depth + 1):
        below = child_level(found, nodes, level_above, depth=found.depth).prefixes
        mine = found.prefix(joined, level)
        assert np.unique(below).size == below.size and np.isin(mine, below).all()
        assert found.exists(mine, level).all()
        nodes, level_above = np.unique(mine), level
    ended = found.prefix(
        found.join([words.encode(["a"]), bands.codes[:1], regions.codes[:1]]), 5
    )
    assert not found.divides(ended, 5).any()  # nothing is left to tell apart
    assert len(child_level(found, ended, 5, depth=found.depth)) == 1
    wrong = np.array([bytes([1, 1, 2, 1, 1, 5])], dtype=ended.dtype)  # a sign after the end
    early = np.array([bytes([1, 1, 1])], dtype=ended.dtype)  # no text is empty
    unknown = np.array([bytes([1, 1, 12])], dtype=ended.dtype)  # the alphabet has ten signs
    assert (
        not found.exists(wrong, 6).any()
        and not found.exists(early, 3).any()
        and not found.exists(unknown, 3).any()
    )


def test_only_one_column_of_texts_and_as_many_signs_as_a_symbol_has_fit_into_one_tree() -> None:
    second = Weak(name="reply", values=SIGNS)
    spec = Spec(mechanism="adaptive", epsilon=Fraction(1), parameters=TOGETHER["adaptive"])
    with pytest.raises(DomainError, match=r"reply.*among those of a tree"):
        mechanisms.plan(Domain(attributes=(QUERY, second)), spec)
    signs = "".join(chr(0x4E00 + n) for n in range(255))
    wide = Weak(
        name="query",
        values=from_json(
            {"set": "strings", "alphabet": signs, "max_length": 3, "min_length": 1}
        ),
    )
    with pytest.raises(DomainError, match="an alphabet of 255 signs beside other columns"):
        mechanisms.plan(Domain(attributes=(wide, BAND)), spec)
    number = Integer(name="age", low=0, high=7, missing=("",))
    for mechanism in METHODS:
        assert mechanisms.REGISTRY[mechanism].suits(DOMAIN)
    for mechanism in METHODS[1:]:
        assert not mechanisms.REGISTRY[mechanism].suits(Domain(attributes=(QUERY, number)))
    with pytest.raises(
        DomainError, match=r"texts beside others, which direct-synthesis does not divide"
    ) as refused:
        mechanisms.plan(
            Domain(attributes=(QUERY, Integer(name="age", low=0, high=7, width=1))),
            Spec(mechanism="direct-synthesis", epsilon=Fraction(1)),
        )
    assert refused.value.column == "query"


# ---- what is drawn
# -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", METHODS)
def test_texts_and_classes_of_one_tree_stay_together(mechanism: str) -> None:
    plan, answers, model = released(mechanism)
    found, truth = drawn(model), asked()
    for names in (("query", "band"), ("query", "region"), ("query", "band", "region")):
        assert apart(found, truth, *names) < 0.09, names
    assert (
        list(model.domain.names) == ["query", "band", "region"]
        and model.domain.attribute("query").kind == "text"
    )
    spent = sum(call.event.pure_epsilon() for call in answers.calls)
    assert Fraction(95, 100) * 2 < spent <= 2 == verifier.verify(plan.receipt(answers)).epsilon
    verbs = [call.query.verb for call in answers.calls]
    assert verbs == ["leaves", "grow", "leaves", *["leaves"] * (mechanism == "adaptive")]


def test_large_parts_have_the_records_that_they_were_counted_to_have() -> None:
    """Rare texts of one class are cleaned away, and its share stays as it was."""
    columns = asked()
    ranks = np.random.default_rng(7).integers(
        0, 10**4, 20_000
    )  # nearly everybody of the oldest has a text of their own
    rows = opened(BAND, columns=columns)
    places, known = rows.ranked("query")
    rare = columns["band"] == 2
    values, again = np.unique(
        np.where(rare, 10**5 + ranks, np.array(known)[places]), return_inverse=True
    )
    rows = type(rows)(
        {name: rows.codes(name) for name in ("query", "band")},
        domain=rows.domain,
        ranked={"query": (again.astype(np.int32), values.tolist())},
    )
    spec = Spec(mechanism="adaptive", epsilon=Fraction(2), parameters=TOGETHER["adaptive"])
    plan = mechanisms.plan(rows.domain, spec)
    answers = plan.run(open_session(rows, domain=rows.domain, cap=plan.loss))
    once = plan.tree.fit(replaced(answers, Leaves, answers.leaves[:-1]))  # type: ignore[attr-defined]
    share = [
        (model.sample(20_000, seed="s")["band"] == 2).mean()
        for model in (plan.fit(answers), once)
    ]
    assert share[0] == pytest.approx(rare.mean(), abs=0.02) and share[1] < rare.mean() - 0.05


def test_records_whose_text_is_not_read_take_no_part_in_any_column() -> None:
    columns = asked(others=12_000)
    _, _, model = released("adaptive", epsilon="8", columns=columns)
    inside = {name: column[columns["query"] < len(TEXTS)] for name, column in columns.items()}
    found = drawn(model, 8_000)
    assert abs(model.rows - inside["query"].size) < 200
    assert apart(found, inside, "query", "band") < 0.08 and apart(columns, inside, "band") > 0.2


def test_points_and_texts_make_one_tree_too() -> None:
    north = Integer(name="region", low=0, high=3, width=1)
    rows = opened(BAND, REGION, columns=asked())
    domain = Domain(attributes=(QUERY, BAND, north))
    held = type(rows)(
        {name: rows.codes(name) for name in domain.names},
        domain=domain,
        ranked={"query": rows.ranked("query")},
    )
    found = prefixes.hierarchy(domain, domain.names)
    assert isinstance(found, ProductHierarchy) and isinstance(
        found.components[0], SpatialHierarchy
    )
    spec = Spec(mechanism="adaptive", epsilon=Fraction(2), parameters=TOGETHER["adaptive"])
    plan = mechanisms.plan(domain, spec)
    model = plan.fit(plan.run(open_session(held, domain=domain, cap=plan.loss)))
    assert apart(drawn(model), asked(), "query", "region") < 0.08


def test_beginnings_are_completed_by_public_texts_class_by_class() -> None:
    columns = asked(3_000)
    query = replace(
        QUERY,
        completions=Completions(
            values=from_json({"set": "list", "values": ["abba", "cafeee"]})
        ),
    )
    rows = opened(BAND, columns=columns)
    domain = Domain(attributes=(query, BAND))
    held = type(rows)(
        {name: rows.codes(name) for name in domain.names},
        domain=domain,
        ranked={"query": rows.ranked("query")},
    )
    parameters = TOGETHER["adaptive"] | {"depth": 3}
    plan = mechanisms.plan(
        domain, Spec(mechanism="adaptive", epsilon=Fraction(4), parameters=parameters)
    )
    model = plan.fit(plan.run(open_session(held, domain=domain, cap=plan.loss)))
    labels, places = model.written(3_000, seed="s")["query"]
    texts = labels[places]
    assert "cafeee" in texts and not {"cage", "cafe", "ca"} & set(
        texts
    )  # the first two signs are known
    assert Model.from_json(json.loads(json.dumps(model.to_json()))).written(
        9, seed="s"
    ).keys() == {"query"}


# ---- models, answers and needs
# -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", METHODS)
def test_models_are_kept_as_they_are_and_broken_ones_are_refused(mechanism: str) -> None:
    _, _, model = released(mechanism, BAND)
    document = json.loads(json.dumps(model.to_json()))
    again = Model.from_json(document)
    assert mechanisms.draw_table(again, 300, "t").equals(mechanisms.draw_table(model, 300, "t"))
    tree = document["tree"]
    for broken in (
        {"kind": "classes"},
        {"cells": [cell[:-2] + "00" for cell in tree["cells"]]},
        {"cells": [cell[:-2] + "c8" for cell in tree["cells"]]},
        {"partly": "guessed"},
        {"texts": tree["texts"] | {"longest": 2}},
    ):
        with pytest.raises(InputError):
            Model.from_json(document | {"tree": tree | broken})


@pytest.mark.parametrize(
    ("epsilon", "rows"), [("1/1000", 300), ("1/1000", 0), ("1", 0), ("1", 1)]
)
@pytest.mark.parametrize("mechanism", METHODS)
def test_hardly_any_budget_and_no_records_give_a_release(
    mechanism: str, epsilon: str, rows: int
) -> None:
    plan, answers, model = released(mechanism, epsilon=epsilon, columns=asked(rows))
    verifier.verify(plan.receipt(answers))
    assert mechanisms.draw_table(model, 20, "s").notna().all(axis=None)


def test_a_root_alone_is_told_as_of_columns_together() -> None:
    """Noise is taken for something in one run of 20 at most, or exp(300/1000) times as often with so many
    records."""
    found = [released(epsilon="1/1000", columns=asked(300))[2] for _ in range(8)]
    model, *others = (
        each for each in found if each.tree is not None and factory.root_alone(each.tree)
    )
    for each in (model, *others):
        assert "says nothing of how columns go together" in " ".join(tree_notes.sentences(each))
    assert tree_notes.of_what(model.to_json()["tree"]["kind"]) == "classes"


def test_answers_of_another_plan_are_refused() -> None:
    plan, answers, _ = released()
    wrong = (
        released(epsilon="1")[1],
        released("adaptive", BAND)[1],
        replaced(answers, Leaves, answers.leaves[:-1]),
        replaced(answers, Leaves, (*answers.leaves[:-1], answers.leaves[0])),
    )
    for each in wrong:
        with pytest.raises(InputError):
            plan.fit(each)


@pytest.mark.parametrize("epsilon", ["1/2", "5"])
@pytest.mark.parametrize("mechanism", METHODS)
def test_the_nodes_of_a_tree_are_foretold_within_a_few_times(
    mechanism: str, epsilon: str
) -> None:
    """Of many texts, few of which are frequent."""
    rng, columns = np.random.default_rng(5), asked()
    rows = opened(BAND, REGION, columns=columns)
    ranks = rng.choice(SIGNS.size, 4_000, replace=False)
    places = np.minimum(5 * (rng.pareto(0.8, 20_000) + 1), 4_004).astype(np.int32) - 5
    codes = {name: rows.codes(name) for name in rows.domain.names}
    rows = type(rows)(codes, domain=rows.domain, ranked={"query": (places, ranks.tolist())})
    parameters = TOGETHER.get(mechanism, {})
    plan = mechanisms.plan(
        rows.domain, Spec(mechanism=mechanism, epsilon=Fraction(epsilon), parameters=parameters)
    )
    answers = plan.run(open_session(rows, domain=rows.domain, cap=plan.loss))
    (grown,) = answers.growths
    hierarchy = prefixes.hierarchy(plan.domain, plan.domain.names)
    looked = sum(len(level) for level in grown.levels(hierarchy))
    assert 0.25 * looked < resources.nodes(hierarchy, grown.rule, 20_000) < 5 * looked
    less, more = plan.needs(2_000), plan.needs(200_000)
    assert less.seconds < more.seconds < 10 and less.memory_bytes < more.memory_bytes
    least = plan.min_records_to_split(20_000)
    assert plan.tree_hierarchy is not None and plan.tree_hierarchy.columns == plan.domain.names
    assert least is not None and 0.5 * grown.rule.threshold <= least <= 2 * (
        grown.rule.threshold + grown.rule.discount
    )
    assert set(plan.expected_error(rows=20_000).attributes) == {"query", "band", "region"}


def test_a_tree_whose_every_depth_costs_reads_as_many_signs_as_one_of_texts_alone() -> None:
    long = Weak(
        name="query",
        values=from_json(
            {"set": "strings", "alphabet": "abc", "min_length": 1, "max_length": 40}
        ),
    )
    plan = mechanisms.plan(
        Domain(attributes=(long, BAND)),
        Spec(mechanism="adaptive-basic", epsilon=Fraction(1), parameters={}),
    )
    assert plan.growth_rule()[0].depth == 21  # type: ignore[attr-defined]


# ---- what a tree shows
# ---------------------------------------------------------------------------------------------------


def test_texts_of_a_class_are_listed_by_themselves() -> None:
    _, _, model = released(epsilon="4")
    tree, truth = model.tree, asked()
    assert tree is not None and tree_classes.widest_classes(tree)[:2] == (
        ("band", "young"),
        ("band", "old"),
    )
    texts = tree_classes.of_texts(tree)
    assert texts is not None
    words = texts.hierarchy
    assert isinstance(words, StringHierarchy)
    symbol = words.alphabet.index("a") + 1
    first = np.array([text[0] for text in TEXTS])[truth["query"]]
    whole = tree_cells.node(texts, [])
    shares = {each.symbol: each.share for each in whole.children}
    assert whole.share == pytest.approx(1) and shares[symbol] == pytest.approx(
        (first == "a").mean(), abs=0.02
    )
    for column, name, code in (("band", "young", 0), ("region", "e", 1)):
        mine, share = tree_classes.texts_within(tree, column, name)
        inside = truth[column] == code
        assert share == pytest.approx(inside.mean(), abs=0.02)
        found = {each.symbol: each.share for each in tree_cells.node(mine, []).children}
        assert found[symbol] == pytest.approx((first[inside] == "a").mean(), abs=0.03)


def test_cells_that_end_while_those_of_other_classes_go_on_are_told() -> None:
    words = StringHierarchy(columns=("query",), alphabet="ab", longest=3)
    side = tree_classes.ComponentCells(
        hierarchy=words,
        levels=np.array([0, 1, 2, 3]),
        cells=words.encode(["", "a", "ab", "a"]),
        weights=np.array([10, 20, 30, 40]),
        placed="density",
    )
    root = tree_cells.node(side, [])
    assert (root.share, root.ends, root.depth) == (pytest.approx(1), pytest.approx(0.1), None)
    below = tree_cells.node(side, [1])
    assert (below.share, below.ends) == (pytest.approx(0.9), pytest.approx(0.2))
    assert [(each.symbol, each.ended, each.opened) for each in below.children] == [
        (0, True, False),
        (2, False, False),
    ]
    closed = tree_cells.node(side, [1, 2])
    assert closed.depth == 2 and not closed.children


def test_the_command_line_draws_compares_and_verifies(tmp_path: Path) -> None:
    columns = asked(6_000)
    table = pd.DataFrame(
        {
            "query": [TEXTS[n] for n in columns["query"]],
            "band": [BAND.values[n] for n in columns["band"]],
        }
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    band = {
        "name": "band",
        "kind": "categorical",
        "values": list(BAND.values),
        "outside": "clamp",
    }
    described = {
        "attributes": [{"name": "query", "kind": "weak", "values": SIGNS.to_json()}, band]
    }
    (tmp_path / "d.json").write_text(json.dumps(described))
    out, receipt, model = (
        str(tmp_path / name) for name in ("out.csv", "receipt.json", "model.json")
    )
    given = [
        "synthesize",
        str(tmp_path / "t.csv"),
        "--domain",
        str(tmp_path / "d.json"),
        "--mechanism",
        "adaptive",
    ]
    given += ["--param", "together=product", "--epsilon", "4", "--model", model]
    assert cli.main([*given, "--out", out, "--receipt", receipt]) == 0
    found = pd.crosstab(*(pd.read_csv(out)[name] for name in table), normalize=True)
    truth = pd.crosstab(table["query"], table["band"], normalize=True)
    assert found.sub(truth, fill_value=0).abs().to_numpy().sum() / 2 < 0.08
    assert cli.main(["verify", receipt]) == 0
    again = str(tmp_path / "again.csv")
    assert cli.main(["sample", model, "--rows", "500", "--seed", "s", "--out", again]) == 0
    assert len(pd.read_csv(again)) == 500
