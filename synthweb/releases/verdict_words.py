"""The verdict on a release in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.utils.functional import Promise
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from synth_engine.evaluation.quality_words import ColumnWord
from synth_engine.evaluation.release_verdict import (
    Level,
    PartVerdict,
    ReleaseVerdict,
)
from synthweb.lib.number_format import grouped

MOST_NAMES = 8
PARTS = {
    "counts": gettext_lazy("counts"),
    "averages": gettext_lazy("averages"),
    "pairs": gettext_lazy("relations of two columns"),
    "triples": gettext_lazy("relations of three columns"),
}
RELATIONS = ("pairs", "triples")
_WEAK = {
    "counts": gettext_lazy("Counts are rough."),
    "averages": gettext_lazy("Averages are rough."),
    "pairs": gettext_lazy(
        "Relations of two columns are weaker: expect the strong ones, not the weak ones."
    ),
    "triples": gettext_lazy("Relations of three columns are weaker."),
    "relations": gettext_lazy(
        "Relations between columns are weaker: expect the strong ones, not the weak ones."
    ),
}
_LOST = {
    "counts": gettext_lazy("Counts are mostly noise."),
    "averages": gettext_lazy("Averages are mostly noise."),
    "pairs": gettext_lazy("Relations of two columns are lost."),
    "triples": gettext_lazy("Relations of three columns are lost."),
    "relations": gettext_lazy("Relations between columns are lost."),
}
_UNKNOWN = {
    "counts": gettext_lazy("How good counts are could not be measured."),
    "averages": gettext_lazy("How good averages are could not be measured."),
    "pairs": gettext_lazy("How well relations of two columns are kept could not be measured."),
    "triples": gettext_lazy(
        "How well relations of three columns are kept could not be measured."
    ),
    "relations": gettext_lazy(
        "How well relations between columns are kept could not be measured."
    ),
}
_SENTENCES: tuple[tuple[Level, Mapping[str, Promise]], ...] = (
    ("weak", _WEAK),
    ("lost", _LOST),
    ("unknown", _UNKNOWN),
)
COLUMNS: Mapping[ColumnWord, Promise] = {
    "found": gettext_lazy("Found: %(names)s."),
    "coarse": gettext_lazy("Coarse: %(names)s."),
    "not found": gettext_lazy("Not found: %(names)s."),
    "unknown": gettext_lazy("Not known: %(names)s."),
}


def sentences(verdict: ReleaseVerdict) -> tuple[str, ...]:
    """What the release is good for, what for less, and what not for."""
    useful = [part for part in verdict.parts if part.is_mostly_good]
    others = [part for part in verdict.parts if not part.is_mostly_good]
    good = [
        _("Good for %(parts)s.")
        % {"parts": get_text_list([_part(p) for p in useful], _("and"))}
    ]
    return (*(good if useful else ()), *_of_others(others), _groups(verdict))


def _part(part: PartVerdict) -> str:
    name = str(PARTS[part.key])
    if part.good == part.of:
        return name
    return _("%(part)s of %(good)s of %(of)s columns") % {
        "part": name,
        "good": grouped(part.good),
        "of": grouped(part.of),
    }


def _of_others(parts: Sequence[PartVerdict]) -> Iterable[str]:
    for level, words in _SENTENCES:
        keys = [part.key for part in parts if part.level == level]
        if set(RELATIONS) <= set(keys):
            keys = [*(key for key in keys if key not in RELATIONS), "relations"]
        yield from (str(words[key]) for key in keys)


def _groups(verdict: ReleaseVerdict) -> str:
    if verdict.least_group is None:
        return _("From which size on groups can be counted is not known.")
    if not verdict.any_group:
        return _("Not for groups of records: there are too few of them.")
    return ngettext(
        "Not for groups below %(records)s record.",
        "Not for groups below %(records)s records.",
        verdict.least_group,
    ) % {"records": grouped(verdict.least_group)}


def of_columns(verdict: ReleaseVerdict) -> tuple[tuple[str, str], ...]:
    """The words of columns, each with a sentence that names them, the worst first."""
    return sentences_of_columns({each.name: each.word for each in verdict.columns})


def sentences_of_columns(words: Mapping[str, ColumnWord]) -> tuple[tuple[str, str], ...]:
    """The same of what is forecast, or known, of columns by name."""
    worst_first: tuple[ColumnWord, ...] = ("not found", "coarse", "found", "unknown")
    named = [
        (word, [name for name, each in words.items() if each == word]) for word in worst_first
    ]
    return tuple(
        (word, str(COLUMNS[word]) % {"names": listed(names)}) for word, names in named if names
    )


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - MOST_NAMES
    if more <= 0:
        return ", ".join(names)
    first = ", ".join(names[:MOST_NAMES])
    return _("%(names)s and %(more)s more") % {"names": first, "more": grouped(more)}
