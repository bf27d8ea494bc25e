"""The forecast of a release in sentences: what it will tell, and what would do where that is little."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Domain
from synth_engine.evaluation.forecast import Forecast, Level, Repair
from synth_engine.evaluation.forecast import forecast as forecast_of
from synth_engine.evaluation.quality_words import ColumnWord, Relations
from synth_engine.mechanisms.trees.columns import texts_of
from synth_engine.privacy.loss import plain
from synthweb.lib.language import written_number
from synthweb.lib.number_format import grouped
from synthweb.releases.verdict_words import listed, sentences_of_columns
from synthweb.runs.planning import ReleaseProposal
from synthweb.runs.proposals import rule_of

NO_TABLE = _("If none of this will do, publish a few totals instead of a table.")
TITLES: dict[Level, str | Promise] = {
    "enough": _("Enough records"),
    "thin": _("Few records for what is described"),
    "too-little": _("Do not release this"),
}
WORDS: dict[ColumnWord, str | Promise] = {
    "found": pgettext_lazy("quality", "found"),
    "coarse": pgettext_lazy("quality", "coarse"),
    "not found": pgettext_lazy("quality", "not found"),
    "unknown": _("not known"),
}
RELATIONS: dict[Relations, str | Promise] = {
    "kept": _("kept"),
    "weak": _("weak"),
    "lost": _("lost"),
    "unknown": _("not known"),
}


@dataclass(frozen=True, kw_only=True)
class ForecastWords:
    """A forecast in the language of the page. columns: words with a sentence that names columns, the worst
    first; relations, notes, advice: a sentence each, `relations` empty of a single column. lines: the columns
    one by one, with the word of each as it is written and as a code."""

    level: Level
    title: str
    columns: tuple[tuple[str, str], ...]
    relations: str
    notes: tuple[str, ...]
    advice: tuple[str, ...]
    lines: tuple[tuple[str, str, ColumnWord], ...]


def of_proposal(proposal: ReleaseProposal) -> Forecast:
    """The forecast of a release that could be asked for. Errors: NotReady if nobody said about how many
    records there are."""
    plan = proposal.plan
    rows = proposal.request.known(plan.domain).rows
    return forecast_of(
        plan.domain,
        plan.spec,
        rows=rows,
        rule=rule_of(proposal.account),
        opens_at=plan.min_records_to_split(rows),
    )


def in_words(expected: Forecast, domain: Domain) -> ForecastWords:
    """The forecast of a release of this description in sentences."""
    return ForecastWords(
        level=expected.level,
        title=str(TITLES[expected.level]),
        columns=sentences_of_columns(expected.columns),
        relations=relations_in_words(expected),
        notes=tuple(_notes(expected, domain)),
        advice=tuple(_advice(expected)),
        lines=tuple((name, str(WORDS[word]), word) for name, word in expected.columns.items()),
    )


def columns_in_words(expected: Forecast) -> str:
    """How many columns have which word."""
    counted = [(word, len(expected.named(word))) for word in WORDS]
    return ", ".join(f"{grouped(number)} {WORDS[word]}" for word, number in counted if number)


def relations_in_words(expected: Forecast) -> str:
    """What becomes of relations of each strength; empty of a single column."""
    if len(expected.columns) < 2:
        return ""
    words = set(expected.relations.values())
    if len(words) == 1:
        return gettext("Relations between columns: %(word)s.") % {
            "word": RELATIONS[words.pop()]
        }
    each = (
        gettext("of strength %(strength)s %(word)s")
        % {"strength": written_number(f"{strength:g}"), "word": RELATIONS[word]}
        for strength, word in expected.relations.items()
    )
    return gettext("Relations between columns: %(each)s.") % {"each": ", ".join(each)}


def _notes(expected: Forecast, domain: Domain) -> list[str]:
    notes = []
    if expected.empty:
        notes.append(
            ngettext(
                "About one column whose values are learned will not be found at all, and will be without a "
                "value in every synthetic table.",
                "About %(columns)s columns whose values are learned will not be found at all, and will be "
                "without a value in every synthetic table.",
                expected.empty,
            )
            % {"columns": grouped(expected.empty)}
        )
    if expected.opens_at is not None:
        notes.append(_of_tree(expected, expected.opens_at, domain))
    return notes


def _of_tree(expected: Forecast, opens_at: int, domain: Domain) -> str:
    """How far a tree of texts or places is divided."""
    facts = {
        "records": grouped(opens_at),
        "rows": grouped(expected.rows),
        "cells": grouped(max(1, expected.rows // opens_at)),
    }
    if expected.rows < opens_at and texts_of(domain) is not None:
        return (
            gettext(
                "A beginning of a text is divided from about %(records)s records on at this ε, and there are "
                "%(rows)s in all: most likely nothing is learned of which texts there are."
            )
            % facts
        )
    if expected.rows < opens_at:
        return (
            gettext(
                "A cell is divided from about %(records)s records on at this ε, and there are %(rows)s in "
                "all: most likely nothing is learned of where records lie."
            )
            % facts
        )
    if texts_of(domain) is not None:
        return (
            gettext(
                "A beginning of a text is divided from about %(records)s records on at this ε."
            )
            % facts
        )
    return (
        gettext(
            "A cell is divided from about %(records)s records on at this ε, so that about %(cells)s cells "
            "are divided at a depth, at most."
        )
        % facts
    )


def _advice(expected: Forecast) -> list[str]:
    if expected.level == "enough":
        return []
    sentences = []
    if expected.repairs:
        changes = gettext(" or ").join(_change(repair) for repair in expected.repairs)
        sentence = (
            gettext("Enough would be %(changes)s.")
            if expected.aim == "enough"
            else gettext("The least that would do: %(changes)s.")
        )
        sentences.append(sentence % {"changes": changes})
    else:
        sentences.append(
            gettext(
                "No number of records, ε up to 10 or choice of half of the columns would do with this "
                "method: describe columns with fewer values or wider bins, or choose another method."
            )
        )
    if expected.level == "too-little":
        sentences.append(str(NO_TABLE))
    return sentences


def _change(repair: Repair) -> str:
    if repair.rows is not None:
        return gettext("about %(rows)s records") % {"rows": grouped(repair.rows)}
    if repair.epsilon is not None:
        return gettext("ε %(epsilon)s") % {"epsilon": written_number(plain(repair.epsilon))}
    return ngettext(
        "%(number)s column fewer (without %(names)s)",
        "%(number)s columns fewer (without %(names)s)",
        len(repair.columns),
    ) % {"number": grouped(len(repair.columns)), "names": listed(repair.columns)}
