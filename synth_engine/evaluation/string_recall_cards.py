"""The cards of texts that are found again: from the most frequent on, from the rarest on, and by length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth_engine.evaluation import figures, style, wording
from synth_engine.evaluation.cards import MARKS, Card, count, make_card, make_table

Entry = dict[str, Any]
_LINES = {
    "records": {"color": style.REAL, "width": 2},
    "found": {"color": style.SYNTHETIC, "width": 2, "dash": "6px,3px"},
}


def cards(report: Mapping[str, Any]) -> list[Card]:
    """For each column: from the most frequent texts on, from the rarest on, by length, and how the real ones were read. Reports
    that were made before one of them had a name lack it."""
    found: list[Card] = []
    for place, entry in enumerate(report.get("texts", ())):
        found.append(_from_an_end(report, entry, place, _COMMON))
        found += [_from_an_end(report, entry, place, _RARE)] if "at_most" in entry else []
        found.append(_lengths(report, entry, place))
        found += [_read(report, entry, place)] if "read" in entry else []
    return found


@dataclass(frozen=True)
class _End:
    """From which end frequencies are cumulated: names in a report, and words. `backwards`: its axis from the right."""

    key: str
    reading: str
    times: str
    side: str
    caption: str
    first: str
    axis: str
    backwards: bool


_COMMON = _End(
    "texts", "texts_common", "times", "above", "Texts by frequency", "In so many records or more",
    "texts in so many records or more", True,
)  # fmt: skip
_RARE = _End(
    "rare-texts", "texts_rare", "at_most", "below", "Texts by frequency, the rarest first", "In at most so many records",
    "texts in at most so many records", False,
)  # fmt: skip


def _from_an_end(report: Any, entry: Entry, place: int, end: _End) -> Card:
    times, every, found = (
        entry[end.times],
        entry[f"records_{end.side}"],
        entry[f"found_{end.side}"],
    )
    rows = [
        (count(at), f"{share:.2%}", f"{again:.2%}", f"{again / share:.1%}" if share else "–")
        for at, share, again in zip(times, every, found, strict=True)
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
            ("found", "found again", found),
        )
    ]
    way = {"autorange": "reversed"} if end.backwards else {}
    x = {"type": "log", **way, "title": {"text": end.axis}, "dtick": 1}
    table = make_table(end.caption, head, rows[::-1] if end.backwards else rows)
    return _card(report, entry, f"{end.key}-{place}", end.reading, table, traces, x)


_READ = {
    "as written": "as they are written",
    "changed": "after their case was changed, or characters were replaced or taken away",
    "outside": "outside: other characters, too long or too short",
    "missing": "missing",
}


def _read(report: Any, entry: Entry, place: int) -> Card:
    read = entry["read"]
    total = max(1, sum(read.values()))
    rows = [
        (words, count(read[key]), f"{read[key] / total:.2%}") for key, words in _READ.items()
    ]
    reading = report["reading"]["texts_read"]
    title = {**reading, "title": f"{reading['title']}: {entry['column']}"}
    verdict = f"{count(read['outside'])} of {count(total)} real records have a text outside what is declared."
    table = make_table(
        "Real records by how their text was read", ("Texts", "Real records", "Share"), rows
    )
    return make_card(report, f"texts-read-{place}", title, table, verdict, figure=None)


def _lengths(report: Any, entry: Entry, place: int) -> Card:
    rows = [
        (str(length), count(records), f"{share:.1%}")
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
    return _card(report, entry, f"lengths-{place}", "texts_lengths", table, [trace], x)


def _card(
    report: Any,
    entry: Entry,
    key: str,
    reading: str,
    table: Any,
    traces: list[Any],
    x: dict[str, Any],
) -> Card:
    quiet = {"gridcolor": style.QUIET, "zeroline": False}
    y = {
        **quiet,
        "tickformat": ".0%",
        "range": [0, 1.02],
        "title": {"text": "share of records"},
        "automargin": True,
    }
    text = {
        **report["reading"][reading],
        "title": f"{report['reading'][reading]['title']}: {entry['column']}",
    }
    verdict = f"{entry['found']:.1%} of the texts are found again. {entry['verdict']['words']}"
    words = f"{text['title']}. {verdict}"
    figure = figures.frame(
        report,
        traces,
        {"xaxis": {**quiet, **x}, "yaxis": y, "hovermode": "x unified"},
        words=words,
    )
    price = "" if report["private"] else wording.PRICE_OF_COMPARISON
    mark = MARKS[entry["verdict"]["level"]]
    return make_card(report, key, text, table, verdict, mark=mark, figure=figure, price=price)
