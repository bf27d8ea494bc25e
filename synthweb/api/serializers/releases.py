"""Releases, samples and grants: post-processing of noisy answers, nothing real."""

from __future__ import annotations

from typing import Any, get_args

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from synth_engine.evaluation.quality_words import COLUMN_WORDS, RELATION_LEVELS
from synth_engine.models.trees.diagnostics import Why
from synthweb.api.serializers.amounts import AmountField
from synthweb.api.serializers.strict import Choice, StrictSerializer, Text, WholeNumber
from synthweb.datasets.domain_cache import cited, domain_of
from synthweb.releases import learned_domain, licences, look, receipt_facts, selectors, trees
from synthweb.releases.licences import LicenceChoice
from synthweb.releases.models import Edition, Release, ReleaseGrant, Sample


class QualitySerializer(serializers.Serializer[Any]):
    """How close a release is expected to be to the real table, from its expected ranges: columns by
    word, and relations."""

    word = serializers.ChoiceField(
        choices=COLUMN_WORDS,
        help_text="The word that at least half of the columns with bands reach.",
    )
    found_columns = serializers.IntegerField()
    coarse_columns = serializers.IntegerField()
    not_found_columns = serializers.IntegerField()
    unknown_columns = serializers.IntegerField(help_text="Columns without bands.")
    relations = serializers.ChoiceField(
        choices=RELATION_LEVELS,
        help_text="Whether relations between columns are expected to be in the release.",
    )
    related = serializers.IntegerField(
        help_text="Pairs of columns that go together in the model."
    )
    pairs = serializers.IntegerField(help_text="All pairs of columns that were looked at.")


class LicenceSerializer(serializers.Serializer[Any]):
    """Under which licence a release may be passed on."""

    id = serializers.CharField(
        allow_blank=True,
        help_text="Of the SPDX list; empty for one in the steward's own words.",
    )
    name = serializers.CharField()
    address = serializers.CharField(allow_blank=True, help_text="Of its text.")


class NewLicenceSerializer(StrictSerializer):
    """The licence of a release, or that none is stated."""

    licence = Choice(
        choices=LicenceChoice.values,
        allow_blank=True,
        help_text="Empty: none is stated. own: the text says it.",
    )
    text = Text(
        required=False, allow_blank=True, max_length=300, help_text="Of `own`, one line."
    )
    address = Text(
        required=False, allow_blank=True, max_length=500, help_text="Of the text of `own`."
    )


class ReleaseSerializer(serializers.ModelSerializer[Release]):
    """One release: what it is called, how it was made, and its guarantee."""

    url = serializers.HyperlinkedIdentityField(
        view_name="api:release-detail", lookup_field="code"
    )
    dataset = serializers.CharField(
        source="dataset.name", help_text="Name of the described table."
    )
    epsilon = AmountField(currency="epsilon")
    delta = AmountField(currency="delta")
    guarantee = serializers.SerializerMethodField(
        help_text="The guarantee in one sentence, from the receipt."
    )
    relation = serializers.SerializerMethodField()
    domain_digest = serializers.CharField(source="domain_version.digest")
    columns = serializers.SerializerMethodField(
        help_text="Of a sample; null before a worker has drawn the first rows."
    )
    quality = serializers.SerializerMethodField(
        help_text="Expected; null before the expected ranges are computed."
    )
    licence = serializers.SerializerMethodField(help_text="Null: none is stated.")
    shared_by = serializers.SerializerMethodField(
        help_text="Who shared it with you; null where you see it otherwise."
    )

    class Meta:
        model = Release
        fields = [
            "code",
            "url",
            "name",
            "description",
            "dataset",
            "mechanism",
            "epsilon",
            "delta",
            "relation",
            "guarantee",
            "rows",
            "columns",
            "quality",
            "licence",
            "shared_by",
            "domain_digest",
            "created_at",
        ]
        read_only_fields = fields

    def get_columns(self, release: Release) -> int | None:
        summary = look.summary_of(release)
        return None if summary is None else summary.columns

    @extend_schema_field(QualitySerializer(allow_null=True))
    def get_quality(self, release: Release) -> dict[str, object] | None:
        summary = look.summary_of(release)
        quality = None if summary is None else summary.quality
        return None if quality is None else dict(QualitySerializer(quality).data)

    @extend_schema_field(LicenceSerializer(allow_null=True))
    def get_licence(self, release: Release) -> dict[str, object] | None:
        licence = licences.of_release(release)
        return None if licence is None else dict(LicenceSerializer(licence).data)

    def get_shared_by(self, release: Release) -> str | None:
        # Lists annotate it.
        if hasattr(release, "shared_by"):
            return None if release.shared_by is None else str(release.shared_by)
        return selectors.shared_by(self.context["request"].user, release)

    def get_guarantee(self, release: Release) -> str:
        return str(
            # Lists annotate it (`ReleaseViewSet`), so that their receipts stay in the database.
            getattr(release, "sentence", None)
            or receipt_facts.of(release)["guarantee"].get("sentence", "")
        )

    def get_relation(self, release: Release) -> str:
        return str(
            getattr(release, "relation", None) or receipt_facts.of(release).get("relation", "")
        )


