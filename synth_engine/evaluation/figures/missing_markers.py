"""Markers of missing values as a file has them: empty cells, `NA`, -1, each by itself."""

from __future__ import annotations

import numpy as np

from synth_engine.codec import RawColumn
from synth_engine.domain import Attribute
from synth_engine.evaluation import wording
from synth_engine.evaluation.cards import Card
from synth_engine.evaluation.distances import chance_distance, total_variation
from synth_engine.evaluation.figure import ComparisonFigure, Sides, Tile
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.share_cards import SECTION, shares_card, tile_of_columns
from synth_engine.evaluation.wording import Explanation, Json

DIGITS = 9
EMPTY = "(empty)"
VALUE = "a value"


class MissingMarkers(ComparisonFigure):
    """Bars of the shares of cells with each marker, for the column that differs most."""

    field = "missing_markers"
    position = 108
    section = SECTION
    explanations = {
        "markers": Explanation(
            title="Markers of missing values",
            what="For each column with several declared markers the share of cells that each of them has "
            "in the real file, and in the synthetic table as it is written: every missing value by the "
            "first marker, or by its own where the description separates them. The column that differs "
            "most is drawn.",
            how="Several markers may mean different things, such as not asked and refused. If it matters "
            "which one a missing value has, separate the markers of the column in the description: "
            "releases then measure them.",
        )
    }

    def entry(self, sides: Sides) -> list[Json] | None:
        return sides.column_entries(_entry)

    def tiles(self, report: Report) -> list[Tile]:
        return tile_of_columns(self.explanations["markers"]["title"], report.get(self.field))

    def cards(self, report: Report) -> list[Card]:
        entries = report.get(self.field)
        return [shares_card(report, "markers", entries, of="cells")] if entries else []


def _entry(attribute: Attribute, real: RawColumn, synthetic: RawColumn) -> Json | None:
    markers = list(attribute.missing or ())
    # Of one marker the share is that of missing values, which other figures show.
    if len(markers) < 2 or not real.records or not synthetic.records:
        return None
    written = [real.markers.get(marker, 0) for marker in markers]
    # Where markers are not separate, a sample writes the first one for all.
    by_marker = synthetic.markers or {markers[0]: synthetic.missing}
    made = [by_marker.get(marker, 0) for marker in markers]
    counts = [
        np.array([*written, real.records - real.missing], dtype=np.int64),
        np.array([*made, synthetic.records - synthetic.missing], dtype=np.int64),
    ]
    shares = [each / side.records for each, side in zip(counts, (real, synthetic), strict=True)]
    difference, chance = total_variation(*shares), chance_distance(*counts)
    return {
        "name": attribute.name,
        "labels": [*(marker or EMPTY for marker in markers), VALUE],
        "shares": {
            side: [round(share, DIGITS) for share in each.tolist()]
            for side, each in zip(("real", "synthetic"), shares, strict=True)
        },
        "difference": round(difference, DIGITS),
        "by_chance": round(chance, DIGITS),
        "verdict": wording.distance_verdict(difference, chance=chance, of="cells"),
    }


FIGURE = MissingMarkers()
