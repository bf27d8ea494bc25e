"""The Celery application: `celery -A synthweb.celery worker -Q confidential`."""

from __future__ import annotations

import gc
import mmap
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from celery import Celery, Task, signals
from django.conf import settings

from synthweb.lib import disks, dumps, installation_format, log_context, tracing

if TYPE_CHECKING:
    from celery.worker import WorkController

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synthweb.settings")
# Celery would run the checks of Django, load every page for them, and not look at what they say. `migrate`
# and `manage.py check` run them before any of these processes starts.
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")
app = Celery("synthweb")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["synthweb.notifications", "synthweb.runs", *settings.EXTRAS])


@signals.task_prerun.connect
def begin_to_log(
    task: Task[Any, Any] | None = None, args: Sequence[object] = (), **_about: object
) -> None:
    """All log lines from here on belong to this task, to the row that it is about, and to the request that
    asked for it."""
    if task is None:
        return
    request = (task.request.headers or {}).get("request_id")
    ids = {"task": task.name, "code": args[0] if args else None, "request": request}
    log_context.begin({name: value for name, value in ids.items() if isinstance(value, str)})
    # Those that beat sends every few seconds are about no row, and are not traced.
    if args:
        tracing.begin(task.name, carried=str((task.request.headers or {}).get("trace") or ""))
        facts = {tracing.TASK: task.name, tracing.CODE: args[0], tracing.REQUEST: request}
        tracing.say(facts)


@signals.task_postrun.connect
def end_trace(state: str | None = None, **_about: object) -> None:
    """The task is over; one that raised an error says so, and not which."""
    if state == "FAILURE":
        tracing.fail("raised")
    tracing.end()


@signals.worker_process_shutdown.connect
def flush_traces(**_about: object) -> None:
    """A child of the pool ends without the exits of Python."""
    tracing.flush()


_STOPPING = mmap.mmap(-1, 1)
"""One byte that a worker shares with the children that it forks: whether it was asked to stop."""


@signals.worker_shutting_down.connect
def note_stop(**_about: object) -> None:
    """Its child ends the task that it is at, and is killed if that takes too long."""
    _STOPPING[0] = 1


def is_stopping() -> bool:
    """Whether the worker of this process was asked to stop: then nothing more is begun."""
    return bool(_STOPPING[0])


@signals.worker_init.connect
@signals.beat_init.connect
def refuse_other_format(**_about: object) -> None:
    """Before anything else: a worker or beat of another version touches nothing of an installation."""
    installation_format.stop_if_other()


@signals.worker_init.connect
def forbid_dumps(**_about: object) -> None:
    """Before a worker takes its first message: no core dump may hold a table."""
    # In the parent, before any pool process is forked: the limit is inherited.
    dumps.forbid()


@signals.worker_init.connect
def tell_room(sender: WorkController | None = None, **_about: object) -> None:
    """The confidential worker tells how much room there is where it alone writes."""
    if sender is not None and "confidential" in sender.app.amqp.queues.consume_from:
        signals.heartbeat_sent.connect(disks.RoomOfWorker(), weak=False)


@signals.worker_init.connect
def load(sender: WorkController | None = None, **_about: object) -> None:
    """Before a worker takes its first message. The children of the confidential worker share the loops that
    it loads, also those that follow one which ended: no run waits for a compiler. Nobody waits for the tasks
    of the `default` queue, which load what they call."""
    queues = set[str]() if sender is None else {*sender.app.amqp.queues.consume_from}
    if queues & {"confidential", "default"}:
        from synth_engine import jit

        if settings.COMPILED.is_dir():
            jit.use(settings.COMPILED)
        if "confidential" in queues:
            jit.warm_up()
    # Collections of garbage in the children do not write to what they share.
    gc.collect()
    gc.freeze()
