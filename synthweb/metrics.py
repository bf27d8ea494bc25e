"""Numbers for Prometheus: how much waits, is worked on and has ended, and what this process needs.

States, tasks, queues, folders, classes of status and two words for refused sign-ins are the only labels. No
name, code, account or count of records is among them: whoever may read the numbers of an office still learns
nothing about its data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import (
    CollectorRegistry,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from synthweb.lib import disks, numbers, occurrences
from synthweb.notifications.models import Delivery
from synthweb.runs import leases, queue
from synthweb.runs.models import OutboxMessage, SynthesisRun
from synthweb.runs.reconcile import SUBJECTS


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """All numbers, for whoever shows the token of the setting; nothing is here without one."""
    token = settings.METRICS_TOKEN
    shown = request.headers.get("Authorization", "")
    if not token or not constant_time_compare(shown, f"Bearer {token}"):
        raise Http404
    return HttpResponse(generate_latest(_registry()), content_type=CONTENT_TYPE_LATEST)


def _registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    # Read from the database at each look: every web process says the same.
    registry.register(_Installation())
    numbers.register(registry)
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    return registry


class _Installation(Collector):
    """What the rows and folders say."""

    def collect(self) -> Iterable[Metric]:
        yield _by("synthweb_runs", "Runs, by state", "state", _states(SynthesisRun))
        yield _by(
            "synthweb_deliveries", "E-mails and webhooks, by state", "state", _states(Delivery)
        )
        yield from _work()
        unsent = OutboxMessage.objects.filter(sent_at=None)
        yield _by(
            "synthweb_messages_unsent",
            "Messages to workers that the broker has not got yet, by queue",
            "queue",
            dict.fromkeys((queue.CONFIDENTIAL, queue.DEFAULT), 0.0) | _counted(unsent, "queue"),
        )
        yield _by("synthweb_free_bytes", "Free space, by folder", "folder", _free())
        if connection.vendor == "postgresql":
            yield GaugeMetricFamily(
                "synthweb_database_bytes", "Size of the database", value=_database_bytes()
            )
        yield from _age(
            occurrences.RECONCILED,
            "synthweb_reconciler_seconds",
            "Since the last pass of the reconciler, which beat starts",
        )
        yield from _age(
            occurrences.BACKED_UP, "synthweb_backup_seconds", "Since a backup was made"
        )
        yield from _age(
            occurrences.VERIFIED,
            "synthweb_verification_seconds",
            "Since manage.py verify_ledger found every chain intact",
        )


def _work() -> Iterator[Metric]:
    """How many runs and jobs workers are at, how many wait for one, and for how long the oldest has."""
    held: dict[str, float] = {}
    waiting: dict[str, float] = {}
    oldest: dict[str, float] = {}
    for task, kind in SUBJECTS.items():
        rows = leases.open_rows(kind)
        held[task] = rows.filter(lease_held=True).count()
        idle = rows.filter(lease_held=False)
        waiting[task] = idle.count()
        first = idle.order_by("created_at").values_list("created_at", flat=True).first()
        oldest[task] = (timezone.now() - first).total_seconds() if first else 0
    yield _by("synthweb_work_held", "Runs and jobs that a worker is at", "task", held)
    yield _by("synthweb_work_waiting", "Runs and jobs that wait for a worker", "task", waiting)
    yield _by(
        "synthweb_work_oldest_seconds", "Age of the oldest one that waits", "task", oldest
    )


def _age(what: str, name: str, text: str) -> Iterator[Metric]:
    """Seconds since something took place last; nothing where that is not known."""
    age = occurrences.age(what)
    if age is not None:
        yield GaugeMetricFamily(name, text, value=age)


def _by(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _states(model: type[SynthesisRun] | type[Delivery]) -> dict[str, float]:
    """Rows of each state, those that nothing is in included."""
    rows = _counted(model._default_manager.all(), "state")
    return {state: rows.get(state, 0.0) for state in model.State.values}


def _counted(rows: QuerySet[Any], field: str) -> dict[str, float]:
    return dict(rows.order_by().values_list(field).annotate(Count("pk")))


def _free() -> dict[str, float]:
    """Of the folders of the web, and of those that others told of; a backup's as it was when it was made."""
    room = {name: float(disks.free(place)) for name, place in disks.of_web().items()}
    of_worker = occurrences.last(disks.ROOM_OF_WORKER)
    room |= {name: number for name, number in of_worker.items() if name != occurrences.AT}
    made = occurrences.last(occurrences.BACKED_UP)
    return room | ({"backups": made["free"]} if made else {})


def _database_bytes() -> float:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return float(cursor.fetchone()[0])
