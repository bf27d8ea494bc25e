"""Templates of descriptions."""

from __future__ import annotations

from rest_framework import serializers

from synthweb.api.serializers.strict import StrictSerializer, Text, Truth, WholeNumber
from synthweb.datasets.models import DescriptionTemplate


class TemplateSerializer(serializers.ModelSerializer[DescriptionTemplate]):
    """A confirmed description under a name."""

    dataset = serializers.CharField(
        source="version.dataset.code", help_text="Whose description it was made from."
    )
    number = serializers.IntegerField(source="version.number")
    made_by = serializers.CharField(source="made_by.username")

    class Meta:
        model = DescriptionTemplate
        fields = ["code", "name", "dataset", "number", "made_by", "created_at"]


class NewTemplateSerializer(StrictSerializer):
    """Which description to keep, and under which name."""

    dataset = Text(max_length=16)
    number = WholeNumber(min_value=1, help_text="Of the confirmed description.")
    name = Text(max_length=200)


class ApplySerializer(StrictSerializer):
    """Which template to take into a draft."""

    template = Text(max_length=16, help_text="Its code.")
    replaces = Truth(
        required=False,
        default=False,
        help_text="Whether it takes the place of what is described already.",
    )
