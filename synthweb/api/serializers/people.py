"""Who is calling, and which mechanisms there are."""

from __future__ import annotations

import base64
from typing import Any

from django.conf import settings
from rest_framework import serializers

from synthweb.accounts import appearance, logos
from synthweb.api.serializers.datasets import DocumentField


class MeSerializer(serializers.Serializer[Any]):
    """The caller: name, organisation, roles, and what the token may do and when it ends (both null for a
    browser session)."""

    username = serializers.CharField()
    organisation = serializers.CharField()
    roles = serializers.ListField(child=serializers.CharField())
    scopes = serializers.ListField(child=serializers.CharField(), allow_null=True)
    token_ends_at = serializers.DateTimeField(
        allow_null=True,
        help_text="Where people sign in at an identity provider it moves with the owner's next sign-in "
        "there.",
    )


class SecondFactorSerializer(serializers.Serializer[Any]):
    """Whether everybody of the organisation needs a second factor, and the names of those who sign in by a
    password alone."""

    # DRF takes it out of the class, so it does not hide the attribute of the same name.
    required = serializers.BooleanField()  # type: ignore[assignment]
    without = serializers.ListField(child=serializers.CharField(), read_only=True)


class AppearanceSerializer(serializers.Serializer[Any]):
    """How the organisation appears to its people and to visitors of its public links; what is left out is
    emptied."""

    name = serializers.CharField(read_only=True)
    language = serializers.ChoiceField(
        choices=[code for code, _name in settings.LANGUAGES],
        allow_blank=True,
        default="",
        help_text="Of pages, for whoever has chosen none; empty: the one that the browser asks for.",
    )
    contact = serializers.CharField(
        max_length=appearance.MAX_CONTACT,
        allow_blank=True,
        default="",
        help_text="Whom to ask about releases: one line.",
    )
    logo = serializers.CharField(
        max_length=4 * logos.MAX_BYTES // 3 + 4,
        allow_blank=True,
        default="",
        help_text="A PNG of at most 30 kB and 2,000 × 500 pixels in base64, or empty. Texts and times in "
        "it are left out.",
    )

    def validate_logo(self, value: str) -> bytes:
        """The bytes of the picture."""
        try:
            return base64.b64decode(value, validate=True)
        except ValueError:
            raise serializers.ValidationError("A logo is written in base64.") from None


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
