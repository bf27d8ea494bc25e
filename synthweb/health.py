"""Is it alive, is it ready: for load balancers and containers. Says yes or no, and nothing about anybody's
data."""

from __future__ import annotations

import logging

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError

from synthweb.celery import app

log = logging.getLogger(__name__)


@require_safe
@never_cache
def livez(_request: HttpRequest) -> HttpResponse:
    """The process answers."""
    return JsonResponse({"alive": True})


@require_safe
@never_cache
def readyz(_request: HttpRequest) -> HttpResponse:
    """The database and the broker answer as well."""
    parts = {"database": _database(), "broker": _broker()}
    return JsonResponse(parts, status=200 if all(parts.values()) else 503)


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        log.warning("the database does not answer")
        return False
    return True


def _broker() -> bool:
    try:
        # One attempt: a probe has a deadline, and by default the client tries for ever.
        with app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=2)
    except (OSError, OperationalError):
        log.warning("the broker does not answer")
        return False
    return True
