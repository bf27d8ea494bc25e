"""Tables of two to eight columns: NIST's k-marginal score, squared errors, and the groups of records that fit
worst."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import comb
from statistics import fmean

import numpy as np

from synth_engine.domain import Attribute, Domain
from synth_engine.evaluation import blind_spots, style, summaries, wording
from synth_engine.evaluation.cards import MARKS, Card, make_card, make_table
from synth_engine.evaluation.distances import (
    Array,
    chance_distance,
    chance_distances,
    chance_squared_error,
    k_marginal_score,
    shares,
    squared_error,
    total_variation,
)
from synth_engine.evaluation.figure import ComparisonFigure, FigureSection, Sides, Tile
from synth_engine.evaluation.plots import Figure, Report, Trace, frame
from synth_engine.evaluation.tallies import (
    Clique,
    ContingencyTable,
    Tallies,
    TallySource,
    align,
)
from synth_engine.evaluation.thousands import grouped
from synth_engine.evaluation.wording import Explanation, Json
from synth_engine.indexing.occupied import MAX_CELLS

SIZES = range(
    4, 9
)  # columns of a table that is counted for this figure; smaller ones are counted for others
SETS = 4  # of columns, of each size
SEED = 0
ATTEMPTS = 200
MAX_GROUPS = 60  # codes of a column by which records are grouped
MAX_CROSSED_CELLS = 500_000  # of a table of three columns that is read for groups of two
MIN_RECORDS = 100  # real records of a group that is judged
MAX_LISTED = 50
MAX_DRAWN = 15


@dataclass(frozen=True, kw_only=True)
class _Agreement:
    """How far apart the two tables of a clique are, and what chance alone would give."""

    clique: Clique
    distance: float
    by_chance: float
    squared_error: float
    squared_error_by_chance: float


SECTION = FigureSection(
    "k-marginals", "Many columns at once", 65, (("k-marginals", "k-marginals"),)
)


def cliques(domain: Domain) -> list[Clique]:
    """Sets of four to eight columns, four of each size at most: a public choice, by a fixed seed and the
    domain alone. Sets whose cells 64-bit integers cannot number are left out."""
    rng = np.random.default_rng(SEED)
    names = domain.names
    return [
        clique
        for size in SIZES
        if size <= len(names)
        for clique in _selected(domain, size=size, rng=rng)
    ]


def _selected(domain: Domain, *, size: int, rng: np.random.Generator) -> list[Clique]:
    names = domain.names
    wanted = min(SETS, comb(len(names), size))
    selected: dict[Clique, None] = {}
    for _ in range(ATTEMPTS):
        if len(selected) == wanted:
            break
        columns = np.sort(rng.choice(len(names), size, replace=False))
        clique = tuple(names[column] for column in columns)
        if domain.cells(clique) <= MAX_CELLS:
            selected[clique] = None
    return list(selected)


class KMarginals(ComparisonFigure):
    """A line of scores by the number of columns, and bars of the groups with the lowest scores."""

    field = "k_marginals"
    position = 45
    section = SECTION
    explanations = {
        "k_marginals": Explanation(
            title="k-marginal score",
            what="NIST's score of the tables of k columns: 1000 less a thousand times their mean total "
            "variation distance. Pairs and triples are those above; of four to eight columns, up to four "
            "sets are drawn by a fixed seed. Beside it stands the sum of squared errors of the shares of "
            "all cells.",
            how="1000 is a perfect copy of the table's counts, 0 has no record in common. With many "
            "columns almost every combination is rare, so that even a second sample of the same people has "
            "a low score: compare with the dashed line. A score far above it in tables of eight columns is "
            "a copy, not a fit.",
        ),
        "k_marginal_groups": Explanation(
            title="Groups with the lowest scores",
            what="The k-marginal score within a group: records that share a value of one column, compared "
            f"in every other column. Columns of at most {MAX_GROUPS} codes make groups; those of fewer "
            f"than {MIN_RECORDS} real records are not judged.",
            how="The groups come by how much lower they score than a second sample of the same people "
            "would. A group that the synthetic table lacks scores 0.",
        ),
        "k_marginal_crossed": Explanation(
            title="Groups of two columns with the lowest scores",
            what="The same within smaller groups: records that share the values of two columns, compared "
            "in each third column with which the two were counted in a triple above. Groups of fewer than "
            f"{MIN_RECORDS} real records are not judged.",
            how="A method that keeps pairs alone may keep both columns and still be wrong about records in "
            "which they meet. Of very many groups some score low by chance: read those far below their "
            "mark.",
        ),
    }

    def tally(self, source: TallySource) -> dict[Clique, ContingencyTable]:
        tables = {}
        for clique in cliques(source.domain):
            cells, counts = source.occupied_cells(clique)
            table = ContingencyTable(source.domain.shape(clique), cells, counts)
            tables[clique] = table.packed()
        return tables

    def entry(self, sides: Sides) -> Json:
        scores = [
            _score(size, tables, sides) for size, tables in _by_size(sides).items() if tables
        ]
        groups = sorted(_groups(sides), key=_beyond_chance)
        crossed = sorted(_crossed_groups(sides), key=_beyond_chance)
        return {
            "scores": scores,
            "groups": groups[:MAX_LISTED],
            "judged_groups": len(groups),
            "crossed": crossed[:MAX_LISTED],
            "judged_crossed": len(crossed),
        }

    def tiles(self, report: Report) -> list[Tile]:
        entry = report.get(self.field)
        if not entry or not entry["scores"]:
            return []
        line = _worst_line(entry["scores"])
        title = f"k-marginal score, {line['size']} columns"
        return [Tile.of(title, f"{line['score']:.0f}", line["verdict"])]

    def cards(self, report: Report) -> list[Card]:
        entry = report.get(self.field)
        if not entry or not entry["scores"]:
            return []
        cards = [_score_card(report, entry["scores"])]
        if entry["groups"]:
            cards.append(
                _group_card(
                    report,
                    entry["groups"],
                    key="k-marginal-groups",
                    judged=entry["judged_groups"],
                )
            )
        if entry.get("crossed"):  # an earlier report has none
            cards.append(
                _group_card(
                    report,
                    entry["crossed"],
                    key="k-marginal-crossed",
                    judged=entry["judged_crossed"],
                )
            )
        return cards


def _by_size(sides: Sides) -> dict[int, list[_Agreement]]:
    """How far apart the tables are that both sides have counted, by their number of columns. Tables are
    aligned one at a time: all of them together do not fit in memory."""
    agreements = {
        size: [
            _agreement(clique, sides.real[clique], sides.synthetic[clique])
            for clique in sides.cliques(size)
        ]
        for size in (2, 3)
    }
    counted = sides.counted(KMarginals.field) or {"real": {}, "synthetic": {}}
    for clique, real in counted["real"].items():
        if clique in counted["synthetic"]:
            agreement = _agreement(clique, real, counted["synthetic"][clique])
            agreements.setdefault(len(clique), []).append(agreement)
    return agreements


def _agreement(
    clique: Clique, real: ContingencyTable, synthetic: ContingencyTable
) -> _Agreement:
    counts = align(real, synthetic)
    halves = shares(counts[0]), shares(counts[1])
    return _Agreement(
        clique=clique,
        distance=total_variation(*halves),
        by_chance=chance_distance(*counts),
        squared_error=squared_error(*halves),
        squared_error_by_chance=chance_squared_error(*counts),
    )


def _score(size: int, tables: Sequence[_Agreement], sides: Sides) -> Json:
    """The score of all tables of so many columns, and what chance alone would give."""
    distances = [table.distance for table in tables]
    chances = [table.by_chance for table in tables]
    counted = {column.name for column in sides.columns}
    columns = {name for table in tables for name in table.clique if name in counted}
    hidden = sides.hidden(tuple(sorted(columns)))
    entries = [
        {
            "tvd": table.distance,
            "tvd_by_chance": table.by_chance,
            "verdict": wording.distance_verdict(table.distance, chance=table.by_chance),
            "name": " × ".join(table.clique),
        }
        for table in tables
    ]
    summary = summaries.of_distances(
        entries,
        things=f"tables of {size} columns",
        records=(sides.real.n, sides.synthetic.n),
        name=lambda entry: str(entry["name"]),
    )
    return {
        "size": size,
        "tables": len(tables),
        "score": k_marginal_score(distances),
        "by_chance": k_marginal_score(chances),
        "squared_error": fmean(table.squared_error for table in tables),
        "squared_error_by_chance": fmean(table.squared_error_by_chance for table in tables),
        "worst": summary["worst"],
        "verdict": blind_spots.group_verdict(summary["verdict"], hidden),
    }


def _worst_line(scores: Sequence[Json]) -> Json:
    """The score with the worst verdict; of several that of three columns, which is NIST's, if it is one of
    them."""
    return max(
        scores,
        key=lambda line: (
            summaries.SEVERITY.index(line["verdict"]["level"]),
            line["size"] == 3,
        ),
    )


def _groups(sides: Sides) -> Iterator[Json]:
    """The score of each group of real records that can be judged."""
    pairs = [set(pair) for pair in sides.cliques(2)]
    for column in sides.columns:
        if column.size <= MAX_GROUPS:
            others = [other for other in sides.columns if {column.name, other.name} in pairs]
            if others:
                yield from _groups_by(column, others, sides)


def _groups_by(column: Attribute, others: Sequence[Attribute], sides: Sides) -> Iterator[Json]:
    for codes, score in _scored(sides, (column,), others):
        yield {"column": column.name, "label": column.labels[codes[0]], **score}


def _crossed_groups(sides: Sides) -> Iterator[Json]:
    """The score of each group that shares the values of two columns, in the third columns of the triples that
    have both."""
    pairs = {frozenset(pair) for pair in sides.cliques(2)}
    thirds: dict[tuple[str, str], list[str]] = {}
    for triple in sides.cliques(3):
        if sides.domain.cells(triple) > MAX_CROSSED_CELLS:
            continue
        for third in triple:
            first, second = (name for name in triple if name != third)
            thirds.setdefault((first, second), []).append(third)
    for names, others in thirds.items():
        columns = tuple(sides.domain.attribute(name) for name in names)
        if frozenset(names) in pairs and all(1 < each.size <= MAX_GROUPS for each in columns):
            for codes, score in _scored(
                sides, columns, [sides.domain.attribute(other) for other in others]
            ):
                labels = [
                    column.labels[code] for column, code in zip(columns, codes, strict=True)
                ]
                yield {"columns": list(names), "labels": labels, **score}


def _scored(
    sides: Sides, columns: Sequence[Attribute], others: Sequence[Attribute]
) -> Iterator[tuple[tuple[int, ...], Json]]:
    """The codes of each judged group of these columns, and its score in the other columns."""
    totals = [_table(side, columns).ravel() for side in (sides.real, sides.synthetic)]
    judged = np.flatnonzero(totals[0] >= MIN_RECORDS)
    if not judged.size:
        return
    distances, chances = np.zeros((2, len(others), judged.size))
    for index, other in enumerate(others):
        halves = [
            _table(side, [*columns, other]).reshape(-1, other.size)[judged]
            for side in (sides.real, sides.synthetic)
        ]
        parts = [half / np.maximum(half.sum(axis=1, keepdims=True), 1.0) for half in halves]
        distances[index] = 0.5 * np.abs(parts[0] - parts[1]).sum(axis=1)
        # A group that the synthetic table lacks has nothing in common with it.
        distances[index, ~halves[1].any(axis=1)] = 1.0
        chances[index] = chance_distances(*halves)
    shape = [column.size for column in columns]
    for place, cell in enumerate(judged.tolist()):
        worst = int(np.argmax(distances[:, place] - chances[:, place]))
        codes = tuple(int(code) for code in np.unravel_index(cell, shape))
        yield (
            codes,
            {
                "records": {"real": int(totals[0][cell]), "synthetic": int(totals[1][cell])},
                "score": k_marginal_score(distances[:, place].tolist()),
                "by_chance": k_marginal_score(chances[:, place].tolist()),
                "worst_column": others[worst].name,
            },
        )


def _beyond_chance(group: Json) -> float:
    """How much lower a group scores than a second sample of the same people would, as a negative number."""
    return float(group["score"] - group["by_chance"])


def _table(side: Tallies, columns: Sequence[Attribute]) -> Array:
    """Counts by these columns, in this order, in whichever order they were counted; noisy counts below zero
    count as zero."""
    names = tuple(column.name for column in columns)
    counted = next(clique for clique in permutations(names) if clique in side)
    table = side[counted].dense().transpose([counted.index(name) for name in names])
    return np.maximum(table, 0).astype(np.float64)


def _score_card(report: Report, scores: Sequence[Json]) -> Card:
    rows = [
        (
            str(line["size"]),
            str(line["tables"]),
            f"{line['score']:.0f}",
            f"{line['by_chance']:.0f}",
            f"{line['squared_error']:.2e}",
            f"{line['squared_error_by_chance']:.2e}",
            f"{MARKS[line['verdict']['level']]} {line['verdict']['level']}",
        )
        for line in scores
    ]
    head = (
        "Columns of a table",
        "Tables",
        "Score",
        "By chance",
        "Squared error",
        "Squared error by chance",
        "Difference",
    )
    table = make_table("k-marginal scores by number of columns", head, rows, words=True)
    shown = _worst_line(scores)
    verdict = shown["verdict"]
    words = (
        f"{shown['score']:.0f} of 1000 in tables of {shown['size']} columns. {verdict['words']}"
    )
    made = make_card(
        report,
        "k-marginals",
        report["reading"]["k_marginals"],
        table,
        words,
        figure=draw_scores(report, scores),
    )
    return replace(made, mark=MARKS[verdict["level"]])


def draw_scores(report: Report, scores: Sequence[Json]) -> Figure:
    """Scores by the number of columns, beside those of a second sample of the same people."""
    sizes = [line["size"] for line in scores]
    traces: list[Trace] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": sizes,
            "y": [line[field] for line in scores],
            "line": {"color": colour, "width": 2, "dash": dash},
            "marker": {"symbol": symbol, "size": 8},
            "hovertemplate": "%{x} columns: %{y:.0f}<extra>" + name + "</extra>",
        }
        for name, field, colour, dash, symbol in (
            ("synthetic", "score", style.SYNTHETIC, "solid", "circle"),
            (
                "a second sample of the same people",
                "by_chance",
                style.REAL,
                "4px,2px",
                "diamond-open",
            ),
        )
    ]
    layout = {
        "xaxis": {
            "title": {"text": "columns of a table"},
            "showgrid": False,
            "zeroline": False,
            "dtick": 1,
        },
        "yaxis": {
            "title": {"text": "k-marginal score"},
            "range": [0, 1030],
            "gridcolor": style.QUIET,
            "zeroline": False,
            "automargin": True,
        },
    }
    ends = "; ".join(
        f"{line['size']} columns {line['score']:.0f}, by chance {line['by_chance']:.0f}"
        for line in scores
    )
    return frame(
        report, traces, layout, words=f"k-marginal scores by number of columns: {ends}."
    )


def _group_card(report: Report, groups: Sequence[Json], *, key: str, judged: int) -> Card:
    rows = [
        (
            _words(group),
            f"{group['score']:.0f}",
            f"{group['by_chance']:.0f}",
            grouped(group["records"]["real"]),
            grouped(group["records"]["synthetic"]),
            group["worst_column"],
        )
        for group in groups
    ]
    head = ("Group", "Score", "By chance", "Real records", "Synthetic records", "Worst column")
    reading = report["reading"][key.replace("-", "_")]
    table = make_table(reading["title"], head, rows, words=True)
    first = groups[0]
    words = (
        f"Lowest of {judged} groups beyond chance: {_words(first)}, "
        f"{first['score']:.0f} of 1000 (about {first['by_chance']:.0f} by chance alone), most in "
        f"{first['worst_column']}."
    )
    figure = draw_groups(report, groups[:MAX_DRAWN])
    return make_card(report, key, reading, table, words, figure=figure)


def _parts(group: Json) -> list[tuple[str, str]]:
    """The columns of a group, each with the value that its records share."""
    if "columns" in group:
        return list(zip(group["columns"], group["labels"], strict=True))
    return [(group["column"], group["label"])]


def _words(group: Json) -> str:
    return " and ".join(f"{column} is {label}" for column, label in _parts(group))


def draw_groups(report: Report, groups: Sequence[Json]) -> Figure:
    """A bar for each group, with a mark where a second sample of the same people would be; the worst one on
    top."""
    labels = [
        "<br>".join(
            style.escape(style.shorten(f"{column}: {label}")) for column, label in _parts(group)
        )
        for group in groups
    ]
    lines = max(len(_parts(group)) for group in groups)
    places = list(range(len(groups)))
    traces: list[Trace] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": "synthetic",
            "y": places,
            "x": [group["score"] for group in groups],
            "marker": {"color": style.SYNTHETIC},
            "customdata": labels,
            "hovertemplate": "%{customdata}: %{x:.0f}<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "name": "a second sample of the same people",
            "y": places,
            "x": [group["by_chance"] for group in groups],
            "marker": {
                "symbol": "line-ns-open",
                "size": 14,
                "color": style.REAL,
                "line": {"width": 2},
            },
            "customdata": labels,
            "hovertemplate": "%{customdata}, by chance: %{x:.0f}<extra></extra>",
        },
    ]
    layout = {
        "xaxis": {
            "title": {"text": "k-marginal score"},
            "range": [0, 1000],
            "gridcolor": style.QUIET,
            "zeroline": False,
        },
        "yaxis": {
            "tickvals": places,
            "ticktext": labels,
            "autorange": "reversed",
            "ticklabelstandoff": 6,
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        },
        "height": 160 + (10 + 14 * lines) * len(groups),
    }
    words = "Groups with the lowest k-marginal scores: " + "; ".join(
        f"{_words(group)}, {group['score']:.0f}" for group in groups[:3]
    )
    return frame(report, traces, layout, words=f"{words}.")


FIGURE = KMarginals()
