"""The end of a release: what is generated from goes, what proves stays."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from synthweb.audit import services as audit
from synthweb.datasets import services as datasets
from synthweb.datasets.selectors import tables_of_run
from synthweb.releases import public_links, services
from synthweb.releases.models import (
    Edition,
    ExpectedRanges,
    FirstLook,
    PlausibleTables,
    PublicLink,
    Release,
    ReleasedCounts,
    ReleaseGrant,
    RepairedTable,
)

_COMPUTED = (ExpectedRanges, ReleasedCounts, PlausibleTables, FirstLook, RepairedTable)
_KEPT = ("domain", "database")
"""Of a model: the public description, which the page of the release shows."""


@transaction.atomic
def withdraw(release: Release) -> None:
    """Erase the model, its edited descriptions and all that was computed from them, and end every share and
    public link. The receipt with its marks, name, description and the commitments of samples stay; budget is
    not given back."""
    locked = (
        Release.objects.select_for_update(of=("self",))
        .select_related("dataset__organisation")
        .get(pk=release.pk)
    )
    if locked.withdrawn_at is not None:
        return
    for grant in ReleaseGrant.objects.filter(release=locked, revoked_at=None):
        services.revoke(actor="system", grant=grant)
    for link in PublicLink.objects.filter(release=locked, revoked_at=None):
        public_links.revoke(actor="system", link=link)
    for kind in _COMPUTED:
        kind._default_manager.filter(release=locked).delete()
    Edition.objects.filter(release=locked).update(model={})
    locked.model = {name: locked.model[name] for name in _KEPT if name in locked.model}
    locked.withdrawn_at = timezone.now()
    locked.save(update_fields=["model", "withdrawn_at"])
    for taken in tables_of_run(locked.run_code):
        # Of an earlier table that was kept to be compared with this release.
        datasets.erase_spare(taken.table.dataset)
    audit.record(
        actor="system",
        action="release.withdrawn",
        target=("release", locked.code),
        organisation=locked.dataset.organisation,
        detail={"name": locked.name},
    )
