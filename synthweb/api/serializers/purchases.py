"""Descriptions that are bought once, as JSON: what is asked, and what was learned."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from synthweb.api.serializers.amounts import LossField, SpentField
from synthweb.api.serializers.datasets import DocumentField
from synthweb.api.serializers.strict import StrictSerializer, Text
from synthweb.datasets.models import LearnedDescription
from synthweb.releases import chain


class NewPurchaseSerializer(StrictSerializer):
    """Columns to be learned once for all later releases of a dataset."""

    name = Text(required=False, allow_blank=True, default="", max_length=200)
    columns = serializers.ListField(
        required=False,
        child=Text(max_length=1_000),
        max_length=1_000,
        default=list,
        help_text="Undeclared columns; empty: all of them.",
    )
    epsilon = SpentField()
    delta = LossField(required=False, default=Fraction(0))


class LearnedSerializer(serializers.ModelSerializer[LearnedDescription]):
    """What a run learned of columns of a dataset, which later releases use free."""

    run = serializers.CharField(source="run_code")
    asked = serializers.IntegerField(
        source="version.number", help_text="The version of the description it was asked under."
    )
    columns = serializers.SerializerMethodField(help_text="Those that were found.")
    receipt = serializers.SerializerMethodField(
        help_text="For `python -m synth_engine verify --bought`, with its marks."
    )

    class Meta:
        model = LearnedDescription
        fields = ["run", "asked", "columns", "receipt", "created_at"]
        read_only_fields = fields

    @extend_schema_field(DocumentField())
    def get_receipt(self, row: LearnedDescription) -> Any:
        return chain.receipt_of_purchase(row)

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_columns(self, row: LearnedDescription) -> list[Any]:
        return list(row.learned)
