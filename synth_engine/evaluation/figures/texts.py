"""Texts of the real records that the synthetic table has again: by frequency from both ends, by length, and
how the real ones were read.

A text is found as often as the smaller of its two counts says; a synthetic table of another size is counted
as if it had as many texts as the real one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.evaluation import strings, style, wording
from synth_engine.evaluation.cards import MARKS, Card, CardTable, make_card, make_table
from synth_engine.evaluation.figure import ComparisonFigure, FigureSection, Sides, Tile
from synth_engine.evaluation.plots import Report, frame
from synth_engine.evaluation.tallies import TallySource
from synth_engine.evaluation.thousands import grouped
from synth_engine.evaluation.trees import OccupiedCells, aggregate
from synth_engine.evaluation.wording import Explanation, Json
from synth_engine.hierarchy import StringHierarchy

DIGITS = 9
_LINES = {
    "records": {"color": style.REAL, "width": 2},
    "found": {"color": style.SYNTHETIC, "width": 2, "dash": "6px,3px"},
}


class Texts(ComparisonFigure):
    """Four cards for each column of texts."""

    field = "texts"
    is_purpose = True
    position = 80
    section = FigureSection("texts", "Texts found again", 30, (("texts", "Texts"),))
    explanations = {
        "texts_common": Explanation(
            title="Texts found again, the most frequent first",
            what="The share of the real records whose text is in so many records or more, and of those "
            "that the synthetic table has again: each text as often as the smaller of its two counts.",
            how="Solid blue is real, dashed orange is found again. From left to right rarer texts come in; "
            "where the curves part, texts are too rare for noise to let them through. At the right end the "
            "orange curve is the share of all real texts that are found. Texts that were made up, or of "
            "which the beginning alone was found, do not count.",
        ),
        "texts_rare": Explanation(
            title="Texts found again, the rarest first",
            what="The share of the real records whose text is in at most so many records, and of those "
            "that the synthetic table has again: each text as often as the smaller of its two counts.",
            how="Solid blue is real, dashed orange is found again. From left to right more frequent texts "
            "come in. Texts of few records are lost: that is what protects who has them, so the orange "
            "curve starts flat, and rises as steeply as the blue one where texts are frequent enough. At "
            "the right end it is the share of all real texts that are found.",
        ),
        "texts_lengths": Explanation(
            title="Texts found again, by length",
            what="Of the real texts of each length, the share that the synthetic table has again, each as "
            "often as the smaller of its two counts.",
            how="Long texts are found sign by sign: each sign more divides the records once more, so their "
            "share falls. The table says how many real records each length has; a bar of few records means "
            "little.",
        ),
        "texts_read": Explanation(
            title="How the real texts were read",
            what="How many real records have a text over the declared alphabet as it is written, how many "
            "only after the declared change of case or characters, and how many have another text or none.",
            how="A text outside the alphabet or its lengths is “other” and is never released as it is. If "
            "there are many, widen the alphabet or the lengths, or declare what characters are replaced "
            "by. These are counts of real records: do not publish them.",
        ),
    }

    def tally(self, source: TallySource) -> list[OccupiedCells]:
        return list(source.texts())

    def entry(self, sides: Sides) -> list[Json]:
        counted = sides.counted(self.field)
        return [] if counted is None else entries(counted["real"], counted["synthetic"])

    def tiles(self, report: Report) -> list[Tile]:
        return [
            Tile.of(
                f"Texts of {entry['column']}", f"{1 - entry['found']:.3f}", entry["verdict"]
            )
            for entry in report.get(self.field, ())
        ]

    def cards(self, report: Report) -> list[Card]:
        cards: list[Card] = []
        for index, entry in enumerate(report.get(self.field, ())):
            cards.append(_frequency_card(report, entry, index, _COMMON))
            cards.append(_frequency_card(report, entry, index, _RARE))
            cards.append(_length_card(report, entry, index))
            if "read" in entry:
                cards.append(_reading_card(report, entry, index))
        return cards


def count_texts(
    words: StringHierarchy, texts: NDArray[Any], places: NDArray[np.int64]
) -> OccupiedCells:
    """Counts the texts of a synthetic column.

    `texts`: different ones; `places`: for each record the index of its text. What is no text over the
    alphabet, such as one with a mark behind it, counts nowhere.
    """
    counts = np.bincount(places, minlength=len(texts)).astype(np.int64)
    # A marked prefix is not a text that anybody has; without its mark it would count as found.
    known = np.array([words.member(str(text)) for text in texts], dtype=np.bool_)
    return aggregate(words, words.encode([str(text) for text in texts[known]]), counts[known])


def entries(real: Iterable[OccupiedCells], synthetic: Iterable[OccupiedCells]) -> list[Json]:
    """One entry for each column of texts that both sides have counted."""
    by_column = {cells.hierarchy.columns: cells for cells in synthetic}
    return [
        _entry(cells.hierarchy, cells, by_column[cells.hierarchy.columns])
        for cells in real
        if isinstance(cells.hierarchy, StringHierarchy)
        and cells.records
        and cells.hierarchy.columns in by_column
    ]


def _entry(words: StringHierarchy, real: OccupiedCells, synthetic: OccupiedCells) -> Json:
    # A text cannot be found more often than it is there, so a smaller synthetic table would
    # look worse for its size alone.
    scale = real.records / max(1, synthetic.records)
    first = strings.tally(real.codes, real.counts)
    second = strings.tally(synthetic.codes, np.rint(synthetic.counts * scale).astype(np.int64))
    common, rare = strings.from_the_common(first, second), strings.from_the_rare(first, second)
    # Symbol 0 is the end of a text: the symbols above it are its characters.
    lengths = (words.path(first.texts) > 0).sum(axis=1).astype(np.int64)
    share = strings.intersection(first, second)
    return {
        "column": words.columns[0],
        "records": {"real": real.records, "synthetic": synthetic.records},
        "found": share,
        "times": (2**common.logarithms).tolist(),
        "records_above": np.round(common.records, DIGITS).tolist(),
        "found_above": np.round(common.matched, DIGITS).tolist(),
        "at_most": (2 ** (rare.logarithms + 1) - 1).tolist(),
        "records_below": np.round(rare.records, DIGITS).tolist(),
        "found_below": np.round(rare.matched, DIGITS).tolist(),
        "lengths": [list(each) for each in strings.by_group(first, second, lengths)],
        # No chance level: what two samples would share depends on the unknown tail of rare
        # texts.
        "verdict": wording.distance_verdict(1.0 - share, chance=0.0),
        **({} if real.read is None else {"read": dict(real.read)}),
    }


@dataclass(frozen=True)
class _FrequencyAxis:
    """The end from which frequencies are cumulated: names in a report, and words. `backwards`:
    its axis runs from the right."""

    key: str
    reading: str
    times: str
    side: str
    caption: str
    first: str
    axis: str
    backwards: bool


_COMMON = _FrequencyAxis(
    "texts", "texts_common", "times", "above", "Texts by frequency", "In so many records or more",
    "texts in so many records or more", True,
)  # fmt: skip
_RARE = _FrequencyAxis(
    "rare-texts", "texts_rare", "at_most", "below", "Texts by frequency, the rarest first",
    "In at most so many records",
    "texts in at most so many records", False,
)  # fmt: skip


def _frequency_card(report: Report, entry: Json, index: int, end: _FrequencyAxis) -> Card:
    times, every, matched = (
        entry[end.times],
        entry[f"records_{end.side}"],
        entry[f"found_{end.side}"],
    )
    rows = [
        (grouped(at), f"{share:.2%}", f"{part:.2%}", f"{part / share:.1%}" if share else "–")
        for at, share, part in zip(times, every, matched, strict=True)
    ]
    head = (end.first, "Records", "Found again", "Of these")
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": times,
            "y": shares,
            "line": _LINES[key],
            "marker": {"size": 6},
            "hovertemplate": "%{y:.1%}",
        }
        for key, name, shares in (
            ("records", "real records", every),
            ("found", "found again", matched),
        )
    ]
    way = {"autorange": "reversed"} if end.backwards else {}
    x = {"type": "log", **way, "title": {"text": end.axis}, "dtick": 1}
    table = make_table(end.caption, head, rows[::-1] if end.backwards else rows)
    shown = _Shown(f"{end.key}-{index}", end.reading, table, traces, x)
    return _card(report, entry, shown)


_READ = {
    "as written": "as they are written",
    "changed": "after their case was changed, or characters were replaced or taken away",
    "outside": "outside: other characters, too long or too short",
    "missing": "missing",
}


def _reading_card(report: Report, entry: Json, index: int) -> Card:
    read = entry["read"]
    total = max(1, sum(read.values()))
    rows = [
        (words, grouped(read[key]), f"{read[key] / total:.2%}") for key, words in _READ.items()
    ]
    reading = report["reading"]["texts_read"]
    title = {**reading, "title": f"{reading['title']}: {entry['column']}"}
    verdict = (
        f"{grouped(read['outside'])} of {grouped(total)} real "
        "records have a text outside what is declared."
    )
    table = make_table(
        "Real records by how their text was read", ("Texts", "Real records", "Share"), rows
    )
    return make_card(report, f"texts-read-{index}", title, table, verdict, figure=None)


def _length_card(report: Report, entry: Json, index: int) -> Card:
    rows = [
        (str(length), grouped(records), f"{share:.1%}")
        for length, records, share in entry["lengths"]
    ]
    trace = {
        "type": "bar",
        "name": "found again",
        "x": [length for length, _, _ in entry["lengths"]],
        "y": [share for _, _, share in entry["lengths"]],
        "marker": {
            "color": style.SYNTHETIC,
            "pattern": {"shape": "/", "solidity": 0.4, "size": 6, "fillmode": "overlay"},
        },
        "hovertemplate": "%{y:.1%} of those of %{x} signs<extra></extra>",
    }
    table = make_table("Texts by length", ("Signs", "Real records", "Found again"), rows)
    x = {"title": {"text": "signs of a text"}, "showgrid": False}
    shown = _Shown(f"lengths-{index}", "texts_lengths", table, [trace], x)
    return _card(report, entry, shown)


@dataclass(frozen=True)
class _Shown:
    """Shares of records along an axis. reading: the key of its explanation; x: the layout of the axis."""

    key: str
    reading: str
    table: CardTable
    traces: list[Json]
    x: Json


def _card(report: Report, entry: Json, shown: _Shown) -> Card:
    reading = report["reading"][shown.reading]
    quiet = {"gridcolor": style.QUIET, "zeroline": False}
    y = {
        **quiet,
        "tickformat": ".0%",
        "range": [0, 1.02],
        "title": {"text": "share of records"},
        "automargin": True,
    }
    text = {**reading, "title": f"{reading['title']}: {entry['column']}"}
    verdict = f"{entry['found']:.1%} of the texts are found again. {entry['verdict']['words']}"
    words = f"{text['title']}. {verdict}"
    figure = frame(
        report,
        shown.traces,
        {"xaxis": {**quiet, **shown.x}, "yaxis": y, "hovermode": "x unified"},
        words=words,
    )
    price = "" if report["private"] else wording.PRICE_OF_COMPARISON
    mark = MARKS[entry["verdict"]["level"]]
    made = make_card(report, shown.key, text, shown.table, verdict, figure=figure)
    return replace(made, mark=mark, price=price)


FIGURE = Texts()
