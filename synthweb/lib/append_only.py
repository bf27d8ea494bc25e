"""Rows that are written once. The database refuses UPDATE, DELETE and TRUNCATE by triggers; this class marks them."""

from __future__ import annotations

from django.db import models


class AppendOnly(models.Model):
    """Base of append-only tables; `synthweb.lib.append_only.install` puts triggers on every subclass's table."""

    class Meta:
        abstract = True
