"""Who did what: append-only and hash-chained, like the ledger."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from synthweb.lib.append_only import AppendOnly


class AuditEntry(AppendOnly):
    """One deed. `detail` holds public facts (codes, amounts, reasons), never a value of a row."""

    sequence = models.PositiveBigIntegerField(unique=True)
    at = models.DateTimeField()
    actor = models.CharField(max_length=150)  # username, "worker", "system" or "anonymous"
    organisation_code = models.CharField(max_length=16, blank=True, db_index=True)
    action = models.CharField(
        max_length=64
    )  # noun.verb-in-the-past: dataset.uploaded, report.opened
    object_kind = models.CharField(max_length=32, blank=True)
    object_code = models.CharField(max_length=32, blank=True, db_index=True)
    detail = models.JSONField(default=dict)
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ["-sequence"]
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.sequence} {self.action}"


class ChainHead(models.Model):
    """The lock and the last link of the audit chain: one row."""

    name = models.CharField(max_length=32, unique=True)
    sequence = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"{self.name} at {self.sequence}"


class LogVisit(models.Model):
    """How far somebody has read the log: what came later is new to them."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="log_visit"
    )
    sequence = models.PositiveBigIntegerField()  # of the last entry that they saw
    at = models.DateTimeField()  # of that entry

    def __str__(self) -> str:
        return f"{self.user} has read up to {self.sequence}"
