"""What runs found out about columns that nobody could describe beforehand: part of the release, and paid for,
by its own run or by an earlier one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from synth_engine.domain import Attribute, Domain, Purchase, ScaleBins
from synth_engine.kinds.facts import PURCHASE_ORIGINS
from synth_engine.privacy.loss import plain
from synth_engine.privacy.receipt import Receipt
from synthweb.datasets.domain_cache import domain_of
from synthweb.datasets.models import LearnedDescription
from synthweb.releases import chain, receipt_facts
from synthweb.releases.models import Release

SHOWN = 12


@dataclass(frozen=True, kw_only=True)
class Learned:
    """One column. `more`: how many values are not listed. is_found: whether any value was. paid_by: the
    earlier run that learned it; None for that of the release. is_declared: by somebody who had seen what that
    run learned."""

    name: str
    values: tuple[str, ...]
    more: int
    words: str
    is_found: bool = True
    paid_by: Purchase | None = None
    is_declared: bool = False

    @property
    def paid_epsilon(self) -> str:
        """The loss of the earlier run."""
        return plain(self.paid_by.epsilon) if self.paid_by else ""


def learned(release: Release) -> list[Learned]:
    """The columns that its run or an earlier one learned, those first that it did not find; none where
    everything was described."""
    described = domain_of(release.domain_version)
    domain = Domain.from_json(release.model["domain"]) if described.undeclared else described
    paid_by = {name: each for each in described.bought for name in each.columns}
    columns = [
        replace(
            _summary(attribute),
            paid_by=paid_by.get(attribute.name),
            is_declared="declared-after-looking" in attribute.facts.values(),
        )
        for attribute in domain.attributes
        if {"learned", *PURCHASE_ORIGINS} & {*attribute.facts.values()}
    ]
    return sorted(columns, key=lambda column: column.is_found)


def receipt_of_purchase(release: Release, digest: str) -> Receipt:
    """The receipt of an earlier run that learned columns of the release, with its marks. Errors: Http404."""
    if digest not in {each.receipt for each in domain_of(release.domain_version).bought}:
        raise Http404("no column of this release rests on that run")
    stored = LearnedDescription.objects.get(
        dataset_id=release.dataset_id, receipt__digest=digest
    )
    return chain.receipt_of_purchase(stored)


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
    if attribute.lists_values:
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
