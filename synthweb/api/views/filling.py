"""Filled counts: asked for by a steward, approved by a custodian, and not private."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synth_engine.mixing.policy import FillPolicy
from synthweb.accounts import selectors as people
from synthweb.accounts.permissions import Need
from synthweb.api.authentication import caller, require_recent_sign_in
from synthweb.api.idempotency import idempotent
from synthweb.api.schema import refuses
from synthweb.api.serializers.filling import (
    ApprovalSerializer,
    AskedCountsSerializer,
    CountsRefusalSerializer,
    FilledCountsSerializer,
    FillPlanSerializer,
    FillRequestSerializer,
)
from synthweb.datasets.selectors import dataset_for
from synthweb.runs import filling, filling_services
from synthweb.runs.filling import FillRequest
from synthweb.runs.models import FilledCounts


class FilledCountsListView(APIView):
    """The filled counts of an organisation."""

    write_scope = "spend"

    @extend_schema(
        operation_id="filled_counts_list",
        responses=FilledCountsSerializer(many=True),
        tags=["filled-counts"],
    )
    def get(self, request: Request) -> Response:
        """Every table of filled counts of your organisation, newest first; for analysts those that are
        published. They are not differentially private."""
        listed = filling.counts_for(caller(request))
        return Response(
            FilledCountsSerializer(listed, many=True, context=_context(request)).data
        )

    @extend_schema(
        operation_id="filled_counts_ask",
        request=AskedCountsSerializer,
        responses={201: FilledCountsSerializer},
        tags=["filled-counts"],
    )
    @refuses(409, 422)
    @idempotent
    def post(self, request: Request) -> Response:
        """Ask a custodian for counts of a dataset filled to a policy. Nothing is read. The request names the
        digest of the plan, as `filled-counts/plan/` gave it. 409 where counts of the same people exist
        already, because two can be subtracted."""
        asked = AskedCountsSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        data = asked.validated_data
        counts = filling_services.ask(
            steward=caller(request),
            request=_asked(request, data),
            plan_sha256=data["plan_sha256"],
            name=data["name"],
            purpose=data["purpose"],
        )
        return _answer(request, counts, HTTPStatus.CREATED)


class FillPlanView(APIView):
    """What a request would mean."""

    write_scope = "spend"

    @extend_schema(
        operation_id="filled_counts_plan",
        request=FillRequestSerializer,
        responses=FillPlanSerializer,
        tags=["filled-counts"],
    )
    @refuses(409, 422)
    def post(self, request: Request) -> Response:
        """The plan of filled counts with its digest, and the private alternative with its error and price;
        nothing is kept or read. 422 for a policy that no number of records can meet."""
        asked = FillRequestSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        proposal = filling.propose(_asked(request, asked.validated_data))
        body = {
            "plan_sha256": proposal.plan.digest,
            "plan": proposal.plan.to_json(),
            "groups": proposal.plan.groups,
            "private": {
                "mechanism": proposal.private.plan.mechanism,
                "deviation": proposal.private.deviation,
                "price": proposal.price,
            },
        }
        return Response(FillPlanSerializer(body).data)


class FilledCountsView(APIView):
    """Filled counts."""

    @extend_schema(
        operation_id="filled_counts_retrieve",
        responses=FilledCountsSerializer,
        tags=["filled-counts"],
    )
    def get(self, request: Request, code: str) -> Response:
        """One table of filled counts, with the counts once they are published."""
        return _answer(request, filling.counts_of(caller(request), code))


class ApproveCountsView(APIView):
    """The approval of filled counts."""

    write_scope = "grant"

    @extend_schema(
        operation_id="filled_counts_approve",
        request=ApprovalSerializer,
        responses={202: FilledCountsSerializer},
        tags=["filled-counts"],
    )
    @refuses(409)
    @idempotent
    def post(self, request: Request, code: str) -> Response:
        """Have exact counts taken, which cannot be taken back: an entry OUTSIDE of the ledger is written
        before a row is read, and no guarantee of the same people holds together with them. Where two
        custodians are needed, the first call is an approval."""
        counts = filling.counts_of(caller(request), code, Need.GRANT)
        require_recent_sign_in(request)
        asked = ApprovalSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        decided = filling_services.approve(
            custodian=caller(request), counts=counts, **asked.validated_data
        )
        return _answer(request, decided, HTTPStatus.ACCEPTED)


class RefuseCountsView(APIView):
    """The refusal of filled counts."""

    write_scope = "grant"

    @extend_schema(
        operation_id="filled_counts_refuse",
        request=CountsRefusalSerializer,
        responses=FilledCountsSerializer,
        tags=["filled-counts"],
    )
    @refuses(409)
    @idempotent
    def post(self, request: Request, code: str) -> Response:
        """Refuse filled counts, with a reason."""
        counts = filling.counts_of(caller(request), code, Need.GRANT)
        asked = CountsRefusalSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        refused = filling_services.refuse(
            custodian=caller(request), counts=counts, **asked.validated_data
        )
        return _answer(request, refused)


class WithdrawCountsView(APIView):
    """The withdrawal of a request."""

    write_scope = "spend"

    @extend_schema(
        operation_id="filled_counts_withdraw",
        request=None,
        responses=FilledCountsSerializer,
        tags=["filled-counts"],
    )
    @refuses(409)
    @idempotent
    def post(self, request: Request, code: str) -> Response:
        """Take a request back before it is approved."""
        counts = filling.counts_of(caller(request), code, Need.SPEND)
        gone = filling_services.withdraw(steward=caller(request), counts=counts)
        return _answer(request, gone)


def _context(request: Request) -> dict[str, bool]:
    return {"sees_dataset": people.can(caller(request), Need.VIEW)}


def _answer(
    request: Request, counts: FilledCounts, status: HTTPStatus = HTTPStatus.OK
) -> Response:
    body = FilledCountsSerializer(counts, context=_context(request)).data
    return Response(body, status=status)


def _asked(request: Request, data: dict[str, Any]) -> FillRequest:
    return FillRequest(
        dataset=dataset_for(caller(request), data["dataset"], Need.SPEND),
        by=tuple(data["by"]),
        day=data["day"],
        policy=FillPolicy(
            least_records=data["least_records"],
            largest_share=data["largest_share"],
            least_days=data["least_days"],
        ),
        epsilon=data["epsilon"],
    )
