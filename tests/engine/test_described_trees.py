"""Descriptions of models with a tree: nodes by the values that they stand for, shares that can be edited, and
what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from synth_engine import pipeline
from synth_engine.errors import InputError
from synth_engine.models import description
from synth_engine.models.model import Model
from tests.engine import test_adaptive, test_learned_places, test_taxonomy_trees
from tests.engine import test_mixed as mixed
from tests.engine import test_text_products as text_products
from tests.engine import test_worded as worded

Document = dict[str, Any]


@cache
def points() -> Model:
    return test_adaptive.released(epsilon="4")[2]


@cache
def classes() -> Model:
    return test_taxonomy_trees.released(test_taxonomy_trees.ALL, "privtree", rows=2_000)


@cache
def texts_and_classes() -> Model:
    return text_products.released()[2]


@cache
def texts() -> Model:
    return worded.released()[2]


@cache
def beside() -> Model:
    return mixed.released(mixed.commuters(), epsilon="4")[2]


MODELS: list[Callable[[], Model]] = [points, classes, texts_and_classes, texts, beside]


def written(model: Model) -> Document:
    document: Document = json.loads(json.dumps(description.write(model)))
    return document


@pytest.mark.parametrize("model_of", MODELS)
def test_a_description_that_nobody_edited_gives_the_very_model(
    model_of: Callable[[], Model],
) -> None:
    model = model_of()
    document = written(model)
    again = description.read(document)
    assert again.to_json() == model.to_json()
    assert not description.edited(document, again)
    nodes = document["tree"]["nodes"]
    assert sum(node["share"] for node in nodes) == pytest.approx(1)
    labels = [json.dumps(node["node"], sort_keys=True) for node in nodes]
    assert len(set(labels)) == len(labels)


def test_cells_of_points_are_ranges_of_their_bins() -> None:
    nodes = written(points())["tree"]["nodes"]
    assert all(set(node["node"]) == {"x", "y"} for node in nodes)
    covered = np.zeros((64, 64), dtype=np.int64)
    for node in nodes:
        x, y = ((int(ends[0]), int(ends[-1]) + 1) for ends in node["node"].values())
        covered[slice(*x), slice(*y)] += 1
    # No cell lies inside another, and those that hold records are all there.
    assert covered.max() == 1
    codes = points().sample(2_000, seed="s")
    assert covered[codes["x"], codes["y"]].all()


def test_shares_of_nodes_can_be_edited() -> None:
    model = points()
    document = written(model)
    first, *others = document["tree"]["nodes"]
    for node in others:
        node["share"] = 0
    first["share"] = 1
    edited = description.read(document)
    assert description.edited(document, edited)
    codes = edited.sample(200, seed="s")
    for name, ends in first["node"].items():
        assert int(ends[0]) <= codes[name].min() and codes[name].max() <= int(ends[-1])


def test_a_tree_of_places_is_described_with_its_table_of_cells(tmp_path: Any) -> None:
    path = tmp_path / "table.csv"
    test_learned_places.table().to_csv(path, index=False)
    spec = test_learned_places.SPEC
    model = pipeline.synthesize(path, domain=test_learned_places.DOMAIN, spec=spec).model
    document = written(model)
    again = description.read(description.parse(json.dumps(document).encode()))
    assert again.to_json() == model.to_json()
    for change in (
        {"coded": document},
        {"places": None},
        {"places": [{}]},
        {"columns": []},
        {"places": [document["places"][0] | {"areas": ["x"]}]},
    ):
        with pytest.raises(InputError):
            description.read(document | change)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda tree: tree.pop("form"), "not an object"),
        (lambda tree: tree.update(nodes=[]), "lists no node"),
        (lambda tree: tree["nodes"][0].pop("share"), "missing or unknown"),
        (lambda tree: tree["nodes"][0].update(share=2), "from 0 to 1"),
        (lambda tree: tree["nodes"][0].update(share=1), "do not add up"),
        (lambda tree: tree["nodes"].reverse(), "another one"),
        (lambda tree: tree["form"].update(weights=[1]), "malformed"),
        (lambda tree: tree["form"].pop("levels"), "malformed"),
        (lambda tree: tree["form"].update(levels="x"), "malformed"),
        (lambda tree: tree["form"]["levels"].pop(), "malformed"),
    ],
)
def test_what_is_no_tree_is_refused(change: Callable[[Document], Any], rule: str) -> None:
    document = written(points())
    change(document["tree"])
    with pytest.raises(InputError, match=rule):
        description.read(document)


def test_notes_are_read_strictly() -> None:
    document = written(points())
    with pytest.raises(InputError, match="notes"):
        description.read(document | {"notes": {"noise": 1}})
    without = description.read({k: v for k, v in document.items() if k != "notes"})
    assert replace(points(), notes=None).to_json() == without.to_json()
    assert np.array_equal(without.sample(9, seed="s")["x"], points().sample(9, seed="s")["x"])
