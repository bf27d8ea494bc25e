"""`direct-synthesis`: counts that are handed down, records in their cells, totals, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import cli, mechanisms, verifier
from synth_engine.domain import Categorical, Domain, Order, Weak
from synth_engine.errors import DomainError, InputError, SpecError
from synth_engine.hierarchy import StringHierarchy
from synth_engine.indexing import prefixes
from synth_engine.inference.topdown_allocation import Allocation, centre_counts
from synth_engine.kinds.completions import Completions
from synth_engine.measurement import Answers, Leaves, Measurement
from synth_engine.models.model import Model
from synth_engine.privacy.loss import GaussianDP, Pure
from synth_engine.privacy.unit import Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from synth_engine.values import from_json
from tests.answers import replaced
from tests.engine.test_adaptive import SQUARE, clustered

# ---- counts that are handed down
# ----------------------------------------------------------------------------------


def by_turns(counts: list[int], most: int, start: int) -> list[int]:
    """The paper's loop, as it is written."""
    found = [min(max(count, 0), most) for count in counts]
    step, place = (1 if sum(found) < most else -1), start
    while sum(found) != most:
        if 0 <= found[place] + step <= most:
            found[place] += step
        place = (place + 1) % len(found)
    return found


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(-30, 60), min_size=1, max_size=7), st.integers(0, 60)),
        min_size=1,
    )
)
def test_turns_are_those_of_the_paper(families: list[tuple[list[int], int]]) -> None:
    parents = np.repeat(np.arange(len(families)), [len(counts) for counts, _ in families])
    counts = np.array([count for counts, _ in families for count in counts])
    sums = np.array([most for _, most in families])
    starts = np.array([place % len(counts) for place, (counts, _) in enumerate(families)])
    found = centre_counts(counts, parents=parents, sums=sums, starts=starts)
    wished = [
        by_turns(counts, most, int(start))
        for (counts, most), start in zip(families, starts, strict=True)
    ]
    assert found.tolist() == [count for family in wished for count in family]


def test_records_are_handed_down_to_the_last() -> None:
    points = prefixes.hierarchy(SQUARE, ("x", "y"))
    rng = np.random.default_rng(3)
    allocation = Allocation(points, depth=4, stop=6)
    allocation.begin(500)
    depths = 0
    while len(allocation.requested):
        allocation.divide(rng.integers(-20, 90, len(allocation.requested)), rng=rng)
        depths += 1
    levels, cells, counts = allocation.leaves()
    assert (
        counts.sum() == allocation.total == 500
        and counts.min() > 0
        and depths == levels.max() == 4
    )
    assert (counts[levels < 4] <= 6).all()
    ends = cells + np.uint64(1) * np.array(
        [1 << (2 * (points.depth - level)) for level in levels], dtype=np.uint64
    )
    order = np.argsort(cells)
    assert (ends[order][:-1] <= cells[order][1:]).all()  # none inside another
    with pytest.raises(ValueError, match="other counts"):
        Allocation(points, depth=1, stop=0).divide(np.zeros(3, dtype=np.int64), rng=rng)


def test_texts_are_handed_down_sign_by_sign_until_they_end() -> None:
    words = StringHierarchy(columns=("word",), alphabet="ab", longest=2, shortest=1)
    allocation = Allocation(words, depth=2, stop=0)
    allocation.begin(5)
    allocation.divide(np.array([5, 0]), rng=np.random.default_rng(1))
    assert words.decode(allocation.requested.prefixes) == ["a", "aa", "ab"]
    allocation.divide(np.array([2, 3, 0]), rng=np.random.default_rng(1))
    levels, prefixes_, counts = allocation.leaves()
    assert (words.decode(prefixes_), counts.tolist(), levels.tolist()) == (
        ["a", "aa"],
        [2, 3],
        [2, 2],
    )


WORD = {"set": "strings", "alphabet": "ab", "min_length": 1, "max_length": 3}


def texts(*, epsilon: str = "10", **parameters: Any) -> tuple[Any, Answers, Model]:
    """1,000 a, 500 ab, 500 abb, and 300 that are no such texts."""
    values = from_json(WORD)
    domain = Domain(attributes=(Weak(name="word", values=values),))
    spec = Spec(
        mechanism="direct-synthesis",
        epsilon=Fraction(epsilon),
        parameters={"stop": 0, **parameters},
    )
    plan = mechanisms.plan(domain, spec)
    ranks = [values.rank(text) for text in ("a", "ab", "abb")] + [values.size]
    found = np.repeat(np.arange(4, dtype=np.int32), [1000, 500, 500, 300])
    rows = Rows(
        {"word": np.zeros(2300, dtype=np.uint16)},
        domain=domain,
        ranked={"word": (found, ranks)},
    )
    answers = plan.run(open_session(rows, domain=domain, cap=plan.loss))
    return plan, answers, plan.fit(answers)