class EndedSerializer(serializers.Serializer[Any]):
    """What kept a tree from going deeper, other than noise."""

    why = serializers.ChoiceField(
        choices=get_args(Why),
        help_text="nodes: more than can be stored; depth: the one asked for; codes: of 64 bits; bins: of "
        "the description.",
    )
    depth = serializers.IntegerField()
    cells = serializers.IntegerField(
        help_text="Of that depth, with records enough to be divided."
    )
    share = serializers.FloatField(help_text="Of all records, in those cells; 0 to 1.")


class NotesSerializer(serializers.Serializer[Any]):
    """What there is to say of a tree besides its cells; as private as the release."""

    root_alone = serializers.BooleanField(
        help_text="Whether it tells nothing but the number of records."
    )
    noise = serializers.BooleanField(
        allow_null=True,
        source="notes.noise",
        default=None,
        help_text="Whether a table without records would most likely give such a tree; null: not known.",
    )
    opened_from = serializers.IntegerField(
        allow_null=True,
        source="notes.min_records_to_split",
        default=None,
        help_text="About how many records it takes for a node to be opened.",
    )
    ended = EndedSerializer(allow_null=True, source="notes.stop_reason", default=None)
    sentences = serializers.ListField(
        child=serializers.CharField(), help_text="The same in words."
    )


class CitedSerializer(serializers.Serializer[Any]):
    """Public facts of the description, and the published table that they were copied from."""

    about = serializers.ListField(child=serializers.CharField())
    name = serializers.CharField(
        allow_blank=True, help_text="Empty, as the others: the description does not say."
    )
    version = serializers.CharField(allow_blank=True)
    sha256 = serializers.CharField(allow_blank=True, help_text="Of the unpacked file.")


class OneReleaseSerializer(ReleaseSerializer):
    """One release, with what lists leave out."""

    notes = serializers.SerializerMethodField(
        help_text="Of its tree; null where the method grows none."
    )
    sources = serializers.SerializerMethodField(
        help_text="Of public totals, points and partitions."
    )
    not_found = serializers.SerializerMethodField(
        help_text="Columns that were to be learned and were not found: in every sample without a value, "
        "with items that noise chose, or anywhere in the box of their place."
    )

    class Meta(ReleaseSerializer.Meta):
        fields = [*ReleaseSerializer.Meta.fields, "notes", "sources", "not_found"]
        read_only_fields = fields

    def get_not_found(self, release: Release) -> list[str]:
        return list(learned_domain.not_found(release))

    @extend_schema_field(NotesSerializer(allow_null=True))
    def get_notes(self, release: Release) -> dict[str, object] | None:
        summary = trees.summarise(release)
        return None if summary is None else dict(NotesSerializer(summary).data)

    @extend_schema_field(CitedSerializer(many=True))
    def get_sources(self, release: Release) -> list[dict[str, object]]:
        return [
            dict(each)
            for each in CitedSerializer(
                cited(domain_of(release.domain_version)), many=True
            ).data
        ]


