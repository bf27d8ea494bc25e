"""Marks beside receipts: what became known of something after its receipt was published."""

from __future__ import annotations

from typing import Any

from django.db import models

from synthweb.lib.append_only import AppendOnly


class Mark(AppendOnly):
    """A link of a chain that starts from the digest of a receipt, which itself never changes. Base of the
    marks of each kind of thing."""

    sequence = models.PositiveIntegerField()
    # Of the whole mark and of the hash before it.
    hash = models.CharField(max_length=64, unique=True)
    document = models.JSONField()  # the mark as receipts show it, with its signature

    class Meta:
        abstract = True


def documents(marks: models.QuerySet[Any]) -> list[Any]:
    """The marks of one thing as its receipt shows them, the oldest first."""
    return list(marks.order_by("sequence").values_list("document", flat=True))
