"""What the new-release page says about the number of records: whether they are enough, and what to do if not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Domain
from synth_engine.mechanisms.trees import columns
from synth_engine.mechanisms.trees.columns import placed
from synth_engine.plans import sample_size
from synthweb.lib.number_format import grouped

NAMED = 5
OPEN = (
    " What is still to be learned is not in that: values that are not found become “(other)”."
)
TITLES: dict[sample_size.Level, str | Promise] = {
    "enough": _("Enough records"),
    "thin": _("Few records for what is described"),
    "too-little": _("Do not release this"),
}


@dataclass(frozen=True, kw_only=True)
class Enough:
    """A verdict in words. `assumed`: the number of records is nobody's statement."""

    level: sample_size.Level
    title: str
    reason: str
    advice: tuple[str, ...]
    assumed: bool


def verdict(
    domain: Domain,
    *,
    rows: int,
    epsilon: Fraction,
    assumed: bool,
    min_records_to_split: int | None = None,
) -> Enough:
    """The engine's verdict as sentences. `min_records_to_split`: of a plan that grows a tree, about how many records it takes for a node to
    be divided; it counts no code of a place by itself."""
    if min_records_to_split is not None and rows < min_records_to_split:
        return _nothing_opens(
            domain,
            rows=rows,
            epsilon=epsilon,
            min_records_to_split=min_records_to_split,
            assumed=assumed,
        )
    verdict = sample_size.verdict(domain, rows=rows, epsilon=epsilon)
    reason, advice = _reason(domain, verdict), tuple(_advice(domain, verdict))
    if min_records_to_split is not None:
        reason = f"{reason} {_divided(domain, min_records_to_split)}."
        # Where no column is lost, pairs of any may be.
        weak = verdict.lost or tuple(domain.sizes)
        # The verdict weighs each code against noise of its own. A tree of
        # places adds noise to cells, which it divides only as far as records
        # allow, so “too little” does not hold here.
        if verdict.level != "enough" and set(weak) <= set(placed(domain)):
            verdict, reason, advice = (
                replace(verdict, level="thin"),
                _of_cells(domain, rows, min_records_to_split),
                (),
            )
    certain = verdict.level == "enough"
    return Enough(
        level=verdict.level,
        title=f"Enough, if there are {grouped(rows)} records"
        if certain and assumed
        else str(TITLES[verdict.level]),
        reason=reason,
        advice=advice,
        assumed=assumed,
    )


def _of_cells(domain: Domain, rows: int, min_records_to_split: int) -> str:
    """Of a tree of places that have more codes than noise bears."""
    most = rows // min_records_to_split
    cells = "one cell is" if most == 1 else f"{grouped(most)} cells are"
    return (
        f"{_divided(domain, min_records_to_split)}, so that about {cells} divided at a depth, at most: places are kept as finely as "
        "there are records, and no single code of them has to hold more than its noise."
    )


def _nothing_opens(
    domain: Domain, *, rows: int, epsilon: Fraction, min_records_to_split: int, assumed: bool
) -> Enough:
    """Of a tree that most likely ends where it begins."""
    what = "which texts there are" if columns.texts_of(domain) else "where records lie"
    return Enough(
        level="too-little",
        title=str(TITLES["too-little"]),
        reason=f"{_divided(domain, min_records_to_split)}, and there are {grouped(rows)} in all. Most likely nothing is divided below the "
        f"first depth; what such a release says of {what} is mostly noise, and the budget would be spent for nothing.",
        advice=(
            f"About {grouped(min_records_to_split)} records are the least, if all lie together; with these records, an ε of about "
            f"{float(epsilon) * min_records_to_split / rows:.2g}. A custodian decides whether that is acceptable.",
            "Choose a method that asks less of the table: the forecast below ε says what each gives.",
            "If none of this will do, publish a few totals instead of a table.",
        ),
        assumed=assumed,
    )


def _divided(domain: Domain, min_records_to_split: int) -> str:
    node = "A beginning of a text" if columns.texts_of(domain) else "A cell"
    return f"{node} is divided from about {grouped(min_records_to_split)} records on at this ε"


def _reason(domain: Domain, verdict: sample_size.SampleSizeVerdict) -> str:
    lost, count = len(verdict.lost), len(domain.modelled)
    if verdict.level == "enough":
        weakest, strength = verdict.strengths[0]
        return f"Even in “{weakest}”, the weakest column, a code holds {_times(strength)} times its noise on average.{OPEN if domain.undeclared else ''}"
    if not lost:
        return (
            "Single columns hold more than their noise. Tables of two columns do not: expect most dependence "
            "between columns to be lost."
        )
    are = "is one column" if lost == 1 else f"are {lost} columns"
    whole = (
        "; what such a release shows is mostly noise, and the budget would be spent for nothing"
    )
    return (
        f"There {are} of {count} in which noise outweighs what a code holds on average"
        f"{whole if verdict.level == 'too-little' else ''}."
    )


def _times(value: float) -> str:
    return grouped(round(value)) if value >= 100 else f"{value:.3g}"


def _advice(domain: Domain, verdict: sample_size.SampleSizeVerdict) -> list[str]:
    if verdict.level == "enough":
        return []
    advice = []
    if {*verdict.lost} & {*placed(domain)}:
        advice.append(
            "Of columns that say where a record lies, methods for places, such as “adaptive”, count no code by itself: they "
            "need fewer records, and keep places as finely as there are records."
        )
    if verdict.lost:
        listed = ", ".join(f"“{name}”" for name in verdict.lost[:NAMED])
        more = f" and {len(verdict.lost) - NAMED} more" if len(verdict.lost) > NAMED else ""
        advice.append(
            f"Describe {listed}{more} with fewer values or wider bins, or leave them out."
        )
    if len(domain.modelled) > NAMED:
        advice.append("Leave out every column that nobody will use: each takes a share of ε.")
    if verdict.level == "too-little":
        advice.append(
            f"With this description and ε, about {grouped(verdict.least_rows)} records are the least; with these "
            f"records, an ε of {verdict.least_epsilon:.3g}. A custodian decides whether that is acceptable."
        )
        advice.append("If none of this will do, publish a few totals instead of a table.")
    return advice
