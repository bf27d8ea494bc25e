"""Test data: what a scenario may contain, and what to make."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework import serializers

from synthweb.api.serializers.datasets import DocumentField
from synthweb.api.serializers.strict import StrictSerializer, Text, WholeNumber


class StepKindSerializer(serializers.Serializer[Any]):
    """A kind of step of a scenario; `parameters` is the JSON schema of its parameters."""

    id = serializers.CharField()
    title = serializers.CharField()
    summary = serializers.CharField()
    group = serializers.ChoiceField(
        choices=("situation", "fault"),
        help_text="situation: how values go together; fault: what a cell holds.",
    )
    parameters = DocumentField()


class NewTestDataSerializer(StrictSerializer):
    """Make a table that is altered on purpose: free, and no release."""

    scenario = serializers.JSONField(
        help_text='{"schema": "synth_engine/scenario/1", "steps": [{"kind": …, parameters of the kind}]}.'
    )
    rows = WholeNumber(
        min_value=1,
        max_value=settings.TEST_DATA_MAX_ROWS,
        help_text="Of the table before steps add some.",
    )
    seed = Text(
        required=False,
        max_length=64,
        default="1",
        help_text="The same scenario, rows and seed give the same bytes.",
    )


class NewDescribedTestDataSerializer(NewTestDataSerializer):
    """Make a table that is altered on purpose from a description, without data: give `dataset` or
    `description`."""

    dataset = Text(
        required=False,
        max_length=16,
        help_text="Code of a dataset of your organisation: its confirmed description is taken, nothing "
        "else of it is read.",
    )
    description = serializers.JSONField(
        required=False,
        help_text="A description of a table, or one with shares as a release has it. It is not kept.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("dataset" in attrs) == ("description" in attrs):
            raise serializers.ValidationError(
                {"description": "Give either a dataset or a description."}
            )
        return attrs
