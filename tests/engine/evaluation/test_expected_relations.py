"""The second word of quality: whether relations are expected to be in a release, without any look at real
data."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth_engine.domain import Domain
from synth_engine.evaluation import expected_errors, expected_relations, model_pairs
from synth_engine.evaluation.dependences import PairDependence
from synth_engine.evaluation.figure_origins import ExpectedRange, ModelFigure
from synth_engine.evaluation.quality_words import Relations
from synth_engine.models.model import Model, whole_weights
from synth_engine.models.network import Table
from synth_engine.privacy.receipt import CallDocument

DOMAIN = Domain.from_json({"a": 4, "b": 4, "c": 4})


def model_of(*cliques: tuple[str, ...]) -> Model:
    """A model of these tables, in which columns of one table are equal for most records."""
    tables = []
    for clique in cliques:
        weights = np.ones((4,) * len(clique))
        weights[tuple(np.arange(4) for _ in clique)] += 1_000
        tables.append(Table(clique=clique, weights=whole_weights(weights)))
    return Model(mechanism="independent", domain=DOMAIN, rows=5_000, tables=tuple(tables))


@pytest.mark.parametrize(
    ("related", "lost", "distance", "word"),
    [
        (0, None, None, "lost"),
        (0, 0.0, 0.0, "lost"),  # what is not in the model cannot be kept
        (5, 0.1, 0.9, "kept"),
        (5, 0.4, 0.0, "weak"),
        (5, 0.9, 0.0, "lost"),
        (5, None, 0.01, "kept"),
        (5, None, 0.1, "weak"),
        (5, None, 0.5, "lost"),
        (5, None, None, "unknown"),
    ],
)
def test_a_word_for_what_is_known(
    related: int, lost: float | None, distance: float | None, word: Relations
) -> None:
    found = expected_relations.level_of(related=related, pairs=10, lost=lost, distance=distance)
    assert found == word
    alone = expected_relations.level_of(related=0, pairs=0, lost=None, distance=None)
    assert alone == "unknown"


@pytest.mark.parametrize(
    ("weakest", "word"), [("lost", "weak"), ("weak", "kept"), ("unknown", "kept")]
)
def test_relations_are_not_kept_where_weak_ones_are_lost(
    weakest: Relations, word: Relations
) -> None:
    known = {"related": 5, "pairs": 10, "lost": 0.1, "distance": 0.0}
    assert expected_relations.level_of(**known, weakest=weakest) == word
    worse = expected_relations.level_of(**known | {"lost": 0.9}, weakest=weakest)
    assert worse == "lost"


def _dependence(model: Model) -> list[PairDependence]:
    return model_pairs.dependence(model, model_pairs.generated(model, seed="s"))


def test_a_model_of_single_columns_has_no_relation() -> None:
    apart = _dependence(model_of(("a",), ("b",), ("c",)))
    assert [each.is_real for each in apart] == [False] * 3
    joined = _dependence(model_of(("a", "b"), ("c",)))
    assert [each.is_real for each in joined] == [True, False, False]


def call(*clique: str, sigma_squared: float) -> CallDocument:
    return {
        "query": {"verb": "measure", "clique": list(clique), "cells": 4 ** len(clique)},
        "noise": {
            "law": "discrete-gaussian",
            "sigma_squared": str(Fraction(sigma_squared)),
        },
        "sensitivity": {},
        "cost": {},
    }


def test_the_noise_of_measured_tables_is_a_distance() -> None:
    loud, quiet = call("a", "b", sigma_squared=900), call("a", "b", sigma_squared=1)
    single = call("a", sigma_squared=1)

    def distance(*calls: CallDocument) -> float | None:
        return expected_relations.measured_distance(DOMAIN, calls, rows=5_000)

    assert distance(single) is None and distance() is None
    # Half of 16 cells with a mean absolute noise of 30 √(2/π), of 5,000 records.
    assert distance(loud) == pytest.approx(8 * 30 * np.sqrt(2 / np.pi) / 5_000)
    measured = [distance(each, single) for each in (quiet, loud)]
    assert measured[0] is not None and measured[1] is not None
    assert measured[0] == pytest.approx(measured[1] / 30)


def test_stored_errors_have_the_share_that_is_lost() -> None:
    band = ExpectedRange(
        estimate=ModelFigure(value=0.2), low=0.1, high=0.3, level=expected_errors.LEVEL
    )
    errors = expected_errors.ExpectedErrors(columns=band, pairs=band, relations=band)
    for each in (errors, replace(errors, relations=None)):
        assert expected_errors.from_json(expected_errors.to_json(each)) == each