class SampleSerializer(serializers.ModelSerializer[Sample]):
    """One table drawn from a release. `seed` is shown to its requester alone; everybody sees the commitment
    to it."""

    url = serializers.HyperlinkedIdentityField(
        view_name="api:sample-detail", lookup_field="code"
    )
    csv = serializers.HyperlinkedIdentityField(view_name="api:sample-csv", lookup_field="code")
    parquet = serializers.HyperlinkedIdentityField(
        view_name="api:sample-parquet", lookup_field="code"
    )
    xlsx = serializers.HyperlinkedIdentityField(
        view_name="api:sample-xlsx", lookup_field="code"
    )
    release = serializers.CharField(source="release.code")
    edition = serializers.CharField(
        source="edition.code",
        default=None,
        allow_null=True,
        help_text="Of the edited description it is drawn from.",
    )
    requested_by = serializers.CharField(source="requested_by.username")
    seed = serializers.SerializerMethodField()
    selection = serializers.DictField(
        allow_null=True,
        help_text="Which rows were asked for; null for those of the whole release.",
    )

    class Meta:
        model = Sample
        fields = [
            "code",
            "url",
            "release",
            "edition",
            "rows",
            "seed",
            "selection",
            "commitment",
            "csv",
            "parquet",
            "xlsx",
            "requested_by",
            "created_at",
        ]
        read_only_fields = fields

    def get_seed(self, sample: Sample) -> str | None:
        return (
            sample.seed if sample.requested_by_id == self.context["request"].user.pk else None
        )


