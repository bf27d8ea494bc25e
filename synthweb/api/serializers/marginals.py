"""Tables of counts of a release as JSON."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class MarginalCellSerializer(serializers.Serializer[Any]):
    """One cell of a table of counts."""

    values = serializers.ListField(
        source="labels",
        child=serializers.CharField(allow_blank=True),
        help_text="Of each column that was asked for, in order.",
    )
    value = serializers.FloatField(
        source="expected.estimate.value",
        help_text="Records: the unbiased estimate of a measured cell, cut off at 0; else what the model has.",
    )
    lower = serializers.FloatField(source="expected.low")
    upper = serializers.FloatField(source="expected.high")
    model = serializers.FloatField(source="model.value", help_text="Records in the model.")
    measured = serializers.BooleanField(
        help_text="true: noisy answers count the cell, and the interval is by the law of their noise. "
        "false: the value is the model's alone, and the interval says what the answers leave possible."
    )


class MarginalSerializer(serializers.Serializer[Any]):
    """A table of counts, or a part of its cells."""

    columns = serializers.ListField(child=serializers.CharField())
    level = serializers.FloatField(
        help_text="The share of releases whose interval holds the count of the real table."
    )
    count = serializers.IntegerField(help_text="Of all cells of the table.")
    measured = serializers.IntegerField(help_text="How many of them are measured.")
    offset = serializers.IntegerField(help_text="The place of the first cell here.")
    cells = MarginalCellSerializer(
        many=True, help_text="In the order of values, the last column fastest."
    )
