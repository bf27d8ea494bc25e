"""Public sets of values for columns whose categories are not known beforehand: words, pairs of words,
strings, ranges, codes of countries, lists, patterns, and products and unions of them. Each can rank, unrank,
test and sample."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

from synth_engine.values.base import MAX_SIZE, ValueSet, refuse
from synth_engine.values.combined import ProductSet, Union
from synth_engine.values.lists import SOURCES, Known, Listed, is_public_list
from synth_engine.values.patterns import Pattern
from synth_engine.values.ranges import Dates, Decimals, Integers
from synth_engine.values.strings import ANY_SHORT_TEXT, Strings

KINDS: dict[str, type[ValueSet]] = {
    kind.kind: kind
    for kind in (Listed, Known, Integers, Decimals, Dates, Strings, Pattern, ProductSet, Union)
}
MAX_DEPTH = 5
MAX_CACHED_LENGTH = 4_096
"""Characters of the JSON of a set that is cached. Longer ones, which are lists, would fill the cache."""

__all__ = [
    "ANY_SHORT_TEXT", "KINDS", "MAX_SIZE", "SOURCES", "Dates", "Decimals", "Integers", "Known", "Listed",
    "Pattern", "ProductSet", "Strings",
    "Union", "ValueSet", "from_json", "is_public_list",
]  # fmt: skip


def from_json(document: object) -> ValueSet:
    """The set that `to_json` wrote: {"set": kind, …}. A `size` beside it must be right. Errors:
    DomainError."""
    kind = (
        document.get("set")
        if isinstance(document, Mapping) and _depth(document) <= MAX_DEPTH
        else None
    )
    if not isinstance(document, Mapping) or not isinstance(kind, str) or kind not in KINDS:
        refuse(
            "no set of values of a known kind",
            repair=f'give {{"set": …}} with one of {", ".join(KINDS)}',
        )
    try:
        text = json.dumps(document)
    except (TypeError, ValueError):  # nothing that came out of JSON
        text = ""
    small = 0 < len(text) <= MAX_CACHED_LENGTH
    value_set = _remembered(text) if small else KINDS[kind].from_json(document)
    if document.get("size", value_set.size) != value_set.size:
        refuse(
            "the size of a set of values is not the stated one",
            repair="leave size out, or correct the set",
        )
    return value_set


@lru_cache(maxsize=64)
def _remembered(text: str) -> ValueSet:
    """Return a set by its JSON, cached: a set never changes, and one of English words takes a third of a
    second."""
    document = json.loads(text)
    return KINDS[document["set"]].from_json(document)


def _depth(document: Mapping[str, object]) -> int:
    parts = document.get("parts", ())
    inner = (
        [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    )
    return 1 + max(map(_depth, inner), default=0)
