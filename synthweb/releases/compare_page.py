"""The comparison with the real table as its page shows it: an answer first, the columns and what changed
most, and a list of all other checks, each of which opens in its place.

For stewards: whoever calls this has authorised and written the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from synth_engine.evaluation import summaries
from synth_engine.evaluation.cards import Card
from synth_engine.evaluation.figure import Tile
from synth_engine.evaluation.figures import dependence
from synth_engine.evaluation.view import Comparison, PageSection, Thumb
from synth_engine.evaluation.worst_means import worst_means
from synthweb.lib.language import translated
from synthweb.lib.number_format import grouped, share
from synthweb.lib.pagination import filters_of, words_of
from synthweb.releases.quality_page import COLUMNS_A_PAGE, MOST_ON_MAP

MOST_WORST = 3
"""Sentences about what differs."""
MEANS, DEPENDENCE = "Means within groups", "Dependence"
"""Titles of tiles with a sentence of their own."""
FURTHER = {
    "purpose": gettext_noop("What this release was made for"),
    "criteria": gettext_noop("Criteria, by the exact comparison"),
    "rows": gettext_noop("Rows side by side"),
    "left-out": gettext_noop("Left out"),
}
"""Checks that are no sections of a report, with their titles."""
HISTOGRAMS = gettext_noop("Histograms of these columns")
"""The check of single columns: of those on the page."""


@dataclass(frozen=True, kw_only=True)
class CheckLine:
    """One line of the list. level: empty where it has no verdict. words: below its title."""

    key: str
    title: str
    level: str = ""
    mark: str = ""
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class ComparePage:
    """sentences: the answer. columns: those that the address asks for, worst first; query: what links to
    other pages of them keep. figures: what changed most. fine, differ: checks of the list that are as by
    chance or nearly, and those that are not."""

    level: str
    sentences: tuple[str, ...]
    columns: Page[Thumb]
    words: str
    query: str
    searchable: bool
    figures: tuple[Card, ...]
    checks: tuple[CheckLine, ...]
    fine: int
    differ: int


def page_of(
    report: Mapping[str, Any],
    comparison: Comparison,
    query: QueryDict,
    *,
    further: Sequence[str],
) -> ComparePage:
    """The page. further: the keys of `FURTHER` that this release has."""
    columns = _columns(comparison, query)
    checks = [
        *map(_check, comparison.sections),
        *(CheckLine(key=k, title=FURTHER[k]) for k in further),
    ]
    judged = [check for check in checks if check.level]
    fine = sum(check.level in summaries.KEPT_LEVELS for check in judged)
    return ComparePage(
        level=comparison.overall.level,
        sentences=sentences(report, comparison),
        columns=columns,
        words=words_of(query),
        query=filters_of(query),
        searchable=len(comparison.strip) > COLUMNS_A_PAGE,
        figures=_figures(report, comparison),
        checks=tuple(checks),
        fine=fine,
        differ=len(judged) - fine,
    )


def section_of(comparison: Comparison, key: str, query: QueryDict) -> PageSection | None:
    """The section of this key, None if there is none; of single columns the cards of those that the address
    asks for."""
    part = next((each for each in comparison.sections if each.section.key == key), None)
    if part is None or key != "columns":
        return part
    shown = {each.target for each in _columns(comparison, query)}
    return replace(part, cards=[card for card in part.cards if card.key in shown])


def _columns(comparison: Comparison, query: QueryDict) -> Page[Thumb]:
    words = words_of(query).casefold()
    chosen = [each for each in comparison.strip if words in each.name.casefold()]
    return Paginator(chosen, COLUMNS_A_PAGE).get_page(query.get("page"))


def _check(part: PageSection) -> CheckLine:
    return CheckLine(
        key=part.section.key,
        title=HISTOGRAMS if part.section.key == "columns" else part.section.title,
        level=part.level,
        mark=part.mark,
        words=part.verdict,
    )


def sentences(report: Mapping[str, Any], comparison: Comparison) -> tuple[str, ...]:
    """What is kept, and what differs most, the worst first."""
    preserved = [tile for tile in comparison.tiles if tile.level in summaries.KEPT_LEVELS]
    others = [tile for tile in comparison.tiles if tile not in preserved]
    others.sort(key=lambda tile: (-summaries.SEVERITY.index(tile.level), tile.preserved))
    if not others:
        return (_("No check differs clearly."),)
    good = _("Kept: %(parts)s.") % {
        "parts": "; ".join(translated(each.title) for each in preserved)
    }
    return (
        *(_differs(report, tile) for tile in others[:MOST_WORST]),
        *([good] if preserved else []),
    )


def _differs(report: Mapping[str, Any], tile: Tile) -> str:
    if tile.title == MEANS and (sentence := _of_means(report)):
        return sentence
    if tile.title == DEPENDENCE:
        entry = report["summary"]["mi_err"]
        return _(
            "%(related)s pairs of columns go together in the real table, %(kept)s of them in the synthetic "
            "one."
        ) % {"related": grouped(entry["related"]), "kept": grouped(entry["kept"])}
    if tile.preserved < 1:  # so many of so many
        return _("%(part)s: %(kept)s kept.") % {
            "part": translated(tile.title),
            "kept": tile.value,
        }
    return f"{translated(tile.title)}: {translated(tile.words)}"


def _of_means(report: Mapping[str, Any]) -> str:
    """Empty where no mean within groups is clearly off by a share of itself."""
    worst = worst_means(dict(report))
    if worst is None or worst.off is None:
        return ""
    words = {"of": worst.of, "by": worst.by, "off": share(worst.off)}
    if worst.is_small:
        return _("Means of %(of)s by %(by)s are up to %(off)s off in small classes.") % words
    return _("Means of %(of)s by %(by)s are up to %(off)s off.") % words


def _figures(report: Mapping[str, Any], comparison: Comparison) -> tuple[Card, ...]:
    """The map of what changed, and the first curve of distances."""
    changed = dependence.most_changed(dict(report), columns=MOST_ON_MAP)
    curves = [card for card in comparison.cards("distances") if card.figure][:1]
    shown = [changed] if changed is not None and changed.figure else []
    # The whole section has the same card: its own key would be twice on the page.
    return (*shown, *(replace(card, key=f"{card.key}-shown") for card in curves))
