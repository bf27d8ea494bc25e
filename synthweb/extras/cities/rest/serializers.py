"""Synthetic cities as JSON."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from synthweb.api.serializers.datasets import DocumentField
from synthweb.api.serializers.strict import StrictSerializer, Text
from synthweb.extras.cities import selectors as cities
from synthweb.extras.cities.models import CityBuild

MAX_AREAS = 4_000_000


class CitySerializer(serializers.Serializer[Any]):
    """A synthetic city of yours."""

    code = serializers.CharField()
    name = serializers.CharField()
    state = serializers.CharField(help_text="`draft`, `waiting`, `finished` or `failed`.")
    stage = serializers.CharField()
    progress = serializers.FloatField(help_text="Of this stage, 0 to 1.")
    failure = DocumentField(allow_null=True)
    releases = DocumentField(help_text="The release of each source, by its name.")
    seed = serializers.CharField()
    before = serializers.CharField(
        source="before.code",
        default=None,
        allow_null=True,
        help_text="The city that it grew from.",
    )
    changes = DocumentField(
        allow_null=True,
        help_text="Tables that are unchanged, changed, new and gone since then.",
    )
    receipt = DocumentField(
        allow_null=True,
        help_text="What each table was made of, with the receipts of the releases; null before it is "
        "generated.",
    )
    exports = serializers.SerializerMethodField(
        help_text="Of `matsim` and `populationsim` those that can be downloaded."
    )
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_exports(self, build: CityBuild) -> list[str]:
        return [export.form for export in cities.exports_of(build)]


class NewCitySerializer(StrictSerializer):
    """What a city is made of."""

    specification = Text(
        max_length=cities.MAX_SPECIFICATION,
        help_text="YAML as in docs/city.md; the files that its sources name are not read: `releases` and "
        "`descriptions` take their place.",
    )
    areas = Text(max_length=MAX_AREAS, help_text="The CSV of the areas.")
    releases = serializers.DictField(
        child=Text(max_length=16),
        required=False,
        default=dict,
        help_text="The code of the release that feeds each source, by the name of the source.",
    )
    descriptions = serializers.DictField(
        child=serializers.DictField(),
        required=False,
        default=dict,
        help_text="Descriptions of sources that were written without data.",
    )
    before = Text(
        required=False,
        default=None,
        allow_null=True,
        max_length=16,
        help_text="A city of yours that it grows from, whose seed it has.",
    )
