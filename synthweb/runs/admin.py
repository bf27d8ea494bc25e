"""Runs in the administration: to read, never to change."""

from __future__ import annotations

from django.contrib import admin

from synthweb.accounts.admin import ReadOnlyAdmin
from synthweb.runs.models import (
    CountsJob,
    FilledCounts,
    ImplicatesJob,
    OutboxMessage,
    RangesJob,
    SynthesisRun,
    TableJob,
    ValidationAllowance,
)


@admin.register(SynthesisRun)
class SynthesisRunAdmin(ReadOnlyAdmin):
    site_page = "runs:run"
    organisation_path = "dataset__organisation"
    list_display = [
        "name",
        "code",
        "dataset",
        "state",
        "stage",
        "attempts",
        "lease_held",
        "created_by",
        "created_at",
    ]
    list_filter = ["state"]
    search_fields = ["name", "code", "dataset__code"]
    list_select_related = ["dataset", "created_by"]
    ordering = ["-created_at"]


@admin.register(ValidationAllowance)
class ValidationAllowanceAdmin(ReadOnlyAdmin):
    organisation_path = "release__dataset__organisation"
    list_display = ["code", "release", "analyst", "granted_by", "expires_at", "revoked_at"]
    list_select_related = ["release", "analyst", "granted_by"]
    ordering = ["-created_at"]


@admin.register(TableJob)
class TableJobAdmin(ReadOnlyAdmin):
    organisation_path = "dataset__organisation"
    list_display = [
        "kind",
        "code",
        "dataset",
        "state",
        "attempts",
        "requested_by",
        "created_at",
    ]
    list_filter = ["kind", "state"]
    list_select_related = ["dataset", "requested_by"]
    ordering = ["-created_at"]


@admin.register(RangesJob)
class RangesJobAdmin(ReadOnlyAdmin):
    organisation_path = "release__dataset__organisation"
    list_display = ["code", "release", "state", "attempts", "created_at"]
    list_filter = ["state"]
    list_select_related = ["release"]
    ordering = ["-created_at"]


@admin.register(CountsJob)
class CountsJobAdmin(ReadOnlyAdmin):
    organisation_path = "release__dataset__organisation"
    list_display = ["code", "release", "state", "attempts", "created_at"]
    list_filter = ["state"]
    list_select_related = ["release"]
    ordering = ["-created_at"]


@admin.register(ImplicatesJob)
class ImplicatesJobAdmin(ReadOnlyAdmin):
    organisation_path = "release__dataset__organisation"
    list_display = ["code", "release", "state", "attempts", "created_at"]
    list_filter = ["state"]
    list_select_related = ["release"]
    ordering = ["-created_at"]


@admin.register(FilledCounts)
class FilledCountsAdmin(ReadOnlyAdmin):
    organisation_path = "dataset__organisation"
    list_display = ["code", "name", "dataset", "state", "asked_by", "created_at"]
    list_filter = ["state"]
    list_select_related = ["dataset", "asked_by"]
    ordering = ["-created_at"]


@admin.register(OutboxMessage)
class OutboxMessageAdmin(ReadOnlyAdmin):
    """What still waits for a worker; of every organisation, so for the operator alone."""

    organisation_path = None
    list_display = ["task", "subject_code", "queue", "created_at", "sent_at", "times_sent"]
    ordering = ["created_at"]
