"""Record where public facts come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from synth_engine.errors import DomainError

Provenance = Literal[
    "declared", "public-file", "learned", "bought", "declared-after-looking", "suggested"
]
"""Learned: by the run whose description this is; bought: learned by an earlier run of the same account, which
paid for it; declared after looking: typed by somebody who had seen the noisy answers of that run."""
PROVENANCES: tuple[Provenance, ...] = get_args(Provenance)
PAID_FOR: frozenset[Provenance] = frozenset({"learned", "bought"})
PURCHASE_ORIGINS: frozenset[Provenance] = frozenset({"bought", "declared-after-looking"})


def complete(
    given: Provenance | Mapping[str, Provenance], *, facts: tuple[str, ...], name: str
) -> dict[str, Provenance]:
    """Return one provenance for each fact of an attribute; a single word stands for all of them."""
    if isinstance(given, str):
        given = dict.fromkeys(facts, given)
    unknown = [fact for fact in given if fact not in facts]
    if unknown:
        raise DomainError(
            f"no such fact as {unknown[0]!r}",
            repair=f"give the origin of {', '.join(facts)}",
            column=name,
        )
    for fact, origin in given.items():
        if origin not in PROVENANCES:
            raise DomainError(
                f"unknown origin of {fact}",
                repair=f"use one of {', '.join(PROVENANCES)}",
                column=name,
            )
    absent = [fact for fact in facts if fact not in given]
    if absent:
        raise DomainError(
            f"the origin of {absent[0]} is not said",
            repair="name it under provenance",
            column=name,
        )
    return {fact: given[fact] for fact in facts}


def shortest(facts: Mapping[str, Provenance]) -> str | dict[str, Provenance]:
    """The inverse of `complete`: one word where all facts share their origin."""
    origins = set(facts.values())
    return origins.pop() if len(origins) == 1 else dict(facts)
