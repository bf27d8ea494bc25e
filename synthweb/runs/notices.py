"""Which ends of one's own runs somebody has seen: a mark for the frame of every page, no entry in any log. It
imports nothing of the engine: whoever renders a template loads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import ngettext

from synthweb.accounts.models import User
from synthweb.runs import selectors
from synthweb.runs.models import RunSeen, SynthesisRun

UNSEEN_SHOWN = 99


def see(*, user: User, **which: Any) -> int:
    """The ends of `user`'s own runs count as seen: all of them, or those that `which` narrows to."""
    unseen = selectors.ends_unseen(user).filter(**which).values_list("pk", flat=True)
    seen = [RunSeen(run_id=pk, at=Now()) for pk in unseen]
    stored = RunSeen.objects.bulk_create(
        seen, update_conflicts=True, unique_fields=["run"], update_fields=["at"]
    )
    return len(stored)


@dataclass(frozen=True, kw_only=True)
class Notice:
    """What the frame of every page says about one's own runs. `waits`: the page asks again by itself."""

    count: int
    failed: int
    waits: bool
    words: str
    address: str


def notice(user: User) -> Notice:
    """How many of `user`'s runs have ended and were not looked at; leads to the one, or to the list of
    them."""
    ends = list(selectors.ends_unseen(user).values_list("code", "state")[:UNSEEN_SHOWN])
    failed = sum(state == SynthesisRun.State.FAILED for _, state in ends)
    count = f"{len(ends)}{'+' if len(ends) == UNSEEN_SHOWN else ''}"
    if failed == len(ends):
        words = ngettext("%(count)s run has failed", "%(count)s runs have failed", len(ends))
    elif failed:
        words = ngettext("%(count)s run has ended", "%(count)s runs have ended", len(ends))
    else:
        words = ngettext(
            "%(count)s run has finished", "%(count)s runs have finished", len(ends)
        )
    return Notice(
        count=len(ends),
        failed=failed,
        waits=selectors.waits_for_an_end(user),
        words=words % {"count": count},
        address=reverse("runs:run", args=[ends[0][0]])
        if len(ends) == 1
        else f"{reverse('runs:index')}?seen=no",
    )
