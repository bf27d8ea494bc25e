"""Cards: a figure of a comparison with its title, what it shows, how to read it, its verdict and its table;
plain values without markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from synth_engine.evaluation import style
from synth_engine.evaluation.plots import Figure, Report

MAX_TABLE_ROWS = 300  # no more of one table is laid out; the report has them all
MARKS = {"same": "✓", "small": "≈", "clear": "△", "large": "▲", "unseen": "?", "damaged": "✖"}

_ALARMS: dict[str, Literal["caution", "damaged"]] = {
    MARKS["damaged"]: "damaged",
    MARKS["clear"]: "caution",
    MARKS["large"]: "caution",
}


@dataclass(frozen=True)
class CardTable:
    """`numeric` says, column by column, which are aligned as numbers; `more` how many rows were left to the
    export; `labels` whether the first column has names of measures, not names and values of the table that is
    compared."""

    caption: str
    head: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: list[tuple[str, ...]]
    more: int = 0
    labels: bool = False

    @property
    def columns(self) -> list[tuple[str, bool]]:
        """Returns the head of each column, and whether it is aligned as a number."""
        return list(zip(self.head, self.numeric, strict=True))

    @property
    def cells(self) -> list[list[tuple[str, bool]]]:
        """Returns the cells row by row, each with whether it is aligned as a number."""
        return [list(zip(row, self.numeric, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Card:
    """One figure and what belongs to it; without a `figure`, its table stands in its place. `price`: what it
    costs to look. `measures`: a short table below the figure; `note`: a sentence below it."""

    key: str
    title: str
    what: str
    how: str
    table: CardTable
    figure: Figure | None = None
    mark: str = ""
    verdict: str = ""
    red: str = ""
    price: str = ""
    measures: CardTable | None = None
    note: str = ""

    @property
    def alarm(self) -> Literal["", "caution", "damaged"]:
        """How loud the verdict is: in red where something is damaged, in amber where a difference is
        clear."""
        return _ALARMS.get(self.mark, "")

    @property
    def figure_id(self) -> str:
        return f"{self.key}-data"


def make_card(
    report: Report,
    key: str,
    reading: Mapping[str, Any],
    table: CardTable,
    verdict: str,
    *,
    figure: Figure | None,
) -> Card:
    """The card of a figure, in the words of `reading` ("title", "what", "how"); red where the report is not
    private. What else a card may have is put in with `dataclasses.replace`."""
    # Every card has red words of its own, because it may be printed or copied alone.
    red = "" if report["private"] else style.RED_WORDS
    return Card(
        key=key,
        title=reading["title"],
        what=reading["what"],
        how=reading["how"],
        table=table,
        figure=figure,
        verdict=verdict,
        red=red,
    )


def make_notes_card(
    report: Report, key: str, reading: Mapping[str, Any], notes: Sequence[str]
) -> Card:
    """The card in the place of figures that could not be computed, with the reasons in words."""
    table = make_table("Why there are no figures", ("Reason",), [(note,) for note in notes])
    return make_card(report, key, reading, table, "Not computed.", figure=None)


def make_table(
    caption: str,
    head: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    *,
    words: bool = False,
    names: int = 1,
    of: int | None = None,
) -> CardTable:
    """Makes a table with `names` columns of text, then columns of numbers and, with `words`, a
    text in the last column. of: how many rows there are, where `rows` are the first ones alone."""
    last = len(head) - words
    numeric = tuple(names <= index < last for index in range(len(head)))
    more = max(0, (len(rows) if of is None else of) - MAX_TABLE_ROWS)
    return CardTable(caption, head, numeric, list(rows[:MAX_TABLE_ROWS]), more)
