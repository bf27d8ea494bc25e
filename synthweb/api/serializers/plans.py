"""Plans over years: shares of an account for the years of a publication."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from synthweb.api.serializers.amounts import AmountSerializer, LossField, amount_from
from synthweb.api.serializers.strict import Choice, StrictSerializer, Text, WholeNumber
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import PublicationPlan
from synthweb.ledger.publication_plans import LAST_YEAR, MOST_YEARS
from synthweb.releases.of_plans import PlanLine


class PlanYearSerializer(serializers.Serializer[PlanLine]):
    """One calendar year, in UTC, of a plan. share + brought = held + charged + left."""

    year = serializers.IntegerField(source="year.year")
    state = serializers.ChoiceField(
        choices=["over", "present", "to-come"],
        help_text="Runs draw on the share of the present year alone.",
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
    """A publication over years; a run that names its code as `earmark` draws on the share of the present year."""

    code = serializers.CharField(source="plan.code")
    account = serializers.CharField(source="plan.account.code")
    name = serializers.CharField(source="plan.name")
    remainder = serializers.ChoiceField(
        source="plan.remainder",
        choices=PublicationPlan.Remainder.choices,
        help_text="What becomes of what a year leaves.",
    )
    reason = serializers.CharField(source="plan.reason")
    approved_by = serializers.CharField(source="plan.actor")
    approved_at = serializers.DateTimeField(source="plan.at")
    years = PlanYearSerializer(many=True)


class ShareSerializer(StrictSerializer):
    """The share of a year, in the currencies of the account: epsilon and delta, or rho."""

    year = WholeNumber(min_value=1, max_value=LAST_YEAR)
    epsilon = LossField(required=False)
    delta = LossField(required=False)
    rho = LossField(required=False)


class _SharesSerializer(StrictSerializer):
    """The body of a plan or a change of one."""

    reason = Text(max_length=4000)
    shares = serializers.ListField(
        child=ShareSerializer(),
        allow_empty=False,
        max_length=MOST_YEARS,
        help_text="One for each year.",
    )

    def validate_shares(self, shares: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Each year once."""
        years = [share["year"] for share in shares]
        if len(set(years)) < len(years):
            raise serializers.ValidationError(
                "A year stands twice.", code="give each year once"
            )
        return shares

    def share_of_years(self) -> dict[int, Amount]:
        """The amounts in the integers of the ledger."""
        return {share["year"]: amount_from(share) for share in self.validated_data["shares"]}


class NewPlanSerializer(_SharesSerializer):
    """Approve a plan: its years follow one another, and their shares are set aside at once."""

    name = Text(max_length=200)
    remainder = Choice(choices=PublicationPlan.Remainder.choices)


class PlanChangeSerializer(_SharesSerializer):
    """Shares of years that are not over. Years that are left out stay as they are; the year after the last one is added."""