class NewSampleSerializer(StrictSerializer):
    """Draw a table: free, as often as you like."""

    rows = WholeNumber(
        min_value=1,
        max_value=settings.SAMPLE_MAX_ROWS,
        required=False,
        help_text="Left out with quotas alone, which say how many.",
    )
    selection = serializers.JSONField(
        required=False,
        help_text='Which rows: {"where": [{"column": …, "values": [text, null or {"from": …, "to": …}]}], '
        '"quotas": {"column": …, "rows": {value: number}}}.',
    )
    seed = Text(
        required=False,
        allow_null=True,
        max_length=64,
        help_text="Left out: your own secret one for this release, told in the answer; the same rows are "
        "the same table.",
    )
    edition = Text(
        required=False,
        allow_null=True,
        max_length=16,
        help_text="Code of an edited description to draw from instead.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("selection") is None and "rows" not in attrs:
            raise serializers.ValidationError({"rows": "This field is required."})
        return attrs


class EditionSerializer(serializers.ModelSerializer[Edition]):
    """A description of the release that somebody edited: not what was measured. It can be drawn from."""

    edited_by = serializers.CharField(source="created_by.username")

    class Meta:
        model = Edition
        fields = ["code", "note", "edited_by", "after_looking", "created_at"]
        read_only_fields = fields


class NewEditionSerializer(StrictSerializer):
    """Keep an edited description beside the release."""

    note = Text(max_length=300, help_text="What was changed; whoever draws from it reads it.")
    document = serializers.JSONField(
        help_text="The description: docs/description.md says what it holds."
    )


class GrantSerializer(serializers.ModelSerializer[ReleaseGrant]):
    """Whom a release is shared with."""

    analyst = serializers.CharField(source="analyst.username")
    granted_by = serializers.CharField(source="granted_by.username")

    class Meta:
        model = ReleaseGrant
        fields = ["analyst", "granted_by", "created_at", "revoked_at"]
        read_only_fields = fields


class NewGrantSerializer(StrictSerializer):
    """Share a release with one analyst of the organisation."""

    analyst = Text(help_text="Username.")


class ColumnSerializer(serializers.Serializer[Any]):
    """One column of the data dictionary."""

    column = serializers.CharField()
    kind = serializers.CharField()
    values = serializers.CharField(help_text="Bounds, or the declared values.")
    missing = serializers.CharField(
        allow_blank=True, help_text="How a missing value is written; empty: none are."
    )
    outside = serializers.CharField(help_text="What became of values outside the description.")
    provenance = serializers.CharField(help_text="Where these public facts come from.")


class NodeSerializer(serializers.Serializer[Any]):
    """One column of a network."""

    column = serializers.CharField(source="name")
    parents = serializers.ListField(child=serializers.CharField())
    cells = serializers.IntegerField(help_text="Of the table that says how it is drawn.")


class ExpectedFigureSerializer(serializers.Serializer[Any]):
    """One figure of a column: its value in the model, and the band in which that of the real table is
    expected."""

    figure = serializers.CharField(
        help_text="mean, standard_deviation, quantile_5, quantile_25, median, quantile_75, quantile_95, "
        "missing or share"
    )
    value = serializers.CharField(
        allow_blank=True, help_text="Of a share, the value that these records have; else empty."
    )
    estimate = serializers.FloatField(
        help_text="Days count from year 1, seconds and minutes from their first one."
    )
    low = serializers.FloatField()
    high = serializers.FloatField()
    level = serializers.FloatField(help_text="The share of releases whose band holds it.")


class ExpectedColumnSerializer(serializers.Serializer[Any]):
    """The expected ranges of one column."""

    name = serializers.CharField()
    kind = serializers.CharField()
    note = serializers.CharField(
        allow_blank=True, help_text="Why there are no figures; empty where there are."
    )
    figures = ExpectedFigureSerializer(many=True)


class DistanceSerializer(serializers.Serializer[Any]):
    """A distance to the real table, with the band in which it is expected."""

    estimate = serializers.FloatField(source="estimate.value")
    low = serializers.FloatField()
    high = serializers.FloatField()
    level = serializers.FloatField(help_text="The share of releases whose band holds it.")


class ColumnErrorSerializer(serializers.Serializer[Any]):
    """How close one column is expected to be."""

    name = serializers.CharField()
    word = serializers.ChoiceField(choices=COLUMN_WORDS)
    deviation = serializers.FloatField(
        allow_null=True,
        help_text="The farthest end of a band of the column from its estimate: of shares of records as it "
        "is, of means in standard deviations. null where the column has no bands.",
    )


class ExpectedErrorsSerializer(serializers.Serializer[Any]):
    """How far a release is expected to be from the real table."""

    single_columns = DistanceSerializer(
        allow_null=True,
        help_text="Averaged over all columns. null where the method says too little of what it misses.",
    )
    pairs = DistanceSerializer(
        allow_null=True, help_text="Averaged over all pairs of columns; null as above."
    )
    relations = DistanceSerializer(
        allow_null=True,
        help_text="The share of the dependence between columns that is lost; null as above, and where no "
        "columns go together.",
    )
    quality = QualitySerializer()
    columns = ColumnErrorSerializer(many=True)


class BarSerializer(serializers.Serializer[Any]):
    """A bar of a histogram of the model."""

    values = serializers.CharField(
        source="label", help_text="That the bar stands for, as a text."
    )
    share = serializers.FloatField(
        source="share.value", help_text="Of the records that have a value, in the model."
    )


class LookColumnSerializer(serializers.Serializer[Any]):
    """What the model and the description hold of one column."""

    name = serializers.CharField()
    kind = serializers.CharField()
    values = serializers.CharField(
        allow_blank=True, help_text="Bounds, or the declared values; long lists are cut."
    )
    unit = serializers.CharField(allow_blank=True)
    word = serializers.ChoiceField(
        source="error.word",
        choices=COLUMN_WORDS,
        allow_null=True,
        default=None,
        help_text="null before the expected ranges are computed.",
    )
    missing_share = serializers.FloatField(
        source="histogram.missing.value",
        allow_null=True,
        default=None,
        help_text="Of all records, in the model; null where no value can be missing.",
    )
    histogram = BarSerializer(
        source="histogram.bars",
        many=True,
        default=(),
        help_text="In the order of the values, or the most frequent first; empty where the model has no "
        "table of the column.",
    )


class FirstRowsSerializer(serializers.Serializer[Any]):
    """A hundred synthetic rows, the same for everybody."""

    seed = serializers.CharField(
        help_text="Public: a sample of as many rows with this seed has the same rows."
    )
    columns = LookColumnSerializer(many=True)
    rows = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField(allow_null=True)),
        help_text="The text of each cell, cut after 200 characters; null: missing.",
    )


class MarksSerializer(serializers.Serializer[Any]):
    """What became known of a release after it was published."""

    core = serializers.CharField(
        help_text="The digest of the receipt's core, which citations name and which never changes."
    )
    marks = serializers.ListField(
        child=serializers.DictField(), help_text="The chain, the oldest first."
    )
    head = serializers.DictField(
        allow_null=True,
        help_text="Where the chain ends now, signed; null where the installation has no key.",
    )


class VerificationSerializer(serializers.Serializer[Any]):
    """What the verifier said: the guarantee that the listed calls prove."""

    accepted = serializers.BooleanField()
    epsilon = serializers.CharField(allow_blank=True)
    delta = serializers.CharField(allow_blank=True)
    sentences = serializers.ListField(child=serializers.CharField())
    caveats = serializers.ListField(
        child=serializers.CharField(),
        help_text="Those of the sentences that say what the guarantee does not cover.",
    )
