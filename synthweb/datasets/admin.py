"""Datasets in the administration: to be looked at, never changed; drafts and everything made from rows stay
out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from synthweb.accounts import selectors as people
from synthweb.accounts.admin import ReadOnlyAdmin
from synthweb.datasets.models import Dataset, DomainVersion


@admin.register(Dataset)
class DatasetAdmin(ReadOnlyAdmin):
    site_page = "pages:dataset"
    list_display = ["name", "code", "organisation", "steward", "status", "created_at"]
    list_filter = ["status"]
    search_fields = ["name", "code"]
    fields = [
        "name",
        "code",
        "description",
        "organisation",
        "steward",
        "status",
        "file_kind",
        "created_at",
    ]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[Any]:
        """The exact size depends on every row: it is for stewards and the operator alone."""
        shown = list(super().get_fields(request, obj))
        return [*shown, "size_bytes"] if people.is_operator(request.user) else shown


@admin.register(DomainVersion)
class DomainVersionAdmin(ReadOnlyAdmin):
    organisation_path = "dataset__organisation"
    list_display = ["dataset", "number", "digest", "confirmed_by", "created_at"]
    search_fields = ["dataset__name", "dataset__code", "digest"]
    fields = ["dataset", "number", "digest", "document", "confirmed_by", "created_at"]
