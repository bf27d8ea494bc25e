"""Allowances for validations, and what analysts had measured within them, as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from synth_engine.privacy.loss import plain
from synth_engine.spec import Spec
from synthweb.api.serializers.amounts import AmountField, AmountSerializer, LossField
from synthweb.api.serializers.paid import (
    PaidFigureSerializer,
    VoidSerializer,
    figures_of,
    void_as_json,
)
from synthweb.api.serializers.strict import StrictSerializer, Text
from synthweb.runs import validations
from synthweb.runs.models import SynthesisRun
from synthweb.runs.validations import AllowanceUse, Standing


class SpenderSerializer(serializers.Serializer[Any]):
    """What one analyst has spent or holds of an allowance."""

    analyst = serializers.CharField()
    used = AmountSerializer()


class AllowanceSerializer(serializers.Serializer[Any]):
    """The part of the budget that validations may cost. used, left: by the caller's own validations, or by
    all for who oversees them."""

    code = serializers.CharField(source="allowance.code")
    release = serializers.CharField(source="allowance.release.code")
    analyst = serializers.CharField(
        source="allowance.analyst.username",
        default=None,
        allow_null=True,
        help_text="null: each reader of the release has as much.",
    )
    note = serializers.CharField(source="allowance.note", allow_blank=True)
    granted = AmountSerializer()
    used = AmountSerializer()
    left = AmountSerializer()
    open = serializers.BooleanField(
        source="is_open", help_text="Neither expired nor ended by hand."
    )
    spenders = serializers.SerializerMethodField(
        help_text="For stewards, custodians and auditors; else empty."
    )
    granted_by = serializers.CharField(source="allowance.granted_by.username")
    created_at = serializers.DateTimeField(source="allowance.created_at")
    expires_at = serializers.DateTimeField(source="allowance.expires_at")
    revoked_at = serializers.DateTimeField(source="allowance.revoked_at", allow_null=True)

    @extend_schema_field(SpenderSerializer(many=True))
    def get_spenders(self, use: AllowanceUse) -> list[dict[str, Any]]:
        spenders = [{"analyst": name, "used": spent} for name, spent in use.readers]
        return list(SpenderSerializer(spenders, many=True).data)


class NewAllowanceSerializer(StrictSerializer):
    """Let analysts have figures of a release measured: in the currency of the account, epsilon and delta or
    rho."""

    analyst = Text(
        required=False,
        allow_null=True,
        help_text="Username of an analyst with whom the release is shared; without it each reader has as "
        "much.",
    )
    epsilon = LossField(required=False)
    delta = LossField(required=False)
    rho = LossField(required=False)
    until = serializers.DateField(help_text="The last day, in UTC.")
    note = Text(required=False, allow_blank=True, max_length=200)


class ValidationSerializer(serializers.ModelSerializer[SynthesisRun]):
    """Figures that an analyst asked for within an allowance: price, state, and the noisy answers once they
    are shown."""

    _standing: Standing

    release = serializers.CharField(source="checks.code")
    allowance = serializers.CharField(source="allowance.code")
    analyst = serializers.CharField(source="created_by.username")
    state = serializers.SerializerMethodField(
        help_text="For its analyst `waiting`, `finished` or `no-answer`, as of the last tick; for "
        "stewards, custodians and auditors the state of the run."
    )
    epsilon = AmountField(currency="epsilon", source="price.epsilon")
    delta = AmountField(currency="delta", source="price.delta")
    rho = AmountField(currency="rho", source="price.rho")
    target_epsilon = serializers.SerializerMethodField(
        help_text="The guarantee that its receipt states, as exact decimal text."
    )
    target_delta = serializers.SerializerMethodField()
    void = serializers.SerializerMethodField(
        help_text="Why the figures are not to be used; null while they are."
    )
    figures = serializers.SerializerMethodField(
        help_text="Empty until they are shown, and for custodians and auditors."
    )
    created_at = serializers.SerializerMethodField(help_text="For its analyst the minute.")
    finished_at = serializers.SerializerMethodField(
        help_text="For its analyst the tick at which the figures were shown."
    )
    next_at = serializers.SerializerMethodField(
        help_text="For its analyst: the next tick, at which the figures may be shown; else null."
    )

    class Meta:
        model = SynthesisRun
        fields = [
            "code",
            "release",
            "allowance",
            "analyst",
            "state",
            "epsilon",
            "delta",
            "rho",
            "target_epsilon",
            "target_delta",
            "void",
            "figures",
            "created_at",
            "finished_at",
            "next_at",
        ]
        read_only_fields = fields

    def to_representation(self, instance: SynthesisRun) -> dict[str, Any]:
        if instance.checks is None:
            raise TypeError("a validation without a release")
        # Once for all fields: a tick between two of them would show an answer of a run that waits.
        user = self.context["request"].user
        self._standing = validations.standing(user, instance.checks, instance)
        return super().to_representation(instance)

    def get_state(self, _run: SynthesisRun) -> str:
        return self._standing.state

    def get_created_at(self, _run: SynthesisRun) -> datetime:
        return self._standing.asked_at

    def get_finished_at(self, _run: SynthesisRun) -> datetime | None:
        return self._standing.finished_at

    def get_next_at(self, _run: SynthesisRun) -> datetime | None:
        return self._standing.next_at

    def get_target_epsilon(self, run: SynthesisRun) -> str:
        return plain(Spec.from_json(run.spec).epsilon)

    def get_target_delta(self, run: SynthesisRun) -> str:
        return plain(Spec.from_json(run.spec).delta)

    @extend_schema_field(VoidSerializer(allow_null=True))
    def get_void(self, _run: SynthesisRun) -> dict[str, Any] | None:
        return void_as_json(self._standing.check)

    @extend_schema_field(PaidFigureSerializer(many=True))
    def get_figures(self, run: SynthesisRun) -> list[dict[str, Any]]:
        check, release = self._standing.check, run.checks
        if check is None or release is None:
            return []
        user = self.context["request"].user
        return figures_of(check) if validations.may_read_answers(user, release, run) else []
