"""Shared parts of the figures of pairs and triples: a map with a square for each pair, and a
table of groups of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from synth_engine.evaluation.cards import MARKS, MAX_TABLE_ROWS, Card, make_card, make_table
from synth_engine.evaluation.colour_ends import without_chance
from synth_engine.evaluation.figure import CliqueEntry
from synth_engine.evaluation.plots import Figure, Report, Trace, frame
from synth_engine.evaluation.seriation import chained
from synth_engine.evaluation.style import escape
from synth_engine.evaluation.thousands import grouped
from synth_engine.evaluation.wording import Json

MAX_NAMED_COLUMNS = 40
"""Columns that a map names one by one, with all numbers of a pair under the pointer; of more it names some,
and has the number that is drawn."""

MOST_WITH_VALUES = 12
"""Columns of a map whose squares have room for numbers."""
HoverLine = tuple[str, str, str]
"""Label, field of an entry, and d3 format of a number under the pointer."""
DIGITS = 6
"""Of a number that becomes a colour."""
HOVER_DIGITS = 4
SQUARES = {
    "hovertemplate": "%{x} × %{y}<br>%{z:.3f}<extra></extra>",
    "hoverongaps": False,
    "xgap": 1,
    "ygap": 1,
    "colorbar": {
        "orientation": "h",
        "y": 1.0,
        "yanchor": "bottom",
        "thickness": 10,
        "len": 1.0,
        "outlinewidth": 0,
        "nticks": 6,
        "tickfont": {"size": 11},
    },
}
"""How the squares of a map and the bar of its colours are drawn."""
DISTANCES: Sequence[HoverLine] = (
    ("distance", "tvd", ".3f"),
    ("by chance", "tvd_by_chance", ".3f"),
)
DEPENDENCES: Sequence[HoverLine] = (
    ("real", "nmi_real", ".3f"),
    ("synthetic", "nmi_synthetic", ".3f"),
    ("difference", "nmi_difference", "+.3f"),
)


@dataclass(frozen=True, kw_only=True)
class PairEntries:
    """The entries of a map other than that of `pairs`. names: of its rows; pairs: entries with `attributes`;
    hover: what stands under the pointer."""

    names: Sequence[str]
    pairs: Sequence[Json]
    hover: Sequence[HoverLine]


def pair_map(
    report: Report,
    field: str,
    scale: Trace,
    *,
    words: str,
    entries: PairEntries | None = None,
    is_chance: Callable[[Json], bool] | None = None,
) -> Figure:
    """A field of every pair as colours, a triangle below the diagonal: each pair and each name once. `words`
    describes the map to those who cannot see it. is_chance: of a difference, the entries that are grey. Few
    columns have their values in the squares. Where numbers stand under the pointer, columns that go together
    by any of them stand beside each other, so that maps of the same entries have one order."""
    shown = entries or PairEntries(
        names=report["columns"],
        pairs=report["pairs"],
        hover=DISTANCES if field == "tvd" else DEPENDENCES,
    )
    names, pairs = shown.names, shown.pairs
    if shown.hover:
        names = chained(
            names,
            {frozenset(pair["attributes"]): _strength(pair, shown.hover) for pair in pairs},
        )
    # A report has each pair once, in either order.
    by_pair = {frozenset(pair["attributes"]): pair for pair in pairs}
    across, down = names[:-1], names[1:]
    cells = [
        [
            by_pair.get(frozenset((a, b))) if place <= row else None
            for place, a in enumerate(across)
        ]
        for row, b in enumerate(down)
    ]
    words += _strongest(pairs, field)
    trace: Trace = {
        "type": "heatmap",
        "x": [escape(name) for name in across],
        "y": [escape(name) for name in down],
        # What lies above the diagonal and pairs that were left out have no colour.
        "z": [[round(cell[field], DIGITS) if cell else None for cell in row] for row in cells],
        **SQUARES,
        **scale,
    }
    if len(names) <= MOST_WITH_VALUES:
        trace["texttemplate"] = "%{z:.2f}"
    if len(names) <= MAX_NAMED_COLUMNS and shown.hover:
        # Numbers, of which the browser makes words: words for each square would be most of a page.
        trace["hovertemplate"] = _hover_template(shown.hover)
        trace["customdata"] = [
            [
                [round(cell[name], HOVER_DIGITS) for _, name, _ in shown.hover] if cell else []
                for cell in row
            ]
            for row in cells
        ]
    traces = [trace] if is_chance is None else without_chance(trace, cells, is_chance)
    return frame(report, traces, _layout(len(names)), words=words)


def _layout(number: int) -> dict[str, object]:
    """The axes and the size of a map of so many columns."""
    axis = {
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"size": 11},
        "automargin": True,
    }
    every = {"dtick": 1} if number <= MAX_NAMED_COLUMNS else {}
    return {
        "xaxis": {**axis, **every, "type": "category", "tickangle": -90},
        "yaxis": {**axis, **every, "type": "category", "autorange": "reversed"},
        "height": min(900, 220 + 18 * number),
        "margin": {"l": 20, "r": 12, "t": 64, "b": 20},
        "showlegend": False,
    }


def _strongest(pairs: Sequence[Json], field: str) -> str:
    """The three pairs with the largest entries in a field, in a sentence."""
    ends = sorted(pairs, key=lambda pair: -abs(pair[field]))[:3]
    listed = "; ".join(f"{' and '.join(p['attributes'])} {p[field]:+.2f}" for p in ends)
    return f" Strongest: {listed}."


def _strength(pair: Json, hover: Sequence[HoverLine]) -> float:
    return max(abs(float(pair[name])) for _, name, _ in hover)


def is_same(field: str) -> Callable[[Json], bool]:
    """Whether the verdict of an entry, in this field, is that there is no difference."""
    return lambda entry: bool(entry[field]["level"] == "same")


def _hover_template(lines: Sequence[HoverLine]) -> str:
    """The text of a square under the pointer: its two columns, and a line for each number."""
    numbers = [
        f"{label} %{{customdata[{place}]:{style}}}"
        for place, (label, _, style) in enumerate(lines)
    ]
    return "<br>".join(["%{x} × %{y}", *numbers]) + "<extra></extra>"


def group_card(report: Report, field: str, *, mean: str, figure: Figure | None) -> Card:
    """The distances of groups of columns; `mean`: the field of the summary that holds their verdict."""
    rows = [
        (
            names(entry),
            grouped(entry["cells"]),
            f"{entry['tvd']:.3f}",
            f"{entry['tvd_by_chance']:.3f}",
            f"{MARKS[entry['verdict']['level']]} {entry['verdict']['level']}",
        )
        for entry in report[field][:MAX_TABLE_ROWS]
    ]
    reading = report["reading"][field]
    head = ("Columns", "Cells", "Distance", "By chance", "Difference")
    caption = f"{reading['title']}, worst first"
    table = make_table(caption, head, rows, words=True, of=len(report[field]))
    verdict = report["summary"][mean]["verdict"]
    mark = MARKS[verdict["level"]]
    made = make_card(report, field, reading, table, verdict["words"], figure=figure)
    return replace(made, mark=mark)


def names(entry: CliqueEntry | Json) -> str:
    """The columns of a group in one line."""
    return " × ".join(entry["attributes"])
