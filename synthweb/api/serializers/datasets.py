"""Datasets and their public descriptions."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from synthweb.api.serializers.strict import StrictSerializer, Text
from synthweb.datasets.models import Dataset, DomainVersion


class RefusalSerializer(serializers.Serializer[Any]):
    """Why an upload was refused: line, column, rule and repair; never a value."""

    line = serializers.IntegerField(allow_null=True)
    column = serializers.CharField(allow_null=True)
    rule = serializers.CharField()
    repair = serializers.CharField()


class DatasetSerializer(serializers.ModelSerializer[Dataset]):
    """One table as its organisation may know it: no number of rows, no content."""

    url = serializers.HyperlinkedIdentityField(view_name="api:dataset-detail", lookup_field="code")
    steward = serializers.CharField(source="steward.username")
    refusal = RefusalSerializer(allow_null=True, help_text="Set when status is refused.")
    account = serializers.SerializerMethodField(help_text="Code of the budget account it spends from.")

    class Meta:
        model = Dataset
        fields = [
            "code",
            "url",
            "name",
            "description",
            "status",
            "refusal",
            "steward",
            "file_kind",
            "account",
            "created_at",
        ]
        read_only_fields = fields

    def get_account(self, dataset: Dataset) -> str | None:
        coverage = getattr(dataset, "coverage", None)
        return coverage.account.code if coverage else None


class UploadSerializer(StrictSerializer):
    """What a new table is called; the table itself is the body of the request."""

    name = Text(max_length=200)
    description = Text(required=False, allow_blank=True, default="", max_length=4000)


@extend_schema_field({"type": "object", "additionalProperties": True})
class DocumentField(serializers.JSONField):
    """A JSON document whose schema is published elsewhere (docs/domain.schema.json, the receipt's schema)."""


class DomainVersionSerializer(serializers.ModelSerializer[DomainVersion]):
    """A confirmed public description: immutable, numbered, hashed."""

    dataset = serializers.CharField(source="dataset.code")
    document = DocumentField()
    confirmed_by = serializers.CharField(source="confirmed_by.username")

    class Meta:
        model = DomainVersion
        fields = ["dataset", "number", "digest", "document", "confirmed_by", "created_at"]
        read_only_fields = fields
