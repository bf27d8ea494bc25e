"""Budget: requests and decisions, accounts and their entries."""

from __future__ import annotations

from fractions import Fraction
from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.mixins import ListModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import require
from synthweb.api import filters
from synthweb.api.authentication import caller, require_recent_sign_in
from synthweb.api.filters import Filtered
from synthweb.api.idempotency import idempotent
from synthweb.api.serializers.amounts import amount_from
from synthweb.api.serializers.budget import (
    AccountSerializer,
    DecisionSerializer,
    EntrySerializer,
    NewRequestSerializer,
    RefuseSerializer,
    RequestSerializer,
)
from synthweb.datasets import services as datasets
from synthweb.datasets.selectors import dataset_for
from synthweb.ledger import proposals, selectors, services
from synthweb.ledger.amounts import ATTO
from synthweb.ledger.models import BudgetAccount, BudgetRequest, LedgerEntry, Rule

DECIDE = Need.GRANT


class RequestViewSet(Filtered, ListModelMixin, GenericViewSet[BudgetRequest]):
    """Stewards ask for budget, custodians decide, nobody about their own request."""

    queryset = BudgetRequest.objects.none()
    query = filters.BudgetRequestQuery
    serializer_class = RequestSerializer
    lookup_field = "code"

    @property
    def write_scope(self) -> str:
        """A token made to ask and to spend does not decide."""
        return "grant" if self.action in ("grant", "refuse") else "spend"

    def get_queryset(self) -> Any:
        return selectors.requests_for(caller(self.request))

    @extend_schema(responses=RequestSerializer)
    def retrieve(self, request: Request, code: str) -> Response:
        """One request and what became of it."""
        return Response(self.get_serializer(selectors.request_for(caller(request), code)).data)

    @extend_schema(request=NewRequestSerializer, responses={201: RequestSerializer})
    @idempotent
    def create(self, request: Request) -> Response:
        """Ask for budget for a described dataset."""
        require(caller(request), Need.SPEND)
        data = _validated(NewRequestSerializer, request)
        dataset = dataset_for(caller(request), data["dataset"], Need.SPEND)
        # The δ that the form of the pages proposes, so that both ask for the same.
        if data["rule"] == Rule.BASIC and "releases" in data and "delta" not in data:
            proposed = proposals.delta_for(
                data["releases"], records=selectors.public_records(dataset)
            )
            data["delta"] = Fraction(proposed, ATTO)
        if "records" in data:
            datasets.state_records(
                actor=caller(request), dataset=dataset, records=data["records"]
            )
        asked = services.request_budget(
            steward=caller(request),
            dataset=dataset,
            terms=services.Terms(
                rule=data["rule"],
                amount=amount_from(data),
                releases=data.get("releases"),
                rhythm=data.get("rhythm", ""),
                readers=data.get("readers", ""),
            ),
            reason=data["reason"],
            account=selectors.account_for(caller(request), data["account"])
            if "account" in data
            else None,
        )
        return Response(self.get_serializer(asked).data, status=HTTPStatus.CREATED)

    @extend_schema(request=DecisionSerializer, responses=RequestSerializer)
    @idempotent
    def grant(self, request: Request, code: str) -> Response:
        """Grant it: as asked, unless amounts are given. Where two custodians are needed, the first call is an
        approval."""
        asked = selectors.request_for(caller(request), code, need=DECIDE)
        require_recent_sign_in(request)
        data = _validated(DecisionSerializer, request)
        chosen = {name: data[name] for name in ("name", "separate_reason") if name in data}
        joined = (
            selectors.account_for(caller(request), data["account"])
            if "account" in data
            else None
        )
        services.grant(
            custodian=caller(request),
            request=asked,
            reason=data["reason"],
            amount=amount_from(data) if data.keys() & {"epsilon", "delta", "rho"} else None,
            opening=services.Opening(account=joined, **chosen),
            lapses_on=data.get("lapses_on"),
        )
        # Read again: the service decided on a row that it had locked, not on `asked`.
        return Response(self.get_serializer(selectors.request_for(caller(request), code)).data)

    @extend_schema(request=RefuseSerializer, responses=RequestSerializer)
    @idempotent
    def refuse(self, request: Request, code: str) -> Response:
        """Refuse it, with a reason."""
        asked = selectors.request_for(caller(request), code, need=DECIDE)
        services.refuse(
            custodian=caller(request), request=asked, **_validated(RefuseSerializer, request)
        )
        return Response(self.get_serializer(selectors.request_for(caller(request), code)).data)


class AccountViewSet(Filtered, ListModelMixin, GenericViewSet[BudgetAccount]):
    """Budget accounts: all of the organisation for custodians and auditors, their own for stewards."""

    queryset = BudgetAccount.objects.none()
    query = filters.AccountQuery
    serializer_class = AccountSerializer
    lookup_field = "code"

    def get_queryset(self) -> Any:
        return selectors.accounts_for(caller(self.request)).prefetch_related(
            "coverages__dataset"
        )

    @extend_schema(responses=AccountSerializer)
    def retrieve(self, request: Request, code: str) -> Response:
        """Where an account stands: cap = held + charged + free."""
        return Response(self.get_serializer(selectors.account_for(caller(request), code)).data)


class EntryViewSet(Filtered, ListModelMixin, GenericViewSet[LedgerEntry]):
    """The entries of an account, newest first, each with its link in the hash chain."""

    queryset = LedgerEntry.objects.none()
    query = filters.EntryQuery
    serializer_class = EntrySerializer

    def get_queryset(self) -> Any:
        return selectors.entries_for(caller(self.request), self.kwargs["code"])


def _validated(kind: type[Any], request: Request) -> dict[str, Any]:
    serializer = kind(data=request.data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
