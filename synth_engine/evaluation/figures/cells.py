"""Records over ever smaller cells of all places: the earth mover's distance by depth, beside that of a plain
resample."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypedDict

import numpy as np

from synth_engine.domain import Domain
from synth_engine.evaluation import cell_sizes, style, trees, wording
from synth_engine.evaluation.cards import MARKS, Card, make_card, make_table
from synth_engine.evaluation.figure import DISTANCES, ComparisonFigure, Sides, Tile
from synth_engine.evaluation.plots import Figure, Report, Trace, frame
from synth_engine.evaluation.tallies import TallySource
from synth_engine.evaluation.thousands import grouped
from synth_engine.evaluation.tree_figures import SIDES, SIZE
from synth_engine.evaluation.trees import OccupiedCells
from synth_engine.evaluation.wording import Explanation, FigureVerdict
from synth_engine.hierarchy import Hierarchy, SpatialHierarchy

_NAMES = {"synthetic": "this release", "resample": "plain resample"}
_LINES = {
    "synthetic": {"color": style.SYNTHETIC, "width": 2, "dash": "6px,3px"},
    "resample": {"color": style.REAL, "width": 2, "dash": "dot"},
}


class CellsEntry(TypedDict):
    """One spatial hierarchy, by depth. kilometres: sides of cells by place."""

    diagonal_km: float
    columns: list[str]
    places: list[str]
    depths: list[int]
    kilometres: dict[str, list[list[float]]]
    cells: list[int]
    differing: dict[str, list[float]]
    moved: dict[str, list[float]]
    verdict: FigureVerdict


class Cells(ComparisonFigure):
    """The earth mover's distance by depth, for every spatial hierarchy."""

    field = "cells"
    is_purpose = True
    position = 70
    section = DISTANCES
    explanations = {
        "cells": Explanation(
            title="How far records would have to be moved",
            what="The box of all places is cut in halves along each side, again and again. At every depth "
            "the shares of records in its cells are compared, and what differs counts as much as the "
            "cell's side measures beside the box's: a half at depth 1, a quarter at depth 2. Added up from "
            "the top, that is the earth mover's distance by depth.",
            how="The lower, the better. At the last depth the curve is at most how far an average record "
            "would have to be moved for both tables to agree: kilometres of all places of a record "
            "together. The dotted line is what as many records drawn from the real ones with replacement "
            "would come to, on average: a release below it at some depth has the coarse picture better "
            "than a sample would; far above it, noise or a tree that is not deep enough is what one sees. "
            "Records stand in their bins, so nothing finer counts.",
        ),
    }

    def tally(self, source: TallySource) -> list[OccupiedCells]:
        return [
            trees.aggregate(hierarchy, *source.occupied(hierarchy))
            for hierarchy in trees.hierarchies(source.domain)
        ]

    def entry(self, sides: Sides) -> list[CellsEntry]:
        counted = sides.counted(self.field) or {"real": (), "synthetic": ()}
        return [
            _entry(real.hierarchy, real, synthetic, sides.domain)
            for real, synthetic in zip(counted["real"], counted["synthetic"], strict=True)
            # Shares of no records are undefined.
            if real.records and synthetic.records
        ]

    def tiles(self, report: Report) -> list[Tile]:
        tiles = []
        for entry in report.get(self.field, ()):
            moved = entry["diagonal_km"] * entry["moved"]["synthetic"][-1]
            names = ", ".join(entry["places"] or entry["columns"])
            tiles.append(Tile.of(f"Places: {names}", f"{moved:.3g} km", entry["verdict"]))
        return tiles

    def cards(self, report: Report) -> list[Card]:
        entries = report.get(self.field, ())
        return [_card(report, entry, index) for index, entry in enumerate(entries)]


def _entry(
    hierarchy: SpatialHierarchy, real: OccupiedCells, synthetic: OccupiedCells, domain: Domain
) -> CellsEntry:
    depths = range(1, min(trees.MAX_DEPTH, hierarchy.depth) + 1)
    # Indyk and Thaper (2003): the L1 distance at each depth, weighted by the side of its cells.
    weights = np.array([2.0**-depth for depth in depths])
    at = [(real.at(depth), synthetic.at(depth)) for depth in depths]
    lines = {
        "synthetic": np.array([trees.share_difference(*pair) for pair in at]),
        "resample": np.array(
            [trees.resample_difference(pair[0].counts, size=synthetic.records) for pair in at]
        ),
    }
    moved = {line: np.cumsum(weights * values) for line, values in lines.items()}
    value, chance = (float(moved[line][-1]) for line in ("synthetic", "resample"))
    diagonal_km = trees.diagonal(hierarchy)
    return {
        "diagonal_km": round(diagonal_km, 3),
        "columns": list(hierarchy.columns),
        "places": [
            *(place.name for place in domain.places),
            *(points.column for points in domain.points if points.column),
        ],
        "depths": list(depths),
        "kilometres": _kilometres(hierarchy, domain, depths),
        "cells": [len(pair[0].codes) for pair in at],
        "differing": {
            line: np.round(values, trees.DIGITS).tolist() for line, values in lines.items()
        },
        "moved": {
            line: np.round(values, trees.DIGITS).tolist() for line, values in moved.items()
        },
        "verdict": wording.moved_verdict(value, chance=chance, kilometres=diagonal_km),
    }


