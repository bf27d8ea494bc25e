"""Datasets and their public descriptions."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from synth_engine.formats import (
    DECIMALS,
    DELIMITERS,
    ENCODINGS,
    ERROR_CELLS,
    ESCAPES,
    EXTRA_ROWS,
    MAX_VOUCHER,
    QUESTIONS,
    QUOTES,
    THOUSANDS,
)
from synth_engine.formats.dialect import (
    MAX_UNIT_LENGTH,
    MOST_HEADER_LINES,
    MOST_LEFT_OUT,
    MOST_UNITS,
)
from synthweb.api.serializers.strict import Choice, StrictSerializer, Text, Truth, WholeNumber
from synthweb.datasets import selectors
from synthweb.datasets.basis import MAX_STATEMENT_LENGTH
from synthweb.datasets.models import Dataset, DomainVersion, PartialUpload
from synthweb.datasets.services import resuming


class RefusalSerializer(serializers.Serializer[Any]):
    """Why an upload was refused: line, column, rule and repair; never a value."""

    line = serializers.IntegerField(allow_null=True)
    column = serializers.CharField(allow_null=True)
    rule = serializers.CharField()
    repair = serializers.CharField()


class FormSerializer(StrictSerializer):
    """How a CSV is written, or which sheet of a workbook is meant. Without a delimiter it is the one of the
    header line. A fact listed under `asked` is only guessed; nothing is read before it is sent."""

    encoding = Choice(choices=sorted(ENCODINGS), required=False, default="utf-8")
    delimiter = Choice(choices=list(DELIMITERS), required=False, default="", allow_blank=True)
    quote = Choice(
        choices=[mark for mark in QUOTES if mark], required=False, allow_blank=True, default='"'
    )
    header = Truth(
        required=False, default=True, help_text="Whether the first line names the columns."
    )
    columns = WholeNumber(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        max_value=10_000,
        help_text="Without a header line.",
    )
    skip = WholeNumber(
        required=False,
        default=0,
        min_value=0,
        max_value=MOST_LEFT_OUT,
        help_text="Lines above the header.",
    )
    footer = WholeNumber(
        required=False,
        default=0,
        min_value=0,
        max_value=MOST_LEFT_OUT,
        help_text="Lines below the last row.",
    )
    decimal = Choice(choices=list(DECIMALS), required=False, default=".")
    thousands = Choice(
        choices=[sign for sign in THOUSANDS if sign],
        required=False,
        allow_blank=True,
        default="",
        help_text="The sign between thousands, other than the one before decimals.",
    )
    units = serializers.ListField(
        child=Text(max_length=MAX_UNIT_LENGTH),
        required=False,
        default=list,
        max_length=MOST_UNITS,
        help_text="What stands before or after numbers and is left out, such as $, % or kg.",
    )
    sheet = Text(
        required=False,
        allow_blank=True,
        default="",
        max_length=200,
        help_text="Of a workbook, by its name.",
    )
    error_cells = Choice(
        choices=list(ERROR_CELLS),
        required=False,
        default="refuse",
        help_text="Of a workbook: whether cells that show an error, like #N/A, count as missing or the "
        "file is refused.",
    )
    vouched_by = Text(
        required=False,
        allow_blank=True,
        default="",
        max_length=MAX_VOUCHER,
        help_text="Of a workbook with formulas: who vouches, by name and role, that the result of each is "
        "computed from its own row alone. Without it such a file is refused; every receipt has it.",
    )
    header_lines = WholeNumber(
        required=False,
        default=1,
        min_value=1,
        max_value=MOST_HEADER_LINES,
        help_text="Joined to one name a column.",
    )
    names = serializers.ListField(
        child=Text(max_length=200),
        required=False,
        default=list,
        max_length=2_000,
        help_text="Names of the columns, in place of those in the file.",
    )
    literal = Truth(
        required=False,
        default=False,
        help_text="Whether quotation marks inside unquoted cells are letters.",
    )
    spaced = Truth(
        required=False,
        default=False,
        help_text="Whether blanks behind delimiters are no part of cells.",
    )
    escape = Choice(
        choices=[one for one in ESCAPES if one],
        required=False,
        allow_blank=True,
        default="",
        help_text="What a backslash is before a quotation mark; without it such a file is refused.",
    )
    extra_rows = Choice(
        choices=list(EXTRA_ROWS),
        required=False,
        default="refuse",
        help_text="Of empty rows, notes and totals.",
    )
    asked = serializers.ListField(
        child=serializers.ChoiceField(choices=list(QUESTIONS)),
        read_only=True,
        help_text="Facts that are open.",
    )


class DatasetSerializer(serializers.ModelSerializer[Dataset]):
    """One table as its organisation may know it: no number of rows, no content."""

    url = serializers.HyperlinkedIdentityField(
        view_name="api:dataset-detail", lookup_field="code"
    )
    steward = serializers.CharField(source="steward.username")
    refusal = serializers.SerializerMethodField(
        help_text="Set when status is refused; its line for stewards alone."
    )
    table_version = serializers.IntegerField(
        source="table_number", help_text="Counts the files it has had."
    )
    form = serializers.SerializerMethodField(
        help_text="How its CSV is written; null until it is known, and but for stewards until a "
        "description confirms it."
    )
    account = serializers.SerializerMethodField(
        help_text="Code of the budget account it spends from."
    )

    class Meta:
        model = Dataset
        fields = [
            "code",
            "url",
            "name",
            "description",
            "status",
            "refusal",
            "steward",
            "file_kind",
            "table_version",
            "form",
            "account",
            "created_at",
        ]
        read_only_fields = fields

    @extend_schema_field(RefusalSerializer(allow_null=True))
    def get_refusal(self, dataset: Dataset) -> dict[str, object] | None:
        # Which line it is depends on rows: the selector leaves it out for most readers.
        refusal = selectors.refusal_for(self.context["request"].user, dataset)
        return refusal and {
            name: refusal.get(name) for name in ("line", "column", "rule", "repair")
        }

    @extend_schema_field(FormSerializer(allow_null=True))
    def get_form(self, dataset: Dataset) -> dict[str, object] | None:
        # Until a description confirms it, it is a guess from rows, and for those who may see rows.
        dialect = selectors.dialect_for(self.context["request"].user, dataset)
        return dialect and dict(FormSerializer(dialect).data)

    def get_account(self, dataset: Dataset) -> str | None:
        coverage = getattr(dataset, "coverage", None)
        return coverage.account.code if coverage else None


class NameSerializer(StrictSerializer):
    """Another name or description; what is left out stays."""

    name = Text(required=False, max_length=200)
    description = Text(required=False, allow_blank=True, max_length=4000)


class UploadSerializer(StrictSerializer):
    """What a new table is called; the table itself is the body of the request."""

    name = Text(max_length=200)
    description = Text(required=False, allow_blank=True, default="", max_length=4000)


class PartialUploadSerializer(serializers.Serializer[Any]):
    """A table that comes in several requests."""

    code = serializers.CharField()
    url = serializers.HyperlinkedIdentityField(
        view_name="api:upload-detail", lookup_field="code"
    )
    state = serializers.ChoiceField(
        choices=["open", "stored"], help_text="`stored`: it has become a table of `dataset`."
    )
    file_kind = serializers.CharField()
    offset = serializers.SerializerMethodField(help_text="How many bytes are here.")
    length = serializers.IntegerField(help_text="Of the whole file, in bytes.")
    expires_at = serializers.DateTimeField(
        help_text="An open one ends then, unless bytes come before."
    )
    dataset = serializers.CharField(
        source="dataset.code", default=None, allow_null=True, help_text="Its code."
    )

    def get_offset(self, upload: PartialUpload) -> int:
        return resuming.offset_of(upload)


class StoredUploadSerializer(StrictSerializer):
    """Of which dataset a complete upload becomes the next file."""

    dataset = Text(max_length=16)


@extend_schema_field({"type": "object", "additionalProperties": True})
class DocumentField(serializers.JSONField):
    """A JSON document whose schema is published elsewhere (docs/domain.schema.json, the receipt's schema)."""


class StatementSerializer(serializers.Serializer[Any]):
    """Where facts about some columns are written, in the words of who confirmed them."""

    columns = serializers.ListField(child=serializers.CharField())
    because = serializers.CharField()


class BasisSerializer(serializers.Serializer[Any]):
    """On what a description rests. The two numbers are for stewards and custodians alone, and null for
    others."""

    statements = StatementSerializer(many=True)
    suggestions_shown = serializers.BooleanField(
        help_text="Whether suggestions read from the data were opened before it was confirmed."
    )
    after_looking = serializers.BooleanField(
        help_text="Whether a comparison with the real table was opened before it was confirmed."
    )
    ranges_after_looking = serializers.ListField(
        child=serializers.CharField(),
        help_text="Columns whose range was changed after a histogram of their real values was opened.",
    )
    reader = serializers.IntegerField(
        allow_null=True,
        help_text="The version of the rules by which the suggestions were made; null where there were none.",
    )
    facts = serializers.IntegerField(allow_null=True)
    facts_as_suggested = serializers.IntegerField(
        allow_null=True,
        help_text="How many facts equal a suggestion read from the data; null where they had expired.",
    )


class StatementQuerySerializer(StrictSerializer):
    """On what a description rests that is declared as a whole."""

    because = Text(
        max_length=MAX_STATEMENT_LENGTH,
        help_text="Where these facts are written, independent of the table: a codebook, a law, an address.",
    )
    lists_because = Text(
        required=False,
        allow_blank=True,
        default="",
        max_length=MAX_STATEMENT_LENGTH,
        help_text="The same of lists of values that hold nothing besides what was read from the table; "
        "without it they are refused (422).",
    )


class DomainVersionSerializer(serializers.ModelSerializer[DomainVersion]):
    """A confirmed public description: immutable, numbered, hashed."""

    dataset = serializers.CharField(source="dataset.code")
    document = DocumentField()
    confirmed_by = serializers.CharField(source="confirmed_by.username")
    basis = serializers.SerializerMethodField(
        help_text="On what it rests; null for one from before this was recorded."
    )

    class Meta:
        model = DomainVersion
        fields = [
            "dataset",
            "number",
            "digest",
            "document",
            "confirmed_by",
            "created_at",
            "basis",
        ]
        read_only_fields = fields

    @extend_schema_field(BasisSerializer(allow_null=True))
    def get_basis(self, version: DomainVersion) -> dict[str, object] | None:
        basis = selectors.basis_of(version)
        if basis is None:
            return None
        counted = selectors.facts_as_suggested(self.context["request"].user, version)
        return {
            "statements": basis.statements,
            "suggestions_shown": basis.suggestions_shown,
            "after_looking": basis.after_looking,
            "ranges_after_looking": basis.ranges_after_looking,
            "reader": basis.reader,
            "facts": counted and counted[1],
            "facts_as_suggested": counted and counted[0],
        }


class ImportQuerySerializer(StrictSerializer):
    """How a document is taken into a draft."""

    replaces = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Whether it takes the place of what is described already.",
    )


class BroughtSerializer(serializers.Serializer[Any]):
    """What came of a document."""

    title = serializers.CharField(help_text="Which kind of document it was taken for.")
    columns = serializers.ListField(
        child=serializers.CharField(), help_text="The columns taken; none is confirmed."
    )
    remarks = serializers.ListField(
        child=serializers.CharField(),
        help_text="A line for each thing that was not taken as it stands.",
    )
