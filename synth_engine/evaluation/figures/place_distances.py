"""Distances between two places of a record: cumulative shares, real and synthetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from synth_engine.evaluation import curves, distance_distribution
from synth_engine.evaluation.cards import MARKS, Card, make_card, make_table
from synth_engine.evaluation.commutes import Flows, compare_curves
from synth_engine.evaluation.distance_distribution import DistanceEntry, miles
from synth_engine.evaluation.figure import DISTANCES, ComparisonFigure, Sides, Tile
from synth_engine.evaluation.plots import Figure, Report, frame
from synth_engine.evaluation.tallies import Pair, TallySource
from synth_engine.evaluation.thousands import grouped
from synth_engine.evaluation.wording import Explanation
from synth_engine.indexing import places
from synth_engine.indexing.commutes import commutes


class PlaceDistances(ComparisonFigure):
    """A curve for every two places, and for every two ends of a commute of which one is a column with
    points."""

    field = "place_distances"
    is_purpose = True
    position = 50
    section = DISTANCES
    explanations = {
        "place_distances": Explanation(
            title="How far apart two places are",
            what="The share of records whose two places are at most so many kilometres apart, along a "
            "great circle, real and synthetic. The distance of Kolmogorov and Smirnov is the largest gap "
            "between the curves.",
            how="Solid blue is real, dashed orange is synthetic; the dotted line marks the largest gap. "
            "Where the orange curve lies below, synthetic records have places farther apart than real "
            "ones. On both sides every place stands at its public point, or at the centre of its public "
            "cell of latitude and longitude: distances below the size of a cell mean nothing, and two "
            "places in one cell are 0 apart. Records that lack a place are left out; the table counts them.",
        ),
    }

    def tally(self, source: TallySource) -> dict[Pair, NDArray[np.int64]]:
        return {pair: source.distances(pair) for pair in places.pairs(source.domain)}

    def entry(self, sides: Sides) -> list[DistanceEntry]:
        return [*_place_entries(sides), *_commute_entries(sides)]

    def tiles(self, report: Report) -> list[Tile]:
        return [
            Tile.of(
                f"Distance of {' and '.join(entry['places'])}",
                f"{entry['ks']:.3f}",
                entry["verdict"],
            )
            for entry in report.get(self.field, ())
            if entry["ks"] is not None
        ]

    def cards(self, report: Report) -> list[Card]:
        entries = report.get(self.field, ())
        return [_card(report, entry, index) for index, entry in enumerate(entries)]


def _place_entries(sides: Sides) -> list[DistanceEntry]:
    counted = sides.counted(PlaceDistances.field) or {}
    entries = []
    for pair in places.pairs(sides.domain) if counted else ():
        # The last bin holds the records that lack a place.
        tables = {side: tally[pair] for side, tally in counted.items()}
        entries.append(
            distance_distribution.entry(
                pair,
                places.edges(sides.domain, pair),
                counts={side: table[:-1] for side, table in tables.items()},
                missing={side: int(table[-1]) for side, table in tables.items()},
            )
        )
    return entries


def _commute_entries(sides: Sides) -> list[DistanceEntry]:
    counted = sides.counted("commutes") or {}
    return [
        compare_curves(
            {side: Flows.of(commute, tally[commute.pair]) for side, tally in counted.items()}
        )
        for commute in commutes(sides.domain)
        # Two places are compared by the bins of their cells already.
        if counted and not commute.by_places
    ]


def place_distances(report: Report, index: int) -> Figure:
    """Cumulative shares by distance, real solid and synthetic dashed, and where the gap between them is
    largest."""
    entry: DistanceEntry = report["place_distances"][index]
    traces, layout = curves.arrange(entry)
    first, second = entry["places"]
    words = f"Share of records by the distance between {first} and {second}. {entry['verdict']['words']}"
    if (median := entry["median_km"]) is not None:
        words += (
            f" Half of the records are within {median['real']:g} km in the real table and within "
            f"{median['synthetic']:g} km in the synthetic one. The gap is largest at "
            f"{entry['ks_at_km']:.3g} km."
        )
    return frame(report, traces, layout, words=words)


def _card(report: Report, entry: DistanceEntry, index: int) -> Card:
    """Cumulative shares at some thirty round distances."""
    edges, within = entry["edges_km"], entry["within"]
    rows = [
        (
            f"{edges[1 + row]:g} km",
            f"{miles(edges[1 + row]):.1f}",
            *(f"{within[side][row]:.2%}" for side in within),
            f"{within['synthetic'][row] - within['real'][row]:+.2%}",
        )
        for row in _round_rows(edges, within)
    ]
    missing = entry["lacking"]
    if any(missing.values()):
        rows.append(
            ("a place is missing", "", *(grouped(missing[side]) for side in missing), "")
        )
    names = " and ".join(entry["places"])
    head = ("At most", "In miles", "Real", "Synthetic", "Difference")
    made = make_card(
        report,
        f"distance-{index}",
        {**report["reading"]["place_distances"], "title": f"Distance between {names}"},
        make_table(f"Records by the distance between {names}", head, rows),
        _summary_line(entry),
        figure=place_distances(report, index),
    )
    return replace(made, mark=MARKS[entry["verdict"]["level"]])


def _summary_line(entry: DistanceEntry) -> str:
    words, median = entry["verdict"]["words"], entry["median_km"]
    if median is None:
        return words
    return (
        f"{words} Distance of Kolmogorov and Smirnov {entry['ks']:.3f}, at {entry['ks_at_km']:.3g} km. Half "
        f"of the records within {median['real']:g} km (real) and {median['synthetic']:g} km (synthetic)."
    )


def _round_rows(edges: list[float], within: Mapping[str, Sequence[float]]) -> list[int]:
    """Places of some thirty bins, evenly spaced up to where both curves are complete."""
    last = max(
        next((i for i, share in enumerate(side) if share > 0.9999), len(side) - 1)
        for side in within.values()
    )
    # Steps of 1, 2 and 5: rows then stand at round distances, which the edges of the bins are.
    step = next(
        size
        for size in (1, 2, 5, 10, 20, 50, 100, 200, 400)
        if (last + 1) / size <= 30 or size == 400
    )
    return list(range(step - 1, min(last + step, len(edges) - 1), step)) or [len(edges) - 2]


FIGURE = PlaceDistances()
