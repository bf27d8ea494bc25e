"""Figures of a release that are measured with budget: price, start, read, receipt."""

from __future__ import annotations

from http import HTTPStatus

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synthweb.accounts.permissions import Need
from synthweb.api.authentication import caller, require_recent_sign_in
from synthweb.api.idempotency import idempotent, key_of
from synthweb.api.schema import refuses
from synthweb.api.serializers.paid import (
    CriterionVerdictSerializer,
    NewCheckSerializer,
    PaidCheckSerializer,
    PriceSerializer,
    VoidReasonSerializer,
    VoidSerializer,
)
from synthweb.api.serializers.runs import RunSerializer
from synthweb.api.views.runs import ACCEPTED
from synthweb.lib.previews import PreviewSlot
from synthweb.releases import criteria_page, paid, selectors
from synthweb.releases import services as releases
from synthweb.releases.model_cache import model_of
from synthweb.releases.models import Release
from synthweb.runs import checks, services
from synthweb.runs.checks import CheckProposal, CheckRequest
from synthweb.runs.estimate import bars_of


def asked_of(request: Request, release: Release) -> CheckRequest:
    """The figures that a request asks for. Errors: ValidationError, InputError."""
    serializer = NewCheckSerializer(data=request.data)
    serializer.is_valid(raise_exception=True)
    return serializer.asked_of(model_of(release.code).domain)


def price_of(proposal: CheckProposal, *, fits: bool) -> Response:
    """What figures would cost and how precise they would be."""
    plan = proposal.plan
    precision = plan.precision()
    document = {
        "price": proposal.price,
        "fits": fits,
        "sentence": plan.sentence,
        "distance": precision.distance,
        "counts": precision.counts,
    }
    return Response(PriceSerializer(document).data)


class CriteriaView(APIView):
    """What must hold for a release to be used."""

    @extend_schema(
        operation_id="releases_criteria",
        responses=CriterionVerdictSerializer(many=True),
        tags=["releases"],
    )
    def get(self, request: Request, code: str) -> Response:
        """The criteria of a release, which were fixed before its run, and whether each is met by the noisy
        answers and by paid figures."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        lines = criteria_page.page_of(release).lines
        return Response(CriterionVerdictSerializer(lines, many=True).data)


class PaidChecksView(APIView):
    """Figures that were measured with budget, and further ones."""

    write_scope = "spend"

    @extend_schema(
        operation_id="releases_paid",
        responses=PaidCheckSerializer(many=True),
        tags=["releases"],
    )
    def get(self, request: Request, code: str) -> Response:
        """Figures of a release that were measured with budget, newest first, each with a 95 % interval; for
        whoever may draw samples."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        return Response(PaidCheckSerializer(paid.checks_of(release), many=True).data)

    @extend_schema(
        operation_id="releases_paid_measure",
        request=NewCheckSerializer,
        responses={202: ACCEPTED},
        tags=["releases"],
    )
    @refuses(409, 422)
    @idempotent
    def post(self, request: Request, code: str) -> Response:
        """Have figures of a release measured. Holds the price at once; 409 if the budget has less left, the
        table was deleted or the version of it that the release was made of was erased, or another description
        is in force; 422 for a figure that cannot be computed."""
        release = selectors.release_for(caller(request), code, Need.SPEND)
        require_recent_sign_in(request)
        run = services.submit(
            checks.ReleaseCheck(release=release, request=asked_of(request, release)),
            steward=caller(request),
            request_key=key_of(request),
        )
        body = RunSerializer(run, context={"request": request}).data
        return Response(
            body, status=HTTPStatus.ACCEPTED, headers={"Location": str(body["url"])}
        )


class PriceView(APIView):
    """The price of figures."""

    write_scope = "spend"

    @extend_schema(
        operation_id="releases_paid_price",
        request=NewCheckSerializer,
        responses=PriceSerializer,
        tags=["releases"],
    )
    @refuses(409, 422)
    def post(self, request: Request, code: str) -> Response:
        """What figures would cost and how wide their intervals would be; holds and spends nothing."""
        release = selectors.release_for(caller(request), code, Need.SPEND)
        with PreviewSlot(caller(request).pk):
            proposal = checks.ReleaseCheck(
                release=release, request=asked_of(request, release)
            ).propose()
        return price_of(proposal, fits=all(bar.fits for bar in bars_of(proposal)))


class VoidCheckView(APIView):
    """Figures that are not to be used."""

    write_scope = "share"

    @extend_schema(
        operation_id="releases_paid_void",
        request=VoidReasonSerializer,
        responses={201: VoidSerializer},
        tags=["releases"],
    )
    @refuses(409)
    def post(self, request: Request, code: str, check_code: str) -> Response:
        """State, for good, that the figures of a check, or of a validation by its code, are not to be used,
        and why; for stewards. They stay to be seen with the reason, which is also a mark beside their
        receipt; budget is not given back. 409 if they are void already."""
        release = selectors.release_for(caller(request), code, Need.SHARE)
        check = paid.any_check_of(release, check_code)
        asked = VoidReasonSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        releases.void_check(
            actor=caller(request), check=check, reason=asked.validated_data["reason"]
        )
        body = VoidSerializer(paid.void_of(check)).data
        return Response(body, status=HTTPStatus.CREATED)


class CheckReceiptView(APIView):
    """The receipt of figures that were measured together."""

    @extend_schema(
        operation_id="releases_paid_receipt",
        responses=OpenApiTypes.OBJECT,
        tags=["releases"],
    )
    def get(self, request: Request, code: str, check_code: str) -> Response:
        """The receipt of figures that were measured with budget, for `python -m synth_engine verify`."""
        release = selectors.release_for(caller(request), code, Need.SAMPLE)
        return Response(paid.receipt_of(paid.check_of(release, check_code)))
