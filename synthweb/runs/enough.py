"""What the new-release page says about the number of records: whether they are enough, and what to do if not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from synth_engine.domain import Domain
from synth_engine.mechanisms.growing.mixed import placed
from synth_engine.mechanisms.planning import enough
from synthweb.lib.letters import grouped

NAMED = 5
TREES = ("adaptive", "adaptive-improved", "adaptive-basic", "privtree", "direct-synthesis")
OPEN = " What is still to be learned is not in that: values that are not found become “(other)”."
TITLES: dict[enough.Level, str] = {
    "enough": "Enough records",
    "thin": "Few records for what is described",
    "too-little": "Do not release this",
}


@dataclass(frozen=True, kw_only=True)
class Enough:
    """A verdict in words. `assumed`: the number of records is nobody's statement."""

    level: enough.Level
    title: str
    reason: str
    advice: tuple[str, ...]
    assumed: bool


def told(domain: Domain, *, rows: int, epsilon: Fraction, assumed: bool, mechanism: str = "") -> Enough:
    """The engine's verdict as sentences. `mechanism`: the method chosen; trees open where there are records enough, and count
    no code of a place by itself."""
    verdict = enough.verdict(domain, rows=rows, epsilon=epsilon)
    if mechanism in TREES and verdict.level == "too-little" and set(verdict.lost) <= set(placed(domain)):
        verdict = replace(verdict, level="thin")
    certain = verdict.level == "enough"
    return Enough(
        level=verdict.level,
        title=f"Enough, if there are {grouped(rows)} records" if certain and assumed else TITLES[verdict.level],
        reason=_reason(domain, verdict),
        advice=tuple(_advice(domain, verdict)),
        assumed=assumed,
    )


def _reason(domain: Domain, verdict: enough.Verdict) -> str:
    lost, count = len(verdict.lost), len(domain.modelled)
    if verdict.level == "enough":
        weakest, strength = verdict.strengths[0]
        return f"Even in “{weakest}”, the weakest column, a code holds {_times(strength)} times its noise on average.{OPEN if domain.open else ''}"
    if not lost:
        return (
            "Single columns hold more than their noise. Tables of two columns do not: expect most dependence "
            "between columns to be lost."
        )
    are = "is one column" if lost == 1 else f"are {lost} columns"
    whole = "; what such a release shows is mostly noise, and the budget would be spent for nothing"
    return (
        f"There {are} of {count} in which noise outweighs what a code holds on average"
        f"{whole if verdict.level == 'too-little' else ''}."
    )


def _times(value: float) -> str:
    return grouped(round(value)) if value >= 100 else f"{value:.3g}"


def _advice(domain: Domain, verdict: enough.Verdict) -> list[str]:
    if verdict.level == "enough":
        return []
    found = []
    if {*verdict.lost} & {*placed(domain)}:
        found.append(
            "Of columns that say where a record lies, methods for places, such as “adaptive”, count no code by itself: they "
            "need fewer records, and keep places as finely as there are records."
        )
    if verdict.lost:
        listed = ", ".join(f"“{name}”" for name in verdict.lost[:NAMED])
        more = f" and {len(verdict.lost) - NAMED} more" if len(verdict.lost) > NAMED else ""
        found.append(f"Describe {listed}{more} with fewer values or wider bins, or leave them out.")
    if len(domain.modelled) > NAMED:
        found.append("Leave out every column that nobody will use: each takes a share of ε.")
    if verdict.level == "too-little":
        found.append(
            f"With this description and ε, about {grouped(verdict.least_rows)} records are the least; with these "
            f"records, an ε of {verdict.least_epsilon:.3g}. A custodian decides whether that is acceptable."
        )
        found.append("If none of this will do, publish a few totals instead of a table.")
    return found
