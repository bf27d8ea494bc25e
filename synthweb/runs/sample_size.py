"""What the new-release page says about the number of records: whether they are enough, and what to do if
not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Domain
from synth_engine.mechanisms.trees import columns
from synth_engine.mechanisms.trees.columns import placed
from synth_engine.plans import sample_size
from synthweb.lib.language import written_number
from synthweb.lib.number_format import grouped

NAMED = 5
OPEN = _(
    "What is still to be learned is not in that: values that are not found become “(other)”."
)
NO_TABLE = _("If none of this will do, publish a few totals instead of a table.")
TITLES: dict[sample_size.Level, str | Promise] = {
    "enough": _("Enough records"),
    "thin": _("Few records for what is described"),
    "too-little": _("Do not release this"),
}


@dataclass(frozen=True, kw_only=True)
class Enough:
    """A verdict in words."""

    level: sample_size.Level
    title: str
    reason: str
    advice: tuple[str, ...]


def verdict(
    domain: Domain,
    *,
    rows: int,
    epsilon: Fraction,
    min_records_to_split: int | None = None,
    delta: Fraction = Fraction(0),
) -> Enough:
    """The engine's verdict as sentences. `min_records_to_split`: of a plan that grows a tree, about how many
    records it takes for a node to be divided; it counts no code of a place by itself."""
    if min_records_to_split is not None and rows < min_records_to_split:
        return _nothing_opens(
            domain,
            rows=rows,
            epsilon=epsilon,
            min_records_to_split=min_records_to_split,
        )
    verdict = sample_size.verdict(domain, rows=rows, epsilon=epsilon, delta=delta)
    reason, advice = _reason(domain, verdict), tuple(_advice(domain, verdict))
    if verdict.not_found:
        reason = f"{_not_found(verdict.not_found)} {reason}"
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
    return Enough(
        level=verdict.level,
        title=str(TITLES[verdict.level]),
        reason=reason,
        advice=advice,
    )


def _not_found(columns: int) -> str:
    return ngettext(
        "About one column whose bounds are learned will not be found, and will be without a value in every "
        "synthetic table.",
        "About %(columns)s columns whose bounds are learned will not be found, and will be without a value "
        "in every synthetic table.",
        columns,
    ) % {"columns": grouped(columns)}


def _of_cells(domain: Domain, rows: int, min_records_to_split: int) -> str:
    """Of a tree of places that have more codes than noise bears."""
    most = rows // min_records_to_split
    sentence = ngettext(
        "%(divided)s, so that about one cell is divided at a depth, at most: places are kept as finely as "
        "there are records, and no single code of them has to hold more than its noise.",
        "%(divided)s, so that about %(cells)s cells are divided at a depth, at most: places are kept as "
        "finely as there are records, and no single code of them has to hold more than its noise.",
        most,
    )
    return sentence % {
        "divided": _divided(domain, min_records_to_split),
        "cells": grouped(most),
    }


def _nothing_opens(
    domain: Domain, *, rows: int, epsilon: Fraction, min_records_to_split: int
) -> Enough:
    """Of a tree that most likely ends where it begins."""
    what = (
        gettext("which texts there are")
        if columns.texts_of(domain)
        else gettext("where records lie")
    )
    return Enough(
        level="too-little",
        title=str(TITLES["too-little"]),
        reason=gettext(
            "%(divided)s, and there are %(rows)s in all. Most likely nothing is divided below the first "
            "depth; what such a release says of %(what)s is mostly noise, and the budget would be spent "
            "for nothing."
        )
        % {
            "divided": _divided(domain, min_records_to_split),
            "rows": grouped(rows),
            "what": what,
        },
        advice=(
            gettext(
                "About %(least)s records are the least, if all lie together; with these records, an ε of "
                "about %(epsilon)s. A custodian decides whether that is acceptable."
            )
            % {
                "least": grouped(min_records_to_split),
                "epsilon": written_number(
                    f"{float(epsilon) * min_records_to_split / rows:.2g}"
                ),
            },
            gettext(
                "Choose a method that asks less of the table: the forecast below ε says what each gives."
            ),
            str(NO_TABLE),
        ),
    )


def _divided(domain: Domain, min_records_to_split: int) -> str:
    sentence = (
        gettext("A beginning of a text is divided from about %(records)s records on at this ε")
        if columns.texts_of(domain)
        else gettext("A cell is divided from about %(records)s records on at this ε")
    )
    return sentence % {"records": grouped(min_records_to_split)}


def _reason(domain: Domain, verdict: sample_size.SampleSizeVerdict) -> str:
    lost, count = len(verdict.lost), len(domain.modelled)
    if verdict.level == "enough":
        weakest, _strength = verdict.strengths[0]
        sentence = gettext("Even the most detailed column, “%(weakest)s”, stays readable.") % {
            "weakest": weakest
        }
        return f"{sentence} {OPEN}" if domain.undeclared else sentence
    if verdict.not_found and not lost:
        return gettext("Of the others, single columns hold more than their noise.")
    if not lost:
        return gettext(
            "Single columns hold more than their noise. Tables of two columns do not: expect most "
            "dependence between columns to be lost."
        )
    if verdict.level == "too-little":
        sentence = ngettext(
            "There is one column of %(count)s in which noise outweighs what a code holds on average; what "
            "such a release shows is mostly noise, and the budget would be spent for nothing.",
            "There are %(lost)s columns of %(count)s in which noise outweighs what a code holds on "
            "average; what such a release shows is mostly noise, and the budget would be spent for nothing.",
            lost,
        )
    else:
        sentence = ngettext(
            "There is one column of %(count)s in which noise outweighs what a code holds on average.",
            "There are %(lost)s columns of %(count)s in which noise outweighs what a code holds on average.",
            lost,
        )
    return sentence % {"lost": lost, "count": count}


def _advice(domain: Domain, verdict: sample_size.SampleSizeVerdict) -> list[str]:
    if verdict.level == "enough":
        return []
    advice = []
    if verdict.not_found:
        advice.append(
            gettext(
                "Describe such columns as numbers or dates between public bounds, so that nothing has to "
                "be learned of them."
            )
        )
    if {*verdict.lost} & {*placed(domain)}:
        advice.append(
            gettext(
                "Of columns that say where a record lies, methods for places, such as “adaptive”, count no "
                "code by itself: they need fewer records, and keep places as finely as there are records."
            )
        )
    if verdict.lost:
        listed = ", ".join(f"“{name}”" for name in verdict.lost[:NAMED])
        if len(verdict.lost) > NAMED:
            more = gettext("and %(more)s more") % {"more": len(verdict.lost) - NAMED}
            listed = f"{listed} {more}"
        advice.append(
            gettext("Describe %(listed)s with fewer values or wider bins, or leave them out.")
            % {"listed": listed}
        )
    if len(domain.modelled) > NAMED:
        advice.append(
            gettext("Leave out every column that nobody will use: each takes a share of ε.")
        )
    if verdict.level == "too-little":
        advice.append(
            gettext(
                "With this description and ε, about %(rows)s records are the least; with these records, an "
                "ε of %(epsilon)s. A custodian decides whether that is acceptable."
            )
            % {
                "rows": grouped(verdict.least_rows),
                "epsilon": written_number(f"{verdict.least_epsilon:.3g}"),
            }
        )
        advice.append(str(NO_TABLE))
    return advice
