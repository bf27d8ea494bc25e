"""The Celery application: `celery -A synthweb.celery worker -Q confidential`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synthweb.settings")
app = Celery("synthweb")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["synthweb.runs"])
