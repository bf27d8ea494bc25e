"""Datasets in the administration: to be looked at, never changed; drafts and everything made from rows stay out."""

from __future__ import annotations

from django.contrib import admin

from synthweb.accounts.admin import ReadOnlyAdmin
from synthweb.datasets.models import Dataset, DomainVersion


@admin.register(Dataset)
class DatasetAdmin(ReadOnlyAdmin):
    list_display = ["name", "code", "organisation", "steward", "status", "created_at"]
    list_filter = ["status"]
    search_fields = ["name", "code"]
    fields = [
        "name", "code", "description", "organisation", "steward", "status", "file_kind", "size_bytes", "created_at",
    ]  # fmt: skip


@admin.register(DomainVersion)
class DomainVersionAdmin(ReadOnlyAdmin):
    organisation_path = "dataset__organisation"
    list_display = ["dataset", "number", "digest", "confirmed_by", "created_at"]
    search_fields = ["dataset__name", "dataset__code", "digest"]
    fields = ["dataset", "number", "digest", "document", "confirmed_by", "created_at"]
