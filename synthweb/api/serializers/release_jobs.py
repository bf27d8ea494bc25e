"""How far a worker is with what it derives from a release."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class ReleaseJobSerializer(serializers.Serializer[Any]):
    """How far a worker is with what it derives from a release."""

    state = serializers.CharField()
    stage = serializers.CharField()
    progress = serializers.FloatField(help_text="Of this stage, 0 to 1.")
