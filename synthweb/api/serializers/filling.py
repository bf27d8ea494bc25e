"""Filled counts as JSON."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import Any

from rest_framework import serializers

from synth_engine.mixing import policy as policies
from synthweb.api.serializers.amounts import AmountSerializer, LossField, SpentField
from synthweb.api.serializers.datasets import DocumentField
from synthweb.api.serializers.strict import StrictSerializer, Text, WholeNumber
from synthweb.runs.models import FilledCounts


class FilledCountsSerializer(serializers.Serializer[Any]):
    """Filled counts. Analysts see those that are published, without the dataset and the reasons."""

    code = serializers.CharField()
    name = serializers.CharField()
    state = serializers.CharField(
        help_text="`asked`, `approved`, `published`, `refused`, `withdrawn` or `failed`."
    )
    private = serializers.SerializerMethodField(
        help_text="Always false: a policy is no differential privacy."
    )
    dataset = serializers.SerializerMethodField(help_text="Null for analysts.")
    purpose = serializers.SerializerMethodField(help_text="Null for analysts.")
    decision_reason = serializers.SerializerMethodField(help_text="Null for analysts.")
    plan = DocumentField(help_text="Groups and policy.")
    plan_sha256 = serializers.CharField(
        source="plan_digest", help_text="The digest of the plan, which an approval names."
    )
    counts = DocumentField(
        allow_null=True,
        help_text="The count of each group once they are published: exact where a group meets the policy "
        "by itself.",
    )
    created_at = serializers.DateTimeField()
    outside_at = serializers.SerializerMethodField(
        help_text="When the ledger's entry OUTSIDE was written, before the table was read; null for "
        "analysts, who do not see how long that took."
    )
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_private(self, _counts: FilledCounts) -> bool:
        return False

    def get_dataset(self, counts: FilledCounts) -> str | None:
        return counts.dataset.code if self._sees() else None

    def get_purpose(self, counts: FilledCounts) -> str | None:
        return counts.purpose if self._sees() else None

    def get_decision_reason(self, counts: FilledCounts) -> str | None:
        return counts.decision_reason if self._sees() else None

    def get_outside_at(self, counts: FilledCounts) -> datetime | None:
        return counts.outside_at if self._sees() else None

    def _sees(self) -> bool:
        return bool(self.context.get("sees_dataset"))


class FillRequestSerializer(StrictSerializer):
    """Groups of a dataset and a policy."""

    dataset = Text(max_length=16, help_text="The code of your dataset.")
    by = serializers.ListField(
        child=Text(max_length=500),
        min_length=1,
        max_length=policies.MAX_COLUMNS,
        help_text="Columns of the description, each combination of whose values is a group.",
    )
    day = Text(
        required=False,
        default=None,
        allow_null=True,
        max_length=500,
        help_text="A column of dates, for `least_days`.",
    )
    least_records = WholeNumber(
        required=False,
        default=100,
        min_value=policies.FEWEST_RECORDS,
        max_value=policies.MOST_RECORDS,
    )
    largest_share = LossField(
        required=False,
        default=Fraction(1, 10),
        help_text="Of a group's records, the most that one contributor may have.",
    )
    least_days = WholeNumber(
        required=False, default=1, min_value=1, max_value=policies.MOST_RECORDS
    )
    epsilon = SpentField(
        required=False, default=Fraction(1), help_text="Of the private alternative."
    )


class AskedCountsSerializer(FillRequestSerializer):
    """The request, with the digest of the plan that you have read."""

    plan_sha256 = Text(max_length=64, help_text="As `filled-counts/plan/` gave it.")
    name = Text(required=False, allow_blank=True, default="", max_length=200)
    purpose = Text(max_length=1_000, help_text="Why no private release will do.")


class PrivateAlternativeSerializer(serializers.Serializer[Any]):
    """A noisy table of the same groups with a guarantee."""

    mechanism = serializers.CharField()
    deviation = serializers.FloatField(
        help_text="The standard deviation of the noise of a group, in records."
    )
    price = AmountSerializer(help_text="In the currency of your account.")


class FillPlanSerializer(serializers.Serializer[Any]):
    """What a request would mean."""

    plan_sha256 = serializers.CharField()
    plan = DocumentField()
    groups = serializers.IntegerField()
    private = PrivateAlternativeSerializer()


class ApprovalSerializer(StrictSerializer):
    """The plan that you have read, and why you approve it."""

    plan_sha256 = Text(max_length=64)
    reason = Text(max_length=1_000)


class CountsRefusalSerializer(StrictSerializer):
    """Why you refuse."""

    reason = Text(max_length=1_000)
