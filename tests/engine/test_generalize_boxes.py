"""`generalize` with groups that are divided apart: classes of columns, boxes, counts that agree, groups, and
the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine.domain import Categorical, Domain, Integer
from synth_engine.domain.partitions import Partition
from synth_engine.errors import InputError, PrivacyError, SpecError
from synth_engine.hierarchy import UNDIVIDED, Boxes, ClassTree
from synth_engine.indexing import classes
from synth_engine.inference import box_groups
from synth_engine.inference.box_groups import CountedRound
from synth_engine.measurement import Answers, BoxChoices, BoxCounts
from synth_engine.models.model import Model
from synth_engine.room import counts as exact_counts
from synth_engine.room.rows import Rows
from tests.answers import replaced
from tests.engine.test_generalize import TABLE, people, released

CITIES = ("Bern", "Biel", "Genf", "Sitten", "Nizza")
TRADES = Domain(
    attributes=(
        Categorical(name="city", values=CITIES, missing=("?",)),
        Integer(name="age", low=0, high=9, width=1),
        Categorical(name="sex", values=("f", "m"), outside="clamp"),
    ),
    partitions=(
        Partition(name="language", column="city", of=("de", "de", "fr", "fr", "fr")),
        Partition(name="country", column="city", of=("CH", "CH", "CH", "CH", "FR")),
    ),
)


# ---- classes and boxes
# -----------------------------------------------------------------------------------------------


def test_classes_are_the_partitions_or_halves_of_a_range_or_the_values() -> None:
    city, age, sex = classes.class_trees(
        Domain(attributes=TRADES.attributes, partitions=TRADES.partitions[1:])
    )
    assert [part.tolist() for part in city.members[:4]] == [
        [0, 1, 2, 3, 4, 5],
        [0, 1, 2, 3],
        [4],
        [5],  # the missing city is a class beside the countries
    ]
    assert [part.tolist() for part in age.members[:3]] == [
        list(range(10)),
        [0, 1, 2, 3, 4],
        [5, 6, 7, 8, 9],
    ]
    assert sex.children == ((1, 2), (), ())


def test_every_code_is_a_class_of_its_own_in_the_end() -> None:
    for tree in classes.class_trees(TABLE):
        size = tree.child_of.shape[1]
        alone = [
            part for part, below in zip(tree.members, tree.children, strict=True) if not below
        ]
        assert sorted(code for part in alone for code in part.tolist()) == list(range(size))
        for parent, below in enumerate(tree.children):
            if below:
                together = np.concatenate([tree.members[child] for child in below])
                assert sorted(together.tolist()) == tree.members[parent].tolist()


@given(st.lists(st.lists(st.integers(-1, 2), min_size=40, max_size=40), max_size=4))
@settings(max_examples=60, deadline=None)
def test_whatever_is_chosen_every_record_lies_in_one_box(rounds: list[list[int]]) -> None:
    """The lemma of the proof: boxes are disjoint and cover everything."""
    boxes = Boxes(trees=classes.class_trees(TRADES_FLAT))
    for wanted in rounds:
        choices = np.array((wanted * 100)[: len(boxes)], dtype=np.int64)
        can = boxes.child_counts[np.arange(len(boxes)), np.maximum(choices, 0)] > 0
        boxes = boxes.divided(np.where(can, choices, UNDIVIDED))
    shape = TRADES_FLAT.shape(TRADES_FLAT.names)
    every = [codes.ravel() for codes in np.indices(shape)]
    places = boxes.places(every)
    covered = np.zeros(shape, dtype=np.int64)
    for box, of_columns in enumerate(boxes.classes):
        inside = np.ix_(
            *(tree.members[one] for tree, one in zip(boxes.trees, of_columns, strict=True))
        )
        covered[inside] += 1
        assert (places.reshape(shape)[inside] == box).all()
    assert (covered == 1).all()


TRADES_FLAT = Domain(attributes=TRADES.attributes, partitions=TRADES.partitions[1:])


def test_boxes_are_counted_and_the_largest_part_of_each_division() -> None:
    rows = Rows(people(2_000), domain=TABLE)
    boxes = Boxes(trees=classes.class_trees(TABLE)).divided(np.array([0]))
    assert exact_counts.by_box(rows, boxes).sum() == 2_000
    among = boxes.child_counts > 0
    largest = exact_counts.largest_children(rows, boxes, among)
    table = np.zeros((2, 5), dtype=np.int64)
    np.add.at(table, (rows.codes("rare").astype(int), rows.codes("skewed").astype(int)), 1)
    # "Skewed" has halves of its range: 0 to 2, and 3 and 4.
    assert (
        largest[:, 1].tolist()
        == np.maximum(table[:, :3].sum(axis=1), table[:, 3:].sum(axis=1)).tolist()
    )
    assert (largest[~among] == 0).all()


def test_there_are_not_more_boxes_than_memory_holds() -> None:
    tree = ClassTree.of_levels("a", [np.arange(1_000)])
    boxes = Boxes(trees=(tree, ClassTree.of_levels("b", [np.arange(100)])))
    with pytest.raises(PrivacyError, match="at most 20,000 boxes"):
        boxes.divided(np.array([0])).divided(np.ones(1_000, dtype=np.int64))


# ---- counts and groups
# -----------------------------------------------------------------------------------------------
def two_rounds() -> Boxes:
    """The first column is divided, then its second half by the second column."""
    trees = tuple(
        ClassTree.of_levels(name, [np.arange(size)]) for name, size in (("a", 2), ("b", 3))
    )
    return Boxes(trees=trees).divided(np.array([0])).divided(np.array([UNDIVIDED, 1]))


def test_counts_agree_from_round_to_round_and_use_all_that_was_counted() -> None:
    boxes = two_rounds()
    counted = [
        CountedRound(rounds=1, values=np.array([60.0, 36.0]), variance=1.0),
        CountedRound(rounds=2, values=np.array([64.0, 10.0, 20.0, -2.0]), variance=1.0),
        CountedRound(rounds=2, values=np.array([64.0, 10.0, 20.0, -2.0]), variance=0.5),
    ]
    whole, halves, last = box_groups.estimate(boxes, counted, total=96.0)
    assert whole.tolist() == [96.0]
    assert halves.sum() == pytest.approx(96.0) and last.sum() == pytest.approx(96.0)
    assert last[0] == pytest.approx(halves[0]) and last[1:].sum() == pytest.approx(halves[1])
    assert last.min() >= 0
    # 60 once and 64 three times, by inverse variance.
    assert 61 < halves[0] < 64


def test_small_groups_are_put_together_or_left_out() -> None:
    boxes = two_rounds()
    counts = [np.array([100.0]), np.array([60.0, 40.0]), np.array([60.0, 30.0, 6.0, 4.0])]
    groups = box_groups.large_groups(boxes, counts, least=10.0)
    assert [(group.classes, group.among, group.count) for group in groups] == [
        ((1, 0), (), 60.0),
        ((2, 0), (2, 3), 10.0),
        ((2, 1), (), 30.0),
    ]
    # The six and the four are fewer than eleven together: what is left of their half is 40.
    left = box_groups.large_groups(boxes, counts, least=11.0)
    assert [(group.classes, group.count) for group in left] == [((1, 0), 60.0), ((2, 1), 40.0)]
    assert [group.classes for group in box_groups.large_groups(boxes, counts, least=70.0)] == [
        (0, 0)
    ]


def test_records_of_a_group_are_spread_by_their_single_columns() -> None:
    boxes = two_rounds()
    counts = [np.array([100.0]), np.array([60.0, 40.0]), np.array([60.0, 30.0, 6.0, 4.0])]
    groups = box_groups.large_groups(boxes, counts, least=10.0)
    alone = {"a": np.array([6.0, 4.0]), "b": np.array([5.0, 3.0, 1.0])}
    table = box_groups.table_of(boxes, groups, alone=alone)
    assert table is not None and table.columns == ("a", "b")
    # The second and third value of b are alike in every group.
    assert table.bins["b"].tolist() == [0, 1, 1]
    assert table.weights[0] == pytest.approx([60 * 5 / 9, 60 * 4 / 9])
    assert table.weights[1] == pytest.approx([30.0, 10.0])


# ---- runs
# ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rest", ["histogram", "any"])
def test_a_run_publishes_groups_of_classes_and_draws_rows(rest: str) -> None:
    plan, answers, model = released(epsilon="4", divided="apart", k=100, rest=rest)
    published: Any = plan.published(answers)
    sizes = [model.domain.sizes[name] for name in published["columns"]]
    cells = [np.prod([len(codes) for codes in box]) for box, _ in published["boxes"]]
    assert len(published["boxes"]) > 3 and sum(cells) <= np.prod(sizes)
    assert sum(count for _, count in published["boxes"]) == pytest.approx(model.rows, rel=1e-3)
    assert min(count for _, count in published["boxes"]) >= 99
    codes = model.sample(20_000, seed="a")
    assert {name: len(column) for name, column in codes.items()} == dict.fromkeys(
        TABLE.names, 20_000
    )
    rare = (codes["rare"] == 1).mean()
    assert 0.01 < rare < 0.03


def test_rows_lie_in_the_groups_in_the_published_numbers() -> None:
    plan, answers, model = released(epsilon="8", divided="apart", k=200)
    published: Any = plan.published(answers)
    codes = model.sample(model.rows, seed="b")
    for box, count in published["boxes"]:
        inside = np.logical_and.reduce(
            [
                np.isin(codes[name], of_column)
                for name, of_column in zip(published["columns"], box, strict=True)
            ]
        )
        assert inside.sum() == pytest.approx(count, abs=8 * count**0.5 + 2)


def test_answers_can_be_stored_and_read_again(tmp_path: Any) -> None:
    plan, answers, model = released(epsilon="4", divided="apart")
    answers.save(tmp_path / "answers.npz")
    read = Answers.load(tmp_path / "answers.npz")
    assert read.digest == answers.digest
    assert plan.fit(read).to_json() == model.to_json()
    assert Model.from_json(model.to_json()).to_json() == model.to_json()


def test_answers_of_other_boxes_are_refused() -> None:
    plan, answers, _ = released(epsilon="4", divided="apart")
    division, counts = answers.of(BoxChoices)[0], answers.of(BoxCounts)[0]
    divisions, tables = answers.of(BoxChoices)[1:], answers.of(BoxCounts)[1:]
    for other in (
        BoxChoices(columns=division.columns[::-1], choices=division.choices),
        BoxChoices(columns=division.columns, choices=division.choices - 1),
        BoxChoices(columns=division.columns, choices=division.choices + 4),
    ):
        with pytest.raises(InputError, match="not of this plan"):
            plan.fit(replaced(answers, BoxChoices, (other, *divisions)))
    foreign = BoxCounts(boxes="0" * 64, noise=counts.noise, values=counts.values)
    with pytest.raises(InputError, match="not of this plan"):
        plan.fit(replaced(answers, BoxCounts, (foreign, *tables)))
    with pytest.raises(InputError):
        plan.fit(answers[:-1])


def test_a_table_with_little_in_it_is_not_divided() -> None:
    plan, answers, model = released(rows=20, divided="apart", k=50)
    assert not answers.of(BoxChoices) and plan.published(answers) == {
        "columns": [],
        "boxes": [[[], model.rows]],
    }


def test_the_number_of_columns_is_of_groups_that_are_divided_together() -> None:
    with pytest.raises(SpecError, match="divided together"):
        released(divided="apart", columns=2)


def test_partitions_that_do_not_nest_are_refused_before_anything_is_asked() -> None:
    with pytest.raises(InputError, match="do not nest"):
        classes.class_trees(TRADES)


def test_needs_and_errors_are_forecast() -> None:
    plan, _, _ = released(divided="apart")
    assert plan.needs().seconds > 0 and 0 < plan.expected_error().mean < 1
    plan, _, _ = released(divided="apart", rest="any")
    assert 0 < plan.expected_error().mean < 1
