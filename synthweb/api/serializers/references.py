"""Public reference tables."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from synth_engine.references import Roles
from synthweb.api.serializers.strict import Choice, StrictSerializer, Text, Truth, WholeNumber
from synthweb.references.forms import parts_of
from synthweb.references.models import RECORDS, ReferenceTable, ReferenceVersion


class ReferenceVersionSerializer(serializers.ModelSerializer[ReferenceVersion]):
    """One file of a reference table, as it was read."""

    code_count = serializers.IntegerField(help_text="Of a table of records, their number.")
    partitions = serializers.DictField(
        child=serializers.IntegerField(), help_text="How many parts each has."
    )
    uploaded_by = serializers.CharField(source="uploaded_by.username")

    class Meta:
        model = ReferenceVersion
        fields = [
            "number",
            "kind",
            "code_count",
            "partitions",
            "advice",
            "sha256",
            "uploaded_by",
            "created_at",
        ]
        read_only_fields = fields


class ReferenceSerializer(serializers.ModelSerializer[ReferenceTable]):
    """A public table that says where codes lie, of what they are parts, or what weighs in them; or a table of
    records."""

    versions = ReferenceVersionSerializer(many=True, help_text="The newest first.")
    made_by = serializers.CharField(source="made_by.username")

    class Meta:
        model = ReferenceTable
        fields = ["code", "name", "published", "versions", "made_by", "created_at"]
        read_only_fields = fields


class FileQuerySerializer(StrictSerializer):
    """That the file is public, and which of its columns is what; the file itself is the body of the
    request."""

    word = Text(max_length=20, help_text="`public`, to say that anybody may read the file.")
    kind = Choice(
        required=False,
        choices=[(RECORDS, "Records")],
        help_text="`records` for a table of records that runs read beside their answers; without it, the "
        "file has codes.",
    )
    code = Text(
        required=False,
        max_length=200,
        help_text="Column of the codes; without it, columns are recognised by their names.",
    )
    latitude = Text(required=False, max_length=200)
    longitude = Text(required=False, max_length=200)
    weight = Text(required=False, max_length=200)
    parents = Text(
        required=False,
        max_length=5000,
        help_text="Partitions, their columns, and perhaps columns of names: "
        "`town:ctycsub:ctycsubname,county:cty`.",
    )
    adds = serializers.BooleanField(
        required=False, default=False, help_text="Sum the weights of lines of one code."
    )

    def validate_parents(self, text: str) -> dict[str, tuple[tuple[str, str], ...]]:
        lines = text.split(",")
        try:
            if all(map(str.strip, lines)):
                return parts_of(lines)
        except ValueError:
            pass
        raise serializers.ValidationError(
            "Write each as name:column or name:column:names, with commas between them."
        )

    @property
    def roles(self) -> Roles | None:
        roles: dict[str, Any] = {
            key: value for key, value in self.validated_data.items() if key not in NOT_ROLES
        }
        roles |= roles.pop("parents", {})
        return Roles(**roles) if "code" in roles else None

    @property
    def has_records(self) -> bool:
        return bool(self.validated_data.get("kind") == RECORDS)


NOT_ROLES = ("word", "kind", "name", "published")


class NewReferenceSerializer(FileQuerySerializer):
    """The same of a new reference table."""

    name = Text(max_length=200)
    published = Text(max_length=1000, help_text="Where anybody can get it.")


class UseSerializer(StrictSerializer):
    """Which reference table for which column of a draft."""

    reference = Text(max_length=16, help_text="Its code.")
    version = WholeNumber(required=False, min_value=1, help_text="The newest without it.")
    column = Text(
        max_length=200, help_text="A column of codes, or a place of two columns of degrees."
    )
    level = Text(
        required=False, allow_blank=True, default="", max_length=100,
        help_text="Of a column without values: `codes`, or the partition whose parts become its values.",
    )  # fmt: skip
    partitions = serializers.ListField(
        child=Text(max_length=100),
        required=False,
        help_text="All that say something without it.",
    )
    weights = Truth(required=False, default=True)
    floor = serializers.FloatField(
        required=False,
        default=0.0,
        min_value=0,
        max_value=1e12,
        help_text="Of places that a density does not name.",
    )

    totals = Truth(
        required=False,
        default=False,
        help_text="Numbers of a density are how many records each value has, publicly.",
    )


class TakenSerializer(serializers.Serializer[Any]):
    """What was taken into the draft, in words; nothing is confirmed."""

    taken = serializers.ListField(child=serializers.CharField())
