"""Releases in the administration: to read, never to change. Seeds of samples are their requesters'
secrets."""

from __future__ import annotations

from django.contrib import admin

from synthweb.accounts.admin import ReadOnlyAdmin
from synthweb.releases.models import (
    CheckMark,
    Edition,
    PaidCheck,
    PlausibleTables,
    Release,
    ReleaseGrant,
    ReleaseMark,
    RepairedTable,
    Sample,
)


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin):
    site_page = "releases:look"
    organisation_path = "dataset__organisation"
    list_display = [
        "name",
        "code",
        "dataset",
        "mechanism",
        "rows",
        "run_code",
        "created_by",
        "created_at",
    ]
    list_filter = ["mechanism"]
    search_fields = ["name", "code", "run_code"]
    list_select_related = ["dataset", "created_by"]
    # The secret makes the seeds of all samples, which belong to their requesters alone.
    exclude = ["model", "sample_secret"]
    ordering = ["-created_at"]


@admin.register(ReleaseGrant)
class ReleaseGrantAdmin(ReadOnlyAdmin):
    organisation_path = "release__dataset__organisation"
    list_display = ["release", "analyst", "granted_by", "created_at", "revoked_at"]
    list_select_related = ["release", "analyst", "granted_by"]
    ordering = ["-created_at"]


@admin.register(ReleaseMark)
class ReleaseMarkAdmin(ReadOnlyAdmin):
    organisation_path = "release__dataset__organisation"
    list_display = ["release", "sequence", "kind", "hash"]
    list_select_related = ["release"]
    ordering = ["-pk"]


@admin.register(Edition)
class EditionAdmin(ReadOnlyAdmin):
    organisation_path = "release__dataset__organisation"
    list_display = ["code", "release", "note", "created_by", "created_at"]
    list_select_related = ["release", "created_by"]
    exclude = ["model"]
    ordering = ["-created_at"]


@admin.register(PlausibleTables)
class PlausibleTablesAdmin(ReadOnlyAdmin):
    organisation_path = "release__dataset__organisation"
    exclude = ["content"]
    list_display = ["release", "version", "created_at"]
    list_select_related = ["release"]
    ordering = ["-created_at"]


@admin.register(RepairedTable)
class RepairedTableAdmin(ReadOnlyAdmin):
    organisation_path = "release__dataset__organisation"
    exclude = ["content"]
    list_display = ["code", "release", "name", "way", "rows", "created_by", "created_at"]
    list_select_related = ["release", "created_by"]
    ordering = ["-created_at"]


@admin.register(PaidCheck)
class PaidCheckAdmin(ReadOnlyAdmin):
    organisation_path = "release__dataset__organisation"
    list_display = ["code", "release", "name", "run_code", "created_by", "created_at"]
    list_select_related = ["release", "created_by"]
    ordering = ["-created_at"]


@admin.register(CheckMark)
class CheckMarkAdmin(ReadOnlyAdmin):
    organisation_path = "paid_check__release__dataset__organisation"
    list_display = ["paid_check", "sequence", "kind", "reason", "created_by", "created_at"]
    list_select_related = ["paid_check", "created_by"]
    ordering = ["-created_at"]


@admin.register(Sample)
class SampleAdmin(ReadOnlyAdmin):
    organisation_path = "release__dataset__organisation"
    list_display = ["code", "release", "requested_by", "rows", "commitment", "created_at"]
    list_select_related = ["release", "requested_by"]
    exclude = ["seed"]
    ordering = ["-created_at"]
