"""Colours of differences: their ends are fixed for a kind of figure, and what chance gives is grey."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth_engine import evaluation
from synth_engine.domain import Domain
from synth_engine.evaluation import colour_ends, commute_maps, pair_cards, style, view
from synth_engine.evaluation.figures.dependence import nmi_heatmap
from synth_engine.evaluation.figures.pairs import tvd_heatmap
from synth_engine.evaluation.plots import Figure, Report
from tests.engine.evaluation.tables import Codes, codes, compared, shuffled
from tests.engine.evaluation.test_commutes import cells, drawn, shown, towns
from tests.engine.evaluation.test_pairs_of_values import RISING
from tests.engine.evaluation.test_pairs_of_values import compared as compared_values

DIFFERENCES = (style.DIVERGING, style.DISTANCE)


def _pairs_of_models(scale: float) -> Figure:
    pairs = {("a", "b"): 0.8 * scale, ("a", "c"): -0.4 * scale, ("b", "c"): 0.001}
    figure = pair_cards.card_of_difference(["a", "b", "c"], pairs, letters=("A", "B")).figure
    assert figure is not None
    return figure


def _commutes(domain: Domain, *, near: bool) -> Iterator[Figure]:
    real = drawn(domain, 3_000, seed=31)
    synthetic = drawn(domain, 3_000, seed=32)
    if not near:
        synthetic = {name: np.zeros_like(column) for name, column in synthetic.items()}
    view_of = shown(domain, real, synthetic)
    for card, _ in commute_maps.make_all(view_of):
        if card.figure is not None:
            yield card.figure


def figures(*, near: bool) -> Iterator[tuple[str, Figure]]:
    """All kinds of figures, of two tables that are alike, or as far apart as can be."""
    real = codes(3_000, seed=1)
    made = compared(real, codes(3_000, seed=2) if near else shuffled(real, seed=2))
    for part in view.lay_out(made).sections:
        for card in part.cards:
            if card.figure is not None:
                yield card.key, card.figure
    for card in view.lay_out(_values(near=near)).cards("ranks"):
        assert card.figure is not None
        yield card.key, card.figure
    yield "model pairs", _pairs_of_models(0.05 if near else 1.0)
    for name, domain in (("towns", towns()), ("cells", cells())):
        for number, figure in enumerate(_commutes(domain, near=near)):
            yield f"{name} {number}", figure


def _values(*, near: bool) -> Report:
    return compared_values(RISING, RISING if near else RISING[::-1])


def _coloured(figure: Figure) -> Iterator[dict[str, Any]]:
    for trace in figure["data"]:
        for part in (trace, trace.get("marker") or {}):
            if isinstance(part, dict) and part.get("colorscale") in DIFFERENCES:
                yield part


def ends(*, near: bool) -> dict[str, list[tuple[Any, ...]]]:
    return {
        name: [
            tuple(part.get(key) for key in ("zmin", "zmax", "cmin", "cmax"))
            for part in _coloured(figure)
        ]
        for name, figure in figures(near=near)
    }


def test_no_colours_of_a_difference_depend_on_what_is_in_the_figure() -> None:
    alike, apart = ends(near=True), ends(near=False)
    shared = [name for name in alike if alike[name] and name in apart]
    assert {"nmi-difference", "pairs", "rank-difference", "model pairs"} <= set(shared)
    assert sum(name.startswith(("towns", "cells")) for name in shared) >= 5
    known = {
        colour_ends.DEPENDENCE_CHANGE,
        colour_ends.RANK_CHANGE,
        colour_ends.RANK,
        colour_ends.DISTANCE,
        colour_ends.SHARE_CHANGE,
    }
    for name in shared:
        for low, high, first, last in {*alike[name], *apart.get(name, [])}:
            assert (high if high is not None else last) in known, name
            assert (low if high is not None else first) in (0.0, -(high or last)), name
        assert set(alike[name]) == set(apart[name]), name


def test_scales_of_differences_are_made_in_one_place() -> None:
    folder = Path(evaluation.__file__).parent
    uses = [
        path.name
        for path in folder.rglob("*.py")
        if re.search(r"style\.(DIVERGING|DISTANCE)\b", path.read_text("utf-8"))
    ]
    assert uses == ["colour_ends.py"]


@pytest.mark.parametrize("draw", [tvd_heatmap, lambda made: nmi_heatmap(made, "difference")])
def test_what_chance_gives_is_grey_and_what_was_lost_is_not(draw: Any) -> None:
    real = codes(5_000, seed=1)
    near, far = compared(real, codes(5_000, seed=2)), compared(real, shuffled(real, seed=2))
    assert _squares(draw(near))[0] <= 1  # of 21 pairs one is off by a little
    coloured, grey = _squares(draw(far))
    assert coloured >= 1 and grey >= 1


def _squares(figure: Figure) -> list[int]:
    """How many squares have a colour, and how many are grey."""
    parts: list[Any] = [trace["z"] for trace in figure["data"]]
    assert [trace.get("meta") for trace in figure["data"]] == [None, "chance"]
    return [sum(value is not None for row in part for value in row) for part in parts]


def test_each_square_is_in_one_of_both_traces() -> None:
    real: Codes = codes(3_000, seed=1)
    made = compared(real, shuffled(real, seed=2))
    whole = len(made["pairs"])
    assert sum(_squares(nmi_heatmap(made, "difference"))) == whole
    assert sum(_squares(tvd_heatmap(made))) == whole
