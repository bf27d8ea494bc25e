"""Maps of how dependent the columns of released models are, and of how releases differ in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from synth_engine.evaluation import colour_ends, heatmaps, style
from synth_engine.evaluation.cards import Card, make_table
from synth_engine.evaluation.dependences import LEAST
from synth_engine.evaluation.heatmaps import PairEntries
from synth_engine.evaluation.model_pairs import DECIMALS, GROUPS, Pairs, strongest
from synth_engine.evaluation.plots import Figure
from synth_engine.evaluation.seriation import chained
from synth_engine.evaluation.wording import PRIVATE, Json

MAX_TABLE_ROWS = 50


def card_of_one(names: Sequence[str], pairs: Pairs, *, letter: str, most: float) -> Card:
    """The dependence of every pair of one release. most: the end of the scale, one for all releases."""
    scale = {"colorscale": style.MAGNITUDE, "zmin": 0.0, "zmax": most or 1.0}
    title = f"Dependence in release {letter}"
    words = f"Normalised mutual information of every pair of columns in release {letter}."
    figure = _map(names, pairs, scale, words, f"{letter}: %{{z:.3f}}")
    how = (
        "Faint (0) means that the columns tell nothing about each other, strong (1) that one determines "
        "the other. All releases have one scale of colours."
    )
    return _card(f"pairs-{letter}", title, how, pairs, figure, form=".3f")


def map_of_release(
    names: Sequence[str], pairs: Pairs, together: Collection[tuple[str, str]], *, words: str
) -> Figure:
    """A map of one release by itself. The colours go from 0 to 1 in every release; pairs that are not in
    `together` are no more than chance, and grey. Columns that go together stand beside each other."""
    scale = {"colorscale": style.DENSITY, "zmin": 0.0, "zmax": 1.0}
    known = set(together)

    def is_chance(entry: Json) -> bool:
        first, second = entry["attributes"]
        return (first, second) not in known and (second, first) not in known

    chosen = {
        pair: value for pair, value in pairs.items() if pair[0] in names and pair[1] in names
    }
    ordered = chained(names, {frozenset(pair): value for pair, value in chosen.items()})
    return _map(ordered, chosen, scale, words, "%{z:.3f}", is_chance=is_chance)


def card_of_difference(names: Sequence[str], pairs: Pairs, *, letters: tuple[str, str]) -> Card:
    """The differences of two releases, the second minus the first; those too small for two columns that go
    together are grey."""
    scale = colour_ends.diverging(colour_ends.DEPENDENCE_CHANGE)
    first, second = letters
    title = f"Dependence: {second} minus {first}"
    words = f"Difference of normalised mutual information, {second} minus {first}, for every pair of columns."
    value = f"{second} minus {first}: %{{z:+.3f}}"
    figure = _map(names, pairs, scale, words, value, is_chance=_is_small)
    how = (
        f"Grey means equal. The colours end at {colour_ends.DEPENDENCE_CHANGE:g}. Blue means weaker in "
        f"{second} than in {first}, red means stronger. Neither says which of the two is nearer to the "
        "real table: the expected errors do."
    )
    return _card(f"pairs-{second}-{first}", title, how, pairs, figure, form="+.3f")


def _card(key: str, title: str, how: str, pairs: Pairs, figure: Figure, *, form: str) -> Card:
    rows = [(words, f"{value:{form}}") for words, value in strongest(pairs, len(pairs))]
    table = make_table(f"{title}, strongest first", ("Columns", "Value"), rows)
    return Card(
        key=key,
        title=title,
        what="How much one column tells about another in the model, for every pair of columns: mutual "
        "information divided by the smaller of the two entropies, of records that the model generates. "
        f"Columns with many values are put into {GROUPS} groups. No real data are compared.",
        how=how,
        table=replace(
            table, rows=table.rows[:MAX_TABLE_ROWS], more=max(0, len(rows) - MAX_TABLE_ROWS)
        ),
        figure=figure,
    )


def _is_small(entry: Json) -> bool:
    return bool(abs(entry["value"]) < LEAST)


def _map(
    names: Sequence[str],
    pairs: Pairs,
    scale: Mapping[str, Any],
    words: str,
    value: str,
    *,
    is_chance: Callable[[Json], bool] | None = None,
) -> Figure:
    entries: list[Json] = [
        {"attributes": list(pair), "value": round(number, DECIMALS)}
        for pair, number in pairs.items()
    ]
    shown = PairEntries(names=names, pairs=entries, hover=())
    report = {"private": True, "notice": PRIVATE}
    figure = heatmaps.pair_map(
        report, "value", dict(scale), words=words, entries=shown, is_chance=is_chance
    )
    for trace in figure["data"]:
        trace["hovertemplate"] = f"%{{y}} × %{{x}}<br>{value}<extra></extra>"
    return figure
