"""A report laid out for reading: cards of figures with their verdicts and tables, worst first.

Plain values without markup but the small pictures; the web's page and the offline file both show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

from synth_engine.evaluation import heatmaps, style, summaries, value_cards
from synth_engine.evaluation.cards import MARKS, Card, CardTable, make_table
from synth_engine.evaluation.figure import ComparisonFigure, FigureSection, Tile
from synth_engine.evaluation.figures import FIGURES
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.thousands import grouped
from synth_engine.evaluation.thumbnails import thumbnail
from synth_engine.evaluation.tiles import tiles
from synth_engine.evaluation.wording import Json, Level

SUMMARISED = {"columns": ("tvd1",), "dependence": ("mi_err",), "groups": ("tvd2", "tvd3")}
"""Which parts of the summary are about which section."""


@dataclass(frozen=True)
class Thumb:
    """A small histogram of the strip, and the card that it opens. `picture` is SVG, with every text in it
    escaped."""

    target: str
    name: str
    distance: str
    mark: str
    verdict: str
    picture: str


@dataclass(frozen=True)
class PageSection:
    """A section with its cards and a sentence below its title, which may be empty. level: of the worst of its
    verdicts, empty without any."""

    section: FigureSection
    cards: list[Card]
    verdict: str
    level: Level | Literal[""] = ""

    @property
    def mark(self) -> str:
        """The sign of its level."""
        return MARKS.get(self.level, "")

    @property
    def links(self) -> list[tuple[str, str]]:
        """Anchor and label of its entries in the list of sections; no link leads to a card that is not
        there."""
        anchors = {self.section.key, *(card.key for card in self.cards)}
        return [link for link in self.section.links if link[0] in anchors]


@dataclass(frozen=True)
class Comparison:
    """Everything there is to show. `red` holds the words of the red bar and is empty for a private report.
    `overall`: the worst of the tiles, with the name of its section."""

    red: str
    notice: str
    rows_real: int
    rows_synthetic: int
    overall: Tile
    tiles: list[Tile]
    strip: list[Thumb]
    sections: list[PageSection]
    rows: Json | None
    left_out: CardTable | None
    reading: Json = field(repr=False)

    def cards(self, key: str) -> list[Card]:
        """The cards of one section; none of a section that the report does not fill."""
        return [
            card for part in self.sections if part.section.key == key for card in part.cards
        ]

    @property
    def histograms(self) -> list[Card]:
        """The cards of single columns, in the order of the strip."""
        return self.cards("columns")

    @property
    def further(self) -> list[PageSection]:
        """The sections after that of single columns."""
        return [part for part in self.sections if part.section.key != "columns"]


def lay_out(report: Report) -> Comparison:
    """The cards of a report."""
    overall = report["summary"]["overall"]
    return Comparison(
        red="" if report["private"] else style.RED_WORDS,
        notice=report["notice"],
        rows_real=report["rows"]["real"],
        rows_synthetic=report["rows"]["synthetic"],
        overall=Tile.of(overall["worst"], "", overall["verdict"]),
        tiles=tiles(report),
        strip=_strip(report),
        sections=list(_sections(report)),
        rows=report["side_by_side"],
        left_out=_left_out(report["left_out"]),
        reading=report["reading"],
    )


def _sections(report: Report) -> Iterator[PageSection]:
    # `sorted` is stable and `groupby` joins neighbours only: figures of a section stay in their
    # own order.
    ordered = sorted(FIGURES, key=lambda figure: figure.section.position)
    for section, figures in groupby(ordered, key=lambda figure: figure.section):
        filled = [(figure, cards) for figure in figures if (cards := figure.cards(report))]
        if filled:
            yield PageSection(
                section=section,
                cards=[card for _, cards in filled for card in cards],
                verdict=" ".join(
                    filter(None, (figure.verdict(report) for figure, _ in filled))
                ),
                level=_level(report, section, [figure for figure, _ in filled]),
            )


def _level(
    report: Report, section: FigureSection, figures: Sequence[ComparisonFigure]
) -> Level | Literal[""]:
    """The worst of the tiles of a section, those of the summary included."""
    levels = [tile.level for figure in figures for tile in figure.tiles(report)]
    of_summary = (report["summary"].get(name) for name in SUMMARISED.get(section.key, ()))
    levels += [entry["verdict"]["level"] for entry in of_summary if entry]
    return summaries.worst(levels) if levels else ""


def _strip(report: Report) -> list[Thumb]:
    """The small histograms, of values as they are written where these were compared."""
    values = value_cards.by_column(report)
    return [
        _thumb(entry, index, values.get(entry["name"]))
        for index, entry in enumerate(report["attributes"])
    ]


def _thumb(entry: Json, index: int, values: Json | None) -> Thumb:
    shown = entry if values is None else {**entry, "ordered": True, **values["histogram"]}
    distance = entry["tvd"] if values is None else values["ks"]
    return Thumb(
        target=f"column-{index}",
        name=entry["name"],
        distance=f"{distance:.3f}",
        mark=MARKS[entry["verdict"]["level"]],
        verdict=entry["verdict"]["words"],
        picture=thumbnail(shown),
    )


def _left_out(entries: list[Json]) -> CardTable | None:
    if not entries:
        return None
    rows = [
        (heatmaps.names(entry), grouped(entry["cells"]), entry["reason"]) for entry in entries
    ]
    return make_table(
        "Left out of the comparison", ("Columns", "Cells", "Why"), rows, words=True
    )
