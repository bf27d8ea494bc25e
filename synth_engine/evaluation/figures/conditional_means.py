"""Conditional means: the mean of a number within each value of a category, and within tenths of another
column of values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.codec import GroupSums, RawPairs
from synth_engine.domain import Attribute
from synth_engine.evaluation import style, summaries, wording
from synth_engine.evaluation.cards import MARKS, Card, make_card, make_table
from synth_engine.evaluation.figure import ComparisonFigure, FigureSection, Sides, Tile
from synth_engine.evaluation.plots import Figure, Report, Trace, frame
from synth_engine.evaluation.scale_text import number_text, text_of
from synth_engine.evaluation.tallies import TallySource
from synth_engine.evaluation.thousands import grouped
from synth_engine.evaluation.wording import Explanation, FigureVerdict, Json, Level

Floats = NDArray[np.float64]

DIGITS = 9
TENTHS = 10
MIN_RECORDS = 30
"""Real records of a group whose mean is judged."""
GROUP_STEPS: tuple[tuple[float, Level], ...] = ((0.05, "same"), (0.2, "small"), (0.5, "clear"))
"""Steps of the difference of the mean of one group beyond chance, in standard deviations of the column."""
MAX_LISTED = 100
MAX_DRAWN = 4
_MEAN_OF_NORMAL = math.sqrt(2 / math.pi)  # of its absolute value, in standard deviations


class ConditionalMeans(ComparisonFigure):
    """One table of the means that differ most, and drawings of the worst pairs of columns."""

    field = "conditional_means"
    position = 36
    section = FigureSection(
        "within-groups", "Means within groups", 54, (("group-means", "Means within groups"),)
    )
    explanations = {
        "group_means": Explanation(
            title="Means that differ most",
            what="The mean of each column of numbers within each value of a category, and within tenths "
            "of another column of values, with ends at its real quantiles. Cells are read as they are "
            "written; those that the description cannot read are left out. Groups of fewer than "
            f"{MIN_RECORDS} real records are not judged.",
            how="Differences are in the unit of the column. By chance is the mean difference of two "
            "samples of the real group: a difference near it says nothing.",
        ),
        "group_mean": Explanation(
            title="Mean within groups",
            what="The mean of a column of numbers within groups of records, real beside synthetic.",
            how="Solid blue is real, dashed orange is synthetic. Where the lines differ in shape, the "
            "relation of the two columns changed; where one is above the other everywhere, the column "
            "itself did.",
        ),
    }

    def tally(self, source: TallySource) -> RawPairs | None:
        pairs = source.raw_pairs()
        return pairs if pairs is not None and pairs.means else None

    def entry(self, sides: Sides) -> Json | None:
        counted = sides.counted(self.field)
        if counted is None:
            return None
        real, synthetic = counted["real"].means, counted["synthetic"].means
        pairs = [
            entry
            for by, of in real
            if (by, of) in synthetic
            and (
                entry := _entry(sides.domain.attribute(by), of, real[by, of], synthetic[by, of])
            )
        ]
        pairs.sort(key=lambda entry: entry["by_chance"] - entry["gap"])
        groups = [
            {**group, "by": entry["by"], "of": entry["of"], "spread": entry["spread"]}
            for entry in pairs
            for group in entry["groups"]
            if group["judged"]
        ]
        groups.sort(key=lambda group: -_excess(group) / group["spread"])
        detailed = {id(entry) for entry in pairs[:MAX_DRAWN]}
        return {
            "pairs": [
                entry
                if id(entry) in detailed
                else {key: value for key, value in entry.items() if key != "groups"}
                for entry in pairs
            ],
            "worst": groups[:MAX_LISTED],
            "level": summaries.worst([_level(group, of=len(groups)) for group in groups]),
        }

    def verdict(self, report: Report) -> str:
        return " ".join(tile.words for tile in self.tiles(report))

    def tiles(self, report: Report) -> list[Tile]:
        """No better than the worst pair of columns, and than the worst single group."""
        entry = report.get(self.field)
        if not entry or not entry["pairs"]:
            return []
        levels = [pair["verdict"]["level"] for pair in entry["pairs"]]
        preserved = sum(level in summaries.KEPT_LEVELS for level in levels)
        level = summaries.worst([*levels, entry["level"]])
        words = (
            f"{wording.LEVEL_WORDS[level]}: in {preserved} of {len(levels)} pairs of columns, means within "
            "groups are kept or differ slightly"
        )
        if level != "same":
            words += f"; {_most_different(entry['worst'][0])}"
        verdict: FigureVerdict = {"level": level, "words": f"{words}."}
        return [
            Tile.of_parts(
                self.section.title, preserved=preserved, of=len(levels), verdict=verdict
            )
        ]

    def cards(self, report: Report) -> list[Card]:
        entry = report.get(self.field)
        if not entry or not entry["pairs"]:
            return []
        with_groups = [pair for pair in entry["pairs"] if "groups" in pair]
        return [
            _worst_card(report, entry["worst"]),
            *(_pair_card(report, pair, index) for index, pair in enumerate(with_groups)),
        ]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Groups:
    """Groups of one side: records, means and variances, shapes (groups,); NaN without records."""

    counts: NDArray[np.int64]
    means: Floats
    variances: Floats

    @classmethod
    def of(cls, sums: GroupSums, places: NDArray[Any], *, size: int) -> _Groups:
        """The groups that parts of `sums` are joined to. places: the group of each part."""
        counts = np.bincount(places, weights=sums.counts, minlength=size).astype(np.int64)
        totals = np.bincount(places, weights=sums.sums, minlength=size)
        squares = np.bincount(places, weights=sums.squares, minlength=size)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = totals / counts
            variances = np.maximum(squares / counts - means**2, 0.0)
        return cls(counts=counts, means=means, variances=variances)


def _entry(by: Attribute, of: str, real: GroupSums, synthetic: GroupSums) -> Json | None:
    """The means of one pair of columns; None where no real group can be judged."""
    total = int(real.counts.sum())
    if not total:
        return None
    mean = float(real.sums.sum()) / total
    spread = math.sqrt(max(float(real.squares.sum()) / total - mean**2, 0.0))
    if not spread:
        return None
    labels, sides = _grouped(by, real, synthetic)
    groups = [
        _group(*each) for each in zip(labels, *(_rows(side) for side in sides), strict=True)
    ]
    judged = [group for group in groups if group["judged"]]
    if not judged:
        return None
    weights = np.array([group["records"]["real"] for group in judged], dtype=np.float64)
    weights /= weights.sum()
    # A group that the synthetic table lacks counts as a standard deviation.
    gaps = [
        spread if group["difference"] is None else abs(group["difference"]) for group in judged
    ]
    gap = float(weights @ gaps) / spread
    chance = float(weights @ [group["by_chance"] for group in judged]) / spread
    return {
        "by": by.name,
        "of": of,
        "spread": spread,
        "gap": round(gap, DIGITS),
        "by_chance": round(chance, DIGITS),
        "verdict": wording.group_mean_verdict(gap, chance=chance),
        "groups": groups,
    }


def _grouped(
    by: Attribute, real: GroupSums, synthetic: GroupSums
) -> tuple[list[str], tuple[_Groups, _Groups]]:
    """Labels of the groups, and both sides: codes as they are, values in tenths of the real records."""
    if real.ends is None or synthetic.ends is None:
        codes = np.arange(len(real.counts))
        size = len(codes)
        sides = _Groups.of(real, codes, size=size), _Groups.of(synthetic, codes, size=size)
        return list(by.labels), sides
    within = np.cumsum(real.counts) / real.counts.sum()
    levels = np.arange(1, TENTHS) / TENTHS
    inner = np.unique(np.searchsorted(within, levels - 1e-12))
    # The last end is open: synthetic values may lie beyond all real ones.
    cuts = real.ends[inner[inner < len(real.ends) - 1]]
    size = len(cuts) + 1
    sides = (
        _Groups.of(real, np.searchsorted(cuts, real.ends), size=size),
        _Groups.of(synthetic, np.searchsorted(cuts, synthetic.ends), size=size),
    )
    texts = [text_of(by, float(cut)) for cut in cuts]
    if not texts:
        return ["all"], sides
    between = [f"over {low} to {high}" for low, high in pairwise(texts)]
    return [f"up to {texts[0]}", *between, f"over {texts[-1]}"], sides


def _rows(side: _Groups) -> Iterator[tuple[int, float, float]]:
    return zip(side.counts.tolist(), side.means.tolist(), side.variances.tolist(), strict=True)


def _group(
    label: str, real: tuple[int, float, float], synthetic: tuple[int, float, float]
) -> Json:
    both = bool(real[0] and synthetic[0])
    # Of a synthetic side without the group nothing is expected by chance.
    spread = real[2] / max(real[0], 1) + (real[2] / synthetic[0] if both else 0.0)
    return {
        "label": label,
        "records": {"real": real[0], "synthetic": synthetic[0]},
        "real": round(real[1], DIGITS) if real[0] else None,
        "synthetic": round(synthetic[1], DIGITS) if synthetic[0] else None,
        "difference": round(synthetic[1] - real[1], DIGITS) if both else None,
        "by_chance": round(_MEAN_OF_NORMAL * math.sqrt(spread), DIGITS) if real[0] else 0.0,
        "judged": real[0] >= MIN_RECORDS,
    }


def _excess(group: Json) -> float:
    if group["difference"] is None:
        return float(group["spread"])
    return abs(float(group["difference"])) - float(group["by_chance"])


def _level(group: Json, *, of: int) -> Level:
    """The level of the mean of one group, in standard deviations of its column; of so many groups some are
    far off by chance."""
    if group["difference"] is None:
        return "large"
    error = float(group["by_chance"]) / _MEAN_OF_NORMAL
    luck = error * (1 + math.sqrt(2 * math.log(of + 1)))
    gap = max(0.0, abs(float(group["difference"])) - luck)
    return wording.level_of(gap / float(group["spread"]), GROUP_STEPS)


def _most_different(group: Json) -> str:
    return (
        f"most different: {group['of']} where {group['by']} is {group['label']}, {_text(group['real'])} "
        f"real, {_text(group['synthetic'])} synthetic"
    )


def _worst_card(report: Report, worst: list[Json]) -> Card:
    rows = [
        (
            f"{group['of']} where {group['by']} is {group['label']}",
            _text(group["real"]),
            _text(group["synthetic"]),
            _text(group["difference"], sign="+"),
            number_text(group["by_chance"]),
            grouped(group["records"]["real"]),
            grouped(group["records"]["synthetic"]),
        )
        for group in worst
    ]
    reading = report["reading"]["group_means"]
    head = (
        "Mean of",
        "Real",
        "Synthetic",
        "Difference",
        "By chance",
        "Real records",
        "Synthetic records",
    )
    table = make_table("Means within groups, the most different first", head, rows)
    line = f"M{_most_different(worst[0])[1:]}."
    return make_card(report, "group-means", reading, table, line, figure=None)


def _pair_card(report: Report, pair: Json, index: int) -> Card:
    reading = report["reading"]["group_mean"]
    title = f"Mean of {pair['of']} by {pair['by']}"
    rows = [
        (
            group["label"],
            _text(group["real"]),
            _text(group["synthetic"]),
            _text(group["difference"], sign="+"),
            grouped(group["records"]["real"]),
            grouped(group["records"]["synthetic"]),
        )
        for group in pair["groups"]
    ]
    head = (pair["by"], "Real", "Synthetic", "Difference", "Real records", "Synthetic records")
    made = make_card(
        report,
        f"group-mean-{index}",
        {**reading, "title": title},
        make_table(title, head, rows),
        pair["verdict"]["words"],
        figure=draw_means(report, pair),
    )
    return replace(made, mark=MARKS[pair["verdict"]["level"]])


def draw_means(report: Report, pair: Json) -> Figure:
    """The means of one entry that has its groups: a solid line for real, a dashed one for synthetic."""
    groups = [group for group in pair["groups"] if group["judged"]]
    places = list(range(len(groups)))
    traces: list[Trace] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": side,
            "x": places,
            "y": [group[side] for group in groups],
            "customdata": [style.escape(group["label"]) for group in groups],
            "line": {"color": colour, "width": 2, "dash": dash},
            "marker": {"symbol": symbol, "size": 8},
            "hovertemplate": "%{customdata}: %{y:.6~g}<extra>" + side + "</extra>",
        }
        for side, colour, dash, symbol in (
            ("real", style.REAL, "solid", "circle"),
            ("synthetic", style.SYNTHETIC, "4px,2px", "diamond-open"),
        )
    ]
    layout = {
        "xaxis": {
            "title": {"text": style.escape(pair["by"])},
            "showgrid": False,
            "zeroline": False,
            "tickvals": places,
            "ticktext": [style.escape(style.shorten(group["label"])) for group in groups],
            "automargin": True,
        },
        "yaxis": {
            "title": {"text": style.escape(f"mean of {pair['of']}")},
            "gridcolor": style.QUIET,
            "zeroline": False,
            "automargin": True,
        },
    }
    words = f"Mean of {pair['of']} by {pair['by']}, real beside synthetic. {pair['verdict']['words']}"
    return frame(report, traces, layout, words=words)


def _text(value: float | None, *, sign: str = "") -> str:
    if value is None:
        return "–"
    return (sign if value > 0 else "") + number_text(value)


FIGURE = ConditionalMeans()
