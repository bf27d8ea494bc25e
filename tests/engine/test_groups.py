"""Rows of one person in drawn tables: as many as measured, next to one another, under one fresh
identifier."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import mechanisms
from synth_engine.domain import Boolean, Domain, Identifier
from synth_engine.errors import InputError
from synth_engine.measurement import GroupSizes, Noise
from synth_engine.models import blocks, group_sizes
from synth_engine.models.model import WHOLE, Model, Table, whole_weights
from synth_engine.privacy.unit import PrivacyUnit

SIZES = np.array([5, 3, 0, 2], dtype=np.int64)
"""Of ten persons: one row, two, three, four."""


def model(weights: Any = SIZES, *, most: int = 4, **made: Any) -> Model:
    identifier = Identifier(
        name="who", **(made or {"regenerate": "random", "pattern": "P-####"})
    )
    domain = Domain(
        attributes=(identifier, Boolean(name="member")),
        unit=PrivacyUnit(max_records=most, column="who"),
    )
    halves = np.array([WHOLE // 2, WHOLE // 2], dtype=np.int64)
    shares = None if weights is None else whole_weights(np.asarray(weights, dtype=np.float64))
    return Model(
        mechanism="independent",
        domain=domain,
        rows=1_900,
        tables=(Table(clique=("member",), weights=halves),),
        groups=shares,
    )


def runs(names: list[str]) -> list[int]:
    return [len(list(same)) for _, same in groupby(names)]


def test_groups_keep_the_distribution_of_their_sizes() -> None:
    names = mechanisms.draw_table(model(), 1_900, "a seed")["who"].tolist()
    found = Counter(runs(names))
    persons = sum(found.values())
    assert len(set(names)) == persons, (
        "the rows of a person stand together, and no two persons share a name"
    )
    assert abs(persons - 1_000) <= 1
    for size, weight in enumerate(SIZES, start=1):
        assert found[size] == pytest.approx(weight * 100, abs=2)


def test_a_small_table_has_whole_groups_of_the_same_distribution() -> None:
    found: Counter[int] = Counter()
    for seed in range(60):
        sizes = runs(mechanisms.draw_table(model(), 40, str(seed))["who"].tolist())
        assert sum(sizes) == 40
        found += Counter(sizes[:-1])  # the last one is cut to fit
    shares = {size: number / found.total() for size, number in found.items()}
    assert shares == pytest.approx({1: 0.5, 2: 0.3, 4: 0.2}, abs=0.06)


def test_a_table_in_blocks_is_the_table_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = mechanisms.draw_table(model(), 500, "a seed")["who"].tolist()
    monkeypatch.setattr(blocks, "FIRST", 7)  # groups lie across the ends of blocks
    assert mechanisms.draw_table(model(), 500, "a seed")["who"].tolist() == whole
    assert mechanisms.draw_table(model(), 500, "another")["who"].tolist() != whole


@pytest.mark.parametrize(
    ("made", "first"),
    [
        ({"regenerate": "sequence"}, ["1", "2", "3"]),
        ({"regenerate": "sequence", "pattern": "u-##"}, ["u-01", "u-02"]),
    ],
)
def test_persons_are_numbered_where_the_pattern_says_so(
    made: dict[str, Any], first: list[str]
) -> None:
    names = mechanisms.draw_table(model(**made), 100, "a seed")["who"].tolist()
    assert [name for name, _ in groupby(names)][: len(first)] == first


def test_without_measured_sizes_every_row_has_a_person_of_its_own() -> None:
    assert set(runs(mechanisms.draw_table(model(None), 200, "a seed")["who"].tolist())) == {1}


def test_only_a_column_of_persons_that_is_made_anew_and_has_several_rows_is_grouped() -> None:
    attributes = (
        Identifier(name="who", regenerate="uuid"),
        Identifier(name="gone"),
        Boolean(name="member"),
    )

    def grouped(**unit: Any) -> Identifier | None:
        return Domain(attributes=attributes, unit=PrivacyUnit(**unit)).grouped

    assert grouped(max_records=2, column="who") == attributes[0]
    assert grouped(max_records=1, column="who") is None
    assert grouped(max_records=2, column="gone") is None
    assert grouped(max_records=2, column="elsewhere") is None
    assert grouped(max_records=2) is None


@settings(max_examples=200)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=30),
    rows=st.integers(0, 200),
    seed=st.integers(0, 2**32),
)
def test_groups_fill_a_table_exactly_and_in_sizes_that_were_dealt(
    sizes: list[int], rows: int, seed: int
) -> None:
    dealt = np.array(sizes, dtype=np.int64)
    ends = group_sizes.ends(dealt, rows, rng=np.random.default_rng(seed))
    found = np.diff(ends, prepend=0)
    assert int(found.sum()) == rows
    if rows:
        assert found.min() >= 1
        assert set(found[:-1].tolist()) <= set(sizes)
        whole = min(len(found) - 1, len(sizes))
        assert not Counter(found[:whole].tolist()) - Counter(sizes)
    members = group_sizes.members(ends, start=0, rows=rows)
    assert (
        np.bincount(members.astype(np.int64), minlength=len(found)).tolist() == found.tolist()
    )
    assert group_sizes.counted(ends, most=9).tolist() == [
        int((found == size).sum()) for size in range(1, 10)
    ]


def noisy(values: list[int], scale: int = 1) -> GroupSizes:
    noise = Noise(law="discrete-laplace", scale=Fraction(scale))
    return GroupSizes(noise=noise, values=np.array(values, dtype=np.int64))


def test_noisy_sizes_become_frequencies_with_nothing_below_zero() -> None:
    found = group_sizes.frequencies(noisy([700, 205, -4, 99, 1, -2]))
    assert found.min() >= 0
    assert found / found.sum() == pytest.approx(
        [0.7, 0.205, 0, 0.099, 0, 0][: found.size], abs=0.01
    )


@pytest.mark.parametrize("values", [[0, 0, 0], [-5, 2, 1], [-7]])
def test_where_noise_leaves_nobody_everybody_has_one_row(values: list[int]) -> None:
    assert group_sizes.frequencies(noisy(values)).tolist() == [1.0]


def test_many_sizes_that_nobody_has_do_not_stretch_the_groups() -> None:
    """A wide bound: noise on a thousand empty cells must not make groups of hundreds."""
    rng = np.random.default_rng(5)
    values = np.zeros(1_000, dtype=np.int64)
    values[:5] = [4_000, 2_500, 1_200, 400, 100]
    values += np.round(rng.laplace(0, 20, 1_000)).astype(np.int64)
    found = group_sizes.frequencies(noisy(values.tolist(), scale=20))
    mean = float(found @ np.arange(1, found.size + 1) / found.sum())
    assert mean == pytest.approx(1.79, rel=0.25)


def test_a_model_with_groups_is_stored_and_read_back() -> None:
    stored = json.loads(json.dumps(model().to_json()))
    read = Model.from_json(stored)
    assert read.to_json() == stored
    assert mechanisms.draw_table(read, 50, "a seed").equals(
        mechanisms.draw_table(model(), 50, "a seed")
    )
    assert "groups" not in model(None).to_json()


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"groups": [WHOLE - 1]}, id="another sum"),
        pytest.param({"groups": [WHOLE + 1, -1]}, id="below zero"),
        pytest.param({"groups": [0, 0, 0, 0, WHOLE]}, id="more than a person may have"),
        pytest.param({"groups": []}, id="none"),
        pytest.param({"groups": [[WHOLE]]}, id="two axes"),
    ],
)
def test_group_sizes_that_do_not_fit_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"group sizes|model document"):
        Model.from_json(model().to_json() | changed)


def test_group_sizes_of_persons_that_are_not_made_anew_are_refused() -> None:
    document = model().to_json()
    document["domain"]["unit"]["max_records"] = 1
    with pytest.raises(InputError, match="persons anew"):
        Model.from_json(document)
