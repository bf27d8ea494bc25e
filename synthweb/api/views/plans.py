"""Plans over years of an account: read them, approve one, change what is not over of one."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import require
from synthweb.api.authentication import caller, require_recent_sign_in
from synthweb.api.idempotency import idempotent
from synthweb.api.schema import refuses
from synthweb.api.serializers.plans import (
    NewPlanSerializer,
    PlanChangeSerializer,
    PlanSerializer,
)
from synthweb.ledger import publication_plans, selectors
from synthweb.ledger.models import PublicationPlan
from synthweb.releases import of_plans


def _shown(request: Request, plan: PublicationPlan) -> dict[str, object]:
    (shown,) = _all_shown(request, [plan])
    return shown


def _all_shown(request: Request, plans: Iterable[PublicationPlan]) -> list[dict[str, object]]:
    lines = of_plans.lines_of(plans, user=caller(request))
    return [dict(PlanSerializer({"plan": plan, "years": years}).data) for plan, years in lines]


class PlansView(APIView):
    """Plans over years of an account."""

    write_scope = "grant"

    @extend_schema(
        operation_id="accounts_plans", responses=PlanSerializer(many=True), tags=["accounts"]
    )
    def get(self, request: Request, code: str) -> Response:
        """Every plan of an account, the oldest first, with share, charges and releases of each year."""
        account = selectors.account_for(caller(request), code)
        plans = account.publication_plans.select_related("account")
        return Response(_all_shown(request, plans))

    @extend_schema(
        operation_id="accounts_plans_approve",
        request=NewPlanSerializer,
        responses={201: PlanSerializer},
        tags=["accounts"],
    )
    @refuses(409, 422)
    @idempotent
    def post(self, request: Request, code: str) -> Response:
        """Approve a plan, for custodians. Its shares are set aside; 409 if the account has less free, or a
        year is over."""
        account = selectors.account_for(caller(request), code)
        require(caller(request), Need.GRANT)
        require_recent_sign_in(request)
        asked = NewPlanSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        plan = publication_plans.approve(
            custodian=caller(request), account=account, terms=asked.terms
        )
        return Response(_shown(request, plan), status=HTTPStatus.CREATED)


class PlanView(APIView):
    """One plan over years."""

    write_scope = "grant"

    @extend_schema(
        operation_id="accounts_plans_retrieve", responses=PlanSerializer, tags=["accounts"]
    )
    def get(self, request: Request, code: str, plan: str) -> Response:
        """One plan with share, charges and releases of each year."""
        chosen = publication_plans.plan_for(caller(request), code, plan)
        return Response(_shown(request, chosen))

    @extend_schema(
        operation_id="accounts_plans_change",
        request=PlanChangeSerializer,
        responses=PlanSerializer,
        tags=["accounts"],
    )
    @refuses(409, 422)
    @idempotent
    def patch(self, request: Request, code: str, plan: str) -> Response:
        """Change shares of years that are not over, or what becomes of what this year and later ones leave,
        for custodians. 409 for a year that is over, or for less than its runs took."""
        chosen = publication_plans.plan_for(caller(request), code, plan)
        require(caller(request), Need.GRANT)
        require_recent_sign_in(request)
        asked = PlanChangeSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        publication_plans.change(custodian=caller(request), plan=chosen, wanted=asked.wanted)
        return Response(_shown(request, chosen))
