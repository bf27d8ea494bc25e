"""Cards of figures that give each column a list of shares, real beside synthetic: the worst column is drawn,
all are in the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from synth_engine.evaluation import bars, summaries
from synth_engine.evaluation.cards import MARKS, Card, make_card, make_table
from synth_engine.evaluation.figure import FigureSection, Tile
from synth_engine.evaluation.plots import Report, frame, margin_for
from synth_engine.evaluation.style import escape
from synth_engine.evaluation.wording import Json

SECTION = FigureSection(
    "written",
    "Gaps, digits and markers",
    11,
    (("gaps", "Gaps of days"), ("digits", "Last digits"), ("markers", "Markers")),
)
_SIDES = ("real", "synthetic")


def shares_card(report: Report, key: str, entries: Sequence[Json], *, of: str) -> Card:
    """The card of some entries, the worst one first. Each has `name`, `labels`, `shares` by side and
    `verdict`.

    of: what is counted, in the plural."""
    worst = entries[0]
    rows = [
        (entry["name"], label, *(f"{entry['shares'][side][place]:.2%}" for side in _SIDES))
        for entry in entries
        for place, label in enumerate(entry["labels"])
    ]
    reading = report["reading"][key]
    head = ("Column", f"Share of {of}", "Real", "Synthetic")
    table = make_table(f"{reading['title']} of every column", head, rows, names=2)
    traces, layout = bars.arrange({**worst, "ordered": True, "cuts": None})
    layout["yaxis"] = bars.share_axis(f"share of {of}")
    # On a telephone the labels are turned.
    layout["margin"] = margin_for(worst["labels"], turned=True)
    # Few enough that each is named.
    places = list(range(len(worst["labels"])))
    layout["xaxis"] |= {
        "tickvals": places,
        "ticktext": [escape(each) for each in worst["labels"]],
    }
    words = f"{reading['title']} of {worst['name']}, real beside synthetic. {worst['verdict']['words']}"
    made = make_card(
        report,
        key,
        reading,
        table,
        f"{worst['name']}: {worst['verdict']['words']}",
        figure=frame(report, traces, layout, words=words),
    )
    return replace(made, mark=MARKS[worst["verdict"]["level"]])


def tile_of_columns(title: str, entries: Sequence[Json] | None) -> list[Tile]:
    """The tile of a figure that judges columns by themselves; none without any. entries: with `name` and
    `verdict`, worst first."""
    if not entries:
        return []
    levels = [entry["verdict"]["level"] for entry in entries]
    summary = summaries.of_levels(
        levels, things="columns", first=entries[levels.index(summaries.worst(levels))]["name"]
    )
    return [
        Tile.of_parts(
            title, preserved=summary["kept"], of=summary["of"], verdict=summary["verdict"]
        )
    ]
