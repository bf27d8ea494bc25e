"""`adaptive` for one column of texts with further columns beside it: which texts go with which values, and
which columns with which."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import cli, mechanisms, verifier
from synth_engine.domain import Categorical, Domain, Weak
from synth_engine.errors import DomainError, InputError, SpecError
from synth_engine.hierarchy import StringHierarchy, frequent_prefixes
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.inference import hierarchical_shrinkage
from synth_engine.measurement import Answers, Leaves
from synth_engine.mechanisms.trees.string_covariates import StringCovariatePlan
from synth_engine.models.model import Model
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from synth_engine.values import from_json
from tests.answers import replaced

SIGNS = from_json(
    {"set": "strings", "alphabet": "abcdefghij", "min_length": 1, "max_length": 6}
)
QUERY = Weak(name="query", values=SIGNS)
BAND = Categorical(name="band", values=("young", "old", "oldest"), outside="clamp")
REGION = Categorical(name="region", values=tuple("nesw"), outside="clamp")
SHIFT = Categorical(name="shift", values=("day", "night"), outside="clamp")
TEXTS = ("a", "abba", "abed", "cafe", "cage", "dead", "deaf", "fade", "jade", "jadei")


def asked(rows: int = 20_000, *, others: int = 0) -> dict[str, np.ndarray]:
    """Numbers of texts, frequent ones first; the first letter says the region, the text the band, the band
    the shift. `others`: how many of them are no text of the set, all of which are in the first region and of
    the first band."""
    rng = np.random.default_rng(5)
    texts = np.minimum(len(TEXTS) * rng.random(rows) ** 2, len(TEXTS) - 1).astype(int)
    first = np.array([ord(text[0]) - ord("a") for text in TEXTS])[texts]
    region = np.where(rng.random(rows) < 0.8, first % 4, rng.integers(0, 4, rows))
    band = np.where(rng.random(rows) < 0.8, texts % 3, rng.integers(0, 3, rows))
    shift = np.where(rng.random(rows) < 0.9, band % 2, 1 - band % 2)
    outside = rng.permutation(rows) < others
    texts = np.where(outside, len(TEXTS), texts)
    columns = {
        "query": texts,
        "band": band * ~outside,
        "region": region * ~outside,
        "shift": shift,
    }
    return {name: column.astype(np.uint16) for name, column in columns.items()}


def opened(*further: Categorical, columns: dict[str, np.ndarray]) -> Rows:
    domain = Domain(attributes=(QUERY, *further))
    ranks = [*(SIGNS.rank(text) or 0 for text in TEXTS), SIGNS.size]
    codes = {each.name: columns[each.name] for each in further} | {
        "query": np.zeros_like(columns["query"])
    }
    return Rows(
        codes, domain=domain, ranked={"query": (columns["query"].astype(np.int32), ranks)}
    )


def released(
    *further: Categorical,
    epsilon: str = "1",
    delta: str = "0",
    columns: dict[str, np.ndarray] | None = None,
) -> tuple[Any, Answers, Model]:
    rows = opened(*further, columns=asked() if columns is None else columns)
    plan = mechanisms.plan(
        rows.domain,
        Spec(mechanism="adaptive", epsilon=Fraction(epsilon), delta=Fraction(delta)),
    )
    answers = plan.run(open_session(rows, domain=rows.domain, cap=plan.loss))
    return plan, answers, plan.fit(answers)


def drawn(model: Model, rows: int = 20_000) -> dict[str, np.ndarray]:
    """Codes, with the texts as the table has them."""
    labels, places = model.written(rows, seed="s")["query"]
    known = {text: number for number, text in enumerate(TEXTS)}
    codes = model.sample(rows, seed="s")
    return codes | {"query": np.array([known.get(text, len(TEXTS)) for text in labels])[places]}


def apart(one: dict[str, np.ndarray], other: dict[str, np.ndarray], *names: str) -> float:
    tables = []
    for columns in (one, other):
        found = np.zeros([12] * len(names))
        np.add.at(
            found,
            tuple(columns[name].astype(int) for name in names),
            1 / max(1, columns[names[0]].size),
        )
        tables.append(found)
    return float(np.abs(tables[0] - tables[1]).sum() / 2)


@pytest.mark.parametrize("delta", ["0", "1/1000000000"])
def test_texts_and_columns_go_together_as_they_did(delta: str) -> None:
    plan, answers, model = released(BAND, REGION, SHIFT, delta=delta)
    truth, found = asked(), drawn(model)
    assert isinstance(plan, StringCovariatePlan) and list(model.domain.names) == [
        "query",
        "band",
        "region",
        "shift",
    ]
    pairs: Sequence[tuple[str, ...]] = (
        ("query", "band"),
        ("query", "region"),
        ("band", "shift"),
        ("query", "shift"),
    )
    for names in pairs:
        assert apart(found, truth, *names) < 0.15, names
    dealt = np.random.default_rng(1).permutation(20_000)
    for names in pairs[:2]:  # what a release without parts would have
        assert apart(found | {names[1]: found[names[1]][dealt]}, truth, *names) > 0.3
    receipt = plan.receipt(answers)
    assert verifier.verify(receipt).epsilon <= 1
    verbs = [call.query.verb for call in answers.calls]
    assert verbs == [
        "leaves",
        "grow",
        "leaves",
        *["leaves"] * 6,
        "select",
        "select",
        "leaves",
        "leaves",
    ]


def test_all_of_the_budget_is_used_and_no_more() -> None:
    for further, epsilon in (((BAND,), "1/10"), ((BAND, REGION, SHIFT), "10")):
        plan, answers, _ = released(*further, epsilon=epsilon, columns=asked(500))
        spent = sum(call.event.pure_epsilon() for call in answers.calls)
        assert Fraction(95, 100) * plan.epsilon < spent <= plan.epsilon == Fraction(epsilon)


def test_records_whose_text_is_not_read_take_no_part_in_any_column() -> None:
    columns = asked(others=12_000)
    _, _, model = released(BAND, REGION, epsilon="12", columns=columns)
    inside = {name: column[columns["query"] < len(TEXTS)] for name, column in columns.items()}
    found = drawn(model, 8_000)
    assert abs(model.rows - inside["query"].size) < 200
    for names in (("band",), ("region",), ("query", "band"), ("band", "region")):
        assert apart(found, inside, *names) < 0.08 < 0.2 + apart(columns, inside, *names), names
    assert apart(columns, inside, "band") > 0.2  # tables of all records would be seen


def test_models_are_kept_as_they_are_and_broken_ones_are_refused() -> None:
    _, _, model = released(BAND, SHIFT)
    document = json.loads(json.dumps(model.to_json()))
    again = Model.from_json(document)
    assert mechanisms.draw_table(again, 300, "t").equals(mechanisms.draw_table(model, 300, "t"))
    beside = document["tree"]["attached"]
    for broken in (
        {"areas": beside["areas"][:-1]},
        {"columns": beside["columns"][:1]},
        {"areas": [10**6] * len(beside["areas"])},
    ):
        with pytest.raises(InputError):
            Model.from_json(
                document | {"tree": document["tree"] | {"attached": beside | broken}}
            )


@pytest.mark.parametrize(
    ("epsilon", "rows"), [("1/1000", 300), ("1/1000", 0), ("1", 0), ("1", 1)]
)
def test_hardly_any_budget_and_no_records_give_a_release(epsilon: str, rows: int) -> None:
    plan, answers, model = released(BAND, SHIFT, epsilon=epsilon, columns=asked(rows))
    verifier.verify(plan.receipt(answers))
    table = mechanisms.draw_table(model, 20, "s")
    assert len(table) == 20 and table.notna().all(axis=None)


def test_answers_of_another_plan_are_refused() -> None:
    plan, answers, _ = released(BAND, SHIFT)
    _, other, _ = released(BAND, SHIFT, epsilon="2")
    _, fewer, _ = released(BAND)
    for wrong in (
        other,
        fewer,
        replaced(answers, Leaves, answers.leaves[:-1]),
        replaced(answers, Leaves, answers.leaves[::-1]),
    ):
        with pytest.raises(InputError):
            plan.fit(wrong)


def test_what_cannot_stand_beside_texts_is_refused_by_name() -> None:
    wide = Categorical(name="job", values=tuple(f"j{n}" for n in range(900)), outside="clamp")
    second = Weak(name="reply", values=SIGNS)
    for further, says in ((wide, "job"), (second, "reply|query")):
        domain = Domain(attributes=(QUERY, further))
        with pytest.raises((SpecError, DomainError), match=says):
            mechanisms.plan(domain, Spec(mechanism="adaptive", epsilon=Fraction(1)))
    product = Spec(
        mechanism="adaptive", epsilon=Fraction(1), parameters={"together": "product"}
    )
    with pytest.raises(DomainError, match=r"reply.*among those of a tree"):
        mechanisms.plan(Domain(attributes=(QUERY, BAND, second)), product)
    assert not mechanisms.REGISTRY["adaptive"].suits(Domain(attributes=(QUERY, second)))
    assert mechanisms.REGISTRY["adaptive"].suits(Domain(attributes=(BAND, QUERY)))


def test_the_forecast_and_the_needs_count_all_columns() -> None:
    plan, _, _ = released(BAND, SHIFT, columns=asked(100))
    found = plan.expected_error(rows=20_000)
    assert set(found.attributes) == {"query", "band", "shift"} and 0 < found.mean_pairs < 1
    less = replace(plan, cap=plan.cap.of(plan.cap.amount / 20)).expected_error(rows=20_000)
    assert less.attributes["band"] > found.attributes["band"]
    assert plan.needs(200_000).seconds > plan.needs(20_000).seconds


def test_frequent_texts_and_beginnings_are_parts_and_cover_every_leaf() -> None:
    words = StringHierarchy(columns=("w",), alphabet="abc", shortest=1, longest=4)
    nodes = [
        ("a", 1, 0),
        ("aa", 60, 1),
        ("ab", 30, 1),
        ("abc", 30, 1),
        ("b", 20, 1),
        ("cc", 5, 0),
    ]
    codes = words.encode([text for text, _, _ in nodes])
    levels = np.array([len(text) + ended for text, _, ended in nodes])
    keep = np.argsort(codes)[1:]  # but for the beginning "a", in which others lie
    leaves = LeafEstimates(
        levels=levels[keep],
        prefixes=codes[keep],
        counts=np.array([float(n) for _, n, _ in nodes])[keep],
    )

    def parts(least: float, most: int = 99) -> list[tuple[str, int]]:
        found = frequent_prefixes(words, leaves, least=least, most=most)
        found.check(words)
        assert found.places(words, leaves.prefixes).max() < len(found)
        return list(zip(words.decode(found.prefixes), found.levels.tolist(), strict=True))

    assert parts(1_000) == [("", 0)]
    assert parts(140) == [("a", 1), ("b", 1), ("c", 1)]
    assert parts(1, most=4) == [("aa", 2), ("ab", 2), ("b", 1), ("c", 1)]
    assert parts(50) == [("aa", 3), ("ab", 3), ("abc", 3), ("b", 1), ("c", 1)]
    assert parts(10) == [("aa", 3), ("ab", 3), ("abc", 4), ("b", 2), ("c", 1)]


def test_a_part_says_what_it_has_where_that_is_more_than_noise() -> None:
    """Of 40 parts in two halves that are unlike: large ones are believed, small ones follow their half, all
    noise follows the whole."""
    rng = np.random.default_rng(2)
    half = np.repeat([0, 1], 20)
    shares = np.where(half[:, None] == 0, [[0.8, 0.2]], [[0.3, 0.7]])
    counts = np.tile([5_000.0, 20.0], 20)
    truth = counts[:, None] * shares
    truth[0] = [500, 4_500]
    depths = [half, np.arange(40)]
    noisy = np.rint(truth + rng.normal(0, 15, truth.shape))
    found = hierarchical_shrinkage.shrink_by_node(
        noisy, depths, counts=counts, whole=truth.sum(axis=0), variance=225.0
    )
    assert found.sum(axis=1) == pytest.approx(counts) and found.min() >= 0
    assert np.abs(found[0] - truth[0]).max() < 60
    small = found[1::2] / 20
    assert (
        np.abs(small - shares[1::2]).max()
        < 0.25
        < np.abs(noisy[1::2] / 20 - shares[1::2]).max()
    )
    loud = hierarchical_shrinkage.shrink_by_node(
        rng.normal(0, 1e5, truth.shape),
        depths,
        counts=counts,
        whole=truth.sum(axis=0),
        variance=1e10,
    )
    assert np.abs(loud / counts[:, None] - truth.sum(axis=0) / truth.sum()).max() < 0.5


def test_the_command_line_draws_texts_with_their_columns(tmp_path: Path) -> None:
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
    out, receipt = tmp_path / "out.csv", tmp_path / "receipt.json"
    given = [
        "synthesize",
        str(tmp_path / "t.csv"),
        "--domain",
        str(tmp_path / "d.json"),
        "--mechanism",
        "adaptive",
    ]
    assert (
        cli.main([*given, "--epsilon", "4", "--out", str(out), "--receipt", str(receipt)]) == 0
    )
    found = pd.crosstab(*(pd.read_csv(out)[name] for name in table), normalize=True)
    truth = pd.crosstab(table["query"], table["band"], normalize=True)
    assert found.sub(truth, fill_value=0).abs().to_numpy().sum() / 2 < 0.08
    assert verifier.verify(json.loads(receipt.read_text())).epsilon <= 4