def test_texts_come_out_and_those_with_other_signs_are_not_there() -> None:
    plan, answers, model = texts(depth=3)
    assert abs(model.rows - 2000) < 30 and not answers.measurements
    drawn = mechanisms.draw_table(model, 2000, "seed")["word"].value_counts()
    assert (
        abs(drawn["a"] - 1000) < 40
        and abs(drawn["ab"] - 500) < 40
        and abs(drawn["abb"] - 500) < 40
    )
    assert verifier.verify(plan.receipt(answers)).epsilon <= 10
    assert Model.from_json(json.loads(json.dumps(model.to_json()))).to_json() == model.to_json()
    assert (
        mechanisms.REGISTRY["direct-synthesis"].suits(plan.domain) and plan.needs().seconds > 0
    )
    assert 0 < plan.expected_error().mean < 1
    with pytest.raises(InputError):
        plan.fit(replaced(answers, Leaves, answers.leaves[1:]))


def test_beginnings_are_marked_where_that_is_asked_for() -> None:
    drawn = mechanisms.draw_table(texts(depth=2, partial="marked")[2], 2000, "seed")[
        "word"
    ].value_counts()
    assert drawn["ab…"] > 900 and drawn["a"] > 900


# ---- releases
# -----------------------------------------------------------------------------------------------------


def released(
    domain: Domain = SQUARE,
    *,
    rows: int = 20_000,
    epsilon: str = "1",
    delta: Fraction = Fraction(0),
    **parameters: Any,
) -> tuple[Any, Answers, Model]:
    spec = Spec(
        mechanism="direct-synthesis",
        epsilon=Fraction(epsilon),
        delta=delta,
        parameters=parameters,
    )
    plan = mechanisms.plan(domain, spec)
    codes = (
        clustered(rows)
        if rows
        else {name: np.empty(0, dtype=np.uint16) for name in domain.names}
    )
    answers = plan.run(open_session(Rows(codes, domain=domain), domain=domain, cap=plan.loss))
    return plan, answers, plan.fit(answers)


