"""How dependent the columns of a released model are, pair by pair, and how releases differ in it: from models alone."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.evaluation import heatmaps, style
from synth_engine.evaluation.cards import Card, make_table
from synth_engine.evaluation.distances import normalised_mutual_information
from synth_engine.evaluation.heatmaps import PairEntries
from synth_engine.evaluation.plots import Figure
from synth_engine.evaluation.wording import PRIVATE, Json
from synth_engine.models.model import Model

GROUPS = 32
"""Groups of about equal size into which the codes of a column with more are put, in order: rare values look dependent."""
RECORDS = 20_000
"""Records that are generated to measure dependence; its error is then far below what a colour shows."""
MAX_COLUMNS = 100
MAX_TABLE_ROWS = 50
DECIMALS = 4

Pairs = dict[tuple[str, str], float]


def dependence(model: Model, *, seed: str) -> list[float]:
    """Normalised mutual information of all pairs of the first columns (`names_of`), in the order of `itertools.combinations`, of
    records that the model generates."""
    names = names_of(model)
    blocks = list(model.sample_blocks(min(model.rows, RECORDS), seed=seed))
    grouped = [
        _grouped(np.concatenate([np.asarray(block[name], dtype=np.int64) for block in blocks]))
        if blocks
        else np.zeros(0, dtype=np.int64)
        for name in names
    ]
    return [round(_information(a, b), DECIMALS) for a, b in itertools.combinations(grouped, 2)]


def names_of(model: Model) -> list[str]:
    """The columns whose pairs are measured."""
    return list(model.domain.sizes)[:MAX_COLUMNS]


def pairs_of(names: Sequence[str], values: Sequence[float]) -> Pairs:
    """The values of `dependence` by pair."""
    return dict(zip(itertools.combinations(names, 2), values, strict=True))


def _grouped(codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Codes from 0 on without gaps, at most `GROUPS` different ones."""
    values, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if values.size <= GROUPS:
        return places.astype(np.int64)
    before = np.cumsum(counts) - counts
    group = (before * GROUPS // codes.size).astype(np.int64)
    return np.unique(group, return_inverse=True)[1][places].astype(np.int64)


def _information(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> float:
    if not first.size:
        return 0.0
    shape = (int(first.max()) + 1, int(second.max()) + 1)
    joint = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1])
    return normalised_mutual_information(joint.reshape(shape))


def card_of_one(names: Sequence[str], pairs: Pairs, *, letter: str, most: float) -> Card:
    """The dependence of every pair of one release. most: the end of the scale, one for all releases."""
    scale = {"colorscale": style.MAGNITUDE, "zmin": 0.0, "zmax": most or 1.0}
    title = f"Dependence in release {letter}"
    words = f"Normalised mutual information of every pair of columns in release {letter}."
    figure = _map(names, pairs, scale, words, f"{letter}: %{{z:.3f}}")
    how = (
        "Faint (0) means that the columns tell nothing about each other, strong (1) that one determines the other. All "
        "releases have one scale of colours."
    )
    return _card(f"pairs-{letter}", title, how, pairs, figure, form=".3f")


def card_of_difference(
    names: Sequence[str], pairs: Pairs, *, letters: tuple[str, str], most: float
) -> Card:
    """The differences of two releases, the second minus the first. most: the end of the scale on both sides."""
    bound = most or 1.0
    scale = {"colorscale": style.DIVERGING, "zmin": -bound, "zmax": bound, "zmid": 0.0}
    first, second = letters
    title = f"Dependence: {second} minus {first}"
    words = f"Difference of normalised mutual information, {second} minus {first}, for every pair of columns."
    figure = _map(names, pairs, scale, words, f"{second} minus {first}: %{{z:+.3f}}")
    how = (
        f"The colour of the page means equal. Blue means weaker in {second} than in {first}, red means stronger. Neither "
        "says which of the two is nearer to the real table: the expected errors do."
    )
    return _card(f"pairs-{second}-{first}", title, how, pairs, figure, form="+.3f")


def strongest(pairs: Pairs, number: int) -> list[tuple[str, float]]:
    """The pairs with the largest values, in words."""
    ordered = sorted(pairs.items(), key=lambda pair: (-abs(pair[1]), pair[0]))
    return [(" × ".join(names), value) for names, value in ordered[:number]]


def _card(key: str, title: str, how: str, pairs: Pairs, figure: Figure, *, form: str) -> Card:
    rows = [(words, f"{value:{form}}") for words, value in strongest(pairs, len(pairs))]
    table = make_table(f"{title}, strongest first", ("Columns", "Value"), rows)
    return Card(
        key=key,
        title=title,
        what="How much one column tells about another in the model, for every pair of columns: mutual information divided "
        "by the smaller of the two entropies, of records that the model generates. Columns with many values are put "
        f"into {GROUPS} groups. No real data are compared.",
        how=how,
        table=replace(
            table, rows=table.rows[:MAX_TABLE_ROWS], more=max(0, len(rows) - MAX_TABLE_ROWS)
        ),
        figure=figure,
    )


def _map(
    names: Sequence[str], pairs: Pairs, scale: Mapping[str, Any], words: str, value: str
) -> Figure:
    entries: list[Json] = [
        {"attributes": list(pair), "value": round(number, DECIMALS)}
        for pair, number in pairs.items()
    ]
    shown = PairEntries(names=names, pairs=entries, hover=lambda _: "")
    report = {"private": True, "notice": PRIVATE}
    figure = heatmaps.pair_map(report, "value", dict(scale), words=words, entries=shown)
    (trace,) = figure["data"]
    # A text for each square would be most of a page of a hundred columns.
    del trace["text"]
    trace["hovertemplate"] = f"%{{y}} × %{{x}}<br>{value}<extra></extra>"
    return figure
