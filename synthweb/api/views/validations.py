"""Validations: allowances for them, and figures that analysts have measured within these."""

from __future__ import annotations

from http import HTTPStatus

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synthweb.accounts.permissions import Need
from synthweb.api.authentication import caller
from synthweb.api.idempotency import idempotent, key_of
from synthweb.api.schema import refuses
from synthweb.api.serializers.amounts import amount_from
from synthweb.api.serializers.paid import NewCheckSerializer, PriceSerializer
from synthweb.api.serializers.validations import (
    AllowanceSerializer,
    NewAllowanceSerializer,
    ValidationSerializer,
)
from synthweb.api.views.paid import asked_of, price_of
from synthweb.lib.errors import Conflict
from synthweb.lib.previews import PreviewSlot
from synthweb.releases import paid, selectors
from synthweb.runs import errors, validations

ACCEPTED = OpenApiResponse(
    ValidationSerializer,
    description="The price is held; ask `Location` for state and answers.",
)


class AllowancesView(APIView):
    """Allowances for validations of a release."""

    write_scope = "spend"

    @extend_schema(
        operation_id="releases_allowances",
        responses=AllowanceSerializer(many=True),
        tags=["releases"],
    )
    def get(self, request: Request, code: str) -> Response:
        """Allowances for validations of a release: an analyst's own with what they have left, or all of them
        with who spent of them, for stewards, custodians and auditors."""
        release = selectors.release_for(caller(request), code)
        uses = validations.uses_for(caller(request), release)
        return Response(AllowanceSerializer(uses, many=True).data)

    @extend_schema(
        operation_id="releases_allowances_grant",
        request=NewAllowanceSerializer,
        responses={201: AllowanceSerializer},
        tags=["releases"],
    )
    @refuses(409)
    @idempotent
    def post(self, request: Request, code: str) -> Response:
        """Let an analyst, or each reader of a release, have figures measured within a part of the budget,
        until a day; for stewards and custodians. Nothing is held; 409 if the budget has less left."""
        release = selectors.release_for(caller(request), code, Need.ALLOW)
        asked = NewAllowanceSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        data = asked.validated_data
        analyst = None
        if name := data.get("analyst"):
            grants = selectors.grants_of(release).filter(analyst__username=name)
            share = grants.first()
            if share is None:
                raise Conflict(
                    "The release is not shared with an analyst of this name",
                    repair="check it, or share the release first",
                    field="analyst",
                )
            analyst = share.analyst
        allowance = validations.grant(
            actor=caller(request),
            release=release,
            amount=amount_from(data),
            until=data["until"],
            analyst=analyst,
            note=data.get("note", ""),
        )
        use = next(
            each
            for each in validations.uses_for(caller(request), release)
            if each.allowance == allowance
        )
        return Response(AllowanceSerializer(use).data, status=HTTPStatus.CREATED)


class AllowanceView(APIView):
    """One allowance."""

    write_scope = "spend"

    @extend_schema(
        operation_id="releases_allowances_end",
        responses={204: OpenApiResponse(description="Ended; what was measured stays.")},
        tags=["releases"],
    )
    def delete(self, request: Request, code: str, allowance: str) -> Response:
        """End an allowance, for stewards and custodians; what was measured stays."""
        release = selectors.release_for(caller(request), code, Need.ALLOW)
        validations.revoke(
            actor=caller(request), allowance=validations.allowance_of(release, allowance)
        )
        return Response(status=HTTPStatus.NO_CONTENT)


class ValidationsView(APIView):
    """Figures that analysts have measured on the real table."""

    write_scope = "spend"

    @extend_schema(
        operation_id="releases_validations",
        responses=ValidationSerializer(many=True),
        tags=["releases"],
    )
    def get(self, request: Request, code: str) -> Response:
        """Validations of a release, newest first: an analyst's own, or everybody's for stewards, custodians
        and auditors."""
        release = selectors.release_for(caller(request), code)
        runs = validations.validations_for(caller(request), release)
        context = {"request": request}
        return Response(ValidationSerializer(runs, many=True, context=context).data)

    @extend_schema(
        operation_id="releases_validations_ask",
        request=NewCheckSerializer,
        responses={202: ACCEPTED},
        tags=["releases"],
    )
    @refuses(409, 422)
    @idempotent
    def post(self, request: Request, code: str) -> Response:
        """Have figures measured on the real table within an allowance of yours. Holds the price at once; 409
        if no allowance of yours has that much left, before anything is held; 422 for a figure that cannot be
        computed."""
        release = selectors.release_for(caller(request), code, Need.VALIDATE)
        run = validations.submit(
            analyst=caller(request),
            release=release,
            request=asked_of(request, release),
            request_key=key_of(request),
        )
        body = ValidationSerializer(run, context={"request": request}).data
        location = reverse("api:release-validation", args=[code, run.code])
        return Response(
            body,
            status=HTTPStatus.ACCEPTED,
            headers={"Location": request.build_absolute_uri(location)},
        )


class ValidationPriceView(APIView):
    """The price of a validation."""

    write_scope = "spend"

    @extend_schema(
        operation_id="releases_validations_price",
        request=NewCheckSerializer,
        responses=PriceSerializer,
        tags=["releases"],
    )
    @refuses(409, 422)
    def post(self, request: Request, code: str) -> Response:
        """What a validation would cost, how wide its intervals would be, and whether an allowance of yours
        has that much left; holds and spends nothing."""
        release = selectors.release_for(caller(request), code, Need.VALIDATE)
        with PreviewSlot(caller(request).pk):
            asked = asked_of(request, release)
            proposal = validations.Validation(
                release=release, request=asked, analyst=caller(request)
            ).propose()
        try:
            validations.require_covering(caller(request), release, proposal.price)
        except errors.BeyondAllowance:
            return price_of(proposal, fits=False)
        return price_of(proposal, fits=True)


class ValidationView(APIView):
    """One validation."""

    @extend_schema(
        operation_id="releases_validation",
        responses=ValidationSerializer,
        tags=["releases"],
    )
    def get(self, request: Request, code: str, validation: str) -> Response:
        """One validation: its state, and the noisy answers with their intervals once they are measured."""
        release = selectors.release_for(caller(request), code)
        run = validations.validation_for(caller(request), release, validation)
        return Response(ValidationSerializer(run, context={"request": request}).data)


class ValidationReceiptView(APIView):
    """The receipt of a validation."""

    @extend_schema(
        operation_id="releases_validation_receipt",
        responses=OpenApiTypes.OBJECT,
        tags=["releases"],
    )
    def get(self, request: Request, code: str, validation: str) -> Response:
        """The receipt of a validation, for its analyst and for stewards."""
        release = selectors.release_for(caller(request), code)
        return Response(
            paid.receipt_of(validations.answered_for(caller(request), release, validation))
        )
