"""Budget accounts, their entries, and requests for budget."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from synthweb.api.serializers.amounts import (
    AmountField,
    AmountSerializer,
    LossField,
    SpentField,
    StatedRecordsField,
)
from synthweb.api.serializers.strict import Choice, StrictSerializer, Text, WholeNumber
from synthweb.ledger import proposals
from synthweb.ledger.models import BudgetAccount, BudgetRequest, LedgerEntry, Rule


class _Part(serializers.Serializer[Any]):
    """One of cap, held, charged of an account, in its three currencies."""


def _part(name: str) -> type[serializers.Serializer[Any]]:
    fields = {
        currency: AmountField(currency=currency, source=f"{currency}_{name}")
        for currency in ("epsilon", "delta", "rho")
    }
    # A class for each, because the OpenAPI document names its schemas by classes.
    return type(
        f"{name.capitalize()}Serializer", (_Part,), {**fields, "__doc__": f"What is {name}."}
    )


class AccountSerializer(serializers.ModelSerializer[BudgetAccount]):
    """The budget of one population. Rule, unit and relation never change; the cap grows by grants, and loses
    what is unspent of an expired one."""

    url = serializers.HyperlinkedIdentityField(
        view_name="api:account-detail", lookup_field="code"
    )
    cap = _part("cap")(source="*")
    held = _part("held")(source="*")
    charged = _part("charged")(source="*")
    datasets = serializers.SerializerMethodField(
        help_text="Codes of the datasets that spend from it."
    )

    class Meta:
        model = BudgetAccount
        fields = [
            "code",
            "url",
            "name",
            "rule",
            "relation",
            "max_records",
            "unit_column",
            "unit_spelling",
            "cap",
            "held",
            "charged",
            "datasets",
            "created_at",
        ]
        read_only_fields = fields

    def get_datasets(self, account: BudgetAccount) -> list[str]:
        return sorted(coverage.dataset.code for coverage in account.coverages.all())


class EntrySerializer(serializers.ModelSerializer[LedgerEntry]):
    """One movement of budget, with its link in the chain."""

    amount = AmountSerializer(
        source="*",
        allow_null=True,
        help_text="Null in an entry OUTSIDE: exact counts have no loss that a number states.",
    )

    class Meta:
        model = LedgerEntry
        fields = [
            "sequence",
            "kind",
            "amount",
            "dataset_code",
            "run_code",
            "actor",
            "reason",
            "evidence",
            "lapses_on",
            "at",
            "previous_hash",
            "hash",
        ]
        read_only_fields = fields

    def to_representation(self, entry: LedgerEntry) -> dict[str, Any]:
        written = super().to_representation(entry)
        if entry.kind == LedgerEntry.Kind.OUTSIDE:
            written["amount"] = None
        return written


class RequestSerializer(serializers.ModelSerializer[BudgetRequest]):
    """A steward's request for budget and what became of it."""

    url = serializers.HyperlinkedIdentityField(
        view_name="api:budget-request-detail", lookup_field="code"
    )
    dataset = serializers.CharField(source="dataset.code")
    account = serializers.CharField(source="account.code", allow_null=True, default=None)
    requested_by = serializers.CharField(source="requested_by.username")
    decided_by = serializers.CharField(
        source="decided_by.username", allow_null=True, default=None
    )
    amount = AmountSerializer(source="*")
    rhythm = serializers.ChoiceField(
        choices=BudgetRequest.Rhythm.choices, allow_blank=True, help_text="Empty: not said."
    )
    readers = serializers.ChoiceField(
        choices=BudgetRequest.Readers.choices, allow_blank=True, help_text="Empty: not said."
    )
    approved_by = serializers.SerializerMethodField(
        help_text="Custodians who approved it, where two are needed."
    )

    class Meta:
        model = BudgetRequest
        fields = [
            "code",
            "url",
            "dataset",
            "account",
            "rule",
            "amount",
            "releases",
            "rhythm",
            "readers",
            "reason",
            "state",
            "requested_by",
            "approved_by",
            "decided_by",
            "decision_reason",
            "created_at",
            "decided_at",
        ]
        read_only_fields = fields

    def get_approved_by(self, request: BudgetRequest) -> list[str]:
        return sorted({each.custodian.username for each in request.approvals.all()})


class NewRequestSerializer(StrictSerializer):
    """Ask for budget for a described dataset: epsilon (and delta) under the basic rule, rho under zCDP."""

    dataset = Text(help_text="Code of the dataset.")
    rule = Choice(choices=Rule.choices)
    epsilon = SpentField(required=False)
    delta = LossField(required=False)
    rho = SpentField(required=False)
    releases = WholeNumber(
        required=False,
        min_value=1,
        max_value=proposals.MAX_PLANNED_RELEASES,
        help_text="How many releases are planned. Under the basic rule a delta that is left out is then "
        "one for all of them.",
    )
    rhythm = Choice(
        choices=BudgetRequest.Rhythm.choices,
        required=False,
        help_text="How often tables are published.",
    )
    readers = Choice(
        choices=BudgetRequest.Readers.choices, required=False, help_text="Who reads them."
    )
    reason = Text(max_length=4000)
    records = StatedRecordsField(required=False)
    account = Text(
        required=False,
        help_text="Code of an account that protects the same people; left out for a new one.",
    )

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """Each rule counts currencies of its own."""
        wanted, others = (
            ("rho", ("epsilon", "delta"))
            if attrs["rule"] == Rule.ZCDP
            else ("epsilon", ("rho",))
        )
        # An account whose δ ran out before its ε is granted δ alone.
        more_delta = attrs["rule"] == Rule.BASIC and attrs.get("delta")
        if wanted not in attrs and not more_delta:
            raise serializers.ValidationError(
                {wanted: ErrorDetail("This rule counts it.", code="required")}
            )
        if wrong := [name for name in others if attrs.get(name)]:
            rule = ErrorDetail(
                "This rule does not count it.", code="leave it out, or choose the other rule"
            )
            raise serializers.ValidationError({name: [rule] for name in wrong})
        return attrs


class DecisionSerializer(StrictSerializer):
    """A custodian's grant: as asked, unless amounts are given."""

    reason = Text(max_length=4000)
    epsilon = SpentField(required=False)
    delta = LossField(required=False)
    rho = SpentField(required=False)
    account = Text(required=False, help_text="Code of an account of the same people.")
    name = Text(required=False, allow_blank=True, max_length=200, help_text="Of a new account.")
    lapses_on = serializers.DateField(
        required=False,
        help_text="The day, in UTC, from which on the unspent part cannot be spent; left out: it never "
        "expires.",
    )
    separate_reason = Text(
        required=False,
        allow_blank=True,
        max_length=4000,
        help_text="Why a second account for content that another account covers.",
    )


class RefuseSerializer(StrictSerializer):
    """A custodian's refusal, with the reason that the steward reads."""

    reason = Text(max_length=4000)
