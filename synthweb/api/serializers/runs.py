"""Runs: asked for with a spec, followed by stage and state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rest_framework import serializers

from synth_engine import mechanisms
from synth_engine.errors import SpecError
from synth_engine.evaluation.criteria import Criterion
from synth_engine.evaluation.forecast import LEVELS
from synth_engine.evaluation.quality_words import COLUMN_WORDS, RELATION_LEVELS
from synth_engine.plans.parameters import ParameterRule
from synth_engine.plans.release_check import CRITERION_KINDS
from synthweb.api.serializers.amounts import (
    AmountSerializer,
    LossField,
    SpentField,
    StatedRecordsField,
)
from synthweb.api.serializers.datasets import DocumentField
from synthweb.api.serializers.strict import Choice, StrictSerializer, Text, WholeNumber
from synthweb.datasets.domain_cache import domain_of
from synthweb.datasets.models import Dataset
from synthweb.runs import planning
from synthweb.runs.checks import classifier_of
from synthweb.runs.models import RunEvent, SynthesisRun
from synthweb.runs.public_tables import TableChoice

JSON_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


class StatedTableSerializer(serializers.Serializer[Any]):
    """The public table of a run. `reference` and `version`, or `release` with the rows and seed that give the
    table."""

    name = serializers.CharField()
    published = serializers.CharField(help_text="Where anybody can get it.")
    sha256 = serializers.CharField(help_text="Of the CSV, unpacked.")
    reference = serializers.CharField(help_text="Empty for a release.")
    version = serializers.IntegerField()
    release = serializers.CharField(help_text="Empty for a reference table.")
    rows = serializers.IntegerField()
    seed = serializers.CharField()
    columns = serializers.DictField(child=serializers.CharField())


class RunSerializer(serializers.ModelSerializer[SynthesisRun]):
    """One run. `failure` holds a code and our own words, never a value."""

    url = serializers.HyperlinkedIdentityField(view_name="api:run-detail", lookup_field="code")
    dataset = serializers.CharField(source="dataset.code")
    account = serializers.CharField(source="account.code")
    price = AmountSerializer()
    release = serializers.CharField(source="release.code", allow_null=True, default=None)
    spec = serializers.SerializerMethodField(
        help_text="As it was planned; the seed of post-processing is left out."
    )
    plan_digest = serializers.CharField(read_only=True)
    prior = StatedTableSerializer(allow_null=True, help_text="The public table beside it.")
    failure = DocumentField(allow_null=True)
    criteria = serializers.ListField(
        child=serializers.DictField(), help_text="What must hold for the release to be used."
    )
    checks = serializers.CharField(
        source="checks.code",
        allow_null=True,
        default=None,
        help_text="The release whose figures this run measures; null for a run that makes a release.",
    )

    class Meta:
        model = SynthesisRun
        fields = [
            "code",
            "url",
            "name",
            "dataset",
            "account",
            "spec",
            "prior",
            "criteria",
            "checks",
            "plan_digest",
            "price",
            "state",
            "stage",
            "progress",
            "failure",
            "release",
            "created_at",
            "started_at",
            "finished_at",
        ]
        read_only_fields = fields

    def get_spec(
        self, run: SynthesisRun
    ) -> dict[str, Any]:  # of objects would be documented as text
        return {key: value for key, value in run.spec.items() if key != "seed"}


class EventSerializer(serializers.ModelSerializer[RunEvent]):
    """One line of a run's log."""

    class Meta:
        model = RunEvent
        fields = ["at", "stage", "text"]
        read_only_fields = fields


class PublicTableSerializer(StrictSerializer):
    """A public table beside which the answers are read: a reference table of records, or an earlier
    release."""

    reference = Text(
        required=False, max_length=16, help_text="Code of a reference table of records."
    )
    version = WholeNumber(
        required=False,
        min_value=1,
        max_value=999_999,
        help_text="Of the reference table; the newest without it.",
    )
    release = Text(
        required=False,
        max_length=16,
        help_text="Code of an earlier release; a table is drawn from it with a public seed.",
    )
    columns = serializers.DictField(
        child=Text(max_length=1_000),
        required=False,
        default=dict,
        help_text="For columns of the description, what the public table calls them; by name without it.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("reference" in attrs) == ("release" in attrs):
            raise serializers.ValidationError(
                "Give the code of a reference table or of a release."
            )
        if "release" in attrs and "version" in attrs:
            raise serializers.ValidationError({"version": ["A release has no versions."]})
        return attrs


class CriterionSerializer(StrictSerializer):
    """What must hold for the release to be used; fixed when the run is submitted."""

    kind = Choice(
        choices=CRITERION_KINDS,
        help_text="distance, mean-distance (of all pairs of all columns), ks (of an ordered column): at "
        "most `most`. auc: at least `at_least`. counts: every one that is large enough is near enough.",
    )
    columns = serializers.ListField(
        child=Text(max_length=1_000), min_length=1, max_length=1_000
    )
    most = Text(
        required=False,
        max_length=20,
        help_text="Of distances: the largest, as a share in text, such as 0.05.",
    )
    where = Text(
        required=False,
        max_length=10_000,
        help_text="Of auc: the condition that is predicted, column=value or column=value|value; `columns` "
        "are what it is predicted from.",
    )
    at_least = Text(
        required=False,
        max_length=20,
        help_text="Of auc: the smallest, as a share in text, such as 0.7.",
    )
    least = WholeNumber(
        required=False,
        min_value=1,
        max_value=10**12,
        help_text="Of counts: records that a cell has to have in the synthetic table.",
    )
    within = Text(
        required=False,
        max_length=20,
        help_text="Of counts: the share by which a count may be off, as text, such as 0.05.",
    )


def _criterion(each: dict[str, Any], dataset: Dataset) -> Criterion:
    """Errors: as of `criteria_for`."""
    if each["kind"] != "auc":
        return Criterion.from_json(each)
    if set(each) != {"kind", "columns", "where", "at_least"}:
        raise SpecError(
            "a criterion of a classifier has columns, where and at_least",
            repair="add what is missing, and leave other fields out",
        )
    version, _account = planning.basis(dataset)
    asked, _accuracy = classifier_of(domain_of(version), each["where"], each["columns"])
    return Criterion.from_json({**asked.to_json(), "at_least": each["at_least"]})


class RelationForecastSerializer(serializers.Serializer[Any]):
    """What becomes of relations of one strength."""

    strength = serializers.FloatField(help_text="As a correlation.")
    word = serializers.ChoiceField(choices=RELATION_LEVELS)


class RepairSerializer(serializers.Serializer[Any]):
    """One change that would do by itself: one of the three."""

    records = serializers.IntegerField(required=False, help_text="About so many.")
    epsilon = serializers.CharField(required=False)
    without = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="These columns."
    )


