"""How many records break the declared constraints: real beside synthetic, with and without their being enforced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from synth_engine.domain import Domain
from synth_engine.evaluation.tallies import Tallies

ANY = "any of these"


def entries(
    real: Tallies, synthetic: Tallies, domain: Domain, *, unenforced: Sequence[int]
) -> list[dict[str, Any]]:
    """One entry for each constraint, and, of several, one for records that break any. A side that was not counted is
    None."""
    sides = {
        "real": real.breaking,
        "unenforced": tuple(unenforced),
        "synthetic": synthetic.breaking,
    }
    if not any(sides.values()):
        return []
    labels = [
        (constraint.sentence, constraint.kind, list(constraint.columns))
        for constraint in domain.constraints
    ]
    if len(labels) > 1:
        labels.append((ANY, "any", []))
    return [
        {
            "sentence": sentence,
            "kind": kind,
            "columns": columns,
            "records": {
                side: counts[index] if counts else None for side, counts in sides.items()
            },
        }
        for index, (sentence, kind, columns) in enumerate(labels)
    ]


def verdict(entries: Sequence[dict[str, Any]]) -> str:
    """In one line, what the numbers say."""
    whole = entries[-1]["records"]
    if whole["synthetic"]:
        return "The synthetic table breaks some of the constraints."
    if whole["real"]:
        return "The synthetic table keeps all constraints; some real records do not."
    return (
        "Both tables keep all constraints."
        if whole["real"] == 0
        else "The synthetic table keeps all constraints."
    )
