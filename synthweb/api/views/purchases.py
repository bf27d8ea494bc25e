"""Descriptions that are bought once: ask for one, and see what was learned."""

from __future__ import annotations

from http import HTTPStatus

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from synthweb.accounts.permissions import Need
from synthweb.api.authentication import caller, require_recent_sign_in
from synthweb.api.idempotency import idempotent, key_of
from synthweb.api.schema import refuses
from synthweb.api.serializers.purchases import LearnedSerializer, NewPurchaseSerializer
from synthweb.api.serializers.runs import RunSerializer
from synthweb.api.views.runs import ACCEPTED
from synthweb.datasets import selectors
from synthweb.runs import services
from synthweb.runs.purchases import LearnRequest


class LearnedView(APIView):
    """What runs have learned of the columns of a dataset."""

    @extend_schema(
        operation_id="datasets_learned",
        responses=LearnedSerializer(many=True),
        tags=["datasets"],
    )
    def get(self, request: Request, code: str) -> Response:
        """What was learned once for all releases of a dataset, the newest first, each with its receipt."""
        dataset = selectors.dataset_for(caller(request), code)
        return Response(LearnedSerializer(selectors.learned_of(dataset), many=True).data)

    @extend_schema(
        operation_id="datasets_learn",
        request=NewPurchaseSerializer,
        responses={202: ACCEPTED},
        tags=["datasets"],
    )
    @refuses(409, 422)
    @idempotent
    def post(self, request: Request, code: str) -> Response:
        """Have undeclared columns learned once; every later release of the dataset uses them free. Holds the
        price at once; 409 if the budget has less left; 422 for a column that is declared."""
        dataset = selectors.dataset_for(caller(request), code, Need.SPEND)
        require_recent_sign_in(request)
        wanted = NewPurchaseSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        asked = dict(wanted.validated_data)
        name = asked.pop("name")
        run = services.submit(
            LearnRequest(dataset=dataset, **asked),
            steward=caller(request),
            name=name,
            request_key=key_of(request),
        )
        body = RunSerializer(run, context={"request": request}).data
        return Response(
            body, status=HTTPStatus.ACCEPTED, headers={"Location": str(body["url"])}
        )
