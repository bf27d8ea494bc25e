"""The releases on the page of a dataset: the newest, each with its verdict.

A verdict here is what may be known without opening anything: whether a release was chosen before anybody had
looked at a comparison with real data, and where its own comparison stands. How close it came stands in the
comparison alone, which is real, encrypted, and opened under the audit log: a list that showed it would look
at all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from synth_engine import mechanisms
from synthweb.accounts.models import User
from synthweb.datasets.models import Dataset, Preview
from synthweb.releases import selectors as releases
from synthweb.releases.models import Release
from synthweb.runs.models import TableJob

SHOWN = 20  # the page of all releases has the rest


@dataclass(frozen=True, kw_only=True)
class ReleaseLine:
    """A release; `looked`: chosen after looking; `compared`: ready, expired, failed, waiting, or nothing
    yet."""

    release: Release
    method: str
    looked: bool
    compared: str
    until: datetime | None


@dataclass(frozen=True, kw_only=True)
class Released:
    """The newest releases, and how many there are in all."""

    lines: Sequence[ReleaseLine]
    count: int

    @property
    def more(self) -> bool:
        return self.count > len(self.lines)


def released(user: User, dataset: Dataset) -> Released:
    """What `user` may see of the releases of a dataset."""
    releases_here = releases.releases_for(user).filter(dataset=dataset)
    shown = list(releases.with_look(releases_here)[:SHOWN])
    titles = {one["id"]: one["title"] for one in mechanisms.describe()}
    ends, states = _ends(dataset), _states(shown)
    lines = [
        ReleaseLine(
            release=each,
            method=titles.get(each.mechanism, each.mechanism),
            looked=bool(getattr(each, "looked", False)),
            # The store decides: while a newer comparison is awaited, the one before can be
            # read.
            compared="ready" if each.code in ends else states.get(each.pk, ""),
            until=ends.get(each.code),
        )
        for each in shown
    ]
    return Released(lines=lines, count=releases_here.count())


def _ends(dataset: Dataset) -> dict[str, datetime]:
    """Release code → when its comparison expires, of those that lie in the store."""
    stored = Preview.objects.filter(
        dataset=dataset, kind=Preview.Kind.REPORT, expires_at__gt=timezone.now()
    )
    return dict(stored.values_list("subject", "expires_at"))


def _states(shown: Sequence[Release]) -> dict[int, str]:
    """Release → where its newest job stands; one that finished and left nothing has expired."""
    words = {
        TableJob.State.FINISHED: "expired",
        TableJob.State.FAILED: "failed",
        TableJob.State.WAITING: "waiting",
    }
    jobs = TableJob.objects.filter(
        kind=TableJob.Kind.REPORT, release__in=[each.pk for each in shown]
    )
    # In ascending order, so that in the dictionary the newest job of a release remains.
    states = jobs.order_by("created_at", "pk").values_list("release", "state")
    return {pk: words.get(TableJob.State(state), "") for pk, state in states if pk is not None}
