"""Databases: several tables that keys connect, from description to release."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from rest_framework import serializers

from synthweb.api.serializers.amounts import LossField, SpentField
from synthweb.api.serializers.datasets import DocumentField
from synthweb.api.serializers.strict import Choice, StrictSerializer, Text, WholeNumber


class DatabaseTableSerializer(serializers.Serializer[Any]):
    """One table of a database as it is described so far."""

    dataset = serializers.CharField(source="dataset.code")
    status = serializers.CharField(source="dataset.status")
    facts = DocumentField(
        help_text="Name, key, parent, reference, most, order and siblings, as in a DATABASE.json."
    )


class DatabaseSerializer(serializers.Serializer[Any]):
    """A database as it is described, and whether its keys were checked."""

    tables = DatabaseTableSerializer(many=True, help_text="The root first.")
    version = serializers.IntegerField(
        allow_null=True, help_text="Of the description in force; null before the first."
    )
    document = DocumentField(
        allow_null=True, help_text="The DATABASE.json in force, columns of all tables included."
    )
    keys = serializers.CharField(
        help_text="`unchecked`, `waiting`, `finished` or `failed`; a release needs `finished`."
    )
    problem = serializers.CharField(
        help_text="What has to be mended before a release; empty for nothing."
    )


class NewTableSerializer(StrictSerializer):
    """A dataset that becomes a further table."""

    dataset = Text(max_length=16, help_text="Its code.")


class NewDatabaseRunSerializer(StrictSerializer):
    """A release of all tables."""

    name = Text(required=False, allow_blank=True, default="", max_length=200)
    epsilon = SpentField()
    delta = LossField(required=False, default=Fraction(0))


class ReleasedTableSerializer(serializers.Serializer[Any]):
    """The first rows of one table of a released database: synthetic, and the same for everybody."""

    name = serializers.CharField()
    columns = serializers.ListField(child=serializers.CharField())
    keys = serializers.ListField(
        child=serializers.CharField(),
        help_text="Which of the columns hold keys, which are generated.",
    )
    rows = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField(allow_null=True))
    )


class TablesQuerySerializer(StrictSerializer):
    """How the tables of a release are drawn."""

    kind = Choice(choices=("csv", "parquet"), required=False, default="csv")
    rows = WholeNumber(
        required=False, help_text="Of the root table; without it as many as the release has."
    )
