"""Summaries of many judged parts: columns, pairs, groups of columns, sections. None is better than its worst
part.

A mean over everything cannot see one ruined column of a hundred, nor lost relations among thousands of pairs
of which most have none. A summary therefore has the level of the worst part, how many parts are kept, and
which one is the worst. Of many parts some are far off by chance alone, so a distance counts by what it has
beyond the largest that so many would have by chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from synth_engine.evaluation import wording
from synth_engine.evaluation.dependences import LostDependence
from synth_engine.evaluation.wording import FigureVerdict, Json, Level

KEPT_LEVELS = ("same", "small")
SEVERITY: tuple[Level, ...] = ("same", "small", "unseen", "clear", "large", "damaged")
"""From good to bad. What cannot be judged is no better than a small difference, and hides no clear one."""
_DEVIATION = 0.5 * math.sqrt(1 - 2 / math.pi)
"""Of a total variation distance by chance, in units of √(1/n + 1/m): cells are independent normal, and their
shares add up to 1."""
LOST_STEPS: tuple[tuple[float, Level], ...] = ((0.1, "same"), (0.25, "small"), (0.5, "clear"))
"""Steps of the share of real dependence that is lost."""
Entry = Mapping[str, Any]


def worst(levels: Sequence[Level]) -> Level:
    """The worst of some levels; "same" of none."""
    return max(levels, key=SEVERITY.index, default="same")


def luck(parts: int, records: tuple[int, int]) -> float:
    """By how much the largest of so many total variation distances exceeds their means by chance, about: √(2
    ln k) standard deviations. records: of both tables."""
    if parts < 2 or not all(records):
        return 0.0
    return _DEVIATION * math.sqrt(sum(1 / n for n in records)) * math.sqrt(2 * math.log(parts))


def of_distances(
    entries: Sequence[Entry],
    *,
    things: str,
    records: tuple[int, int],
    name: Callable[[Entry], str],
) -> Json:
    """The summary of distances of groups of columns. entries: with `tvd`, `tvd_by_chance` and `verdict`;
    things: what they are called, in the plural; name: of one of them."""
    margin = luck(len(entries), records)
    levels = [_level_beyond(entry, margin) for entry in entries]
    places = sorted(
        range(len(entries)),
        key=lambda place: (
            -SEVERITY.index(levels[place]),
            entries[place]["tvd_by_chance"] - entries[place]["tvd"],
        ),
    )
    first = entries[places[0]]
    return {
        "value": _mean(entries, "tvd"),
        "by_chance": _mean(entries, "tvd_by_chance"),
        **of_levels(levels, things=things, first=name(first)),
    }


def of_columns(entries: Sequence[Entry]) -> Json:
    """The summary of single columns, from the verdict of each. entries: worst first, with `name`, `tvd` and
    `verdict`."""
    levels = [entry["verdict"]["level"] for entry in entries]
    first = entries[levels.index(worst(levels))]["name"]
    return {
        "value": _mean(entries, "tvd"),
        "by_chance": _mean(entries, "tvd_by_chance"),
        **of_levels(levels, things="columns", first=first),
    }


def of_levels(levels: Sequence[Level], *, things: str, first: str) -> Json:
    """How many parts are kept, and the verdict on all of them. first: the name of the worst."""
    level = worst(levels)
    preserved = sum(each in KEPT_LEVELS for each in levels)
    words = f"{wording.LEVEL_WORDS[level]}: {preserved} of {len(levels)} {things} are kept"
    if damaged := levels.count("damaged"):
        words += f", {damaged} damaged"
    if unseen := levels.count("unseen"):
        words += f", {unseen} cannot be judged"
    if level != "same":
        words += f"; worst: {first}"
    verdict: FigureVerdict = {"level": level, "words": f"{words}."}
    return {"of": len(levels), "kept": preserved, "worst": first, "verdict": verdict}


Relation = Literal["dependence", "correlation"]
_VERBS: Mapping[Relation, tuple[str, str]] = {
    "dependence": ("1 pair of columns goes together", "{} pairs of columns go together"),
    "correlation": ("1 pair of columns is correlated", "{} pairs of columns are correlated"),
}
"""What related columns do, of one pair and of several."""


def of_relations(
    lost: LostDependence,
    parts: Sequence[tuple[str, Level, float]],
    *,
    kind: Relation,
) -> Json:
    """The summary of how columns go together. parts: name, level and change of each pair."""
    levels = [level for _, level, _ in parts]
    share = wording.level_of(lost.lost, LOST_STEPS) if lost.lost is not None else "same"
    level = worst([share, *levels])
    first = max(parts, key=lambda part: (SEVERITY.index(part[1]), abs(part[2])))[0]
    words = f"{wording.LEVEL_WORDS[level]}: {_relations(lost, *_VERBS[kind])}"
    if level != "same":
        words += f"; worst: {first}"
    verdict: FigureVerdict = {"level": level, "words": f"{words}."}
    return {
        "of": len(parts),
        "related": lost.real,
        "kept": lost.preserved,
        "invented": lost.invented,
        "lost": lost.lost,
        "worst": first,
        "verdict": verdict,
    }


def _relations(lost: LostDependence, one: str, several: str) -> str:
    related = one if lost.real == 1 else several.format(lost.real)
    words = f"{related} in the real table, {lost.preserved} of them in the synthetic one"
    if lost.invented:
        words += f"; in the synthetic one alone: {lost.invented}"
    return words


def of_sections(parts: Sequence[tuple[str, FigureVerdict, float]]) -> Json:
    """The summary of a whole report: the level and the words of its worst part; of several with this level
    the one of which least is kept. parts: title, verdict and share that is kept of each."""
    levels = [verdict["level"] for _, verdict, _ in parts]
    level = worst(levels)
    title, verdict, _ = min(
        (part for part in parts if part[1]["level"] == level), key=lambda part: part[2]
    )
    preserved = sum(each in KEPT_LEVELS for each in levels)
    return {
        "of": len(parts),
        "kept": preserved,
        "worst": title,
        "verdict": {"level": level, "words": verdict["words"]},
    }


def _level_beyond(entry: Entry, margin: float) -> Level:
    level: Level = entry["verdict"]["level"]
    if level in ("unseen", "damaged"):
        return level
    excess = max(0.0, entry["tvd"] - entry["tvd_by_chance"] - margin)
    return wording.level_of(excess, wording.DISTANCE_STEPS)


def _mean(entries: Sequence[Entry], name: str) -> float:
    return math.fsum(float(entry[name]) for entry in entries) / len(entries)