@pytest.mark.parametrize(
    ("delta", "kind"), [(Fraction(0), Pure), (Fraction(1, 10**9), GaussianDP)]
)
def test_large_regions_are_off_by_a_few_records(delta: Fraction, kind: type) -> None:
    plan, answers, model = released(epsilon="10", delta=delta)
    assert (
        isinstance(plan.loss, kind)
        and 9.9 < verifier.verify(plan.receipt(answers)).epsilon <= 10
    )
    assert abs(model.rows - 20_000) < 40
    drawn, truth = model.sample(model.rows, seed="s"), clustered(20_000)
    quarters = [
        np.bincount(codes["x"] // 16 * 4 + codes["y"] // 16, minlength=16)
        for codes in (drawn, truth)
    ]
    assert (
        np.abs(quarters[0] - quarters[1]).max() < 60
    )  # a sample of the table would be off by a hundred
    assert len(model.sample(100, seed="s")["x"]) == 100


def test_the_number_of_records_is_public_where_it_is_declared() -> None:
    domain = replace(SQUARE, relation=Relation.REPLACE_ONE, rows=20_000, invariants=("rows",))
    _, answers, model = released(domain)
    assert model.rows == 20_000 and not answers.measurements


def test_fewer_depths_are_asked_for_where_epsilon_is_small() -> None:
    depths = [len(released(epsilon=epsilon)[1].leaves) for epsilon in ("1/100", "1", "20")]
    assert depths == sorted(depths) and depths[0] < depths[-1] <= 6
    assert len(released(depth=2, stop=0)[1].leaves) == 2


def test_an_empty_table_and_a_tiny_epsilon_give_a_release() -> None:
    for given_ in ({"rows": 0}, {"rows": 5, "epsilon": "1/1000"}):
        plan, answers, model = released(**given_)  # type: ignore[arg-type]
        assert (
            1
            <= len(answers.leaves)
            <= plan.counted_depths(float(answers.measurements[0].values))[0]
        )
        drawn = model.sample(10, seed="s")
        assert all(
            drawn[name].shape == (10,) and drawn[name].max() < size
            for name, size in SQUARE.sizes.items()
        )
    assert (
        len(released(rows=0, epsilon="1000")[1].leaves) == 1
    )  # without noise there is nothing to divide


def test_models_are_kept_as_they_are_and_answers_say_all_of_them(tmp_path) -> None:
    plan, answers, model = released(epsilon="4")
    answers.save(tmp_path / "answers.npz")
    assert plan.fit(Answers.load(tmp_path / "answers.npz")).to_json() == model.to_json()
    again = Model.from_json(json.loads(json.dumps(model.to_json())))
    one, other, another = (
        each.sample(500, seed=seed) for each, seed in ((model, "a"), (again, "a"), (again, "b"))
    )
    assert all((one[name] == other[name]).all() for name in one)
    assert any((one[name] != another[name]).any() for name in one)


def test_answers_of_another_plan_are_refused() -> None:
    plan, answers, _ = released(epsilon="4")
    for wrong in (
        replaced(answers, Measurement, ()),
        replaced(answers, Leaves, answers.leaves[:-1]),
        replaced(answers, Leaves, (*answers.leaves, answers.leaves[-1])),
        replaced(answers, Leaves, answers.leaves[1:]),
    ):
        with pytest.raises(InputError):
            plan.fit(wrong)
    assert plan.needs().seconds > 0 and 0 < plan.expected_error().mean < 1


def test_what_is_no_box_of_points_is_refused() -> None:
    spec = Spec(mechanism="direct-synthesis", epsilon=Fraction(1))
    with pytest.raises(DomainError, match="no number"):
        mechanisms.plan(
            Domain(attributes=(Categorical(name="job", values=("a", "b"), missing=("",)),)),
            spec,
        )
    with pytest.raises(SpecError, match="depth"):
        mechanisms.plan(SQUARE, replace(spec, parameters={"depth": 7}))
    with pytest.raises(SpecError, match="constraints"):
        mechanisms.plan(replace(SQUARE, constraints=(Order(first="x", second="y"),)), spec)
    assert not mechanisms.REGISTRY["direct-synthesis"].suits(SQUARE)  # no place was declared


def test_the_command_line_makes_points_and_refuses_what_lies_outside_in_one_line(
    tmp_path, capsys
) -> None:
    (tmp_path / "domain.json").write_text(json.dumps(SQUARE.to_json()))
    rows = [
        f"{x},{y}" for x, y in zip(*(clustered(300)[name] for name in ("x", "y")), strict=True)
    ]
    (tmp_path / "data.csv").write_text("\n".join(["x,y", *rows, "900,5"]))
    names = [
        str(tmp_path / name) for name in ("data.csv", "domain.json", "out.csv", "receipt.json")
    ]
    asked = [
        "synthesize",
        names[0],
        "--domain",
        names[1],
        "--out",
        names[2],
        "--receipt",
        names[3],
        "--epsilon",
        "2",
    ]
    assert cli.main([*asked, "--mechanism", "direct-synthesis"]) == 0
    assert len((tmp_path / "out.csv").read_text().splitlines()) > 200
    assert cli.main([*asked, "--mechanism", "direct-synthesis", "--param", "depth=9"]) == 2
    assert "depth is more than" in capsys.readouterr().err


def test_prefixes_of_a_release_are_completed_by_public_texts() -> None:
    signs = from_json({"set": "strings", "alphabet": "abc", "min_length": 1, "max_length": 6})
    public = Completions(values=from_json({"set": "list", "values": ["abcabc", "bac"]}))
    domain = Domain(attributes=(Weak(name="word", values=signs, completions=public),))
    spec = Spec(mechanism="direct-synthesis", epsilon=Fraction(1), parameters={"depth": 2})
    plan = mechanisms.plan(domain, spec)
    ranks = [signs.rank("abcabc") or 0]
    rows = Rows(
        {"word": np.zeros(2_000, dtype=np.uint16)},
        domain=domain,
        ranked={"word": (np.zeros(2_000, dtype=np.int32), ranks)},
    )
    model = plan.fit(plan.run(open_session(rows, domain=domain, cap=plan.loss)))
    generated = mechanisms.draw_table(model, 1_000, "s")["word"]
    assert (generated == "abcabc").mean() > 0.9
