"""Trees as published, and `adaptive` of texts: whole runs, what is drawn, refusals, tables of which nothing
is learned."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import cli, codec, mechanisms, verifier
from synth_engine.domain import Domain, Integer, Text, Weak
from synth_engine.errors import DomainError, InputError, SpecError
from synth_engine.hierarchy import (
    Growth,
    Rule,
    SpatialHierarchy,
    StringHierarchy,
    leaf_nodes,
    sort_nodes,
)
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.measurement import Answers, Leaves
from synth_engine.mechanisms.trees import columns, threshold_tree
from synth_engine.models.model import Model
from synth_engine.models.trees import factory
from synth_engine.models.trees.strings import StringTree
from synth_engine.privacy import trees as privacy_trees
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from synth_engine.values import from_json
from tests.answers import replaced

NAMES = ("adaptive", "adaptive-basic", "adaptive-improved", "privtree")
SIGNS = from_json(
    {"set": "strings", "alphabet": "abcdefghij", "min_length": 1, "max_length": 6}
)
WORDS = Domain(attributes=(Weak(name="word", values=SIGNS),))
SQUARE = Domain(
    attributes=tuple(Integer(name=name, low=0, high=63, width=1) for name in ("x", "y"))
)
COMMON = {"a": 3_000, "abba": 2_000, "cafe": 1_500, "jade": 900, "jadei": 400, "deface": 300}


def rows_of(counts: dict[str, int], domain: Domain = WORDS, *, others: int = 0) -> Rows:
    (attribute,) = (each for each in domain.undeclared if isinstance(each, Weak))
    ranks = [attribute.values.rank(text) for text in counts] + [attribute.values.size]
    assert None not in ranks
    places = np.repeat(np.arange(len(ranks), dtype=np.int32), [*counts.values(), others])
    codes = {attribute.name: np.zeros(places.size, dtype=np.uint16)}
    return Rows(codes, domain=domain, ranked={attribute.name: (places, ranks)})


def run(
    name: str, rows: Rows, *, epsilon: str = "2", delta: str = "0", **parameters: Any
) -> tuple[Any, Answers, Model]:
    spec = Spec(
        mechanism=name, epsilon=Fraction(epsilon), delta=Fraction(delta), parameters=parameters
    )
    plan = mechanisms.plan(rows.domain, spec)
    answers = plan.run(open_session(rows, domain=rows.domain, cap=plan.loss))
    return plan, answers, plan.fit(answers)


@pytest.mark.parametrize("name", NAMES)
def test_frequent_texts_come_back_with_their_counts(name: str) -> None:
    plan, answers, model = run(name, rows_of(COMMON), epsilon="4")
    total = sum(COMMON.values())
    assert abs(model.rows - total) < 400
    drawn = mechanisms.draw_table(model, total, "s")["word"].value_counts()
    found = sum(min(drawn.get(text, 0), count) for text, count in COMMON.items())
    assert found > 0.9 * total
    assert verifier.verify(plan.receipt(answers)).epsilon <= 4
    kept = Model.from_json(json.loads(json.dumps(model.to_json())))
    assert mechanisms.draw_table(kept, 50, "t").equals(mechanisms.draw_table(model, 50, "t"))


@pytest.mark.parametrize("name", NAMES[1:])
def test_points_lie_where_they_were(name: str) -> None:
    rng = np.random.default_rng(0)
    drawn = np.clip(np.rint(rng.normal([[20, 40]], 3, (20_000, 2))), 0, 63).astype(np.uint16)
    rows = Rows({"x": drawn[:, 0], "y": drawn[:, 1]}, domain=SQUARE)
    plan, answers, model = run(name, rows, epsilon="2")
    codes = model.sample(20_000, seed="s")
    for axis, column in enumerate(("x", "y")):
        ours, theirs = (
            np.cumsum(np.bincount(one, minlength=64)) for one in (codes[column], drawn[:, axis])
        )
        assert np.abs(ours - theirs).max() < 0.03 * 20_000
    assert abs(model.rows - 20_000) < 500
    verifier.verify(plan.receipt(answers))


def test_what_is_drawn_survives_the_codec_and_says_what_is_cut() -> None:
    """By so large a threshold nothing but "a" is a text of its own; all others are cut."""
    plan, answers, _ = run(
        "adaptive-improved", rows_of(COMMON), partial="marked", threshold=2_500
    )
    model = plan.fit(answers)
    assert isinstance(model.tree, StringTree) and model.tree.partial.any()
    table = mechanisms.draw_table(model, 3_000, "s")
    column = model.domain.attribute("word")
    assert isinstance(column, Text)
    codes = model.sample(3_000, seed="s")["word"]
    again = codec.encode(model.domain, {"word": codec.as_text(model.domain, table)["word"]})
    assert np.array_equal(again["word"], codes)
    cut = table["word"].str.endswith("…")
    assert 0 < cut.sum() < 3_000
    beginnings = {
        text for text, part in zip(model.tree.texts, model.tree.partial, strict=True) if part
    }
    assert set(table["word"][cut].str.removesuffix("…")) <= beginnings
    assert all(SIGNS.rank(text) is not None for text in table["word"][~cut])
    whole = replace(model, tree=replace(model.tree, incomplete_prefixes="whole"))
    assert not mechanisms.draw_table(whole, 3_000, "s")["word"].str.contains("…").any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("counts", [{}, {"a": 2}], ids=["empty", "two records"])
def test_a_table_of_which_nothing_is_learned_gives_a_release_all_the_same(
    name: str, counts: dict[str, int]
) -> None:
    plan, answers, model = (
        run(name, rows_of(counts), epsilon="1/1000", clean=20)
        if name != "adaptive"
        else run(name, rows_of(counts), epsilon="1/1000")
    )
    verifier.verify(plan.receipt(answers))
    table = mechanisms.draw_table(model, 10, "s")
    assert len(table) == 10 and table["word"].notna().all()
    if name != "adaptive":
        assert model.tree is not None and factory.root_alone(model.tree)
        assert (table["word"] == "…").all()  # of a text nothing is known, and none is empty


def test_one_text_may_hold_everything() -> None:
    for name in NAMES:
        _, _, model = run(name, rows_of({"abcdef": 5_000}), epsilon="1")
        drawn = mechanisms.draw_table(model, 5_000, "s")["word"]
        # Twenty records or so are lost to noise, whose tail falls by e every dozen or two.
        assert (drawn == "abcdef").mean() > 0.8


def test_texts_with_other_signs_take_no_part() -> None:
    _, answers, model = run("adaptive", rows_of(COMMON, others=50_000), epsilon="4")
    assert model.rows < sum(COMMON.values()) + 400
    assert [call.query.verb for call in answers.calls] == ["leaves", "grow", "leaves"]


@pytest.mark.parametrize("name", NAMES)
def test_persons_and_replacing_cost_no_more_than_the_target(name: str) -> None:
    for domain in (
        replace(WORDS, unit=PrivacyUnit(max_records=3)),
        replace(WORDS, relation=Relation.REPLACE_ONE),
    ):
        plan, answers, model = run(
            name, rows_of(COMMON, domain), epsilon="3", delta="1/1000000000"
        )
        assert 2.4 < verifier.verify(plan.receipt(answers)).epsilon <= 3
        assert isinstance(plan.loss, Pure) and abs(
            model.rows - sum(COMMON.values())
        ) < 0.2 * sum(COMMON.values())


def test_the_tree_costs_what_its_share_is_and_hardly_less() -> None:
    for name in NAMES[1:]:
        for epsilon in ("1/10", "1", "10"):
            plan = mechanisms.plan(WORDS, Spec(mechanism=name, epsilon=Fraction(epsilon)))
            answers = plan.run(open_session(rows_of({"a": 5}), domain=WORDS, cap=plan.loss))
            costs = [call.event.pure_epsilon() / Fraction(epsilon) for call in answers.calls]
            assert (
                sum(costs) <= 1 and costs[1] > 0.42 and costs[2] > 0.479 and costs[0] > 0.0199
            )


@pytest.mark.parametrize(
    ("discount", "parts"), [("evenly", 1), ("fullest", 1), ("chance", 3), ("fullest", 4)]
)
def test_records_are_set_aside_as_asked_and_paid_for_part_by_part(
    discount: str, parts: int
) -> None:
    plan, answers, model = run(
        "adaptive-improved", rows_of(COMMON), epsilon="1", discount=discount, parts=parts
    )
    (grown,), total = answers.growths, sum(COMMON.values())
    assert (grown.rule.spread, grown.rule.parts) == (discount, parts)
    event = answers.calls[1].event
    one = privacy_trees.loss(
        scale=event.scale, threshold=grown.rule.threshold, discount=grown.rule.discount
    )
    assert 0.45 < event.pure_epsilon() <= Fraction(1, 2) and event.pure_epsilon() == parts * one
    assert verifier.verify(plan.receipt(answers)).epsilon <= 1
    drawn = mechanisms.draw_table(model, total, "s")["word"].value_counts()
    assert sum(min(drawn.get(text, 0), count) for text, count in COMMON.items()) > 0.85 * total


def test_a_threshold_is_of_records_whatever_their_parts() -> None:
    for parts in (1, 5):
        plan = mechanisms.plan(
            WORDS,
            Spec(
                mechanism="adaptive-improved",
                epsilon=Fraction(2),
                parameters={"threshold": 40, "parts": parts},
            ),
        )
        assert isinstance(plan, threshold_tree.ThresholdPlan)
        rule, noise = plan.growth_rule()
        assert rule.threshold == 40 * parts and not plan.advice
        assert rule.discount >= privacy_trees.least_discount(
            scale=noise.scale, threshold=rule.threshold
        )


@pytest.mark.parametrize("parts", [1, 3])
def test_more_records_may_be_set_aside_than_the_proof_asks_for(parts: int) -> None:
    def planned(**parameters: Any) -> threshold_tree.ThresholdPlan:
        spec = Spec(
            mechanism="adaptive-improved",
            epsilon=Fraction(1),
            parameters=parameters | {"parts": parts},
        )
        made = mechanisms.plan(WORDS, spec)
        assert isinstance(made, threshold_tree.ThresholdPlan)
        return made

    (usual, noise), (more, finer) = (
        planned(**own).growth_rule() for own in ({}, {"discount_records": 100})
    )
    assert more.discount == 100 * parts > usual.discount
    assert finer.scale < noise.scale  # each decision costs less, so that the noise is smaller
    least = math.ceil(usual.discount / parts)
    with pytest.raises(SpecError, match="the proof asks for"):
        planned(discount_records=least // 2)


@pytest.mark.parametrize(
    "parameters", [{"discount": "smallest"}, {"parts": 0}, {"parts": 101}, {"parts": 1.5}]
)
def test_other_ways_of_setting_aside_are_refused_by_name(parameters: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=next(iter(parameters))):
        mechanisms.plan(
            WORDS,
            Spec(mechanism="adaptive-improved", epsilon=Fraction(1), parameters=parameters),
        )


@pytest.mark.parametrize(
    "own", [{}, {"discount": "evenly", "parts": 3}], ids=["basic", "parts"]
)
def test_a_threshold_below_the_noise_is_taken_with_a_warning_that_says_what_is_enough(
    own: dict[str, Any],
) -> None:
    name = "adaptive-improved" if own else "adaptive-basic"

    def plan_of(threshold: int) -> threshold_tree.ThresholdPlan:
        parameters = own | {"threshold": threshold}
        found = mechanisms.plan(
            WORDS, Spec(mechanism=name, epsilon=Fraction("1/2"), parameters=parameters)
        )
        assert isinstance(found, threshold_tree.ThresholdPlan)
        return found

    low = plan_of(1)
    assert low.advice in low.expected_error().assumes and "below the noise" in low.advice
    assert low.growth_rule()[0].threshold == low.growth_rule()[0].parts  # it is taken as it is
    enough = int(low.advice.split("Take ")[1].split(" or")[0].replace(",", ""))
    assert (
        plan_of(enough).advice == plan_of(0).advice == ""
        and "below the noise" in plan_of(enough // 2).advice
    )
    assert "below" not in plan_of(0).expected_error().assumes
    verifier.verify(
        low.receipt(low.run(open_session(rows_of({"a": 50}), domain=WORDS, cap=low.loss)))
    )


# ---- partitions
# ----------------------------------------------------------------------------------------------------------


def test_where_a_tree_ends_is_said_in_the_order_of_codes() -> None:
    words = StringHierarchy(columns=("w",), alphabet="ab", shortest=1, longest=3)
    rule = Rule(name="improved", depth=3, threshold=1, discount=9)
    opened = (np.array([0]), np.array([1, 2]), np.array([], dtype=np.int64))
    found = leaf_nodes(Growth(columns=("w",), rule=rule, opened=opened), words)
    assert list(zip(found.levels.tolist(), words.decode(found.prefixes), strict=True)) == [
        (2, "a"), (3, "aa"), (3, "aaa"), (3, "aab"), (3, "ab"), (3, "aba"), (3, "abb"), (1, "b"),
    ]  # fmt: skip
    found.check(words)
    again = sort_nodes(("w",), found.levels, found.prefixes)
    assert again.digest == found.digest
    cut = leaf_nodes(Growth(columns=("w",), rule=rule, opened=opened), words, most=6)
    assert [*zip(cut.levels.tolist(), words.decode(cut.prefixes), strict=True)] == [
        (2, "a"), (2, "aa"), (2, "ab"), (1, "b"),
    ]  # fmt: skip
    points = SpatialHierarchy(columns=("x",), low=(0.0,), high=(1.0,), resolution=2)
    whole = (np.array([0, 1]), np.array([], dtype=np.int64))
    found = leaf_nodes(
        Growth(columns=("x",), rule=replace(rule, depth=2), opened=whole), points
    )
    assert found.prefixes.tolist() == [0, 1, 2, 3]


# ---- refusals
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES[1:])
def test_answers_of_another_plan_are_refused(name: str) -> None:
    plan, answers, _ = run(name, rows_of(COMMON))
    other = mechanisms.plan(WORDS, Spec(mechanism=name, epsilon=Fraction(1)))
    (grown,) = answers.growths
    moved = replace(grown, opened=(grown.opened[0] + 100, *grown.opened[1:]))
    for wrong in (
        replaced(answers, Leaves, answers.leaves[:1]),
        replaced(answers, Growth, ()),
        replaced(answers, Growth, (moved,)),
        replaced(answers, Leaves, answers.leaves[::-1]),
    ):
        with pytest.raises(InputError):
            plan.fit(wrong)
    with pytest.raises(InputError):
        other.fit(answers)


def test_tables_and_depths_that_fit_no_tree_are_refused() -> None:
    mixed = replace(
        WORDS, attributes=(*WORDS.attributes, Integer(name="age", low=0, high=7, missing=("",)))
    )
    for name in NAMES[1:]:  # `adaptive` attaches it: test_worded.py
        assert not mechanisms.REGISTRY[name].suits(mixed) and mechanisms.REGISTRY[name].suits(
            WORDS
        )
        with pytest.raises((SpecError, DomainError)):
            mechanisms.plan(mixed, Spec(mechanism=name, epsilon=Fraction(1)))
    with pytest.raises(SpecError, match="depth is more than the 6"):
        mechanisms.plan(
            WORDS,
            Spec(mechanism="adaptive-basic", epsilon=Fraction(1), parameters={"depth": 7}),
        )
    with pytest.raises(SpecError):
        mechanisms.plan(
            WORDS, Spec(mechanism="privtree", epsilon=Fraction(1), parameters={"growing": 0.99})
        )


def test_the_command_line_draws_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [text for text, count in COMMON.items() for _ in range(count)] + [
        "héron",
        "",
        "zebra7",
    ]
    pd.DataFrame({"word": texts}).to_csv(tmp_path / "words.csv", index=False)
    description = {"attributes": [{"name": "word", "kind": "weak", "values": SIGNS.to_json()}]}
    (tmp_path / "d.json").write_text(
        json.dumps({"schema": "synth_engine/domain/1", **description})
    )
    out, receipt = tmp_path / "out.csv", tmp_path / "receipt.json"
    asked = [
        "synthesize",
        str(tmp_path / "words.csv"),
        "--domain",
        str(tmp_path / "d.json"),
        "--mechanism",
        "adaptive",
    ]
    assert (
        cli.main([*asked, "--epsilon", "4", "--out", str(out), "--receipt", str(receipt)]) == 0
    )
    drawn = pd.read_csv(out, keep_default_na=False)
    assert abs(len(drawn) - 8_100) < 400 and drawn["word"].value_counts().index[0] == "a"
    assert not drawn["word"].str.contains("zebra").any()
    assert verifier.verify(json.loads(receipt.read_text())).epsilon <= 4
    assert "threshold" not in capsys.readouterr().err
    asked = [
        *asked[:-1],
        "adaptive-improved",
        "--param",
        "threshold=1",
        "--param",
        "discount=evenly",
    ]
    assert cli.main([*asked, "--epsilon", "2", "--out", str(out), "--overwrite"]) == 0
    assert "note: A threshold of 1 is below the noise" in capsys.readouterr().err


def test_a_text_that_stands_out_is_kept_though_all_counts_together_are_too_many() -> None:
    """Counts of few texts are as often above the total as below it: none of them is taken for noise."""
    for _ in range(6):
        _, _, model = run(
            "adaptive", rows_of({"cafe": 500, "abba": 300, "a": 200}), epsilon="4"
        )
        assert model.tree is not None and {"cafe", "abba", "a"} <= set(model.tree.texts)


def test_beginnings_are_completed_by_public_texts_and_their_weights() -> None:
    public = {
        "set": "list",
        "values": ["caba", "cabb", "cc", "dad", "zebra", "caaaaaaaa", "cad"],
        "weights": [6, 2, 5, 1, 9, 9, 0],
    }
    document = {
        "name": "word",
        "kind": "weak",
        "values": SIGNS.to_json(),
        "completions": public,
    }
    domain = Domain.from_json({"schema": "synth_engine/domain/1", "attributes": [document]})
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain
    words = StringHierarchy(columns=("word",), alphabet="abcdefghij", shortest=1, longest=6)
    nodes = words.encode(
        ["ca", "cb", "d", "e"]
    )  # beginnings, but for d, which has ended; none but the first has completions
    attribute = domain.attribute("word")
    assert isinstance(attribute, Weak) and attribute.completions is not None
    tree = factory.tree(
        words,
        LeafEstimates(levels=np.array([2, 2, 2, 1]), prefixes=nodes, counts=np.full(4, 250.0)),
        completions=attribute.completions,
    )
    assert isinstance(tree, StringTree) and tree.partial.tolist() == [True, True, False, True]
    model = Model(
        mechanism="adaptive",
        domain=columns.resolve_domain(domain),
        rows=8_000,
        tables=(),
        tree=tree,
    )
    drawn = mechanisms.draw_table(
        Model.from_json(json.loads(json.dumps(model.to_json()))), 8_000, "s"
    )["word"]
    found = drawn.value_counts().to_dict()
    assert set(found) == {"caba", "cabb", "cb", "d", "e"}
    assert (
        abs(found["caba"] - 1_500) < 120
        and found["caba"] + found["cabb"] == found["cb"] == found["d"] == 2_000
    )
    codes = model.sample(8_000, seed="s")["word"]
    again = codec.encode(model.domain, {"word": drawn})
    assert np.array_equal(again["word"], codes)


@pytest.mark.parametrize(
    "wrong",
    [
        {"set": "list", "values": ["a"], "weights": [1, 2]},
        {"set": "list", "values": ["a"], "weights": [-1]},
        {"set": "list", "values": ["a"], "weights": ["1"]}, {"set": "list", "values": ["a"], "weights": "1"},
        ["a"],
        {"set": "strings", "alphabet": "abcdefghij", "min_length": 1, "max_length": 7},
    ],
)  # fmt: skip
def test_completions_that_are_no_list_are_refused_by_column(wrong: object) -> None:
    document = {"name": "word", "kind": "weak", "values": SIGNS.to_json(), "completions": wrong}
    with pytest.raises(DomainError, match="word"):
        Domain.from_json({"schema": "synth_engine/domain/1", "attributes": [document]})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", ["1", "8"])
def test_how_many_texts_will_not_be_found_is_foreseen(name: str, epsilon: str) -> None:
    """Texts whose frequencies fall off a little faster than the forecast takes them to, as those of languages
    do, and which are few of all that could be."""
    rng, shares = np.random.default_rng(8), 1 / (np.arange(30_000) + 4.0) ** 1.1
    drawn = rng.multinomial(20_000, shares / shares.sum())
    texts = [
        "".join("abcdefghij"[int(digit)] for digit in f"{place:06d}")
        for place in rng.permutation(10**6)[:30_000]
    ]
    real = {text: int(count) for text, count in zip(texts, drawn, strict=True) if count}
    plan, _, model = run(name, rows_of(real), epsilon=epsilon)
    frame = mechanisms.draw_table(model, 20_000, "seed")["word"].value_counts()
    lost = 1 - sum(min(count, int(frame.get(text, 0))) for text, count in real.items()) / 20_000
    forecast = plan.expected_error(rows=20_000)
    assert abs(forecast.mean - lost) < 0.2 and "are not found" in forecast.assumes
