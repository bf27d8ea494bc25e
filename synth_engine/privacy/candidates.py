"""The candidates of a query, as a receipt states them: a list, or the rule that gives the list.

`auto` selects among all triples of its columns. Which ones these are follows from the names of the columns,
so that a rule says it in a line, and the verifier writes the list out again. A list that no rule gives in
fewer signs stays a list.
"""

from __future__ import annotations

import graphlib
import hashlib
import itertools
import json
import math
from collections.abc import Sequence
from typing import TypedDict

Cliques = list[list[str]]
ALL_GROUPS = "all groups of columns"
"""All groups of so many columns, in the order of the columns, but the ones that are left out."""
_MOST_LEFT_OUT = 4
"""For each candidate. Where more groups are left out, the list is shorter anyway."""


class CandidateRule(TypedDict):
    """columns: in the order in which groups name them; size: columns of a group; without: the groups left
    out; number, sha256: of the list that follows, as canonical JSON."""

    rule: str
    columns: list[str]
    size: int
    without: Cliques
    number: int
    sha256: str


def stated(cliques: Cliques) -> Cliques | CandidateRule:
    """The candidates as a receipt states them."""
    rule = _rule_of(cliques)
    return cliques if rule is None or len(_text(rule)) >= len(_text(cliques)) else rule


def number_of(candidates: Cliques | CandidateRule) -> int:
    """How many candidates a receipt states."""
    return len(candidates) if isinstance(candidates, list) else candidates["number"]


def smallest_of(candidates: Cliques | CandidateRule) -> int:
    """The fewest columns of a candidate that a receipt states; 0 if there is none."""
    if not isinstance(candidates, list):
        return candidates["size"]
    return min((len(clique) for clique in candidates), default=0)


def _rule_of(cliques: Cliques) -> CandidateRule | None:
    """The rule that gives exactly this list in this order; None if there is none."""
    sizes = {len(clique) for clique in cliques}
    columns = _ordered(cliques)
    if len(sizes) != 1 or columns is None:
        return None
    (size,) = sizes
    if math.comb(len(columns), size) > (1 + _MOST_LEFT_OUT) * len(cliques):
        return None
    groups = [list(group) for group in itertools.combinations(columns, size)]
    named = {tuple(clique) for clique in cliques}
    if [group for group in groups if tuple(group) in named] != cliques:
        return None
    return {
        "rule": ALL_GROUPS,
        "columns": columns,
        "size": size,
        "without": [group for group in groups if tuple(group) not in named],
        "number": len(cliques),
        "sha256": hashlib.sha256(_text(cliques)).hexdigest(),
    }


def _ordered(cliques: Cliques) -> list[str] | None:
    """The columns in an order that agrees with that of every candidate; None if there is none."""
    before: dict[str, set[str]] = {name: set() for clique in cliques for name in clique}
    for clique in cliques:
        for first, second in itertools.pairwise(clique):
            before[second].add(first)
    # Sorted, because the order of a set of texts differs from one process to the next.
    graph: dict[str, Sequence[str]] = {name: sorted(those) for name, those in before.items()}
    try:
        return list(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError:
        return None


def _text(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
