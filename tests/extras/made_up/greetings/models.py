"""A kind of job of its own."""

from django.conf import settings
from django.db import models

from synthweb.runs.models import Leased


class Greeting(Leased):
    """A greeting that a worker writes."""

    OPEN = ("waiting",)
    TASK = "greetings.write"

    state = models.CharField(max_length=12, default="waiting")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    words = models.CharField(max_length=100, blank=True)
