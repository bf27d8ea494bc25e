"""The audit log."""

from __future__ import annotations

from rest_framework import serializers

from synthweb.api.serializers.datasets import DocumentField
from synthweb.audit import labels
from synthweb.audit.models import AuditEntry


class DeedSerializer(serializers.ModelSerializer[AuditEntry]):
    """One deed, with its link in the chain, which runs through all organisations."""

    in_words = serializers.SerializerMethodField()
    detail = DocumentField()

    class Meta:
        model = AuditEntry
        fields = [
            "sequence",
            "at",
            "actor",
            "action",
            "in_words",
            "object_kind",
            "object_code",
            "detail",
            "previous_hash",
            "hash",
        ]
        read_only_fields = fields

    def get_in_words(self, entry: AuditEntry) -> str:
        return labels.sentence(entry.action)
