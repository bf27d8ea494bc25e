"""How far means within groups are off in a comparison with the real table, and in which groups: a part of a
report that is not private."""

from __future__ import annotations

from dataclasses import dataclass

from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.wording import Json

SMALL = 0.1
"""A group with at most this part of the real records is small."""


@dataclass(frozen=True, kw_only=True)
class WorstMeans:
    """The pair of columns whose mean of one within a group of the other is farthest off. off: of the real
    mean, a share; None where that is near zero or the group is missing. is_small: whether all groups that are
    clearly off are small."""

    of: str
    by: str
    off: float | None
    is_small: bool


def worst_means(report: Report) -> WorstMeans | None:
    """None where no mean within groups is clearly off."""
    entry = report.get("conditional_means")
    if not entry or entry["level"] not in ("clear", "large"):
        return None
    first = entry["worst"][0]
    records = max(report["rows"]["real"], 1)
    alike = [
        group
        for group in entry["worst"]
        if (group["of"], group["by"]) == (first["of"], first["by"]) and _is_off(group)
    ]
    return WorstMeans(
        of=first["of"],
        by=first["by"],
        off=_part(first),
        is_small=all(group["records"]["real"] <= SMALL * records for group in alike or [first]),
    )


def _is_off(group: Json) -> bool:
    """Whether a mean is off by more than chance explains, in the order in which a report lists the worst."""
    if group["difference"] is None:
        return True
    return bool(abs(group["difference"]) - group["by_chance"] > 0.05 * group["spread"])


def _part(group: Json) -> float | None:
    if group["difference"] is None or abs(group["real"]) < 0.01 * group["spread"]:
        return None
    return float(abs(group["difference"] / group["real"]))
