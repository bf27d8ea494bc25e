"""Links of tables of two organisations, as JSON."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from synth_engine.linking.agreement import MAX_ATTRIBUTES, MAX_TEXTS
from synth_engine.linking.hashing import MAX_FUNCTIONS
from synth_engine.privacy import receipt as receipts
from synthweb.api.serializers.amounts import AmountSerializer, LossField, SpentField
from synthweb.api.serializers.datasets import DocumentField
from synthweb.api.serializers.strict import StrictSerializer, Text, WholeNumber
from synthweb.runs import linking
from synthweb.runs.linking import SeenLink


class LinkRunSerializer(serializers.Serializer[Any]):
    """The run of one side."""

    side = serializers.ChoiceField(choices=("left", "right"))
    state = serializers.CharField(
        help_text="Of the other side `waiting`, `finished`, `no-answer` or `cancelled`, as of the last tick."
    )
    code = serializers.CharField(
        allow_null=True, help_text="Of the run of your side; null for that of the other one."
    )


class LinkSerializer(serializers.Serializer[Any]):
    """A link as your organisation sees it. Of the other side there is no dataset, no person and no
    balance."""

    code = serializers.CharField(source="link.code")
    name = serializers.CharField(source="link.name")
    state = serializers.CharField(
        source="link.state",
        help_text="`proposed`, `accepted`, `started`, `charged`, `finished`, `withdrawn` or `failed`.",
    )
    side = serializers.ChoiceField(
        choices=("left", "right"), help_text="Yours: `left` has proposed the link."
    )
    dataset = serializers.CharField(source="own.dataset.code")
    earmark = serializers.CharField(
        source="own.earmark",
        help_text="Of the part of your account that pays for your side; empty: what is free.",
    )
    other = serializers.CharField(
        source="other.name",
        default=None,
        allow_null=True,
        help_text="The other organisation; null before it accepted.",
    )
    agreement_sha256 = serializers.SerializerMethodField(
        help_text="The digest of the agreement, which `start` names; null before there is one."
    )
    agreement = DocumentField(
        source="link.agreement", allow_null=True, help_text="As the command line writes it."
    )
    estimate = DocumentField(
        source="link.estimate",
        allow_null=True,
        help_text="Records of both sides and persons in both, each with a 95 % interval, and the joint "
        "table of the linked columns.",
    )
    release = serializers.CharField(
        source="own.release.code",
        default=None,
        allow_null=True,
        help_text="By which the synthetic table of your side is generated.",
    )
    runs = serializers.SerializerMethodField(help_text="None before the link is started.")
    created_at = serializers.DateTimeField(source="link.created_at")
    charged_at = serializers.DateTimeField(
        source="link.charged_at",
        allow_null=True,
        help_text="The tick after both ledgers were charged.",
    )
    finished_at = serializers.DateTimeField(
        source="link.finished_at",
        allow_null=True,
        help_text="The tick at which its end is shown; when it was withdrawn.",
    )

    def get_agreement_sha256(self, seen: SeenLink) -> str | None:
        document = seen.link.agreement
        return None if document is None else receipts.digest(document)

    @extend_schema_field(LinkRunSerializer(many=True))
    def get_runs(self, seen: SeenLink) -> list[dict[str, Any]]:
        return [
            {
                "side": run.side,
                "state": run.state,
                "code": run.code if run.own else None,
            }
            for run in linking.runs_seen(seen)
        ]


class ProposedLinkSerializer(LinkSerializer):
    """A link with the invitation to it."""

    invitation = serializers.SerializerMethodField(
        help_text="Given once, and empty in the answer to a repeated request: what the steward of the "
        "other organisation needs to accept."
    )

    def get_invitation(self, _seen: SeenLink) -> str:
        return str(self.context["invitation"])


class _SideSerializer(StrictSerializer):
    dataset = Text(max_length=16, help_text="The code of your dataset.")
    texts = serializers.ListField(
        child=Text(max_length=500),
        min_length=1,
        max_length=MAX_TEXTS,
        help_text="Columns that identify a person, in the order of those of the other side.",
    )
    columns = serializers.ListField(
        child=Text(max_length=500),
        required=False,
        max_length=MAX_ATTRIBUTES,
        default=list,
        help_text="Columns of the description that are linked.",
    )
    earmark = Text(
        required=False,
        allow_blank=True,
        default="",
        max_length=16,
        help_text="Code of a part of your account that is set aside for a project or a release; empty: "
        "what is free. The other side does not see it.",
    )


class NewLinkSerializer(_SideSerializer):
    """A link that is proposed."""

    name = Text(required=False, allow_blank=True, default="", max_length=200)
    epsilon = SpentField(help_text="What your side spends.")
    other_epsilon = SpentField(help_text="What the other side is asked to spend.")
    rows = WholeNumber(
        min_value=1, max_value=10**9, help_text="About how many records a side has: a guess."
    )
    typos = LossField(
        required=False,
        default=Fraction(0),
        help_text="The largest share of persons whose texts differ.",
    )
    functions = WholeNumber(
        required=False,
        default=None,
        min_value=1,
        max_value=MAX_FUNCTIONS,
        help_text="Hash functions that decide a bucket together; without it the usual number.",
    )


class InvitationSerializer(StrictSerializer):
    """The invitation to a link."""

    invitation = Text(max_length=100)


class InvitedSerializer(serializers.Serializer[Any]):
    """What the other side proposes."""

    name = serializers.CharField()
    organisation = serializers.CharField()
    protects = serializers.CharField(help_text="Whom its description protects.")
    texts = serializers.ListField(child=serializers.CharField())
    columns = serializers.ListField(
        child=DocumentField(), help_text="Its linked columns, as in a description."
    )
    epsilon = serializers.CharField(help_text="What it spends.")
    your_epsilon = serializers.CharField(help_text="What you are asked to spend.")
    rows = serializers.IntegerField()
    typos = serializers.CharField()


class AcceptanceSerializer(_SideSerializer):
    """What you would link with."""

    invitation = Text(max_length=100)


class AcceptedSerializer(AcceptanceSerializer):
    """What you link with, and the agreement that you have read."""

    agreement_sha256 = Text(max_length=64, help_text="As `links/agreement/` gave it.")


class OfferedAgreementSerializer(serializers.Serializer[Any]):
    """An agreement before it is accepted, and what it costs your side."""

    agreement_sha256 = serializers.CharField()
    agreement = DocumentField()
    price = AmountSerializer(help_text="In the currency of your account.")
    expected_error = serializers.FloatField(
        help_text="Of the number of persons in both, as a share of it, if half of each table is in both."
    )


class StartSerializer(StrictSerializer):
    """The agreement that you have read."""

    agreement_sha256 = Text(max_length=64)


class GivenReleaseSerializer(StrictSerializer):
    """A release of your own table."""

    release = Text(max_length=16, help_text="Its code.")