def _kilometres(
    hierarchy: Hierarchy, domain: Domain, depths: Iterable[int]
) -> dict[str, list[list[float]]]:
    """Returns the size of the cells of every depth for each place, from south to north and from
    west to east."""
    by_place: dict[str, list[list[float]]] = {}
    for depth in depths:
        for size in cell_sizes.of_depth(hierarchy, domain, depth):
            by_place.setdefault(size.name, []).append(
                [round(size.north, 6), round(size.east, 6)]
            )
    return by_place


def _card(report: Report, entry: CellsEntry, index: int) -> Card:
    moved, differing, verdict = _moved(entry), entry["differing"], entry["verdict"]
    sizes = _sizes(entry)
    rows = [
        (
            str(depth),
            *sizes[row : row + 1],
            grouped(entry["cells"][row]),
            *(f"{differing[line][row]:.4f}" for line in _NAMES),
            *(f"{moved[line][row]:.3g}" for line in _NAMES),
            _ratio(moved["synthetic"][row], moved["resample"][row]),
        )
        for row, depth in enumerate(entry["depths"])
    ]
    head = (
        "Depth",
        *([SIZE] if sizes else []),
        "Cells with records",
        "Differing",
        "Of a resample",
        "Cumulated, km",
        "Of a resample, km",
        "Ratio",
    )
    names = " and ".join(entry["places"])
    read = report["reading"]["cells"]
    how = f"{read['how']} {SIDES}" if sizes else read["how"]
    reading = {**read, "title": f"{read['title']}: {names}", "how": how}
    table = make_table("Earth mover's distance by depth", head, rows)
    mark, price = (
        MARKS[verdict["level"]],
        "" if report["private"] else wording.PRICE_OF_COMPARISON,
    )
    figure = _figure(report, entry)
    made = make_card(report, f"cells-{index}", reading, table, verdict["words"], figure=figure)
    return replace(made, mark=mark, price=price)


def _sizes(entry: CellsEntry) -> list[str]:
    """Describes how large a cell of each depth is; nothing where none has a size."""
    return [
        cell_sizes.describe(
            [
                cell_sizes.Size(name=name, north=sides[row][0], east=sides[row][1])
                for name, sides in entry["kilometres"].items()
            ]
        )
        for row in range(len(entry["depths"]) if entry["kilometres"] else 0)
    ]


def _moved(entry: CellsEntry) -> dict[str, list[float]]:
    """Returns how many kilometres records would have to be moved, by line and depth."""
    diagonal = entry["diagonal_km"]
    return {
        line: [round(diagonal * part, 6) for part in entry["moved"][line]] for line in _NAMES
    }


def _ratio(value: float, resample: float) -> str:
    return f"{value / resample:.2f}" if resample else "–"


def _figure(report: Report, entry: CellsEntry) -> Figure:
    traces = [_curve(line, entry) for line in _NAMES]
    quiet = {"gridcolor": style.QUIET, "zeroline": False}
    layout = {
        "xaxis": {
            **quiet,
            "title": {"text": "depth: how often each side is halved", "standoff": 8},
            "nticks": 12,
        },
        "yaxis": {
            **quiet,
            "automargin": True,
            "rangemode": "tozero",
            "title": {"text": "km"},
        },
        "hovermode": "x unified",
    }
    words = f"Earth mover's distance cumulated by depth. {entry['verdict']['words']}"
    return frame(report, traces, layout, words=words)


def _curve(line: str, entry: CellsEntry) -> Trace:
    sizes = _sizes(entry) if line == "synthetic" else []
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": _NAMES[line],
        "x": entry["depths"],
        "y": _moved(entry)[line],
        "line": _LINES[line],
        "marker": {"symbol": "circle" if line == "synthetic" else "circle-open", "size": 6},
        "hovertemplate": "%{y:.3~g} km" + (", cells of %{customdata}" if sizes else ""),
        **({"customdata": sizes} if sizes else {}),
    }


FIGURE = Cells()
