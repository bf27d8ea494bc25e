"""Messages to workers: each names a task, and the row that waits for it.

The message is written to the outbox in the caller's transaction and sent once that commits. If the broker is
away the request succeeds all the same and the reconciler sends it later; a message sent twice is refused by
the lease. Tasks are named, not imported: the web process never loads what the worker runs.
"""

from __future__ import annotations

import logging
import socket

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from kombu.exceptions import OperationalError

from synthweb.celery import app
from synthweb.lib import log_context, tracing
from synthweb.runs.models import (
    CountsJob,
    FilledCounts,
    ImplicatesJob,
    OutboxMessage,
    RangesJob,
    SynthesisRun,
    TableJob,
)

logger = logging.getLogger(__name__)

SYNTHESIZE = SynthesisRun.TASK
TABLE_JOB = TableJob.TASK
EXPECTED_RANGES = RangesJob.TASK
COUNTS = CountsJob.TASK
IMPLICATES = ImplicatesJob.TASK
FILLED_COUNTS = FilledCounts.TASK
RECONCILE = "runs.reconcile"
RETENTION = "runs.retention"
CONFIDENTIAL = "confidential"
DEFAULT = "default"
PATIENCE = 1.0  # seconds a request waits for the broker to accept a connection


def enqueue(task: str, code: str, queue: str = CONFIDENTIAL) -> None:
    """Have `task` called with `code`; once per task and code, however often it is enqueued."""
    message, _ = OutboxMessage.objects.update_or_create(
        task=task, subject_code=code, defaults={"queue": queue, "sent_at": None}
    )
    # After the commit: a worker that is called earlier would not find the row.
    transaction.on_commit(lambda: send(message.pk))


def send(pk: int) -> bool:
    """Send one message of the outbox now; False, and still unsent, when the broker is away."""
    message = OutboxMessage.objects.filter(pk=pk).first()
    # Its subject is over, and the reconciler has deleted the message: nothing is left to send.
    if message is None:
        return True
    try:
        _probe()
        # Without retries: somebody waits for this request, and
        # the reconciler tries again later.
        app.send_task(
            message.task,
            args=[message.subject_code],
            queue=message.queue,
            retry=False,
            headers={
                "request_id": log_context.fields().get("request"),
                "trace": tracing.carried(),
            },
        )
    except (OperationalError, OSError) as error:
        logger.warning(
            "the broker is away (%s); the reconciler will send %s",
            type(error).__name__,
            message.task,
        )
        return False
    OutboxMessage.objects.filter(pk=pk).update(sent_at=Now(), times_sent=F("times_sent") + 1)
    return True


def _probe() -> None:
    """OSError at once when nobody listens: the client library would keep a person waiting for seconds of
    retries."""
    broker = app.connection_for_write()
    host = broker.hostname or ""
    if host.startswith("socket://"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(PATIENCE)
            probe.connect(host.removeprefix("socket://").partition("?")[0])
    elif broker.transport_cls in ("redis", "rediss"):
        socket.create_connection(
            (host or "localhost", broker.port or 6379), timeout=PATIENCE
        ).close()
