"""Candidates that a receipt states by a rule: the verifier writes the list out, and compares it with what is
said of it.

Standard library only, and nothing shared with what writes receipts. How many scores there are decides how far
they move, so a list that is not the one of its rule is refused. A list that no rule gives in fewer signs
stands in the receipt.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from synth_engine.errors import VerificationError
from synth_engine.verifier.limits import MAX_AXES

_ALL_GROUPS = "all groups of columns"
_PARTS_OF_RULE = {"rule", "columns", "size", "without", "number", "sha256"}
_MAX_COLUMNS_OF_GROUP = 10
_MAX_GROUPS = 5_000_000
"""The largest number of groups that the verifier writes out for one receipt."""


def check_groups(calls: Sequence[Any]) -> None:
    """Refuse rules that give more groups together than the verifier writes out, and rules that are
    malformed."""
    total = 0
    for number, call in enumerate(calls, 1):
        query = call.get("query") if isinstance(call, Mapping) else None
        rule = query.get("candidates") if isinstance(query, Mapping) else None
        if isinstance(rule, Mapping):
            total += _groups(rule, number)
        if total > _MAX_GROUPS:
            raise VerificationError(
                f"the rules of the calls give more than {_MAX_GROUPS:,} candidates"
            )


def with_candidates(query: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """The query with its candidates as a list. Errors: VerificationError if a rule gives another list than is
    said."""
    rule = query.get("candidates")
    return (
        {**query, "candidates": _listed(rule, number)} if isinstance(rule, Mapping) else query
    )


def _listed(rule: Mapping[str, Any], number: int) -> list[list[str]]:
    groups = _groups(rule, number)
    without = {tuple(group) for group in rule["without"]}
    columns, size = rule["columns"], rule["size"]
    listed = [
        list(group) for group in itertools.combinations(columns, size) if group not in without
    ]
    # Each group is left out once, and is one of those that the rule gives.
    if len(rule["without"]) + len(listed) != groups:
        raise VerificationError(f"the candidates of call {number} leave out what is no group")
    text = json.dumps(listed, separators=(",", ":"), ensure_ascii=True).encode()
    if rule["number"] != len(listed) or rule["sha256"] != hashlib.sha256(text).hexdigest():
        raise VerificationError(
            f"the candidates of call {number} are not those that their rule gives"
        )
    return listed


def _groups(rule: Mapping[str, Any], number: int) -> int:
    """How many groups there are before any is left out."""
    if set(rule) != _PARTS_OF_RULE or rule["rule"] != _ALL_GROUPS:
        raise VerificationError(
            f"the candidates of call {number} follow a rule that is unknown"
        )
    columns, size, without = rule["columns"], rule["size"], rule["without"]
    if (
        not _are_names(columns)
        or len(columns) > MAX_AXES
        or len(set(columns)) != len(columns)
        or type(size) is not int
        or not 1 <= size <= min(len(columns), _MAX_COLUMNS_OF_GROUP)
        or not isinstance(without, list)
        or not all(_are_names(group) for group in without)
        or type(rule["number"]) is not int
    ):
        raise VerificationError(f"the rule of the candidates of call {number} is malformed")
    return math.comb(len(columns), size)


def _are_names(names: Any) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)
