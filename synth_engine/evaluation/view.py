"""A report laid out for reading: cards of figures with their verdicts and tables, worst first.

Plain values without markup but the small pictures; the web's page and the offline file both show them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from synth_engine.evaluation import (
    constraint_violations,
    figures,
    string_recall_cards,
    style,
    tree_curves,
)
from synth_engine.evaluation.cards import MARKS, Card, CardTable, count, make_card, make_table
from synth_engine.evaluation.distance_distribution import miles
from synth_engine.evaluation.report import Report
from synth_engine.evaluation.thumbnails import thumbnail

Entry = dict[str, Any]


@dataclass(frozen=True)
class Thumb:
    """A small histogram of the strip, and the card that it opens. `picture` is SVG, with every text in it escaped."""

    target: str
    name: str
    distance: str
    mark: str
    verdict: str
    picture: str


@dataclass(frozen=True)
class Tile:
    """One number of the summary."""

    title: str
    value: str
    mark: str
    words: str


@dataclass(frozen=True)
class Comparison:
    """Everything there is to show. `red` holds the words of the red bar and is empty for a private report."""

    red: str
    notice: str
    rows_real: int
    rows_synthetic: int
    tiles: list[Tile]
    strip: list[Thumb]
    histograms: list[Card]
    distances: list[Card]
    texts: list[Card]
    dependence: list[Card]
    dependence_verdict: str
    pairs: Card | None
    triples: Card | None
    constraints: Card | None
    group_sizes: Card | None
    rows: Entry | None
    left_out: CardTable | None
    reading: Entry = field(repr=False)


def lay_out(report: Report) -> Comparison:
    """The cards of a report."""
    attributes, pairs, triples = report["attributes"], report["pairs"], report["triples"]
    return Comparison(
        red="" if report["private"] else style.RED_WORDS,
        notice=report["notice"],
        rows_real=report["rows"]["real"],
        rows_synthetic=report["rows"]["synthetic"],
        tiles=[*_whole_tiles(report), *_tiles(report["summary"])],
        strip=[_thumb(entry, place) for place, entry in enumerate(attributes)],
        histograms=[_histogram(report, entry, place) for place, entry in enumerate(attributes)],
        distances=[
            *(
                _apart(report, entry, place)
                for place, entry in enumerate(report.get("place_distances", ()))
            ),
            *tree_curves.cards(report),
        ],
        texts=string_recall_cards.cards(report),
        dependence=[_dependence(report, which) for which in ("real", "synthetic", "difference")]
        if pairs
        else [],
        dependence_verdict=report["summary"]["mi_err"]["verdict"]["words"] if pairs else "",
        pairs=_groups(report, "pairs", figure=figures.tvd_heatmap(report)) if pairs else None,
        triples=_groups(report, "triples", figure=None) if triples else None,
        group_sizes=_group_sizes(report) if report.get("group_sizes") else None,
        constraints=_constraints(report, report.get("constraints", ())),
        rows=report["side_by_side"],
        left_out=_left_out(report["left_out"]),
        reading=report["reading"],
    )


def _whole_tiles(report: Report) -> list[Tile]:
    """Of places and of texts, which are more than their columns one by one: first, as they are what such a table is for."""
    found = []
    for entry in report.get("place_distances", ()):
        if entry["ks"] is not None:
            found.append(
                (
                    f"Distance of {' and '.join(entry['places'])}",
                    f"{entry['ks']:.3f}",
                    entry["verdict"],
                )
            )
    for entry in report.get("cells", ()):
        named = ", ".join(entry["places"] or entry["columns"])
        moved, diagonal = (
            entry["moved"]["synthetic"][-1],
            entry.get("diagonal_km"),
        )  # which earlier reports lack
        found.append(
            (
                f"Places: {named}",
                f"{diagonal * moved:.3g} km" if diagonal else f"{moved:.3f}",
                entry["verdict"],
            )
        )
    for entry in report.get("texts", ()):
        found.append(
            (f"Texts of {entry['column']}", f"{1 - entry['found']:.3f}", entry["verdict"])
        )
    return [
        Tile(title=title, value=value, mark=MARKS[verdict["level"]], words=verdict["words"])
        for title, value, verdict in found
    ]


def _tiles(summary: Entry) -> list[Tile]:
    titles = {
        "tvd1": "Single columns",
        "tvd2": "Pairs of columns",
        "tvd3": "Triples of columns",
        "mi_err": "Dependence",
    }
    return [
        Tile(
            title=f"{title} (mean of {summary[name]['of']})",
            value=f"{summary[name]['value']:.3f}",
            mark=MARKS[summary[name]["verdict"]["level"]],
            words=summary[name]["verdict"]["words"],
        )
        for name, title in titles.items()
        if summary[name]
    ]


def _thumb(entry: Entry, place: int) -> Thumb:
    return Thumb(
        target=f"column-{place}",
        name=entry["name"],
        distance=f"{entry['tvd']:.3f}",
        mark=MARKS[entry["verdict"]["level"]],
        verdict=entry["verdict"]["words"],
        picture=thumbnail(entry),
    )


def _histogram(report: Report, entry: Entry, place: int) -> Card:
    reading = {**report["reading"]["histogram"], "title": entry["name"]}
    table = _shares_table(entry, caption=f"Records by {entry['name']}", first="Value")
    return _bars(
        report,
        f"column-{place}",
        entry,
        reading,
        table,
        figures.histogram(report, entry["name"]),
    )


def _group_sizes(report: Report) -> Card:
    entry, reading = report["group_sizes"], report["reading"]["group_sizes"]
    table = _shares_table(entry, caption="Persons by how many rows they have", first="Rows")
    return _bars(report, "group-sizes", entry, reading, table, figures.group_sizes(report))


def _bars(
    report: Report,
    key: str,
    entry: Entry,
    reading: Entry,
    table: CardTable,
    figure: figures.Figure,
) -> Card:
    verdict = entry["verdict"]
    return make_card(
        report,
        key,
        reading,
        table,
        verdict["words"],
        mark=MARKS[verdict["level"]],
        figure=figure,
    )


def _shares_table(entry: Entry, *, caption: str, first: str) -> CardTable:
    counts, shares = entry["counts"], entry["shares"]
    gaps = [
        synthetic - real
        for real, synthetic in zip(shares["real"], shares["synthetic"], strict=True)
    ]
    rows = [
        (
            label,
            *(count(counts[s][code]) for s in counts),
            *(f"{shares[s][code]:.2%}" for s in shares),
            f"{gap:+.2%}",
        )
        for code, (label, gap) in enumerate(zip(entry["labels"], gaps, strict=True))
    ]
    head = (first, "Real", "Synthetic", "Real share", "Synthetic share", "Difference")
    return make_table(caption, head, rows)


def _apart(report: Report, entry: Entry, place: int) -> Card:
    """Cumulative shares at a score of round distances."""
    edges, within, verdict = entry["edges_km"], entry["within"], entry["verdict"]
    rows = [
        (
            f"{edges[1 + row]:g} km",
            f"{miles(edges[1 + row]):.1f}",
            *(f"{within[side][row]:.2%}" for side in within),
            f"{within['synthetic'][row] - within['real'][row]:+.2%}",
        )
        for row in _round_rows(edges, within)
    ]
    lacking = entry["lacking"]
    if any(lacking.values()):
        rows.append(("a place is missing", "", *(count(lacking[side]) for side in lacking), ""))
    names = " and ".join(entry["places"])
    head = ("At most", "In miles", "Real", "Synthetic", "Difference")
    table = make_table(f"Records by the distance between {names}", head, rows)
    reading = {**report["reading"]["place_distances"], "title": f"Distance between {names}"}
    figure, mark = figures.place_distances(report, place), MARKS[verdict["level"]]
    return make_card(
        report,
        f"distance-{place}",
        reading,
        table,
        _apart_line(entry),
        mark=mark,
        figure=figure,
    )


def _apart_line(entry: Entry) -> str:
    words: str = entry["verdict"]["words"]
    if entry["ks"] is None:
        return words
    median = entry["median_km"]
    return f"{words} Distance of Kolmogorov and Smirnov {entry['ks']:.3f}, at {entry['ks_at_km']:.3g} km. Half of the records within {median['real']:g} km (real) and {median['synthetic']:g} km (synthetic)."


def _round_rows(edges: list[float], within: Entry) -> list[int]:
    """Places of some thirty bins, evenly spaced up to where both curves are complete."""
    last = max(
        next((i for i, share in enumerate(side) if share > 0.9999), len(side) - 1)
        for side in within.values()
    )
    step = next(
        size
        for size in (1, 2, 5, 10, 20, 50, 100, 200, 400)
        if (last + 1) / size <= 30 or size == 400
    )
    return list(range(step - 1, min(last + step, len(edges) - 1), step)) or [len(edges) - 2]


def _dependence(report: Report, which: Literal["real", "synthetic", "difference"]) -> Card:
    name = f"nmi_{which}"
    ordered = sorted(report["pairs"], key=lambda pair: -abs(pair[name]))
    rows = [
        (
            _together(pair),
            f"{pair['nmi_real']:.3f}",
            f"{pair['nmi_synthetic']:.3f}",
            f"{pair['nmi_difference']:+.3f}",
            pair["dependence"]["words"],
        )
        for pair in ordered
    ]
    reading = report["reading"][name]
    head = ("Columns", "Real", "Synthetic", "Difference", "Verdict")
    table = make_table(f"{reading['title']}, strongest first", head, rows, words=True)
    strongest = (
        f"{'Most changed' if which == 'difference' else 'Strongest'}: {_together(ordered[0])}"
    )
    number = f"{ordered[0][name]:+.3f}" if which == "difference" else f"{ordered[0][name]:.3f}"
    line = f"{strongest}, {number}"
    return make_card(
        report,
        name.replace("_", "-"),
        reading,
        table,
        line,
        figure=figures.nmi_heatmap(report, which),
    )


def _groups(
    report: Report, name: Literal["pairs", "triples"], *, figure: figures.Figure | None
) -> Card:
    entries = report[name]
    rows = [
        (
            _together(entry),
            count(entry["cells"]),
            f"{entry['tvd']:.3f}",
            f"{entry['tvd_by_chance']:.3f}",
            f"{MARKS[entry['verdict']['level']]} {entry['verdict']['level']}",
        )
        for entry in entries
    ]
    reading = report["reading"][name]
    head = ("Columns", "Cells", "Distance", "By chance", "Difference")
    table = make_table(f"{reading['title']}, worst first", head, rows, words=True)
    verdict = report["summary"]["tvd2" if name == "pairs" else "tvd3"]["verdict"]
    return make_card(
        report,
        name,
        reading,
        table,
        verdict["words"],
        mark=MARKS[verdict["level"]],
        figure=figure,
    )


def _constraints(report: Report, entries: Sequence[Entry]) -> Card | None:
    if not entries:
        return None
    head = ("Constraint", "Real", "Synthetic, not enforced", "Synthetic")
    sides = ("real", "unenforced", "synthetic")
    rows = [
        (
            entry["sentence"],
            *(
                "" if entry["records"][side] is None else count(entry["records"][side])
                for side in sides
            ),
        )
        for entry in entries
    ]
    reading = report["reading"]["constraints"]
    return make_card(
        report,
        "constraints",
        reading,
        make_table("Records that break them", head, rows),
        constraint_violations.verdict(entries),
        figure=None,
    )


def _left_out(entries: list[Entry]) -> CardTable | None:
    if not entries:
        return None
    rows = [(_together(entry), count(entry["cells"]), entry["reason"]) for entry in entries]
    return make_table(
        "Left out of the comparison", ("Columns", "Cells", "Why"), rows, words=True
    )


def _together(entry: Entry) -> str:
    return " × ".join(entry["attributes"])
