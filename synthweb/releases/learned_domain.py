"""What a run found out about columns that nobody could describe beforehand: part of the release, and paid for."""

from __future__ import annotations

from dataclasses import dataclass

from synth_engine.domain import Attribute, Categorical, Domain
from synthweb.datasets.domain_cache import domain_of
from synthweb.releases.models import Release

SHOWN = 12


@dataclass(frozen=True, kw_only=True)
class Learned:
    """One column. `more`: how many values are not listed."""

    name: str
    values: tuple[str, ...]
    more: int
    words: str


def learned(release: Release) -> list[Learned]:
    """The columns that the run learned; none where everything was described."""
    described = domain_of(release.domain_version)
    domain = Domain.from_json(release.model["domain"]) if described.undeclared else described
    return [
        _summary(attribute)
        for attribute in domain.attributes
        if "learned" in attribute.facts.values()
    ]


def _summary(attribute: Attribute) -> Learned:
    labels = attribute.value_labels
    if isinstance(attribute, Categorical):
        words = "1 value" if len(labels) == 1 else f"{len(labels)} values"
        return Learned(
            name=attribute.name,
            values=labels[:SHOWN],
            more=max(0, len(labels) - SHOWN),
            words=words,
        )
    low, high = getattr(attribute, "low", ""), getattr(attribute, "high", "")
    bins = "1 bin" if len(labels) == 1 else f"{len(labels)} bins"
    return Learned(name=attribute.name, values=(), more=0, words=f"{low} to {high}, in {bins}")
