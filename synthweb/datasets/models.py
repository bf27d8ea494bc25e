"""Datasets and their public descriptions. No cell of a table is ever stored here: tables lie in the vault,
previews and suggestions in the preview store, and this database holds what the steward declared public."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from synthweb.accounts.models import Organisation
from synthweb.lib import codes
from synthweb.lib.append_only import AppendOnly


class Dataset(models.Model):
    """One uploaded table. `content_key` is an HMAC of its bytes under a key of this installation: it notices the
    same content uploaded again and says nothing to who lacks the key."""

    class Status(models.TextChoices):
        UPLOADED = "uploaded", "Waiting to be read"
        READY = "ready", "Ready"
        REFUSED = "refused", "Refused"

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="datasets")
    steward = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="datasets")
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    status = models.CharField(max_length=16, choices=Status, default=Status.UPLOADED)
    refusal = models.JSONField(null=True, blank=True)  # rule, repair, column, line of an InputError; never a value
    vault_name = models.CharField(max_length=64, unique=True)
    file_kind = models.CharField(max_length=16)  # csv, csv.gz
    size_bytes = models.BigIntegerField()
    content_key = models.CharField(max_length=64, db_index=True)
    draft = models.JSONField(default=dict, blank=True)  # what the steward has typed or confirmed so far, nothing else
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name


class DomainVersion(AppendOnly):
    """A confirmed public description, immutable; `document` is the engine's Domain as JSON, `digest` its SHA-256."""

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="domain_versions")
    number = models.PositiveIntegerField()
    document = models.JSONField()
    digest = models.CharField(max_length=64)
    confirmed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["dataset", "number"], name="domain_version_number")]
        ordering = ["dataset", "-number"]

    def __str__(self) -> str:
        return f"{self.dataset} v{self.number}"


class Preview(models.Model):
    """Where a steward object lies (preview, suggestions, report): its file is encrypted under the web's own key; this
    row holds no content. Written by the worker, read through selectors that write the audit log. All are short-lived
    but the names of the columns, against which descriptions are checked and which nobody is shown."""

    class Kind(models.TextChoices):
        TABLE = "table", "Preview and suggestions"
        REPORT = "report", "Comparison with real data"
        COLUMNS = "columns", "Names of the columns"

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="previews")
    kind = models.CharField(max_length=16, choices=Kind)
    subject = models.CharField(max_length=32, blank=True)  # the release code of a report
    store_name = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["dataset", "kind", "subject"])]

    def __str__(self) -> str:
        return f"{self.kind} of {self.dataset}"
