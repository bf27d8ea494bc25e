"""The tiles of a report: one for each section that has a verdict."""

from __future__ import annotations

from synth_engine.evaluation.figure import Tile
from synth_engine.evaluation.figures import FIGURES
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.wording import Json

_TITLES = {
    "tvd1": "Single columns",
    "tvd2": "Pairs of columns",
    "tvd3": "Triples of columns",
    "mi_err": "Dependence",
}


def tiles(report: Report) -> list[Tile]:
    """What a table of places or texts is for comes first, more than its columns one by one; then the
    summaries of columns and of groups of them, and the other figures."""
    made = [(figure, figure.tiles(report)) for figure in FIGURES]
    return [
        *(tile for figure, of_figure in made if figure.is_purpose for tile in of_figure),
        *_of_summary(report["summary"]),
        *(tile for figure, of_figure in made if not figure.is_purpose for tile in of_figure),
    ]


def _of_summary(summary: Json) -> list[Tile]:
    return [
        Tile.of_parts(
            title,
            preserved=summary[name]["kept"],
            # Of dependences those that the real table has.
            of=summary[name]["related" if name == "mi_err" else "of"],
            verdict=summary[name]["verdict"],
        )
        for name, title in _TITLES.items()
        if summary.get(name)
    ]
