"""Stored samples stay byte for byte: a model of each form gives the file that it has always given.

A change of a digest breaks samples that people have cited. A new way of drawing is a new schema of models
(docs/adr/0174-one-sampler.md), with digests of its own here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from synth_engine.domain import Categorical, Domain, Integer, Number, Place, Weak
from synth_engine.errors import InputError
from synth_engine.hierarchy import SpatialHierarchy, StringHierarchy
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.indexing import prefixes
from synth_engine.mechanisms.trees import columns
from synth_engine.models.model import SCHEMA, WHOLE, Model, Table, whole_weights
from synth_engine.models.places import PlaceCells
from synth_engine.models.sparse_table import SparseTable
from synth_engine.models.trees import factory
from synth_engine.models.trees.spatial import SpatialTree
from synth_engine.tables import Drawing, csv_pieces
from tests.engine import test_targets, test_triple_mixture
from tests.engine.test_published_trees import SIGNS


def of_network() -> Model:
    """Tables along a chain, without targets."""
    return replace(test_targets.model(), targets=(), merged=(), tables=_chain().tables)


def _chain() -> Model:
    """The chain of the model with targets, its price by codes and not by bins."""
    whole = test_targets.model()
    *others, last = whole.tables
    spread = np.repeat(last.weights / 50, 50, axis=1)
    table = Table(clique=last.clique, weights=whole_weights(spread))
    return replace(whole, targets=(), merged=(), tables=(*others, table))


def of_independent_tables() -> Model:
    return replace(test_triple_mixture.model(), targets=(), mixture=None)


def of_texts() -> Model:
    """A tree of four beginnings of texts, one of them ended and one completed by public texts."""
    public = {"set": "list", "values": ["caba", "cabb", "cc"], "weights": [6, 2, 5]}
    document = {
        "name": "word",
        "kind": "weak",
        "values": SIGNS.to_json(),
        "completions": public,
    }
    domain = Domain.from_json({"schema": "synth_engine/domain/1", "attributes": [document]})
    words = StringHierarchy(columns=("word",), alphabet="abcdefghij", shortest=1, longest=6)
    leaves = LeafEstimates(
        levels=np.array([2, 2, 2, 1]),
        prefixes=words.encode(["ca", "cb", "d", "e"]),
        counts=np.array([100.0, 400.0, 250.0, 250.0]),
    )
    attribute = domain.attribute("word")
    assert isinstance(attribute, Weak)
    return Model(
        mechanism="adaptive",
        domain=columns.resolve_domain(domain),
        rows=8_000,
        tables=(),
        tree=factory.tree(words, leaves, completions=attribute.completions),
    )


def of_cells() -> Model:
    """Three cells of two columns, and a table of another."""
    places = tuple(f"w{number:04}" for number in range(900))
    domain = Domain(
        attributes=(
            Categorical(name="work", values=places, outside="clamp"),
            Categorical(name="home", values=places, outside="clamp"),
            Integer(name="jobs", low=0, high=3, width=1),
        )
    )
    weights = np.array([WHOLE // 2, WHOLE // 4, WHOLE // 4], dtype=np.int64)
    return Model(
        mechanism="on-the-map",
        domain=domain,
        rows=5_000,
        tables=(Table(clique=("jobs",), weights=whole_weights(np.arange(1.0, 5.0))),),
        cells=SparseTable(
            clique=("work", "home"),
            cells=np.array([7, 3 * 900 + 899, 800 * 900], dtype=np.int64),
            weights=weights,
        ),
    )


def of_places() -> Model:
    degrees = (
        Number(name=name, low=0, high=4, edges=(0, 1, 2, 3, 4)) for name in ("north", "east")
    )
    domain = Domain(
        attributes=tuple(degrees),
        places=(Place(name="home", latitude="north", longitude="east", learned=True),),
    )
    hierarchy = prefixes.hierarchy(domain, ("north", "east"))
    assert isinstance(hierarchy, SpatialHierarchy)
    tree = SpatialTree(
        hierarchy=hierarchy,
        levels=np.ones(4, dtype=np.int64),
        cells=hierarchy.below(hierarchy.root(), 0).ravel(),
        weights=whole_weights(np.array([1.0, 2.0, 3.0, 4.0])),
    )
    places = PlaceCells(place="home", tree=tree, areas=np.array([0, 0, 1, 1]))
    table = Table(clique=("home",), weights=whole_weights(np.array([0.3, 0.7])))
    coded = Model(
        mechanism="auto", domain=domain.join_places({"home": 2}), rows=9_000, tables=(table,)
    )
    return Model(
        mechanism="auto", domain=domain, rows=9_000, tables=(), coded=coded, places=(places,)
    )


MODELS: dict[str, tuple[Callable[[], Model], str]] = {
    "independent": (
        of_independent_tables,
        "3a8145fd71b2008a",
    ),
    "network": (of_network, "893a296583b6ce27"),
    "targets": (
        test_targets.model,
        "1dd1b5b7d88253a5",
    ),
    "tree": (of_texts, "7a36654cd37788f8"),
    "cells": (of_cells, "7d90077a3f7ef3a9"),
    "mixture": (
        test_triple_mixture.model,
        "fdaa4151d17bdf07",
    ),
    "places": (of_places, "11c8dbacbfba0677"),
}
"""Model, and the digest of 9,000 rows."""


@pytest.mark.parametrize("name", MODELS)
def test_a_stored_sample_stays_byte_for_byte(name: str) -> None:
    build, digest = MODELS[name]
    document = json.loads(json.dumps(build().to_json()))
    assert document["schema"] == SCHEMA
    draw = Drawing(model=Model.from_json(document), rows=9_000, seed="stored")
    text = b"".join(csv_pieces(draw))
    assert text.count(b"\n") == 9_001
    assert hashlib.sha256(text).hexdigest()[:16] == digest


def test_another_schema_is_refused() -> None:
    document = of_network().to_json() | {"schema": "synth_engine/model/2"}
    with pytest.raises(InputError, match="this is no model of the schema synth_engine/model/1"):
        Model.from_json(document)
