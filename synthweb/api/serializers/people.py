"""Who is calling, and which mechanisms there are."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from synthweb.api.serializers.datasets import DocumentField


class MeSerializer(serializers.Serializer[Any]):
    """The caller: name, organisation, roles, and what the token may do (null for a browser session)."""

    username = serializers.CharField()
    organisation = serializers.CharField()
    roles = serializers.ListField(child=serializers.CharField())
    scopes = serializers.ListField(child=serializers.CharField(), allow_null=True)


class SecondFactorSerializer(serializers.Serializer[Any]):
    """Whether everybody of the organisation needs a second factor, and the names of those who sign in by a password alone."""

    # DRF takes it out of the class, so it does not hide the attribute of the same name.
    required = serializers.BooleanField()  # type: ignore[assignment]
    without = serializers.ListField(child=serializers.CharField(), read_only=True)


class MechanismSerializer(serializers.Serializer[Any]):
    """A randomised algorithm with a guarantee; `parameters` is the JSON schema of its public parameters."""

    id = serializers.CharField()
    title = serializers.CharField()
    summary = serializers.CharField()
    paper = serializers.CharField()
    keeps = serializers.CharField()
    parameters = DocumentField()
    relations = serializers.ListField(child=serializers.CharField())
    losses = serializers.ListField(child=serializers.CharField())
    kind = serializers.CharField(help_text="static or adaptive")
