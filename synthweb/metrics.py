"""Numbers for Prometheus: how much waits, is worked on and has ended, and what this process needs.

States, queues and folders are the only labels. No name, code, account or count of records is among them: whoever may read the
numbers of an office still learns nothing about its data.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.cache import caches
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
from redis.exceptions import RedisError

from synthweb.notifications.models import Delivery
from synthweb.runs.models import OutboxMessage, SynthesisRun
from synthweb.runs.reconcile import PASSED_AT, SUBJECTS

FOLDERS = {"vault": "VAULT_DIR", "previews": "PREVIEW_DIR", "spool": "SPOOL_DIR"}
"""What the web writes to."""


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
            _counted(unsent, "queue"),
        )
        yield _by(
            "synthweb_free_bytes",
            "Free space where the web writes, by folder",
            "folder",
            {name: _free(name) for name in FOLDERS},
        )
        yield from _reconciled()


def _work() -> Iterator[Metric]:
    """How many runs and jobs workers are at, how many wait for one, and for how long the oldest has."""
    held: dict[str, float] = {}
    waiting: dict[str, float] = {}
    oldest: dict[str, float] = {}
    for task, kind in SUBJECTS.items():
        rows = kind._default_manager.filter(state__in=kind.OPEN)
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


def _reconciled() -> Iterator[Metric]:
    """Of beat and the worker of the queue `default`: nothing where no pass is known."""
    try:
        at = caches["default"].get(PASSED_AT)
    except (RedisError, OSError):
        return
    if at is not None:
        yield GaugeMetricFamily(
            "synthweb_reconciler_seconds",
            "Since the reconciler, which beat rings for, was through",
            value=max(0.0, time.time() - at),
        )


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


def _free(folder: str) -> float:
    place = Path(getattr(settings, FOLDERS[folder]))
    # A folder that was not made yet lies where its parent does.
    while not place.exists():
        place = place.parent
    return float(shutil.disk_usage(place).free)
