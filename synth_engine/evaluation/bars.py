"""The bars of a histogram: real beside synthetic over public codes, in whichever arrangement the column calls
for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, floor, log10

from synth_engine.domain import MISSING, OTHER
from synth_engine.evaluation.cards import MARKS, Card, CardTable, make_card, make_table
from synth_engine.evaluation.plots import Figure, Layout, Report, Trace, frame, margin_for
from synth_engine.evaluation.style import QUIET, REAL, SYNTHETIC, escape, shorten
from synth_engine.evaluation.thousands import grouped
from synth_engine.evaluation.wording import Json

Traces = list[Trace]

MAX_BARS = 400
MAX_GROUPED = 40  # codes: beyond it the synthetic side is a dashed line over solid bars
MAX_CATEGORIES = 30
# times the longest bar of a value: what all others together may be to be drawn as long as it is
DWARFING_RATIO = 4
SPIKE = 0.5
"""Share of all records from which on one bar is a spike."""
SPIKE_RATIO = 5
"""Times the next bar that a spike is long: on its scale all others would be hairlines."""
ROW_PIXELS = 34
NARROW_ROW_PIXELS = 24  # from a dozen categories on


def histogram(report: Report, entry: Json, *, of: str) -> Figure:
    """Real beside synthetic shares of one column over its public codes.

    Numbers in (nearly) equal bins stand on their own scale; unequal bins and other ordered values are evenly
    spaced and named; unordered categories are horizontal bars, the most frequent real one on top. `of`: what
    is counted.
    """
    traces, layout = arrange(entry)
    gap = entry["largest_gap"]
    words = (
        f"Shares of {of} by {entry['name']}, real beside synthetic. {entry['verdict']['words']} Largest "
        f"gap at {gap['label']}: {gap['real']:.1%} real, {gap['synthetic']:.1%} synthetic."
    )
    return frame(report, traces, layout, words=words)


def card(
    report: Report,
    key: str,
    entry: Json,
    reading: Mapping[str, object],
    *,
    table: CardTable,
    figure: Figure,
) -> Card:
    """The card of a histogram, with its table of values."""
    verdict = entry["verdict"]
    made = make_card(report, key, reading, table, verdict["words"], figure=figure)
    return replace(made, mark=MARKS[verdict["level"]])


def value_table(entry: Json, *, caption: str, first: str) -> CardTable:
    """Counts and shares by value. first: the head of the column of values."""
    counts, shares = entry["counts"], entry["shares"]
    rows = [
        (
            label,
            *(grouped(counts[side][code]) for side in counts),
            *(f"{shares[side][code]:.2%}" for side in shares),
            f"{shares['synthetic'][code] - shares['real'][code]:+.2%}",
        )
        for code, label in enumerate(entry["labels"])
    ]
    head = (first, "Real", "Synthetic", "Real share", "Synthetic share", "Difference")
    return make_table(caption, head, rows)


def arrange(entry: Json) -> tuple[Traces, Layout]:
    """Traces and axes for one attribute of a report."""
    # A bar below a pixel cannot be seen, and every bar is in the file of the page.
    if entry["ordered"] and len(entry["labels"]) > MAX_BARS:
        entry = _merge_bins(entry)
    if _is_evenly_binned(entry):
        return _on_a_scale(entry)
    return _in_order(entry) if entry["ordered"] else _by_frequency(entry)


def _merge_bins(entry: Json) -> Json:
    """Merges neighbours of an ordered attribute with very many codes to a few hundred bars; other
    and missing stay as they are."""
    labels = entry["labels"]
    values = len(labels) - sum(label in (OTHER, MISSING) for label in labels[-2:])
    size = -(-values // MAX_BARS)
    starts = range(0, values, size)
    ends = [min(start + size, values) for start in starts]
    named = [
        f"{labels[start]} … {labels[end - 1]}" for start, end in zip(starts, ends, strict=True)
    ]
    # Shares add up exactly where bins are joined; the distance of the report stays that of the
    # unmerged bins.
    shares = {
        side: [sum(share[start:end]) for start, end in zip(starts, ends, strict=True)]
        + share[values:]
        for side, share in entry["shares"].items()
    }
    cuts = (
        None
        if entry["cuts"] is None
        else [*(entry["cuts"][start] for start in starts), entry["cuts"][-1]]
    )
    return {**entry, "labels": named + labels[values:], "shares": shares, "cuts": cuts}


def _on_a_scale(entry: Json) -> tuple[Traces, Layout]:
    """Bars of true width over the values; other and missing stand apart at the right."""
    low, high = _bins(entry)
    first, span = low[0], high[-1] - low[0]
    ticks: Json = {
        "showgrid": False,
        "zeroline": False,
        "title": {"text": escape(entry["name"])},
    }
    if extra_labels := entry["labels"][len(low) :]:
        width = span / 24
        starts = [
            # "Other" and missing have no value: a gap keeps them from being read as the largest
            # ones.
            high[-1] + width * (1.0 + 2.5 * position)
            for position in range(len(extra_labels))
        ]
        low, high = low + starts, high + [start + width for start in starts]
        ticks_at = round_numbers(first, first + span)
        ticks["tickvals"] = ticks_at + [start + width / 2 for start in starts]
        ticks["ticktext"] = [f"{position:,.6g}" for position in ticks_at] + [
            escape(label.strip("()")) for label in extra_labels
        ]
    layout = {
        "margin": margin_for(ticks.get("ticktext") or [f"{high[-1]:,.6g}"]),
        "xaxis": ticks,
        "yaxis": share_axis("share of records"),
        "bargap": 0,
    }
    set_spike_apart(layout, entry, low, high)
    return two_sides(entry, low, [b - a for a, b in zip(low, high, strict=True)]), layout


def set_spike_apart(
    layout: Layout, entry: Json, low: Sequence[float], high: Sequence[float]
) -> None:
    """Let the axis of shares end at the second longest bar, where the longest would leave the others no
    length; the longest is cut, and its shares are written over it. low, high: where each bar begins and
    ends."""
    shares = [max(pair) for pair in zip(*entry["shares"].values(), strict=True)]
    if len(shares) < 2:
        return
    top, second = sorted(range(len(shares)), key=lambda bar: -shares[bar])[:2]
    if shares[top] < SPIKE or not 0 < SPIKE_RATIO * shares[second] <= shares[top]:
        return
    layout["yaxis"] |= {"range": [0, 1.15 * shares[second]]}
    written = " / ".join(f"{share[top]:.1%}" for share in entry["shares"].values())
    at_left = low[top] + high[top] < low[0] + high[-1]
    layout["annotations"] = [
        {
            "xref": "x",
            "yref": "paper",
            "x": high[top] if at_left else low[top],
            "y": 1,
            "xanchor": "left" if at_left else "right",
            "yanchor": "top",
            "xshift": 6 if at_left else -6,
            "showarrow": False,
            "align": "left",
            "text": f"↑ {escape(entry['labels'][top])}: {written}",
            "font": {"size": 12},
        }
    ]


def _bins(entry: Json) -> tuple[list[float], list[float]]:
    """Returns the lower and the upper edges of the bins of a number on its scale."""
    shift = 0.5 if entry["kind"] == "integer" else 0.0  # whole number 7 covers 6.5 … 7.5
    edges = [cut - shift for cut in entry["cuts"]]
    return edges[:-1], edges[1:]


def _is_evenly_binned(entry: Json) -> bool:
    """Returns whether the bins of a number are so nearly equal that their shares may stand on
    its scale."""
    if entry["cuts"] is None or len(entry["cuts"]) < 3:
        return False
    widths = [b - a for a, b in pairwise(entry["cuts"])]
    return bool(
        max(widths) <= 2 * min(widths[:-1])
    )  # what is left for the last one may be narrow


def round_numbers(low: float, high: float) -> list[float]:
    """About six round numbers between two."""
    raw = (high - low) / 6
    unit = 10.0 ** floor(log10(raw))
    step = next(times * unit for times in (1, 2, 5, 10) if times * unit >= raw)
    return [step * multiple for multiple in range(ceil(low / step), floor(high / step) + 1)]


def two_sides(entry: Json, low: list[float], widths: list[float]) -> Traces:
    """Both sides over bins at `low` of `widths`: side by side in a bin, or, where bins are many, a dashed
    outline."""
    share = entry["shares"]
    grouped = len(low) <= MAX_GROUPED
    traces = []
    for index, side in enumerate(("real", "synthetic")):
        if side == "synthetic" and not grouped:
            traces.append(_outline(entry, low, widths))
            continue
        part = 0.44 if grouped else 1.0
        left = [
            a + w * (0.06 + 0.44 * index if grouped else 0.0)
            for a, w in zip(low, widths, strict=True)
        ]
        traces.append(
            {
                **_bar(side),
                "x": [a + w * part / 2 for a, w in zip(left, widths, strict=True)],
                "width": [w * part for w in widths],
                "y": share[side],
                "customdata": [escape(label) for label in entry["labels"]],
                "hovertemplate": "%{customdata}: %{y:.2%}<extra>" + side + "</extra>",
            }
        )
    return traces


def _outline(entry: Json, low: list[float], widths: list[float]) -> Json:
    """The synthetic side as the outline of its bars, broken where bins do not touch."""
    x: list[float | None] = []
    y: list[float | None] = []
    labels: list[str] = []
    end = low[0]
    # None breaks a line in Plotly: without it, the outline would cross the gap before "other"
    # as if there were records.
    for label, start, width, share in zip(
        entry["labels"], low, widths, entry["shares"]["synthetic"], strict=True
    ):
        if start - end > width / 2:
            x, y, labels = [*x, None], [*y, None], [*labels, ""]
        end = start + width
        x, y, labels = (
            [*x, start, end],
            [*y, share, share],
            [*labels, escape(label), escape(label)],
        )
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "synthetic",
        "x": x,
        "y": y,
        "customdata": labels,
        "line": {"color": SYNTHETIC, "width": 2, "dash": "4px,2px"},
        "hovertemplate": "%{customdata}: %{y:.2%}<extra>synthetic</extra>",
    }


def _in_order(entry: Json) -> tuple[Traces, Layout]:
    """Ordered codes without a scale (dates, grades): upright, evenly spaced, ticks named by the codes."""
    size = len(entry["labels"])
    step = -(-size // 12)
    positions = list(range(0, size, step))
    layout = {
        "xaxis": {
            "title": {"text": escape(entry["name"])},
            "showgrid": False,
            "zeroline": False,
            "tickvals": positions,
            "ticktext": [escape(entry["labels"][position]) for position in positions],
            "automargin": True,
        },
        "yaxis": share_axis("share of records"),
        "bargap": 0,
    }
    low = [position - 0.5 for position in range(size)]
    set_spike_apart(layout, entry, low, [start + 1.0 for start in low])
    return two_sides(entry, low, [1.0] * size), layout


def _by_frequency(entry: Json) -> tuple[Traces, Layout]:
    """Horizontal bars, the most frequent real value on top; the 30 values most frequent on either side have
    their own if a record has them, the rest is one bar. Where that would dwarf the others it leaves the
    figure, and its name says how much it is."""
    share = entry["shares"]
    codes = range(len(entry["labels"]))
    largest = set(
        sorted(codes, key=lambda code: -max(share["real"][code], share["synthetic"][code]))[
            :MAX_CATEGORIES
        ]
    )
    if len(codes) > MAX_CATEGORIES:
        largest = {code for code in largest if share["real"][code] or share["synthetic"][code]}
    shown = sorted(largest, key=lambda code: -share["real"][code])
    rest = [code for code in codes if code not in largest]
    rest_totals = [sum(share[side][code] for code in rest) for side in ("real", "synthetic")]
    longest = max(
        (share[side][code] for side in ("real", "synthetic") for code in shown), default=0.0
    )
    # On a scale that holds the rest, bars of single values would be too short to compare.
    dwarfs = 0 < DWARFING_RATIO * longest < max(rest_totals)
    rest_shares = f": {rest_totals[0]:.0%}, {rest_totals[1]:.0%}" if dwarfs else ""
    labels = [entry["labels"][code] for code in shown] + (
        [f"{grouped(len(rest))} more" + rest_shares] if rest else []
    )
    traces = []
    for side, remaining in zip(("real", "synthetic"), rest_totals, strict=True):
        values = [share[side][code] for code in shown] + ([remaining] if rest else [])
        traces.append(
            {
                **_bar(side),
                "orientation": "h",
                "y": list(range(len(labels))),
                "x": values,
                "customdata": [escape(label) for label in labels],
                "hovertemplate": "%{customdata}: %{x:.2%}<extra>" + side + "</extra>",
            }
        )
    layout = {
        "barmode": "group",
        "bargap": 0.25,
        "height": max(
            240, 110 + len(labels) * (ROW_PIXELS if len(labels) <= 12 else NARROW_ROW_PIXELS)
        ),
        "xaxis": share_axis("share of records")
        | ({"range": [0, 1.1 * longest]} if dwarfs else {}),
        "yaxis": {
            "autorange": "reversed",
            "tickvals": list(range(len(labels))),
            "ticktext": [escape(shorten(label)) for label in labels],
            "automargin": True,
            "showgrid": False,
            "zeroline": False,
        },
    }
    return traces, layout


def _bar(side: str) -> Json:
    if side == "real":
        return {"type": "bar", "name": "real", "marker": {"color": REAL, "line": {"width": 0}}}
    pattern = {
        "shape": "/",
        "fillmode": "overlay",
        "fgcolor": "#ffffff",
        "fgopacity": 0.55,
        "size": 5,
        "solidity": 0.35,
    }
    line = {"color": SYNTHETIC, "width": 1}
    return {
        "type": "bar",
        "name": "synthetic",
        "marker": {"color": SYNTHETIC, "pattern": pattern, "line": line},
    }


def share_axis(title: str) -> Json:
    return {
        "title": {"text": title},
        "tickformat": ".3~%",
        "rangemode": "tozero",
        "gridcolor": QUIET,
        "zeroline": False,
        "nticks": 6,
        "automargin": True,
    }
