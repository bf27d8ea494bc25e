"""The Celery application: `celery -A synthweb.celery worker -Q confidential`."""

import os

from celery import Celery, signals

from synthweb.datasets import opened_tables
from synthweb.lib import dumps

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synthweb.settings")
app = Celery("synthweb")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["synthweb.notifications", "synthweb.runs"])


@signals.worker_init.connect
def begin_clean(**_about: object) -> None:
    """Before a worker takes its first message: no core dump may hold a table, and what a killed worker of an earlier
    version left readable is removed."""
    # In the parent, before any pool process is forked: the limit is inherited.
    dumps.forbid()
    opened_tables.sweep()