class ForecastSerializer(serializers.Serializer[Any]):
    """What a release will tell, from public facts alone."""

    level = serializers.ChoiceField(choices=LEVELS)
    records = serializers.IntegerField(help_text="That it is made for.")
    epsilon = serializers.CharField()
    columns = serializers.DictField(
        child=serializers.ChoiceField(choices=COLUMN_WORDS), help_text="A word for each column."
    )
    relations = RelationForecastSerializer(many=True)
    empty = serializers.IntegerField(
        help_text="About how many columns will not be found at all, and be without a value."
    )
    purpose = serializers.ListField(
        child=serializers.CharField(),
        help_text="The columns that the release is judged by; empty: all.",
    )
    reaches = serializers.ChoiceField(
        choices=LEVELS, help_text="The level that each repair reaches."
    )
    repairs = RepairSerializer(many=True)


class NewRunSerializer(StrictSerializer):
    """Ask for a release: what it costs is held at once and charged before any noise is drawn."""

    dataset = Text(help_text="Code of a described dataset with budget.")
    name = Text(required=False, allow_blank=True, default="", max_length=200)
    mechanism = Text(help_text="An id of /mechanisms/.")
    parameters = serializers.DictField(
        required=False, default=dict, help_text="By the mechanism's JSON schema."
    )
    epsilon = SpentField()
    delta = LossField(required=False)
    rows = WholeNumber(
        required=False,
        allow_null=True,
        min_value=0,
        help_text="0 or left out: the noisy number of records.",
    )
    records = StatedRecordsField(required=False)
    prior = PublicTableSerializer(
        required=False,
        allow_null=True,
        default=None,
        help_text="A public table beside which the answers are read; of methods that take one.",
    )
    criteria = CriterionSerializer(many=True, required=False, default=list)
    earmark = Text(
        required=False,
        allow_blank=True,
        default="",
        max_length=16,
        help_text="Code of a part of the account that is set aside for a project or a release, or of a "
        "plan over years, whose share of this year pays; empty: what is free.",
    )

    def criteria_for(self, dataset: Dataset) -> tuple[Criterion, ...]:
        """The criteria of a release of this dataset. Errors: SpecError; InputError for a condition that
        cannot hold; NotReady."""
        return tuple(
            _criterion(dict(each), dataset) for each in self.validated_data["criteria"]
        )

    @property
    def parts(self) -> tuple[str, str, TableChoice | None, dict[str, Any]]:
        """Code of the dataset, name of the run, public table, and spec."""
        other = ("criteria", "earmark", "records")
        spec = {key: value for key, value in self.validated_data.items() if key not in other}
        dataset, name, prior = (spec.pop(key) for key in ("dataset", "name", "prior"))
        return dataset, name, None if prior is None else TableChoice(**prior), spec

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The types of parameters, which the engine reads leniently because forms and shells know texts
        alone."""
        rules: Mapping[str, ParameterRule] = next(
            (
                one["parameters"]["properties"]
                for one in mechanisms.describe()
                if one["id"] == attrs["mechanism"]
            ),
            {},
        )
        for name, value in attrs["parameters"].items():
            if kind := _unmet(value, rules.get(name, {})):
                raise serializers.ValidationError(
                    {"parameters": {name: [f"This has to be of type {kind}."]}}
                )
        return attrs


def _unmet(value: Any, rule: ParameterRule) -> str:
    """The type that a value, or an entry of a list or an object, should have and has not; empty if there is
    none."""
    kind = rule.get("type", "")
    if not kind:
        return ""
    # In Python a truth value is a whole number as well; in JSON it is not.
    if isinstance(value, bool) != (kind == "boolean") or not isinstance(
        value, JSON_TYPES[kind]
    ):
        return str(kind)
    inner = rule.get("items") if kind == "array" else rule.get("additionalProperties")
    if kind not in ("array", "object") or inner is None:
        return ""
    unmet_entry = next((unmet for one in _entries(value) if (unmet := _unmet(one, inner))), "")
    return f"{kind} of {unmet_entry}" if unmet_entry else ""


def _entries(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value
