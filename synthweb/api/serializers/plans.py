"""Plans over years: shares of an account for the years of a publication."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from synthweb.api.serializers.amounts import AmountSerializer, LossField, amount_from
from synthweb.api.serializers.strict import Choice, StrictSerializer, Text, WholeNumber
from synthweb.ledger.models import PublicationPlan
from synthweb.ledger.publication_plans import LAST_YEAR, MOST_YEARS, PlanChange, PlanTerms
from synthweb.releases.of_plans import PlanLine


class PlanYearSerializer(serializers.Serializer[PlanLine]):
    """One calendar year, in UTC, of a plan. share + brought = held + charged + left."""

    year = serializers.IntegerField(source="year.year")
    state = serializers.ChoiceField(
        choices=["over", "present", "to-come"],
        help_text="Runs draw on the share of the present year alone.",
    )
    remainder = serializers.ChoiceField(
        source="year.remainder",
        choices=PublicationPlan.Remainder.choices,
        help_text="What becomes of what this year leaves.",
    )
    share = AmountSerializer(source="year.share")
    brought = AmountSerializer(
        source="year.brought", help_text="What earlier years left to it, by the rule `next`."
    )
    held = AmountSerializer(source="year.held")
    charged = AmountSerializer(source="year.charged")
    left = AmountSerializer(source="year.left")
    runs = serializers.SerializerMethodField(
        help_text="Codes of the runs that hold or were charged something of it."
    )
    releases = serializers.SerializerMethodField(
        help_text="Codes of the releases of these runs that you may see."
    )

    def get_runs(self, line: PlanLine) -> list[str]:
        return list(line.year.runs)

    def get_releases(self, line: PlanLine) -> list[str]:
        return [release.code for release in line.releases]


class PlanSerializer(serializers.Serializer[Any]):
    """A publication over years; a run that names its code as `earmark` draws on the share of the present
    year."""

    code = serializers.CharField(source="plan.code")
    account = serializers.CharField(source="plan.account.code")
    name = serializers.CharField(source="plan.name")
    remainder = serializers.SerializerMethodField(
        help_text="What becomes of what the last year leaves; years that are over may have had another rule."
    )
    reason = serializers.CharField(source="plan.reason")
    approved_by = serializers.CharField(source="plan.actor")
    approved_at = serializers.DateTimeField(source="plan.at")
    years = PlanYearSerializer(many=True)

    @extend_schema_field(serializers.ChoiceField(choices=PublicationPlan.Remainder.choices))
    def get_remainder(self, shown: dict[str, Any]) -> str:
        lines: list[PlanLine] = shown["years"]
        return lines[-1].year.remainder


class ShareSerializer(StrictSerializer):
    """The share of a year, in the currencies of the account: epsilon and delta, or rho."""

    year = WholeNumber(min_value=1, max_value=LAST_YEAR)
    epsilon = LossField(required=False)
    delta = LossField(required=False)
    rho = LossField(required=False)


class SharesField(serializers.ListField):
    """A share for each year; becomes amounts by year, in the integers of the ledger."""

    child = ShareSerializer()

    def __init__(self, **options: Any) -> None:
        super().__init__(
            allow_empty=False, max_length=MOST_YEARS, help_text="One for each year.", **options
        )

    def to_internal_value(self, data: Any) -> Any:
        shares = super().to_internal_value(data)
        if len({share["year"] for share in shares}) < len(shares):
            raise serializers.ValidationError(
                "A year stands twice.", code="give each year once"
            )
        return {share["year"]: amount_from(share) for share in shares}


class NewPlanSerializer(StrictSerializer):
    """Approve a plan: its years follow one another, and their shares are set aside at once."""

    name = Text(max_length=200)
    remainder = Choice(choices=PublicationPlan.Remainder.choices)
    reason = Text(max_length=4000)
    shares = SharesField()

    @property
    def terms(self) -> PlanTerms:
        """The plan that is to be approved."""
        return PlanTerms(**self.validated_data)


class PlanChangeSerializer(StrictSerializer):
    """Shares of years that are not over, and the rule for what this year and later ones leave. What is left
    out stays as it is; the year after the last one is added."""

    reason = Text(max_length=4000)
    shares = SharesField(required=False)
    remainder = Choice(choices=PublicationPlan.Remainder.choices, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """At least one of the two."""
        if attrs.keys() <= {"reason"}:
            raise serializers.ValidationError(
                "Nothing of the plan is to be changed.", code="give shares or remainder"
            )
        return attrs

    @property
    def wanted(self) -> PlanChange:
        """The changes of a plan."""
        return PlanChange(**{"shares": {}, **self.validated_data})
