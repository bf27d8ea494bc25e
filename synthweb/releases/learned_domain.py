"""What a run found out about columns that nobody could describe beforehand: part of the release, and paid
for."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from synth_engine.domain import Attribute, Categorical, Domain, ScaleBins
from synthweb.datasets.domain_cache import domain_of
from synthweb.releases import receipt_facts
from synthweb.releases.models import Release

SHOWN = 12


@dataclass(frozen=True, kw_only=True)
class Learned:
    """One column. `more`: how many values are not listed. is_found: whether any value was."""

    name: str
    values: tuple[str, ...]
    more: int
    words: str
    is_found: bool = True


def learned(release: Release) -> list[Learned]:
    """The columns that the run learned, those first that it did not find; none where everything was
    described."""
    described = domain_of(release.domain_version)
    domain = Domain.from_json(release.model["domain"]) if described.undeclared else described
    columns = [
        _summary(attribute)
        for attribute in domain.attributes
        if "learned" in attribute.facts.values()
    ]
    return sorted(columns, key=lambda column: column.is_found)


def not_found(release: Release) -> tuple[str, ...]:
    """The names of the columns of which the run learned nothing, as its receipt states them."""
    names = receipt_facts.of(release)["post_processing"].get("not_found")
    return tuple(map(str, names)) if isinstance(names, list) else ()


def left_out(release: Release) -> tuple[str, ...]:
    """The constraints that this release does not keep, each with the reason, as its receipt states them."""
    sentences = receipt_facts.of(release)["post_processing"].get("constraints_left_out")
    return tuple(map(str, sentences)) if isinstance(sentences, list) else ()


def enforced(release: Release, domain: Domain) -> tuple[str, ...]:
    """The constraints that every sample keeps. domain: as it was described."""
    if not left_out(release):
        return tuple(each.sentence for each in domain.constraints)
    model = Domain.from_json(release.model["domain"])
    return tuple(each.sentence for each in model.enforcement.enforced)


def _summary(attribute: Attribute) -> Learned:
    labels = attribute.value_labels
    if not attribute.is_found:
        return Learned(
            name=attribute.name, values=(), more=0, words=_("not found"), is_found=False
        )
    if isinstance(attribute, Categorical):
        words = "1 value" if len(labels) == 1 else f"{len(labels)} values"
        return Learned(
            name=attribute.name,
            values=labels[:SHOWN],
            more=max(0, len(labels) - SHOWN),
            words=words,
        )
    bins = ngettext("1 bin", "%(number)d bins", len(labels)) % {"number": len(labels)}
    low, high = _ends(attribute)
    words = _("%(low)s to %(high)s, in %(bins)s") % {"low": low, "high": high, "bins": bins}
    return Learned(name=attribute.name, values=(), more=0, words=words)


def _ends(attribute: Attribute) -> tuple[object, object]:
    """The first and the last value that was learned, never the bounds of what could be."""
    if isinstance(attribute, ScaleBins):
        label = attribute.lattice.label
        return label(attribute.cuts[0]), label(attribute.cuts[-1] - 1)
    return getattr(attribute, "low", ""), getattr(attribute, "high", "")
