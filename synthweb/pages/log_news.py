"""The home of an auditor: what has changed since they last marked the log as read, and what is unusual, by
rules that it states.

Everything comes from the audit log, the ledger and the documents of releases; nothing here is a figure of a
table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, pairwise
from statistics import median

from django.db import transaction
from django.db.models import Count, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from synthweb.accounts.models import User
from synthweb.audit.labels import READS_REAL_ROWS, REPORT
from synthweb.audit.models import AuditEntry, LogVisit
from synthweb.ledger import audit_lines, log_access
from synthweb.ledger.amounts import short_text
from synthweb.ledger.audit_lines import Deed
from synthweb.ledger.models import LedgerEntry
from synthweb.lib.language import written_number
from synthweb.releases import selectors as releases
from synthweb.runs import selectors as runs
from synthweb.runs.models import SynthesisRun

FIRST = timedelta(days=30)
"""The latest time that is new to an auditor who has never marked the log as read."""
WEEK = timedelta(days=7)
LINES = 5  # of each kind; the log has the rest
FAR, FEWEST = 3, 5
"""A release is far above the others at so many times their median of ε, once there are so many."""
FAILURES = 3  # failed runs of one dataset within a week
CHECKED = 200  # the newest releases, whose receipts are compared with the log
SHARING = ("release.shared", "public_link.made")


@dataclass(frozen=True, kw_only=True)
class NewsGroup:
    """New entries of one kind. count: of all entries; deeds: the newest of them."""

    title: str
    count: int
    deeds: list[Deed]
    address: str


@dataclass(frozen=True, kw_only=True)
class Unusual:
    """Something that a rule points out. address: of the entry or the page where it can be read."""

    rule: str
    sentence: str
    address: str


@dataclass(frozen=True, kw_only=True)
class LogNews:
    """since: from when on; visited: whether the auditor has marked the log as read before; last: the newest
    entry."""

    since: datetime
    visited: bool
    last: int
    groups: list[NewsGroup]
    unusual: list[Unusual]


def _groups() -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (
        (_("Budget granted"), ("budget.granted",)),
        (_("Releases published"), ("release.published",)),
        (
            _("Shared and taken back"),
            ("release.shared", "release.revoked"),
        ),
        (_("Looks at real rows"), READS_REAL_ROWS),
        (_("Deleted"), ("dataset.deleted", "reference.deleted", "template.deleted")),
        (
            _("Public links"),
            (
                "public_link.made",
                "public_link.revoked",
                "public_links.allowed",
                "public_links.forbidden",
            ),
        ),
    )


def news_for(user: User) -> LogNews:
    """What an auditor reads first; PermissionDenied for everybody else."""
    log = log_access.whole_log(user).log
    visit = LogVisit.objects.filter(user=user).first()
    since = visit.at if visit else timezone.now() - FIRST
    fresh = log.filter(sequence__gt=visit.sequence) if visit else log.filter(at__gte=since)
    newest = log.values_list("sequence", flat=True).first()
    return LogNews(
        since=since,
        visited=visit is not None,
        last=newest or 0,
        groups=[
            group
            for title, actions in _groups()
            if (group := _group(title, fresh.filter(action__in=actions), actions)) is not None
        ],
        unusual=[
            *_differing(user, log),
            *_far_above(user, since),
            *_seen_before_sharing(user, log, fresh),
            *_failing(user),
            *_raised_twice(log, fresh),
        ],
    )


@transaction.atomic
def mark_read(user: User, *, up_to: int) -> None:
    """Everything up to this entry is no longer new; an earlier mark is never moved back. PermissionDenied as
    above."""
    entry = log_access.whole_log(user).log.filter(sequence__lte=up_to).first()
    if entry is None:
        return
    visit, made = LogVisit.objects.select_for_update().get_or_create(
        user=user, defaults={"sequence": entry.sequence, "at": entry.at}
    )
    if not made and visit.sequence < entry.sequence:
        visit.sequence, visit.at = entry.sequence, entry.at
        visit.save(update_fields=["sequence", "at"])


def _group(
    title: str, entries: QuerySet[AuditEntry], actions: Sequence[str]
) -> NewsGroup | None:
    count = entries.count()
    if not count:
        return None
    address = reverse("ledger:audit")
    return NewsGroup(
        title=title,
        count=count,
        deeds=audit_lines.lines(entries[:LINES]),
        address=f"{address}?action={actions[0]}" if len(actions) == 1 else address,
    )


def entry_address(entry: AuditEntry) -> str:
    """The audit log, narrowed to the object of an entry, at that entry."""
    return f"{reverse('ledger:audit')}?object={entry.object_code}#entry-{entry.sequence}"


def _differing(user: User, log: QuerySet[AuditEntry]) -> Iterator[Unusual]:
    """Receipts whose digest is not the one that the log has of their publication, or whose plan is not that
    of the HOLD."""
    stored = releases.releases_for(user).annotate(
        core=KeyTextTransform("digest", "receipt"),
        plan=KeyTextTransform("sha256", KeyTextTransform("plan", "receipt")),
    )[:CHECKED]
    rows = list(stored)
    published = {
        code: detail.get("receipt")
        for code, detail in log.filter(
            action="release.published", object_code__in=[row.code for row in rows]
        ).values_list("object_code", "detail")
    }
    held = dict(
        LedgerEntry.objects.filter(
            kind=LedgerEntry.Kind.HOLD, run_code__in=[row.run_code for row in rows]
        ).values_list("run_code", "evidence")
    )
    for row in rows:
        # Entries of the first version name no digest: there is nothing to compare.
        written = published.get(row.code, "")
        if written not in (None, row.core) or row.plan != held.get(row.run_code):
            yield Unusual(
                rule=_("A receipt differs from what was written down when it was made"),
                sentence=row.name,
                address=reverse("releases:receipt", args=[row.code]),
            )


def _far_above(user: User, since: datetime) -> Iterator[Unusual]:
    """Releases that cost far more than is usual here."""
    costs = list(
        releases.releases_for(user).values_list("code", "name", "epsilon", "created_at")
    )
    if len(costs) < FEWEST:
        return
    usual = median(epsilon for _code, _name, epsilon, _at in costs)
    for code, name, epsilon, at in costs:
        if at > since and epsilon > FAR * usual:
            yield Unusual(
                rule=_(
                    "A release costs more than %(times)s times the median of your organisation"
                )
                % {"times": FAR},
                sentence=_("%(name)s: ε %(epsilon)s, median %(median)s")
                % {
                    "name": name,
                    "epsilon": written_number(short_text("epsilon", epsilon)),
                    "median": written_number(short_text("epsilon", int(usual))),
                },
                address=reverse("releases:receipt", args=[code]),
            )


def _seen_before_sharing(
    user: User, log: QuerySet[AuditEntry], fresh: QuerySet[AuditEntry]
) -> Iterator[Unusual]:
    """Comparisons with real data that were opened while a release of that dataset was shared with nobody."""
    opened = list(fresh.filter(action=REPORT).order_by("sequence"))
    of_dataset: dict[str, list[str]] = defaultdict(list)
    listed = releases.releases_for(user).filter(
        dataset__code__in={entry.object_code for entry in opened}
    )
    for dataset, code in listed.values_list("dataset__code", "code"):
        of_dataset[dataset].append(code)
    shared: dict[str, int] = {}
    for code, sequence in (
        log.filter(
            action__in=SHARING, object_code__in=list(chain.from_iterable(of_dataset.values()))
        )
        .order_by("-sequence")
        .values_list("object_code", "sequence")
    ):
        shared[code] = sequence  # the first one is set last
    reported: set[str] = set()
    for entry in opened:
        late = any(
            shared.get(code, entry.sequence + 1) > entry.sequence
            for code in of_dataset[entry.object_code]
        )
        if late and entry.object_code not in reported:
            reported.add(entry.object_code)
            (line,) = audit_lines.lines([entry])
            yield Unusual(
                rule=_("A comparison with real data was opened before a release was shared"),
                sentence=_("%(dataset)s, by %(who)s")
                % {"dataset": line.name, "who": entry.actor},
                address=entry_address(entry),
            )


def _failing(user: User) -> Iterator[Unusual]:
    """Datasets whose runs fail again and again."""
    failed = runs.runs_for(user).filter(
        state=SynthesisRun.State.FAILED, created_at__gte=timezone.now() - WEEK
    )
    counted = (
        failed.order_by()
        .values("dataset__code", "dataset__name")
        .annotate(count=Count("pk"))
        .filter(count__gte=FAILURES)
    )
    for row in counted.order_by("dataset__name"):
        yield Unusual(
            rule=_("%(count)s runs or more of one dataset failed within a week")
            % {"count": FAILURES},
            sentence=_("%(dataset)s: %(count)s runs")
            % {"dataset": row["dataset__name"], "count": row["count"]},
            address=f"{reverse('runs:index')}?dataset={row['dataset__code']}&state=failed",
        )


def _raised_twice(log: QuerySet[AuditEntry], fresh: QuerySet[AuditEntry]) -> Iterator[Unusual]:
    """Accounts whose budget was granted and raised, or raised twice, within a week."""
    accounts = set(fresh.filter(action="budget.granted").values_list("object_code", flat=True))
    grants: dict[str, list[AuditEntry]] = defaultdict(list)
    for entry in log.filter(action="budget.granted", object_code__in=accounts).order_by(
        "sequence"
    ):
        grants[entry.object_code].append(entry)
    newest = set(fresh.filter(action="budget.granted").values_list("sequence", flat=True))
    for entries in grants.values():
        # The first grant opens the account; what comes later raises its cap.
        raises = entries[1:]
        pairs = [
            later
            for earlier, later in pairwise(raises)
            if later.at - earlier.at <= WEEK and later.sequence in newest
        ]
        if pairs:
            (line,) = audit_lines.lines([pairs[-1]])
            yield Unusual(
                rule=_("The cap of an account was raised twice within a week"),
                sentence=line.name,
                address=entry_address(pairs[-1]),
            )
